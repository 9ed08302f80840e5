"""Stacks of the LALR parser as hash-consed nodes, and the effect of feeding a terminal.

A node is a parser state on top of another node. Equal stacks are one node, and results of feeding are cached, so texts with a common prefix
share work. `Stacks.feed` is Lark's ``feed_token``: reduce according to the table until the terminal is shifted.

A table with cyclic rules may reduce forever without reading anything (Lark then does not terminate). Such a terminal is refused.
"""

from collections.abc import Sequence

from guided.lalr.tables import LalrTables, Start

__all__ = ["Stacks"]

# Maximum number of consecutive reductions without reaching a new lowest stack depth.
_ENDLESS = 10_000


class Stacks:
    """The stacks of one grammar that have occurred. Node 0 is the start.

    Attributes
    ----------
    states : list of int
        The parser state on top of each node.
    """

    def __init__(self, tables: LalrTables, start: Start) -> None:
        self._end, self._end_state = tables.end, start.end
        self._actions, self._gotos = tables.actions, tables.gotos
        self._rules = list(zip(tables.rule_origin.tolist(), tables.rule_length.tolist(), strict=True))
        self.states = [start.state]
        self._below = [-1]
        self._depth = [1]
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
        least, since = self._depth[node], 0
        while True:
            action = self._actions[self.states[node]].get(terminal)
            if action is None:
                return -1
            if action >= 0:
                return self._push(action, node)
            origin, length = self._rules[-1 - action]
            for _ in range(length):
                node = self._below[node]
            since += 1
            if self._depth[node] < least:
                least, since = self._depth[node], 0
            elif since > _ENDLESS:
                return -1
            node = self._push(self._gotos[self.states[node]][origin], node)
            if terminal == self._end and self.states[node] == self._end_state:
                return node

    def _push(self, state: int, below: int) -> int:
        key = state, below
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.states)
            self.states.append(state)
            self._below.append(below)
            self._depth.append(self._depth[below] + 1)
        return found
