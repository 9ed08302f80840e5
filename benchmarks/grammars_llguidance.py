"""llguidance: it reads Lark's syntax with a meaning of its own (no priorities, no lookaround, no Indenter)."""

import time

import numpy as np
from llguidance import LLMatcher

from benchmarks.grammars_engines import Step
from benchmarks.grammars_texts import lark_source
from benchmarks.maskbench_engines import Refused
from benchmarks.maskbench_llguidance import Engine as Tokenized
from benchmarks.vocabularies import Cutter
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    goes_on = False

    def __init__(self, name: str, words: Vocabulary) -> None:
        engine, source = Tokenized(words, Cutter(words)), lark_source(name)
        begin = time.process_time_ns()
        matcher = LLMatcher(engine.tokenizer, LLMatcher.grammar_from_lark(source), log_level=0)
        if matcher.is_error():
            raise Refused("lark", matcher.get_error())
        self.spec_ms, self.compile_ms = 0.0, (time.process_time_ns() - begin) / 1e6
        self.matcher, self.words = matcher, np.zeros(engine.n_words, np.int32)

    def start(self) -> Step:
        matcher, words = self.matcher, self.words
        matcher.reset()

        def step(token: int) -> tuple[bool, int, int]:
            begin = time.thread_time_ns()
            matcher.unsafe_compute_mask_ptr(words.ctypes.data, words.nbytes)
            middle = time.thread_time_ns()
            allowed = bool(words[token >> 5] >> (token & 31) & 1)
            if allowed:
                matcher.consume_token(token)
            return allowed, middle - begin, time.thread_time_ns() - middle

        return step

    def end(self) -> bool:
        return bool(self.matcher.is_accepting())
