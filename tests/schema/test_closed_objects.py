"""``additional_properties=False``: objects that declare names have no others. Oracle: a transformed schema and a published validator."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.engine.index import Index
from guided.errors import LimitError, SchemaError
from guided.schema.frontend.lowering import Lowering
from tests.executed import executed_calls
from tests.schema.engine import compiled
from tests.schema.lowered import DRAFT, holds, lowered

MAPS, ONE, LISTS = (
    ("properties", "patternProperties"),
    ("items", "additionalProperties", "unevaluatedProperties"),
    ("prefixItems",),
)


def declares(schema: Any, definitions: dict[str, Any]) -> bool:
    """Does a schema, or another that it applies to the same value, declare a name, and say nothing of others?"""
    if isinstance(schema, bool) or "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return False
    if schema.get("properties") or schema.get("patternProperties"):
        return True
    inner = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema and "if" in schema]
    inner += [one for keyword in ("allOf", "anyOf", "oneOf") for one in schema.get(keyword, ())]
    inner += schema.get("dependentSchemas", {}).values()
    inner += [definitions[schema["$ref"].rpartition("/")[2]]] if "$ref" in schema else []
    return any(declares(one, definitions) for one in inner)


def closed(schema: Any, definitions: dict[str, Any], *, is_part: bool) -> Any:
    """The schema in which closing is written out."""
    if isinstance(schema, bool):
        return schema
    found = dict(schema)
    for keyword, value in schema.items():
        if keyword in MAPS:
            found[keyword] = {name: closed(one, definitions, is_part=True) for name, one in value.items()}
        elif keyword in ONE:
            found[keyword] = closed(value, definitions, is_part=True)
        elif keyword in LISTS:
            found[keyword] = [closed(one, definitions, is_part=True) for one in value]
        elif keyword in ("allOf", "anyOf"):
            found[keyword] = [closed(one, definitions, is_part=False) for one in value]
        elif keyword in ("then", "else"):
            found[keyword] = closed(value, definitions, is_part=False)
        elif keyword == "dependentSchemas":
            found[keyword] = {name: closed(one, definitions, is_part=False) for name, one in value.items()}
        elif keyword == "$ref":
            found[keyword] = f"{value}!"
    if "oneOf" in schema:
        branches = [closed(one, definitions, is_part=False) for one in schema["oneOf"]]
        found["allOf"] = [*found.get("allOf", []), {"anyOf": branches}]
    says_itself = "additionalProperties" in schema or "unevaluatedProperties" in schema
    if is_part and not says_itself and declares(schema, definitions):
        found["unevaluatedProperties"] = False
    return found


def written_out(schema: Any) -> Any:
    """The whole schema, with its definitions as they are, and once more with closing written out."""
    definitions = schema.get("$defs", {})
    more = {f"{name}!": closed(one, definitions, is_part=False) for name, one in definitions.items()}
    return {**closed(schema, definitions, is_part=True), "$defs": {**definitions, **more}}


names = st.sampled_from("abc")
leaves = st.sampled_from(
    [True, {"type": "integer"}, {"type": "string"}, {"const": 1}, {"required": ["a"]}, {"type": "object"}]
)


def extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=2)
    table = st.dictionaries(names, inner, min_size=1, max_size=2)
    return st.one_of(
        st.fixed_dictionaries(
            {"properties": table},
            optional={
                "additionalProperties": inner,
                "required": st.lists(names, max_size=1),
                "type": st.just("object"),
            },
        ),
        st.fixed_dictionaries(
            {"properties": table},
            optional={"allOf": some, "anyOf": some, "oneOf": some, "$ref": st.sampled_from(["#/$defs/p", "#/$defs/q"])},
        ),
        st.fixed_dictionaries(
            {}, optional={"allOf": some, "anyOf": some, "oneOf": some, "not": inner, "$ref": st.just("#/$defs/p")}
        ),
        st.fixed_dictionaries(
            {"patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, min_size=1, max_size=1)}
        ),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries({"dependentSchemas": st.dictionaries(names, inner, min_size=1, max_size=1)}),
        st.fixed_dictionaries({"unevaluatedProperties": inner, "anyOf": some}),
        st.fixed_dictionaries({"items": inner}, optional={"prefixItems": some, "contains": inner}),
    )


schemas = st.recursive(leaves, extended, max_leaves=8)
whole = st.builds(
    lambda top, p, q: {**top, "$defs": {"p": p, "q": q}},
    extended(schemas),
    st.recursive(
        leaves,
        lambda inner: st.fixed_dictionaries({"properties": st.dictionaries(names, inner, max_size=2)}),
        max_leaves=3,
    ),
    st.fixed_dictionaries(
        {"properties": st.dictionaries(names, leaves, max_size=2)}, optional={"required": st.just(["b"])}
    ),
)
values = st.recursive(
    st.sampled_from([1, 2, "x", None]),
    lambda inner: st.one_of(st.dictionaries(st.sampled_from("abcd"), inner, max_size=3), st.lists(inner, max_size=2)),
    max_leaves=5,
)


@given(whole, st.lists(values, min_size=1, max_size=8))
def test_closing_is_unevaluated_properties_if_the_schema_has_none(
    schema: dict[str, Any], given_values: list[Any]
) -> None:
    refused_for = ""
    try:
        lowering: Lowering | None = lowered(schema, additional_properties=False)
    except SchemaError as error:
        refused_for = error.reason
        lowering = None
    if lowering is None:
        assert "too many ways" in refused_for
        return
    oracle, plain = (jsonschema.Draft202012Validator(one) for one in (written_out(schema), schema))
    for value in given_values:
        verdict = holds(lowering, value)
        assert verdict == oracle.is_valid(value)
        assert not verdict or plain.is_valid(value)


@given(whole, st.lists(values, min_size=1, max_size=4))
def test_the_engine_accepts_the_texts_of_closed_objects(schema: dict[str, Any], given_values: list[Any]) -> None:
    oracle = jsonschema.Draft202012Validator(written_out(schema))
    refused_for = ""
    try:
        index: Index | None = compiled(schema, additional_properties=False, property_order="any", numbers="any")
    except LimitError:
        return
    except SchemaError as error:
        index, refused_for = None, error.reason
    if index is None:
        assert "too many ways" in refused_for or not any(map(oracle.is_valid, given_values))
        return
    for value in given_values:
        assert index.accepts(json.dumps(value).encode()) == oracle.is_valid(value)


CLOSED = [
    # (schema, values that closing leaves, values that it excludes)
    ({"properties": {"a": True}}, [{}, {"a": 1}, [], "x"], [{"b": 1}, {"a": 1, "b": 1}]),
    ({"patternProperties": {"^a": True}}, [{"a": 1, "ab": 2}], [{"b": 1}]),
    ({"type": "object"}, [{}, {"b": 1}], []),
    ({}, [{"b": 1}], []),
    ({"properties": {}}, [{"b": 1}], []),
    ({"properties": {"a": True}, "additionalProperties": True}, [{"b": 1}], []),
    ({"properties": {"a": True}, "additionalProperties": {"type": "string"}}, [{"b": "x"}], []),
    ({"properties": {"a": True}, "unevaluatedProperties": True}, [{"b": 1}], []),
    ({"properties": {"a": {"properties": {"b": True}}}}, [{"a": {"b": 1}}], [{"a": {"c": 1}}]),
    ({"items": {"properties": {"b": True}}}, [[{"b": 1}]], [[{"c": 1}]]),
    ({"allOf": [{"properties": {"a": True}}, {"properties": {"b": True}}]}, [{"a": 1, "b": 1}], [{"c": 1}]),
    ({"properties": {"a": True}, "$ref": "#/$defs/b", "$defs": {"b": {"properties": {"b": True}}}}, [{"a": 1, "b": 1}], [{"c": 1}]),
    ({"$ref": "#/$defs/b", "$defs": {"b": {"properties": {"b": {"$ref": "#/$defs/b"}}}}}, [{"b": {"b": {}}}], [{"b": {"c": 1}}]),
    (
        {"anyOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": True}, "required": ["b"]}]},
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
        [{"a": 1, "c": 1}, {"a": "x", "b": 1}],
    ),
    (
        {"if": {"required": ["a"]}, "then": {"properties": {"a": True}}, "else": {"properties": {"b": True}}},
        [{"a": 1}, {"b": 1}],
        [{"a": 1, "b": 1}],
    ),
    ({"not": {"properties": {"a": {"properties": {"b": True}, "required": ["b"]}}, "required": ["a"]}}, [{"a": 1, "c": 1}, {"x": {}}], []),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "kept", "excluded"), CLOSED)
def test_closing_keeps_and_excludes(schema: dict[str, Any], kept: list[Any], excluded: list[Any]) -> None:
    index = compiled(schema, additional_properties=False)
    plain = compiled(schema)
    for value in kept:
        assert index.accepts(json.dumps(value).encode()) == plain.accepts(json.dumps(value).encode())
    for value in excluded:
        assert plain.accepts(json.dumps(value).encode())
        assert not index.accepts(json.dumps(value).encode())


def test_closing_makes_no_value_valid_that_was_not() -> None:
    branches = [{"properties": {"x": {"properties": {"p": True}}}}, {"properties": {"x": {"properties": {"q": True}}}}]
    assert not holds({"oneOf": branches}, {"x": {"p": 1}})
    assert not holds({"oneOf": branches}, {"x": {"p": 1}}, additional_properties=False)


@pytest.mark.parametrize("year", sorted(DRAFT))
def test_closing_works_in_every_draft(year: int) -> None:
    base: dict[str, Any] = (
        {"extends": {"properties": {"b": {}}}} if year == 3 else {"allOf": [{"properties": {"b": {}}}]}
    )
    schema = {
        "$schema": DRAFT[year],
        "properties": {"a": {"$ref": "#/definitions/d"}},
        **base,
        "definitions": {"d": {"properties": {"c": {}}}},
    }
    assert holds(schema, {"a": {"c": 1}, "b": 1}, additional_properties=False)
    assert not holds(schema, {"a": {"b": 1}}, additional_properties=False)
    assert not holds(schema, {"c": 1}, additional_properties=False)


def test_closed_properties_keep_the_order_of_the_schema() -> None:
    schema = {"properties": {"b": True, "a": True}, "allOf": [{"properties": {"0": True}}]}
    index = compiled(schema, additional_properties=False)
    assert index.accepts(b'{"b": 1, "a": 1, "0": 1}')
    assert not index.accepts(b'{"a": 1, "b": 1}')


def test_too_many_cases_are_refused_or_recorded() -> None:
    schema = {"anyOf": [{"properties": {f"p{i}": True}, "required": [f"p{i}"]} for i in range(20)]}
    with pytest.raises(SchemaError, match="too many ways") as caught:
        compiled(schema, additional_properties=False)
    assert caught.value.keyword == "additionalProperties"
    index = compiled(schema, additional_properties=False, unsupported="record")
    assert index.unenforced == (("", "additionalProperties"),)


def test_conditions_that_close_their_objects_are_two_cases() -> None:
    """A condition of which the rest does not matter divides no case: otherwise each would double the formula."""

    def of(n: int) -> Index:
        conditions = [
            {
                "if": {"properties": {"kind": {"const": f"k{i}"}}},
                "then": {
                    "properties": {"kind": True, f"a{i}": {"type": "integer"}},
                    "additionalProperties": False,
                    "required": ["kind"],
                },
            }
            for i in range(n)
        ]
        return compiled({"additionalProperties": {"type": "object", "allOf": conditions}}, additional_properties=False)

    def calls(n: int) -> int:
        index = of(n)
        found = executed_calls(lambda: index.accepts(b'{"x": {"kind": "k3", "a3": 5}}'))
        assert index.accepts(b'{"x": {"kind": "k3", "a3": 5}}')
        assert not index.accepts(b'{"x": {"kind": "k3", "a2": 5}}')
        assert not index.accepts(b'{"x": {"kind": "other"}}')
        return found

    assert calls(20) < 3 * calls(10)


def test_a_completion_of_many_counted_names_looks_at_each_name_once() -> None:
    def calls(n: int) -> int:
        names = {f"name{i}": {"type": "integer"} for i in range(n)}
        schema = {"type": "object", "properties": names, "additionalProperties": False, "minProperties": n // 2}
        guide = compiled(schema, property_order="any").guide()
        return executed_calls(lambda: guide.remaining)

    assert calls(400) < 6 * calls(100)
