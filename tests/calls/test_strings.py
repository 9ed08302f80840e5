"""JSON strings of calls against json, and patterns of annotations against re."""

import json
import re
from itertools import product
from typing import Annotated, Any

import pytest
from annotated_types import MaxLen, MinLen
from hypothesis import assume, given
from hypothesis import strategies as st

from guided.calls.schema import ValueScanner, type_of_annotation
from guided.engine.specs import Regex
from guided.errors import SchemaError
from guided.patterns.parse import parse
from guided.patterns.tree import Literal
from tests.schema.engine import is_empty
from tests.strategies import patterns


def scanner_of(metadata: Any) -> ValueScanner:
    """The spellings of the strings with a pattern beside their type."""
    return type_of_annotation(Annotated[str, metadata], "").scanner()


@pytest.fixture(scope="module")
def any_string() -> ValueScanner:
    return type_of_annotation(str, "").scanner()


@given(st.text())
def test_T15_both_spellings_of_json_are_strings(any_string: ValueScanner, text: str) -> None:
    assert any_string.accepts(json.dumps(text).encode())
    assert any_string.accepts(json.dumps(text, ensure_ascii=False).encode())


@pytest.mark.parametrize("text", ["", "a, b) = (c", '"\\/', "\b\f\n\r\t\x00\x1f\x7f", "é€😀", "\ufffe"])
def test_T15_escapes_commas_and_parentheses(any_string: ValueScanner, text: str) -> None:
    assert any_string.accepts(json.dumps(text).encode())
    assert any_string.accepts(json.dumps(text, ensure_ascii=False).encode())


NOT_STRINGS = [
    '"',
    "a",
    "'a'",
    '"a""b"',
    '"\\',
    '"\\"',
    '"\\x41"',
    '"\\u12"',
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud83d\\u0041"',
    '"\\ud83d\\ud83d"',
    '"\\u0061"',
    '"\\/"',
]


@pytest.mark.parametrize("spelling", [*NOT_STRINGS, '"\n"', '"\t"', '"\x00"', '"a" ', ' "a"'])
def test_T15_non_strings_are_refused(any_string: ValueScanner, spelling: str) -> None:
    assert not any_string.accepts(spelling.encode())


@given(st.text(st.sampled_from('"\\u0018dDcCabnrt/é\n😀'), max_size=14))
def test_T15_accepted_texts_are_read(any_string: ValueScanner, body: str) -> None:
    spelling = f'"{body}"'
    if any_string.accepts(spelling.encode()):
        # No lone surrogates: the value can be encoded.
        json.loads(spelling).encode()


@given(patterns("ab\n", max_leaves=6), st.text(st.sampled_from('ab\n"\\éE'), max_size=4))
def test_a_lifted_pattern_has_the_spellings_of_its_texts(pattern: str, text: str) -> None:
    try:
        automaton = scanner_of(Regex(pattern))
    except SchemaError as error:
        assume(not is_empty(error))
        raise
    expected = re.fullmatch(pattern, text) is not None
    assert automaton.accepts(json.dumps(text).encode()) == expected
    assert automaton.accepts(json.dumps(text, ensure_ascii=False).encode()) == expected


@pytest.mark.parametrize(
    "pattern",
    [r"(?s).*\bn\b.*", r"(?s).*(?<=n)x", r"(?s).*(?<!n)x", r"[^n]*(?<=\\)n", r"(?ms).*^x", r"[^\n]*", r"(?s).*$\n?"],
)
def test_lookaround_does_not_take_an_escape_for_its_letter(pattern: str) -> None:
    """The n of the escape of a line feed is no n, and quotes are no text."""
    automaton = scanner_of(Regex(pattern))
    for count in range(4):
        for characters in product('nx\n\\"', repeat=count):
            text = "".join(characters)
            assert automaton.accepts(json.dumps(text).encode()) == bool(re.fullmatch(pattern, text)), text


def test_complements_and_intersections_are_those_of_values() -> None:
    automaton = scanner_of(~Literal("\n") & parse(r"[\s\S]*\n[\s\S]*"))
    assert not automaton.accepts(b'"\\n"')
    assert not automaton.accepts(b'"\\u000a"')
    assert automaton.accepts(b'"\\n\\u000A"')
    assert not automaton.accepts(b'"nn"')


def test_lengths_are_counted_in_characters() -> None:
    automaton = scanner_of(MinLen(2)), scanner_of(MaxLen(3))
    for text in ["", "a", "ab", "\n\n", "é€", "😀😀😀", "abc", "abcd", "\n\n\n\n"]:
        found = tuple(one.accepts(json.dumps(text).encode()) for one in automaton)
        assert found == (len(text) >= 2, len(text) <= 3), text
