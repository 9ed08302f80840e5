"""One sequence being decoded: ask the guide for the mask, choose a token, advance the guide (ToolDec's algorithm 1).

A *script* is a coroutine that knows no model: it yields events for the user, and requests, which are answered
(`guided.generate.drivers` does): `Feed` with logits, `Work` with a result. `Decoding` is the part that all scripts share.

Invariants:

- only allowed tokens are chosen, and a token's mass is the model's own, renormalised over the allowed ones;
- with n tokens of the budget left, only tokens are chosen from which n - 1 more reach an accepted text, so that the
  text is complete when the budget ends; which these are is asked for only where the one drawn among all is none of them;
- the model is not called where one token alone is possible: it reads that token together with the next one. Where
  nothing but the end of sequence is possible, the text ends without it.

Complexity: one forward pass and O(size) per token that is a choice.

Ref: Zhang, Chen, Li, Wang, "Syntax Error-Free and Generalizable Tool Use for LLMs via Finite-State Decoding", 2023.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from guided.arrays import Int32Array, freeze, mask_words
from guided.errors import LimitError
from guided.events import Event, FinishReason
from guided.generate.model import Logits, check_context
from guided.generate.sampler import Sampler
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Decoding", "Feed", "FreeGuide", "Script", "Steering", "Work", "token_mask"]


@dataclass(frozen=True, slots=True)
class Feed:
    """A request for logits.

    Attributes
    ----------
    tokens : tuple of int
        To be read by the model after all that it has read in this script; at least one.
    keep : int, optional
        Forget all but this many of the tokens read so far first. None keeps all.
    """

    tokens: tuple[int, ...]
    keep: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A request for something that takes time and is not the model's, such as the run of a tool; answered with what it gives.

    Attributes
    ----------
    run : callable
        Does it, and blocks meanwhile.
    run_async : callable
        Gives an awaitable that does it.
    """

    run: Callable[[], Any]
    run_async: Callable[[], Awaitable[Any]]


# Sent to it: the answer after a request, None after an event.
Script: TypeAlias = Generator[Event | Feed | Work, Any, None]


class Steering(Protocol):
    """What a decoding needs of a guide."""

    @property
    def remaining(self) -> int:
        """The least number of tokens to an accepted text."""

    def mask(self) -> Int32Array:
        """The allowed tokens."""

    def fits(self, token: int, budget: int) -> bool:
        """Is an allowed token one from which ``budget - 1`` more reach an accepted text, or the end of sequence?"""

    def mask_within(self, budget: int) -> Int32Array:
        """Tokens from which ``budget - 1`` more reach an accepted text; the end of sequence if it is accepted now."""

    def advance(self, token: int) -> None:
        """Take an allowed token."""


class FreeGuide:
    """Steers nothing: every token that spells something is allowed, and the end of sequence at any time.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of the model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelling = [token for token, data in enumerate(vocabulary) if data is not None]
        self._all = freeze(token_mask([*spelling, *vocabulary.eos], vocabulary.size))

    @property
    def remaining(self) -> int:
        """No token is ever missing."""
        return 0

    def mask(self) -> Int32Array:
        """All tokens that spell something, and the end."""
        return self._all

    def fits(self, token: int, budget: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Free text may end after any token."""
        return True

    def mask_within(self, budget: int) -> Int32Array:  # noqa: ARG002 - the protocol's signature
        """The same: free text may end after any token."""
        return self._all

    def advance(self, token: int) -> None:
        """Every token leads back here."""


class Decoding:
    """The state of one sequence: guide, sampler, budget, and the tokens that the model has not read yet.

    Parameters
    ----------
    guide : Steering
        In the state from which to go on. Scripts may replace it between tokens.
    sampler : Sampler
        Chooses among the allowed tokens.
    vocabulary : Vocabulary
        Of the model.
    prompt : sequence of int
        Read before the first token, at least one.
    max_tokens : int
        The most tokens to choose; inserted ones do not count.
    context_length : int, optional
        The most tokens that the model can read.

    Attributes
    ----------
    guide : Steering
        As given.
    reserve : int
        Tokens of the budget that are for later.
    tokens : list of int
        The tokens chosen or forced so far, without the end of sequence.
    pending : list of int
        Tokens for the next forward pass.
    finish_reason : {"stop", "length"} or None
        None while it goes on.
    forward_passes : int
        Calls of the model so far.

    Raises
    ------
    LimitError
        ``max_tokens`` is below the shortest accepted text, or the prompt leaves too little of the model's context.
    """

    def __init__(
        self,
        guide: Steering,
        sampler: Sampler,
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        max_tokens: int,
        context_length: int | None = None,
    ) -> None:
        if not prompt:
            raise ValueError("a prompt needs at least one token")
        check_context(len(prompt), context_length)
        self.guide = guide
        self.reserve = 0
        self.tokens: list[int] = []
        self.pending = list(prompt)
        self.finish_reason: FinishReason | None = None
        self.forward_passes = 0
        self._sampler = sampler
        self._eos = frozenset(vocabulary.eos)
        self._text_words = ~token_mask(vocabulary.eos, vocabulary.size)
        self._max_tokens = max_tokens
        # How much the model has read, and what it shall keep of that.
        self._read = 0
        self._keep: int | None = None
        # The last token is never read, so the text may be one token longer than what is left of the context.
        self._room = None if context_length is None else context_length - len(prompt) + 1
        self._check_budget()

    @property
    def left(self) -> int:
        """How many more tokens may be chosen."""
        room = self._max_tokens if self._room is None else min(self._max_tokens, self._room)
        return room - len(self.tokens) - self.reserve

    def insert(self, tokens: Sequence[int]) -> None:
        """Have the model read tokens that it did not choose; the guide does not see them."""
        self.pending.extend(tokens)
        if self._room is not None:
            self._room -= len(tokens)
        self._check_budget()

    @property
    def place(self) -> int:
        """How many tokens stand before the next one: the model has read them, or will with its next request."""
        return self._read + len(self.pending)

    def turn(self, guide: Steering, reserve: int) -> None:
        """Go on by another guide; raises LimitError where what is left is too little for it."""
        self.guide, self.reserve = guide, reserve
        self._check_budget()

    def replace(self, place: int, tokens: Sequence[int]) -> None:
        """Have the model forget all from a place on, and read other tokens instead."""
        forgotten = self.place - place
        self.forget(place)
        self.pending.extend(tokens)
        if self._room is not None:
            self._room += forgotten - len(tokens)
        self._check_budget()

    def forget(self, place: int) -> None:
        """Have the model forget all from a place on; what the budget counts stays as it is."""
        if place < self._read:
            self._keep = self._read = place
            self.pending.clear()
        else:
            del self.pending[place - self._read :]

    def probe(self, place: int, tokens: Sequence[int]) -> Generator[Feed, Logits, Logits]:
        """The logits after other tokens from a place on; to be undone by `forget` or another probe."""
        self.forget(place)
        self.pending.extend(tokens)
        return (yield from self.read())

    def read(self) -> Generator[Feed, Logits, Logits]:
        """Have the model read what is pending; the logits of the token after it."""
        logits: Logits = yield Feed(tuple(self.pending), self._keep)
        self.forward_passes += 1
        self._read += len(self.pending)
        self._keep = None
        self.pending.clear()
        return logits

    def take(self, token: int) -> None:
        """Choose a token without the sampler; the guide advances, and the model will read it."""
        self.guide.advance(token)
        self.tokens.append(token)
        self.pending.append(token)

    def next(self) -> Generator[Feed, Logits, int | None]:
        """The next token, after the guide has advanced by it; None at the end, which sets ``finish_reason``."""
        if self.finish_reason is not None:
            return None
        left = self.left
        mask = self.guide.mask() if left > 0 else None
        if mask is None or not (mask & self._text_words).any():
            self.finish_reason = "length" if (self.guide.mask() & self._text_words).any() else "stop"
            return None
        token = _only(mask)
        if token is None:
            logits = yield from self.read()
            token = self._sampler.sample(logits, mask)
            if not self.guide.fits(token, left):
                # Drawn anew among those that fit, a token has the mass that it has among them.
                mask = self.guide.mask_within(left)
                if not (mask & self._text_words).any():
                    self.finish_reason = "length"
                    return None
                token = self._sampler.sample(logits, mask)
        if token in self._eos:
            self.guide.advance(token)
            self.finish_reason = "stop"
            return None
        self.take(token)
        return token

    def _check_budget(self) -> None:
        needed = self.guide.remaining
        if needed > self.left:
            what = "max_tokens" if self._room is None or self._max_tokens <= self._room else "context"
            raise LimitError(what, needed, max(self.left, 0), "the shortest text that can be accepted is longer")


def token_mask(tokens: Sequence[int], size: int) -> Int32Array:
    """The mask that allows exactly ``tokens``: int32, shape (ceil(size / 32),)."""
    bits = np.zeros(32 * mask_words(size), dtype=np.bool_)
    bits[list(tokens)] = True
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False)


def _only(mask: Int32Array) -> int | None:
    """The token that a mask allows, if it allows exactly one."""
    words = np.flatnonzero(mask)
    if len(words) != 1:
        return None
    word = int(mask[words[0]]) & 0xFFFFFFFF
    return int(words[0]) * 32 + word.bit_length() - 1 if word.bit_count() == 1 else None
