"""xgrammar: a pushdown automaton with token masks computed per state by the compiler, the rest at each step.

Its compiler keeps grammars and masks of rules between compiles; that cache is switched off and each compile has a new compiler,
on one thread.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from xgrammar import CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType

from benchmarks.engines import Matcher, spelled
from benchmarks.maskbench_engines import Refused
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    def __init__(self, vocabulary: Vocabulary, _cut: Callable[[bytes | str], list[int]], **options: Any) -> None:
        self.info = TokenizerInfo(
            spelled(vocabulary), VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=list(vocabulary.eos)
        )
        self.n_words, self.options = mask_words(vocabulary.size), options

    def compile(self, schema: Any) -> "_Compiled":
        compiler = GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        try:
            return _Compiled(compiler.compile_json_schema(schema, **self.options), self.n_words)
        except (RuntimeError, ValueError) as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise Refused((lines or ["?"])[-1].rpartition(": ")[2], str(error)) from error


class _Compiled:
    def __init__(self, grammar: CompiledGrammar, n_words: int) -> None:
        self.grammar = grammar
        self.buffer = np.zeros((1, n_words), np.int32)

    def start(self) -> Matcher:
        matcher = GrammarMatcher(self.grammar)
        fill = partial(matcher.fill_next_token_bitmask, self.buffer, 0)

        def mask() -> None:
            if not fill():  # Why: it leaves the buffer alone where every token is allowed
                self.buffer.fill(-1)

        return Matcher(mask, matcher.accept_token, lambda: self.buffer[0])

    def error(self) -> str:
        return ""
