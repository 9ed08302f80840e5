"""A lowered schema as a context-free grammar, for parsers that are not this package's own.

`graph` finds which objects, arrays and values there are and what they can report, `terminals` writes strings, keys and numbers as regular
expressions, `rules` makes productions of both, and `lark` writes them as text.
"""
