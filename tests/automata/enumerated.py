"""All small pattern trees, and how they read in the syntax of `re`."""

import os
from functools import cache

from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat

EXHAUSTIVE = os.environ.get("GUIDED_EXHAUSTIVE") == "1"

_AB, _NOT_A = Charset.of([(ord("a"), ord("b"))]), ~Charset.char("a")
_COUNTS = [(0, None), (1, None), (0, 1), (2, 2), (1, 2)]


@cache
def trees_of_size(size: int) -> tuple[Node, ...]:
    """All trees of so many nodes over {a, b}; inner nodes are shared between them."""
    if size == 1:
        return (Literal("a"), Literal("b"), Literal(""), Chars(_AB), Chars(_NOT_A))
    found: list[Node] = []
    for inner in trees_of_size(size - 1):
        found += [Repeat(inner, minimum, maximum) for minimum, maximum in _COUNTS]
        found += [Look(inner, behind, negative) for behind in (False, True) for negative in (False, True)]
        found.append(Complement(inner))
    for left_size in range(1, size - 1):
        for left in trees_of_size(left_size):
            for right in trees_of_size(size - 1 - left_size):
                found += [kind((left, right)) for kind in (Concat, Alternate, Intersect)]
    return tuple(found)


def as_regex(tree: Node) -> str | None:
    """The tree in the syntax of `re`, or None where that has no word for it."""
    match tree:
        case Literal(text):
            return text or "(?:)"
        case Chars(charset):
            return {_AB: "[ab]", _NOT_A: "[^a]"}[charset]
        case Repeat(item, minimum, maximum):
            inner = as_regex(item)
            return inner and f"(?:{inner}){{{minimum},{'' if maximum is None else maximum}}}"
        case Look(item, behind, negative):
            inner = as_regex(item)
            return inner and f"(?{'<' if behind else ''}{'!' if negative else '='}{inner})"
        case Concat(items) | Alternate(items):
            parts = [as_regex(item) for item in items]
            sign = "|" if isinstance(tree, Alternate) else ""
            return f"(?:{sign.join(map(str, parts))})" if all(parts) else None
        case _:
            return None


def show(tree: Node) -> str:
    """The tree as an expression, for messages."""
    match tree:
        case Literal(text):
            return repr(text)
        case Chars(charset):
            return f"Chars{charset.ranges}"
        case Repeat(item, minimum, maximum):
            return f"Repeat({show(item)}, {minimum}, {maximum})"
        case Look(item, behind, negative):
            return f"Look({show(item)}, {behind=}, {negative=})"
        case Complement(item):
            return f"~({show(item)})"
        case Concat(items) | Alternate(items) | Intersect(items):
            return f"{type(tree).__name__}({', '.join(map(show, items))})"
    raise TypeError(tree)
