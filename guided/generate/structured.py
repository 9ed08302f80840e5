"""`JsonGenerator`: JSON texts, their values as soon as they are complete, and on request snapshots of what has been written so far.

Values are read from the released `Text` events, so a stop string never takes one back.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from io import StringIO
from typing import Any, Protocol, Unpack

from guided.engine.index import Index
from guided.engine.specs import StackSpec
from guided.errors import GuidedError, LimitError, SchemaError
from guided.events import Event, PartialValue, StreamEvent, ValueCompleted
from guided.generate.generator import Generator, R, T_co, TextReader, no_value
from guided.generate.model import LanguageModel, Prompt
from guided.generate.options import GenerationOptions
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.frontend.json_reader import Completed, JsonReader
from guided.schema.frontend.location import pointer_of

__all__ = ["JsonGenerator", "JsonSpec"]


class JsonSpec(StackSpec, Protocol[T_co]):
    """A spec of JSON texts that can read their values."""

    def read(self, text: str | bytes) -> T_co:
        """Return the value of a text; raises SchemaError if the type rejects it."""

    def read_part(self, path: Sequence[str | int], text: str, parsed: Any) -> Any:
        """Return the value of a part of a text (the whole at the empty path); raises SchemaError if the type rejects it."""


class JsonGenerator(Generator[T_co]):
    """Generates only JSON texts that a schema allows. The values of a ``JsonGenerator[T]`` have type T.

    Made by `guided.json`. A stream has a `ValueCompleted` event for each complete value, besides `Text` and `Done`. If validators of the
    type reject the value of a complete text, a call raises SchemaError; streams and batches store the error in ``result.error``, and
    ``result.value`` raises it.

    Parameters
    ----------
    model : LanguageModel
        Source of the logits.
    index : Index
        Index of the spec over the model's vocabulary.
    spec : JsonSpec
        Reads the values.
    limits : Limits, optional
        As in `Generator`.

    Raises
    ------
    VocabularyError
        The index was compiled for another vocabulary.
    """

    def __init__(self, model: LanguageModel, index: Index, spec: JsonSpec[T_co], limits: Limits | None = None) -> None:
        # The values come from `_coroutine`, which reads them while the text is generated.
        super().__init__(model, index, no_value, limits=limits)
        self.spec = spec
        # Whether texts have `PartialValue` events.
        self._is_partial = False

    @suggest_keywords(GenerationOptions)
    def stream(
        self, prompt: Prompt, *, partial: bool = False, **options: Unpack[GenerationOptions]
    ) -> Iterator[StreamEvent[T_co]]:
        """Generate one text as events, like `Generator.stream`.

        Parameters
        ----------
        prompt, **options
            As in `Generator.stream`.
        partial : bool
            Whether a `PartialValue` event follows each piece of text in which a value begins, grows or ends: what the text has said so far.
        """
        return Generator.stream(self._showing(partial), prompt, **options)

    @suggest_keywords(GenerationOptions)
    def stream_async(
        self, prompt: Prompt, *, partial: bool = False, **options: Unpack[GenerationOptions]
    ) -> AsyncIterator[StreamEvent[T_co]]:
        """Like `stream`, without blocking the running event loop (see `Generator.stream_async`)."""
        return Generator.stream_async(self._showing(partial), prompt, **options)

    def _showing(self, partial: bool) -> "JsonGenerator[T_co]":
        """Return a generator whose texts have `PartialValue` events, or this one."""
        if not isinstance(partial, bool):
            raise TypeError(f"partial must be a bool, not {type(partial).__name__}")
        if not partial:
            return self
        showing = copy(self)
        showing._is_partial = True
        return showing

    def _reader(self) -> TextReader:
        return _Values(self.spec, self._is_partial)

    def __repr__(self) -> str:
        return f"<JsonGenerator of {self.index!r}>"


class _Values(TextReader):
    """Reads the values of one text."""

    def __init__(self, spec: JsonSpec[Any], is_partial: bool) -> None:
        self._spec = spec
        self._reader = JsonReader(has_snapshots=is_partial)
        self._text = StringIO()
        self._whole: Any = None
        self._error: GuidedError | None = None
        # Whether a number had too many digits: the text has no value then, and the reader ends there.
        self._is_over = False
        self._is_partial = is_partial
        # What the last snapshot depended on.
        self._n_completed = 0
        self._shown: tuple[int, int, str | None] = (0, 0, None)

    def feed(self, piece: str, is_steered: bool) -> Iterator[Event]:
        self._text.write(piece)
        yield from self._completed(self._read(lambda: self._reader.feed(piece)), is_steered)
        yield from self._snapshot(is_steered)

    def close(self, is_steered: bool) -> Iterator[Event]:
        yield from self._completed(self._read(self._reader.close), is_steered)
        yield from self._snapshot(is_steered)

    def result(self, result: R) -> R:
        """The result with the value of the whole text, or with the error if the type rejects it."""
        error = result.error or self._error
        return replace(result, value_or_none=self._whole if error is None else None, error=error)

    def _read(self, read: Callable[[], list[Completed]]) -> list[Completed]:
        try:
            return [] if self._is_over else read()
        except LimitError as error:
            self._error, self._is_over = error, True
            return []

    def _completed(self, found: list[Completed], is_steered: bool) -> Iterator[Event]:
        for item in found:
            self._text.seek(item.begin)
            text = self._text.read(item.end - item.begin)
            self._text.seek(0, 2)
            path = item.path
            self._n_completed += 1
            try:
                value = self._spec.read_part(path, text, item.value)
            except (SchemaError, LimitError) as error:
                # The containers of this value are rejected for the same reason, including the whole text.
                self._error = error
                continue
            if not path:
                self._whole, self._error = value, None
            if self._is_partial and item.location is not None:
                item.shown_in[item.location.step] = value
            yield ValueCompleted(pointer_of(("", *path)), value, steered=is_steered)

    def _snapshot(self, is_steered: bool) -> Iterator[Event]:
        """What has been said so far, if values have begun, grown or ended; nothing for a whole value that the type rejects."""
        if not self._is_partial or self._is_over:
            return
        reader, last = self._reader, self._shown
        self._shown = (self._n_completed, reader.depth, reader.open_string)
        if self._shown == last:
            return
        if not reader.is_complete:
            yield PartialValue(reader.snapshot(), steered=is_steered)
        elif self._error is None:
            yield PartialValue(self._whole, steered=is_steered)
