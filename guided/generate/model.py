"""Interface of language models for the generators: a vocabulary, and sessions that turn tokens into logits.

A *session* is one sequence of tokens that the model has read; ``feed`` appends to it and returns the logits of the next token. A *batch*
is several sequences that advance together. Returned sessions keep the model's cache of their tokens, and the next prompt with the same
prefix reuses it.

Invariant (reproducible): a result does not depend on earlier requests. Logits differ in their last bits with the number of tokens computed
at once. Therefore a prompt is always read in the same blocks (between multiples of ``block``), and a later prompt reuses whole blocks only.

Guides, sampling and deep learning frameworks are elsewhere; the adapters to frameworks are in ``guided.integrations``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from guided.errors import ArgumentError, LimitError, ModelError, kind_of
from guided.generate.messages import check_messages
from guided.keywords import suggest_attributes
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from guided.calls.tool_prompt import ToolPrompt

__all__ = [
    "Batch",
    "LanguageModel",
    "Logits",
    "Message",
    "Prompt",
    "Session",
    "advice_on_models",
    "check_context",
    "check_model",
    "common_prefix",
    "shared_blocks",
]

Logits: TypeAlias = npt.NDArray[np.float32]
Message: TypeAlias = Mapping[str, Any]
Prompt: TypeAlias = str | Sequence[Message]


class Session(ABC):
    """One sequence that a model has read.

    Parameters
    ----------
    size : int
        Width of the logits.
    block : int
        Number of prompt tokens computed at once.
    context_length : int, optional
        Maximum number of tokens that the model can read; None: unbounded.
    """

    def __init__(self, size: int, block: int, context_length: int | None = None) -> None:
        self._size, self._block, self._context_length = size, block, context_length
        self._tokens: list[int] = []
        self._in_blocks = 0

    @property
    def tokens(self) -> tuple[int, ...]:
        """All tokens read so far."""
        return tuple(self._tokens)

    def feed(self, tokens: Sequence[int]) -> Logits:
        """Append tokens.

        Parameters
        ----------
        tokens : sequence of int
            At least one.

        Returns
        -------
        ndarray[float32], shape (size,)
            The logits of the token after the last one.

        Raises
        ------
        LimitError
            ``context``: the tokens exceed the model's context.
        ModelError
            The model returned an array of another shape.
        """
        if not tokens:
            raise ValueError("feed needs at least one token")
        check_context(len(self._tokens) + len(tokens), self._context_length)
        logits = self._forward(tokens)
        if logits.shape != (self._size,):
            raise ModelError(f"the model gave logits of shape {logits.shape}; its vocabulary needs ({self._size},)")
        self._tokens.extend(tokens)
        return logits

    def rewind(self, n_kept: int) -> None:
        """Truncate to the first ``n_kept`` tokens."""
        if not 0 <= n_kept <= len(self._tokens):
            raise ValueError(f"n_kept must be from 0 to {len(self._tokens)}, not {n_kept}")
        if n_kept < len(self._tokens):
            self._truncate(n_kept)
            del self._tokens[n_kept:]
            self._in_blocks = min(self._in_blocks, n_kept // self._block * self._block)

    def start(self, tokens: Sequence[int]) -> Logits:
        """Read a prompt from its beginning, reusing whole blocks that the session has already read.

        Parameters, results and errors are those of `feed`.
        """
        if not tokens:
            raise ArgumentError("a prompt", "needs at least one token")
        check_context(len(tokens), self._context_length)
        # Why minus one: the last token must be read again, because its logits are not stored.
        shared = min(common_prefix(self._tokens, tokens), self._in_blocks, len(tokens) - 1)
        self.rewind(shared // self._block * self._block)
        first = len(self._tokens)
        for begin in range(first, len(tokens), self._block):
            logits = self.feed(tokens[begin : begin + self._block])
        self._in_blocks = len(tokens) // self._block * self._block
        return logits

    @abstractmethod
    def _forward(self, tokens: Sequence[int]) -> Logits:
        """Return the logits after ``tokens``, which follow ``self._tokens`` (the caller appends them)."""

    @abstractmethod
    def _truncate(self, n_kept: int) -> None:
        """Drop the cache of the tokens after the first ``n_kept``; there is at least one."""


class Batch(ABC):
    """Several sequences that advance together; rows are numbered from 0."""

    def start(self, prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Read one nonempty prompt per row; return the logits of each row's next token."""
        return self.refill((), prompts)

    @abstractmethod
    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Keep some rows, renumbered from 0, and append one for each nonempty prompt; return the logits of the next token of the new rows.

        What a prompt shares with the tokens of a row, kept or not, may be copied instead of read.
        """

    @abstractmethod
    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        """Append to each row; rows without tokens stay unchanged and have no logits."""

    @abstractmethod
    def rewind(self, row: int, n_kept: int) -> None:
        """Truncate a row to its first ``n_kept`` tokens."""

    @abstractmethod
    def keep(self, rows: Sequence[int]) -> None:
        """Replace the rows by these, in this order, renumbered from 0; a row may occur several times, and is then copied."""


@suggest_attributes
class LanguageModel(ABC):
    """A source of logits; base class of the adapters.

    A model that takes messages overrides ``prompt_tokens(prompt, tools)``: `guided.generate.chat.ChatTemplate` renders messages and tools
    with the model's own template.

    Parameters
    ----------
    vocabulary : Vocabulary
        The model's vocabulary; its ``size`` is the width of the logits.
    block : int
        Number of prompt tokens computed at once.
    context_length : int, optional
        Maximum number of tokens that the model can read; None: unbounded.

    Attributes
    ----------
    vocabulary, block, context_length
        As given.
    """

    _IDLE_SESSIONS = 2

    def __init__(self, vocabulary: Vocabulary, block: int = 64, context_length: int | None = None) -> None:
        self.vocabulary, self.block, self.context_length = vocabulary, block, context_length
        self._idle: list[Session] = []
        self._lock = new_lock(Rank.INDEX)

    if not TYPE_CHECKING:

        def __call__(self, *_args: object, **_kwargs: object) -> None:
            """Refuse the call: in other libraries, models are called with a prompt and a constraint."""
            raise TypeError("a model is not called: guided.generator(model, constraint)(prompt)")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.vocabulary.size:,} tokens>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"cannot pickle or copy a {type(self).__name__}, nor a generator of it: a model stays in its process. "
            "Load it in the other process, and send it the spec or the index"
        )

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Encode a text exactly: no special tokens, nothing added."""

    @abstractmethod
    def session(self) -> Session:
        """A new, empty session."""

    def prompt_tokens(self, prompt: Prompt, tools: "ToolPrompt | None" = None) -> list[int]:  # noqa: ARG002 - for adapters
        """Return the tokens of a prompt.

        Parameters
        ----------
        prompt : str or list of messages
            A text to complete, or messages for the chat template (`guided.generate.chat`).
        tools : ToolPrompt, optional
            The tools to present to the model, if the prompt is messages.

        Raises
        ------
        ModelError
            The prompt is messages, and the model has no chat template or its template rejects them.
        """
        if isinstance(prompt, str):
            return self.encode(prompt)
        check_messages(prompt)
        raise ModelError("this model has no chat template: give the prompt as one str")

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode tokens; tokens without bytes add nothing, and invalid UTF-8 becomes U+FFFD."""
        return self.vocabulary.decode(tokens).decode("utf-8", errors="replace")

    def batch(self) -> Batch:
        """Return a new batch without rows; by default each row is a session of its own."""
        return _Rows(self.session)

    @contextmanager
    def lease(self, tokens: Sequence[int]) -> Iterator[Session]:
        """Lend a session for one prompt: the idle one with the longest common prefix, or a new one; it is taken back at the end."""
        with self._lock:
            best = max(self._idle, key=lambda idle: common_prefix(idle.tokens, tokens), default=None)
            if best is not None and (
                len(self._idle) == self._IDLE_SESSIONS or common_prefix(best.tokens, tokens) >= self.block
            ):
                self._idle.remove(best)
            else:
                best = None
        session = best or self.session()
        try:
            yield session
        except GeneratorExit:
            self._give_back(session)
            raise
        # Why no finally: a session that failed midway may be inconsistent, so it is dropped.
        self._give_back(session)

    def _give_back(self, session: Session) -> None:
        with self._lock:
            self._idle.append(session)
            del self._idle[: -self._IDLE_SESSIONS]


class _Rows(Batch):
    """A batch of independent sessions, advanced one after the other.

    A copied row is a new session, which reads the row's tokens together with the next ones.
    """

    def __init__(self, new: Callable[[], Session]) -> None:
        self._new = new
        self._sessions: list[Session] = []
        # Tokens of each row that its session has not read.
        self._unread: list[tuple[int, ...]] = []

    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> list[Logits]:
        free = [session for row, session in enumerate(self._sessions) if row not in kept]
        self.keep(kept)
        logits = []
        for prompt in prompts:
            session = max(free, key=lambda one: common_prefix(one.tokens, prompt), default=None)
            if session is None:
                session = self._new()
            else:
                free.remove(session)
            logits.append(session.start(prompt))
            self._sessions.append(session)
            self._unread.append(())
        return logits

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        answers: list[Logits | None] = []
        for place, (session, row) in enumerate(zip(self._sessions, rows, strict=True)):
            answers.append(session.feed([*self._unread[place], *row]) if row else None)
            if row:
                self._unread[place] = ()
        return answers

    def rewind(self, row: int, n_kept: int) -> None:
        n_read = len(self._sessions[row].tokens)
        self._unread[row] = self._unread[row][: max(n_kept - n_read, 0)]
        if n_kept < n_read:
            self._sessions[row].rewind(n_kept)

    def keep(self, rows: Sequence[int]) -> None:
        sessions, unread = list[Session](), list[tuple[int, ...]]()
        taken = set[int]()
        for row in rows:
            if row in taken:
                sessions.append(self._new())
                unread.append((*self._sessions[row].tokens, *self._unread[row]))
            else:
                sessions.append(self._sessions[row])
                unread.append(self._unread[row])
            taken.add(row)
        self._sessions, self._unread = sessions, unread


def shared_blocks(prompts: Sequence[Sequence[int]], rows: Sequence[Sequence[int]], block: int) -> tuple[int, int, int]:
    """Return how many leading tokens all prompts share, without the last of any; and the row that shares most of them, and how many.

    Numbers of tokens are in whole blocks; without rows, the last two are -1 and 0.
    """
    shared = min(min(common_prefix(prompts[0], prompt) for prompt in prompts), min(map(len, prompts)) - 1)
    shared -= shared % block
    lengths = [common_prefix(row, prompts[0][:shared]) // block * block for row in rows]
    best = max(range(len(lengths)), key=lengths.__getitem__, default=-1)
    return shared, best, lengths[best] if lengths else 0


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Number of leading tokens that two sequences share."""
    length = min(len(left), len(right))
    differing = np.flatnonzero(np.asarray(left[:length]) != np.asarray(right[:length]))
    return int(differing[0]) if len(differing) else length


def check_context(needed: int, context_length: int | None) -> None:
    """Raise LimitError if the tokens exceed the model's context."""
    if context_length is not None and needed > context_length:
        raise LimitError(
            "context", needed, context_length, "the prompt and the generated text exceed the model's context"
        )


def check_model(model: object) -> None:
    """Raise TypeError if the argument is not a `LanguageModel`."""
    if not isinstance(model, LanguageModel):
        raise TypeError(
            f"model must be a guided.Model or another LanguageModel, not {kind_of(model)}{advice_on_models(model)}"
        )


def advice_on_models(given: object) -> str:
    """Return advice on how to make a `LanguageModel` of an object that holds one."""
    if isinstance(given, type):
        return "; the model comes first, as in guided.generator(model, City)"
    if isinstance(given, str | PathLike):
        return "; load it first: guided.load(path_or_name)"
    if type(given).__module__.partition(".")[0] == "llama_cpp":
        return "; wrap it: guided.integrations.llama_cpp.LlamaCpp(model)"
    if hasattr(given, "model") and hasattr(given, "tokenizer"):
        return "; wrap its parts: guided.Model(pipeline.model, pipeline.tokenizer)"
    if hasattr(given, "get_output_embeddings") or (hasattr(given, "generate") and hasattr(given, "config")):
        return "; wrap it with its tokenizer: guided.Model(hf_model, hf_tokenizer)"
    return ""
