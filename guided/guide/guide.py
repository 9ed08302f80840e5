"""`Guide`: the position of one text in an index. Sans-IO: it holds states only, no model and no torch.

All run-time state of a text lives here; the index is immutable and shared. A guide is a linked list of states, shared by its forks.
Every change is one assignment, so an interrupt leaves the guide either unchanged or fully updated. States are opaque integers of the
index, so one guide serves every kind of index. An index may evict states to bound its memory: the guide then recovers its state by
having the index read its tokens again.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import index as as_index
from typing import Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np

from guided.arrays import Int32Array
from guided.errors import GuidedError, LimitError, StateEvicted, TokenRejected, kind_of, shown
from guided.guide.explanation import Explanation
from guided.keywords import suggest_attributes
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Guide", "Steps"]

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_INT32 = np.dtype(np.int32)
# Consecutive attempts to recover a state that other texts keep evicting, before a call fails.
_RECOVERY_ATTEMPTS = 100


class Steps(Protocol):
    """Interface of an index as a guide uses it: integer states and token transitions.

    Every method that takes a state raises `StateEvicted` if the index has evicted it.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the tokens."""

    @property
    def initial(self) -> int:
        """State of the empty text."""

    @property
    def final(self) -> int:
        """State after EOS."""

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state."""

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which at most ``budget - 1`` more complete the text."""

    def next(self, state: int, token: int) -> int:
        """Return the state after a token, or -1."""

    def state_after(self, tokens: Sequence[int]) -> int:
        """Return the state after tokens that were read from the start before, evicted or not."""

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in this state."""

    def remaining(self, state: int) -> int:
        """Return a number of tokens that suffices to reach acceptance."""

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text is in the language."""

    def forced(self, state: int) -> bytes:
        """Return the bytes that every continuation begins with."""

    def explain(self, state: int, token: int, read: Sequence[int] | None = None) -> Explanation:
        """Explain why a token is allowed or rejected; ``read``: the tokens that led to the state."""

    def diagnose(self, read: Sequence[int]) -> str:
        """Return what is wrong with the text of some tokens, the last of which is rejected; empty if that is not known."""


# A position: state, last token, previous position (None at the start), and number of tokens read.
# PERF: a plain tuple, because every step allocates one (python -m benchmarks.regex).
_At: TypeAlias = "tuple[int, int, _At | None, int]"


@suggest_attributes
class Guide:
    """Position of one text in an index. Not thread-safe; the index is.

    Made by ``index.guide()``. Masks are ``ndarray[int32]`` of shape ``(ceil(size / 32),)``: bit ``t & 31`` of word ``t >> 5`` is token t,
    least significant bit first, 1 = allowed.
    """

    __slots__ = ("_at", "_steps")

    def __init__(self, steps: Steps) -> None:
        if not hasattr(steps, "initial"):
            raise TypeError(
                f"a guide is made of an index: guided.compile(spec, vocabulary).guide(), not of {kind_of(steps)}"
            )
        self._steps = steps
        self._at: _At = (steps.initial, -1, None, 0)

    def __getstate__(self) -> tuple[Steps, list[int], list[int]]:
        # Why lists: pickle and copy would recurse into the linked list.
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
        """Return the tokens read so far. O(tokens)."""
        return self.__getstate__()[2]

    def __repr__(self) -> str:
        return f"<Guide after {len(self):,} tokens, {self._status}>"

    @property
    def _status(self) -> str:
        if self.is_finished:
            return "finished"
        return "may end" if self.is_accepting else "not complete"

    @property
    def state(self) -> int:
        """Current state of the index."""
        return self._at[0]

    @property
    def is_accepting(self) -> bool:
        """Whether the text may end here; True also after EOS."""
        return self._at[0] == self._steps.final or self._ask(self._steps.is_accepting)

    @property
    def is_finished(self) -> bool:
        """Whether EOS has been read."""
        return self._at[0] == self._steps.final

    @property
    def remaining(self) -> int:
        """Number of tokens that suffices to complete the text, EOS not counted; 0 exactly where it may end now.

        For a regular expression or choice it is the minimum. For a schema or grammar it is the length of one short completion, usually the
        minimum: a text steered by `mask_within` completes within it.

        Raises
        ------
        GuidedError
            No completion was found (`GrammarError`, `SchemaError`), or the search exceeded `Limits.call_steps` (`LimitError`).
        """
        return 0 if self.is_finished else self._ask(self._steps.remaining)

    def _ask(
        self,
        question: Callable[Concatenate[int, _Arguments], _Answer],
        *arguments: _Arguments.args,
        **keywords: _Arguments.kwargs,
    ) -> _Answer:
        """Call a method of the index with the current state, recovering the state if it was evicted."""
        for _ in range(_RECOVERY_ATTEMPTS):
            try:
                return question(self._at[0], *arguments, **keywords)
            except StateEvicted:
                self._at = (self._steps.state_after(self._tokens()), *self._at[1:])
        return question(self._at[0], *arguments, **keywords)

    def mask(self, out: Int32Array | None = None) -> Int32Array:
        """Return the mask of allowed tokens. O(1) in a state visited before; all zeros once the guide is finished.

        Parameters
        ----------
        out : ndarray[int32], shape (ceil(size / 32),), optional
            Filled and returned. Without it the result is shared, read-only and never changes.

        Raises
        ------
        TypeError
            ``out`` is not an int32 array.
        ValueError
            ``out`` has another shape or is read-only.
        """
        # PERF: `_ask` would add a call to every step (python -m benchmarks.regex).
        try:
            mask = self._steps.mask(self._at[0])
        except StateEvicted:
            mask = self._ask(self._steps.mask)
        if out is None:
            return mask
        if not isinstance(out, np.ndarray) or out.dtype != _INT32:
            given = f"one of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
            raise TypeError(f"out must be an ndarray of int32, not {given}")
        if out.shape != mask.shape:
            raise ValueError(f"out has shape {out.shape}, the mask has {mask.shape}")
        # PERF: np.copyto takes 0.2 us longer.
        out[...] = mask
        return out

    def fits(self, token: int, budget: int) -> bool:
        """Return whether an allowed token is in `mask_within` of a budget, without building that mask."""
        for _ in range(_RECOVERY_ATTEMPTS):
            try:
                after = self._steps.next(self._at[0], token)
            except StateEvicted:
                after = self._ask(self._steps.next, token)
            try:
                return after == self._steps.final or (after >= 0 and self._steps.remaining(after) < budget)
            except StateEvicted:
                continue
            except GuidedError:
                break
        # No completion was found after the token. If none fits the budget at all, `mask_within` raises.
        return False

    def mask_within(self, budget: int) -> Int32Array:
        """Return the mask of the tokens that allow a complete text within ``budget`` tokens, this one included and EOS not counted.

        A text steered by it is never truncated. With ``budget`` 0 it contains at most EOS. It omits tokens whose completions are too
        expensive to find, but never the next token of the completion that `remaining` counts.

        Raises
        ------
        LimitError
            ``budget`` is smaller than `remaining`: no text is known that fits.
        """
        if budget < self.remaining:
            raise LimitError("max_tokens", self.remaining, budget, "the shortest text that was found is longer")
        return self._ask(self._steps.mask_within, budget)

    def advance(self, token: int) -> None:
        """Read one token. O(1). EOS is read like any other token and finishes the guide.

        Raises
        ------
        TokenRejected
            The token is not allowed here; the guide is unchanged.
        TypeError
            ``token`` is not an integer.
        """
        at = self._at
        try:
            state = self._steps.next(at[0], token)
        except StateEvicted:
            state = self._ask(self._steps.next, token)
        if state < 0:
            steps, read = self._steps, [*self._tokens(), as_index(token)]
            found = self._ask(steps.explain, read[-1])
            message = f"at position {at[3]}, {found}"
            raise TokenRejected(found.token, found.expected, lambda: steps.diagnose(read), message)
        self._at = (state, token, at, at[3] + 1)

    def advance_many(self, tokens: Iterable[int]) -> int:
        """Read tokens up to the first that is not allowed, and return how many were read."""
        count, step = 0, self._steps.next
        for token in tokens:
            try:
                state = step(self._at[0], token)
            except StateEvicted:
                state = self._ask(step, token)
            if state < 0:
                break
            self._at = (state, token, self._at, self._at[3] + 1)
            count += 1
        return count

    def validate(self, tokens: Sequence[int]) -> int:
        """Return how many of ``tokens`` would be accepted, without advancing."""
        return self.fork().advance_many(tokens)

    def rollback(self, n: int) -> None:
        """Undo the last ``n`` tokens, EOS included. O(n).

        Raises
        ------
        LimitError
            Fewer than ``n`` tokens were read; the guide is unchanged.
        ValueError
            ``n`` is negative.
        """
        n = as_index(n)
        if n < 0:
            raise ValueError(f"rollback needs a number of tokens, not {shown(n)}")
        if n > self._at[3]:
            raise LimitError("rollback", n, self._at[3], "fewer tokens were read")
        at = self._at
        for _ in range(n):
            before = at[2]
            assert before is not None, "as many tokens were read"
            at = before
        self._at = at

    def fork(self) -> "Guide":
        """Return an independent guide at the same position with the same history. O(1)."""
        twin = Guide.__new__(Guide)
        twin._steps, twin._at = self._steps, self._at
        return twin

    def reset(self) -> None:
        """Return to the empty text."""
        self._at = (self._steps.initial, -1, None, 0)

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text, a str or its UTF-8, is in the language. The guide does not move. O(len(data))."""
        return self._steps.accepts(data)

    def forced(self) -> bytes:
        """Return the bytes that every continuation begins with; empty where the text may end or there is a choice."""
        return b"" if self.is_finished else self._ask(self._steps.forced)

    def explain(self, token: int) -> Explanation:
        """Explain why a token is allowed or rejected here: the byte at which it fails, what was expected, and a grammar's terminals."""
        self._ask(self._steps.next, token)
        return self._ask(self._steps.explain, as_index(token), self._tokens())

    def __len__(self) -> int:
        """Return the number of tokens read."""
        return self._at[3]

    def __bool__(self) -> bool:
        return True
