"""From the text of a schema, or a Python type, to a formula.

`inputs` converts every accepted input to one JSON Schema. `typed`, `signatures`, `openapi` and `definitions` make schemas of types,
functions and API documents; `reader` converts generated values to instances of those types. `lowering` makes the formulas, lowering each
subschema when a value it applies to is first needed. `references` resolves ``$ref``, `dialects` lists the keywords of each draft, and
`keywords` has one function per keyword.

Read in this order: `inputs`, `lowering`, `site`, one module of `keywords`, `dialects`, `references` (with `resources`).
"""
