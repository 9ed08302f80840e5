"""Reports about a schema, for people.

In: a schema, and its lowered formulas. Out: the status of each keyword (enforced, an annotation, recorded, refused), and the enforced
constraints as readable rules.

Invariant: the reports only describe; they change neither the language nor the automaton.

Reading order: `keywords`, then `rules`.
"""
