"""`first_characters` against the texts that the oracle finds."""

import pytest
from hypothesis import given

from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.first import first_characters
from guided.patterns.parse import parse, parse_in_order
from guided.patterns.tree import Complement, Intersect, Literal, Node
from tests.oracles import matches
from tests.patterns.test_width import WORDS
from tests.strategies import trees


@pytest.mark.parametrize(
    ("pattern", "characters"),
    [
        ("", ""),
        ("abc", "a"),
        ("ab|bc|", "ab"),
        ("[ab]c", "ab"),
        ("a*b?c", "abc"),
        ("a{0}b", "b"),
        ("(?:a?){2,}b", "ab"),
        (r"\b(?!a)(?<=c)b", "b"),
        ("(?i:a)b", "aA"),
        ("(?:a|b?)(?:c|)", "abc"),
    ],
)
def test_of_patterns(pattern: str, characters: str) -> None:
    expected = Charset.of((ord(character), ord(character)) for character in characters)
    assert first_characters(parse(pattern)) == expected
    assert first_characters(parse_in_order(pattern, 0, Limits())) == expected


@pytest.mark.parametrize(
    ("node", "first"),
    [
        (Complement(Literal("a")), Charset.UNIVERSE),
        (Intersect((Literal("ab"), Literal("ac"))), Charset.char("a")),
        (Intersect((Literal("ab"), Literal("b"))), Charset.EMPTY),
    ],
)
def test_of_operations(node: Node, first: Charset) -> None:
    assert first_characters(node) == first


@given(trees("ab", max_leaves=5, max_count=2))
def test_is_an_upper_bound(node: Node) -> None:
    first = first_characters(node)
    assert all(word[0] in first for word in WORDS if word and matches(node, word))
