"""Whether a value can end: exact over small worlds, where all values can be tried, and quick on schemas that are hard to search.

In a world of few values an index allows exactly the texts of valid ones, says that there is none exactly where no value is valid, and never
leads to a place from which no text ends.
"""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.containers.conjunctive import needed_values
from guided.schema.containers.opening import Containers
from guided.schema.formula.formulas import FALSE
from guided.schema.values.context import SchemaContext
from tests.profiles import examples
from tests.schema.engine import BYTES, compiled
from tests.schema.lowered import lowered
from tests.schema.worlds import OPTIONS, check, check_some, combined

P, Q, PQ = {"const": "p"}, {"const": "q"}, {"enum": ["p", "q"]}

ARRAY_WORLD = {"type": "array", "items": PQ, "maxItems": 3}
ARRAYS = [list(items) for n in range(4) for items in product("pq", repeat=n)]
LONGER_ARRAYS = [list(items) for n in range(6) for items in product("pq", repeat=n)]
OBJECT_WORLD = {"type": "object", "properties": dict.fromkeys("abc", PQ), "additionalProperties": False}
OBJECTS = [
    dict(zip(names, values, strict=True))
    for n in range(4)
    for names in permutations("abc", n)
    for values in product("pq", repeat=n)
]

values = st.sampled_from([P, Q, {"not": P}, False, True])
counts = st.integers(0, 3)
some_names = st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True)
about_arrays = st.one_of(
    st.fixed_dictionaries({"contains": values}, optional={"minContains": counts, "maxContains": counts}),
    st.fixed_dictionaries({"prefixItems": st.lists(values, min_size=1, max_size=3)}, optional={"items": values}),
    st.fixed_dictionaries({"minItems": counts}),
    st.fixed_dictionaries({"maxItems": counts}),
)
about_objects = st.one_of(
    st.fixed_dictionaries(
        {"properties": st.dictionaries(st.sampled_from("abc"), values, min_size=1)},
        optional={"additionalProperties": values},
    ),
    st.fixed_dictionaries({"patternProperties": st.dictionaries(st.sampled_from(["a|b", "[bc]"]), values, min_size=1)}),
    st.fixed_dictionaries({"propertyNames": st.sampled_from([{"const": "a"}, {"pattern": "a|b"}, {"minLength": 2}])}),
    st.fixed_dictionaries({"required": some_names}),
    st.fixed_dictionaries({"minProperties": counts}),
    st.fixed_dictionaries({"maxProperties": counts}),
)


SMALL = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])


@SMALL
@given(combined(about_arrays), st.booleans())
def test_arrays_of_a_small_world(schema: Any, repeats: bool) -> None:
    more = [{"not": {"uniqueItems": True}}] if repeats else []
    check({**ARRAY_WORLD, "allOf": [schema, *more]}, ARRAYS)


# Sets of values within each other, of which so many must be contained.
contained = st.lists(
    st.fixed_dictionaries(
        {"contains": st.sampled_from([P, PQ, {"type": "string"}, {"not": Q}, True])},
        optional={"minContains": counts, "maxContains": counts},
    ),
    min_size=2,
    max_size=4,
).map(lambda several: {"allOf": several})


@SMALL
@given(st.one_of(contained, combined(about_arrays)), st.booleans())
def test_arrays_of_any_length(schema: Any, differ: bool) -> None:
    items = {"enum": [*"pqr", 1, 2]} if differ else PQ
    world = [list(items) for n in range(5) for items in product("pqr", repeat=n)] if differ else LONGER_ARRAYS
    check_some({"type": "array", "items": items, "uniqueItems": differ, "allOf": [schema]}, world)


@pytest.mark.parametrize("unique", [False, True])
def test_an_item_may_satisfy_two_keywords(unique: bool) -> None:
    """It counts for both, also where one of them allows no further item."""
    five = {"contains": {"const": 5}}
    schema = {
        "type": "array",
        "contains": {"type": "integer"},
        "maxContains": 1,
        "allOf": [five],
        "uniqueItems": unique,
    }
    index = compiled(schema, **OPTIONS)
    assert [text for text in ("[5]", "[]", "[5,6]", '["a",5]', '[5,{},"a"]') if index.accepts(text)] == [
        "[5]", '["a",5]', '[5,{},"a"]',
    ]  # fmt: skip
    guide = index.guide()
    assert guide.remaining == 3
    guide.advance_many(b'["a"')
    assert guide.remaining == 3


@SMALL
@given(combined(about_objects))
def test_objects_of_a_small_world(schema: Any) -> None:
    check({**OBJECT_WORLD, "allOf": [schema]}, OBJECTS)


names_alone = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(["a", "b", "é"]), values),
        "additionalProperties": values,
        "required": st.lists(st.sampled_from(["a", "b", "c", "é", "\ud800"]), max_size=3, unique=True),
    },
)


@given(st.lists(names_alone, min_size=1, max_size=3))
def test_objects_of_which_only_names_are_asked_are_judged_as_by_their_tables(parts: list[Any]) -> None:
    lowering = lowered({"type": "object", "allOf": parts})
    containers = Containers(
        SchemaContext(lowering.formulas, lowering, lowering.options, Limits(), np.ones(256, np.bool_))
    )
    formula = containers.context.typed(lowering.root, "object")
    if formula == FALSE:
        return
    values = needed_values(lowering.formulas, formula)
    named = {name for part in parts for name in part.get("required", ())}
    assert (values is None) == any(not name.isascii() for name in named)
    expected = containers.open_object((formula,)).is_live()
    assert values is None or all(map(containers.satisfiability.is_satisfiable, values)) == expected


@pytest.mark.parametrize("count", [6, 12, 30])
def test_alternatives_that_a_late_member_distinguishes(count: int) -> None:
    """What has been read suits all alternatives, and each of them may yet be the one: none is told apart by a required name."""
    point = {"type": "array", "items": {"type": "number"}}
    kinds = [{"properties": {"type": {"enum": [f"kind {i}"]}, "at": point}} for i in range(count)]
    index = compiled({"oneOf": kinds}, **OPTIONS)
    assert index.accepts(b'{"at":[1],"type":"kind 3"}')
    assert index.accepts(b'{"type":"kind 3","at":[1],"more":null}')
    assert not index.accepts(b'{"at":[1]}')
    assert not index.accepts(b'{"at":[1],"type":"kind"}')
    assert not index.accepts(b'"no object is none of them"')


def test_alternatives_that_lead_back_to_themselves() -> None:
    again, several = {"$ref": "#/$defs/x"}, {"type": "array", "items": {"$ref": "#/$defs/x"}}
    kinds: list[Any] = [
        {"properties": {"kind": {"enum": ["leaf"]}, "value": {}}},
        {"required": ["kind", "on", "branches"]},
        {"properties": {"kind": {"enum": ["call"]}, "name": {}, "args": several}},
        {"required": ["kind", "name", "args", "outer"]},
        {
            "properties": {
                "kind": {"enum": ["apply"]},
                "outer": {"enum": [True]},
                "name": {"type": "object"},
                "args": several,
            }
        },
        {
            "type": "object",
            "properties": {"kind": {"enum": ["let"]}, "defs": several, "body": again},
            "required": ["kind", "defs", "body"],
        },
    ]
    index = compiled({"properties": {"body": again}, "$defs": {"x": {"oneOf": kinds}}}, **OPTIONS)
    leaf = '{"kind":"leaf","value":1}'
    assert index.accepts(f'{{"body":{leaf}}}'.encode())
    assert index.accepts(f'{{"body":{{"kind":"let","defs":[{leaf}],"body":{leaf}}}}}'.encode())
    assert index.accepts(f'{{"body":{{"kind":"call","name":0,"args":[{leaf}]}}}}'.encode())
    assert not index.accepts(f'{{"body":{{"kind":"call","name":0,"args":[{leaf}],"outer":1}}}}'.encode())
    assert not index.accepts(b'{"body":{"kind":"leaves"}}')


def test_items_that_must_not_all_differ() -> None:
    index = compiled({"not": {"uniqueItems": True}}, **OPTIONS)
    assert index.accepts(b"[1,1]")
    assert index.accepts(b'[{"a":1},2,{"a":1}]')
    assert not index.accepts(b"[]")
    assert not index.accepts(b"[1,2]")
    assert not index.accepts(b"1")
    for apart in ({"prefixItems": [P, Q], "items": False}, {"items": P, "maxItems": 1}):
        with pytest.raises(SchemaError, match="no value"):
            compiled({"not": {"uniqueItems": True}, **apart}, BYTES, **OPTIONS)


@pytest.mark.parametrize("keyword", ["minItems", "minContains"])
def test_counts_need_no_steps(keyword: str) -> None:
    index = compiled({"type": "array", "contains": PQ, keyword: 700}, **OPTIONS)
    guide = index.guide()
    guide.advance_many(b'["p","p","q"')
    assert not guide.mask()[ord("]") >> 5] >> (ord("]") & 31) & 1
