"""Open objects and arrays: what may come next, and whether they can be closed.

In: formulas of a container (`opening.Containers.open`). Out: a state. All states share one interface:

==================================  ========================================================================
``keys``                            objects only: the key table that defines the labels
``labels()``, ``may_come(labels)``  labels that may come next, as bits; an array has one label, `general.ITEM`
``after(label)``                    query of the value that follows, and the state while that value is pending
``with_valuation(observed, bits)``  state after that value has ended with this valuation
``at_close()``                      truths of the observed formulas if the container ends here; None if it cannot
``is_live()``                       whether some continuation closes the container
``remembers()``                     whether past undeclared names, or past items, still matter
``must_differ()``                   whether they matter only because the next ones must differ from them
``with_last(value)``                state after the last undeclared name, or the last item, becomes known
==================================  ========================================================================

General states also have ``formulas`` (first the one that must hold, then the observed ones), ``derivative``, ``narrowed(formula)`` (the
state in which one formula must hold) and ``live_terms()``. An object's state is conjunctive if it has one formula and `conjunctive` can
represent it. `Satisfiability.conjunctive_state` makes that choice; no other code does.

Invariants: states are immutable, hashable and small; every state that ``after`` returns is live; states of different schemas are unequal.

Read in this order: `derivatives`, `conjunctive`, `satisfiability` (with `members`, `object_terms`, `array_terms`), `pending`, `general`,
`opening`, `budgets`.
"""
