"""The least and the greatest length of a text that a node matches; a lookbehind must have one. Iterative, linear in the tree."""

from guided.patterns.tree import Alternate, Chars, Concat, Intersect, Literal, Look, Node, Repeat

__all__ = ["max_width", "min_width"]

# Why: counts have any size, and products of huge ones cost more than they tell. A width this large is one that is bounded.
_LARGE = 1 << 64


def max_width(root: Node) -> int | None:
    """The greatest number of characters, or None if there is none; from 2**64 on, 2**64.

    An upper bound where assertions or intersections rule the longest texts out.
    """
    work: list[tuple[Node, int]] = [(root, -1)]
    widths: list[int | None] = []
    while work:
        node, expected = work.pop()
        if expected >= 0:
            start = len(widths) - expected
            found = _combined(node, widths[start:])
            widths[start:] = [None if found is None else min(found, _LARGE)]
            continue
        match node:
            case Literal(text):
                widths.append(len(text))
            case Chars():
                widths.append(1)
            case Look():
                widths.append(0)
            case Concat(items) | Alternate(items) | Intersect(items):
                work.append((node, len(items)))
                work.extend((item, -1) for item in items)
            case Repeat(item):
                work.append((node, 1))
                work.append((item, -1))
            case _:
                widths.append(None)
    return widths[0]


def min_width(root: Node) -> int:
    """The least number of characters; at most 2**64.

    A lower bound where assertions, intersections or complements rule the shortest texts out.
    """
    work: list[tuple[Node, bool]] = [(root, False)]
    widths: dict[int, int] = {}
    while work:
        node, is_ready = work.pop()
        if id(node) in widths:
            continue
        match node:
            case Literal(text):
                found = len(text)
            case Chars():
                found = 1
            case Concat(items) | Alternate(items) | Intersect(items) if not is_ready:
                work.append((node, True))
                work.extend((item, False) for item in items)
                continue
            case Repeat(item) if not is_ready:
                work.extend(((node, True), (item, False)))
                continue
            case Concat(items):
                found = sum(widths[id(item)] for item in items)
            case Alternate(items):
                found = min((widths[id(item)] for item in items), default=0)
            case Intersect(items):
                found = max(widths[id(item)] for item in items)
            case Repeat(item, minimum):
                found = widths[id(item)] * min(minimum, _LARGE)
            case _:
                found = 0
        widths[id(node)] = min(found, _LARGE)
    return widths[id(root)]


def _combined(node: Node, widths: list[int | None]) -> int | None:
    known = [width for width in widths if width is not None]
    match node:
        case Repeat(_, _, maximum):
            if maximum == 0 or widths == [0]:
                return 0
            return None if maximum is None or not known else known[0] * min(maximum, _LARGE)
        case Intersect():
            return min(known, default=None)
        case Alternate():
            return max(known, default=0) if len(known) == len(widths) else None
        case _:
            return sum(known) if len(known) == len(widths) else None
