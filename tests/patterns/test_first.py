"""`first_characters` against the texts that the oracle finds."""

import pytest
from hypothesis import given

from guided.limits import Limits
from guided.patterns.bounds import first_characters
from guided.patterns.charset import Charset
from guided.patterns.parse import parse, parse_in_order
from guided.patterns.tree import Complement, Intersect, Literal, Node
from tests.oracles import matches
from tests.patterns.test_width import WORDS
from tests.strategies import trees


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("", ("", True)),
        ("abc", ("a", False)),
        ("ab|bc|", ("ab", True)),
        ("[ab]c", ("ab", False)),
        ("a*b?c", ("abc", False)),
        ("a{0}b", ("b", False)),
        ("(?:a?){2,}b", ("ab", False)),
        (r"\b(?!a)(?<=c)b", ("b", False)),
        ("(?i:a)b", ("aA", False)),
        ("(?:a|b?)(?:c|)", ("abc", True)),
    ],
)
def test_of_patterns(pattern: str, first: tuple[str, bool]) -> None:
    characters, may_be_empty = first
    expected = Charset.of((ord(character), ord(character)) for character in characters), may_be_empty
    assert first_characters(parse(pattern)) == expected
    assert first_characters(parse_in_order(pattern, 0, Limits())) == expected


@pytest.mark.parametrize(
    ("node", "first"),
    [
        (Complement(Literal("a")), (Charset.UNIVERSE, True)),
        (Intersect((Literal("ab"), Literal("ac"))), (Charset.char("a"), False)),
        (Intersect((Literal("ab"), Literal("b"))), (Charset.EMPTY, False)),
    ],
)
def test_of_operations(node: Node, first: tuple[Charset, bool]) -> None:
    assert first_characters(node) == first


@given(trees("ab", max_leaves=5, max_count=2))
def test_is_an_upper_bound(node: Node) -> None:
    first, may_be_empty = first_characters(node)
    assert all(word[0] in first if word else may_be_empty for word in WORDS if matches(node, word))
