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

__all__ = ["Template", "impossible_in", "read_arguments", "value_data"]

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
            "values": [[documents[id(value.schema)], *value_data(value)] for value in values],
            "options": asdict(self.options),
            "fingerprint": self.fingerprint,
            "markers": self.markers,
            "places": [value.place for value in values],
            **({"notes": self.notes} if self.notes else {}),
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
            places = content.get("places", [])
            if len(places) == len(values):
                values = tuple(replace(value, place=str(place)) for value, place in zip(values, places, strict=True))
            holes = arrays.pop("holes")
            _check(holes, values, **arrays)
            frame = Frame(Automaton(**arrays), holes, values)
            chosen = {
                **content["options"],
                "notation": _notation(content["options"].get("notation")),
                "caps": Caps(**content["options"]["caps"]),
                "excludes": tuple(content["options"].get("excludes", ())),
                "formats": (),
            }
            options = JsonOptions(**chosen)
            markers, notes = (tuple(map(str, content.get(name, ()))) for name in ("markers", "notes"))
            return cls(frame, options, str(content["fingerprint"]), markers, notes)
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
    more: list[Any] = [None if one is None else asdict(one) for one in (value.notation, value.arguments)]
    more.append(value.any_order or None)
    while more and more[-1] is None:
        more.pop()
    return [value.pointer, value.begins.decode("latin-1"), *more]


def _value(
    document: Any, pointer: Any, begins: Any, notation: Any = None, arguments: Any = None, any_order: Any = None
) -> Value:
    texts = _notation(notation), read_arguments(arguments)
    return Value(document, str(pointer), begins.encode("latin-1"), *texts, bool(any_order))


def read_arguments(data: Any) -> Arguments | None:
    """Return the texts around arguments that a dict of their fields describes.

    Raises
    ------
    ValueError, KeyError, TypeError
        It does not.
    """
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
    padding = data.get("padding", "none")
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
