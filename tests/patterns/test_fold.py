"""Folds visit each node once, after its parts, however deep the tree is and however often a part is shared."""

from collections.abc import Sequence

import pytest
from hypothesis import given

from guided.patterns.tree import Literal, Node, concat, fold, optional, parts_of, rebuilt
from tests.strategies import trees


def written_out(node: Node) -> tuple[str, ...]:
    """The kinds of the nodes of a tree, parts first."""
    return (*(kind for part in parts_of(node) for kind in written_out(part)), type(node).__name__)


@given(trees("ab", max_leaves=12))
def test_a_fold_is_the_recursion(tree: Node) -> None:
    def kinds(node: Node, parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        return (*(kind for part in parts for kind in part), type(node).__name__)

    assert fold(tree, kinds) == written_out(tree)


@given(trees("ab", max_leaves=12))
def test_rebuilding_of_the_same_parts_is_the_tree_itself(tree: Node) -> None:
    assert fold(tree, rebuilt) is tree


@given(trees("ab", max_leaves=12))
def test_rebuilding_of_other_parts_keeps_the_shape(tree: Node) -> None:
    def renewed(node: Node, parts: Sequence[Node]) -> Node:
        return rebuilt(node, parts) if parts or parts_of(node) else Literal("new")

    found = fold(tree, renewed)
    assert len(written_out(found)) == len(written_out(tree))
    assert fold(found, lambda node, parts: all(parts) if parts_of(node) else isinstance(node, Literal))


def test_shared_parts_are_visited_once() -> None:
    node: Node = Literal("a")
    for _ in range(200):
        node = concat([node, node])
    visits = 0

    def count(_: Node, parts: Sequence[int]) -> int:
        nonlocal visits
        visits += 1
        return sum(parts) or 1

    assert fold(node, count) == 2**200
    assert visits == 201


@pytest.mark.slow
def test_depth_is_unlimited() -> None:
    node: Node = Literal("a")
    for _ in range(50_000):
        node = optional(node)
    assert fold(node, lambda _, parts: 1 + sum(parts)) == 50_001
