"""The LALR parser's one step, and its stacks as hash-consed nodes.

A step is the effect of a terminal as far as it depends on the state on top: reductions, until the terminal is shifted or a state below is
needed. It is a function of that state, so it is computed once for all stacks (`Parser.step`).

A node is a parser state on top of another node. Equal stacks are one node, and results of feeding are cached, so texts with a common prefix
share work. `Stacks.feed` is Lark's ``feed_token``: steps until the terminal is shifted.

A table with cyclic rules may reduce forever without reading anything (Lark then does not terminate). Such a terminal is refused.
"""

from collections.abc import Sequence
from typing import NamedTuple

from guided.lalr.tables import LalrTables, Start

__all__ = ["Parser", "Stacks", "Step"]

# Maximum number of reductions of one step.
_ENDLESS = 10_000


class Step(NamedTuple):
    """The effect of a terminal on a stack.

    Attributes
    ----------
    pops : int
        Number of states popped, the one on top included, before a rule is reduced; 0 if the terminal is shifted.
    rule : int
        Left-hand symbol of that rule.
    pushes : tuple of int
        States pushed if the terminal is shifted.
    """

    pops: int
    rule: int = -1
    pushes: tuple[int, ...] = ()


class Parser:
    """The parser of one start.

    Attributes
    ----------
    actions, gotos : list of dict of int to int
        The table by state.
    rules : list of (int, int)
        Symbol and length of each rule.
    """

    def __init__(self, tables: LalrTables, start: Start) -> None:
        self._end, self._end_state = tables.end, start.end
        self.actions, self.gotos = tables.actions, tables.gotos
        self.rules = list(zip(tables.rule_origin.tolist(), tables.rule_length.tolist(), strict=True))
        self._steps: dict[tuple[int, int, int], Step | None] = {}

    def step(self, state: int, terminal: int, rule: int = -1) -> Step | None:
        """Return the effect of a terminal on stacks with this state on top, after a reduction of ``rule`` onto it (-1: none).

        None if the terminal is not allowed. ``$END`` is shifted where the text is accepted.
        """
        key = state, terminal, rule
        if key not in self._steps:
            self._steps[key] = self._step(*key)
        return self._steps[key]

    def _step(self, state: int, terminal: int, rule: int) -> Step | None:
        stack = [state]
        for _ in range(_ENDLESS):
            if rule >= 0:
                target = self.gotos[stack[-1]].get(rule)
                if target is None:
                    return None
                stack.append(target)
                if terminal == self._end and target == self._end_state:
                    return Step(0, -1, tuple(stack[1:]))
            action = self.actions[stack[-1]].get(terminal)
            if action is None:
                return None
            if action >= 0:
                return Step(0, -1, (*stack[1:], action))
            rule, length = self.rules[-1 - action]
            if length >= len(stack):
                return Step(length - len(stack) + 1, rule)
            del stack[len(stack) - length :]
        return None


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
