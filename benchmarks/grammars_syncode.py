"""SynCode: a store of masks by state of a terminal's automaton and next terminal, and a parse of all that has been generated at each step.

It pins its own regex and transformers, so it runs in an environment of its own, with guided's packages for vocabularies and texts::

    python3.11 -m venv .venv-syncode
    .venv-syncode/bin/pip install syncode==0.4.16 torch==2.13.0 numba==0.68.1 lark==1.3.1 psutil
    .venv-syncode/bin/python -m benchmarks.grammars --engine syncode --engine "syncode strict" --vocabulary gpt2

It knows tokens by the strings of a tokenizer of transformers, of which it asks little: `_Tokens` answers that from a vocabulary, since
tokenizers' files would have to come from a hub. Its mode ``grammar_mask`` allows more than the grammar, ``grammar_strict`` less. Where its
parser fails it says so in a log and allows every token: here such a token counts as refused. Python is its own grammar of that name, with
its own Indenter; the other grammars are those of this package.
"""

import os
import tempfile
import time
from collections.abc import Sequence

os.environ.setdefault("SYNCODE_CACHE", tempfile.mkdtemp() + "/")

import torch
from syncode.grammar_mask.logits_processor import SyncodeLogitsProcessor
from syncode.parsers.grammars import Grammar
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

from benchmarks.grammars_engines import Step
from benchmarks.grammars_texts import lark_source
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class _Tokens:
    """What SynCode asks of a tokenizer whose tokens are strings of bytes, each byte as a letter."""

    def __init__(self, words: Vocabulary) -> None:
        letters = bytes_to_unicode()
        special = "<|special {}|>".format
        self.tokens = [
            special(token) if not data else "".join(letters[byte] for byte in data)
            for token, data in enumerate(words.tokens)
        ]
        self.bytes = words.tokens
        self.eos_token_id, self.vocab_size = words.eos[0], len(self.tokens)
        self.all_special_ids = [token for token, data in enumerate(words.tokens) if not data]

    def get_vocab(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def decode(self, tokens: Sequence[int], **_: object) -> str:
        return b"".join(self.bytes[token] or b"" for token in tokens).decode(errors="replace")


class Engine:
    goes_on = True

    def __init__(self, name: str, words: Vocabulary, mode: str) -> None:
        torch.set_num_threads(1)
        tokens = _Tokens(words)
        grammar = Grammar(name if name == "python" else lark_source(name))
        begin = time.process_time_ns()
        self.processor = SyncodeLogitsProcessor(grammar, tokens, use_cache=False, mode=mode, dev_mode=True)
        self.spec_ms, self.compile_ms = 0.0, (time.process_time_ns() - begin) / 1e6
        self.eos, self.size = tokens.eos_token_id, tokens.vocab_size

    def start(self) -> Step:
        self.processor.reset()
        # Why a token before all: what is there at the first call is the prompt.
        self.ids = torch.tensor([[self.eos]])

        def step(token: int) -> tuple[bool, int, int]:
            begin = time.thread_time_ns()
            allowed = self._allowed(token)
            middle = time.thread_time_ns()
            self.ids = torch.cat((self.ids, torch.tensor([[token]])), dim=-1)
            return allowed, middle - begin, time.thread_time_ns() - middle

        return step

    def end(self) -> bool:
        return self._allowed(self.eos)

    def _allowed(self, token: int) -> bool:
        try:
            scores = self.processor(self.ids, torch.zeros(1, self.size))
        except Exception:
            return False
        return bool(scores[0, token] == 0)
