"""How many values a formula has, and which ones if they are few.

Needed for ``uniqueItems``, and for ``minItems`` or ``minProperties`` that exceed the number of available values or names.

- `values` enumerates the values of any formula. `guided.schema.strings.counting` and `guided.schema.numbers.counting` do so for formulas
  over the atoms of one type.
- `matching` finds the values that an array still needs, where items must be pairwise distinct.
"""
