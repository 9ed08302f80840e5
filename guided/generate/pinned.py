"""`Pinned`: a guide whose next bytes are fixed, in whatever token the model likes to say them.

Where a text goes on with a name that has been chosen, the model still chooses the token in which what follows the name begins: ``("`` is
one token in most vocabularies, and a model that may only say ``(`` and then ``"`` is led astray (token healing).
"""

from functools import lru_cache

import numpy as np

from guided.arrays import Int32Array, freeze, mask_words
from guided.generate.decoding import Steering
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Pinned"]


class Pinned:
    """Steers as a guide does, along some bytes.

    Parameters
    ----------
    guide : Steering
        Some token that it allows goes along with the bytes.
    vocabulary : Vocabulary
    data : bytes
        What comes next, not empty; a token may go on beyond it.
    """

    def __init__(self, guide: Steering, vocabulary: Vocabulary, data: bytes) -> None:
        self._guide, self._along = guide, _along(vocabulary, data)

    @property
    def remaining(self) -> int:
        """As the guide's."""
        return self._guide.remaining

    def mask(self) -> Int32Array:
        """The guide's tokens that go along."""
        return self._guide.mask() & self._along

    def fits(self, token: int, budget: int) -> bool:
        """As the guide's."""
        return self._guide.fits(token, budget)

    def mask_within(self, budget: int) -> Int32Array:
        """The guide's tokens within a budget that go along."""
        return self._guide.mask_within(budget) & self._along

    def advance(self, token: int) -> None:
        """Take an allowed token."""
        self._guide.advance(token)


@lru_cache(maxsize=256)
def _along(vocabulary: Vocabulary, data: bytes) -> Int32Array:
    """The tokens that begin with some bytes, or that these begin with, as a mask. O(longest token x 256 + tokens found)."""
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
