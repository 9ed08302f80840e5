"""Intersect and Complement nodes -> `Operand` nodes: each is compiled on its own and replaced by its automaton.

An operand is a language of its own, so its assertions see only its own span (see `guided.patterns.tree`). Nested operands are compiled
from the inside out.
"""

from collections.abc import Callable, Sequence

import numpy as np

from guided.automata.determinize import CharDFA
from guided.automata.minimize import minimal
from guided.automata.nfa import Operand
from guided.automata.product import char_intersection
from guided.automata.steps import Steps
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.fold import fold, parts_of, rebuilt
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Node

__all__ = ["lower_operands"]

# Cost in steps of a determinization (8 ns each) of: an operand of any size, an edge in Python, a cell of a table.
_OPERAND, _EDGE, _CELL = 50_000, 400, 4
_TOO_MANY = "too many or too large intersections and complements"


def lower_operands(tree: Node, compile_tree: Callable[[Node], CharDFA], limits: Limits, steps: Steps) -> Node:
    """Return the tree with every Intersect and Complement replaced by an automaton.

    Parameters
    ----------
    compile_tree : callable
        A tree without Intersect and Complement -> its automaton over characters.
    steps : Steps
        The cost of the operands is added to it.

    Raises
    ------
    LimitError
        A budget of ``limits`` was exceeded.
    """
    has_operands, before = _operands_in(tree)
    steps.spend(before, _TOO_MANY)
    if not has_operands:
        return tree

    def lowered(node: Node, parts: Sequence[Node]) -> Node:
        match node:
            case Intersect():
                if not parts:
                    raise ValueError("an intersection has at least one operand")
                steps.spend(_OPERAND, _TOO_MANY)
                dfa = compile_tree(parts[0])
                for part in parts[1:]:
                    steps.spend(_OPERAND, _TOO_MANY)
                    dfa = char_intersection(dfa, compile_tree(part), limits, steps)
                return _operand(dfa, steps)
            case Complement():
                steps.spend(_OPERAND, _TOO_MANY)
                return _operand(_complement(compile_tree(parts[0])), steps)
            case _:
                return rebuilt(node, parts)

    return fold(tree, lowered)


def _operands_in(tree: Node) -> tuple[bool, int]:
    """Return whether any operand must be compiled, and the build cost of those already compiled."""
    stack: list[Node] = [tree]
    seen: set[int] = set()
    found, before = False, 0
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Literal or kind is Chars or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Operand):
            before += node.steps
            continue
        found = found or kind is Intersect or kind is Complement
        stack.extend(parts_of(node))
    return found, before


def _complement(dfa: CharDFA) -> CharDFA:
    """Return the automaton of all texts that ``dfa`` does not accept."""
    n, k = dfa.table.shape
    table = np.full((n + 1, k), n, np.int32)
    table[:n] = np.where(dfa.table >= 0, dfa.table, n)
    return CharDFA(table, np.append(~dfa.accepting, True), dfa.partition)


def _operand(dfa: CharDFA, steps: Steps) -> Operand:
    if dfa.partition.symbols:
        raise TypeError("an intersection or a complement must not contain calls")
    steps.spend(_CELL * dfa.table.size, _TOO_MANY)
    table, accepting, _ = minimal(dfa.table, dfa.accepting, np.zeros(len(dfa.table), np.int32))
    steps.spend(_EDGE * len(table), _TOO_MANY)
    sources, classes = np.nonzero(table >= 0)
    targets = table[sources, classes]
    order = np.lexsort((classes, targets, sources))
    sources, classes, targets = sources[order], classes[order], targets[order]
    # One edge for all classes that lead from a state to the same target.
    changes = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    begins = np.flatnonzero(np.append(True, changes)) if len(sources) else np.empty(0, np.int64)
    steps.spend(_EDGE * max(0, len(begins) - len(table)), _TOO_MANY)
    ends = np.append(begins[1:], len(sources))[: len(begins)]
    charsets: dict[bytes, Charset] = {}
    edges: list[tuple[int, Charset, int]] = []
    bounds = zip(begins.tolist(), ends.tolist(), sources[begins].tolist(), targets[begins].tolist(), strict=True)
    for begin, end, source, target in bounds:
        members = classes[begin:end]
        key = members.tobytes()
        charset = charsets.get(key)
        if charset is None:
            steps.spend(_CELL * len(dfa.partition.starts), _TOO_MANY)
            charset = charsets[key] = dfa.partition.charset(members)
        edges.append((source, charset, target))
    return Operand(tuple(edges), tuple(np.flatnonzero(accepting).tolist()), len(table))
