"""Tree of a pattern, independent of syntax.

Flags, groups and escapes are resolved: a node is a set of characters, a literal, or an operation on nodes. Nodes are immutable and
compared by identity, so trees of any depth are cheap; traverse them with an explicit stack, never by recursion. A node may occur
several times in a tree.

Semantics: ``L(node)`` is a set of texts. `Look` makes it depend on the surrounding text: a node matches a *span* of a text, and the
language of a whole pattern is the set of texts that it matches completely, as ``re.fullmatch`` does. Inside `Intersect` and
`Complement` each operand is a language of its own: its assertions see only the operand's span.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from guided.patterns.charset import Charset

__all__ = [
    "Alternate",
    "Call",
    "Chars",
    "Complement",
    "Concat",
    "Graph",
    "Intersect",
    "Literal",
    "Look",
    "Node",
    "Repeat",
    "alternate",
    "concat",
    "literal",
    "optional",
    "repeat",
]


class Node:
    """A node of the tree; combine with ``+`` (sequence), ``|`` (alternative), ``&`` (intersection), ``~`` (complement)."""

    __slots__ = ()

    def __add__(self, other: "Node") -> "Node":
        return concat([self, other])

    def __or__(self, other: "Node") -> "Node":
        return alternate([self, other])

    def __and__(self, other: "Node") -> "Node":
        return Intersect((self, other))

    def __invert__(self) -> "Node":
        return Complement(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal(Node):
    """Exactly this text; ``Literal("")`` is the empty text. No lone surrogates."""

    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chars(Node):
    """One character of a set; the empty set matches nothing."""

    charset: Charset


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Concat(Node):
    """The items in sequence; without items: the empty text."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Alternate(Node):
    """Any of the items; without items: nothing."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Repeat(Node):
    """``minimum`` to ``maximum`` times the item; ``maximum`` None: unbounded. ``is_lazy``: fewer repetitions are tried first."""

    item: Node
    minimum: int
    maximum: int | None
    is_lazy: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Look(Node):
    """A zero-width assertion: the item matches (``negative``: does not match) just ahead, or just ``behind``."""

    item: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intersect(Node):
    """Texts in all items (at least one item)."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Complement(Node):
    """All texts except the item's."""

    item: Node


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Node):
    """A text of another automaton, which has this number (from 0). Not inside `Intersect`, `Complement` or `Look`."""

    number: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph(Node):
    """The texts of the paths of a graph from point 0 to point 1; ``edges``: from a point, the text of a node, to a point."""

    edges: tuple[tuple[int, Node, int], ...]
    n_points: int


def literal(text: str) -> Node:
    """Return a node for exactly this text."""
    return Literal(text)


def concat(items: Iterable[Node]) -> Node:
    """Return the sequence of the items."""
    parts = tuple(items)
    return parts[0] if len(parts) == 1 else Concat(parts)


def alternate(items: Iterable[Node]) -> Node:
    """Return the alternative of the items."""
    parts = tuple(items)
    return parts[0] if len(parts) == 1 else Alternate(parts)


def optional(item: Node) -> Node:
    """Return the item or the empty text."""
    return Repeat(item, 0, 1)


def repeat(item: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    """Return ``minimum`` to ``maximum`` times the item; a node that matches nothing if no count is possible."""
    if maximum is not None and maximum < minimum:
        return Chars(Charset.EMPTY)
    return Repeat(item, minimum, maximum)
