"""Folds over pattern trees: the value of each node is computed from those of its parts, bottom up.

Trees share subtrees and may be arbitrarily deep, so a fold visits each distinct node once, with an explicit stack. It is linear in the
memory of a tree, not in its expanded size.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from guided.patterns.tree import Alternate, Complement, Concat, Graph, Intersect, Look, Node, Repeat

__all__ = ["fold", "parts_of", "rebuilt"]

T = TypeVar("T")


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
        case Concat():
            return Concat(tuple(parts))
        case Alternate():
            return Alternate(tuple(parts))
        case Intersect():
            return Intersect(tuple(parts))
        case Complement():
            return Complement(parts[0])
        case Graph():
            edges = zip(node.edges, parts, strict=True)
            return Graph(tuple((begin, part, end) for (begin, _, end), part in edges), node.n_points)
        case Repeat():
            return Repeat(parts[0], node.minimum, node.maximum)
        case Look():
            return Look(parts[0], node.behind, node.negative)
        case _:
            raise TypeError(f"{type(node).__name__} has no parts")
