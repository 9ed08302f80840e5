"""What a formula requires of a value of each JSON type, and of the keys of an object.

`context` is the entry point. In: a formula of any value. Out: formulas over the atoms of one type, automata of strings and numbers, and
key tables; each is computed once per schema. `restrict` substitutes a known type, `keys` builds the automaton of an object's keys,
`key_table` groups keys into the classes that the formulas distinguish, and `quick_satisfiable` proves quickly, without an automaton, that a
formula has a value.
"""
