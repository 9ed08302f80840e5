"""outlines-core: an index of states to tokens, computed whole by a scan of the tokens per state.

`Index` keeps nothing between patterns. A mask is written from the index at each step. One EOS only can be given.
"""

from functools import partial

import numpy as np
from outlines_core import Guide, Index
from outlines_core import Vocabulary as Tokens

from benchmarks.engines import Compiled, Matcher
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    lazy, complete = False, True

    def __init__(self, vocabulary: Vocabulary) -> None:
        ids: dict[bytes, list[int]] = {}
        for token, data in enumerate(vocabulary.tokens):
            if data:
                ids.setdefault(data, []).append(token)
        self.tokens = Tokens(vocabulary.eos[0], ids)
        self.n_words = mask_words(vocabulary.size)

    def compile(self, regex: str) -> Compiled:
        return _Compiled(Index(regex, self.tokens), self.n_words)


class _Compiled:
    def __init__(self, index: Index, n_words: int) -> None:
        self.index = index
        self.buffer = np.zeros(n_words, np.int32)

    def finish(self) -> None:
        """Nothing to do."""

    def start(self) -> Matcher:
        guide, buffer = Guide(self.index), self.buffer
        fill = partial(guide.write_mask_into, buffer.ctypes.data, buffer.size, buffer.itemsize)
        # Why: without return_tokens=False it answers with the list of all tokens that are allowed next.
        return Matcher(fill, partial(guide.advance, return_tokens=False), lambda: buffer)
