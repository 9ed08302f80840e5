"""Lark grammars compiled to tables that reproduce Lark's contextual lexer and LALR parser.

Reading order: `loading` and `tables` (Lark loads a grammar; its tables become arrays), `program`, `ordered` and `scanner` (the terminals of
all contexts as one byte automaton), `parser` and `indents`, `hypotheses` (the hypotheses about a prefix of a text),
`machine`. The slow twin of `hypotheses` is `tests.lalr.prefixes`.

Public modules: none.
"""
