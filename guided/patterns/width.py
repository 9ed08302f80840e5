"""The least and the greatest length of a text that a node matches; a lookbehind must have one. Linear in the tree."""

from collections.abc import Sequence

from guided.patterns.fold import fold, parts_of
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat

__all__ = ["max_width", "min_width"]

# Why: counts have any size, and products of huge ones cost more than they tell. A width this large is one that is bounded.
_LARGE = 1 << 64


def max_width(root: Node) -> int | None:
    """The greatest number of characters, or None if there is none; from 2**64 on, 2**64.

    An upper bound where assertions or intersections rule the longest texts out.
    """
    return fold(root, _greatest, _spanned)


def min_width(root: Node) -> int:
    """The least number of characters; at most 2**64.

    A lower bound where assertions, intersections or complements rule the shortest texts out.
    """
    return fold(root, _least, _spanned)


def _spanned(node: Node) -> tuple[Node, ...]:
    """The parts whose widths are of the node's own span, or bound it."""
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
