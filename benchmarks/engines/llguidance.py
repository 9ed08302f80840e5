"""llguidance: a lazy derivative automaton; masks are computed as they are asked for.

Every compile makes a new matcher with an automaton of its own, and nothing is shared between matchers but the tokenizer. What it
found on one text it keeps for the next one of the same matcher, so `start` resets the one matcher: its best case. It is
told the benchmark's own cut as its tokenizer, since where bytes are forced it allows the tokens of that cut only.
"""

from functools import partial

import numpy as np
from llguidance import LLMatcher, LLTokenizer
from llguidance._tokenizer import TokenizerWrapper

from benchmarks.engines import Compiled, Matcher, spelled
from benchmarks.vocabularies import Cutter
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class _Tokenizer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.eos_token_id = vocabulary.eos[0]
        self.bos_token_id = None
        # Its mark of special tokens is a byte that no text has.
        self.tokens = spelled(vocabulary, lambda token: b"\xff<|%d|>" % token)
        self.special_token_ids = [token for token, data in enumerate(self.tokens) if data[:2] == b"\xff<"]
        self.cut = Cutter(vocabulary)

    def __call__(self, text: bytes) -> list[int]:
        return self.cut(text)


class Engine:
    lazy, complete = True, True

    def __init__(self, vocabulary: Vocabulary) -> None:
        wrapper = TokenizerWrapper(_Tokenizer(vocabulary))
        self.tokenizer = LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=list(vocabulary.eos))
        self.n_words = mask_words(vocabulary.size)

    def compile(self, regex: str) -> Compiled:
        matcher = LLMatcher(self.tokenizer, LLMatcher.grammar_from_regex(regex))
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return _Compiled(matcher, self.n_words)


class _Compiled:
    def __init__(self, matcher: LLMatcher, n_words: int) -> None:
        self.matcher = matcher
        self.buffer = np.zeros(n_words, np.int32)

    def finish(self) -> None:
        """Nothing can be done ahead."""

    def start(self) -> Matcher:
        self.matcher.reset()
        fill = partial(self.matcher.unsafe_compute_mask_ptr, self.buffer.ctypes.data, self.buffer.nbytes)
        return Matcher(fill, self.matcher.consume_token, lambda: self.buffer)
