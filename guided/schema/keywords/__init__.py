"""What each keyword of JSON Schema means, as formulas: one module per family, one function per keyword.

A function takes the site (`guided.schema.site`) and the keyword's value, and appends what it means to the site's lists. Keywords that
mean something only together (``properties`` and ``additionalProperties``) are lowered by the first of the family that the schema has.
A malformed value is a `SchemaError`, never ignored.
"""
