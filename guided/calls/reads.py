"""Results of parsing a text: pieces of text, names, arguments, calls. Data only; offsets are bytes of the text."""

from collections.abc import Mapping
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
        Typed values by their names in calls; only the given ones.
    span : tuple of int
        Start and end in the text.
    result : Any
        What the tool returned, if it was run.
    error : Exception or None
        Exception of the tool, if it raised one.
    id : str or None
        Id of the call in the text, for formats with ids.
    original : str
        Name of the tool in its source (`guided.calls.tool.Tool.original`).
    probabilities : Mapping of str to float
        With ``select="probability"``: of each name that could be called here, the probability that the model writes it, given the text
        before it and that it writes one of them; the most probable first. Names may be missing that hold at most 0.001 together. Empty
        otherwise, and for a name that the caller or the call's trigger determined.
    steered : bool
        Whether the budget chose some of its tokens, or of the text before it since the last result, instead of the model.
    """

    name: str
    arguments: dict[str, Any]
    span: tuple[int, int]
    result: Any = None
    error: Exception | None = None
    id: str | None = None
    original: str = field(default="", compare=False)
    probabilities: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    steered: bool = False


@dataclass(frozen=True, slots=True)
class TextRead:
    """Text outside of calls.

    Attributes
    ----------
    data : bytes
        Any bytes, not empty.
    position : int
        Offset of the first byte.
    is_reasoning : bool
        Whether the text is reasoning, including its delimiters.
    """

    data: bytes
    position: int
    is_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The name of a call is complete.

    Attributes
    ----------
    name : str
        The tool.
    span : tuple of int
        Start and end of the name.
    """

    name: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ArgumentRead:
    """An argument is complete.

    Attributes
    ----------
    name : str
        Name of the argument in calls.
    value : Any
        Typed value.
    span : tuple of int
        Start and end of its spelling.
    """

    name: str
    value: Any
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CallRead:
    """A call is complete.

    Attributes
    ----------
    call : Call
    """

    call: Call


Read: TypeAlias = TextRead | CallStarted | ArgumentRead | CallRead
