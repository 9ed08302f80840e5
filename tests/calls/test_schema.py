"""Regular JSON Schemas against jsonschema: what is accepted, what is refused and where."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.schema import type_of_schema
from guided.calls.types import Place
from guided.calls.values import ValueType, automaton_of
from guided.errors import PatternError, SchemaError
from tests.identifiers import shown


def lowered(schema: Any) -> ValueType:
    return type_of_schema(schema, Place("/tool/x"))


SCHEMAS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "pattern": "^[a-c]+$"},
    {"type": "string", "pattern": "b", "maxLength": 2},
    {"type": "string", "enum": ["a", "b", 3]},
    {"enum": ["a", 1, None, True, [1], {"a": 1}]},
    {"const": {"a": [1, 2]}},
    {"type": "integer"},
    {"type": "integer", "minimum": 0, "exclusiveMaximum": 3},
    {"type": "integer", "multipleOf": 5},
    {"type": "number"},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1.5},
    {"type": "boolean"},
    {"type": "null"},
    {"type": ["string", "null"], "maxLength": 1},
    {"type": ["integer", "boolean"]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array"},
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {}},
        "required": ["a"],
        "additionalProperties": False,
    },
    {"type": "object", "additionalProperties": {"type": "boolean"}},
    {"type": "object"},
    {"type": "object", "maxProperties": 1},
    {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}], "description": "either"},
    {"minLength": 2},
    {"minimum": 3},
    {},
    {"type": "integer", "minLength": 5},
    {"type": "integer", "enum": [1, 2, 30], "maximum": 9},
    {"type": "string", "title": "t", "default": 3, "examples": ["x"], "$comment": "c"},
]

scalars = (
    st.none() | st.booleans() | st.integers(-4, 40) | st.sampled_from([0.5, 1.25, -2.5]) | st.text("abc\n", max_size=3)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner), max_leaves=4
)


def is_deep(value: Any, depth: int = 0) -> bool:
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
    return depth > 3 or any(is_deep(item, depth + isinstance(value, list | dict)) for item in items)


def as_python(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema for a validator that searches with ``re``: ECMA-262's ``$`` is the very end, Python's also before a last line feed."""
    return {key: item.replace("$", r"\Z") if key == "pattern" else item for key, item in schema.items()}


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@given(value=values)
def test_values_of_a_schema_are_those_of_jsonschema(schema: dict[str, Any], value: Any) -> None:
    if isinstance(value, dict):
        # Properties come in the order of the schema.
        value = dict(sorted(value.items()))
    automaton = automaton_of(lowered(schema).node)
    spelling = json.dumps(value)
    expected = jsonschema.Draft202012Validator(as_python(schema)).is_valid(value) and not is_deep(value)
    assert automaton.accepts(spelling.encode()) == expected
    if expected:
        assert lowered(schema).read(spelling) == value


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "07:00:00Z", "07:00"),
        ("date-time", "2024-02-29T07:00:00+01:00", "2024-02-29T07:00:00"),
        ("uuid", "12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678"),
    ],
)
def test_formats_are_asserted_and_read_as_strings(name: str, valid: str, invalid: str) -> None:
    found = lowered({"type": "string", "format": name})
    assert automaton_of(found.node).accepts(json.dumps(valid).encode())
    assert not automaton_of(found.node).accepts(json.dumps(invalid).encode())
    assert found.read(json.dumps(valid)) == valid


def test_a_dollar_is_the_very_end_and_digits_are_ascii() -> None:
    automaton = automaton_of(lowered({"type": "string", "pattern": r"^\d$"}).node)
    assert automaton.accepts(b'"1"')
    assert not automaton.accepts(b'"1\\n"')
    assert not automaton.accepts('"١"'.encode())


def test_properties_come_in_their_order_and_no_others() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}}
    automaton = automaton_of(lowered(schema).node)
    for spelling in ["{}", '{"b": null}', '{"a": null}', '{"b": null, "a": null}']:
        assert automaton.accepts(spelling.encode()), spelling
    for spelling in ['{"a": null, "b": null}', '{"c": null}', '{"b": null, "b": null}']:
        assert not automaton.accepts(spelling.encode()), spelling


REFUSED: list[tuple[Any, str, str, str]] = [
    ({"type": "string", "contentEncoding": "base64"}, "no lowering", "/tool/x", "contentEncoding"),
    ({"$ref": "#/$defs/a"}, "no lowering", "/tool/x", "$ref"),
    ({"oneOf": [{}]}, "no lowering", "/tool/x", "oneOf"),
    ({"not": {}}, "no lowering", "/tool/x", "not"),
    (False, "a schema is an object", "/tool/x", "schema"),
    ("string", "a schema is an object", "/tool/x", "schema"),
    ({"type": "text"}, "unknown type 'text'", "/tool/x", "type"),
    ({"type": []}, "a list of names", "/tool/x", "type"),
    ({"type": 3}, "a list of names", "/tool/x", "type"),
    ({"enum": []}, "at least one", "/tool/x", "enum"),
    ({"enum": [{1, 2}]}, "no JSON value", "/tool/x", "enum"),
    ({"const": float("nan")}, "no JSON value", "/tool/x", "const"),
    ({"const": [[[[1]]]]}, "more than 3 deep", "/tool/x", "const"),
    ({"enum": ["a"], "type": "integer"}, "no value satisfies", "/tool/x", "enum"),
    ({"anyOf": []}, "at least one", "/tool/x", "anyOf"),
    ({"anyOf": [{}], "type": "string"}, "beside anyOf", "/tool/x", "type"),
    ({"anyOf": [{"type": "string"}, {"type": "odd"}]}, "unknown type", "/tool/x/anyOf/1", "type"),
    ({"type": "string", "format": "email"}, "format 'email'", "/tool/x", "format"),
    ({"type": "string", "format": 3}, "format 3", "/tool/x", "format"),
    ({"type": "string", "pattern": 3}, "a pattern is a string", "/tool/x", "pattern"),
    ({"type": "string", "minLength": -1}, "a length", "/tool/x", "minLength"),
    ({"type": "string", "minLength": 2, "maxLength": 1}, "no value satisfies", "/tool/x", "minLength, maxLength"),
    ({"type": "integer", "minimum": "0"}, "a number is expected", "/tool/x", "minimum"),
    ({"type": "integer", "exclusiveMinimum": True}, "a number is expected", "/tool/x", "exclusiveMinimum"),
    ({"type": "integer", "minimum": 3, "maximum": 1}, "no value satisfies", "/tool/x", "minimum, maximum"),
    ({"type": "integer", "multipleOf": 7}, "multiples of 7", "/tool/x", "multipleOf"),
    ({"type": "array", "uniqueItems": True}, "equal items", "/tool/x", "uniqueItems"),
    ({"type": "array", "minItems": 2, "maxItems": 1}, "no value satisfies", "/tool/x", "minItems, maxItems"),
    ({"type": "array", "prefixItems": [{}]}, "no lowering", "/tool/x", "prefixItems"),
    ({"type": "array", "items": {"type": "odd"}}, "unknown type", "/tool/x/items", "type"),
    ({"type": "object", "properties": {"a/b": {"type": "odd"}}}, "unknown type", "/tool/x/properties/a~1b", "type"),
    ({"type": "object", "properties": []}, "properties map names", "/tool/x", "properties"),
    ({"type": "object", "required": "a"}, "a list of names", "/tool/x", "required"),
    ({"type": "object", "required": ["a"]}, "'a' is required, but no property", "/tool/x", "required"),
    (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        "beside properties",
        "/tool/x",
        "additionalProperties",
    ),
    ({"type": "object", "properties": {"a": {}}, "maxProperties": 1}, "beside properties", "/tool/x", "maxProperties"),
    ({"type": "object", "minProperties": 2}, "a least count above 1", "/tool/x", "minProperties"),
    (
        {"type": "object", "minProperties": 1, "maxProperties": 0},
        "no value satisfies",
        "/tool/x",
        "minProperties, maxProperties",
    ),
]


@pytest.mark.parametrize(("schema", "reason", "pointer", "keyword"), REFUSED, ids=shown)
def test_what_is_not_regular_is_refused_with_its_place(schema: Any, reason: str, pointer: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        lowered(schema)
    assert reason in str(caught.value)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_arrays_and_objects_nest_to_a_fixed_depth() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(3):
        schema = {"type": "array", "items": schema}
    assert automaton_of(lowered(schema).node).accepts(b'[[["a"]]]')
    for outer in ({"type": "array", "items": schema}, {"type": "object", "properties": {"a": schema}}):
        with pytest.raises(SchemaError, match="nest more than 3 deep"):
            lowered(outer)


@pytest.mark.parametrize("keyword", ["anyOf", "const", "enum"])
def test_the_depth_of_a_schema_never_drives_recursion(keyword: str) -> None:
    schema: Any = {} if keyword == "anyOf" else []
    for _ in range(100_000):
        schema = {"anyOf": [schema]} if keyword == "anyOf" else [schema]
    with pytest.raises(SchemaError):
        lowered(schema if keyword == "anyOf" else {keyword: [schema]})


def test_a_malformed_pattern_is_refused_at_its_position() -> None:
    with pytest.raises(PatternError) as caught:
        lowered({"type": "string", "pattern": "a(b"})
    assert caught.value.position == 1
