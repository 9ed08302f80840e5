"""Events of a stream, and the result of a generation. Data only.

A stream is matched by the classes of its events::

    for event in assistant.stream("..."):
        match event:
            case guided.events.Text(text):
                print(text, end="")
            case guided.events.ToolResult(call):
                print(call.name, call.result)
            case guided.events.Done(result):
                print(result.finish_reason)

All generators yield `Text` and `Done`; those of JSON also `ValueCompleted`; those of tools also `ToolCallStarted`, `ToolArgument`,
`ToolCall` and `ToolResult`.
"""

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from guided.calls.reads import Call
from guided.errors import GuidedError, shown

__all__ = [
    "Call",
    "Done",
    "Event",
    "FinishReason",
    "Result",
    "StreamEvent",
    "Text",
    "ToolArgument",
    "ToolCall",
    "ToolCallStarted",
    "ToolEvent",
    "ToolResult",
    "ToolsResult",
    "ValueCompleted",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

FinishReason: TypeAlias = Literal["stop", "length", "stop_string", "tool_calls"]


@dataclass(frozen=True, slots=True, repr=False)
class Result(Generic[T_co]):
    """A generated text and its value.

    Attributes
    ----------
    text : str
        All of it, without the prompt.
    value_or_none : T or None
        The value; None where there is none (and where the value is None itself: `error` tells them apart).
    tokens : tuple of int
        The generated tokens, the end of sequence not included. A stop string may begin within the last ones.
    finish_reason : {"stop", "length", "stop_string", "tool_calls"}
        ``"stop"``: the model ended the text, or nothing could follow. ``"length"``: ``max_tokens`` (or the model's
        context) was used up; the text is complete all the same, since the last tokens are steered to an end.
        ``"stop_string"``: one of the stop strings came. ``"tool_calls"``: the text ended as with ``"stop"``, and calls in it
        were not run (``execute=False``, or a tool without anything to run): they wait for results from outside.
    forward_passes : int
        How often the model was called: forced tokens cost no call of their own.
    error : GuidedError or None
        Why there is no value: `IncompleteError` where a stop string cut the text, `SchemaError` where validators of a type refused
        it. None: there is a value.
    """

    text: str
    value_or_none: T_co | None
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    forward_passes: int
    error: GuidedError | None = None

    @property
    def value(self) -> T_co:
        """The value of the text: the text itself, the chosen option, an instance of the type, the parse tree, the list of calls.

        Raises
        ------
        IncompleteError
            A stop string cut the text before it was complete.
        SchemaError
            Validators of the type refused the value.
        """
        if self.error is not None:
            raise self.error
        return cast("T_co", self.value_or_none)

    def __repr__(self) -> str:
        value = f"error={shown(self.error)}" if self.error is not None else f"value={shown(self.value_or_none)}"
        return (
            f"{type(self).__name__}(text={shown(self.text)}, {value}, {len(self.tokens)} tokens, "
            f"finish_reason={self.finish_reason!r})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ToolsResult(Result[list[Call]]):
    """A generated text and the calls in it. Its `value` is the list of calls.

    In running text, the texts of all `Text`, `ToolCall` and `ToolResult` events joined are ``text``.

    Attributes
    ----------
    calls : tuple of Call
        In their order, each with ``name``, ``arguments``, ``result`` and ``span``: its place in ``text``, trigger and terminator included.
    """

    calls: tuple[Call, ...] = ()


R_co = TypeVar("R_co", bound=Result[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class Text(Event):
    """A piece of the text: whole code points, never anything that a stop string may still take back.

    Attributes
    ----------
    text : str
        Not empty. All pieces joined are the result's text.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ValueCompleted(Event):
    """A value in a JSON text is complete; those within it came before.

    Attributes
    ----------
    pointer : str
        JSON Pointer (RFC 6901) to it; empty for the whole value.
    value : Any
        As the type has it there, or as parsed JSON where that is not known.
    """

    pointer: str
    value: Any


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
class Done(Event, Generic[R_co]):
    """The last event of every stream.

    Attributes
    ----------
    result : Result
        Of the whole text.
    """

    result: R_co


# For type checkers, which narrow unions: the events of a generator of texts with values of type T, and those of tools.
StreamEvent: TypeAlias = (
    Text | ValueCompleted | ToolCallStarted | ToolArgument | ToolCall | ToolResult | Done[Result[T]]
)
ToolEvent: TypeAlias = Text | ToolCallStarted | ToolArgument | ToolCall | ToolResult | Done[ToolsResult]
