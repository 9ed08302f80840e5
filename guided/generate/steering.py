"""The guide of free text, and masks of the tokens that may spell a text."""

from functools import lru_cache

import numpy as np

from guided.arrays import Int32Array, freeze, mask_words
from guided.guide.end_tokens import token_mask
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ENDLESS", "FreeGuide", "tokens_along"]

# In place of a budget: more tokens than any text has.
ENDLESS = 1 << 40


class FreeGuide:
    """A guide without constraints: every token that has bytes is allowed, and the end of sequence at any time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelling = [token for token, data in enumerate(vocabulary) if data is not None]
        self._all = freeze(token_mask([*spelling, *vocabulary.eos], vocabulary.size))

    @property
    def state(self) -> int:
        """Always 0: there is one state."""
        return 0

    @property
    def remaining(self) -> int:
        """Always 0: free text may end anywhere."""
        return 0

    def mask(self) -> Int32Array:
        """All tokens that have bytes, and the end of sequence."""
        return self._all

    def fits(self, token: int, budget: int) -> bool:  # noqa: ARG002 - as `Guide`
        """Return True: free text may end after any token."""
        return True

    def mask_within(self, budget: int) -> Int32Array:  # noqa: ARG002 - as `Guide`
        """The same mask: free text may end after any token."""
        return self._all

    def advance(self, token: int) -> None:
        """Do nothing: the guide has one state."""

    def fork(self) -> "FreeGuide":
        """Return this guide: it has one state."""
        return self


@lru_cache(maxsize=256)
def tokens_along(vocabulary: Vocabulary, data: bytes) -> Int32Array:
    """The mask of the tokens that begin with ``data`` or are a prefix of it. O(longest token x 256 + tokens found)."""
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
