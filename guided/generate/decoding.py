"""Decoding of one sequence: get the mask from the guide, choose a token, advance the guide (ToolDec's algorithm 1).

A `TextCoroutine` generates one text and is independent of any model. It yields events for the user and requests that a driver answers
(`guided.generate.drivers`): `Feed` and `Rows` with logits, `Work` with a result. `Decoding` is the part that all coroutines share.

With a *search* (`guided.generate.search`), a whole text is found first, and its tokens then follow one by one.

Invariants:

- only allowed tokens are chosen, with the model's own probabilities renormalized over the allowed tokens;
- with n tokens of budget left, only tokens from which n - 1 more reach an accepted text are chosen, so the text is complete when the
  budget ends. A token is first drawn as without a budget. If it does not fit, the text is *steered* from there, which is recorded, and
  another one is drawn from the tokens that fit. A text that the budget ends where it could continue is steered at its end: the model is not
  asked whether it would end there, too;
- a forced token costs no forward pass, unless its probability is asked for: the model reads it together with the next one. If only the
  end of sequence is possible, the text ends without a call of the model.

Complexity: one forward pass and O(size) per token that is a choice.

Ref: Zhang, Chen, Li, Wang, "Syntax Error-Free and Generalizable Tool Use for LLMs via Finite-State Decoding", 2023.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from guided.arrays import Int32Array
from guided.errors import ArgumentError, LimitError
from guided.events import Event, FinishReason, Logprob, Sample, Scores
from guided.generate.canonical import Canonical, Steering
from guided.generate.likelihood import logprob_of, step_of
from guided.generate.model import Logits, check_context, common_prefix
from guided.generate.sampler import Sampler
from guided.generate.steering import ENDLESS, FreeGuide
from guided.guide.end_tokens import token_mask
from guided.guide.guide import Guide
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "Decoding",
    "Feed",
    "Found",
    "OnBudget",
    "Rows",
    "Search",
    "Start",
    "TextCoroutine",
    "Work",
]


OnBudget: TypeAlias = Literal["complete", "raise", "truncate"]


@dataclass(frozen=True, slots=True)
class Feed:
    """A request for logits."""

    # Tokens for the model to read after all earlier ones of this coroutine; at least one.
    tokens: tuple[int, ...]
    # First truncate the tokens read so far to this length. None keeps all.
    keep: int | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A request for slow work outside the model, such as running a tool; answered with its result."""

    # Does the work and blocks.
    run: Callable[[], Any]
    # Returns an awaitable that does the work.
    run_async: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Rows:
    """A request for the logits of several texts, as one batch."""

    # Tokens for the model to read in each row, at least one each.
    tokens: tuple[tuple[int, ...], ...]
    # For each row the row of this coroutine's last `Rows` that it continues; a row may be continued several times, or not at all. None:
    # new rows, in a new batch.
    parents: tuple[int, ...] | None = None


# Generates one text. It receives the answer after a request, and None after an event.
TextCoroutine: TypeAlias = Generator[Event | Feed | Rows | Work, Any, None]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a search begins."""

    # Guide in its current state.
    guide: Steering
    # All tokens before the text, at least one.
    context: tuple[int, ...]
    # Maximum number of tokens to choose.
    left: int
    # Of the model.
    vocabulary: Vocabulary
    # Strings that end a text.
    stops: tuple[str, ...]
    # As in `Decoding.turn`.
    free: Steering | None = None
    # Whether texts are not completed, but cut where ``left`` tokens are used up.
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found; texts have their tokens only."""

    # The text to continue with.
    chosen: Sample
    # All distinct texts, the heaviest first.
    texts: tuple[Sample, ...]
    # As in `Result`.
    log_z: float | None
    # Number of forward passes; one for all rows of a batch.
    forward_passes: int


Search: TypeAlias = Callable[[Start], Generator[Feed | Rows, Any, Found]]


class Decoding:
    """The state of one sequence: guide, sampler, budget, and the tokens that the model has not read yet.

    Parameters
    ----------
    guide : Guide or FreeGuide
        Guide in its current state. Coroutines may replace it between tokens.
    sampler : Sampler
        Chooses among the allowed tokens.
    vocabulary : Vocabulary
        Of the model.
    prompt : sequence of int
        Tokens read before the first one, at least one.
    max_tokens : int
        Maximum number of tokens to choose; inserted ones do not count.
    context_length : int, optional
        Maximum number of tokens that the model can read.
    search : Search, optional
        Finds the text, or each segment of it. The model then reads no token for this decoding itself. None: tokens are chosen one by one.
    stops : tuple of str
        Stop strings, for a search; the coroutine handles them otherwise.
    has_scores : bool
        Whether to compute ``scores`` without a search; a forced token then costs a forward pass.
    canonical : Limits, optional
        Only the tokenizer's own encodings are allowed, of the text behind each guide that is given; these limits bound the searches for
        them. None: any tokens that spell the text.
    n_top : int, optional
        Compute ``logprobs`` with so many alternatives, without a search; every token then costs a forward pass. None: do not.
    on_budget : {"complete", "raise", "truncate"}
        What happens where the token chosen does not fit: another one is chosen; the text ends before it; or the text continues, and ends
        when the budget is used up.

    Attributes
    ----------
    guide, sampler, on_budget
        As given.
    free : Steering or None
        As in `turn`, up to the first steered token.
    steered : int or None
        Number of tokens before the first steered one, as in `Result`.
    reserve : int
        Part of the budget kept for later segments.
    tokens : list of int
        Tokens chosen or forced so far, without the end of sequence.
    pending : list of int
        Tokens for the next forward pass.
    finish_reason : {"stop", "length"} or None
        None until the text ends.
    forward_passes : int
        Number of forward passes so far.
    found : list of Found
        What each search found.
    context : list of int
        Tokens that the model has read.
    logprobs : list of Logprob or None
        One for each of ``tokens``; None if not computed.

    Raises
    ------
    LimitError
        ``max_tokens`` is below the length of the shortest accepted text, or the prompt leaves too little of the model's context.
    """

    def __init__(
        self,
        guide: Guide | FreeGuide,
        sampler: Sampler,
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        max_tokens: int,
        context_length: int | None = None,
        search: Search | None = None,
        stops: tuple[str, ...] = (),
        has_scores: bool = False,
        canonical: Limits | None = None,
        n_top: int | None = None,
        on_budget: OnBudget = "complete",
    ) -> None:
        if not prompt:
            raise ArgumentError("a prompt", "needs at least one token")
        check_context(len(prompt), context_length)
        self._canonical, self._vocabulary = canonical, vocabulary
        self.guide = self._restricted(guide)
        self.on_budget = on_budget
        self.free: Steering | None = None
        self.steered: int | None = None
        # Number of tokens before the last steered one, and before the current segment.
        self._last_steered, self._begin = -1, 0
        self.reserve = 0
        self.tokens: list[int] = []
        self.pending = list(prompt)
        self.finish_reason: FinishReason | None = None
        self.forward_passes = 0
        self._scores = Scores() if has_scores or search is not None else None
        self.found: list[Found] = []
        self._search, self._stops = search, stops
        # The tokens of the text that the last search chose and that have not been taken; None if the next one needs another search.
        self._ahead: deque[int] | None = None
        # Number of tokens before the first of these that was steered.
        self._ahead_steered: int | None = None
        self.sampler = sampler
        self._eos = frozenset(vocabulary.eos)
        self._text_words = ~token_mask(vocabulary.eos, vocabulary.size)
        self._max_tokens = max_tokens
        self.context: list[int] = []
        # How many tokens of the context the next request keeps.
        self._keep: int | None = None
        self.logprobs: list[Logprob] | None = None if n_top is None else []
        self._n_top = n_top or 0
        # The model never reads the last token, so the text may be one token longer than the rest of the context.
        self._room = None if context_length is None else context_length - len(prompt) + 1
        self._check_budget()

    @property
    def left(self) -> int:
        """Number of tokens that may still be chosen."""
        room = self._max_tokens if self._room is None else min(self._max_tokens, self._room)
        return room - len(self.tokens) - self.reserve

    @property
    def is_steered(self) -> bool:
        """Whether the current segment was steered."""
        return self._last_steered >= self._begin

    def steer(self, wanted: Sequence[int] = (), chosen: Sequence[int] = ()) -> bool:
        """Record that the budget chooses the next token, or the first one in which ``chosen`` differs from what the model wanted.

        Returns whether the text continues.
        """
        n_own = len(self.tokens) + (0 if self.on_budget == "raise" else common_prefix(wanted, chosen))
        self._last_steered, self.free = n_own, None
        if self.steered is None:
            self.steered = n_own
        if self.on_budget == "raise":
            self.finish_reason = "length"
        return self.finish_reason is None

    @property
    def scores(self) -> Scores | None:
        """Log-probabilities of the tokens chosen so far; None if not computed, or if a text that a search chose was not used as a whole."""
        return None if self._ahead else self._scores

    @property
    def place(self) -> int:
        """Length of the context before the next token: tokens that the model has read or will read with its next request."""
        return len(self.context) + len(self.pending)

    def turn(self, guide: Guide | FreeGuide, reserve: int, free: Guide | FreeGuide | None = None) -> None:
        """Begin a segment.

        Parameters
        ----------
        guide : Guide or FreeGuide
            Allows the texts of the segment.
        reserve : int
            Part of the budget to keep for later segments.
        free : Guide or FreeGuide, optional
            Allows the texts that the segment could have with a larger budget. None: those of the guide.

        Raises
        ------
        LimitError
            The remaining budget is too small for the guide.
        """
        self._discard()
        self._begin = len(self.tokens)
        self.guide, self.reserve = self._restricted(guide), 0 if self.on_budget == "truncate" else reserve
        self.free = None if free is None else self._restricted(free)
        self._check_budget()

    def _restricted(self, guide: Guide | FreeGuide) -> Steering:
        return guide if self._canonical is None else Canonical(guide, self._vocabulary, self._canonical)

    def replace(self, place: int, tokens: Sequence[int]) -> None:
        """Truncate the model's input at `place` and append tokens that it did not choose; the guide does not see them."""
        self._discard()
        forgotten = self.place - place
        self.forget(place)
        self.pending.extend(tokens)
        if self._room is not None:
            self._room += forgotten - len(tokens)
        self._check_budget()

    def forget(self, place: int) -> None:
        """Truncate the model's input at `place`; the budget does not change."""
        if place < len(self.context):
            self._keep = place
            del self.context[place:]
            self.pending.clear()
        else:
            del self.pending[place - len(self.context) :]

    def probe(self, place: int, tokens: Sequence[int]) -> Generator[Feed, Logits, Logits]:
        """Return the logits after `tokens` at `place`; undo with `forget` or another probe."""
        self.forget(place)
        self.pending.extend(tokens)
        return (yield from self.read())

    def read(self) -> Generator[Feed, Logits, Logits]:
        """Feed the pending tokens to the model; return the logits of the next token."""
        if not self.pending:
            # After `forget`, the last token is read again for its logits.
            self.pending.append(self.context.pop())
            self._keep = len(self.context)
        logits: Logits = yield Feed(tuple(self.pending), self._keep)
        self.forward_passes += 1
        self.context += self.pending
        self._keep = None
        self.pending.clear()
        return logits

    def take(self, token: int) -> Generator[Feed, Logits, None]:
        """Choose a token without the sampler; the guide advances, and the model will read it."""
        self._discard()
        if self.logprobs is not None:
            self.logprobs.append(logprob_of(token, (yield from self.read()), self._n_top, self._vocabulary))
        self._take(token)

    def _discard(self) -> None:
        """Drop the rest of the text that a search chose: the next token needs another search."""
        if self._ahead:
            self._scores = None
        self._ahead = None

    def _take(self, token: int) -> None:
        self.guide.advance(token)
        if self.free is not None:
            self.free.advance(token)
        self.tokens.append(token)
        self.pending.append(token)

    def next(self) -> Generator[Feed | Rows, Any, int | None]:
        """Choose the next token and advance the guide; None at the end, which sets ``finish_reason``."""
        if self.finish_reason is not None:
            return None
        if self._search is not None:
            return (yield from self._follow(self._search))
        left, free = self.left, self.free or self.guide
        mask = free.mask() if left > 0 else None
        if mask is None or not (mask & self._text_words).any():
            self._end(bool((free.mask() & self._text_words).any()))
            return None
        token = _only(mask)
        is_forced = token is not None and (self.free is None or self._fits(token, left))
        if not is_forced or self._scores is not None or self.logprobs is not None:
            logits = yield from self.read()
            penalized = self.sampler.penalized(logits, self.context)
            step = None
            if self._scores is not None:
                # None, too, if no further token fits the budget, and the text ends without a choice.
                fitting = self.guide.mask() if self.on_budget == "truncate" else self.guide.mask_within(left)
                if (fitting & self._text_words).any():
                    step = step_of(logits, fitting, self._vocabulary.eos)
            if token is None:
                token = self.sampler.sample(penalized, mask)
            # A second draw from the tokens that fit gives each its probability renormalized over these tokens.
            refused: Int32Array | None = None
            while not self._fits(token, left):
                refused = np.zeros_like(mask) if refused is None else refused
                refused[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
                if not self._is_dead_end(token):
                    if not self.steer():
                        return None
                    mask = self.guide.mask_within(left)
                # Only a `Canonical` guide has tokens in these masks that do not fit.
                mask = mask & ~refused
                if not (mask & self._text_words).any():
                    self._end(self.is_steered)
                    return None
                token = self.sampler.sample(penalized, mask)
            if self._scores is not None and step is not None:
                self._scores += step.scores_of(self._vocabulary.eos[0] if token in self._eos else token)
            if self.logprobs is not None and token not in self._eos:
                self.logprobs.append(logprob_of(token, logits, self._n_top, self._vocabulary))
        assert token is not None
        if token in self._eos:
            self.guide.advance(token)
            self.finish_reason = "stop"
            return None
        self._take(token)
        return token

    def _end(self, is_steered: bool) -> None:
        """End the text; `is_steered`: because of the budget."""
        if is_steered:
            self.steer()
        self.finish_reason = "length" if is_steered else "stop"

    def _fits(self, token: int, left: int) -> bool:
        """Whether a token that is allowed without a budget may be chosen with `left` tokens of it."""
        if self.on_budget == "truncate":
            return not self._is_dead_end(token)
        if self.free is not None and not self.guide.mask()[token >> 5] >> (token & 31) & 1:
            return False
        return self.guide.fits(token, left)

    def _is_dead_end(self, token: int) -> bool:
        """Whether an allowed token does not fit any budget."""
        return self._canonical is not None and not (self.free or self.guide).fits(token, ENDLESS)

    def _follow(self, search: Search) -> Generator[Feed | Rows, Any, int | None]:
        """Take the next token of the text that the search chose; search first if there is none."""
        if self._ahead is None:
            # The model has read nothing for this decoding, so these are all tokens before the text.
            context = tuple(self.pending)
            is_cut = self.on_budget == "truncate"
            start = Start(self.guide, context, self.left, self._vocabulary, self._stops, self.free, is_cut)
            found = yield from search(start)
            self.found.append(found)
            self.forward_passes += found.forward_passes
            place = found.chosen.steered
            self._ahead_steered = None if place is None else len(self.tokens) + place
            if self._scores is not None:
                self._scores += found.chosen.scores
            self._ahead = deque(found.chosen.tokens)
        if len(self.tokens) == self._ahead_steered and not self.steer():
            return None
        if not self._ahead:
            self.finish_reason = self.found[-1].chosen.finish_reason
            return None
        token = self._ahead.popleft()
        self._take(token)
        return token

    def _check_budget(self) -> None:
        if self.on_budget != "truncate" and (needed := self.guide.remaining) > self.left:
            what = "max_tokens" if self._room is None or self._max_tokens <= self._room else "context"
            raise LimitError(what, needed, max(self.left, 0), "the shortest text that can be accepted is longer")


def _only(mask: Int32Array) -> int | None:
    """The token that a mask allows, if it allows exactly one."""
    words = np.flatnonzero(mask)
    if len(words) != 1:
        return None
    word = int(mask[words[0]]) & 0xFFFFFFFF
    return int(words[0]) * 32 + word.bit_length() - 1 if word.bit_count() == 1 else None
