"""What may follow, in characters: exact sets, and their descriptions."""

import re
from itertools import pairwise

import pytest

from guided.cli.expected import characters_after, describe
from guided.engine.specs import Choice, Regex
from guided.limits import Limits
from guided.patterns.charset import Charset
from tests.patterns.sets import ALL


@pytest.mark.parametrize("pattern", [r"[α-γa-z]", r"\w", r"[^\d]", r"\u07ff|\u0800|\uffff|\U00010000|\U0010ffff", "."])
def test_the_set_is_exact(pattern: str) -> None:
    found = characters_after(Regex(pattern).lower(Limits()), 0).ranges
    points = [point for low, high in found for point in range(low, high + 1)]
    assert points == [match.start() for match in re.finditer(pattern, ALL) if not 0xD800 <= match.start() <= 0xDFFF]
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(found))


def test_only_characters_that_lead_to_an_accepted_text() -> None:
    automaton = Choice(["äb", "c"]).lower(Limits())
    assert characters_after(automaton, 0).ranges == ((0x63, 0x63), (0xE4, 0xE4))
    assert characters_after(automaton, automaton.run(b"c")).ranges == ()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("[0-9]", "'0' to '9'"),
        ("[ab]", "'a', 'b'"),
        ("[0-9a-f-]", "'-', '0' to '9' or 'a' to 'f'"),
        ("(a|[xyz])?", "'a', 'x' to 'z' or the end of the text"),
        ("", "the end of the text"),
        ("[acegikmo]", "'a', 'c', 'e', 'g', 'i', 'k' or 2 more ranges"),
        ("(?s).", "any character"),
        (".", "any character except '\\n'"),
        ('[^"\\\\]?', "any character except '\"' or '\\\\' or the end of the text"),
        ("[\u0300\u200b\U000e0001]", "U+0300, U+200B or U+E0001"),
    ],
)
def test_descriptions(pattern: str, expected: str) -> None:
    automaton = Regex(pattern).lower(Limits())
    assert describe(characters_after(automaton, 0), may_end=bool(automaton.accepting[0])) == expected


def test_nothing() -> None:
    assert describe(Charset.EMPTY, may_end=False) == "nothing"
