"""`max_width` and `min_width` against the longest and shortest texts that the oracle finds."""

import itertools

import pytest
from hypothesis import given

from guided.patterns.bounds import max_width, min_width
from guided.patterns.parse import parse
from guided.patterns.tree import Complement, Intersect, Literal, Node, Repeat
from tests.oracles import matches
from tests.strategies import trees

WORDS = ["".join(word) for n in range(7) for word in itertools.product("ab", repeat=n)]


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("a|bcd|", 3),
        ("[ab].", 2),
        ("a{2,5}b?", 6),
        ("a*", None),
        ("(?:)*", 0),
        ("(?:a*){0}b", 1),
        ("(?=a*)b", 1),
        ("(?:ab|a+)c", None),
        (r"\b^$", 0),
        ("(?:a{1000000}){1000000}", 10**12),
        ("(?:a{1" + "0" * 300 + "}){7}", 2**64),
    ],
)
def test_of_patterns(pattern: str, width: int | None) -> None:
    assert max_width(parse(pattern)) == width


@pytest.mark.parametrize(
    ("node", "width"),
    [
        (Complement(Literal("a")), None),
        (Intersect((Repeat(Literal("a"), 0, None), Literal("aa"))), 2),
        (Repeat(Complement(Literal("a")), 0, 0), 0),
    ],
)
def test_of_operations(node: Node, width: int | None) -> None:
    assert max_width(node) == width


@given(trees("ab", max_leaves=5, max_count=2))
def test_is_an_upper_bound(node: Node) -> None:
    width = max_width(node)
    assert width is None or all(len(word) <= width for word in WORDS if matches(node, word))


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("a|bcd", 1),
        ("a{2,5}b?", 2),
        ("a*", 0),
        ("(?:ab|cde)+", 2),
        (r"\b^$", 0),
        ("(?:a{1000000}){9}", 9 * 10**6),
    ],
)
def test_least_of_patterns(pattern: str, width: int) -> None:
    assert min_width(parse(pattern)) == width


@given(trees("ab", max_leaves=5, max_count=2))
def test_is_a_lower_bound(node: Node) -> None:
    assert all(len(word) >= min_width(node) for word in WORDS if matches(node, word))
