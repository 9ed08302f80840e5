"""JSON strings against json, and lifted patterns against re."""

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.searching import found_in
from guided.calls.strings import any_text, quoted, search
from guided.calls.values import constant
from guided.errors import PatternError
from guided.patterns.parse import parse
from guided.patterns.tree import Literal
from tests.strategies import patterns


@pytest.fixture(scope="module")
def any_string() -> Automaton:
    return from_tree(quoted(any_text()))


@given(st.text())
def test_T15_both_spellings_of_json_are_strings(any_string: Automaton, text: str) -> None:
    assert any_string.accepts(json.dumps(text).encode())
    assert any_string.accepts(json.dumps(text, ensure_ascii=False).encode())


@pytest.mark.parametrize("text", ["", "a, b) = (c", '"\\/', "\b\f\n\r\t\x00\x1f\x7f", "é€😀", "\ufffe"])
def test_T15_escapes_commas_and_parentheses(any_string: Automaton, text: str) -> None:
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
def test_T15_non_strings_are_refused(any_string: Automaton, spelling: str) -> None:
    assert not any_string.accepts(spelling.encode())


@given(st.text(st.sampled_from('"\\u0018dDcCabnrt/é\n😀'), max_size=14))
def test_T15_accepted_texts_are_read(any_string: Automaton, body: str) -> None:
    spelling = f'"{body}"'
    if any_string.accepts(spelling.encode()):
        # No lone surrogates: the value can be encoded.
        json.loads(spelling).encode()


@given(patterns("ab\n", max_leaves=6), st.text(st.sampled_from('ab\n"\\éE'), max_size=4))
def test_a_lifted_pattern_has_the_spellings_of_its_texts(pattern: str, text: str) -> None:
    automaton, plain = from_tree(quoted(parse(pattern))), from_tree(parse(pattern))
    expected = plain.accepts(text.encode())
    assert automaton.accepts(json.dumps(text).encode()) == expected
    assert automaton.accepts(json.dumps(text, ensure_ascii=False).encode()) == expected


@pytest.mark.parametrize(
    "pattern",
    [r"(?s).*\bn\b.*", r"(?s).*(?<=n)x", r"(?s).*(?<!n)x", r"[^n]*(?<=\\)n", r"(?ms).*^x", r"[^\n]*", r"(?s).*$\n?"],
)
def test_lookaround_does_not_take_an_escape_for_its_letter(pattern: str) -> None:
    """The n of the escape of a line feed is no n, and quotes are no text."""
    automaton = from_tree(quoted(parse(pattern)))
    for count in range(4):
        for characters in product('nx\n\\"', repeat=count):
            text = "".join(characters)
            assert automaton.accepts(json.dumps(text).encode()) == bool(re.fullmatch(pattern, text)), text


def test_complements_and_intersections_are_those_of_values() -> None:
    automaton = from_tree(quoted(~Literal("\n") & search(Literal("\n"))))
    assert not automaton.accepts(b'"\\n"')
    assert not automaton.accepts(b'"\\u000a"')
    assert automaton.accepts(b'"\\n\\u000A"')
    assert not automaton.accepts(b'"nn"')


def test_lengths_are_counted_in_characters() -> None:
    automaton = from_tree(quoted(any_text(2, 3)))
    for text in ["", "a", "ab", "\n\n", "é€", "😀😀😀", "abc", "abcd", "\n\n\n\n"]:
        assert automaton.accepts(json.dumps(text).encode()) == (2 <= len(text) <= 3), text


SEARCHED = [
    r"^a+$",
    "a|^b$",
    "^(a|b)$",
    "a$b",
    r"\$",
    "[$^]",
    "[]$]a$",
    "^",
    "$",
    "",
    "a{2,}",
    r"\\$",
    "b*$",
    "^a$|^b$",
    "(^a)$",
]


@pytest.mark.parametrize("pattern", [*SEARCHED, "[^]$]", "^a|b", "(?i)A$", "(?x)a # c|\n b$", "(?m)^a$"])
def test_patterns_that_are_searched_for(pattern: str) -> None:
    """Against `re.search`, with ``$`` as the very end of the text, as in ECMA-262 and in pydantic."""
    in_python = re.compile(
        pattern if "(?m)" in pattern else re.sub(r"(\\.|\[\^?\]?[^]]*\])|\$", lambda m: m[1] or r"\Z", pattern)
    )
    automaton = from_tree(found_in(pattern))
    for count in range(5):
        for characters in product("ab\n$^]", repeat=count):
            text = "".join(characters)
            assert automaton.accepts(text.encode()) == bool(in_python.search(text)), text


def test_a_searched_pattern_is_refused_at_its_own_position() -> None:
    with pytest.raises(PatternError) as caught:
        found_in("^ab(")
    assert caught.value.position == 3


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_a_constant_has_the_spellings_of_its_value(value: object) -> None:
    automaton = from_tree(constant(value))
    for separators in [(", ", ": "), (",", ":"), (",", ": ")]:
        assert automaton.accepts(json.dumps(value, separators=separators).encode())
    assert not automaton.accepts(json.dumps([value]).encode())
