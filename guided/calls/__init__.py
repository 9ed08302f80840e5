"""Tool calls: what a model may say that has tools to call, and what it has said.

In reading order: patterns of numbers, strings and dates (`numbers`, `decimals`, `strings`, `dates`); types of values (`values`,
`scalars`, `containers`) from annotations (`types`, with `constraints`, `metadata`, `records`); types by JSON Schemas, of
definitions and of whatever no pattern describes (`schema`, `schema_names`); tools (`parameters`, `tool`); call formats as data
(`formats`) and the tree of a call (`lowering`), with holes for values by schema (`holes`); text mode and tool mode (`modes`); the
spec (`spec`); and back again: text to calls (`scanner`, `parse`, `reads`), calls to results (`running`), calls to text
(`rendering`, `prompts`).
"""
