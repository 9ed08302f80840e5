"""From a pattern to the texts that contain a match: optional context before and after, restricted by anchors.

Any text may precede a match, except where the pattern begins with ``^``. This is decided along the left edge of the tree, through
alternatives and optional parts, and likewise for ``$`` along the right edge. So ``^[a-z]+$`` and ``^(a|b$)`` have no assertions left.
Anchors elsewhere remain, and are exact.

An assertion at an end of the text constrains the whole text: ``^(?!x)y`` is the texts that begin with y and do not begin with x. It
becomes an intersection, which costs far less than an assertion.
"""

from collections.abc import Sequence

from guided.patterns.anchors import FIRST, LAST, without_outer_anchors
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
    alternate,
    concat,
    fold,
)

__all__ = ["found_in"]

_ANYTHING = Repeat(Chars(Charset.UNIVERSE), 0, None)


def found_in(pattern: Node) -> Node:
    """Return the texts in which a pattern matches somewhere. Linear in the tree's edges."""
    return _of_whole_texts(without_outer_anchors(_extended(_extended(pattern, FIRST, 1), LAST, -1)))


def _extended(root: Node, anchor: Look, step: int) -> Node:
    """Allow any text before (``step`` 1) or after (-1) the pattern, except where an anchor at that edge forbids it."""

    def extended(node: Node, parts: Sequence[Node | None]) -> Node | None:
        """Return the node with its context; None if no anchor is at the edge, so any text may precede or follow."""
        if node is anchor:
            return Literal("")
        return _rebuilt(node, parts, step) if any(part is not None for part in parts) else None

    found = fold(root, extended, lambda node: _at_edge(node, step))
    return _beside(root, step) if found is None else found


def _at_edge(node: Node, step: int) -> tuple[Node, ...]:
    """Return the parts of a node at its left (``step`` 1) or right (-1) edge, whose anchors apply to the text's end."""
    match node:
        case Concat(items) if items:
            return (items[0] if step == 1 else items[-1],)
        case Alternate(items):
            return items
        case Repeat(item, 0, 1):
            return (item,)
    return ()


def _rebuilt(node: Node, parts: Sequence[Node | None], step: int) -> Node:
    """Rebuild a node some of whose edge parts have an anchor; None marks a part without one."""
    held = [part for part in parts if part is not None]
    match node:
        case Concat(items) if step == 1:
            return concat([*held, *items[1:]])
        case Concat(items):
            return concat([*items[:-1], *held])
        case Repeat():
            return alternate([*held, _ANYTHING])
        case Alternate(items):
            # PERF: alternatives without anchors share their context. With one context each, states are sets of matched alternatives.
            free = [item for item, part in zip(items, parts, strict=True) if part is None]
            return alternate([_beside(alternate(free), step), *held] if free else held)
    raise TypeError(f"no part of a {type(node).__name__} is at its edge")


def _beside(node: Node, step: int) -> Node:
    return concat([_ANYTHING, node] if step == 1 else [node, _ANYTHING])


def _of_whole_texts(root: Node) -> Node:
    """Return the tree of a whole pattern with intersections in place of assertions at the ends of the text."""
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
    """Return the items of nested concatenations, without empty ones."""
    found: list[Node] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Concat):
            stack.extend(reversed(top.items))
        elif not (isinstance(top, Literal) and not top.text):
            found.append(top)
    return found
