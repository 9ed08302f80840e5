"""``max_length``, ``max_digits``, ``max_items``, ``max_properties``: bounds for values without any.

Oracle: a transformed schema and a published validator.
"""

import json
from dataclasses import asdict
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import guided
from guided.engine.index import Index
from guided.schema.formula.atoms import Caps
from tests.schema.engine import compiled
from tests.schema.lowered import holds, lowered
from tests.schema.test_closed_objects import LISTS, MAPS, ONE

BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)
CAPS = Caps(max_length=2, max_digits=1, max_items=2, max_properties=1)


def bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """The bounds of the values that a schema describes itself."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    found: dict[str, Any] = {}
    if "enum" in schema or "const" in schema:
        return found
    if "string" in kinds and not schema.keys() & {"maxLength", "pattern", "format"}:
        found["maxLength"] = max(2, schema.get("minLength", 0))
    if "array" in kinds and "maxItems" not in schema:
        least = schema.get("minItems", 0), len(schema.get("prefixItems", [])), "contains" in schema
        found["maxItems"] = max(2, *least)
    if "object" in kinds and "maxProperties" not in schema and schema.get("additionalProperties") is not False:
        names = {name for name, one in schema.get("properties", {}).items() if one is not False}
        found["maxProperties"] = max(1, len(names | {*schema.get("required", [])}), schema.get("minProperties", 0))
    if {"integer", "number"} & {*kinds}:
        found |= {"minimum": -9} if "minimum" not in schema else {}
        found |= {"maximum": 9} if "maximum" not in schema and schema.get("minimum", 0) <= 9 else {}
        found |= {"multipleOf": 0.1} if "number" in kinds and "multipleOf" not in schema else {}
    return found


def capped(schema: Any) -> Any:
    """The schema in which the caps are written out."""
    if isinstance(schema, bool):
        return schema
    found = dict(schema)
    for keyword, value in schema.items():
        if keyword in (*MAPS, "dependentSchemas"):
            found[keyword] = {name: capped(one) for name, one in value.items()}
        elif keyword in (*ONE, "then", "else"):
            found[keyword] = capped(value)
        elif keyword in (*LISTS, "allOf", "anyOf"):
            found[keyword] = [capped(one) for one in value]
        elif keyword == "$ref":
            found[keyword] = f"{value}!"
    more = [bounded(schema)]
    if "oneOf" in schema:
        more.append({"anyOf": [capped(one) for one in schema["oneOf"]]})
    found["allOf"] = [*found.get("allOf", []), *more]
    return found


def written_out(schema: dict[str, Any]) -> dict[str, Any]:
    """The whole schema, with its definitions as they are, and once more with the caps written out."""
    definitions = schema["$defs"]
    more = {f"{name}!": capped(one) for name, one in definitions.items()}
    return {**capped(schema), "$defs": {**definitions, **more}}


LEAVES = st.sampled_from([
    True, {}, {"type": "string"}, {"type": "string", "minLength": 3}, {"type": "string", "maxLength": 3},
    {"type": "string", "pattern": "c"}, {"minLength": 3}, {"type": ["string", "integer"]}, {"type": "integer"}, {"type": "number"},
    {"type": "number", "minimum": 50}, {"type": "integer", "maximum": 200}, {"type": "number", "multipleOf": 0.25}, {"type": "array"},
    {"type": "array", "minItems": 3}, {"type": "string", "enum": ["abcd"]}, {"const": "abcd"},
    {"type": "array", "contains": {"type": "string"}, "maxItems": 3}, {"type": "object"}, {"type": "object", "required": ["a", "b"]},
    {"type": "object", "minProperties": 2}, {"type": ["object", "array"], "maxProperties": 3}, {"type": "object", "minProperties": 1},
])  # fmt: skip


def extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=2)
    table = st.dictionaries(st.sampled_from("ab"), inner, min_size=1, max_size=2)
    references = st.sampled_from(["#/$defs/p", "#/$defs/q"])
    return st.one_of(
        st.fixed_dictionaries(
            {"properties": table}, optional={"additionalProperties": inner | st.just(False), "type": st.just("object")}
        ),
        st.fixed_dictionaries(
            {}, optional={"allOf": some, "anyOf": some, "oneOf": some, "not": inner, "$ref": references}
        ),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries({"dependentSchemas": table, "unevaluatedProperties": inner}),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"prefixItems": some, "contains": inner}
        ),
    )


SCHEMAS = st.recursive(LEAVES, extended, max_leaves=6)
WHOLE = st.builds(
    lambda top, p, q: {**top, "$defs": {"p": p, "q": q}},
    extended(SCHEMAS),
    LEAVES,
    SCHEMAS.map(lambda one: {"properties": {"a": one}}),
)
VALUES = st.recursive(
    st.sampled_from([1, 9, 10, -10, 0.5, 0.25, 60, 150, "", "ab", "abc", "abcd", None]),
    lambda inner: st.one_of(st.dictionaries(st.sampled_from("abc"), inner, max_size=3), st.lists(inner, max_size=4)),
    max_leaves=5,
)


@given(WHOLE, st.lists(VALUES, min_size=1, max_size=8))
def test_caps_are_bounds_where_a_schema_describes_values_and_has_none(
    schema: dict[str, Any], values: list[Any]
) -> None:
    lowering = lowered(schema, caps=CAPS)
    oracle, plain = (jsonschema.Draft202012Validator(one) for one in (written_out(schema), schema))
    for value in values:
        verdict = holds(lowering, value)
        assert verdict == oracle.is_valid(value)
        assert not verdict or plain.is_valid(value)


@given(WHOLE, st.lists(VALUES, min_size=1, max_size=4))
def test_the_engine_accepts_the_texts_of_capped_values(schema: dict[str, Any], values: list[Any]) -> None:
    lowering = lowered(schema, caps=CAPS)
    try:
        index: Index | None = compiled(schema, **asdict(CAPS))
    except guided.SchemaError:
        index = None
    for value in values:
        assert (index is not None and index.accepts(json.dumps(value).encode())) == holds(lowering, value)


@pytest.mark.parametrize(
    "schema", [{"not": {"type": "string"}}, {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 4}]}]
)
def test_caps_never_make_an_invalid_value_valid(schema: dict[str, Any]) -> None:
    """In the arguments of tools as in JSON."""
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"x": schema}, "required": ["x"]}}
    tools = guided.compile(guided.Tools([definition], tool_choice="required", max_length=2), BYTES)
    assert not tools.accepts('{"name": "f", "arguments": {"x": "abcd"}}')
    assert not guided.compile(guided.JsonSchema(schema, max_length=2), BYTES).accepts('"abcd"')


@pytest.mark.parametrize("numbers", ["plain", "dumps", "any"])
def test_no_digits_come_without_end(numbers: Any) -> None:
    """Also not zeros, which do not change the value."""
    spec = guided.JsonSchema({"type": ["number"]}, max_digits=2, numbers=numbers)
    index = guided.compile(spec, BYTES)
    assert index.accepts("-98.70")
    for text in ("0.000", "1.500", "0.0000e1", "1e-001", "0e1", "100", "0.001"):
        assert not index.accepts(text), text
    assert guided.compile(guided.JsonSchema({"type": "number"}), BYTES).accepts("1.500")
    own = guided.compile(guided.JsonSchema({"type": "number", "multipleOf": 0.125}, max_digits=2), BYTES)
    assert [own.accepts(text) for text in ("1.125", "1.1250", "1.12")] == [True, False, False]


def test_members_of_open_objects_are_capped_and_no_others() -> None:
    """Those of closed objects have a bound already, by their names."""
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["c"]}
    index = guided.compile(guided.JsonSchema(schema, max_properties=2), BYTES)
    assert [index.accepts(text) for text in ('{"a":1,"b":2,"c":3}', '{"c":3,"d":4,"e":5,"f":6}')] == [True, False]
    assert index.notes == ("max_properties=2 bounds the values at '/'",)
    closed = {**schema, "required": [], "additionalProperties": False}
    assert guided.compile(guided.JsonSchema(closed, max_properties=1), BYTES).notes == ()
    narrowed = guided.JsonSchema({**schema, "required": []}, max_properties=1, additional_properties=False)
    assert guided.compile(narrowed, BYTES).notes == ()


def test_notes_say_where_caps_apply() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "maxLength": 9},
            "c": {"type": "array", "items": {"type": "integer"}},
            "d": {"type": "string"},
        },
    }
    index = guided.compile(guided.JsonSchema(schema, max_length=3, max_digits=2, max_items=1), BYTES)
    assert index.notes == (
        "max_length=3 bounds the values at '/properties/a', '/properties/d'",
        "max_digits=2 bounds the values at '/properties/c/items'",
        "max_items=1 bounds the values at '/properties/c'",
    )
    assert guided.compile(guided.JsonSchema(schema), BYTES).notes == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": "abcd"}', "/a: 4 characters are more than the option max_length=3 allows (at /properties/a, type)"),
        ('{"a": 1}', "/a: 1 is a number, not of type string (at /properties/a, type)"),
        ('{"b": [1, 2]}', "/b: 2 items are more than the option max_items=1 allows (at /properties/b, type)"),
        (
            '{"c": {"x": 1, "y": 2}}',
            "/c: 2 members are more than the option max_properties=1 allows (at /properties/c, type)",
        ),
        (
            '{"b": [1.234]}',
            "/b/0: 1.234 has more digits than the option max_digits=2 allows (at /properties/b/items, type)",
        ),
    ],
)
def test_a_rejected_value_has_the_option_that_refuses_it(text: str, reason: str) -> None:
    items = {"type": "array", "items": {"type": "number"}}
    spec = guided.JsonSchema(
        {"properties": {"a": {"type": "string"}, "b": items, "c": {"type": "object"}}},
        max_length=3,
        max_digits=2,
        max_items=1,
        max_properties=1,
    )
    assert spec.diagnosis(text.encode(), guided.Limits()) == reason


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("max_length", 0, "max_length must be an integer >= 1, not 0"),
        ("max_items", True, "max_items must be an integer >= 1, not True"),
        ("max_properties", 0, "max_properties must be an integer >= 1, not 0"),
        ("max_digits", 4_001, "max_digits must be an integer from 1 to 4,000, not 4001"),
    ],
)
def test_other_caps_are_refused(option: str, value: Any, message: str) -> None:
    for spec in (lambda **options: guided.JsonSchema({}, **options), lambda **options: guided.Tools([], **options)):
        with pytest.raises(ValueError, match=message):
            spec(**{option: value})


def test_a_spec_with_caps_is_saved_and_shown(tmp_path: Any) -> None:
    spec = guided.JsonSchema(Annotated[str, Field(min_length=1)], max_length=3)
    plain = guided.JsonSchema(Annotated[str, Field(min_length=1)])
    assert spec.fingerprint != plain.fingerprint
    assert repr(spec).endswith(", max_length=3>")
    guided.compile(spec, BYTES).save(tmp_path / "capped")
    index = guided.load_index(tmp_path / "capped", BYTES)
    assert index.spec_fingerprint == spec.fingerprint
    assert (index.accepts('"abc"'), index.accepts('"abcd"')) == (True, False)
    assert index.notes == ("max_length=3 bounds the values at '/'",)
