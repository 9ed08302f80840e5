"""A language model as the generators see it: a vocabulary, and sessions that turn tokens into logits.

A *session* is one sequence of tokens that the model has read; ``feed`` appends to it and gives the logits of the token
that comes next. A *batch* is several of them that advance together. Sessions that are given back keep what the model
computed for their tokens, and the next prompt with the same beginning starts from there.

Invariant (reproducible): a result does not depend on what the model was asked before. Numbers computed for a token
differ in the last bits with how many tokens are computed at once, so a prompt is always read in the same blocks (from
multiples of ``block`` to the next), and a later prompt reuses whole blocks only.

It knows no guide and no sampling, and no deep learning framework: those adapters live in ``guided.integrations``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from guided.errors import LimitError, ModelError
from guided.generate.messages import check_messages
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
    "check_context",
    "check_model",
    "common_prefix",
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
        Tokens of a prompt that are computed at once.
    context_length : int, optional
        The most tokens that the model can read; None: no bound.
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
        """Read more tokens.

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
            ``context``: the model can not read so many tokens.
        ModelError
            The model gave something else than logits.
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
        """Forget all but the first ``n_kept`` tokens."""
        if not 0 <= n_kept <= len(self._tokens):
            raise ValueError(f"n_kept must be from 0 to {len(self._tokens)}, not {n_kept}")
        if n_kept < len(self._tokens):
            self._truncate(n_kept)
            del self._tokens[n_kept:]
            self._in_blocks = min(self._in_blocks, n_kept // self._block * self._block)

    def start(self, tokens: Sequence[int]) -> Logits:
        """Read a prompt from its beginning, reusing the whole blocks that the session has already read.

        Parameters, results and errors are those of `feed`.
        """
        if not tokens:
            raise ValueError("a prompt needs at least one token")
        check_context(len(tokens), self._context_length)
        # Why minus one: the last token must be read anew, since its logits are not kept.
        shared = min(common_prefix(self._tokens, tokens), self._in_blocks, len(tokens) - 1)
        self.rewind(shared // self._block * self._block)
        first = len(self._tokens)
        for begin in range(first, len(tokens), self._block):
            logits = self.feed(tokens[begin : begin + self._block])
        self._in_blocks = len(tokens) // self._block * self._block
        return logits

    @abstractmethod
    def _forward(self, tokens: Sequence[int]) -> Logits:
        """The logits after ``tokens``, which follow ``self._tokens`` (appended by the caller)."""

    @abstractmethod
    def _truncate(self, n_kept: int) -> None:
        """Drop what was computed for the tokens after the first ``n_kept``, of which there are some."""


class Batch(ABC):
    """Several sequences that advance together; rows are numbered from 0."""

    @abstractmethod
    def start(self, prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Read one prompt per row, none empty; the logits of each row's next token."""

    @abstractmethod
    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        """Append to each row; rows without tokens are left as they are, and have no logits."""

    @abstractmethod
    def rewind(self, row: int, n_kept: int) -> None:
        """Forget all but the first ``n_kept`` tokens of a row."""

    @abstractmethod
    def keep(self, rows: Sequence[int]) -> None:
        """Drop all rows but these (ascending), which are numbered from 0 again."""


class LanguageModel(ABC):
    """Anything that gives logits. Adapters derive from it.

    A model that takes messages overrides ``prompt_tokens(prompt, tools)``: a `guided.generate.chat.ChatTemplate` makes the text of messages
    and tools from whatever renders the model's own template.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of the model's tokens; its ``size`` is the width of the logits.
    block : int
        Tokens of a prompt that are computed at once.
    context_length : int, optional
        The most tokens that the model can read; None: no bound.

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

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.vocabulary.size:,} tokens>"

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Tokens that spell exactly the text: no special tokens, nothing added."""

    @abstractmethod
    def session(self) -> Session:
        """A new, empty session."""

    def prompt_tokens(self, prompt: Prompt, tools: "ToolPrompt | None" = None) -> list[int]:  # noqa: ARG002 - for adapters
        """The tokens of a prompt.

        Parameters
        ----------
        prompt : str or list of messages
            A text to be completed, or messages for the chat template (`guided.generate.chat`).
        tools : ToolPrompt, optional
            The tools that the model is told of, where the prompt is messages.

        Raises
        ------
        ModelError
            The prompt is messages, and the model has no chat template or its template refuses them.
        """
        if isinstance(prompt, str):
            return self.encode(prompt)
        check_messages(prompt)
        raise ModelError("this model has no chat template: give the prompt as one str")

    def decode(self, tokens: Sequence[int]) -> str:
        """The text that tokens spell; those without bytes add nothing, bytes that are no UTF-8 become U+FFFD."""
        return self.vocabulary.decode(tokens).decode("utf-8", errors="replace")

    def batch(self, width: int) -> Batch:
        """A new batch of ``width`` rows; unless an adapter does better, each row is a session of its own."""
        return _Rows([self.session() for _ in range(width)])

    @contextmanager
    def lease(self, tokens: Sequence[int]) -> Iterator[Session]:
        """A session for one prompt: the idle one that has most of it, or a new one; given back at the end."""
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
        # Why no finally: a session that failed midway may hold anything, and is dropped.
        self._give_back(session)

    def _give_back(self, session: Session) -> None:
        with self._lock:
            self._idle.append(session)
            del self._idle[: -self._IDLE_SESSIONS]


class _Rows(Batch):
    """A batch of independent sessions, advanced one after the other."""

    def __init__(self, sessions: list[Session]) -> None:
        self._sessions = sessions

    def start(self, prompts: Sequence[Sequence[int]]) -> list[Logits]:
        return [session.start(prompt) for session, prompt in zip(self._sessions, prompts, strict=True)]

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        return [session.feed(row) if row else None for session, row in zip(self._sessions, rows, strict=True)]

    def rewind(self, row: int, n_kept: int) -> None:
        self._sessions[row].rewind(n_kept)

    def keep(self, rows: Sequence[int]) -> None:
        self._sessions = [self._sessions[row] for row in rows]


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Number of leading tokens that two sequences share."""
    length = min(len(left), len(right))
    differing = np.flatnonzero(np.asarray(left[:length]) != np.asarray(right[:length]))
    return int(differing[0]) if len(differing) else length


def check_context(needed: int, context_length: int | None) -> None:
    """Refuse more tokens than the model can read."""
    if context_length is not None and needed > context_length:
        raise LimitError("context", needed, context_length, "the prompt and what follows it are longer than the model")


def check_model(model: object) -> None:
    """Refuse what is no `LanguageModel`."""
    if not isinstance(model, LanguageModel):
        raise TypeError(
            f"model must be a guided.Model or another LanguageModel, not {type(model).__name__}{_advice_on_models(model)}"
        )


def _advice_on_models(given: object) -> str:
    """How to make a `LanguageModel` of something that holds one."""
    if isinstance(given, str | PathLike):
        return "; load it first: guided.load(path_or_name)"
    if type(given).__module__.partition(".")[0] == "llama_cpp":
        return "; wrap it: guided.integrations.llama_cpp.LlamaCpp(model)"
    if hasattr(given, "model") and hasattr(given, "tokenizer"):
        return "; wrap its parts: guided.Model(pipeline.model, pipeline.tokenizer)"
    if hasattr(given, "get_output_embeddings") or (hasattr(given, "generate") and hasattr(given, "config")):
        return "; wrap it with its tokenizer: guided.Model(hf_model, hf_tokenizer)"
    return ""
