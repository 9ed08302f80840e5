"""guided, this package.

Compiles keep nothing: `guided.compile` has no cache of patterns, and the trie belongs to the vocabulary. Masks are built on
first use and shared, so `finish` builds them all. Its set-up is the trie of the vocabulary.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from benchmarks.engines import Compiled, Matcher
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Regex
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


@njit(cache=True)
def _walk(tokens, rounds, token_function, indptr, functions, targets, mask_of):
    """Sum of the numbers of the masks along a text, from the start, so many times: the look-ups of a step, compiled.

    What a caller does that has the tables on its side, in a kernel of its own or on a device, with the masks as rows of one array.
    """
    total = 0
    for _ in range(rounds):
        state = 0
        for token in tokens:
            total += mask_of[state]
            function = token_function[token]
            low, high = indptr[state], indptr[state + 1]
            while low < high:
                middle = (low + high) >> 1
                if functions[middle] < function:
                    low = middle + 1
                else:
                    high = middle
            state = targets[low]
    return total


class Engine:
    lazy, complete = False, False

    def __init__(self, vocabulary: Vocabulary) -> None:
        # Why a new vocabulary: the one given may have its trie already.
        self.vocabulary = Vocabulary(vocabulary.tokens, vocabulary.eos, vocabulary.size, vocabulary.special)
        self.vocabulary.trie  # noqa: B018 - built on first use

    def compile(self, regex: str) -> Compiled:
        return _Compiled(compile_spec(Regex(regex), self.vocabulary))


class _Compiled:
    def __init__(self, index: Index) -> None:
        self.index = index

    def finish(self) -> None:
        for state in self.index.tables.mask_state.tolist():
            self.index.mask(state)
        self.index.tables.next  # noqa: B018 - built on first use

    def start(self) -> Matcher:
        guide = self.index.guide()
        return Matcher(guide.mask, guide.advance, guide.mask)

    def start_copying(self) -> Matcher:
        """A matcher that copies each mask into a buffer, as the other engines do."""
        guide = self.index.guide()
        buffer = np.zeros_like(guide.mask())
        return Matcher(lambda: guide.mask(buffer), guide.advance, lambda: buffer)

    def visited(self, tokens: list[int]) -> list[tuple[int, int]]:
        guide, pairs = self.index.guide(), []
        for token in tokens:
            pairs.append((guide.state, token))
            guide.advance(token)
        return pairs

    def compiled_walk(self, tokens: list[int], rounds: int) -> Callable[[], Any]:
        tables, read = self.index.tables, np.array(tokens, np.int32)
        arrays = tables.token_function, tables.row_indptr, tables.row_functions, tables.row_targets, tables.mask_of
        return lambda: _walk(read, rounds, *arrays)

    def lookups(self) -> dict[str, Callable[[int, int], Any]]:
        mask = self.index.tables.mask
        return {
            "loop": lambda _state, _token: None,
            "mask": lambda state, _: mask(state),
            "next": self.index.tables.next,
        }
