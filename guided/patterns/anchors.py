r"""Translation of ``^ $ \A \Z \b \B`` to assertions about the characters before and after.

A pattern matches the whole text, so an anchor that can only be reached at its own end of the text holds there and is dropped:
``^[a-z]{1,1000}$`` has no assertion left. `without_outer_anchors` finds those along both edges of the tree, through groups,
alternatives, optional parts, assertions and parts without width, in time linear in the edges. Any other anchor stays and is exact:
in ``a$\n`` the ``$`` holds; ``a^b`` matches nothing.

Nodes are shared: the anchors defined here are recognized by identity.
"""

import sys
from collections.abc import Sequence
from functools import cache

from guided.patterns.characters import NEWLINE
from guided.patterns.charset import Charset
from guided.patterns.properties import class_escape
from guided.patterns.source import ASCII
from guided.patterns.tree import (
    Alternate,
    Chars,
    Concat,
    Literal,
    Look,
    Node,
    Repeat,
    alternate,
    concat,
    fold,
    rebuilt,
    union,
)

__all__ = [
    "FIRST",
    "FIRST_OF_LINE",
    "LAST",
    "LAST_OF_LINE",
    "LAST_OR_NEWLINE",
    "boundary",
    "no_boundary",
    "without_outer_anchors",
]

_ANY = Chars(Charset.UNIVERSE)
_NO_NEWLINE = Chars(~NEWLINE)

FIRST = Look(_ANY, behind=True, negative=True)
FIRST_OF_LINE = Look(_NO_NEWLINE, behind=True, negative=True)
LAST = Look(_ANY, behind=False, negative=True)
LAST_OF_LINE = Look(_NO_NEWLINE, behind=False, negative=True)
# Why: without MULTILINE, $ also holds before a newline that ends the text. So it fails before a newline and another character.
LAST_OR_NEWLINE = Look(alternate([_NO_NEWLINE, concat([Literal("\n"), _ANY])]), behind=False, negative=True)


def boundary(flags: int) -> Node:
    r"""Return ``\b``: one neighbor is a word character and the other, if there is one, is not."""
    return _boundaries(flags & ASCII)[0]


def no_boundary(flags: int) -> Node:
    r"""Return ``\B``: both neighbors are word characters or neither is; before Python 3.14 never in the empty text."""
    return _boundaries(flags & ASCII)[1]


@cache
def _boundaries(flags: int) -> tuple[Node, Node]:
    words = class_escape("w", flags)
    word, other = Chars(words), Chars(~words)
    after, not_after = Look(word, behind=True, negative=False), Look(word, behind=True, negative=True)
    before, not_before = Look(word, behind=False, negative=False), Look(word, behind=False, negative=True)
    edge = alternate([concat([after, not_before]), concat([not_after, before])])
    if sys.version_info >= (3, 14):
        return edge, alternate([concat([after, before]), concat([not_after, not_before])])
    # Why: "neither is a word character" must find at least one neighbor, and the empty text has none.
    after_other, before_other = Look(other, behind=True, negative=False), Look(other, behind=False, negative=False)
    inside = [concat([after, before]), concat([after_other, not_before]), concat([not_after, before_other])]
    return edge, alternate(inside)


def without_outer_anchors(root: Node) -> Node:
    """Return the tree of a whole pattern without the anchors that always hold."""
    return _trim(_trim(root, (FIRST, FIRST_OF_LINE), 1), (LAST, LAST_OF_LINE, LAST_OR_NEWLINE), -1)


def _trim(root: Node, anchors: tuple[Node, ...], step: int) -> Node:
    """Drop anchors at the left (``step`` 1) or right (-1) edge."""

    def trimmed(node: Node, parts: Sequence[Node]) -> Node:
        if node in anchors:
            return Literal("")
        match node:
            case Concat(items):
                # The part behind those without width is also at the edge.
                end = next((i for i, part in enumerate(parts, 1) if not _is_empty(part)), len(parts))
                found = (*parts[:end], *items[::step][end:])[::step]
                if all(old is new for old, new in zip(items, found, strict=True)):
                    return node
                kept = [part for part in found if not (isinstance(part, Literal) and not part.text)]
                return concat(kept) if kept else Literal("")
            case Alternate(items):
                return union(parts) if any(old is not new for old, new in zip(items, parts, strict=True)) else node
            case _:
                return rebuilt(node, parts) if parts else node

    return fold(root, trimmed, lambda node: _at_edge(node, step))


def _at_edge(node: Node, step: int) -> tuple[Node, ...]:
    """Return the parts of a node that may begin (``step`` 1) or end (-1) where the node does, from the edge inwards in a sequence."""
    match node:
        case Concat(items):
            inwards = items[::step]
            wide = (i for i, item in enumerate(inwards, 1) if not (isinstance(item, Concat) or _is_empty(item)))
            return inwards[: next(wide, None)]
        case Alternate(items):
            return items
        case Repeat(item, _, 1):
            return (item,)
        case Look(item, behind=behind) if behind == (step == -1):
            return (item,)
    return ()


def _is_empty(node: Node) -> bool:
    return isinstance(node, Look) or (isinstance(node, Literal) and not node.text)
