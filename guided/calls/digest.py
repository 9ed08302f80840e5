"""Structural digest of a pattern tree (SHA-256).

Linear in the memory of the tree, even if subtrees are shared. Equal trees have equal digests.
"""

from guided.automata.nfa import Operand
from guided.encoding import fingerprint_of
from guided.patterns.tree import Call, Chars, Graph, Literal, Look, Node, Repeat, fold

__all__ = ["digest"]


def digest(tree: Node) -> str:
    """SHA-256 in hex of a tree's structure."""
    return fold(tree, lambda node, parts: fingerprint_of(*_own(node), *parts))


def _own(node: Node) -> tuple[str, str]:
    """The fields of a node without its children."""
    match node:
        case Literal():
            return "literal", node.text
        case Chars():
            return "chars", repr(node.charset.ranges)
        case Repeat():
            return "repeat", f"{node.minimum},{node.maximum}"
        case Call():
            return "call", f"{node.number}"
        case Graph():
            return "graph", repr([(begin, end) for begin, _, end in node.edges])
        case Look():
            return "look", f"{node.behind},{node.negative}"
        case Operand():
            edges = [(source, charset.ranges, target) for source, charset, target in node.edges]
            return "operand", repr((edges, node.accepting))
        case _:
            return type(node).__name__, ""
