"""The byte automaton of an index as a readable graph: few nodes, edges with readable labels; and as Graphviz source.

A node is a state. Bytes between two states are one edge, labeled with ranges. A state with a single predecessor, a single successor, one
byte each and no end of a text is not a node: a chain of such states becomes one edge, labeled with its text.
"""

from dataclasses import dataclass

import numpy as np

from guided.automata.automaton import Automaton
from guided.encoding import shown_bytes

__all__ = ["Edge", "Graph", "byte_set", "graph_of", "least_nodes", "to_dot"]

_SHOWN = 6
_ASCII = frozenset(range(128))


@dataclass(frozen=True, slots=True)
class Edge:
    """All paths from one node to another without a third node between."""

    source: int
    target: int
    label: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph whose nodes are state numbers, ascending; the start is 0.

    Attributes
    ----------
    nodes : tuple of int
    ends : frozenset of int
        Nodes at which a text may end.
    edges : tuple of Edge
        At most one for each pair of nodes.
    """

    nodes: tuple[int, ...]
    ends: frozenset[int]
    edges: tuple[Edge, ...]


def graph_of(automaton: Automaton) -> Graph:
    """Build the graph of an automaton. O(states x 256)."""
    ways = [_ways(automaton, state) for state in range(automaton.n_states)]
    sources: list[int] = [0] * automaton.n_states
    entered_by: dict[int, list[int]] = {}
    for onward in ways:
        for target, values in onward.items():
            sources[target] += 1
            entered_by[target] = values
    labels = automaton.labels.tolist()

    def passes_on(state: int) -> bool:
        if state == 0 or automaton.accepting[state] or sources[state] != 1 or len(ways[state]) != 1:
            return False
        ((target, values),) = ways[state].items()
        return len(values) == len(entered_by[state]) == 1 and labels[target] == labels[state]

    inner = [passes_on(state) for state in range(automaton.n_states)]
    nodes = tuple(state for state in range(automaton.n_states) if not inner[state])
    edges = []
    for node in nodes:
        sets: dict[int, list[int]] = {}
        texts: dict[int, list[bytes]] = {}
        for target, values in ways[node].items():
            place, text = target, bytearray(values[:1])
            while inner[place]:
                ((place, (value,)),) = ways[place].items()
                text.append(value)
            if len(text) > 1:
                texts.setdefault(place, []).append(bytes(text))
            else:
                sets[place] = values
        for place in sorted({*sets, *texts}):
            pieces = [byte_set(sets[place])] if place in sets else []
            pieces += [shown_bytes(text) for text in texts.get(place, [])]
            more = [f"{len(pieces) - _SHOWN} more"] if len(pieces) > _SHOWN else []
            edges.append(Edge(node, place, ", ".join(pieces[:_SHOWN] + more)))
    return Graph(nodes, frozenset(node for node in nodes if automaton.accepting[node]), tuple(edges))


def least_nodes(automaton: Automaton) -> int:
    """A lower bound of the number of nodes, without building the graph: accepting states and states with several bytes are nodes."""
    n_bytes = np.bincount(automaton.classes, minlength=automaton.table.shape[1])
    reads_more = (automaton.table >= 0) @ n_bytes != 1
    return int((reads_more | automaton.accepting).sum())


def byte_set(values: list[int]) -> str:
    """Describe an ascending set of bytes as ranges; large sets by their complement."""
    if len(values) == 256:
        return "any byte"
    if len(values) > 128:
        return f"any byte except {_ranges(sorted(set(range(256)).difference(values)))}"
    if len(values) > 64 and _ASCII.issuperset(values):
        lacking = sorted(_ASCII.difference(values))
        return f"ASCII except {_ranges(lacking)}" if lacking else "ASCII"
    return _ranges(values)


def to_dot(graph: Graph) -> str:
    """Return the graph as Graphviz source."""
    lines = [
        "digraph index {",
        "  rankdir=LR;",
        '  node [shape=circle, fontname="monospace"];',
        '  edge [fontname="monospace"];',
        "  start [shape=point];",
        "  start -> 0;",
        *(f"  {node} [shape=doublecircle];" for node in graph.nodes if node in graph.ends),
        *(f'  {edge.source} -> {edge.target} [label="{_escaped(edge.label)}"];' for edge in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _ways(automaton: Automaton, state: int) -> dict[int, list[int]]:
    """The bytes that lead to each successor of a state."""
    found: dict[int, list[int]] = {}
    for value, target in enumerate(automaton.targets(state)):
        if target >= 0:
            found.setdefault(target, []).append(value)
    return found


def _ranges(values: list[int]) -> str:
    pieces: list[str] = []
    begin = 0
    for place, value in enumerate(values):
        if place + 1 == len(values) or values[place + 1] != value + 1:
            first = values[begin]
            joint = "" if value == first else " " if value == first + 1 else "-"
            pieces.append(_byte(first) + (joint + _byte(value) if joint else ""))
            begin = place + 1
    more = [f"{len(pieces) - _SHOWN} more"] if len(pieces) > _SHOWN else []
    return " ".join(pieces[:_SHOWN] + more)


def _byte(value: int) -> str:
    char = chr(value)
    return char if value < 128 and char.isalnum() else repr(char) if value < 128 else f"x{value:02X}"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"')
