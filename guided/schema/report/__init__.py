"""Reports about a schema, for people.

In: a schema. Out: the status of each keyword (enforced, an annotation, recorded, refused), and where the schema contradicts itself or
refuses a value.

Invariant: the reports only describe; they change neither the language nor the automaton.

Reading order: `keywords`, then `contradictions`.
"""
