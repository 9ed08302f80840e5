"""Automaton and vocabulary -> the allowed tokens and the next state of each state.

In: an automaton and the trie of a vocabulary. Out: `regular.RegularIndex` with complete tables for a DFA; `pushdown.PushdownIndex` and
`composition.CompositionIndex`, whose states, masks and transitions are computed on demand.

Invariants: a token is allowed exactly if, after its bytes, some sequence of tokens reaches acceptance; answers never change, whatever was
computed or dropped before; threads share an index.

Reading order: `walk`, `regular`; then `pushdown`, `pushdown_masks` with `plans`, `pushdown_walk`; `lexeme_masks`
for Lark grammars; `completions`, `distinct_keys`, `token_classes` and `pushdown_budget` for masks within a budget of
tokens; `composition`; `storage` and `pushdown_files`.

Public modules: none.
"""
