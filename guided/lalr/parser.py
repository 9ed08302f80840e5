"""The LALR parser's one step: the effect of a terminal as far as it depends on the state on top.

That is reductions, until the terminal is shifted or a state below is needed; it is computed once for all stacks (`Parser.step`).

A table with cyclic rules may reduce forever without reading anything (Lark then does not terminate). Such a terminal is refused.
"""

from typing import NamedTuple

from guided.lalr.tables import LalrTables, Start

__all__ = ["Parser", "Step"]

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
    moves : list of dict of int to int
        As in the tables.
    rules : list of (int, int)
        Symbol and length of each rule.
    """

    def __init__(self, tables: LalrTables, start: Start) -> None:
        self._end, self._end_state = tables.end, start.end
        self.moves = tables.moves
        self.rules = [(origin, len(side)) for origin, side in tables.rules]
        self._steps: dict[tuple[int, int, int], Step | None] = {}

    def step(self, state: int, terminal: int, rule: int = -1) -> Step | None:
        """Return the effect of a terminal on stacks with this state on top, after a reduction of ``rule`` onto it (-1: none).

        None if the terminal is not allowed. ``$END`` is shifted where the text is accepted.
        """
        # Why: labels beyond are those of ignored text, and no symbols.
        if terminal > self._end:
            return None
        key = state, terminal, rule
        if key not in self._steps:
            self._steps[key] = self._step(*key)
        return self._steps[key]

    def _step(self, state: int, terminal: int, rule: int) -> Step | None:
        stack = [state]
        for _ in range(_ENDLESS):
            if rule >= 0:
                target = self.moves[stack[-1]].get(rule)
                if target is None:
                    return None
                stack.append(target)
                if terminal == self._end and target == self._end_state:
                    return Step(0, -1, tuple(stack[1:]))
            action = self.moves[stack[-1]].get(terminal)
            if action is None:
                return None
            if action >= 0:
                return Step(0, -1, (*stack[1:], action))
            rule, length = self.rules[-1 - action]
            if length >= len(stack):
                return Step(length - len(stack) + 1, rule)
            del stack[len(stack) - length :]
        return None

    def feed(self, states: tuple[int, ...], terminal: int) -> tuple[int, ...] | None:
        """Return a stack after a terminal, as Lark's ``feed_token``; None if the parser rejects it.

        ``$END`` leads to the stack of the complete text.
        """
        step = self.step(states[-1], terminal)
        while step is not None and step.pops:
            states = states[: len(states) - step.pops]
            step = self.step(states[-1], terminal, step.rule)
        return None if step is None else (*states, *step.pushes)
