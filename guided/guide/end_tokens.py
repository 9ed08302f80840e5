"""`EndTokens`: an index whose texts end with other tokens than the vocabulary says.

Which tokens end a text is a matter of the request (a chat model's turn ends with one token, a raw completion with another), and an index is
shared by requests. Everything but the end of a text is that of the index: states, masks of text, bounds. In a mask the bits of the
vocabulary's end tokens, which are set exactly where the text is complete, are replaced.

Complexity: one look-up beside those of the index; each distinct mask of complete texts is made once, within a bound.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.guide.explanation import Explanation
from guided.guide.guide import Steps

__all__ = ["EndTokens"]

# Masks that are kept for one set of end tokens.
_KEPT_MASKS = 4096


class EndTokens:
    """The steps of an index, with end tokens of their own.

    Parameters
    ----------
    steps : Steps
        Of the index.
    own : sequence of int
        The end tokens of the index.
    ends : sequence of int
        Those that take their place: tokens without bytes, which the index does not read.
    size : int
        Width of the logits.
    """

    def __init__(self, steps: Steps, own: Sequence[int], ends: Sequence[int], size: int) -> None:
        self._steps, self._ends = steps, frozenset(ends)
        self._closed = frozenset(own) - self._ends
        self._keep, self._add = ~_words(own, size), _words(ends, size)
        self._masks: dict[int, Int32Array] = {}
        self.initial, self.final = steps.initial, steps.final

    def mask(self, state: int) -> Int32Array:
        """Shared read-only mask of a state."""
        found = self._masks.get(state)
        if found is None:
            found = self._replaced(state, self._steps.mask(state))
            if len(self._masks) >= _KEPT_MASKS:
                self._masks.clear()
            self._masks[state] = found
        return found

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Mask of the tokens that leave acceptance within reach of ``budget - 1`` more."""
        return self._replaced(state, self._steps.mask_within(state, budget))

    def _replaced(self, state: int, mask: Int32Array) -> Int32Array:
        # Only masks of complete texts have bits of end tokens.
        if state == self.final or not self._steps.is_accepting(state):
            return mask
        return freeze(mask & self._keep | self._add)

    def next(self, state: int, token: int) -> int:
        """The state after a token, or -1."""
        if token in self._ends:
            return self.final if 0 <= state != self.final and self._steps.is_accepting(state) else -1
        return -1 if token in self._closed else self._steps.next(state, token)

    def state_after(self, tokens: Sequence[int]) -> int:
        """The state after tokens that were read from the start before."""
        has_ended = len(tokens) > 0 and tokens[-1] in self._ends
        state = self._steps.state_after(tokens[:-1] if has_ended else tokens)
        return self.final if has_ended else state

    def is_accepting(self, state: int) -> bool:
        """May the text end here?"""
        return self._steps.is_accepting(state)

    def remaining(self, state: int) -> int:
        """Least number of tokens to acceptance."""
        return self._steps.remaining(state)

    def accepts(self, data: str | bytes) -> bool:
        """Is a whole text in the language?"""
        return self._steps.accepts(data)

    def forced(self, state: int) -> bytes:
        """Bytes that every continuation begins with."""
        return self._steps.forced(state)

    def explain(self, state: int, token: int, read: Sequence[int] | None = None) -> Explanation:
        """Why a token is allowed or not."""
        found = self._steps.explain(state, token, read)
        if state == self.final or (token not in self._ends and token not in self._closed):
            return found
        if token in self._closed:
            return replace(found, allowed=False, reason="it ends texts of the vocabulary, but not this one")
        allowed = self.next(state, token) >= 0
        reason = "the text may end here" if allowed else "it ends the text, which is not complete"
        return replace(found, allowed=allowed, reason=reason)


def _words(tokens: Sequence[int], size: int) -> Int32Array:
    """The mask of some tokens."""
    words = np.zeros((size + 31) >> 5, np.uint32)
    for token in tokens:
        words[token >> 5] |= np.uint32(1 << (token & 31))
    return words.view(np.int32)
