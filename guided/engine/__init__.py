"""Specs, `compile`, and the `Index` that it returns.

In: a spec (`specs.Regex`, `specs.Choice`, `json_schema.JsonSchema`, `grammar.Grammar`, a composition) and a vocabulary. Out:
`index.Index`, which tells for each state the allowed tokens and the next state, and which can be saved and loaded.

Invariants: a spec does not depend on a vocabulary; equal specs have equal fingerprints; an index file is checked before it is used.

Reading order: `specs`, `json_schema`, `grammar`, `compile`, `index`, `files`; for compositions `algebra`, `network`,
`captures`, and `structural_tags`, another notation for them.

Public modules: none.
"""
