"""`Pinned`: a guide whose next bytes are fixed, while the model chooses their tokens.

After a tool name has been chosen, the model still chooses the token in which the text after the name begins. ``("`` is one token in most
vocabularies, and a model restricted to ``(`` followed by ``"`` sees an unlikely tokenization (token healing).
"""

from functools import lru_cache

import numpy as np

from guided.arrays import Int32Array, freeze, mask_words
from guided.generate.steering import Steering
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Pinned"]


class Pinned:
    """Restricts a guide to tokens that agree with the given bytes.

    Parameters
    ----------
    guide : Steering
        Must allow a token that agrees with the bytes.
    vocabulary : Vocabulary
    data : bytes
        The next bytes, not empty; a token may extend beyond them.
    """

    def __init__(self, guide: Steering, vocabulary: Vocabulary, data: bytes) -> None:
        self._guide, self._vocabulary, self._data = guide, vocabulary, data
        self._along = _along(vocabulary, data)

    @property
    def state(self) -> int:
        """State of the guide."""
        return self._guide.state

    @property
    def remaining(self) -> int:
        """Minimum number of tokens, as in the guide."""
        return self._guide.remaining

    def mask(self) -> Int32Array:
        """The guide's tokens that agree with the bytes."""
        return self._guide.mask() & self._along

    def fits(self, token: int, budget: int) -> bool:
        """Return whether a token fits the budget, as in the guide."""
        return self._guide.fits(token, budget)

    def mask_within(self, budget: int) -> Int32Array:
        """The guide's tokens within a budget that agree with the bytes."""
        return self._guide.mask_within(budget) & self._along

    def advance(self, token: int) -> None:
        """Take an allowed token."""
        self._guide.advance(token)

    def fork(self) -> "Pinned":
        """Return an independent guide with the same bytes."""
        return Pinned(self._guide.fork(), self._vocabulary, self._data)


@lru_cache(maxsize=256)
def _along(vocabulary: Vocabulary, data: bytes) -> Int32Array:
    """Mask of the tokens that begin with `data` or are a prefix of it. O(longest token x 256 + tokens found)."""
    trie = vocabulary.trie
    found = []
    begin, end = 0, trie.n_nodes
    for depth, byte in enumerate(data):
        node = begin
        while node < end and trie.byte[node] != byte:
            node = int(trie.skip[node])
        if node >= end:
            break
        begin, end = node + 1, int(trie.skip[node])
        last = end if depth + 1 == len(data) else node + 1
        found.append(trie.token_ids[trie.token_indptr[node] : trie.token_indptr[last]])
    words = np.zeros(mask_words(vocabulary.size), np.int32)
    tokens = np.concatenate(found) if found else np.zeros(0, np.int32)
    np.bitwise_or.at(words, tokens >> 5, np.int32(1) << (tokens & 31))
    return freeze(words)
