"""Items that must differ, over worlds small enough to try all arrays: exactly the valid ones, and no way that leads nowhere."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guided.errors import LimitError, SchemaError
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.schema.worlds import check, combined

SMALL = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])

ITEMS = [1, 2, "a", [2]]
LONGEST = 4
WORLD = [list(items) for n in range(LONGEST + 1) for items in product(ITEMS, repeat=n)]
ANY_ITEM = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 3},
        {"type": "string", "pattern": "^a$"},
        {"type": "array", "items": {"type": "integer", "minimum": 1.5, "maximum": 2.5}, "minItems": 1, "maxItems": 1},
    ]
}
some_items = st.sampled_from(
    [
        True,
        {"type": "integer"},
        {"type": ["integer", "string"]},
        {"type": "array"},
        {"const": 1},
        {"not": {"const": 2}},
        {"enum": ["a", [2.0]]},
        {"multipleOf": 2, "type": "number"},
        {"type": "string", "maxLength": 3},
    ]
)
counts = st.integers(0, LONGEST)
about_items = st.one_of(
    st.fixed_dictionaries({"uniqueItems": st.just(True)}),
    st.fixed_dictionaries({"uniqueItems": st.just(True), "minItems": st.integers(2, LONGEST)}),
    st.fixed_dictionaries({"items": some_items}),
    st.fixed_dictionaries(
        {"prefixItems": st.lists(some_items, min_size=1, max_size=4)}, optional={"items": some_items}
    ),
    st.fixed_dictionaries({"contains": some_items}, optional={"minContains": counts, "maxContains": counts}),
    st.fixed_dictionaries({"minItems": counts}),
)


@pytest.mark.slow
@SMALL
@given(st.lists(about_items, min_size=1, max_size=4))
def test_items_that_all_differ(parts: list[Any]) -> None:
    check({"type": "array", "items": ANY_ITEM, "maxItems": LONGEST, "uniqueItems": True, "allOf": parts}, WORLD)


@SMALL
@given(combined(about_items))
def test_items_that_may_have_to_differ(schema: Any) -> None:
    check(
        {"type": "array", "items": ANY_ITEM, "maxItems": 3, "allOf": [schema]}, [one for one in WORLD if len(one) <= 3]
    )


def unique(**schema: Any) -> dict[str, Any]:
    return {"type": "array", "uniqueItems": True, **schema}


PAIR = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 2]}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("items", "most"),
    [
        ({"type": "number", "minimum": 1, "maximum": 1}, 1),
        ({"type": "integer", "minimum": 0, "maximum": 1}, 2),
        ({"type": "integer", "minimum": -0.5, "maximum": 2.5}, 3),
        ({"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 9}, 11),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25}, 4),
        ({"type": "integer", "minimum": 0, "maximum": 9, "not": {"multipleOf": 3}}, 6),
        ({"type": ["boolean", "integer"], "minimum": 7, "maximum": 7}, 3),
        ({"type": "string", "maxLength": 0}, 1),
        ({"type": "string", "pattern": "^[ab]{0,2}$"}, 7),
        ({"type": "string", "pattern": "^[ab]{0,2}$", "minLength": 1, "not": {"enum": ["a", "c"]}}, 5),
        ({"type": "string", "format": "date", "pattern": "^2024-02-2"}, 10),
        ({"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1, "maximum": 2}]}, 3),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, 7),
        (unique(items={"type": "boolean"}), 5),
        (PAIR, 6),
        ({**PAIR, "minProperties": 2}, 4),
        ({"type": "object", "patternProperties": {"^[xy]$": {"type": "null"}}, "additionalProperties": False}, 4),
        ({"type": "object", "additionalProperties": {"type": "null"}, "propertyNames": {"enum": ["p", "q"]}}, 4),
        ({"anyOf": [{"type": "null"}, unique(items={"$ref": "#/items"}, minItems=2)]}, 1),
    ],
)
@pytest.mark.parametrize("numbers", ["plain", "any"])
def test_few_values_that_differ_are_counted(items: dict[str, Any], most: int, numbers: str) -> None:
    schema = unique(items=items)
    assert compiled({**schema, "minItems": most}, numbers=numbers).guide().remaining >= 2 * most + 1
    with pytest.raises(SchemaError, match="no value satisfies"):
        compiled({**schema, "minItems": most + 1}, numbers=numbers)


@pytest.mark.parametrize(
    "items",
    [
        {"type": "integer", "minimum": 1},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": "^a"},
        {"type": "array", "items": {"const": 1}},
        {"type": "object", "properties": {"a": {"const": 1}}},
        {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/items"}, "maxItems": 1}]},
        {"type": "integer", "minimum": 1, "maximum": 100_000},
        {"type": "string", "pattern": "^[a-z]{4}$"},
        {"type": "string", "pattern": "^[a-z]*(?::[0-9]{1,1000})*$", "minLength": 15, "maxLength": 2_048},
    ],
)
def test_values_enough_are_not_listed(items: dict[str, Any]) -> None:
    guide = compiled(unique(items=items, minItems=100)).guide()
    assert len(guide.mask())


@pytest.mark.parametrize("items", [{"type": "integer"}, {"type": "string", "maxLength": 1}, {"enum": ["a", "b"]}, True])
@pytest.mark.parametrize(
    "within", [lambda schema: schema, lambda schema: {"items": schema}, lambda schema: {"properties": {"a": schema}}]
)
def test_so_many_items_that_must_differ_are_refused_with_their_place(items: Any, within: Callable[[Any], Any]) -> None:
    with pytest.raises(LimitError, match=r"must differ, at .*/minItems") as caught:
        compiled(within(unique(items=items, minItems=4_097)))
    assert (caught.value.what, caught.value.given) == ("listed_values", 4_097)


@pytest.mark.slow
def test_so_many_objects_are_refused_before_a_text_begins() -> None:
    names = [f"n{i}" for i in range(13)]
    items = {"type": "object", "properties": {name: {"const": 1} for name in names}, "additionalProperties": False}
    compiled(unique(items=items, minItems=100))
    with pytest.raises(LimitError, match="must differ"):
        compiled(unique(items=items, minItems=8193))


def test_equal_items_are_one_value_however_they_are_written() -> None:
    items = {"enum": [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1e0}, "x"]}
    index = compiled(unique(items=items, minItems=2), numbers="any", property_order="any")
    assert index.accepts(b'[{"b":[2],"a":1.0},"x"]')
    assert not index.accepts(b'["x","x"]')
    guide = index.guide()
    guide.advance_many(list(b'[{"b":[2.0],"a":1},'))
    assert not guide.mask()[ord("{") >> 5] >> (ord("{") & 31) & 1
    with pytest.raises(SchemaError, match="no value satisfies"):
        compiled(unique(items=items, minItems=3))


@pytest.mark.slow
def test_a_long_list_of_required_items_compiles_quickly() -> None:
    values = [f"value {i}" for i in range(100)]
    guide = compiled(unique(items={"enum": values}, minItems=100), whitespace="compact").guide()
    rest = list(values)
    guide.advance_many(b"[")
    for value in values[:-1]:
        guide.advance_many(f'"{value}",'.encode())
        rest.remove(value)
    assert guide.forced().startswith(f'"{rest[0]}"]'.encode())
