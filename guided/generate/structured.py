"""`JsonGenerator`: texts of JSON, and the values in them as soon as they are complete.

The values are read from what has been said in `Text` events, so none is ever taken back by a stop string.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from io import StringIO
from typing import Any, Protocol, runtime_checkable

from guided.engine.index import Index
from guided.engine.specs import StackSpec
from guided.errors import SchemaError
from guided.generate.decoding import Decoding, Script
from guided.generate.events import Done, Event, Result, Text, ValueCompleted
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel
from guided.generate.partial_json import Completed, JsonReader
from guided.generate.stops import TextStream

__all__ = ["JsonGenerator", "JsonResult", "JsonSpec"]


@runtime_checkable
class JsonSpec(StackSpec, Protocol):
    """A spec of JSON texts that reads their values."""

    def read_part(self, path: Sequence[str | int], text: str, parsed: Any) -> Any:
        """The value of a part of a text, the whole at the empty path; raises SchemaError where it is refused."""


@dataclass(frozen=True, slots=True)
class JsonResult(Result):
    """What was generated, as a value.

    Attributes
    ----------
    error : SchemaError or None
        Why there is no value though the text is complete: a validator of the type refused it.
    """

    error: SchemaError | None = None


class JsonGenerator(Generator):
    """Generates JSON texts that a schema allows, and none other.

    Made by `guided.json`. A stream has a `ValueCompleted` event for each value that is complete, beside `Text` and `Done`. Where
    validators of the type refuse the value of a complete text, a call raises SchemaError; streams and batches have it as
    ``result.error``, and the value None.

    Parameters
    ----------
    model : LanguageModel
        Gives the logits.
    index : Index
        Of the spec, over the model's vocabulary.
    spec : JsonSpec
        Reads the values.

    Raises
    ------
    VocabularyError
        The index was compiled for another vocabulary than the model's.
    """

    def __init__(self, model: LanguageModel, index: Index, spec: JsonSpec) -> None:
        super().__init__(model, index)
        self.spec = spec

    def _returned(self, result: Result) -> Result:
        """The result; raises SchemaError where validators of the type refuse the value."""
        if isinstance(result, JsonResult) and result.error is not None:
            raise result.error
        return result

    def _script(self, decoding: Decoding, stream: TextStream) -> Script:
        inner = super()._script(decoding, stream)
        values = _Values(self.spec)
        answer = None
        while True:
            item = inner.send(answer)
            if isinstance(item, Done):
                # A text that is not complete has no value.
                if item.result.value is not None:
                    yield from values.close()
                yield Done(values.result(item.result))
                return
            answer = yield item
            if isinstance(item, Text):
                yield from values.feed(item.text)

    def __repr__(self) -> str:
        return f"<JsonGenerator of {self.index!r}>"


class _Values:
    """The values of one text."""

    def __init__(self, spec: JsonSpec) -> None:
        self._spec = spec
        self._reader = JsonReader()
        self._text = StringIO()
        self._whole: Any = None
        self._error: SchemaError | None = None

    def feed(self, piece: str) -> Iterator[Event]:
        self._text.write(piece)
        yield from self._said(self._reader.feed(piece))

    def close(self) -> Iterator[Event]:
        yield from self._said(self._reader.close())

    def result(self, result: Result) -> JsonResult:
        """The result with the value of the whole text, where it is complete."""
        values = {item.name: getattr(result, item.name) for item in fields(Result)}
        has_value = result.value is not None and self._error is None
        error = self._error if result.value is not None else None
        return JsonResult(**{**values, "value": self._whole if has_value else None}, error=error)

    def _said(self, found: list[Completed]) -> Iterator[Event]:
        for item in found:
            self._text.seek(item.begin)
            text = self._text.read(item.end - item.begin)
            self._text.seek(0, 2)
            path = item.path
            try:
                value = self._spec.read_part(path, text, item.value)
            except SchemaError as error:
                # What holds it is refused for the same reason, and at last the whole.
                self._error = error
                continue
            if not path:
                self._whole, self._error = value, None
            yield ValueCompleted("".join(f"/{_escaped(step)}" for step in path), value)


def _escaped(step: str | int) -> str:
    """A step of a JSON Pointer (RFC 6901)."""
    return str(step).replace("~", "~0").replace("/", "~1")
