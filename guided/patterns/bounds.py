"""Bounds of the texts of a node: minimum and maximum length, and first characters. A lookbehind must have a maximum.

Linear in the tree, except for the unions of sets.
"""

from collections.abc import Sequence

from guided.patterns.charset import Charset
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

__all__ = ["first_characters", "max_width", "min_width"]

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


def first_characters(root: Node) -> tuple[Charset, bool]:
    """Return all characters that a text matched by a node can begin with, and whether it can be empty.

    An upper bound if assertions, intersections or complements exclude some.
    """
    return fold(root, _first, _spanned)


def _spanned(node: Node) -> tuple[Node, ...]:
    """Return the parts whose bounds determine those of the node."""
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


def _first(node: Node, parts: Sequence[tuple[Charset, bool]]) -> tuple[Charset, bool]:
    """Return the first characters, and whether the empty text may match."""
    match node:
        case Literal(text):
            return (Charset.char(text[0]) if text else Charset.EMPTY), not text
        case Chars(charset):
            return charset, False
        case Look():
            return Charset.EMPTY, True
        case Complement():
            return Charset.UNIVERSE, True
        case Repeat(_, minimum, maximum):
            first, is_empty = parts[0]
            return (Charset.EMPTY, True) if maximum == 0 else (first, is_empty or minimum == 0)
        case Concat():
            begin = next((place for place, part in enumerate(parts) if not part[1]), len(parts) - 1)
            return _union(parts[: begin + 1]), all(is_empty for _, is_empty in parts)
        case Intersect():
            found = Charset.UNIVERSE
            for first, _ in parts:
                found &= first
            return found, all(is_empty for _, is_empty in parts)
        case _:
            return _union(parts), any(is_empty for _, is_empty in parts)


def _union(parts: Sequence[tuple[Charset, bool]]) -> Charset:
    return Charset.of(interval for first, _ in parts for interval in first.ranges)
