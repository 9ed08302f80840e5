"""Strings and numbers but some: items that differ from those before them, and constants that a schema excludes."""

import json
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import SchemaError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.formula.exact import number_bodies
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
ENDLESS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": "number"},
    {"type": "integer", "minimum": -3},
    {"type": "number", "maximum": 1.5},
    {"type": "number", "multipleOf": 0.25},
    {"type": "string"},
    {"type": "string", "minLength": 2},
    {"type": "string", "pattern": "^a*b$"},
]
NARROW: list[dict[str, Any]] = [
    {"type": "integer", "minimum": -2, "maximum": 11},
    {"type": "integer", "minimum": 0, "maximum": 120, "multipleOf": 5},
    {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25},
    {"type": "number", "minimum": 9.75, "maximum": 10, "multipleOf": 0.0625},
    {"type": "string", "maxLength": 0},
    {"type": "string", "maxLength": 1},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "pattern": "^[ab]{1,2}$"},
    {"type": "string", "pattern": "^(?:ab?|ba)$", "minLength": 2},
    {"type": "string", "pattern": '^[a\u00e4\u20ac"\\\\]?$'},
    {"type": "string", "enum": ["a", "ab", "b", ""]},
    {"enum": [1, 1.5, "1", 10, "10", None]},
]


def array(items: dict[str, Any]) -> Index:
    return compile_spec(JsonSchema({"type": "array", "items": items, "uniqueItems": True}), BYTES)


def walk(index: Index, draw: random.Random, most: int) -> bytes | None:
    """A text by random bytes that prefers the beginnings of items that have been; None where it has not ended after ``most``."""
    guide, text = index.guide(), b""
    for _ in range(most):
        allowed = index.allowed(guide.state).tolist()
        assert allowed, text
        if 256 in allowed:
            return text
        items = text.rpartition(b",")[0][1:].split(b",")
        begun = text.rpartition(b",")[2].lstrip(b"[")
        again = {item[len(begun)] for item in items if item.startswith(begun) and len(item) > len(begun)}
        plain = [token for token in allowed if 0x21 <= token < 0x7F or token in again]
        token = draw.choice([token for token in plain if token in again] or plain or allowed)
        if draw.random() < 0.3:
            token = draw.choice(plain or allowed)
        guide.advance(token)
        text += bytes([token])
    return None


@pytest.mark.parametrize("items", [*ENDLESS, *NARROW], ids=lambda items: json.dumps(items))
@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 1 << 32))
def test_walks_end_in_items_that_differ(items: dict[str, Any], seed: int) -> None:
    index = array(items)
    text = walk(index, random.Random(seed), 80)
    if text is not None:
        value = json.loads(text, parse_float=Decimal)
        assert index.accepts(text)
        schema = {"type": "array", "items": items, "uniqueItems": True}
        jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        assert isinstance(value, list)


@st.composite
def numbers(draw: st.DrawFn) -> str:
    whole = draw(st.sampled_from(["0", "1", "2", "9", "10", "11", "100", "-0", "-1", "-2", "5", "55"]))
    return whole + draw(st.sampled_from(["", ".0", ".5", ".50", ".25", ".05", ".00"]))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from([*ENDLESS[:5], *NARROW[:4]]), st.lists(numbers(), min_size=1, max_size=7))
def test_numbers_that_must_differ_are_compared_by_value(items: dict[str, Any], texts: list[str]) -> None:
    values = [Fraction(text) for text in texts]
    bounds = items.get("minimum", -(10**9)), items.get("maximum", 10**9)
    step = Fraction(str(items.get("multipleOf", "0.000001")))
    is_valid = len(set(values)) == len(values) and all(
        Fraction(str(bounds[0])) <= value <= Fraction(str(bounds[1]))
        and value % step == 0
        and (items["type"] == "number" or "." not in text)
        for value, text in zip(values, texts, strict=True)
    )
    assert array(items).accepts("[" + ",".join(texts) + "]") == is_valid


@settings(max_examples=examples(200), deadline=None)
@given(
    st.sampled_from([items for items in [*ENDLESS, *NARROW] if items.get("type") == "string"]),
    st.lists(st.text('ab\u00e4\u20ac"\\', max_size=3), min_size=1, max_size=7),
)
def test_strings_that_differ(items: dict[str, Any], values: list[str]) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True}
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    assert array(items).accepts(text) == jsonschema.Draft202012Validator(schema).is_valid(values)


@pytest.mark.parametrize("items", NARROW, ids=lambda items: json.dumps(items))
def test_all_values_of_a_narrow_type_can_be_had_once(items: dict[str, Any]) -> None:
    if items in ({"type": "string", "maxLength": 1}, {"type": "string", "minLength": 1, "maxLength": 2}):
        pytest.skip("a million values")
    index, guide, text, n_items = array(items), None, b"[", 0
    while True:
        # The last text of an item, as bytes go, until there is none.
        guide = index.guide()
        assert guide.advance_many(text) == len(text)
        before = text
        while not text.endswith((b"]", b",")) or text == before:
            plain = [
                token for token in index.allowed(guide.state).tolist() if token > 0x20 and (token != 0x5D or n_items)
            ]
            ends = [token for token in (0x2C, 0x5D) if token in plain and text != before]
            token = ends[0] if ends else max({*plain} - {0x5D}, default=0x5D)
            guide.advance(token)
            text += bytes([token])
        if text.endswith(b"]"):
            break
        n_items += 1
        assert n_items < 60
    values = json.loads(text)
    assert jsonschema.Draft202012Validator({"items": items, "uniqueItems": True}).is_valid(values)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 0, "maximum": 2, "not": {"enum": [0, 1, 2]}},
        {"type": "string", "maxLength": 0, "not": {"const": ""}},
        {"type": "string", "pattern": "^[ab]$", "not": {"enum": ["a", "b"]}},
        {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.5, "not": {"enum": [0, 1, 0.5]}},
    ],
)
def test_nothing_is_left(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="no value satisfies"):
        compile_spec(JsonSchema(schema), BYTES)


@pytest.mark.slow
def test_bounded_walks_are_never_stuck() -> None:
    schema = {
        "type": "array",
        "items": {"type": "integer", "minimum": 0, "maximum": 12},
        "uniqueItems": True,
        "minItems": 11,
    }
    index = compile_spec(JsonSchema(schema), BYTES)
    for seed in range(2):
        guide, draw = index.guide(), random.Random(seed)
        left = guide.remaining + 20
        while not guide.is_accepting:
            mask = guide.mask_within(max(left, guide.remaining))
            tokens = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
            assert tokens
            token = draw.choice(tokens)
            guide.advance(token)
            left -= 1


@given(st.fractions(max_denominator=64) | st.decimals(allow_nan=False, allow_infinity=False, places=6).map(Fraction))
def test_bodies_of_numbers_have_their_value(value: Fraction) -> None:
    bodies = number_bodies(value)
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    assert bool(bodies) == (denominator == 1)
    for body in bodies:
        assert Fraction(body.decode()) == value
        assert not body.endswith(b".")
        assert b"." not in body or not body.endswith(b"0")


@pytest.mark.slow
@pytest.mark.parametrize(
    "items",
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "integer", "minimum": 0, "maximum": 10**6},
        {"type": "string"},
        {"type": "string", "maxLength": 9},
    ],
)
def test_a_further_item_makes_as_much_known_after_many_as_after_few(items: dict[str, Any]) -> None:
    index = compile_spec(
        JsonSchema({"type": "array", "items": items, "uniqueItems": True}), BYTES, Limits(growth_bytes=1 << 40)
    )
    draw = random.Random(3)
    values = list(dict.fromkeys(draw.randrange(10_000, 100_000) for _ in range(500)))
    assert isinstance(index.tables, PushdownIndex)
    guide, sizes = index.guide(), list[int]()
    guide.advance(ord("["))
    for count, value in enumerate(values[:400], start=1):
        text = json.dumps(str(value) if items["type"] == "string" else value) + ","
        for token in text.encode():
            assert guide.mask().any()
            guide.advance(token)
        if count % 100 == 0:
            sizes.append(index.tables.n_bytes)
    grown = np.diff(sizes)
    assert grown[-1] < 1.3 * grown[0]


@pytest.mark.parametrize("items", [{"enum": ["a", "b"]}, {"type": "string", "pattern": "^[ab]$"}])
def test_a_second_spelling_is_not_another_value(items: dict[str, Any]) -> None:
    schema = {"type": "array", "items": items, "uniqueItems": True}
    index = compile_spec(JsonSchema(schema, escapes="any"), BYTES)
    guide = index.guide()
    assert guide.advance_many(b'["a","b"') == 8
    assert not index.accepts(b'["a","b","\\u0061"]')
    assert guide.explain(ord(",")).allowed is False
    assert guide.explain(ord("]")).allowed


def without(words: list[str], **more: Any) -> Index:
    return compile_spec(
        JsonSchema({"type": "array", "items": {"type": "string", "not": {"enum": words}}, **more}), BYTES
    )


@pytest.mark.parametrize("more", [{}, {"uniqueItems": True}])
def test_many_excluded_strings_are_excluded_within_the_steps_of_a_call(more: dict[str, Any]) -> None:
    draw = random.Random(1)
    words = sorted({"".join(draw.choices("abcdefgh", k=9)) for _ in range(2_000)})
    index = without(words, **more)
    for word in draw.sample(words, 20):
        assert index.accepts(json.dumps([word + "a", word[:-1], "x"]))
        assert not index.accepts(json.dumps(["x", word]))


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=2),
    st.sets(st.sampled_from(["", "a", "!", "ab", "abc", "é"]), min_size=1),
)
def test_the_shortest_of_all_strings_but_some(lengths: list[tuple[int, int]], but: set[str]) -> None:
    either = [{"minLength": least, "maxLength": most} for least, most in lengths]
    schema = {"type": "string", "anyOf": either, "not": {"enum": sorted(but)}}
    found = [max(least, "" in but) for least, most in lengths if max(least, "" in but) <= most]
    if not found:
        with pytest.raises(SchemaError, match="no value satisfies"):
            compile_spec(JsonSchema(schema), BYTES)
        return
    assert compile_spec(JsonSchema(schema), BYTES).guide().remaining == 2 + min(found)
