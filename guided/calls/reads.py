"""What reading a text gives: pieces of text, names, arguments, calls. Data only; offsets are bytes of the text."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["ArgumentRead", "Call", "CallRead", "CallStarted", "Read", "TextRead"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool.

    Attributes
    ----------
    name : str
        The tool.
    arguments : dict
        Typed values by the names that the call has for them; only those that the call gives.
    span : tuple of int
        Where it starts and ends in the text.
    result : Any
        What the tool returned, if it was run.
    error : Exception or None
        What the tool raised, if it did.
    id : str or None
        What the text calls it, where the format has that.
    original : str
        What the tool's source calls it (`guided.calls.tool.Tool.original`).
    """

    name: str
    arguments: dict[str, Any]
    span: tuple[int, int]
    result: Any = None
    error: Exception | None = None
    id: str | None = None
    original: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TextRead:
    """Text outside of calls.

    Attributes
    ----------
    data : bytes
        Any bytes, not empty.
    position : int
        Offset of the first.
    is_reasoning : bool
        Does the model say this to itself? What begins and ends that belongs to it.
    """

    data: bytes
    position: int
    is_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The name of a call has been read.

    Attributes
    ----------
    name : str
        The tool.
    span : tuple of int
        Where the name starts and ends.
    """

    name: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ArgumentRead:
    """An argument is complete.

    Attributes
    ----------
    name : str
        As calls have it.
    value : Any
        Typed.
    span : tuple of int
        Where its spelling starts and ends.
    """

    name: str
    value: Any
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CallRead:
    """The call is complete.

    Attributes
    ----------
    call : Call
    """

    call: Call


Read: TypeAlias = TextRead | CallStarted | ArgumentRead | CallRead
