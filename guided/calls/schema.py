"""Regular JSON Schemas -> value types: what the parameters of a tool given as a dict may be.

``type`` (one or several), ``enum``, ``const``, ``anyOf``, bounds and multiples, lengths, ``pattern``, the formats date, time,
date-time and uuid, ``items`` with counts, ``properties`` with ``required``, and ``additionalProperties`` of objects without
properties. All other keywords but annotations are refused with their place. Keywords for other types than the value's mean nothing, as the
standard has it.

Narrower than the standard: properties come in the order of the schema, undeclared ones only where no property is declared, arrays and
objects nest to a fixed depth, and numbers are spelled plainly (no ``1.0`` for an integer).
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from guided.calls import dates
from guided.calls.constraints import Constraints, bounded_float, bounded_int, constrained_text
from guided.calls.containers import MAX_NESTING, Field, anything, array, mapping, record, union
from guided.calls.scalars import boolean, choice, null
from guided.calls.searching import found_in
from guided.calls.types import Place
from guided.calls.values import ValueType, nesting
from guided.errors import SchemaError, shown
from guided.patterns.tree import Node

__all__ = ["object_fields", "type_of_schema"]

_ANNOTATIONS = {"$comment", "$id", "$schema", "default", "deprecated", "description", "example", "examples"}
_ANNOTATIONS |= {"readOnly", "title", "writeOnly"}
_NUMBER = {"minimum": "low", "maximum": "high", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
_KEYWORDS = {
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {*_NUMBER, "multipleOf"},
    "integer": {*_NUMBER, "multipleOf"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "object": {"properties", "required", "additionalProperties", "minProperties", "maxProperties"},
    "boolean": set[str](),
    "null": set[str](),
}
_GENERAL = {"type", "enum", "const", "anyOf"}
_KNOWN = _ANNOTATIONS.union(_GENERAL, *_KEYWORDS.values())
_FORMATS: dict[str, Callable[[], Node]] = {
    "date": dates.date,
    "time": lambda: dates.time(True),
    "date-time": lambda: dates.date_time(True),
    "uuid": dates.uuid,
}
# Every step into a schema makes the pointer longer; no schema of regular parameters is as deep.
_DEEPEST = 100


def type_of_schema(schema: Any, place: Place) -> ValueType:
    """The value type of a schema.

    Raises
    ------
    SchemaError
        A keyword is unknown or not regular, malformed, or no value satisfies the schema.
    PatternError
        A pattern is malformed, or asks for what no automaton can do.
    """
    if schema is True:
        return anything(max(MAX_NESTING - place.level, 0))
    if not isinstance(schema, Mapping):
        raise SchemaError(f"a schema is an object, not {shown(schema)}", place.pointer, "schema")
    if place.pointer.count("/") > _DEEPEST:
        raise SchemaError("schemas nest too deep", place.pointer, "schema")
    for keyword in schema:
        if keyword not in _KNOWN:
            raise SchemaError("this keyword has no lowering to a pattern", place.pointer, str(keyword))
    if "anyOf" in schema:
        return _any_of(schema, place)
    if "const" in schema or "enum" in schema:
        return _constants(schema, place)
    return _of_types(schema, place)


def object_fields(schema: Mapping[str, Any], place: Place) -> list[tuple[str, Any, bool]]:
    """Name, schema and whether it is required, of each property in order.

    Raises
    ------
    SchemaError
        ``properties`` or ``required`` is malformed, or a required property is not declared.
    """
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        raise SchemaError("properties map names to schemas", place.pointer, "properties")
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        raise SchemaError("required is a list of names", place.pointer, "required")
    for name in required:
        if name not in properties:
            raise SchemaError(f"{name!r} is required, but no property", place.pointer, "required")
    return [(name, inner, name in required) for name, inner in properties.items()]


def _any_of(schema: Mapping[str, Any], place: Place) -> ValueType:
    beside = next((keyword for keyword in schema if keyword != "anyOf" and keyword not in _ANNOTATIONS), None)
    if beside is not None:
        raise SchemaError("beside anyOf this has no lowering to a pattern", place.pointer, beside)
    options = schema["anyOf"]
    if not isinstance(options, list | tuple) or not options:
        raise SchemaError("anyOf is a list of schemas, at least one", place.pointer, "anyOf")
    found = [type_of_schema(option, _beside(place, f"anyOf/{i}")) for i, option in enumerate(options)]
    return found[0] if len(found) == 1 else union(tuple(dict.fromkeys(found)))


def _constants(schema: Mapping[str, Any], place: Place) -> ValueType:
    keyword = "const" if "const" in schema else "enum"
    values = [schema["const"]] if keyword == "const" else schema["enum"]
    if not isinstance(values, list | tuple) or not values:
        raise SchemaError("enum is a list of values, at least one", place.pointer, "enum")
    beside = {name: value for name, value in schema.items() if name != keyword}
    allowed = type_of_schema(beside, place) if not beside.keys() <= _ANNOTATIONS else None
    kept: list[str] = []
    for value in values:
        if nesting(value) + place.level > MAX_NESTING:
            raise SchemaError(f"arrays and objects nest more than {MAX_NESTING} deep", place.pointer, keyword)
        try:
            spelling = json.dumps(value, allow_nan=False)
            plain = json.loads(spelling)
        except (TypeError, ValueError) as error:
            raise SchemaError(f"{shown(value)} is no JSON value", place.pointer, keyword) from error
        if allowed is None or _is_valid(allowed, plain):
            kept.append(spelling)
    if not kept:
        raise SchemaError("no value satisfies all of this", place.pointer, keyword)
    return choice(tuple(dict.fromkeys(kept)))


def _is_valid(kind: ValueType, value: Any) -> bool:
    try:
        kind.decode(value)
    except ValueError:
        return False
    return True


def _of_types(schema: Mapping[str, Any], place: Place) -> ValueType:
    kinds = schema.get("type")
    if kinds is None:
        if schema.keys() <= _ANNOTATIONS:
            return anything(max(MAX_NESTING - place.level, 0))
        kinds = [kind for kind in _KEYWORDS if kind != "integer"]
    if isinstance(kinds, str):
        kinds = [kinds]
    if not isinstance(kinds, list | tuple) or not kinds:
        raise SchemaError("type is a name or a list of names", place.pointer, "type")
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _KEYWORDS:
            raise SchemaError(f"unknown type {shown(kind)}", place.pointer, "type")
    found = dict.fromkeys(_BUILDERS[kind](schema, place) for kind in kinds)
    return next(iter(found)) if len(found) == 1 else union(tuple(found))


def _number(schema: Mapping[str, Any], place: Place) -> Constraints:
    asked = Constraints()
    for keyword, side in _NUMBER.items():
        if keyword in schema:
            asked.bound(side, schema[keyword], place.pointer, keyword)
    if "multipleOf" in schema:
        asked.multiple(schema["multipleOf"], place.pointer, "multipleOf")
    return asked


def _string(schema: Mapping[str, Any], place: Place) -> ValueType:
    asked = _lengths(schema, place, "Length")
    if "pattern" in schema:
        if not isinstance(schema["pattern"], str):
            raise SchemaError("a pattern is a string", place.pointer, "pattern")
        asked.pattern(found_in(schema["pattern"], re.ASCII), "pattern")
    if "format" in schema:
        node = _FORMATS.get(schema["format"]) if isinstance(schema["format"], str) else None
        if node is None:
            raise SchemaError(
                f"format {shown(schema['format'])} is none of {', '.join(_FORMATS)}", place.pointer, "format"
            )
        asked.pattern(node(), "format")
    return constrained_text(asked, place.caps, place.pointer)


def _array(schema: Mapping[str, Any], place: Place) -> ValueType:
    asked = _lengths(schema, place, "Items")
    _room(place)
    if schema.get("uniqueItems", False) is not False:
        raise SchemaError("an automaton cannot tell equal items apart", place.pointer, "uniqueItems")
    least, most = asked.min_length, asked.max_length
    if most is not None and least > most:
        raise SchemaError("no value satisfies all of this", place.pointer, "minItems, maxItems")
    item = type_of_schema(schema.get("items", True), place.inside("items"))
    return array(item, least, most, list, f"list[{item.name}]")


def _object(schema: Mapping[str, Any], place: Place) -> ValueType:
    asked = _lengths(schema, place, "Properties")
    _room(place)
    fields = object_fields(schema, place)
    additional = schema.get("additionalProperties")
    if not fields and additional is not False:
        if asked.min_length > 1:
            reason = "equal keys are one, and an automaton cannot tell them apart: a least count above 1"
            raise SchemaError(reason, place.pointer, "minProperties")
        if asked.max_length is not None and asked.min_length > asked.max_length:
            raise SchemaError("no value satisfies all of this", place.pointer, "minProperties, maxProperties")
        value = type_of_schema(True if additional is None else additional, place.inside("additionalProperties"))
        return mapping(
            constrained_text(Constraints(), place.caps, place.pointer), value, asked.min_length, asked.max_length
        )
    if additional not in (None, False):
        raise SchemaError("beside properties this has no lowering to a pattern", place.pointer, "additionalProperties")
    if asked.keywords:
        raise SchemaError(
            "beside properties this has no lowering to a pattern", place.pointer, next(iter(asked.keywords))
        )
    kept = [
        Field(name, type_of_schema(inner, place.inside(f"properties/{_escaped(name)}")), required)
        for name, inner, required in fields
    ]
    return record(tuple(kept), dict, "object")


def _lengths(schema: Mapping[str, Any], place: Place, what: str) -> Constraints:
    asked = Constraints()
    for side in ("min", "max"):
        keyword = f"{side}{what}"
        if keyword in schema:
            asked.length(side, schema[keyword], place.pointer, keyword)
    return asked


def _room(place: Place) -> None:
    if place.level >= MAX_NESTING:
        raise SchemaError(f"arrays and objects nest more than {MAX_NESTING} deep", place.pointer, "type")


def _beside(place: Place, name: str) -> Place:
    return Place(f"{place.pointer}/{name}", place.caps, place.level)


def _escaped(name: str) -> str:
    """A name in a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


_BUILDERS: dict[str, Callable[[Mapping[str, Any], Place], ValueType]] = {
    "string": _string,
    "number": lambda schema, place: bounded_float(_number(schema, place), place.caps, place.pointer),
    "integer": lambda schema, place: bounded_int(_number(schema, place), place.caps, place.pointer),
    "array": _array,
    "object": _object,
    "boolean": lambda _schema, _place: boolean(),
    "null": lambda _schema, _place: null(),
}
