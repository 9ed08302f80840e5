"""`Template`: the spec of texts with embedded values of schemas, given as a frame with holes (used by `guided.calls`)."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.steps import Steps
from guided.engine.specs import Lowered
from guided.errors import SchemaError
from guided.files import pack, unpack
from guided.limits import Limits
from guided.schema.formula.atoms import JSON_TYPES, Arguments, Caps, JsonOptions, Notation
from guided.schema.frontend.json_values import text_of, value_of
from guided.schema.pushdown.embedding import Embedding, around_of, check_documents
from guided.schema.pushdown.frames import Frame, Value
from guided.schema.report.contradictions import impossible

__all__ = ["Template", "impossible_in", "options_data", "read_options", "value_data"]

_ARRAYS = {"table": np.int32, "classes": np.uint8, "accepting": np.bool_, "labels": np.int32, "holes": np.int32}
_NOTES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A frame and the options of its values."""

    kind: ClassVar[str] = "template"

    frame: Frame = field(repr=False)
    options: JsonOptions
    # SHA-256 in hex of the spec's content.
    fingerprint: str
    # Texts that may be special tokens of the vocabulary.
    markers: tuple[str, ...] = ()
    # Remarks for the user.
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """All fields as text; arrays are compressed."""
        automaton, values = self.frame.automaton, self.frame.values
        documents: dict[int, int] = {}
        for value in values:
            documents.setdefault(id(value.schema), len(documents))
        held = {id(value.schema): value.schema for value in values}
        arrays = {"holes": self.frame.holes} | {name: getattr(automaton, name) for name in _ARRAYS if name != "holes"}
        content = {
            "arrays": {name: [array.shape, pack(array.tobytes())] for name, array in arrays.items()},
            "documents": [held[number] for number in documents],
            "values": [[documents[id(value.schema)], value.place, *value_data(value)] for value in values],
            "options": options_data(self.options),
            "fingerprint": self.fingerprint,
            "markers": self.markers,
            "notes": self.notes,
        }
        return text_of(content)

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "Template":
        """See `StoredSpec`."""
        try:
            content = value_of(data, limits)
            arrays = {
                name: np.frombuffer(unpack(packed, (limits or Limits()).file_bytes), _ARRAYS[name]).reshape(shape)
                for name, (shape, packed) in content["arrays"].items()
            }
            documents = content["documents"]
            values = tuple(_value(documents[number], *rest) for number, *rest in content["values"])
            holes = arrays.pop("holes")
            _check(holes, values, **arrays)
            frame = Frame(Automaton(**arrays), holes, values)
            markers, notes = (tuple(map(str, content[name])) for name in ("markers", "notes"))
            return cls(frame, read_options(content["options"]), str(content["fingerprint"]), markers, notes)
        except (KeyError, IndexError, TypeError, AttributeError, RecursionError, SchemaError) as error:
            raise ValueError(f"not a valid template: {error}") from error

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """See `StackSpec`."""
        documents = ((value.schema, value.pointer, value.place) for value in self.frame.values)
        check_documents(documents, self.options, limits)
        automaton = Embedding(around_of(self.frame), self.options, limits, alphabet)
        return Lowered(automaton, automaton.structure, automaton.structure.tables.n_controls, notes=self.notes)

    def impossible_parts(self, limits: Limits) -> tuple[str, ...]:
        """Return notes on parts of the values that no text ever has."""
        return impossible_in(self.frame.values, self.options, limits)


def impossible_in(values: Iterable[Value], options: JsonOptions, limits: Limits) -> tuple[str, ...]:
    """Return a note on each part of embedded values that no text ever has, with the value's place; ten at most."""
    steps, found = Steps(limits.call_steps, "call_steps"), dict[str, None]()
    different = {(id(value.schema), value.pointer): value for value in values}
    for value in different.values():
        notes = impossible(value.schema, options, limits, pointer=value.pointer, steps=steps)
        found.update(dict.fromkeys(f"{value.place}: {note}" if value.place else note for note in notes))
        if steps.left < 0 or len(found) >= _NOTES:
            break
    return tuple(found)[:_NOTES]


def value_data(value: Value) -> list[Any]:
    """Return what a value is besides its document and its place."""
    texts = [None if one is None else asdict(one) for one in (value.notation, value.arguments)]
    return [value.pointer, value.begins.decode("latin-1"), *texts, value.any_order]


def _value(
    document: Any, place: Any, pointer: Any, begins: Any, notation: Any, arguments: Any, any_order: Any
) -> Value:
    texts = _notation(notation), _arguments(arguments)
    return Value(document, str(pointer), begins.encode("latin-1"), *texts, bool(any_order), str(place))


def options_data(options: JsonOptions) -> dict[str, Any]:
    """Return options as JSON values, without formats of the user's own."""
    return asdict(replace(options, formats=()))


def read_options(data: Any, formats: tuple[Any, ...] = ()) -> JsonOptions:
    """Return the options of `options_data`.

    Raises
    ------
    ValueError, KeyError, TypeError
        The data describes none.
    """
    chosen: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    if data["words"] not in ("json", "python") or data["quote"] not in ('"', "'"):
        raise ValueError("its words or quotes are unknown")
    chosen |= {"caps": Caps(**data["caps"]), "excludes": tuple(map(str, data["excludes"])), "formats": formats}
    chosen |= {"notation": _notation(data["notation"]), "arguments": _arguments(data["arguments"])}
    return JsonOptions(**chosen)


def _arguments(data: Any) -> Arguments | None:
    if data is None:
        return None
    texts = {name: str(text) for name, text in data.items() if name not in ("notation", "between")}
    between = tuple((str(text), tuple(map(str, kinds))) for text, kinds in data["between"])
    if len(texts["end"]) != 1 or not texts["end"].isascii() or not {*chain(*dict(between).values())} <= {*JSON_TYPES}:
        raise ValueError("its texts around arguments are unknown")
    return Arguments(**texts, between=between, notation=_notation(data["notation"]))


def _notation(data: Any) -> Notation | None:
    if data is None:
        return None
    opening, closing, reserved, part = (data[name] for name in ("opening", "closing", "reserved", "part"))
    padding = data["padding"]
    if part not in ("all", "strings", "others") or padding not in ("none", "blanks", "line feeds") or not str(closing):
        raise ValueError("its notation is unknown")
    return Notation(str(opening), str(closing), tuple(map(str, reserved)), part, padding)


def _check(holes: Any, values: Any, table: Any, classes: Any, accepting: Any, labels: Any) -> None:
    """Reject a frame whose arrays contain indices out of range."""
    n_states, n_columns = table.shape
    fits = (
        n_states > 0
        and classes.shape == (256,)
        and int(classes.max()) < n_columns
        and len(accepting) == len(labels) == n_states
        and (table.size == 0 or (int(table.min()) >= -1 and int(table.max()) < n_states))
        and holes.ndim == 2
        and holes.shape[1] == 3
        and (holes.size == 0 or int(holes.min()) >= 0)
        and (holes.size == 0 or (int(holes[:, [0, 2]].max()) < n_states and int(holes[:, 1].max()) < len(values)))
        and len(np.unique(holes[:, 0])) == len(holes)
    )
    if not fits:
        raise ValueError("its arrays contain numbers out of range")
