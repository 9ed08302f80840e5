"""The pushdown automaton of a schema.

`machine` is the entry point and implements `guided.automata.pushdown.Pushdown`. `structure` and `layout` hold the JSON punctuation that
all schemas share. `value_starts` adds the beginnings of values, `leaf_frames` (with `string_frames`) the controls of strings and numbers,
`key_frames` those of keys, and `exclusions` the variants that exclude some values. `frames` and `embedding` put values into other texts.
`witness` chooses the bytes of a short completion; it uses `frame_paths` inside keys and literals, and the `costs` that `shortest` finds;
a compile tries these, too.

Read in this order: `structure`, `machine`, `value_starts`, `leaf_frames`, `key_frames`, `exclusions`; then `shortest`, `costs`,
`witness`.
"""
