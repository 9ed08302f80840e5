"""JSON Schema: from the text of a schema to a pushdown automaton over bytes.

What goes in: a schema, or Python types (`frontend.inputs`). What comes out: `pushdown.machine.SchemaMachine`, which `guided.index.pushdown`
runs against a vocabulary. Packages, in the order in which a schema passes through them:

- `frontend`: drafts, references and keywords; a schema becomes a formula over typed atoms.
- `formula`: hash-consed Boolean formulas, the atoms, and functions of formulas alone.
- `formats`, `strings`, `numbers`: automata of single strings and numbers, for formulas over their atoms.
- `values`: what a formula asks of each type of JSON, and the tables of keys of objects.
- `containers`: open objects and arrays: derivatives, satisfiability, liveness.
- `cardinality`: how many values a formula has, and which.
- `pushdown`: the automaton: punctuation, frames of strings, numbers and keys, transitions, and shortest completions.
- `report`: what becomes of each keyword, and a schema as rules for people.

Invariant: every reachable state of the automaton is live: some text completes it.

Public modules: none.
"""
