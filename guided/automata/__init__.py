"""Finite and pushdown automata over bytes.

In: a pattern tree of `guided.patterns`, or tables that a caller fills. Out: `automaton.Automaton`, a minimal and canonical DFA over
bytes; `calls.CallAutomaton`, which also has edges by texts of other automata; `pushdown.Pushdown`, whose tables are filled on demand.

Invariants: equal languages give equal arrays; every state of a DFA reaches acceptance; a build stops with a `LimitError` at its budget.

Reading order: `build` (the stages of a compile), `partition` and `nfa`, `unfolding` or `lookaround` for assertions,
`determinize`, `utf8`, `minimize`, `automaton`, `product`; then `pushdown` and `stacks`, `calls`, and `flattening` (pushdown automaton ->
DFA).

Public modules: none.
"""
