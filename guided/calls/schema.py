"""JSON Schemas as types of arguments: `SchemaType`, a place in a schema and the way back from a spelling to a Python value.

Nothing is lowered here: `guided.schema` does it, and says what is refused. The language of values in calls is that of `VALUES`: one
space at most wherever JSON allows some, and every spelling that `json.dumps` gives.

Equal schemas are one type, whatever they say for people, so that calls share what is made of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from json import JSONDecoder
from typing import Any

from guided.automata.pushdown import KEPT
from guided.automata.stacks import Place, Stacks
from guided.calls.constraints import Caps, Unsatisfiable
from guided.calls.schema_names import name_of
from guided.errors import SchemaError
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.schema.atoms import JsonOptions
from guided.schema.embedding import value_machine
from guided.schema.formula import Formulas
from guided.schema.frames import Value
from guided.schema.json_values import check_levels, parse_json, text_of, value_of
from guided.schema.kinds import Kinds
from guided.schema.lowering import Lowering
from guided.schema.memo import Memo
from guided.schema.reader import TypeReader
from guided.schema.reading import Reading
from guided.schema.structure import structure_of
from guided.schema.typed import schema_of

__all__ = ["VALUES", "SchemaType", "ValueScanner", "members", "type_of_annotation", "type_of_schema"]

VALUES = JsonOptions(whitespace=" ?", numbers="dumps", escapes="dumps")
_ALL = bytes([1] * 256)
_FOR_PEOPLE = frozenset({
    "$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly",
})  # fmt: skip
_BEGINS = b'-0123456789"[{tfn'
_DEFINITIONS = frozenset({"$defs", "definitions"})
# Keywords that name schemas, or give names to them: what they mean hangs on all that is around them.
_BY_NAME = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"})
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
_types: Memo["SchemaType"] = Memo(1 << 16)


@dataclass(frozen=True, slots=True, eq=False)
class SchemaType:
    """The type of an argument, by its schema.

    Attributes
    ----------
    name : str
        For people.
    document : dict or bool
    pointer : str
        JSON Pointer to the schema in the document.
    reader : TypeReader or None
        Reads values of a Python type; None: as JSON.
    """

    name: str
    document: Any = field(repr=False)
    pointer: str = ""
    reader: TypeReader | None = None

    @property
    def is_bare(self) -> bool:
        """Is the spelling no JSON?"""
        return False

    def read(self, spelling: str) -> Any:
        """The Python value of a spelling.

        Raises
        ------
        SchemaError
            Its type does not take it.
        """
        return parse_json(spelling) if self.reader is None else self.reader.read(spelling)

    def scanner(self) -> "ValueScanner":
        """The recognizer of the type's spellings."""
        return _scanner(self)

    @property
    def begins(self) -> bytes:
        """Bytes that values begin with."""
        scanner = self.scanner()
        return bytes(byte for byte in _BEGINS if scanner.read(scanner.start, byte, []) is not None)

    @property
    def words(self) -> tuple[str, ...]:
        """Those of ``true``, ``false`` and ``null`` that are values."""
        return tuple(word for word in ("true", "false", "null") if self.scanner().accepts(word.encode()))

    def __repr__(self) -> str:
        return f"<SchemaType {self.name}>"


class ValueScanner:
    """Recognizes the values of a type byte by byte.

    Attributes
    ----------
    start : Place
        Before a value.
    """

    def __init__(self, kind: SchemaType) -> None:
        machine = value_machine(Value(kind.document, kind.pointer), VALUES, Limits(), _ALL)
        self._stacks, self._end = Stacks(machine), machine.end
        # Threads that read calls of one type share what is known of it.
        self._lock = new_lock(Rank.INDEX)
        self.start: Place = (machine.start, 0, *KEPT)

    def read(self, place: Place, byte: int, texts: list[bytes | None]) -> Place | None:
        """The place after a byte; None where none is."""
        with self._lock:
            return self._stacks.read(place, bytes([byte]), texts)

    def accepts(self, data: bytes) -> bool:
        """Is this a value?"""
        place: Place | None = self.start
        texts: list[bytes | None] = []
        for byte in data:
            place = None if place is None else self.read(place, byte, texts)
        return place is not None and self.may_end(place)

    def is_over(self, place: Place) -> bool:
        """Is a value complete that can not go on?"""
        return place[0] == self._end

    def may_end(self, place: Place) -> bool:
        """May a value end here?"""
        with self._lock:
            return self._stacks.is_end(place)


@lru_cache(maxsize=256)
def _scanner(kind: SchemaType) -> ValueScanner:
    return ValueScanner(kind)


def type_of_schema(document: Any, pointer: str, place: str, caps: Caps = Caps()) -> SchemaType:  # noqa: B008 - frozen
    """The type of a schema in a document.

    Parameters
    ----------
    document : dict or bool
    pointer : str
        JSON Pointer to the schema.
    place : str
        Where it stands, for errors: ``/tool/parameter``.
    caps : Caps
        Bounds for strings and numbers that have none of their own.

    Raises
    ------
    SchemaError
        It is malformed, cannot be enforced, or no value satisfies it.
    LimitError
        It nests too deep.
    """
    schema, inside = _at(document, pointer), ""
    check_levels(schema)
    if isinstance(schema, Mapping):
        schema = {key: value for key, value in schema.items() if key not in _FOR_PEOPLE}
        if pointer and isinstance(document.get("$schema"), str):
            schema = {"$schema": document["$schema"], **schema}
    try:
        text = text_of(schema)
        if any(map(text.__contains__, _REFERENCES)):
            check_levels(document)
            needed = _needed(schema, document) if pointer else None
            text, inside = (text_of(document), pointer) if needed is None else (text_of(needed), "")
    except SchemaError as error:
        raise SchemaError(error.reason, place, error.keyword) from error
    key = text, inside, caps
    found = _types.get(key)
    if found is None:
        document = value_of(text) if caps == Caps() else _capped(value_of(text), caps)
        _check(document, inside, place, pointer)
        found = _types.put(key, SchemaType(name_of(_at(document, inside)), document, inside))
    return found


def type_of_annotation(annotation: Any, name: str, place: str) -> SchemaType:
    """The type of what pydantic knows.

    Raises
    ------
    SchemaError
        It has no schema, or one that cannot be enforced.
    """
    try:
        reader = TypeReader(annotation)
        schema, unenforced = schema_of(reader.adapter, annotation)
    except SchemaError as error:
        raise SchemaError(error.reason, f"{place}{error.pointer}", error.keyword) from error
    if unenforced:
        pointer, keyword = unenforced[0]
        raise SchemaError("no keyword of JSON Schema says this, so it cannot be enforced", f"{place}{pointer}", keyword)
    document = value_of(text_of(schema))
    _check(document, "", place, "")
    return SchemaType(name, document, "", reader)


def members(spelling: str) -> list[tuple[str, int, int]]:
    """Name of each member of a JSON object, and where its value begins and ends."""
    decode = JSONDecoder(parse_int=str, parse_float=str).raw_decode
    found = []
    place = _after_blanks(spelling, 1)
    while spelling[place] == '"':
        name, place = decode(spelling, place)
        begin = _after_blanks(spelling, _after_blanks(spelling, place) + 1)
        _, end = decode(spelling, begin)
        found.append((name, begin, end))
        place = _after_blanks(spelling, end)
        if spelling[place] == ",":
            place = _after_blanks(spelling, place + 1)
    return found


def _after_blanks(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place


def _needed(schema: Any, document: Any) -> dict[str, Any] | None:
    """A schema of a document with those definitions beside it that it refers to; None where it refers to something else, too.

    Why: arguments of different tools that have one type then have one text.
    """
    needed: dict[str, dict[str, Any]] = {}
    work: list[Any] = [schema]
    while work:
        item = work.pop()
        if isinstance(item, list | tuple):
            work.extend(item)
        if not isinstance(item, Mapping):
            continue
        is_named = any(isinstance(item.get(keyword), str | bool) for keyword in _BY_NAME)
        if is_named or (item is schema and not item.keys().isdisjoint(_DEFINITIONS)):
            return None
        reference = item.get("$ref")
        if isinstance(reference, str):
            holder, _, name = reference.removeprefix("#/").partition("/")
            held = document.get(holder) if holder in _DEFINITIONS and reference.startswith("#/") else None
            if not name or not isinstance(held, Mapping) or name not in held or "%" in name or "~" in name:
                return None
            if name not in needed.setdefault(holder, {}):
                needed[holder][name] = held[name]
                work.append(held[name])
        work.extend(item.values())
    return {**schema, **{holder: dict(sorted(held.items())) for holder, held in needed.items()}}


def _check(document: Any, pointer: str, place: str, before: str) -> None:
    """Refuse a schema that cannot be enforced, or that no value satisfies."""
    formulas = Formulas()
    try:
        lowering = Lowering(document, VALUES, formulas, Limits(), pointer=pointer)
        lowering.check()
        alphabet = structure_of(VALUES, _ALL).alphabet
        if not Reading(Kinds(formulas, lowering, VALUES, Limits(), alphabet)).is_satisfiable(lowering.root):
            raise Unsatisfiable("no value satisfies all of this", pointer, "schema")
    except SchemaError as error:
        inside = error.pointer.removeprefix(before if pointer or not before else "")
        kind = Unsatisfiable if isinstance(error, Unsatisfiable) else SchemaError
        raise kind(error.reason, f"{place}{inside}", error.keyword) from error


def _at(document: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        document = document[token.replace("~1", "/").replace("~0", "~")]
    return document


def _capped(document: Any, caps: Caps) -> Any:
    """A copy of a schema in which strings and numbers without bounds have those of ``caps``."""
    copy: dict[str, Any] = {}
    work: list[tuple[Any, Any, Any]] = [(document, copy, "")]
    while work:
        item, holder, key = work.pop()
        if isinstance(item, Mapping):
            mine: Any = dict(item)
            kinds = mine.get("type")
            names = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, list | tuple) else ()
            if "enum" not in mine and "const" not in mine:
                _cap(mine, names, caps)
            inner = [(value, mine, name) for name, value in mine.items() if name not in ("enum", "const", "default")]
        elif isinstance(item, list | tuple):
            mine = list(item)
            inner = [(value, mine, place) for place, value in enumerate(mine)]
        else:
            continue
        holder[key] = mine
        work.extend(one for one in inner if isinstance(one[0], Mapping | list | tuple))
    return copy.get("", document)


def _cap(schema: dict[str, Any], names: tuple[Any, ...], caps: Caps) -> None:
    if "string" in names and caps.max_length is not None and not schema.keys() & {"maxLength", "pattern", "format"}:
        least = schema.get("minLength", 0)
        schema["maxLength"] = max(caps.max_length, least) if isinstance(least, int) else caps.max_length
    if caps.max_digits is not None and not {"integer", "number"}.isdisjoint(names):
        bound = 10**caps.max_digits - 1
        if not schema.keys() & {"minimum", "exclusiveMinimum"}:
            schema["minimum"] = -bound
        if not schema.keys() & {"maximum", "exclusiveMaximum"}:
            schema["maximum"] = bound
        if "number" in names and "multipleOf" not in schema:
            schema["multipleOf"] = Decimal(1).scaleb(-caps.max_digits)
