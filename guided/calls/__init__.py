"""Tool calls: the language of model output with tool calls, and the parser for it.

In reading order: types of values, which are JSON Schemas, of definitions and of annotations (`schema`,
`schema_names`); tools (`parameters`, `tool`); call formats as data (`formats`), the arguments of a call in order (`argument_list`) and its
tree (`lowering`), in which schema values are calls of other automata (`embedded`); several calls (`groups`), text mode and tool mode
(`triggers`, `modes`); definitions, lowered on demand (`names`, `call_states`, `inventory`); the spec (`spec`); and the reverse direction:
text to calls (`scanner`, `arguments`, `parse`, `reads`), calls to results (`running`), calls to text (`rendering`, `prompts`).

Public modules: `parse`, `sources.rest`.
"""
