"""What a formula requires of a value of each JSON type, and of the keys of an object.

`context` is the entry point. In: a formula of any value. Out: formulas over the atoms of one type, leaves, and key tables; each is computed
once per schema. `restrict` substitutes a known type, `leaves` answers all questions about strings and numbers, `keys` builds the automaton
of an object's keys, and `key_table` groups keys into the classes that the formulas distinguish.
"""
