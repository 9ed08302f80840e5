"""guided, this package.

Compiles keep nothing: `guided.compile` has no cache of patterns, and the trie belongs to the vocabulary. Masks are built on
first use and shared, so `finish` builds them all. Its set-up is the trie of the vocabulary.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engines import Compiled, Matcher
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Regex
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


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
        self.index.tables.lookup  # noqa: B018 - built on first use

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

    def lookups(self) -> dict[str, Callable[[int, int], Any]]:
        mask = self.index.tables.mask
        return {
            "loop": lambda _state, _token: None,
            "mask": lambda state, _: mask(state),
            "next": self.index.tables.lookup.next,
        }
