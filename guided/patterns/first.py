"""First characters of the texts of a pattern. Linear in the tree, except for the unions of its sets."""

from collections.abc import Sequence

from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat, fold, parts_of

__all__ = ["first_characters"]


def first_characters(root: Node) -> tuple[Charset, bool]:
    """Return all characters that a text matched by a node can begin with, and whether it can be empty.

    An upper bound if assertions, intersections or complements exclude some.
    """
    return fold(root, _first, _spanned)


def _spanned(node: Node) -> tuple[Node, ...]:
    return () if isinstance(node, Look | Complement) else parts_of(node)


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
