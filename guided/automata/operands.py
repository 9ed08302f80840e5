"""Intersect and Complement nodes -> `Operand` nodes: each is compiled on its own and put back as an automaton.

An operand is a language of its own, so its assertions see its own span only (see `guided.patterns.tree`). Operands within operands are
compiled from the inside out; the tree is walked with an explicit stack.
"""

from collections.abc import Callable, Sequence

import numpy as np

from guided.arrays import DEAD
from guided.automata.determinize import CharDFA
from guided.automata.minimize import minimal
from guided.automata.nfa import Operand
from guided.automata.product import char_intersection
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Complement, Concat, Intersect, Look, Node, Repeat

__all__ = ["lower_operands"]


def lower_operands(tree: Node, compile_tree: Callable[[Node], CharDFA], limits: Limits) -> Node:
    """The tree with every Intersect and Complement replaced by an automaton.

    Parameters
    ----------
    compile_tree : callable
        A tree without Intersect and Complement -> its automaton over characters.
    """
    # Post-order: a node is visited again, marked, when all its children have been rewritten.
    done: dict[int, Node] = {}
    stack: list[tuple[Node, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        children = _children(node)
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in children)
            continue
        parts = [done[id(child)] for child in children]
        match node:
            case Intersect():
                if not parts:
                    raise ValueError("an intersection has at least one operand")
                dfa = compile_tree(parts[0])
                for part in parts[1:]:
                    dfa = char_intersection(dfa, compile_tree(part), limits)
                done[id(node)] = _operand(dfa)
            case Complement():
                done[id(node)] = _operand(_complement(compile_tree(parts[0])))
            case _ if all(new is old for new, old in zip(parts, children, strict=True)):
                done[id(node)] = node
            case _:
                done[id(node)] = _rebuild(node, parts)
    return done[id(tree)]


def _children(node: Node) -> Sequence[Node]:
    match node:
        case Concat() | Alternate() | Intersect():
            return node.items
        case Repeat() | Look() | Complement():
            return (node.item,)
        case _:
            return ()


def _rebuild(node: Node, parts: list[Node]) -> Node:
    match node:
        case Concat():
            return Concat(tuple(parts))
        case Alternate():
            return Alternate(tuple(parts))
        case Repeat():
            return Repeat(parts[0], node.minimum, node.maximum)
        case Look():
            return Look(parts[0], node.behind, node.negative)
        case _:
            raise TypeError(f"{type(node).__name__} has no children")


def _complement(dfa: CharDFA) -> CharDFA:
    """All texts that ``dfa`` does not accept."""
    n, k = dfa.table.shape
    table = np.full((n + 1, k), n, np.int32)
    table[:n] = np.where(dfa.table >= 0, dfa.table, n)
    return CharDFA(table, np.append(~dfa.accepting, True), dfa.partition)


def _operand(dfa: CharDFA) -> Operand:
    table, accepting, _ = minimal(dfa.table, dfa.accepting, np.zeros(len(dfa.table), np.int32))
    edges: list[tuple[int, Charset, int]] = []
    charsets: dict[tuple[int, ...], Charset] = {}
    for source, row in enumerate(table.tolist()):
        targets: dict[int, list[int]] = {}
        for number, target in enumerate(row):
            if target != DEAD:
                targets.setdefault(target, []).append(number)
        for target, classes in targets.items():
            key = tuple(classes)
            if key not in charsets:
                charsets[key] = dfa.partition.charset(classes)
            edges.append((source, charsets[key], target))
    return Operand(tuple(edges), tuple(np.flatnonzero(accepting).tolist()), len(table))
