"""`SchemaType`: the type of an argument by JSON Schema, with a reader from spellings to Python values.

`guided.schema` lowers schemas and reports unsupported ones; this module only wraps it. `VALUES` defines the language of values in calls: at
most one space where JSON allows whitespace, and every spelling that `json.dumps` produces.

Schemas that differ only in annotations such as descriptions are one type, so that calls share its automaton.
"""

import re
import types
import typing
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from marshal import dumps
from threading import RLock
from typing import Any, NamedTuple

from guided.automata.pushdown import GUARD, KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.caching import cached_property
from guided.calls.schema_names import name_of
from guided.errors import SchemaError, within
from guided.export.characters import operand_of as spelled
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.patterns.tree import Complement, Intersect, Literal, Node, alternate, concat
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import NO_CAPS, Arguments, Caps, JsonOptions, Notation
from guided.schema.formula.formulas import Formulas
from guided.schema.formula.memo import Memo
from guided.schema.formula.queries import ValueQuery
from guided.schema.frontend.json_values import check_levels, members_of, parse_json, text_of, value_of
from guided.schema.frontend.location import pointer_of, pointer_to
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.readable import fields_dict
from guided.schema.frontend.reader import TypeReader
from guided.schema.frontend.typed import schema_of
from guided.schema.pushdown.arguments import begins_arguments
from guided.schema.pushdown.embedding import containers_of, has_value, value_machine
from guided.schema.pushdown.frames import Value
from guided.schema.pushdown.machine import SchemaMachine
from guided.schema.pushdown.structure import structure_of
from guided.schema.report.contradictions import contradiction
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.combination import language
from guided.schema.strings.notation import as_python, in_json, operand_of
from guided.schema.values.context import SchemaContext

__all__ = [
    "PYTHON",
    "VALUES",
    "Document",
    "SchemaType",
    "Unsatisfiable",
    "ValueScanner",
    "arguments_of",
    "in_notation",
    "list_of",
    "options_in",
    "type_of_annotation",
    "type_of_schema",
]

VALUES = JsonOptions(whitespace=" ?", numbers="dumps", escapes="dumps")
_ALL = bytes([1] * 256)
_FOR_PEOPLE = frozenset({
    "$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly",
})  # fmt: skip
_NESTED = frozenset(b"[{")
# Python reads an escaped surrogate pair as two characters, so there are none.
PYTHON = replace(VALUES, escapes="canonical", words="python")
_OF_PYTHON = b"-0123456789\"'[{TFN"
_UNQUOTED = b"-0123456789[{tfn"
_BEGINS = b'-0123456789"[{tfn'
_DEFINITIONS = frozenset({"$defs", "definitions"})
# Keywords that name schemas or refer to them by name: their meaning depends on the schemas around them.
_BY_NAME = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"})
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
_LIMITS = Limits()
# Bytes in the key of a small schema; the format of `marshal` without references to equal parts; a text in it that begins with $, as the
# keywords do that refer to other schemas.
_LONGEST_KEY = 4096
_PLAIN_FORMAT = 2
_DOLLAR = re.compile(rb"u...\0\$", re.DOTALL)
_types: Memo["SchemaType"] = Memo(1 << 16)
_documents: Memo[tuple[Any, dict[str, "SchemaType"]]] = Memo()


class Unsatisfiable(SchemaError):
    """No value satisfies a type. Optional parameters of such a type are left out; elsewhere this error is raised."""


@lru_cache(maxsize=64)
def options_in(notation: Notation | None, caps: Caps = NO_CAPS) -> JsonOptions:
    """Return the options of values in calls of a format; without blanks if strings have quotes of their own at any depth."""
    if notation is None or not notation.opening:
        return replace(VALUES, caps=caps)
    return replace(VALUES, whitespace="compact", notation=notation, caps=caps)


@dataclass(frozen=True, slots=True, eq=False)
class SchemaType:
    """The type of an argument, given by a schema.

    Attributes
    ----------
    name : str
        For display.
    document : dict or bool
    pointer : str
        JSON Pointer to the schema in the document.
    reader : TypeReader or None
        Reads values of a Python type; None: plain JSON.
    notation : Notation or None
        How values are written, if not as JSON.
    plain : SchemaType or None
        The type with values as JSON, if they are written otherwise.
    is_python : bool
        Whether values are written as Python literals.
    arguments : Arguments or None
        How the members are written, if values are objects whose members are written as arguments.
    any_order : bool
        Whether the members of values, which are objects, may come in any order.
    caps : Caps
        Bounds for values that have none of their own.
    """

    name: str
    document: Any = field(repr=False)
    pointer: str = ""
    reader: TypeReader | None = None
    notation: Notation | None = None
    plain: "SchemaType | None" = field(default=None, repr=False)
    is_python: bool = False
    arguments: Arguments | None = None
    any_order: bool = False
    caps: Caps = NO_CAPS

    @property
    def closing(self) -> str:
        """The text that follows every value and belongs to its spelling; empty if there is none."""
        notation = self.notation
        return "" if notation is None or notation.opening or notation.part == "others" else notation.closing

    @property
    def options(self) -> JsonOptions:
        """The options of values."""
        return replace(PYTHON, caps=self.caps) if self.is_python else options_in(self.notation, self.caps)

    @property
    def value(self) -> Value:
        """What an embedding reads."""
        if self.arguments is not None:
            begins = begins_arguments(self.arguments)
            return Value(self.document, self.pointer, begins, arguments=self.arguments, any_order=self.any_order)
        if self.is_python:
            return Value(self.document, self.pointer, _OF_PYTHON)
        if self.notation is None or not self.notation.opening:
            return Value(self.document, self.pointer, b"", self.notation, any_order=self.any_order)
        return Value(self.document, self.pointer, _UNQUOTED + self.notation.opening.encode()[:1])

    def read(self, spelling: str) -> Any:
        """Decode a spelling to a Python value.

        Raises
        ------
        SchemaError
            The Python type rejects the value.
        LimitError
            An integer has more than ``digits`` digits.
        """
        return self._read(self.in_json(spelling))

    def _read(self, written: str) -> Any:
        return parse_json(written) if self.reader is None else self.reader.read(written)

    def in_json(self, spelling: str) -> str:
        """Return a spelling, without the closing text, as JSON."""
        if self.arguments is not None:
            return _object_of(self._members(spelling))
        if not self.closing:
            return in_json(spelling.encode(), self.options).decode()
        assert self.notation is not None
        assert self.plain is not None
        is_string = self.notation.part == "strings" or spelling.startswith('"')
        return spelling if not is_string and self.plain.scanner().accepts(spelling.encode()) else text_of(spelling)

    def _members(self, spelling: str) -> list[tuple[str, str, int, int]]:
        return self.scanner().members(spelling.encode())

    def read_object(self, spelling: str) -> tuple[Any, list[tuple[str, int, int]]]:
        """Decode a value that is an object; return it, and the name of each member and the span of the member's value in bytes.

        Raises as `read`.
        """
        if self.arguments is not None:
            members = self._members(spelling)
            return self._read(_object_of(members)), [(name, begin, end) for name, _, begin, end in members]
        value, spans, last, before = self.read(spelling), list[tuple[str, int, int]](), 0, 0
        for name, begin, end in members_of(spelling):
            # Only what is new is encoded: all that is before each member would be quadratic.
            first = last + len(spelling[before:begin].encode())
            last = first + len(spelling[begin:end].encode())
            spans.append((name, first, last))
            before = end
        return value, spans

    def texts(self, place: str) -> Node:
        """Return the pattern of all spellings in the notation, or of Python literals; ``place``: for errors.

        Raises
        ------
        SchemaError
            Values may be arrays or objects.
        """
        notation = self.notation
        assert self.plain is not None
        if (notation is None or notation.part != "strings") and not _NESTED.isdisjoint(self.plain.begins):
            reason = "the engine 'lalr' reads no array or object in this format, which writes strings in another way than JSON"
            raise SchemaError(reason, place, "type")
        formulas, options = Formulas(), options_in(None, self.caps)
        lowering = Lowering(self.document, options, formulas, _LIMITS, pointer=self.pointer)
        alphabet = structure_of(options, _ALL).alphabet
        context = SchemaContext(formulas, lowering, options, _LIMITS, alphabet, self.notation)
        if notation is not None and not notation.opening:
            found = language(formulas, context.text_formulas((lowering.root,), ""), _LIMITS)
            return concat([operand_of(found), Literal(notation.closing)])
        wanted = (context.typed(lowering.root, "string"),)
        others = operand_of(language(formulas, (context.others_formula(lowering.root),), _LIMITS))
        if notation is not None:
            strings = operand_of(language(formulas, wanted, _LIMITS))
            return alternate([concat([Literal(notation.opening), strings, Literal(notation.closing)]), others])
        words = {word: as_python(word) for word in self.plain.words}
        quoted = list[Node]()
        for one in (options, replace(options, quote="'")):
            bodies = spelled(string_automaton(formulas, wanted, one, _LIMITS).automaton)
            quoted.append(concat([Literal(one.quote), bodies, Literal(one.quote)]))
        numbers = Intersect((others, Complement(alternate(map(Literal, words)))))
        return alternate([*quoted, numbers, *map(Literal, words.values())])

    @property
    def has_arguments(self) -> bool:
        """Whether any object can be written as arguments."""
        return has_value(self.value, self.options, Limits(), _ALL)

    def scanner(self) -> "ValueScanner":
        """Return the recognizer of the type's spellings."""
        return _scanner(self)

    @property
    def begins(self) -> bytes:
        """Bytes that values may begin with."""
        scanner = self.scanner()
        return bytes(
            byte
            for byte in (_OF_PYTHON if self.is_python else _BEGINS)
            if scanner.read(scanner.start, byte, []) is not None
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words among ``true``, ``false`` and ``null`` that are values."""
        return tuple(word for word in ("true", "false", "null") if self.scanner().accepts(word.encode()))

    def __repr__(self) -> str:
        return f"<SchemaType {self.name}>"


class ValueScanner:
    """Recognizes the values of a type, byte by byte.

    Attributes
    ----------
    start : Configuration
        The place before a value.
    is_empty : bool
        Whether the type has no values.
    """

    def __init__(self, kind: SchemaType) -> None:
        self._kind = kind
        self._machine, self._stacks, self._lock = _recognizer_of(kind)
        self._end = self._machine.end
        with self._lock:
            self._machine.tables.steps.begin()
            start = self._machine.start_at(kind.pointer)
        self.is_empty = start == self._end
        self.start: Configuration = (start, 0, *KEPT)

    def read(self, place: Configuration, byte: int, texts: list[bytes | None]) -> Configuration | None:
        """Return the place after a byte; None if the byte is rejected."""
        with self._lock:
            return self._stacks.read(place, bytes([byte]), texts)

    def members(self, data: bytes) -> list[tuple[str, str, int, int]]:
        """Return the members of an object whose members are written as arguments: names, values as JSON, and their spans in bytes.

        The controls tell where a name and a value begin and end. A number ends before the byte that has been read behind it.
        """
        arguments, tables = self._machine.arguments, self._stacks.automaton.tables
        assert arguments is not None
        if arguments.elements is not None:
            members = arguments.elements.members(data, self._controls(data))
            return [(name, _spelled(value), begin, end) for name, value, begin, end in members]
        found: list[tuple[str, str, int, int]] = []
        place: Configuration | None = self.start
        texts: list[bytes | None] = []
        name, begin, query = b"", -1, None
        for at, byte in enumerate(data):
            place = None if place is None else self.read(place, byte, texts)
            assert place is not None, "the spelling is one of the type"
            control = place[0]
            if query is None:
                if tables.info.item(control, GUARD) >= 0:
                    begin = at if begin < 0 else begin
                elif begin >= 0 and not name:
                    name = data[begin:at]
                if control in arguments.values:
                    query, begin = arguments.values[control], at + 1
            elif control == self._end or arguments.is_before_name(control):
                end = at + 1 if control == arguments.following else at
                found.append((name.decode(), self._argument_in_json(data[begin:end].decode(), *query), begin, end))
                name, begin, query = b"", -1, None
        return found

    def _controls(self, data: bytes) -> list[int]:
        """Return the control before each byte of a spelling."""
        place, texts, found = self.start, list[bytes | None](), list[int]()
        for byte in data:
            found.append(place[0])
            after = self.read(place, byte, texts)
            assert after is not None, "the spelling is one of the type"
            place = after
        return found

    def _argument_in_json(self, text: str, query: ValueQuery, kind: str) -> str:
        assert self._kind.arguments is not None
        notation = self._kind.arguments.notation
        if notation is not None:
            text = text.removesuffix(notation.closing)
        if kind == "string" or (kind == "text" and self._machine.value_starts.is_string(query, text)):
            return text_of(text)
        return in_json(text.encode(), self._kind.options).decode()

    def accepts(self, data: bytes) -> bool:
        """Return whether the bytes are a value."""
        place: Configuration | None = self.start
        texts: list[bytes | None] = []
        for byte in data:
            place = None if place is None else self.read(place, byte, texts)
        return place is not None and self.may_end(place)

    def is_over(self, place: Configuration) -> bool:
        """Return whether a value is complete and cannot be continued."""
        return place[0] == self._end

    def may_end(self, place: Configuration) -> bool:
        """Return whether a value may end here."""
        with self._lock:
            return self._stacks.is_end(place)


def _spelled(value: Any) -> str:
    """Return a value of JSON, with exact numbers, as JSON."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{text_of(name)}:{_spelled(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_spelled, value))}]"
    return str(value) if isinstance(value, Decimal) else text_of(value)


@lru_cache(maxsize=256)
def _scanner(kind: SchemaType) -> ValueScanner:
    return ValueScanner(kind)


class _Recognizer(NamedTuple):
    """What the scanners of one document share, with the lock of the threads that parse calls."""

    machine: SchemaMachine
    stacks: Stacks
    lock: RLock


_recognizers: Memo[_Recognizer] = Memo(256)


def _recognizer_of(kind: SchemaType) -> _Recognizer:
    # The machine holds the document, so that no other one has its number.
    key = id(kind.document), kind.notation, kind.arguments, kind.is_python, kind.any_order, kind.caps
    found = _recognizers.get(key)
    if found is None:
        machine = value_machine(kind.value, kind.options, Limits(), _ALL)
        found = _recognizers.put(key, _Recognizer(machine, Stacks(machine), new_lock(Rank.INDEX)))
    return found


class Document:
    """The schema of a tool's arguments, whose properties are types.

    Those that refer to others are schemas of one document, so that calls read them by one machine.

    Parameters
    ----------
    content : Mapping
    place : str
        Place of the tool, for errors.
    caps : Caps
        Bounds for strings and numbers that have none of their own.
    """

    def __init__(self, content: Mapping[str, Any], place: str, caps: Caps) -> None:
        self._content, self._place, self._caps = content, place, caps

    def known(self, schema: Any) -> SchemaType | None:
        """Return the type of a small schema of a property if it has been made before, else None."""
        key = _key_of(schema, self._caps)
        return None if key is None or "$schema" in self._content else _types.get(key)

    def type_of(self, name: str) -> SchemaType:
        """Return the type of a property.

        Raises
        ------
        SchemaError, LimitError
            As `type_of_schema`.
        """
        content, place = self._content, self._place + pointer_to(name)
        schema = content["properties"][name]
        if isinstance(schema, Mapping) and isinstance(content.get("$schema"), str):
            schema = {"$schema": content["$schema"], **schema}
        if not _refers(_text_of(schema, place)):
            return type_of_schema(schema, place, self._caps)
        pointer = pointer_of(((), "properties", name))
        with within(place, self._place):
            types, checks = self._shared
            if pointer not in types:
                types[pointer] = checks.type_at(pointer)
        return types[pointer]

    @cached_property
    def _shared(self) -> tuple[dict[str, SchemaType], "_Checks"]:
        """The known types of the document of the properties that refer to others, by their pointers, and its checks."""
        content = self._content
        check_levels(content)
        schemas = {
            name: _without_annotations(schema)
            for name, schema in content["properties"].items()
            if _refers(text_of(schema))
        }
        needed = _needed(schemas, content)
        if needed is not None and "$schema" in content:
            needed = {"$schema": content["$schema"], **needed}
        key = text_of(content if needed is None else needed), self._caps
        document, types = _documents.get(key) or _documents.put(key, (value_of(key[0]), {}))
        return types, _Checks(document, self._caps)


def type_of_schema(schema: Any, place: str, caps: Caps = NO_CAPS) -> SchemaType:
    """Return the type of a schema.

    Parameters
    ----------
    schema : dict or bool
    place : str
        Place of the schema, for errors: ``/tool/parameter``.
    caps : Caps
        Bounds for strings and numbers that have none of their own.

    Raises
    ------
    SchemaError
        The schema is malformed, cannot be enforced, or no value satisfies it.
    LimitError
        The schema exceeds the nesting limit.
    """
    short_key = _key_of(schema, caps)
    if short_key is not None and (known := _types.get(short_key)) is not None:
        return known
    text = _text_of(schema, place)
    key = short_key or (text, caps)
    found = _types.get(key)
    if found is None:
        with within(place):
            found = _types.put(key, _Checks(value_of(text), caps).type_at(""))
    return found


def _text_of(schema: Any, place: str) -> str:
    """Return the text of a schema without annotations."""
    try:
        check_levels(schema)
        return text_of(_without_annotations(schema))
    except SchemaError as error:
        raise SchemaError(error.reason, place, error.keyword) from error


def _without_annotations(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    return {key: value for key, value in schema.items() if key not in _FOR_PEOPLE}


def _refers(text: str) -> bool:
    """Return whether a schema may refer to others."""
    return any(map(text.__contains__, _REFERENCES))


def _key_of(schema: Any, caps: Caps) -> Hashable:
    """Return a key of a small schema that refers to nothing outside itself; None for other schemas. O(key).

    Schemas with equal keys have the same text: `marshal` writes the type and length of each part.

    PERF: finding the type of an argument by its text takes five times as long, and many tools have many arguments of few types.
    """
    if type(schema) is not dict:
        return None
    try:
        data = dumps({name: value for name, value in schema.items() if name not in _FOR_PEOPLE}, _PLAIN_FORMAT)
    except ValueError:
        return None
    return None if len(data) > _LONGEST_KEY or _DOLLAR.search(data) else (data, caps)


def type_of_annotation(annotation: Any, place: str, caps: Caps = NO_CAPS) -> SchemaType:
    """Return the type of an annotation that pydantic supports.

    ``caps``: bounds for strings and numbers that have none of their own.

    Raises
    ------
    SchemaError
        There is no schema for it, or the schema cannot be enforced.
    PatternError
        A pattern in it is malformed.
    """
    try:
        # Why the text: unions with another order of members are equal.
        text = repr(annotation)
        hash(annotation)
    except Exception:  # Why: classes of metadata may have any __hash__ and __repr__
        make: Callable[..., SchemaType] = _of_annotation.__wrapped__
        text = ""
    else:
        make = _of_annotation
    with within(place):
        return make(annotation, text, caps)


@lru_cache(maxsize=4096)
def _of_annotation(annotation: Any, _text: str, caps: Caps) -> SchemaType:
    reader = TypeReader(annotation)
    schema, unenforced = schema_of(reader.adapter, annotation)
    if unenforced:
        reason = "JSON Schema has no keyword for this constraint, so it cannot be enforced"
        raise SchemaError(reason, *unenforced[0])
    found = _Checks(value_of(text_of(schema)), caps).type_at("")
    # Dates and others are strings with a pattern.
    is_class = found.name == "str" and isinstance(annotation, type)
    return replace(found, name=annotation.__name__ if is_class else found.name, reader=reader)


def arguments_of(
    kinds: Mapping[str, SchemaType],
    required: Collection[str],
    place: str,
    caps: Caps,
    others: SchemaType | None = None,
    taken: Collection[str] = (),
) -> SchemaType:
    """Return the type of the objects whose members are an annotation's values, by name.

    ``others``: the type of members with other names, if there may be any; ``taken``: names that they do not have.

    Raises
    ------
    SchemaError, PatternError
        As `type_of_annotation`.
    """
    given = {name: _given(kind) for name, kind in kinds.items()}
    fields = {name: kind if name in required else typing.NotRequired[kind] for name, kind in given.items()}
    of_others = typing.Never if others is None else _given(others)
    return type_of_annotation(fields_dict("arguments", fields, of_others, taken), place, caps)


def _given(kind: SchemaType) -> Any:
    assert kind.reader is not None, "Python's parameters have readers"
    return kind.reader.given


@lru_cache(maxsize=1 << 13)
def in_notation(kind: SchemaType, notation: Notation | None = None, *, is_python: bool = False) -> SchemaType:
    """Return a type with values in a notation, or as Python literals."""
    return replace(kind, plain=kind, notation=notation, is_python=is_python)


@lru_cache(maxsize=4096)
def list_of(kind: SchemaType) -> SchemaType:
    """Return the type of the lists of an annotation's values."""
    assert kind.reader is not None, "only Python's parameters are variadic"
    items = dict(kind.document) if isinstance(kind.document, Mapping) else kind.document
    definitions = {"$defs": items.pop("$defs")} if isinstance(items, dict) and "$defs" in items else {}
    document = {"type": "array", "items": items, **definitions}
    reader = TypeReader(types.GenericAlias(list, (kind.reader.given,)))
    return SchemaType(f"list[{kind.name}]", document, "", reader, caps=kind.caps)


def _object_of(members: list[tuple[str, str, int, int]]) -> str:
    """Return the JSON of an object of some members (`ValueScanner.members`)."""
    return f"{{{','.join(f'{text_of(name)}:{value}' for name, value, *_ in members)}}}"


def _needed(schemas: Mapping[str, Any], document: Any) -> dict[str, Any] | None:
    """Combine schemas of properties with the definitions that they refer to; None if they have other references.

    Why: arguments of different tools with the same types then have the same text.
    """
    needed: dict[str, dict[str, Any]] = {}
    work: list[Any] = list(schemas.values())
    while work:
        item = work.pop()
        if isinstance(item, list | tuple):
            work.extend(item)
        if not isinstance(item, Mapping):
            continue
        if any(isinstance(item.get(keyword), str | bool) for keyword in _BY_NAME):
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
    return {"properties": schemas, **{holder: dict(sorted(held.items())) for holder, held in needed.items()}}


class _Checks:
    """Checks of a document, whose parts are types: that it can be enforced, and that some value satisfies a part."""

    def __init__(self, document: Any, caps: Caps) -> None:
        self._document, self._caps, self._options = document, caps, options_in(None, caps)

    def type_at(self, pointer: str) -> SchemaType:
        """Return the type of a part.

        Raises
        ------
        SchemaError
            The document is malformed or cannot be enforced, or no value satisfies the part.
        LimitError
            It exceeds a limit.
        """
        document, context = self._document, self._containers.context
        if not self._containers.satisfiability.is_satisfiable(context.lowering.at(pointer)):
            where = contradiction(document, self._options, _LIMITS, pointer=pointer)
            raise Unsatisfiable("no value satisfies all of these constraints", *where)
        part = document
        for token in pointer.split("/")[1:]:
            part = part[token.replace("~1", "/").replace("~0", "~")]
        return SchemaType(name_of(part), document, pointer, caps=self._caps)

    @cached_property
    def _containers(self) -> Containers:
        return containers_of(Value(self._document), self._options, _LIMITS, _ALL)
