"""Lengths of strings are thresholds on a register: any number of them, under any keywords, with the texts and masks that words tell."""

import json
import random
import re
from collections.abc import Sequence
from itertools import product
from typing import Any, cast
from unittest.mock import patch

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from guided.automata.pushdown import BEYOND, UNLIMITED
from guided.engine.index import Index
from guided.errors import LimitError, SchemaError
from guided.index.pushdown import PushdownIndex
from guided.schema.pushdown.machine import SchemaMachine
from guided.schema.strings import counted
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import compiled, is_empty

# Tokens of the texts below; the first line spells each of them.
PIECES = [
    *'{}":,sn1ab',
    *('aa', 'ab', 'bbb', 'aaaa', '"a', '"b"', 'a"', 'aa"}', '":"', '":"a', 'b","', '","n', 'bb","n"', '"}', '{"s":"', '""', '"","'),
]  # fmt: skip
SMALL = Vocabulary([*(piece.encode() for piece in PIECES), None], eos=[len(PIECES)])
LARGE = Vocabulary(
    [*(piece.encode() for piece in PIECES), *(bytes([byte]) for byte in range(256) if chr(byte) not in PIECES), None],
    eos=[len(PIECES) + 256 - sum(len(piece) == 1 for piece in PIECES)],
)
WORDS = ["".join(letters) for n in range(10) for letters in product("ab", repeat=n)]
LENGTH = st.integers(0, 6)
# Prefixes of texts whose strings are so short that the words tell how they may continue.
TOLD = re.compile(r'\{?|\{"s?|\{"s":?|\{"s":"[ab]{0,4}(".*)?')
CONDITIONS = [
    *(st.fixed_dictionaries({name: LENGTH}) for name in ("minLength", "maxLength")),
    st.fixed_dictionaries({"minLength": LENGTH, "maxLength": LENGTH}),
]
PATTERNS = st.sampled_from(
    ["a", "^a*$", "^a*b{3}$", "^(ab)*$", "^(aaa)*$", "^[ab]{2}$", "^b?a+$", "bb", "^(a|bb)*$", "^(ab|b{2}a{3})*$", "^(a{2}|b{3})+$"]
)  # fmt: skip


def boolean(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Boolean keywords over some schemas."""

    def above(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        parts = st.lists(inner, min_size=1, max_size=3)
        return st.one_of(
            *(parts.map(lambda parts, name=name: {name: parts}) for name in ("anyOf", "oneOf", "allOf")),
            inner.map(lambda one: {"not": one}),
            st.tuples(inner, inner, inner).map(lambda parts: dict(zip(("if", "then", "else"), parts, strict=True))),
        )

    return st.recursive(leaves, above, max_leaves=5)


def objects(conditions: Sequence[st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Objects with a string, and perhaps a number; conditions on the string that are seen only when the object ends."""
    on_string = boolean(st.one_of(*conditions)).map(lambda one: {"properties": {"s": one}})
    leaves = st.one_of(on_string, on_string, st.just({"required": ["n"]}))
    return boolean(leaves).map(
        lambda condition: {
            "type": "object",
            "properties": {"s": {"type": "string"}, "n": {"const": 1}},
            "required": ["s"],
            "additionalProperties": False,
            "allOf": [condition],
        }
    )


def texts_of(schema: Any) -> list[bytes]:
    """All texts of a schema with words of few letters, whose prefixes are then those of all its texts with few letters."""
    judge = jsonschema.Draft202012Validator(schema)
    values: list[Any] = [{"s": word, **more} for word in WORDS for more in ({}, {"n": 1})]
    return [json.dumps(value, separators=(",", ":")).encode() for value in values if judge.is_valid(value)]


def check(schema: Any, vocabulary: Vocabulary, chance: random.Random) -> None:
    """Along random texts, masks are the tokens after which some text continues, and budgets are kept."""
    texts = texts_of(schema)
    try:
        index = compiled(schema, vocabulary)
    except SchemaError as error:
        if is_empty(error) and not texts:
            reject()
        raise
    prefixes = {text[:n] for text in texts for n in range(len(text) + 1)}
    for text in chance.sample(texts, min(3, len(texts))):
        state, read = index.initial, b""
        while True:
            told = [token for token, piece in enumerate(PIECES) if TOLD.fullmatch((read + piece.encode()).decode())]
            allowed = [token for token in bits(index.mask(state)) if token in told]
            assert allowed == [token for token in told if read + PIECES[token].encode() in prefixes], read
            assert index.is_accepting(state) == (read in texts)
            check_budget(index, state, vocabulary, chance)
            onward = [token for token in allowed if text.startswith(read + PIECES[token].encode())]
            if not onward:
                break
            token = chance.choice(onward)
            state, read = index.next(state, token), read + PIECES[token].encode()


def check_budget(index: Index, state: int, vocabulary: Vocabulary, chance: random.Random) -> None:
    """Following masks within what remains, the text ends in time."""
    left = index.remaining(state)
    while index.remaining(state):
        allowed = [token for token in bits(index.mask_within(state, left)) if token < vocabulary.size - 1]
        assert allowed
        state = index.next(state, chance.choice(allowed))
        left -= 1
        assert index.remaining(state) <= left
    assert index.is_accepting(state)


MANY = settings(max_examples=examples(40, by_default=8), suppress_health_check=[*HealthCheck], deadline=None)


@MANY
@given(objects(CONDITIONS), st.sampled_from([SMALL, LARGE]), st.randoms(use_true_random=False))
def test_lengths_that_are_observed(schema: Any, vocabulary: Vocabulary, chance: random.Random) -> None:
    check(schema, vocabulary, chance)


@MANY
@given(
    objects(
        [*CONDITIONS, PATTERNS.map(lambda pattern: {"pattern": pattern}), st.just({"enum": ["a", "bab", "aaaaa"]})]
    ),
    st.sampled_from([SMALL, LARGE]),
    st.randoms(use_true_random=False),
)
def test_lengths_beside_patterns(schema: Any, vocabulary: Vocabulary, chance: random.Random) -> None:
    check(schema, vocabulary, chance)


SHORTEST = st.sampled_from(["^.{2,4}$", "a", "^b?a+$", "bb", "^[ab]{2}$", "^a*b{3}$"])
UNLIKE = st.fixed_dictionaries({"pattern": PATTERNS, "minLength": st.integers(1, 3)})


@MANY
@given(
    SHORTEST,
    LENGTH,
    UNLIKE,
    st.sampled_from(["not", "anyOf", "oneOf", "if"]),
    st.sampled_from([SMALL, LARGE]),
    st.randoms(use_true_random=False),
)
@example("^.{2,4}$", 5, {"pattern": "^a*$", "minLength": 1}, "not", SMALL, random.Random(1))
@example("a", 5, {"pattern": "^b?a+$", "minLength": 1}, "not", LARGE, random.Random(1))
@example("a", 5, {"pattern": "^b?a+$", "minLength": 1}, "oneOf", LARGE, random.Random(1))
@example("bb", 5, {"pattern": "bb", "minLength": 2}, "if", LARGE, random.Random(1))
def test_conditions_that_hold_only_below_the_shortest_string(
    pattern: str, most: int, unlike: Any, keyword: str, vocabulary: Vocabulary, chance: random.Random
) -> None:
    short = {"pattern": pattern, "maxLength": most}
    condition = {
        "not": {**short, "not": unlike},
        "anyOf": {"anyOf": [short, unlike], "maxLength": 6},
        "oneOf": {"oneOf": [short, unlike], "maxLength": 6},
        "if": {"if": unlike, "then": {"maxLength": 1}, "else": short},
    }[keyword]
    properties = {"s": {"type": "string", **condition}, "n": {"const": 1}}
    check(
        {"type": "object", "properties": properties, "required": ["s"], "additionalProperties": False},
        vocabulary,
        chance,
    )


def test_a_string_that_is_no_format_and_short() -> None:
    schema = {"type": "string", "pattern": "^.{2,4}$", "maxLength": 5, "not": {"format": "hostname"}}
    index = compiled(schema, LARGE)
    assert index.accepts('"-a"')
    assert not index.accepts('"aa"')
    assert index.remaining(index.initial)


@pytest.mark.parametrize("rows", [0, 2, 2048])
def test_a_greatest_length_beside_a_pattern_whose_sets_of_states_recur_late(rows: int) -> None:
    with patch.object(counted, "_ROWS", rows):
        index = compiled({"type": "array", "items": {"type": "string", "pattern": "^[a-z]{0,30}x$", "maxLength": 12}})
        for length in range(35):
            assert index.accepts(b'["' + b"a" * length + b'x"]') == (length < 12)
        assert index.remaining(index.initial) == 2


def test_tokens_beyond_a_greatest_length_have_no_completion() -> None:
    """Such a token stays in the automaton without lengths: its class must not break the budget of the others."""
    observed = {"anyOf": [{"minLength": 1}, {"pattern": "a"}]}
    schema = {
        "type": "object",
        "properties": {"s": {"type": "string"}, "n": {"const": 1}},
        "required": ["s"],
        "additionalProperties": False,
        "allOf": [
            {"properties": {"s": {"maxLength": 0}}},
            {"if": {"properties": {"s": observed}}, "then": {"required": ["n"]}},
        ],
    }
    for vocabulary in (SMALL, LARGE):
        check(schema, vocabulary, random.Random(0))


def register(allowed: int, count: int) -> int:
    """The code points still allowed after some."""
    return allowed if allowed == UNLIMITED else max(allowed - count, BEYOND) if allowed > BEYOND else allowed - count


@MANY
@given(
    boolean(st.one_of(*CONDITIONS, PATTERNS.map(lambda pattern: {"pattern": pattern}))),
    st.sampled_from([{}, {"maxLength": 20}, {"minLength": 12}]),
)
def test_bounds_are_those_of_the_unrolled_automaton(condition: Any, more: dict[str, int]) -> None:
    try:
        index = compiled({"type": "string", "allOf": [condition, more]})
    except SchemaError:
        reject()
    assert isinstance(index.tables, PushdownIndex)
    machine = cast("SchemaMachine", index.tables.automaton)
    context = machine.context
    strings = context.leaves.strings((context.typed(context.lowering.root, "string"),)).counted
    if strings is None:
        return
    sources, targets = strings.edges
    last, n = strings.starts[-1], len(strings.between)
    # From here on each set of states recurs, and nothing changes with the length.
    longest = last + 4 * n + 40
    live = np.zeros((longest + 2, n), np.bool_)
    for count in reversed(range(longest + 1)):
        interval = max(i for i, start in enumerate(strings.starts) if start <= count)
        live[count] = strings.ends(interval, lambda _: True)
        live[count, sources[live[count + 1][targets]]] = True
    met = np.arange(n) == 0
    for count in range(last + 20):
        allowed = register(strings.registers[1], count)
        for state in np.flatnonzero(met).tolist():
            if count == 0 or live[count, state] or live[count - 1][sources[targets == state]].any():
                assert (allowed >= strings.allowed[strings.between[state]]) == live[count, state]
        # Only through live states: no string continues from others.
        after = np.zeros_like(met)
        after[targets[(met & live[count])[sources]]] = True
        met = after


def sizes(first: int, least: int, most: int, pattern: str | None = None) -> dict[str, Any]:
    """An object whose string may be long in one way or in another; which of them holds is seen at its end."""
    more = {"pattern": pattern} if pattern is not None else {}
    return {
        "anyOf": [
            {"properties": {"s": {"maxLength": first}}},
            {
                "properties": {"s": {"minLength": least, "maxLength": most, **more}, "n": {"type": "integer"}},
                "required": ["n"],
            },
        ]
    }


def walked(index: Index, length: int) -> int:
    """Read a string of a length and what may follow; return the number of controls made on the way."""
    guide = index.guide()
    guide.advance_many(b'{"s":"')
    for at in range(length):
        if at % 1000 < 3:
            guide.mask()
        guide.advance(ord("a"))
    guide.mask()
    guide.advance_many(b'","n":1}')
    assert index.is_accepting(guide.state)
    assert isinstance(index.tables, PushdownIndex)
    return index.tables.automaton.tables.n_controls


def test_states_do_not_depend_on_the_lengths() -> None:
    small, large = compiled(sizes(6, 3, 9)), compiled(sizes(32_767, 5, 70_000))
    assert walked(large, 30_000) == walked(small, 4)
    assert not large.accepts(b'{"s":"' + b"a" * 32_768 + b'"}')
    assert large.accepts(b'{"s":"' + b"a" * 32_768 + b'","n":1}')
    assert not large.accepts(b'{"s":"' + b"a" * 70_001 + b'","n":1}')
    assert large.accepts(b'{"s":"aaaa","n":1.5}')
    assert not large.accepts(b'{"s":"' + b"a" * 32_768 + b'","n":1.5}')


ONE_OF_TWO = [
    {"type": "string", "oneOf": [{"maxLength": 2000}, {"minLength": 1000, "pattern": "^[a-z]+$"}]},
    {"type": "string", "oneOf": [{"maxLength": 20}, {"minLength": 10, "pattern": "^[a-z]+$"}]},
]


def test_states_do_not_depend_on_lengths_beside_patterns() -> None:
    small, large = compiled(sizes(6, 3, 9, "^[a-z]+$")), compiled(sizes(32_767, 5, 70_000, "^[a-z]+$"))
    assert walked(large, 30_000) == walked(small, 4)
    assert not large.accepts(b'{"s":"' + b"A" * 32_768 + b'","n":1}')
    assert large.accepts(b'{"s":"' + b"a" * 32_768 + b'","n":1}')
    assert large.accepts(b'{"s":"A","n":1.5}')
    assert not large.accepts(b'{"s":"' + b"a" * 32_768 + b'","n":1.5}')


@pytest.mark.parametrize("pattern", [r"^arn:[a-z-]*:\d{12}:role/[\w/.@+=,-]{1,1017}$", "^x{9}(?:[a-z]{1,400}-)*$"])
def test_least_lengths_that_patterns_imply_do_not_matter(pattern: str) -> None:
    sizes = set()
    for least in (0, 1, 9):
        index = compiled({"type": "string", "pattern": pattern, "minLength": least, "maxLength": 2048})
        guide = index.guide()
        guide.advance_many(b'"')
        assert len(guide.mask())
        assert isinstance(index.tables, PushdownIndex)
        sizes.add(index.tables.automaton.tables.n_controls)
    assert len(sizes) == 1


def test_exactly_one_of_two_lengths_may_hold() -> None:
    large, small = (compiled(schema) for schema in ONE_OF_TWO)
    for index, many in ((large, 1000), (small, 10)):
        for length, letter, expected in (
            (many - 1, b"a", True),
            (many, b"a", False),
            (2 * many, b"a", False),
            (2 * many + 1, b"a", True),
            (2 * many, b"A", True),
            (2 * many + 1, b"A", False),
        ):
            assert index.accepts(b'"' + letter * length + b'"') == expected
        guide = index.guide()
        guide.advance_many(b'"' + b"a" * (2 * many))
        assert not guide.validate(b"A")
        assert guide.validate(b"a")
    assert isinstance(large.tables, PushdownIndex)
    assert isinstance(small.tables, PushdownIndex)
    assert large.tables.automaton.tables.n_controls == small.tables.automaton.tables.n_controls


def test_automata_count_where_registers_cannot() -> None:
    index = compiled({"type": "string", "pattern": "^a*b{3}$", "minLength": 9})
    guide = index.guide()
    guide.advance_many(b'"aaaaa')
    assert not guide.validate(b"b")
    guide.advance(ord("a"))
    assert guide.validate(b"b")
    assert index.remaining(guide.state) == 4


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        # After ``\\x0`` a digit must follow, as within the escape of a control character.
        (lambda most: {"format": "regex", "maxLength": most}, "\\\\x0fa"),
        (lambda most: {"pattern": rf"^\p{{L}}{{1,{most}}}$"}, "éçß"),
        (lambda most: {"pattern": rf"^(?i:[\p{{L}}\d_]){{{most}}}$"}, "éçß"),
    ],
)
def test_no_automaton_counts_the_characters_of_a_set(schema: Any, text: str) -> None:
    counts = set()
    for most in (20, 40, 400, 1_000_000):
        index = compiled({"type": "string", **schema(most)})
        guide = index.guide()
        guide.advance_many(f'"{text}'.encode())
        assert guide.remaining < most + 2
        assert isinstance(index.tables, PushdownIndex)
        counts.add(index.tables.automaton.tables.n_controls)
    # A small count of a set may be part of the automaton.
    assert len(counts) <= 2
    assert max(counts) < 12_000


@pytest.mark.parametrize("least", ["", "7,"])
def test_counted_sets_accept_their_lengths(least: str) -> None:
    index = compiled({"type": "string", "pattern": rf"^[\p{{L}}\p{{N}}_]{{{least}300}}$"})
    for length in (0, 6, 7, 299, 300, 301):
        expected = length == 300 or (bool(least) and 7 <= length <= 300)
        assert index.accepts(('"' + "é" * length + '"').encode()) == expected
    assert not index.accepts(('"' + "é" * 299 + '-"').encode())


# The first are zod's of host names; in the last one the length is only of the first alternative.
@pytest.mark.parametrize("last", ["", r"\.?"])
@pytest.mark.parametrize(
    "rest",
    [
        r"([a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63}$",
        r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\.?$",
        r"(a|\.)",
        "(?!.*b)",
        "[^b]+$",
        r"[a.]+|\.b$",
    ],
)
def test_a_length_that_a_lookahead_states_is_counted_by_a_register(rest: str, last: str) -> None:
    pattern = rf"^(?=.{{3,253}}{last}$){rest}"
    index = compiled({"type": "string", "pattern": pattern})
    assert isinstance(index.tables, PushdownIndex)
    assert index.tables.automaton.tables.n_controls < 3_000
    python = re.compile(pattern.replace("$", r"\Z").replace("(?=.{", "(?=[^\n\r\u2028\u2029]{"))
    for length in (0, 2, 3, 4, 64, 251, 252, 253, 254):
        for unit in ("a.", "a", "b", "é", "\u2028", "ab"):
            for end in ("", "aa", ".b", "."):
                text = (unit * length)[: max(length - len(end), 0)] + end
                assert index.accepts(f'"{text}"') == (python.search(text) is not None), text


@pytest.mark.parametrize("first", ["^5[1-5][0-9]{2}|", "^(5|6)|^7|", ""])
def test_a_count_of_an_alternative_that_begins_anywhere_is_refused_at_compile_or_read(first: str) -> None:
    refused = []
    for count in range(2, 16):
        try:
            index = compiled(
                {"type": "string", "pattern": rf"{first}(222[1-9]|2[3-6][0-9]{{2}}|2720)[0-9]{{{count}}}$"}
            )
        except LimitError:
            refused.append(count)
        else:
            assert index.mask(index.initial).any()
            assert index.accepts('"x2720' + "1" * count + '"')
    assert refused == [*range(16 - len(refused), 16)]
    assert refused


@pytest.mark.parametrize("length", [300, 1_000_000])
def test_completions_of_long_strings_repeat_a_character(length: int) -> None:
    index = compiled({"type": "string", "pattern": "^[a-z]+@[a-z]+$", "minLength": length})
    assert index.remaining(index.initial) == length + 2
    guide = index.guide()
    guide.advance_many(b'"a@')
    assert index.remaining(guide.state) == length - 1
    assert isinstance(index.tables, PushdownIndex)
    assert index.tables.automaton.tables.steps.spent < 10_000
