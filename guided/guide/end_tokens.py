"""`EndTokens`: an index with end tokens other than those of its vocabulary.

End tokens belong to the request (a chat turn and a raw completion end with different tokens), while an index is shared by requests.
`EndTokens` wraps the index: states, masks of incomplete texts and bounds are unchanged; in the masks of complete texts the bits of the
vocabulary's end tokens are replaced by those of the request.

Complexity: one look-up in addition to the index's own; a few masks of complete texts are kept.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from guided.arrays import Int32Array, freeze, mask_words
from guided.caching import Kept
from guided.guide.explanation import Explanation
from guided.guide.guide import Steps

__all__ = ["EndTokens", "token_mask"]

# States kept for one set of end tokens, some with masks.
_KEPT_STATES = 256
_UNKNOWN = np.zeros(0, np.int32)


class EndTokens:
    """`Steps` of an index with other end tokens.

    ``ends``, tokens without bytes that the index does not read, replace its ``own``.
    """

    def __init__(self, steps: Steps, own: Sequence[int], ends: Sequence[int], size: int) -> None:
        self._steps, self._ends = steps, frozenset(ends)
        self._closed = frozenset(own) - self._ends
        self._keep, self._add = ~token_mask(own, size), token_mask(ends, size)
        # By state; None for the mask of the index, which bounds the memory of its own.
        self._masks = Kept[int, Int32Array | None](_KEPT_STATES)
        self.initial, self.final, self.vocabulary = steps.initial, steps.final, steps.vocabulary
        # What does not depend on end tokens is the index's own.
        self.is_accepting, self.remaining, self.forced = steps.is_accepting, steps.remaining, steps.forced
        self.accepts, self.diagnose = steps.accepts, steps.diagnose

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state."""
        found = self._masks.get(state, _UNKNOWN)
        if found is None:
            return self._steps.mask(state)
        if found is _UNKNOWN:
            mask = self._steps.mask(state)
            found = self._replaced(state, mask)
            self._masks[state] = None if found is mask else found
        return found

    @property
    def n_bytes(self) -> int:
        """Bytes of the masks that are kept."""
        return sum(mask.nbytes for mask in list(self._masks.values()) if mask is not None)

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which at most ``budget - 1`` more complete the text."""
        return self._replaced(state, self._steps.mask_within(state, budget))

    def _replaced(self, state: int, mask: Int32Array) -> Int32Array:
        # Only masks of complete texts contain end tokens.
        if state == self.final or not self._steps.is_accepting(state):
            return mask
        return freeze(mask & self._keep | self._add)

    def next(self, state: int, token: int) -> int:
        """Return the state after a token, or -1."""
        if token in self._ends:
            return self.final if 0 <= state != self.final and self._steps.is_accepting(state) else -1
        return -1 if token in self._closed else self._steps.next(state, token)

    def state_after(self, tokens: Sequence[int]) -> int:
        """Return the state after tokens that were read from the start before."""
        has_ended = len(tokens) > 0 and tokens[-1] in self._ends
        state = self._steps.state_after(tokens[:-1] if has_ended else tokens)
        return self.final if has_ended else state

    def explain(self, state: int, token: int, read: Sequence[int] | None = None) -> Explanation:
        """Explain why a token is allowed or rejected."""
        found = self._steps.explain(state, token, read)
        if state == self.final or (token not in self._ends and token not in self._closed):
            return found
        if token in self._closed:
            return replace(found, allowed=False, reason="it ends texts of the vocabulary, but not this one")
        allowed = self.next(state, token) >= 0
        reason = "the text may end here" if allowed else "it ends the text, which is not complete"
        return replace(found, allowed=allowed, reason=reason)


def token_mask(tokens: Sequence[int], size: int) -> Int32Array:
    """The mask that allows exactly ``tokens``: int32, shape (ceil(size / 32),)."""
    bits = np.zeros(32 * mask_words(size), dtype=np.bool_)
    bits[np.fromiter(tokens, np.int64, len(tokens))] = True
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False)
