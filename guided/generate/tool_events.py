"""What a generator with tools says while it works, beside `Text` and `Done`; and its result. Data only."""

from dataclasses import dataclass
from typing import Any

from guided.calls.reads import Call
from guided.generate.events import Event, Result

__all__ = ["ToolArgument", "ToolCall", "ToolCallStarted", "ToolResult", "ToolsResult"]


@dataclass(frozen=True, slots=True)
class ToolCallStarted(Event):
    """The model has named a tool.

    Attributes
    ----------
    name : str
        The tool.
    """

    name: str


@dataclass(frozen=True, slots=True)
class ToolArgument(Event):
    """The model has given an argument.

    Attributes
    ----------
    name : str
        As calls have it.
    value : Any
        Typed.
    text : str
        As the model wrote it.
    is_item : bool
        Is it one of any number of values that the call gives for this name?
    """

    name: str
    value: Any
    text: str
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall(Event):
    """A call is complete; it has not been run yet.

    Attributes
    ----------
    call : Call
        Without result.
    text : str
        As the model wrote it.
    """

    call: Call
    text: str


@dataclass(frozen=True, slots=True)
class ToolResult(Event):
    """A call has been run.

    Attributes
    ----------
    call : Call
        With its result, or with the error that the tool raised.
    text : str
        What was inserted into the text; empty where calls stand alone.
    """

    call: Call
    text: str


@dataclass(frozen=True, slots=True)
class ToolsResult(Result):
    """What was generated, with the calls in it.

    In running text, the texts of all `Text`, `ToolCall` and `ToolResult` events joined are ``text``.

    Attributes
    ----------
    calls : tuple of Call
        In their order; their spans are places in ``text``, trigger and terminator included.
    """

    calls: tuple[Call, ...]
