"""The name of a pattern tree: SHA-256 over its structure.

Trees share subtrees, so the walk is over distinct nodes, with an explicit stack: linear in the memory that a tree takes, whatever
its size when written out. Equal trees have equal digests.
"""

from guided.automata.nfa import Operand
from guided.engine.specs import fingerprint_of
from guided.patterns.tree import Alternate, Chars, Complement, Concat, Intersect, Literal, Look, Node, Repeat

__all__ = ["digest"]


def digest(tree: Node) -> str:
    """SHA-256 in hex of a tree's structure."""
    done: dict[int, str] = {}
    stack: list[tuple[Node, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        children = _children(node)
        if ready or not children:
            done[id(node)] = fingerprint_of(*_own(node), *(done[id(child)] for child in children))
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
    return done[id(tree)]


def _own(node: Node) -> tuple[str, str]:
    """A node without its children."""
    match node:
        case Literal():
            return "literal", node.text
        case Chars():
            return "chars", repr(node.charset.ranges)
        case Repeat():
            return "repeat", f"{node.minimum},{node.maximum}"
        case Look():
            return "look", f"{node.behind},{node.negative}"
        case Operand():
            edges = [(source, charset.ranges, target) for source, charset, target in node.edges]
            return "operand", repr((edges, node.accepting))
        case _:
            return type(node).__name__, ""


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Concat() | Alternate() | Intersect():
            return node.items
        case Repeat() | Look() | Complement():
            return (node.item,)
        case _:
            return ()
