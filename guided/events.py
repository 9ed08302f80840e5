"""Events of a stream, and the result of a generation. Data only.

Match a stream by the classes of its events::

    for event in assistant.stream("..."):
        match event:
            case guided.events.Text(text):
                print(text, end="")
            case guided.events.ToolResult(call):
                print(call.name, call.result)
            case guided.events.Done(result):
                print(result.finish_reason)

All generators yield `Text` and `Done`; those of compositions also `Captured`; those of JSON also `ValueCompleted`, and `PartialValue` with
``partial=True``; those of tools also `ToolCallStarted`, `ToolArgument`, `ToolCall` and `ToolResult`. With ``retries``, all but those of
tools also yield `Refused`.

A text is *steered* from the first token that the budget chose instead of the model: the model's choice among the tokens that the constraint
allows did not leave enough of ``max_tokens`` to complete the text, or the budget ended a text that could continue. What a steered text says
is no longer what the model wanted to say.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from guided.calls.reads import Call
from guided.errors import GuidedError, IncompleteError, SchemaError, shown
from guided.keywords import suggest_attributes

__all__ = [
    "Call",
    "Captured",
    "Done",
    "Event",
    "FinishReason",
    "Logprob",
    "PartialValue",
    "Refused",
    "Result",
    "Sample",
    "Scores",
    "StreamEvent",
    "Text",
    "ToolArgument",
    "ToolCall",
    "ToolCallStarted",
    "ToolResult",
    "ValueCompleted",
    "plain",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

FinishReason: TypeAlias = Literal["stop", "length", "stop_string", "tool_calls", "error"]


@dataclass(frozen=True, slots=True)
class Scores:
    """Log-probabilities of a text's tokens, end of sequence included if the model chose it.

    Tokens are scored at temperature 1, whatever the temperature they were chosen at. A token that is the only allowed one counts too: the
    model may have preferred another. Not scored: tokens that the caller or a choice by whole names put in, and text that tools inserted.

    Attributes
    ----------
    log_probability : float
        Under the model: the sum of ``log p(t)``.
    log_masked : float
        Under the mask: the sum of ``log (p(t) / M)``, where M is the probability of all tokens allowed at that step.
    """

    log_probability: float = 0.0
    log_masked: float = 0.0

    @property
    def distortion(self) -> float:
        """The sum of ``-log M``: how much more likely masking makes the text than the model does; at least 0."""
        return self.log_masked - self.log_probability

    def __add__(self, other: "Scores") -> "Scores":
        """The scores of two parts of a text together."""
        return Scores(self.log_probability + other.log_probability, self.log_masked + other.log_masked)


@dataclass(frozen=True, slots=True)
class Logprob:
    """Log-probability of one token under the model at temperature 1, before mask and penalty.

    Attributes
    ----------
    token : int
        The token id.
    data : bytes
        Its bytes; empty for a special token.
    logprob : float
        Natural logarithm of its probability; minus infinity for a token that the model excludes.
    top : tuple of Logprob
        The most probable tokens of the model in its place, the best first, whether the constraint allows them or not: as many as
        ``logprobs`` asked for, fewer if the model gives fewer a probability above 0. Empty for the entries of ``top``.
    """

    token: int
    data: bytes
    logprob: float
    top: tuple["Logprob", ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One text that a search found (``search=...`` or ``probabilities=True``).

    Attributes
    ----------
    text : str
        The whole text, without the prompt and before any stop string.
    tokens : tuple of int
        Its tokens; two samples never have the same tokens, but they may have the same text.
    weight : float
        Its share in the estimated distribution; the weights of all samples sum to 1.
    scores : Scores
        Log-probabilities of the tokens.
    finish_reason : {"stop", "length", "stop_string"}
        As in `Result`.
    steered : int or None
        As in `Result`.
    """

    text: str
    tokens: tuple[int, ...]
    weight: float
    scores: Scores
    finish_reason: FinishReason
    steered: int | None = None


@suggest_attributes
@dataclass(frozen=True, slots=True, repr=False)
class Result(Generic[T_co]):
    """A generated text and its value.

    Attributes
    ----------
    text : str
        The whole text, without the prompt.
    value_or_none : T or None
        The value; None if there is none (or if the value is None itself: `error` distinguishes the two).
    tokens : tuple of int
        The generated tokens, without the end of sequence. A stop string may begin within the last ones.
    finish_reason : {"stop", "length", "stop_string", "tool_calls", "error"}
        ``"stop"``: the model ended the text, or nothing could follow. ``"length"``: ``max_tokens`` (or the model's
        context) steered the text (see ``steered``), whatever ended it.
        ``"stop_string"``: a stop string occurred. ``"tool_calls"``: the text ended as with ``"stop"``, and its calls
        were not run (``execute=False``, or a tool without a function): they await external results. ``"error"``: of several prompts, the
        text of this one failed (`Generator.map`).
    forward_passes : int
        Number of calls of the model: forced tokens need none of their own.
    error : GuidedError or None
        Reason for a missing value: `IncompleteError` if a stop string or the budget cut the text, `SchemaError` if the type's validators
        rejected it. None if there is a value.
    captures : Mapping of str to Any
        Values of the named parts of a composition (`guided.captures`); empty for other specs.
    scores : Scores or None
        Log-probabilities of the text under the model and under the mask; set by ``scores=True`` and by every search.
    samples : tuple of Sample
        The distinct texts that a search found, the heaviest first; this result is one of them. Empty without a search, and for a text
        of several segments, each of which was searched for itself.
    log_z : float or None
        With a `Smc` the logarithm of an unbiased estimate of the probability that the model's own output satisfies the
        constraint; with a `Beam` and ``probabilities=True`` a lower bound of that logarithm.
    logprobs : tuple of Logprob
        One for each of ``tokens``, with ``logprobs=k``; otherwise empty.
    refused : tuple of Refused
        With ``retries``, the texts before this one that were steered, or whose values validators of the type refused. ``tokens``,
        ``scores`` and the like are of this text only; ``forward_passes`` counts those of all.
    steered : int or None
        Index in ``tokens`` of the first token that the budget chose instead of the model; ``len(tokens)`` if the model chose all of them
        and the budget ended the text where it could continue. None if the budget changed nothing. May be 0: test ``is not None``.
    calls : tuple of Call
        With tools, in order, each with ``name``, ``arguments``, ``result`` and ``span``: its position in ``text``, trigger and terminator
        included. In running text, the texts of all `Text`, `ToolCall` and `ToolResult` events joined are ``text``.
    """

    text: str
    value_or_none: T_co | None
    tokens: tuple[int, ...]
    finish_reason: FinishReason
    forward_passes: int
    error: GuidedError | None = None
    captures: Mapping[str, Any] = field(default_factory=dict)
    scores: Scores | None = None
    samples: tuple[Sample, ...] = ()
    log_z: float | None = None
    logprobs: tuple[Logprob, ...] = ()
    refused: tuple["Refused", ...] = ()
    steered: int | None = None
    calls: tuple[Call, ...] = ()

    @property
    def probabilities(self) -> dict[str, float]:
        """Total weight of each text among the samples, the largest first; empty without samples."""
        found = dict[str, float]()
        for sample in self.samples:
            found[sample.text] = found.get(sample.text, 0.0) + sample.weight
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def value(self) -> T_co:
        """Value of the text: the text itself, the chosen option, an instance of the type, the parse tree, or the list of calls.

        Raises
        ------
        IncompleteError
            A stop string or the budget cut the text.
        SchemaError
            Validators of the type refused the value.
        """
        if self.error is not None:
            raise self.error
        return cast("T_co", self.value_or_none)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, for tables and JSON: ``value`` for the value, ``error`` as text.

        Dataclasses, models, Enum members, tuples and sets within it become dicts, values and lists; log-probabilities of minus infinity
        become None, and bytes text. Other objects, such as dates, stay as they are.
        """
        found: dict[str, Any] = plain(self)
        return found

    def __repr__(self) -> str:
        value = f"error={shown(self.error)}" if self.error is not None else f"value={shown(self.value_or_none)}"
        return (
            f"{type(self).__name__}(text={shown(self.text)}, {value}, {len(self.tokens)} tokens, "
            f"finish_reason={self.finish_reason!r}{'' if self.steered is None else f', steered={self.steered}'})"
        )


def plain(value: Any) -> Any:
    """Return a value with dicts and lists instead of dataclasses, models and other containers; see `Result.to_dict`."""
    if isinstance(value, Enum):
        return plain(value.value)
    if hasattr(type(value), "model_fields"):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"value" if name == "value_or_none" else name: item for name, item in named.items()}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, GuidedError):
        return str(value)
    # JSON has no infinities.
    return None if isinstance(value, float) and not math.isfinite(value) else value


R_co = TypeVar("R_co", bound=Result[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events.

    Attributes
    ----------
    steered : bool
        Whether the budget steered the text by the time of this event, so that what it reports may not be the model's choice. Text that
        follows the result of a call is the model's own again.
    """

    steered: bool = field(default=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Text(Event):
    """A piece of the text: whole code points, never bytes that a stop string may still retract.

    Attributes
    ----------
    text : str
        Not empty. All pieces joined are the result's text.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Refused(Event):
    """A text failed: the budget steered it, or validators of the type refused its value; the model reads the error.

    The events that follow are of its next text.

    Attributes
    ----------
    text : str
        The refused text.
    error : SchemaError or IncompleteError
        What was refused, and why.
    """

    text: str
    error: SchemaError | IncompleteError


@dataclass(frozen=True, slots=True)
class ValueCompleted(Event):
    """A value in a JSON text is complete; nested values were reported before.

    Attributes
    ----------
    pointer : str
        JSON Pointer (RFC 6901) to the value; empty for the whole value.
    value : Any
        The value as the type represents it there, or parsed JSON if that is unknown.
    """

    pointer: str
    value: Any


@dataclass(frozen=True, slots=True)
class PartialValue(Event):
    """What a JSON text has said so far, after each piece of text in which a value begins, grows or ends.

    Attributes
    ----------
    value : Any
        Complete values within it are those of `ValueCompleted`: instances of a type's fields, items and nested types. What is incomplete is
        a dict for an object, whatever its type, a list for an array, and a str for a string. Incomplete numbers and literals, and names
        without a value, are not in it. The last one of a complete text is the whole value. Each is a new object, but shares complete
        values with later ones: do not change it.
    """

    value: Any


@dataclass(frozen=True, slots=True)
class Captured(Event):
    """A named part of a composition is complete, whatever follows.

    Attributes
    ----------
    name : str
    value : Any
        As in ``Result.captures``; one of several for a name that captures a list.
    """

    name: str
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
        Name of the argument in calls.
    value : Any
        The typed value.
    text : str
        As the model wrote it.
    is_item : bool
        Whether it is one of several values that the call gives for this name.
    """

    name: str
    value: Any
    text: str
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall(Event):
    """A call is complete but has not been run yet.

    Attributes
    ----------
    call : Call
        Without a result.
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
        With its result, or the error that the tool raised.
    text : str
        Text inserted after the call; empty if calls stand alone.
    """

    call: Call
    text: str


@dataclass(frozen=True, slots=True)
class Done(Event, Generic[R_co]):
    """The last event of every stream.

    Attributes
    ----------
    result : Result
        Result of the whole text.
    """

    result: R_co


# For type checkers, which narrow unions: the events of a generator of values of type T.
StreamEvent: TypeAlias = (
    Text
    | Refused
    | Captured
    | ValueCompleted
    | PartialValue
    | ToolCallStarted
    | ToolArgument
    | ToolCall
    | ToolResult
    | Done[Result[T]]
)
