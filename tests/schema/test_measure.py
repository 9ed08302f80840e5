"""Patterns with lengths, counted by registers: in every spelling, the same texts as by value, and no way that leads nowhere."""

import json
import random
import re
from itertools import product
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.measure import measure_of
from tests.profiles import examples
from tests.schema.engine import compiled, is_empty
from tests.schema.walks import random_text

ESCAPES = ["canonical", "any", "dumps"]
PATTERNS = [
    "^a",
    "b$",
    "^(ab)*$",
    "a.*b",
    "^[^a]{2,}$",
    "^.{3}$",
    "é|😀",
    "^(a|😀b)*c?$",
    "^[\\u0000-\\u00ff]*$",
    '["\\\\]',
]
words = st.text(st.sampled_from('abcé😀"\\\n\x01\ud7ff'), max_size=7)


def spelled(word: str, escapes: str, chance: random.Random) -> str:
    """One of the bodies of a string that some escapes allow."""
    canonical = json.dumps(word, ensure_ascii=False)
    if escapes == "canonical":
        return canonical
    if escapes == "dumps":
        return json.dumps(word, ensure_ascii=chance.random() < 0.5)
    found = []
    for character in word:
        units = character.encode("utf-16-be")
        pairs = [units[i : i + 2].hex() for i in range(0, len(units), 2)]
        upper = "".join("\\u" + "".join(chance.choice([digit, digit.upper()]) for digit in pair) for pair in pairs)
        found.append(upper if chance.random() < 0.5 else json.dumps(character, ensure_ascii=False)[1:-1])
    return f'"{"".join(found)}"'


@settings(max_examples=examples(120))
@given(
    st.sampled_from(PATTERNS),
    st.integers(0, 5),
    st.integers(0, 6),
    st.sampled_from(ESCAPES),
    st.lists(words, min_size=1, max_size=12),
    st.integers(0, 999),
)
def test_measures_count_characters(
    pattern: str, least: int, most: int, escapes: str, values: list[str], seed: int
) -> None:
    schema = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
    chance = random.Random(seed)
    texts = [spelled(word, escapes, chance) for word in values]
    # Why: Python's $ also matches before a newline at the end, that of ECMA-262 does not.
    there = re.compile(pattern.replace("$", r"\Z"), re.DOTALL)
    expected = [least <= len(word) <= most and there.search(word) is not None for word in values]
    try:
        index = compiled(schema, escapes=escapes)
    except SchemaError as error:
        if not is_empty(error):
            raise
        assert not any(expected)
        return
    assert [index.accepts(text.encode()) for text in texts] == expected
    for number in range(3):
        found = random_text(index, seed + number)
        assert found is not None
        word = json.loads(found)
        assert least <= len(word) <= most
        assert re.search(pattern, word, re.DOTALL)


@pytest.mark.parametrize("escapes", ESCAPES)
@pytest.mark.parametrize(("least", "most"), [(0, 2048), (20, 2048), (64, 65_535)])
def test_large_bounds_cost_no_states(escapes: str, least: int, most: int) -> None:
    schema: dict[str, Any] = {
        "type": "string",
        "pattern": "^(arn:[a-z\\d-]+:[a-z]{1,60}:[\\w.]{1,63}/[a-z0-9]+|\\$\\{.*\\}.*)$",
        "minLength": least,
        "maxLength": most,
    }
    index = compiled(schema, escapes=escapes)
    guide = index.guide()
    guide.advance_many(b'"${' + b"b" * (most - 3))
    assert not guide.validate(b"b"), "there is room for the brace that must come alone"
    assert guide.validate(b'}"') == 2
    assert not index.accepts(b'"${}' + b"b" * (least - 4) + b'"') or not least
    assert index.accepts(b'"${}' + b"b" * (least - 3 + 64) + b'"')


@pytest.mark.parametrize("escapes", ESCAPES)
def test_states_are_between_characters_or_within_one(escapes: Any) -> None:
    formulas = Formulas()
    for pattern in PATTERNS:
        formula = formulas.atom(("pattern", pattern))
        automaton = string_automaton(formulas, (formula,), JsonOptions(escapes=escapes), Limits()).automaton
        measure = measure_of(automaton)
        assert measure is not None
        assert measure.phases.min() >= 1, "every state is reached by spellings of characters"


def slow_phases(automaton: Automaton) -> list[set[int]]:
    """By state, 1 if it is met between two characters of a body, 2 if within one; by all ways to spell one character."""
    hexadecimal = b"0123456789abcdefABCDEF"
    inside: dict[str, list[tuple[str, bytes]]] = {
        "": [
            ("", bytes(byte for byte in range(0x20, 0x80) if byte not in b'"\\')),
            ("escape", b"\\"),
            ("1", bytes(range(0xC2, 0xE0))),
            ("2", bytes(range(0xE0, 0xF0))),
            ("3", bytes(range(0xF0, 0xF5))),
        ],
        "escape": [("", b'"\\/bfnrt'), ("u", b"u")],
        "u": [("xxx", bytes(set(hexadecimal) - set(b"dD"))), ("d", b"dD")],
        "d": [("xx", b"01234567"), ("high", b"89abAB")],
        "high": [("high2", hexadecimal)],
        "high2": [("low", hexadecimal)],
        "low": [("low2", b"\\")],
        "low2": [("low3", b"u")],
        "low3": [("low4", b"dD")],
        "low4": [("xx", b"cdefCDEF")],
        **{"x" * n: [("x" * (n - 1), hexadecimal)] for n in (1, 2, 3)},
        **{str(n): [(str(n - 1) if n > 1 else "", bytes(range(0x80, 0xC0)))] for n in (1, 2, 3)},
    }
    met, todo = {(0, "")}, [(0, "")]
    for state, place in todo:  # grows on the way
        for onward, letters in inside[place]:
            for byte in letters:
                target = int(automaton.table[state, automaton.classes[byte]])
                if target >= 0 and (target, onward) not in met:
                    met.add((target, onward))
                    todo.append((target, onward))
    return [{2 if place else 1 for one, place in met if one == state} for state in range(automaton.n_states)]


def slow_needs(automaton: Automaton, phases: list[int]) -> list[int]:
    """By rounds: with each, the states from which fewer characters are enough."""
    needs = [0 if accepting else 1 << 30 for accepting in automaton.accepting]
    has_changed = True
    while has_changed:
        has_changed = False
        for state, row in enumerate(automaton.table.tolist()):
            least = min((needs[target] for target in row if target >= 0), default=1 << 30) + (phases[state] == 1)
            if least < needs[state]:
                needs[state], has_changed = least, True
    return needs


@pytest.mark.parametrize("escapes", ESCAPES)
@pytest.mark.parametrize("pattern", [*PATTERNS, "^(a|bcd|ef)*$", "^\\w{3}é*x$"])
def test_the_kernels_measure_as_the_plain_definition(pattern: str, escapes: Any) -> None:
    formulas = Formulas()
    formula = formulas.atom(("pattern", pattern))
    automaton = string_automaton(formulas, (formula,), JsonOptions(escapes=escapes), Limits()).automaton
    measure = measure_of(automaton)
    phases = slow_phases(automaton)
    assert measure is not None
    assert [{phase} for phase in measure.phases.tolist()] == phases
    assert measure.needs.tolist() == slow_needs(automaton, measure.phases.tolist())


def test_no_measure_where_a_state_is_between_characters_and_within_one() -> None:
    classes = np.zeros(256, np.uint8)
    classes[[*b"a\\n"]] = [1, 2, 1]
    table = np.array([[-1, 1, 0], [-1, -1, -1]], np.int32)
    assert measure_of(Automaton.from_table(table, classes, np.array([False, True]))) is None


ALTERNATIVES: list[dict[str, Any]] = [
    {"anyOf": [{"pattern": "^a+$", "maxLength": 4}, {"pattern": "^b{2,3}$"}]},
    {
        "anyOf": [
            {"pattern": "a", "minLength": 2, "maxLength": 5},
            {"pattern": "^b", "maxLength": 3},
            {"enum": ["c", "dd"]},
        ]
    },
    {"anyOf": [{"pattern": "a", "maxLength": 5}, {"pattern": "b"}]},
    {"oneOf": [{"pattern": "^a", "maxLength": 4}, {"pattern": "b$", "maxLength": 3}]},
    {"anyOf": [{"maxLength": 2}, {"pattern": "^ab*$", "maxLength": 5}], "minLength": 1},
    {"allOf": [{"maxLength": 5}, {"maxLength": 3}, {"minLength": 2}, {"pattern": "a"}]},
    {
        "allOf": [
            {"anyOf": [{"maxLength": 2}, {"pattern": "^a", "maxLength": 4}]},
            {"anyOf": [{"maxLength": 3}, {"pattern": "^.b.{0,3}$"}]},
        ]
    },
    {"anyOf": [{"format": "ipv4"}, {"format": "date", "maxLength": 15}]},
]


@pytest.mark.parametrize("schema", ALTERNATIVES)
@pytest.mark.parametrize("escapes", ESCAPES)
def test_alternatives_have_the_greatest_length_of_any(schema: dict[str, Any], escapes: Any) -> None:
    schema = {"type": "string", **schema}
    index, judge = compiled(schema, escapes=escapes), jsonschema.Draft202012Validator(schema)
    texts = ["".join(letters) for n in range(7) for letters in product("ab", repeat=n)]
    for text in [*texts, "c", "dd", "cc", "é" * 3, "1.2.3.4", "2024-02-29"]:
        if "format" in str(schema) and not set(text) & set(".-"):
            assert not index.accepts(json.dumps(text, ensure_ascii=False).encode())
            continue
        assert index.accepts(json.dumps(text, ensure_ascii=False).encode()) == judge.is_valid(text), text


@pytest.mark.parametrize("most", [4, 2**40])
def test_a_greatest_length_may_be_of_any_size(most: int) -> None:
    index = compiled({"type": "string", "pattern": "a", "maxLength": most})
    assert index.accepts(b'"bab"')
    assert index.accepts(b'"' + b"a" * 5 + b'"') == (most > 4)
