"""Tree of a pattern, independent of syntax.

Flags, groups and escapes are resolved: a node is a set of characters, a literal, or an operation on nodes. Nodes are immutable and
compared by identity, so trees of any depth are cheap; traverse them with `fold` or an explicit stack, never by recursion. A node may occur
several times in a tree, and a fold visits it once: it is linear in the memory of a tree, not in its expanded size.

Semantics: ``L(node)`` is a set of texts. `Look` makes it depend on the surrounding text: a node matches a *span* of a text, and the
language of a whole pattern is the set of texts that it matches completely, as ``re.fullmatch`` does. Inside `Intersect` and
`Complement` each operand is a language of its own: its assertions see only the operand's span.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

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
    "fold",
    "optional",
    "own_parts",
    "parts_of",
    "rebuilt",
    "repeat",
    "union",
    "union_in_order",
]

T = TypeVar("T")


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


def concat(items: Iterable[Node]) -> Node:
    """Return the sequence of the items."""
    parts = tuple(items)
    return parts[0] if len(parts) == 1 else Concat(parts)


def alternate(items: Iterable[Node]) -> Node:
    """Return the alternative of the items."""
    parts = tuple(items)
    return parts[0] if len(parts) == 1 else Alternate(parts)


def union(branches: Sequence[Node], spend: Callable[[int], None] | None = None) -> Node:
    """Return the union of the branches, with those of one character merged into one set, at the place of the first of them.

    ``spend`` is called with the number of intervals that are merged.
    """
    if len(branches) == 1:
        return branches[0]
    kept: list[Node] = []
    # Why by identity: a class used in many branches is one object and is merged once.
    sets: dict[int, Charset] = {}
    points: list[tuple[int, int]] = []
    place = 0
    for branch in branches:
        is_first = not (sets or points)
        match branch:
            case Literal(text) if len(text) == 1:
                points.append((ord(text), ord(text)))
            case Chars(charset):
                sets[id(charset)] = charset
            case _:
                kept.append(branch)
                continue
        if is_first:
            place = len(kept)
    if sets or points:
        merged, *more = sets.values() or [Charset.EMPTY]
        if more or points:
            ranges = [*points, *(interval for charset in sets.values() for interval in charset.ranges)]
            if spend is not None:
                spend(len(ranges))
            merged = Charset.of(ranges)
        single = merged.single()
        kept.insert(place, Chars(merged) if single is None else Literal(single))
    return alternate(kept)


def union_in_order(branches: Sequence[Node], spend: Callable[[int], None] | None = None) -> Node:
    """Return the ordered union of the branches, earlier ones preferred; neighboring ones of one character are merged.

    One character never matches at two lengths, so this does not change what is preferred.
    """
    joined: list[Node] = []
    for is_character, group in groupby(branches, _is_character):
        nodes = list(group)
        joined += [union(nodes, spend)] if is_character else nodes
    return alternate(joined)


def _is_character(node: Node) -> bool:
    return isinstance(node, Chars) or (isinstance(node, Literal) and len(node.text) == 1)


def optional(item: Node) -> Node:
    """Return the item or the empty text."""
    return Repeat(item, 0, 1)


def repeat(item: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    """Return ``minimum`` to ``maximum`` times the item; a node that matches nothing if no count is possible."""
    if maximum is not None and maximum < minimum:
        return Chars(Charset.EMPTY)
    return Repeat(item, minimum, maximum)


def parts_of(node: Node) -> tuple[Node, ...]:
    """Return the parts of a node, in order."""
    match node:
        case Concat(items) | Alternate(items) | Intersect(items):
            return items
        case Repeat(item) | Look(item) | Complement(item):
            return (item,)
        case Graph(edges):
            return tuple(item for _, item, _ in edges)
        case _:
            return ()


def own_parts(node: Node) -> tuple[Node, ...]:
    """Return the parts of a node; none for an assertion, which reads nothing itself."""
    return () if isinstance(node, Look) else parts_of(node)


def fold(
    root: Node, combine: Callable[[Node, Sequence[T]], T], parts: Callable[[Node], tuple[Node, ...]] = parts_of
) -> T:
    """Return the value of a tree.

    Parameters
    ----------
    root : Node
    combine : callable
        A node and the values of its parts -> its value; called once for each node.
    parts : callable
        Returns the parts of a node to visit.
    """
    values: dict[int, T] = {}
    # A node is pushed twice; the second time, with its parts, their values are known.
    stack: list[tuple[Node, tuple[Node, ...] | None]] = [(root, None)]
    while stack:
        node, known = stack.pop()
        if id(node) in values:
            continue
        below = parts(node) if known is None else known
        if known is None and below:
            stack.append((node, below))
            stack.extend((part, None) for part in below)
        else:
            values[id(node)] = combine(node, [values[id(part)] for part in below])
    return values[id(root)]


def rebuilt(node: Node, parts: Sequence[Node]) -> Node:
    """Return the same operation on other parts; the node itself if they are its own or it has none.

    Parameters
    ----------
    node : Node
    parts : sequence of Node
        One for each part in `parts_of`.
    """
    if all(new is old for new, old in zip(parts, parts_of(node), strict=True)):
        return node
    match node:
        case Concat() | Alternate() | Intersect():
            return replace(node, items=tuple(parts))
        case Repeat() | Look() | Complement():
            return replace(node, item=parts[0])
        case Graph():
            edges = zip(node.edges, parts, strict=True)
            return replace(node, edges=tuple((begin, part, end) for (begin, _, end), part in edges))
        case _:
            raise TypeError(f"{type(node).__name__} has no parts")
