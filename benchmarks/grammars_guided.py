"""guided: `Grammar`, with its kernels out of numba's cache, and the masks that were not there yet counted apart."""

import time

from benchmarks.clock import timed
from benchmarks.grammars_engines import Step
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.generate.warming import warm
from guided.guide.guide import Guide
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    goes_on = False

    def __init__(self, name: str, words: Vocabulary) -> None:
        warm(lambda _: None)
        words.trie  # noqa: B018 - built on first use
        spec, self.spec_ms, _ = timed(Grammar, name)
        self.index, self.compile_ms, _ = timed(compile_spec, spec, words)
        # Nanoseconds of the masks that were not there yet.
        self.misses: list[int] = []

    def start(self) -> Step:
        guide, tables = self.index.guide(), self.index.tables
        self.guide = guide

        def step(token: int) -> tuple[bool, int, int]:
            if tables.known_mask(guide.state) is None:  # type: ignore[union-attr]
                found = _step(guide, token)
                self.misses.append(found[1])
                return found
            return _step(guide, token)

        return step

    def end(self) -> bool:
        return self.guide.is_accepting


def _step(guide: Guide, token: int) -> tuple[bool, int, int]:
    begin = time.thread_time_ns()
    mask = guide.mask()
    middle = time.thread_time_ns()
    allowed = bool(mask[token >> 5] >> (token & 31) & 1)
    if allowed:
        guide.advance(token)
    return allowed, middle - begin, time.thread_time_ns() - middle
