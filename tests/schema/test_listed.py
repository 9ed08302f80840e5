"""Large enumerations of objects and arrays (`guided.schema.containers.listed`), against the disjunction of their members.

``anyOf`` of constants has the same values, the same order of names and the same spellings, and is one alternative for each.
"""

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.keywords.enumerations import _MANY
from guided.schema.numbers.automaton import number_automaton
from guided.schema.numbers.spelling import number_bodies
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.distinguished import distinguished_numbers, distinguished_strings
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples

PARTS = [b'{"', b'":', b'",', b"],", b"1,", b'": ', b"}]", b'"a":', b'"b', b"00", b"true", b"[1", b'"}', b"0}"]
TOKENS = [*(bytes([value]) for value in range(256)), *PARTS]
WORDS = Vocabulary([*TOKENS, None], eos=[len(TOKENS)])
FEWER = Vocabulary([*(None if token in (b"\xc3", b"~") else token for token in TOKENS), None], eos=[len(TOKENS)])
SCALARS = st.sampled_from(
    [0, 1, 1.5, -1, 10, 100, 1.05, 1.25, -0.5, True, False, None, "a", "ab", "b", "", "é", "\v", '"', "a\n", 10**20, 1e-3]
)  # fmt: skip
NAMES = st.sampled_from(["a", "b", "ab", "c", "é"])
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=3),
    max_leaves=6,
)
# Enough arrays to be a large enumeration.
PADDING: list[Any] = [["p", i // 8, i % 8] for i in range(_MANY + 1)]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"whitespace": "compact"},
    {"whitespace": "pretty(1)"},
    {"whitespace": "[ ]?"},
    {"property_order": "any"},
    {"numbers": "any"},
    {"numbers": "dumps"},
    {"escapes": "any"},
    {"escapes": "dumps"},
]
# What surrounds the enumeration.
SHAPES: list[Any] = [
    lambda inner: inner,
    lambda inner: {"type": ["object", "array", "null"], **inner},
    lambda inner: {"type": "array", "items": inner, "maxItems": 2},
    lambda inner: {"type": "object", "properties": {"x": inner, "y": inner}, "required": ["y"], "additionalProperties": False},
    lambda inner: {"anyOf": [inner, {"type": "null"}]},
    lambda inner: {"allOf": [inner, {"minProperties": 1}]},
    lambda inner: {"allOf": [{"not": {"const": ["p", 0, 0]}}, inner]},
    lambda inner: {"type": "array", "items": inner, "uniqueItems": True, "maxItems": 2},
]  # fmt: skip


@given(
    st.lists(VALUES, min_size=1, max_size=10),
    st.sampled_from(SHAPES),
    st.sampled_from(OPTIONS),
    st.booleans(),
    st.randoms(),
)
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_masks_and_budgets_are_those_of_the_disjunction(
    values: list[Any], shape: Any, options: dict[str, Any], is_whole: bool, chance: random.Random
) -> None:
    words = WORDS if is_whole else FEWER
    listed = [*values, *PADDING]
    index = compile_spec(JsonSchema(shape({"enum": listed}), **options), words)
    other = compile_spec(JsonSchema(shape({"anyOf": [{"const": value} for value in listed]}), **options), words)
    for _ in range(2):
        one, two = index.guide(), other.guide()
        left = one.remaining + chance.randrange(8)
        while True:
            assert bits(one.mask()) == bits(two.mask())
            assert one.remaining <= left
            allowed = bits(one.mask_within(left))
            assert allowed
            token = chance.choice(allowed)
            if token in words.eos:
                break
            one.advance(token)
            two.advance(token)
            left -= 1


@given(st.lists(VALUES, min_size=1, max_size=10), VALUES, st.sampled_from(OPTIONS))
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
def test_the_texts_are_those_of_the_values(values: list[Any], value: Any, options: dict[str, Any]) -> None:
    index = compile_spec(JsonSchema({"enum": [*values, *PADDING]}, **{**options, "property_order": "any"}), WORDS)
    for one in (*values, value, PADDING[-1], [*PADDING[0], 1]):
        is_pretty = options.get("whitespace") == "pretty(1)"
        spelled = json.dumps(
            one, separators=None if is_pretty else (",", ":"), indent=1 if is_pretty else None, ensure_ascii=False
        )
        if any(exponent in spelled for exponent in ("e-", "e+")) or "\v" in spelled:
            continue
        assert index.accepts(spelled) == any(_equal(one, known) for known in (*values, *PADDING))


def _equal(one: Any, two: Any) -> bool:
    """JSON Schema's equality: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True) or (
        isinstance(one, int | float)
        and isinstance(two, int | float)
        and not isinstance(one, bool)
        and not isinstance(two, bool)
        and one == two
    )


def test_distinguished_numbers_are_spelled_as_by_formulas() -> None:
    """Among them prefixes of each other, and zeros that end one number and are within another."""
    formulas = Formulas()
    numbers = [Fraction(text) for text in ("0", "1", "10", "1.5", "1.05", "1.005", "-1", "-0.5", "100", "0.001")]
    single = [formulas.atom(("equals", number)) for number in numbers]
    wanted = number_automaton(formulas, (formulas.disjunction(single), *single), JsonOptions(), Limits())
    found = distinguished_numbers([number_bodies(number) for number in numbers])
    for text in (
        b"0",
        b"-0",
        b"0.0",
        b"1",
        b"1.",
        b"1.0",
        b"1.00",
        b"1.005",
        b"1.0050",
        b"1.050",
        b"10",
        b"10.0",
        b"-1.0",
        b"01",
        b"1.5",
        b"2",
    ):
        label = _label(wanted.automaton, text)
        assert _label(found, text) == (_bit(wanted.bits(label)) if label >= 0 else -1)


def test_distinguished_strings_are_spelled_as_by_formulas() -> None:
    for escapes in ("canonical", "any", "dumps"):
        options, formulas = JsonOptions(escapes=escapes), Formulas()
        texts = ["", "a", "ab", "b", "é", "\v", "a\n"]
        single = [formulas.atom(("strings", (text,))) for text in texts]
        wanted = string_automaton(formulas, (formulas.disjunction(single), *single), options, Limits())
        found = distinguished_strings(texts, options, Limits())
        for body in (
            b"",
            b"a",
            b"ab",
            b"\\u0061",
            b"\\u000b",
            b"\\u000B",
            b"\\n",
            b"a\\n",
            "é".encode(),
            b"\\u00e9",
            b"c",
        ):
            label = _label(wanted.automaton, body)
            assert _label(found, body) == (_bit(wanted.bits(label)) if label >= 0 else -1)


def _label(automaton: Any, body: bytes) -> int:
    """The label of a text; -1 if it is not accepted."""
    state = 0
    for byte in body:
        state = int(automaton.table[state, automaton.classes[byte]])
        if state < 0:
            return -1
    return int(automaton.labels[state]) if automaton.accepting[state] else -1


def _bit(vector: int) -> int:
    return vector.bit_length() - 1


MAKERS: dict[str, Callable[[int], Any]] = {
    "objects": lambda i: {"id": i, "name": f"thing {i}", "tags": [i % 7, "x"]},
    "arrays": lambda i: [i, i % 7, "x"],
    "names": lambda i: {"name": f"thing {i}", "at": {"x": i % 100, "y": i // 100}},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(MAKERS))
def test_20_000_values_pass_no_budget(kind: str) -> None:
    """With the default limits, and the index keeps what the texts need."""
    make = MAKERS[kind]
    values = [make(i) for i in range(20_000)]
    index = compile_spec(JsonSchema({"enum": values}, whitespace="compact"), WORDS)
    chance = random.Random(kind)
    for slack in (0, 5, 40):
        guide, tokens = index.guide(), list[int]()
        left = guide.remaining + slack
        while True:
            token = chance.choice(bits(guide.mask_within(left)))
            if token in WORDS.eos:
                break
            guide.advance(token)
            tokens.append(token)
            left -= 1
        assert json.loads(b"".join(TOKENS[token] for token in tokens)) in values
    for value in (values[0], values[-1], make(20_000)):
        assert index.accepts(json.dumps(value, separators=(",", ":"))) == (value in values)
