"""The position of one text in an index.

In: an `Index` and the tokens of a text, one by one. Out: the mask of allowed tokens, forced bytes, and explanations of rejected tokens.

Invariants: a guide holds all mutable state of a text, an index none; a rejected token leaves the guide unchanged; masks do not depend on
how the state was reached. No torch, no model.

Reading order: `guide`, `batch` (the masks of several guides at once), `explanation`, `end_tokens`.

Public modules: none.
"""
