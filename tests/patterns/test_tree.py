"""Trees built by hand: the operators and the small constructors."""

import itertools

import pytest

from guided.patterns.parse import parse
from guided.patterns.tree import Alternate, Concat, Literal, Node, alternate, concat, optional, repeat
from tests.oracles import matches

WORDS = ["".join(word) for n in range(5) for word in itertools.product("ab", repeat=n)]

A, B = Literal("a"), Literal("b")


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        (A + B, "ab"),
        (A | B + B, "a|bb"),
        (optional(A) + B, "a?b"),
        (repeat(A | B), "[ab]*"),
        (repeat(A + B, 2), "(ab){2,}"),
        (repeat(B, 1, 2), "b{1,2}"),
        (concat([A, B, A]), "aba"),
        (alternate([A, B, A + A]), "a|b|aa"),
        (repeat(A | B) & ~parse(".*bb.*"), "(?!.*bb)[ab]*"),
        (parse("a*b*") & parse("[ab]{2}"), "aa|ab|bb"),
        (~A & parse("[ab]?"), "b?"),
    ],
)
def test_operators(tree: Node, pattern: str) -> None:
    expected = parse(pattern)
    assert [word for word in WORDS if matches(tree, word) != matches(expected, word)] == []


def test_one_item_needs_no_operation() -> None:
    assert concat([A]) is A
    assert alternate([A]) is A
    assert isinstance(concat([]), Concat)
    assert isinstance(alternate([]), Alternate)


def test_nodes_are_compared_by_identity() -> None:
    assert Literal("a") != Literal("a")
    assert len({A, A, B}) == 2
