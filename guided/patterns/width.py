"""Minimum and maximum length of the texts of a node; a lookbehind must have a maximum. Linear in the tree."""

from collections.abc import Sequence

from guided.patterns.tree import (
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literal,
    Look,
    Node,
    Repeat,
    fold,
    parts_of,
)

__all__ = ["max_width", "min_width"]

# Why: counts have any size, and products of huge ones are expensive and useless. A width of this size only means "bounded".
_LARGE = 1 << 64


def max_width(root: Node) -> int | None:
    """Return the maximum number of characters, or None if there is none; capped at 2**64.

    An upper bound if assertions or intersections exclude the longest texts.
    """
    return fold(root, _greatest, _spanned)


def min_width(root: Node) -> int:
    """Return the minimum number of characters, at most 2**64.

    A lower bound if assertions, intersections or complements exclude the shortest texts.
    """
    return fold(root, _least, _spanned)


def _spanned(node: Node) -> tuple[Node, ...]:
    """Return the parts whose widths determine or bound the node's width."""
    return () if isinstance(node, Look | Complement) else parts_of(node)


def _greatest(node: Node, widths: Sequence[int | None]) -> int | None:
    known = [width for width in widths if width is not None]
    is_bounded = len(known) == len(widths)
    found: int | None = None
    match node:
        case Literal(text):
            found = len(text)
        case Chars():
            found = 1
        case Look():
            found = 0
        case Repeat(_, _, maximum) if maximum == 0 or known == [0]:
            found = 0
        case Repeat(_, _, maximum) if is_bounded and maximum is not None:
            found = known[0] * min(maximum, _LARGE)
        case Intersect():
            found = min(known, default=None)
        case Alternate() if is_bounded:
            found = max(known, default=0)
        case Concat() if is_bounded:
            found = sum(known)
    return None if found is None else min(found, _LARGE)


def _least(node: Node, widths: Sequence[int]) -> int:
    match node:
        case Literal(text):
            found = len(text)
        case Chars():
            found = 1
        case Concat():
            found = sum(widths)
        case Alternate():
            found = min(widths, default=0)
        case Intersect():
            found = max(widths)
        case Repeat(_, minimum):
            found = widths[0] * min(minimum, _LARGE)
        case _:
            found = 0
    return min(found, _LARGE)
