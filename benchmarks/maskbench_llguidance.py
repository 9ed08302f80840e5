"""llguidance: a lazy derivative automaton and an Earley parser, with its slices for JSON.

Each compile makes a matcher with an automaton of its own. It is given the model's tokenizer, since where bytes are forced it allows the
tokens of that cut only.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from llguidance._tokenizer import TokenizerWrapper

from benchmarks.engines import Matcher, spelled
from benchmarks.maskbench_engines import Refused
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class _Tokenizer:
    def __init__(self, vocabulary: Vocabulary, cut: Callable[[bytes | str], list[int]]) -> None:
        self.eos_token_id = vocabulary.eos[0]
        self.bos_token_id = None
        # Its mark of special tokens is a byte that no text has.
        self.tokens = spelled(vocabulary, lambda token: b"\xff<|%d|>" % token)
        self.special_token_ids = [token for token, data in enumerate(self.tokens) if data[:2] == b"\xff<"]
        self.cut = cut

    def __call__(self, text: bytes) -> list[int]:
        return self.cut(text)


class Engine:
    def __init__(self, vocabulary: Vocabulary, cut: Callable[[bytes | str], list[int]], **options: Any) -> None:
        self.tokenizer = LLTokenizer(
            TokenizerWrapper(_Tokenizer(vocabulary, cut)),
            n_vocab=vocabulary.size,
            eos_token=list(vocabulary.eos),
            slices=LLTokenizer.json_slices(),
        )
        self.n_words, self.options = mask_words(vocabulary.size), {"whitespace_flexible": True, **options}

    def compile(self, schema: Any) -> "_Compiled":
        try:
            grammar = LLMatcher.grammar_from_json_schema(schema, overrides=self.options)
            matcher = LLMatcher(self.tokenizer, grammar, log_level=0)
        except ValueError as error:
            raise Refused(_kind(str(error)), str(error)) from error
        if matcher.is_error():
            raise Refused(_kind(matcher.get_error()), matcher.get_error())
        return _Compiled(matcher, self.n_words)


def _kind(message: str) -> str:
    return message.strip().partition("\n")[0]


class _Compiled:
    def __init__(self, matcher: LLMatcher, n_words: int) -> None:
        self.matcher = matcher
        self.buffer = np.zeros(n_words, np.int32)

    def start(self) -> Matcher:
        self.matcher.reset()
        fill = partial(self.matcher.unsafe_compute_mask_ptr, self.buffer.ctypes.data, self.buffer.nbytes)
        return Matcher(fill, self.matcher.consume_token, lambda: self.buffer)

    def error(self) -> str:
        return self.matcher.get_error() if self.matcher.is_error() else ""
