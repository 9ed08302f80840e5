"""Completions that count required members: the text is the one that spells them, and each of its tokens lowers the bound by one.

The oracle is the same index with a threshold so high that every member is spelled.
"""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.pushdown import witness
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.test_budget_theorem import follow
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import BYTES

MANY = settings(
    max_examples=examples(80, by_default=5),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
FEW = settings(MANY, max_examples=examples(30, by_default=5))
# Tokens that would cross the beginning or end of a member.
PAIRS = [b',"', b'":', b'0,"', b'2,"', b'","', b'",', b'"}', b"}}", b"},", b'},"', b"],", b"000", b'{"', b"  ", b"aa"]
CROSSING = Vocabulary([*(bytes([value]) for value in range(256)), *PAIRS, None], eos=[256 + len(PAIRS)])
VALUES: list[Any] = [
    {},
    {"const": 0},
    {"type": "integer", "minimum": 12},
    {"type": "string"},
    {"type": "string", "minLength": 3},
    {"type": "string", "minLength": 300},
    {"type": "string", "pattern": '^,a,"b'},
    {"enum": ["ab", [1, "x"]]},
    {"type": "array", "minItems": 2, "uniqueItems": True},
    {"type": "object", "required": ["a"]},
    {"type": "object", "minProperties": 2},
    {"type": "array", "items": {"type": "array"}, "minItems": 150},
]
NAMES = ["a", "b", "aa", "ab", "a0", 'q"', "é", "\n", "x1", "x2", "x3", "x4"]


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with required names, among others."""
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "required": st.tuples(st.permutations(NAMES), st.integers(0, 12)).map(lambda drawn: drawn[0][: drawn[1]]),
        },
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "1$"]), inner, max_size=1),
            "minProperties": st.integers(0, 14),
            "maxProperties": st.integers(12, 16),
        },
    )


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects, and arrays and alternatives of them."""
    items = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner, "minItems": st.integers(1, 2)},
        optional={"uniqueItems": st.booleans()},
    )
    return st.one_of(objects(inner), items, st.lists(inner, min_size=2, max_size=2).map(lambda parts: {"anyOf": parts}))


SCHEMAS = st.recursive(
    objects(st.sampled_from(VALUES)), lambda inner: around(inner | st.sampled_from(VALUES)), max_leaves=4
)


def index_of(schema: Any, vocabulary: Vocabulary, order: str, whitespace: str) -> Index:
    """The index of a schema."""
    return compile_spec(JsonSchema(schema, property_order=order, whitespace=whitespace), vocabulary)


def first_token(index: Index, state: int) -> bytes:
    """The completion's next token."""
    assert isinstance(index.tables, PushdownIndex)
    budgets = index.tables._budgets(index.tables._cache)
    return budgets._completions.first(budgets._text_configuration(state))


@MANY
@given(
    SCHEMAS,
    st.sampled_from([BYTES, CROSSING]),
    st.sampled_from(["schema", "any"]),
    st.sampled_from(["compact", "flexible", "pretty(1)"]),
    st.sampled_from([1, 2, 5]),
    st.integers(0, 20),
    st.integers(0, 2**32),
)
def test_the_text_is_the_one_that_spells_all_members(
    schema: Any, vocabulary: Vocabulary, order: str, whitespace: str, threshold: int, walked: int, seed: int
) -> None:
    draw = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(witness, "_COUNTED_FROM", threshold)
        try:
            index = index_of(schema, vocabulary, order, whitespace)
            spelling = index_of(schema, vocabulary, order, whitespace)
            state, left = index.initial, index.remaining(index.initial) + 40
            text = b""
            for _ in range(walked):
                tokens = [token for token in bits(index.mask_within(state, left)) if token not in vocabulary.eos]
                if not tokens:
                    break
                token = draw.choice(tokens)
                text += vocabulary[token] or b""
                state, left = index.next(state, token), left - 1
            left = index.remaining(state)
            patch.setattr(witness, "_COUNTED_FROM", 10**9)
            other, read = spelling.tables.trace(spelling.initial, text)
            assert read == len(text)
            expected = spelling.remaining(other)
        except (SchemaError, LimitError):
            reject()
        spelled = b""
        while spelling.remaining(other):
            token = first_token(spelling, other)
            spelled += token
            other = spelling.next(other, vocabulary.tokens.index(token))
        patch.setattr(witness, "_COUNTED_FROM", threshold)
        assert left == expected or vocabulary is not BYTES
        counted = b""
        while left:
            token = first_token(index, state)
            if draw.random() < 8 / left:
                assert vocabulary.tokens.index(token) in bits(index.mask_within(state, left))
            counted += token
            state = index.next(state, vocabulary.tokens.index(token))
            left -= 1
            assert index.remaining(state) == left
        assert index.is_accepting(state)
        assert counted == spelled


@FEW
@given(SCHEMAS, st.sampled_from([1, 2, 5]), st.integers(0, 20), st.integers(0, 2**32))
def test_texts_end_within_their_budget(schema: Any, threshold: int, spare: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(witness, "_COUNTED_FROM", threshold)
        try:
            index = index_of(schema, CROSSING, "schema", "compact")
            index.remaining(index.initial)
        except (SchemaError, LimitError):
            reject()
        follow(index, random.Random(seed), spare)


def test_ten_thousand_names_take_few_steps() -> None:
    """Also after other names, and within a name that many tokens continue."""
    schema = {"type": "object", "required": [f"n{number}" for number in range(10_000)]}
    guide = compile_spec(JsonSchema(schema, whitespace="compact"), BYTES, Limits(call_steps=150_000)).guide()
    left = len(json.dumps(dict.fromkeys(schema["required"], 0), separators=(",", ":")))
    assert guide.remaining == left
    for byte in b'{"n7000":0,"other":[],"n':
        guide.advance(byte)
        assert guide.mask_within(guide.remaining).any()
    assert guide.remaining == left - len(b'{"n7000":0,"n')


def test_arguments_of_calls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells and controls that counted members make within another text belong to the machine of their value."""
    names = [f"n{number}" for number in range(12)]
    values: dict[str, Any] = {name: {"enum": [number % 3, "x"]} for number, name in enumerate(names)}
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"tool{most}",
                "parameters": {
                    "type": "object",
                    "properties": {"a": {"type": "object", "properties": values, "required": names[most:]}},
                    "required": ["a"],
                },
            },
        }
        for most in range(2)
    ]
    spec = Tools(tools, "hermes", tool_choice="required")
    expected = compile_spec(spec.inventory(), BYTES)
    left = expected.remaining(expected.initial)
    monkeypatch.setattr(witness, "_COUNTED_FROM", 3)
    index = compile_spec(spec.inventory(), BYTES)
    assert index.remaining(index.initial) == left
    assert isinstance(index.tables, PushdownIndex)
    assert index.tables._cache.budgets._completions._members
    for spare in (0, 3, 40):
        follow(index, random.Random(spare), spare)
