"""What a generator says while it works (events) and in the end (the result). Data only."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["Done", "Event", "FinishReason", "Result", "Text", "ValueCompleted"]

FinishReason: TypeAlias = Literal["stop", "length", "stop_string", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Result:
    """What was generated.

    Attributes
    ----------
    text : str
        All of it, without the prompt.
    value : Any
        What the text stands for (the text itself, the chosen option, ...); None when the text is not complete, as a
        stop string may leave it.
    tokens : tuple of int
        The generated tokens, the end of sequence not included. A stop string may begin within the last ones.
    finish_reason : {"stop", "length", "stop_string", "tool_calls"}
        ``"stop"``: the model ended the text, or nothing could follow. ``"length"``: ``max_tokens`` (or the model's
        context) was used up; the text is complete all the same, since the last tokens are steered to an end.
        ``"stop_string"``: one of the stop strings came. ``"tool_calls"``: the last call waits for a result from outside.
    forward_passes : int
        How often the model was called: forced tokens cost no call of their own.
    """

    text: str
    value: Any
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    forward_passes: int


@dataclass(frozen=True, slots=True)
class Event:
    """Anything that a stream yields."""


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
class Done(Event):
    """The last event of every stream.

    Attributes
    ----------
    result : Result
        The whole of it.
    """

    result: Result
