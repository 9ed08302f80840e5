"""Writing without a guide: the model's own tokens, with a way back to where a call began.

`Pen` is one sequence that a model has read, with its text. It counts forward passes as the guided generators do: one per request, the
prompt's included. Nothing is masked but tokens that spell nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from guided.generate.model import LanguageModel, Logits, Session
from guided.generate.sampler import Sampler
from guided.generate.steering import FreeGuide

__all__ = ["Pen", "pen"]


class Pen:
    """A sequence being written.

    Attributes
    ----------
    tokens : list of int
        Written so far, the prompt not included.
    chosen : int
        How many of them the model chose, and did not lose to another try.
    passes : int
        Calls of the model.
    is_ended : bool
        Did the model end the text?
    """

    def __init__(self, model: LanguageModel, session: Session, prompt: Sequence[int], sampler: Sampler) -> None:
        self._model, self._session, self._sampler = model, session, sampler
        self._prompt = len(prompt)
        self._mask = FreeGuide(model.vocabulary).mask()
        self._logits: Logits = session.start(prompt)
        self.tokens: list[int] = []
        self.chosen, self.passes, self.is_ended = 0, 1, False

    @property
    def text(self) -> str:
        """What has been written."""
        return self._model.decode(self.tokens)

    def next(self) -> None:
        """Write one token, or end the text."""
        token = self._sampler.sample(self._logits, self._mask)
        if token in self._model.vocabulary.eos:
            self.is_ended = True
        else:
            self.write([token])
            self.chosen += 1

    def ranked(self, count: int) -> list[int]:
        """The most probable next tokens that spell something and end nothing, best first."""
        order = np.argsort(-self._logits, kind="stable")
        eos = self._model.vocabulary.eos
        spelled = (int(token) for token in order if token not in eos and self._model.vocabulary[int(token)])
        return [token for _, token in zip(range(count), spelled, strict=False)]

    def write(self, tokens: Sequence[int]) -> None:
        """Have the model read tokens that come from elsewhere."""
        self._logits = self._session.feed(tokens)
        self.tokens.extend(tokens)
        self.passes += 1

    def encode(self, text: str) -> list[int]:
        """The tokens of a text that is to be inserted."""
        return self._model.encode(text)

    def back_to(self, n_tokens: int, tokens: Sequence[int]) -> None:
        """Forget all but the first tokens written, and go on with others."""
        self._session.rewind(self._prompt + n_tokens)
        del self.tokens[n_tokens:]
        self.is_ended = False
        self.write(tokens)


@contextmanager
def pen(model: LanguageModel, prompt: str, sampler: Sampler) -> Iterator[Pen]:
    """A pen behind a prompt."""
    tokens = model.prompt_tokens(prompt)
    with model.lease(tokens) as session:
        yield Pen(model, session, tokens, sampler)
