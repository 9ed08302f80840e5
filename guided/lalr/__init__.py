"""Lark grammars: what Lark's lexer and LALR parser do, as tables.

Reading order: `loading` and `tables` (Lark reads a grammar and builds; its objects become arrays), `program`, `ordered` and `scanner` (the
terminals of all contexts as one automaton over bytes), `stacks`, `indents` and `prefix` (the readings of a text that has begun).
"""
