"""The keywords of JSON Schema as formulas: one module per family, one function per keyword.

A function takes the site (`guided.schema.frontend.site`) and the keyword's value, and appends formulas to the site's lists. Keywords that
interact (``properties`` and ``additionalProperties``) are lowered by the first of the family that the schema has. A malformed value
raises `SchemaError`; it is never ignored.
"""
