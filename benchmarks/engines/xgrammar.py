"""xgrammar: a pushdown automaton with token masks computed per state by `compile`, the rest at each step.

Its compiler keeps compiled grammars, and the masks of rules that grammars share: a new spelling of a pattern is answered out of
that cache (15 ms become 0.1). So the cache is switched off and each compile has a new compiler, on one thread.
"""

from functools import partial

import numpy as np
from xgrammar import CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType

from benchmarks.engines import Compiled, Matcher, spelled
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    lazy, complete = False, True

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.info = TokenizerInfo(
            spelled(vocabulary), VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=list(vocabulary.eos)
        )
        self.n_words = mask_words(vocabulary.size)

    def compile(self, regex: str) -> Compiled:
        compiler = GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        return _Compiled(compiler.compile_regex(regex), self.n_words)


class _Compiled:
    def __init__(self, grammar: CompiledGrammar, n_words: int) -> None:
        self.grammar = grammar
        self.buffer = np.zeros((1, n_words), np.int32)

    def finish(self) -> None:
        """Nothing to do."""

    def start(self) -> Matcher:
        matcher = GrammarMatcher(self.grammar)
        fill = partial(matcher.fill_next_token_bitmask, self.buffer, 0)
        return Matcher(fill, matcher.accept_token, lambda: self.buffer[0])
