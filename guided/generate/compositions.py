"""`CompositionGenerator`: texts of a composition, and the values of its named parts as soon as they are certain."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from guided.calls.inputs import spec_of
from guided.calls.parse import parse_text
from guided.calls.spec import Tools
from guided.engine.algebra import (
    Alternatives,
    Composition,
    Concatenation,
    FreeText,
    Maybe,
    Named,
    Part,
    Repeat,
    Stored,
)
from guided.engine.captures import Capture, Captures, list_names
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.located import Located
from guided.engine.specs import Choice
from guided.errors import GuidedError, SchemaError
from guided.events import Captured, Event
from guided.generate.generator import Generator, R, TextReader
from guided.generate.model import LanguageModel
from guided.limits import Limits
from guided.vocabulary.vocabulary import markers_in, with_markers

__all__ = ["CompositionGenerator", "captures"]


def captures(spec: Composition, text: str | bytes, *, limits: Limits | None = None) -> dict[str, Any]:
    """Return the values of the named parts of a text.

    Parameters
    ----------
    spec : composition
    text : str or bytes
        A whole text of the composition.
    limits : Limits, optional

    Returns
    -------
    dict
        Value by name: of `JsonSchema` and types what ``JsonSchema.read`` returns, of `Choice` the option, of `Tools` the list of calls, of
        `Grammar` the parse tree, of free text the text without its stop string, of `Maybe` the value or None, of alternatives that of
        the one that was read, of `Repeat` the list of its values, of a name that of its part, of other parts the text. A list of values
        for a name in a `Repeat` and for one that occurs more than once; None for a name that captured nothing.

    Raises
    ------
    SchemaError
        The text is not in the language, with the byte that is wrong, or validators of a type refuse a value.
    LimitError
        The text can be read in too many ways.
    """
    if not isinstance(spec, Composition):
        raise TypeError(f"captures needs a composition, such as spec.named('value'), not {type(spec).__name__}")
    spec = spec_of(spec)
    data = text.encode() if isinstance(text, str) else text
    reader = Captures(spec, limits or Limits()).reader()
    certain, rest, count = reader.feed(data), reader.close(), reader.position
    if rest is None:
        where = "ends too early" if count == len(data) else f"is wrong at byte {count} ({data[count : count + 1]!r})"
        raise SchemaError(f"the text {where}", "", "composition")
    values = _Values(spec)
    for capture in certain + rest:
        values.add(capture, data)
    return values.found


class _Values:
    """Values of the named parts of one text.

    Attributes
    ----------
    found : dict of str to Any
    """

    def __init__(self, spec: Composition) -> None:
        self._is_list = list_names(spec)
        self.found: dict[str, Any] = {name: [] if is_list else None for name, is_list in self._is_list.items()}

    def add(self, capture: Capture, data: bytes) -> Any:
        """Return the value of a named part, and keep it."""
        name, value = capture.part.name, _captured(capture, data)
        if self._is_list[name]:
            self.found[name].append(value)
        else:
            self.found[name] = value
        return value


def _captured(capture: Capture, data: bytes) -> Any:
    """Return the value of a captured part: that of its own text, or made of the values of the captures within it."""
    part = capture.part
    while isinstance(part, Named) and not isinstance(part.parts[0], Composition):
        part = part.parts[0]
    if isinstance(part, Named | Alternatives | Maybe | Repeat | Concatenation) and part.is_typed:
        inner = [_captured(each, data) for each in capture.inner]
        if isinstance(part, Repeat):
            # Between two there is a separator.
            return inner[:: len(part.parts)]
        return inner[0] if inner else None
    return _value(part, data[capture.begin : capture.end].decode(errors="replace"))


def _value(part: Part, text: str) -> Any:
    match part:
        case JsonSchema() | Choice() | Grammar():
            return part.read(text)
        case Tools():
            return parse_text(text, part)
        case FreeText():
            # The text ends with the first stop string to be complete; of several that end there, the shortest is removed.
            stop = next((stop for stop in sorted(part.stop, key=len) if text.endswith(stop)), "")
            return text[: len(text) - len(stop)]
        case Located():
            return _value(part.spec, text)
        case Stored() if isinstance(part.lowered, JsonSchema):
            return part.lowered.read(text)
    return text


class CompositionGenerator(Generator[str]):
    """Generates texts of a composition. Made by `guided.generator`.

    The value of a result is the text, and ``result.captures`` has the values of the named parts. A stream has a `Captured` event for each
    of them as soon as nothing that follows can change it.
    """

    def __init__(self, model: LanguageModel, index: Index, spec: Composition, limits: Limits | None = None) -> None:
        super().__init__(model, index, limits=limits)
        self.spec = spec
        self._spelling = with_markers(model.vocabulary, markers_in(spec.markers, model.vocabulary))
        self._captures = Captures(spec, limits or Limits())

    def _reader(self) -> TextReader:
        return _CaptureReader(self.spec, self._captures)


class _CaptureReader(TextReader):
    """Captures the named parts of one text."""

    def __init__(self, spec: Composition, captures: Captures) -> None:
        self._reader, self._values, self._data = captures.reader(), _Values(spec), bytearray()
        self._error: GuidedError | None = None

    def feed(self, piece: str, is_steered: bool) -> Iterator[Event]:
        data = piece.encode()
        self._data += data
        return self._captured(self._reader.feed(data), is_steered)

    def close(self, is_steered: bool) -> Iterator[Event]:
        return self._captured(self._reader.close() or [], is_steered)

    def result(self, result: R) -> R:
        return replace(result, captures=dict(self._values.found), error=result.error or self._error)

    def _captured(self, found: list[Capture], is_steered: bool) -> Iterator[Event]:
        for capture in found:
            try:
                yield Captured(capture.part.name, self._values.add(capture, bytes(self._data)), steered=is_steered)
            except GuidedError as refused:
                self._error = self._error or refused
