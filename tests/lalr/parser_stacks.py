"""The stacks of a Lark parser as hash-consed nodes: equal stacks are one node, and what they are fed is found once."""

from collections.abc import Sequence

from guided.lalr.parser import Parser
from guided.lalr.tables import LalrTables, Start

__all__ = ["Stacks"]


class Stacks:
    """The stacks of one grammar that have occurred. Node 0 is the start.

    Attributes
    ----------
    states : list of int
        The parser state on top of each node.
    """

    def __init__(self, tables: LalrTables, start: Start) -> None:
        self._parser = Parser(tables, start)
        self.states = [start.state]
        self._below = [-1]
        self._nodes: dict[tuple[int, int], int] = {}
        self._fed: dict[tuple[int, int], int] = {}

    def below(self, node: int) -> int:
        """Return the node below a node; -1 for node 0."""
        return self._below[node]

    def node(self, states: Sequence[int]) -> int:
        """Return the node of a stack, given its states from the start state up."""
        found = 0
        for state in states[1:]:
            found = self._push(state, found)
        return found

    def feed(self, node: int, terminal: int) -> int:
        """Return the node after a terminal; -1 if the parser rejects it. ``$END`` leads to the node of the complete text."""
        key = node, terminal
        found = self._fed.get(key)
        if found is None:
            found = self._fed[key] = self._feed(node, terminal)
        return found

    def _feed(self, node: int, terminal: int) -> int:
        step = self._parser.step(self.states[node], terminal)
        while step is not None and step.pops:
            for _ in range(step.pops):
                node = self._below[node]
            step = self._parser.step(self.states[node], terminal, step.rule)
        for state in () if step is None else step.pushes:
            node = self._push(state, node)
        return -1 if step is None else node

    def _push(self, state: int, below: int) -> int:
        key = state, below
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.states)
            self.states.append(state)
            self._below.append(below)
        return found
