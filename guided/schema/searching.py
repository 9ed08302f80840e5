"""From a pattern to the texts in which it is found: what may come before and after, and anchors that decide it.

Anything may come before a pattern, except where it begins with ``^``; that is decided along the left edge of the tree, through
alternatives and optional parts, and likewise for ``$`` along the right edge. So ``^[a-z]+$`` and ``^(a|b$)`` have no assertions left.
Anchors elsewhere stay, and are exact.

An assertion at an end of the text speaks about all of it: ``^(?!x)y`` is the texts that begin with y and do not begin with x. It becomes an
intersection, which costs far less than assertions do.
"""

from collections.abc import Sequence

from guided.patterns.anchors import FIRST, LAST, without_outer_anchors
from guided.patterns.charset import Charset
from guided.patterns.fold import fold
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
    alternate,
    concat,
)

__all__ = ["found_in"]

_ANYTHING = Repeat(Chars(Charset.UNIVERSE), 0, None)


def found_in(pattern: Node) -> Node:
    """The texts in which a pattern matches somewhere. Linear in the tree's edges."""
    return _of_whole_texts(without_outer_anchors(_extended(_extended(pattern, FIRST, 1), LAST, -1)))


def _extended(root: Node, anchor: Look, step: int) -> Node:
    """The pattern with anything before (``step`` 1) or after (-1) it; the anchor at that edge says that there is nothing."""

    def extended(node: Node, parts: Sequence[Node | None]) -> Node | None:
        """None: no anchor is at the edge, so anything may stand there."""
        if node is anchor:
            return Literal("")
        return _rebuilt(node, parts, step) if any(part is not None for part in parts) else None

    found = fold(root, extended, lambda node: _at_edge(node, step))
    return _beside(root, step) if found is None else found


def _at_edge(node: Node, step: int) -> tuple[Node, ...]:
    """The parts of a node that begin (``step`` 1) or end (-1) where it does, and whose anchors so say something about the text's end."""
    match node:
        case Concat(items) if items:
            return (items[0] if step == 1 else items[-1],)
        case Alternate(items):
            return items
        case Repeat(item, 0, 1):
            return (item,)
    return ()


def _rebuilt(node: Node, parts: Sequence[Node | None], step: int) -> Node:
    """A node of which some part at the edge has an anchor there; None stands for a part that has none."""
    held = [part for part in parts if part is not None]
    match node:
        case Concat(items) if step == 1:
            return concat([*held, *items[1:]])
        case Concat(items):
            return concat([*items[:-1], *held])
        case Repeat():
            return alternate([*held, _ANYTHING])
        case Alternate(items):
            # PERF: alternatives that all may have anything beside them share it. With one for each, states are sets of those that matched.
            free = [item for item, part in zip(items, parts, strict=True) if part is None]
            return alternate([_beside(alternate(free), step), *held] if free else held)
    raise TypeError(f"no part of a {type(node).__name__} is at its edge")


def _beside(node: Node, step: int) -> Node:
    return concat([_ANYTHING, node] if step == 1 else [node, _ANYTHING])


def _of_whole_texts(root: Node) -> Node:
    """The tree of a whole pattern with intersections for assertions at the ends of the text."""
    branches = list(root.items) if isinstance(root, Alternate) else [root]
    found = [_split(branch) for branch in branches]
    if all(new is old for new, old in zip(found, branches, strict=True)):
        return root
    return alternate(found)


def _split(branch: Node) -> Node:
    items = _flat(branch)
    first, end = 0, len(items)
    operands: list[Node] = []
    while first < end and isinstance(look := items[first], Look) and not look.behind:
        operands.append(_operand(look, _extended(look.item, LAST, -1)))
        first += 1
    while first < end and isinstance(look := items[end - 1], Look) and look.behind:
        operands.append(_operand(look, _extended(look.item, FIRST, 1)))
        end -= 1
    if not operands:
        return branch
    rest = concat(items[first:end]) if first < end else Literal("")
    return Intersect((*operands, without_outer_anchors(rest)))


def _operand(look: Look, texts: Node) -> Node:
    trimmed = without_outer_anchors(texts)
    return Complement(trimmed) if look.negative else trimmed


def _flat(node: Node) -> list[Node]:
    """The items of nested concatenations, without empty ones."""
    found: list[Node] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Concat):
            stack.extend(reversed(top.items))
        elif not (isinstance(top, Literal) and not top.text):
            found.append(top)
    return found
