"""Tool calls: what a model may say that has tools to call, and what it has said.

In reading order: patterns of numbers, strings and dates (`numbers`, `decimals`, `strings`, `dates`); types of values (`values`,
`scalars`, `containers`) from annotations (`types`, with `constraints`, `metadata`, `records`); types by JSON Schemas, of
definitions and of whatever no pattern describes (`schema`, `schema_names`); tools (`parameters`, `tool`); call formats as data
(`formats`), values as they write them (`parts`, `raw`, `pythonic`) and the tree of a call (`lowering`), with holes for values by schema
(`holes`); calls together (`groups`), text mode and tool mode (`triggers`, `modes`); the spec (`spec`); and back again: text to calls
(`scanner`, `arguments`, `parse`, `reads`), calls to results (`running`), calls to text (`rendering`, `prompts`).
"""
