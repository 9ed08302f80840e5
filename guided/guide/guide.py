"""`Guide`: where one text stands in an index. Sans-IO: no model, no torch, nothing but states.

Everything that changes where a text stands lives here. The index is immutable and shared; a guide is a linked list of states, which forks
share, and changes by one assignment: an interrupt leaves it as it was or as it should be. States are integers of the index's choosing, so
the same guide runs over every kind of index. An index may drop states to bound its memory: then the guide, which has the tokens, has it
read them again.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import index as as_index
from typing import Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np

from guided.arrays import Int32Array
from guided.errors import GuidedError, LimitError, StateEvicted, TokenRejected, shown
from guided.guide.explanation import Explanation

__all__ = ["Guide", "Steps"]

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
# Times that a state is found again in a row, while other texts have it dropped, before a call gives up.
_MOST_EVICTED = 100


class Steps(Protocol):
    """What a guide needs of an index: states as integers, and where tokens lead.

    Whatever takes a state raises `StateEvicted` where the index no longer keeps it.
    """

    @property
    def initial(self) -> int:
        """The state of the empty text."""

    @property
    def final(self) -> int:
        """The state after EOS."""

    def mask(self, state: int) -> Int32Array:
        """Shared read-only mask of a state."""

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Mask of the tokens that leave acceptance within reach of ``budget - 1`` more."""

    def next(self, state: int, token: int) -> int:
        """The state after a token, or -1."""

    def state_after(self, tokens: Sequence[int]) -> int:
        """The state after tokens that were read from the start before, kept or not."""

    def is_accepting(self, state: int) -> bool:
        """May the text end here?"""

    def remaining(self, state: int) -> int:
        """So many tokens are enough to acceptance."""

    def accepts(self, data: str | bytes) -> bool:
        """Is a whole text in the language?"""

    def forced(self, state: int) -> bytes:
        """Bytes that every continuation begins with."""

    def explain(self, state: int, token: int, read: Sequence[int] | None = None) -> Explanation:
        """Why a token is allowed or not; ``read``: the tokens that led to the state."""


# Where a text stands: the state, the token that led there, where it stood before (None at the start), and after how many tokens.
# PERF: a plain tuple, since one is made at every step (python -m benchmarks.regex).
_At: TypeAlias = "tuple[int, int, _At | None, int]"


class Guide:
    """The position of one text in an index. Not thread-safe; the index it runs over is.

    Made by ``index.guide()``. Masks are ``ndarray[int32]`` of shape ``(ceil(size / 32),)``: bit ``t & 31`` of word ``t >> 5`` is token t,
    least significant bit first, 1 = allowed.
    """

    __slots__ = ("_at", "_steps")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._at: _At = (steps.initial, -1, None, 0)

    def __getstate__(self) -> tuple[Steps, list[int], list[int]]:
        # Why not the linked list: pickle and copy recurse into it.
        states, tokens = list[int](), list[int]()
        at: _At | None = self._at
        while at is not None:
            state, token, at, _ = at
            states.append(state)
            tokens.append(token)
        return self._steps, states[::-1], tokens[-2::-1]

    def __setstate__(self, state: tuple[Steps, list[int], list[int]]) -> None:
        self._steps, states, tokens = state
        self._at = (states[0], -1, None, 0)
        for length, (after, token) in enumerate(zip(states[1:], tokens, strict=True), start=1):
            self._at = (after, token, self._at, length)

    def _tokens(self) -> list[int]:
        """The tokens that were read. O(tokens)."""
        return self.__getstate__()[2]

    def __repr__(self) -> str:
        if self.is_finished:
            status = "finished"
        else:
            status = "may end" if self.is_accepting else "not complete"
        return f"<Guide after {len(self):,} tokens, {status}>"

    @property
    def state(self) -> int:
        """The state of the index that the text has reached."""
        return self._at[0]

    @property
    def is_accepting(self) -> bool:
        """May the text end here? True once it has ended."""
        return self._at[0] == self._steps.final or self._ask(self._steps.is_accepting)

    @property
    def is_finished(self) -> bool:
        """Has EOS been read?"""
        return self._at[0] == self._steps.final

    @property
    def remaining(self) -> int:
        """So many tokens are enough to complete the text, EOS not counted; 0 exactly where it may end now.

        For a regular expression or choice, it is the least number. For a schema or grammar, it is the number of tokens of one short
        completion, which is mostly the least: a text that is steered by `mask_within` ends within it.

        Raises
        ------
        GuidedError
            No completion is found (`GrammarError`, `SchemaError`), or it takes more than `Limits.call_steps` (`LimitError`).
        """
        return 0 if self.is_finished else self._ask(self._steps.remaining)

    def _ask(
        self,
        question: Callable[Concatenate[int, _Arguments], _Answer],
        *arguments: _Arguments.args,
        **keywords: _Arguments.kwargs,
    ) -> _Answer:
        """Ask the index about the state, which it finds again where it has dropped it."""
        for _ in range(_MOST_EVICTED):
            try:
                return question(self._at[0], *arguments, **keywords)
            except StateEvicted:
                self._at = (self._steps.state_after(self._tokens()), *self._at[1:])
        return question(self._at[0], *arguments, **keywords)

    def _next(self, state: int, token: int, read: Sequence[int] = (), count: int = 0) -> int:
        """The state after a token, or -1. The first ``count`` tokens of ``read`` led to ``state`` from where the guide stands."""
        for _ in range(_MOST_EVICTED):
            try:
                return self._steps.next(state, token)
            except StateEvicted:
                state = self._steps.state_after([*self._tokens(), *read[:count]])
        return self._steps.next(state, token)

    def mask(self, out: Int32Array | None = None) -> Int32Array:
        """The allowed tokens. O(1) on a state seen before; all zeros once the guide is finished.

        Parameters
        ----------
        out : ndarray[int32], shape (ceil(size / 32),), optional
            Filled and returned. Without it the result is shared, read-only and valid for ever.

        Raises
        ------
        TypeError
            ``out`` is no array of int32.
        ValueError
            ``out`` has another shape, or is read-only.
        """
        # PERF: not by `_ask`, which costs a call at every step (python -m benchmarks.regex).
        try:
            mask = self._steps.mask(self._at[0])
        except StateEvicted:
            mask = self._ask(self._steps.mask)
        if out is None:
            return mask
        if not isinstance(out, np.ndarray) or out.dtype != np.int32:
            given = f"one of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
            raise TypeError(f"out must be an ndarray of int32, not {given}")
        if out.shape != mask.shape:
            raise ValueError(f"out has shape {out.shape}, the mask has {mask.shape}")
        np.copyto(out, mask)
        return out

    def fits(self, token: int, budget: int) -> bool:
        """Is an allowed token in `mask_within` of a budget? Without making that mask."""
        for _ in range(_MOST_EVICTED):
            after = self._next(self._at[0], token)
            try:
                return after == self._steps.final or (after >= 0 and self._steps.remaining(after) < budget)
            except StateEvicted:
                continue
            except GuidedError:
                break
        # No end is known from there; where there is none at all, the mask within the budget says so.
        return False

    def mask_within(self, budget: int) -> Int32Array:
        """The allowed tokens that leave a complete text within reach of ``budget`` tokens, this one included and EOS not counted.

        So a text steered by it is never cut. Empty but for EOS where ``budget`` is 0.

        Raises
        ------
        LimitError
            ``budget`` is smaller than `remaining`: no text fits.
        """
        if budget < self.remaining:
            raise LimitError("tokens", self.remaining, budget, "no complete text is that short")
        return self._ask(self._steps.mask_within, budget)

    def advance(self, token: int) -> None:
        """Read one token. O(1). EOS is a token like any other, and finishes the guide.

        Raises
        ------
        TokenRejected
            The token is not allowed here; the guide is unchanged.
        TypeError
            ``token`` is no integer.
        """
        at = self._at
        try:
            state = self._steps.next(at[0], token)
        except StateEvicted:
            state = self._next(at[0], token)
        if state < 0:
            raise TokenRejected(as_index(token), self._ask(self._steps.explain, as_index(token)).expected)
        self._at = (state, token, at, at[3] + 1)

    def advance_many(self, tokens: Iterable[int]) -> int:
        """Read tokens up to the first that is not allowed; how many were read."""
        count = 0
        for token in tokens:
            state = self._next(self._at[0], token)
            if state < 0:
                break
            self._at = (state, token, self._at, self._at[3] + 1)
            count += 1
        return count

    def validate(self, tokens: Sequence[int]) -> int:
        """How many of the tokens `advance_many` would read; the guide stays where it is."""
        state = self._at[0]
        for count, token in enumerate(tokens):
            state = self._next(state, token, tokens, count)
            if state < 0:
                return count
        return len(tokens)

    def rollback(self, n: int) -> None:
        """Take back the last ``n`` tokens, EOS among them. O(n).

        Raises
        ------
        LimitError
            Fewer than ``n`` tokens were read; the guide is unchanged.
        ValueError
            ``n`` is negative.
        """
        n = as_index(n)
        if n < 0:
            raise ValueError(f"rollback takes a count of tokens, not {shown(n)}")
        if n > self._at[3]:
            raise LimitError("rollback", n, self._at[3], "that many tokens were never read")
        at = self._at
        for _ in range(n):
            before = at[2]
            assert before is not None, "as many tokens were read"
            at = before
        self._at = at

    def fork(self) -> "Guide":
        """An independent guide at the same place, with the same history. O(1)."""
        twin = Guide.__new__(Guide)
        twin._steps, twin._at = self._steps, self._at
        return twin

    def reset(self) -> None:
        """Back to the empty text."""
        self._at = (self._steps.initial, -1, None, 0)

    def accepts(self, data: str | bytes) -> bool:
        """Is this whole text, a str or its UTF-8, from the start, in the language? The guide does not move. O(len(data))."""
        return self._steps.accepts(data)

    def forced(self) -> bytes:
        """Bytes that must come next whatever is chosen; empty where the text may end or there is a choice."""
        return b"" if self.is_finished else self._ask(self._steps.forced)

    def explain(self, token: int) -> Explanation:
        """Why a token is or is not allowed here: the byte where it dies, and what was expected; in a grammar, the terminals too."""
        return self._ask(self._steps.explain, as_index(token), self._tokens())

    def __len__(self) -> int:
        """Number of tokens read."""
        return self._at[3]

    def __bool__(self) -> bool:
        return True
