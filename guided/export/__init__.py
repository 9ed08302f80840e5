"""Schemas and tool calls as Lark grammars, for parsers other than this package's own.

`lark` is the entry point for a schema. `exploring` finds all objects, arrays and values with their possible valuations, as a `graph`.
`rules` makes `productions` of it, with strings (`strings`), numbers (`numbers`, `elimination`) and text around values (`framing`,
`segments`) as regular expressions.

Public modules: none.
"""
