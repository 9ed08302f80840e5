"""JSON Schema as formulas over what is still to come: lowering, derivatives, liveness.

`formula` holds the Boolean formulas, `lowering` makes them of a schema, `objects`, `arrays`, `strings` and `numbers` say how the atoms
of each type change as a value is read, `satisfiable` says which formulas some value can meet, and `machine` puts them together as a
pushdown automaton over bytes, which `guided.index.pushdown` runs.
"""
