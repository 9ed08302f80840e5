"""Objects whose patterns allow few names: bounds on members and existentials are satisfied with these names, or not at all."""

from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guided.errors import SchemaError
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.schema.worlds import check, combined

PQ = {"enum": ["p", "q"]}
# Why a maximum: it makes names count, so that none comes twice.
WORLDS: list[dict[str, Any]] = [
    {"patternProperties": {"^[abc]$": PQ}, "additionalProperties": False},
    {"propertyNames": {"pattern": "^[abc]$"}, "additionalProperties": PQ},
    {"patternProperties": {"^a$": PQ}, "properties": {"b": PQ, "c": PQ}, "additionalProperties": False},
]
OBJECTS = [
    dict(zip(names, values, strict=True))
    for n in range(4)
    for names in permutations("abc", n)
    for values in product("pq", repeat=n)
]
values = st.sampled_from([{"const": "p"}, {"not": {"const": "p"}}, False, True])
counts = st.integers(0, 4)
about_objects = st.one_of(
    st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abc"), values, min_size=1)}),
    st.fixed_dictionaries({"additionalProperties": values}),
    st.fixed_dictionaries({"patternProperties": st.dictionaries(st.sampled_from(["a|b", "[bc]"]), values, min_size=1)}),
    st.fixed_dictionaries({"propertyNames": st.sampled_from([{"const": "a"}, {"pattern": "a|b"}, {"minLength": 2}])}),
    st.fixed_dictionaries({"minProperties": counts}),
    st.fixed_dictionaries({"maxProperties": counts}),
)


@pytest.mark.slow
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(WORLDS), combined(about_objects))
def test_objects_of_few_names(world: dict[str, Any], schema: Any) -> None:
    check({"type": "object", **world, "maxProperties": 3, "allOf": [schema]}, OBJECTS)


@pytest.mark.parametrize(
    ("schema", "most"),
    [
        ({"patternProperties": {"^[ab]$": {}}, "additionalProperties": False}, 2),
        ({"patternProperties": {"^[ab]$": {}}, "properties": {"c": {}}, "additionalProperties": False}, 3),
        ({"propertyNames": {"enum": ["a", "b", "c", "d"]}}, 4),
        ({"propertyNames": {"maxLength": 0}}, 1),
        ({"propertyNames": {"pattern": "^x[0-9]{2}$"}}, 100),
        ({"patternProperties": {"^a$": {}, "^(a|bc?)$": {"type": "null"}}, "additionalProperties": False}, 3),
    ],
)
@pytest.mark.parametrize("escapes", ["canonical", "any"])
def test_names_are_counted(schema: dict[str, Any], most: int, escapes: str) -> None:
    schema = {"type": "object", **schema}
    index = compiled({**schema, "minProperties": most}, escapes=escapes)
    assert index.guide().remaining > 4 * most
    with pytest.raises(SchemaError, match="no value satisfies"):
        compiled({**schema, "minProperties": most + 1}, escapes=escapes)
    compiled({**schema, "not": {"maxProperties": most - 1}}, escapes=escapes)
    with pytest.raises(SchemaError, match="no value satisfies"):
        compiled({**schema, "not": {"maxProperties": most}}, escapes=escapes)


@pytest.mark.parametrize("names", [{"pattern": "^a*$"}, {"pattern": "b"}, {"minLength": 3}, {"not": {"const": "a"}}])
def test_names_without_end_are_not_counted(names: dict[str, Any]) -> None:
    assert len(compiled({"type": "object", "propertyNames": names, "minProperties": 300}).guide().mask())
