"""Boolean formulas over typed atoms: the states of a schema's automaton.

In: atoms (`atoms`) and Boolean connectives. Out: formula ids. Equal formulas have equal ids, so a state is one int (`formulas`).
The other modules compute on formulas: `implicants` (ways to satisfy a formula), `disjoint` (mutually exclusive alternatives), `queries`
(what a pending value is tested for, and the result), `marks` (which keys can change a formula), `exact` (numbers as fractions),
`memo` (results shared between schemas).
"""
