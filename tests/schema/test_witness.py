"""Ways to an end: from every place that random bytes lead to, the budget that `remaining` tells is enough for a value of the schema."""

import json
import random
from typing import Any, cast

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import guided
from tests.masks import bits

BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])

# The alternatives of a member's value contradict each other in many ways, and only one can be met.
EXCLUSIVE: dict[str, Any] = {
    "oneOf": [
        {"enum": [{"type": "void"}]},
        {
            "properties": {"type": {}},
            "additionalProperties": False,
            "dependencies": {
                "format": {"oneOf": [{"properties": {"type": {"enum": [name]}}} for name in ("integer", "number", "string")]},
                "minimum": {"properties": {"type": {"enum": ["number"]}}},
                "maximum": {"properties": {"type": {"enum": ["number"]}}},
            },
        },
        {"properties": {"type": {"not": {"enum": ["array"]}}}, "additionalProperties": False},
    ],
}  # fmt: skip
# What is required comes last, and something has to come before it.
LATE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {}, "b": {}, "kind": {"type": "string"}},
    "required": ["kind"],
    "additionalProperties": False,
    "not": {"properties": {"a": {"maxLength": 3}, "b": {"type": "null"}}},
}
# One of many objects, each with members of its own.
KINDS: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "attributes": {"type": "object", "properties": {f"of{i}": {"type": "integer"}}, "required": [f"of{i}"]},
                "parents": {"type": "array", "items": {"type": "string"}, "minItems": i % 3},
                "kind": {"enum": [f"kind{i % 2}"]},
            },
            "required": ["kind", *(["parents"] if i % 2 else [])],
        }
        for i in range(8)
    ]
}

# So many observed formulas that not all of their truths are compared. One item may satisfy all, several, or one.
NESTED: list[dict[str, Any]] = [{"type": "string", "minLength": i} for i in range(10)]
APART: list[dict[str, Any]] = [{"const": i} for i in range(5)]
CROSSED: list[dict[str, Any]] = [{"multipleOf": i, "type": "integer", "minimum": i} for i in range(2, 8)]


def containing(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "array", "allOf": [{"contains": item} for item in items]}


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize(
    "schema",
    [EXCLUSIVE, LATE, KINDS, containing(NESTED), containing(NESTED[5:] + APART), containing(CROSSED + NESTED[6:])],
    ids=["exclusive", "late", "kinds", "nested", "apart", "crossed"],
)
def test_the_remaining_budget_suffices_from_every_reached_state(schema: dict[str, Any], order: str) -> None:
    check_budgets(schema, order, n_texts=25)


@st.composite
def counted_objects(draw: st.DrawFn) -> dict[str, Any]:
    """Objects of few names with required ones and a number of members."""
    names = "abcdef"[: draw(st.integers(1, 6))]
    values = st.sampled_from([True, {"type": "integer"}, {"enum": ["xx", "y"]}])
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: draw(values) for name in names},
        "required": draw(st.lists(st.sampled_from(names), unique=True)),
        "minProperties": draw(st.integers(0, len(names))),
        "additionalProperties": draw(st.sampled_from([True, False, {"type": "null"}])),
    }
    if draw(st.booleans()):
        found["maxProperties"] = draw(st.integers(max(found["minProperties"], len(found["required"])), 7))
    if draw(st.booleans()):
        found["patternProperties"] = {"^[bd]": {"type": ["integer", "string"]}}
    return found


# Behind the name that is required there are too few others.
LAST: dict[str, Any] = {
    "type": "object",
    "properties": {"a": True, "b": True, "c": {"enum": ["x"]}},
    "required": ["c"],
    "minProperties": 3,
    "additionalProperties": False,
}


@given(counted_objects(), st.sampled_from(["schema", "any"]))
@example(LAST, "schema")
@example({**LAST, "maxProperties": 5, "required": ["b", "c"]}, "schema")
def test_the_remaining_budget_suffices_for_counted_members(schema: dict[str, Any], order: str) -> None:
    check_budgets(schema, order, n_texts=2)


def check_budgets(schema: dict[str, Any], order: str, n_texts: int) -> None:
    spec = guided.JsonSchema(schema, property_order=order, whitespace="compact")
    index = guided.compile(spec, BYTES, guided.Limits(call_steps=2_000_000))
    validator = jsonschema.Draft7Validator(schema)
    for seed in range(n_texts):
        draw = random.Random(seed)
        guide, text = index.guide(), bytearray()
        for _ in range(draw.randrange(40)):
            if guide.is_finished:
                break
            token = draw.choice([token for token in bits(guide.mask()) if token == 256 or 32 <= token < 127])
            guide.advance(token)
            text += bytes([token]) if token < 256 else b""
        left = guide.remaining
        while not guide.is_finished:
            token = min(bits(guide.mask_within(left)))
            guide.advance(token)
            text += bytes([token]) if token < 256 else b""
            left -= 1
        validator.validate(json.loads(text))


def conditional(n: int, *, is_required: bool, is_refuted: bool) -> dict[str, Any]:
    """What a member of a member is decides what else has to come, each of ``n`` ways by a condition of its own."""

    def condition(i: int) -> dict[str, Any]:
        inner = {"type": "object", "properties": {"v": {"const": str(i)}}, "required": ["v"]}
        found: dict[str, Any] = {"if": {"properties": {"s": inner}, "required": ["s"]}}
        found["then"] = {"properties": {"s": {"additionalProperties": False, "properties": {"v": {}, f"w{i}": {}}}}}
        if is_required:
            found["then"]["required"] = [f"r{i}"]
        if is_refuted:
            found["else"] = {"properties": {f"r{i}": False}}
        return found

    return {
        "type": "object",
        "required": ["s"],
        "properties": {"s": {"type": "object"}},
        "allOf": [condition(i) for i in range(n)],
    }


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("is_required", [True, False])
@pytest.mark.parametrize("is_refuted", [True, False])
def test_unsatisfiable_alternatives_are_skipped_when_completing(n: int, is_required: bool, is_refuted: bool) -> None:
    """Within an object that cannot be all that is wished of it, the way out is what is not wished, and not what cannot be."""
    schema = conditional(n, is_required=is_required, is_refuted=is_refuted)
    index = guided.compile(guided.JsonSchema(schema, property_order="any", whitespace="compact"), BYTES)
    guide = index.guide()
    for byte in b'{"s":{"v":"1"':
        guide.advance(byte)
    while guide.remaining:
        left = guide.remaining
        allowed = bits(guide.mask_within(left))
        guide.advance(next(token for token in allowed if index.remaining(index.next(guide.state, token)) == left - 1))
    assert guide.is_accepting


CONTAINING: list[dict[str, Any]] = [
    {"contains": {"multipleOf": 3}},
    {"contains": {"type": "string"}, "minItems": 5},
    {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
    {"allOf": [{"contains": {"const": 1}, "minContains": 2}, {"contains": {"multipleOf": 2}}]},
    {"anyOf": [{"contains": {"pattern": "^a"}}, {"contains": {"minimum": 3}, "maxContains": 7}]},
    {"if": {"contains": {"const": 1}}, "then": {"contains": {"const": 2}}, "minItems": 2},
]


@pytest.mark.parametrize("schema", CONTAINING, ids=str)
def test_the_search_for_a_short_array_does_not_depend_on_how_many_items_are_allowed(schema: dict[str, Any]) -> None:
    taken = []
    for most in (30, 1_000_000):
        index = guided.compile(guided.JsonSchema({"type": "array", "maxItems": most, **schema}), BYTES)
        guide, tables, spent = index.guide(), cast("Any", index.tables), 0
        for piece in (b"", b"[", b"7", b","):
            guide.advance_many(piece)
            spent += guide.remaining and tables.automaton.tables.steps.spent
        taken.append(spent)
    assert taken[1] < 1.1 * taken[0]
