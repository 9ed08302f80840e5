"""Regular expressions as trees over sets of characters.

In: the text of a pattern in the syntax of Python's `re`, with flags (`guided.schema.strings` parses those of ECMA-262). Out: an immutable
tree (`tree`), which `guided.automata` compiles.

Invariants: the tree describes exactly the texts that ``re.fullmatch`` accepts, flags included; a construct that no automaton supports,
such as a backreference, is a `PatternError` with its position.

Reading order: `charset`, `tree`, `source`, `parse` with `groups`, `escapes`, `properties`, `anchors`; then the
functions of trees: `bounds`, `render`.

Public modules: none.
"""
