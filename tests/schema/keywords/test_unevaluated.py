import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import SchemaError
from tests.profiles import examples
from tests.schema.lowered import DRAFT, holds, lowered
from tests.schema.oracle import Validator, lifted

names = st.sampled_from(["a", "b", "ab", "c"])
leaves = st.one_of(
    st.booleans(),
    st.just({}),
    st.fixed_dictionaries(
        {"properties": st.dictionaries(names, st.sampled_from([True, {"type": "integer"}]), min_size=1, max_size=2)}
    ),
    st.fixed_dictionaries(
        {"patternProperties": st.fixed_dictionaries({"^a": st.sampled_from([True, {"type": "integer"}])})}
    ),
    st.fixed_dictionaries({"required": st.lists(names, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"additionalProperties": st.sampled_from([True, {"type": "integer"}])}),
    st.fixed_dictionaries(
        {"prefixItems": st.lists(st.sampled_from([True, {"type": "integer"}]), min_size=1, max_size=2)}
    ),
    st.fixed_dictionaries({"items": st.sampled_from([True, {"type": "integer"}])}),
    st.fixed_dictionaries(
        {"contains": st.sampled_from([{"type": "integer"}, {"type": "string"}]), "minContains": st.integers(0, 1)}
    ),
    st.fixed_dictionaries({"minItems": st.integers(1, 2)}),
)


def merged(parts):
    return {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}


def grown(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    applicators = st.one_of(
        st.fixed_dictionaries({"allOf": several}),
        st.fixed_dictionaries({"anyOf": several}),
        st.fixed_dictionaries({"oneOf": several}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries({"dependentSchemas": st.dictionaries(names, inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"$ref": st.just("#/$defs/x")}),
        st.fixed_dictionaries({"unevaluatedProperties": st.sampled_from([True, False, {"type": "string"}])}),
        st.fixed_dictionaries({"unevaluatedItems": st.sampled_from([True, False, {"type": "string"}])}),
    )
    return st.lists(st.one_of(inner, applicators, applicators), min_size=1, max_size=3).map(merged)


schemas = st.recursive(leaves, grown, max_leaves=8)
members = st.sampled_from([1, "x", None])
instances = st.one_of(
    st.dictionaries(st.sampled_from(["a", "b", "ab", "c", "d"]), members, max_size=4),
    st.lists(members, max_size=4),
    st.just(1),
)
unevaluated = st.sampled_from([False, {"type": "string"}])


@settings(max_examples=examples(300), deadline=None)
@given(schemas, leaves, unevaluated, unevaluated, st.lists(instances, min_size=3, max_size=6))
def test_evaluated_parts_agree_with_the_specification(body, x, properties, items, values):
    extra = {"unevaluatedProperties": properties, "unevaluatedItems": items, "$defs": {"x": x}}
    schema = {**extra, **body} if isinstance(body, dict) else {**extra, "allOf": [body]}
    lowering, judge = lowered(schema), Validator(schema)
    for value in values:
        assert holds(lowering, value) == judge.is_valid(lifted(value)), value


def without(schema, *keywords):
    """The schema without these keywords, anywhere."""
    if isinstance(schema, list):
        return [without(member, *keywords) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without(value, *keywords) for key, value in schema.items() if key not in keywords}


def as_2019(schema):
    """The schema as draft 2019-09 spells it: lists of schemas under ``items``."""
    if isinstance(schema, list):
        return [as_2019(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: as_2019(value) for key, value in schema.items()}
    if "prefixItems" in found:
        if "items" in found:
            found["additionalItems"] = found.pop("items")
        found["items"] = found.pop("prefixItems")
    return found


# Why: the package `jsonschema` does not follow draft 2019-09 here, so the newer words judge; only `contains` differs in them.
@settings(max_examples=examples(150), deadline=None)
@given(schemas, leaves, st.lists(instances, min_size=3, max_size=6))
def test_draft_2019_09_evaluates_the_same_but_for_contains(body, x, values):
    body, x = without(body, "contains", "minContains"), without(x, "contains", "minContains")
    schema = {
        "unevaluatedProperties": False,
        "unevaluatedItems": False,
        **(body if isinstance(body, dict) else {"allOf": [body]}),
        "$defs": {"x": x},
    }
    lowering, judge = lowered({"$schema": DRAFT[2019], **as_2019(schema)}), Validator(schema)
    for value in values:
        assert holds(lowering, value) == judge.is_valid(lifted(value)), value


def branches(count):
    return [{"properties": {f"p{i}": {}}, "required": [f"p{i}"]} for i in range(count)]


@pytest.mark.parametrize(("keyword", "count"), [("anyOf", 5), ("oneOf", 60)])
def test_as_many_branches_are_exact(keyword, count):
    schema = {keyword: branches(count), "unevaluatedProperties": False}
    assert holds(schema, {"p3": 1})
    assert holds(schema, {"p3": 1, "p4": 1}) == (keyword == "anyOf")
    assert not holds(schema, {"p3": 1, "other": 1})
    assert not holds(schema, {})


@pytest.mark.parametrize(("keyword", "count"), [("anyOf", 9), ("oneOf", 70)])
@pytest.mark.parametrize("unevaluated", ["unevaluatedProperties", "unevaluatedItems"])
def test_more_are_refused_with_their_place(keyword, count, unevaluated):
    schema = {
        keyword: [{**branch, "prefixItems": [{}] * i, "minItems": i} for i, branch in enumerate(branches(count), 1)]
    }
    if unevaluated == "unevaluatedItems":
        schema[keyword] = [{"contains": {"const": i}} for i in range(count)]
    with pytest.raises(SchemaError) as caught:
        lowered({"items": {**schema, unevaluated: False}})
    assert (caught.value.pointer, caught.value.keyword) == ("/items", unevaluated)


def test_branches_that_evaluate_nothing_cost_nothing():
    schema = {
        "anyOf": [{"minProperties": i} for i in range(50)],
        "properties": {"a": {}},
        "unevaluatedProperties": False,
    }
    assert holds(schema, {"a": 1})
    assert not holds(schema, {"b": 1})


def test_branches_that_evaluate_the_same_are_one_case():
    schema = {
        "anyOf": [{"properties": {"a": {"const": i}}, "required": ["a"]} for i in range(50)],
        "unevaluatedProperties": False,
    }
    assert holds(schema, {"a": 49})
    assert not holds(schema, {"a": 50})
    assert not holds(schema, {"a": 1, "b": 1})


def test_contains_evaluates_items_from_2020_12_on():
    schema = {"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}
    assert holds(schema, [1, 2, 1])
    assert not holds({"$schema": DRAFT[2019], **schema}, [1, 2, 1])


def test_applicators_that_nest_deep_and_evaluate_again_are_refused_not_a_crash():
    schema = {"properties": {"a": True}}
    for i in range(1000):
        schema = {"anyOf": [schema, {"minItems": i}], "unevaluatedProperties": False}
        for _ in range(3):
            schema = {"allOf": [schema]}
    lowering = lowered(schema, unsupported="record")
    assert all(keyword == "unevaluatedProperties" for _, keyword in lowering.unenforced)
    chain = {"properties": {"a": True}}
    for _ in range(200):
        chain = {"allOf": [chain]}
    with pytest.raises(SchemaError, match="too many ways"):
        lowered({**chain, "unevaluatedProperties": False})
