"""Cells of the LALR parser's stack: a state, and what may follow each rule that is under way there.

A state of an LALR table does not tell which terminals can come: a lookahead that it reduces by may be refused further down the stack. What
decides is, for each number of cells j and rule A that a reduction from here may take off and go on with, the set of terminals that can
then be fed: ``follow(j, A)``. These sets of a stack are a function of its top cell's and of the state that is pushed, so a
cell, a state with its sets, says exactly what can be fed to every stack that it is the top of. They are what a canonical LR(1) parser
would keep apart, made for the stacks that texts meet, with Lark's resolution of conflicts.

A cell also carries the indents of its text (`guided.lalr.indents`), where an Indenter reads the tokens: those of the top cell are those of
the text. Cells below the top carry none, so that they are shared.

Complexity: O(actions of the states on the way) for a new cell; O(1) for one that is known.
Ref: Knuth, "On the Translation of Languages from Left to Right" (1965): LR(1) items; here they are found from the table.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from guided.arrays import Int32Array
from guided.errors import LimitError
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.indents import Indents
from guided.lalr.tables import LalrTables, Start

__all__ = ["Cell", "Cells", "bits"]

# Reductions in a row that read nothing: rules that derive themselves end nowhere.
_ENDLESS = 10_000


class Cell(NamedTuple):
    """One cell.

    Attributes
    ----------
    state : int
        Of the table.
    follows : tuple of int
        For each entry of ``Cells.pending[state]``, the terminals that can be fed once it is reduced, as bits.
    expected : int
        The terminals that can be fed to a stack with this cell on top, as bits.
    indents : Indents or None
        None for a cell that is not the top of a text's stack, and without an Indenter.
    alive : int
        Its number in ``Cells.coaccessible``, where there is one: what leads on to the end of a text.
    """

    state: int
    follows: tuple[int, ...]
    expected: int
    indents: Indents | None = None
    alive: int = -1


@dataclass(frozen=True, slots=True)
class _Reductions:
    """What a state does: terminals that are shifted, as bits, and (rule, length, terminals) for each reduction."""

    shifts: int
    reductions: tuple[tuple[int, int, int], ...]


class Cells:
    """The cells of one grammar, numbered in the order in which they are met.

    Parameters
    ----------
    tables : LalrTables
    start : Start
    limit : int
        The most cells.
    coaccessible : Coaccessible, optional
        Of the same start, where some stacks lead nowhere.

    Attributes
    ----------
    known : list of Cell
    pending : list of dict
        By state: of each (cells taken off, rule) its place in ``follows``.
    actions, gotos : list of dict of int to int
        The table by state.
    rules : list of (int, int)
        Symbol and length of each rule.

    The cell of the empty stack is 0.
    """

    def __init__(self, tables: LalrTables, start: Start, limit: int, coaccessible: Coaccessible | None = None) -> None:
        self.coaccessible = coaccessible
        self.end, self.end_state, self._limit = tables.end, start.end, limit
        self.actions = _by_state(tables.action_indptr, tables.action_symbol, tables.action_value)
        self.gotos = _by_state(tables.goto_indptr, tables.goto_symbol, tables.goto_state)
        self.rules = list(zip(tables.rule_origin.tolist(), tables.rule_length.tolist(), strict=True))
        self.pending = self._pending()
        self._does = [self._reductions(row) for row in self.actions]
        self.known: list[Cell] = []
        self._numbers: dict[Cell, int] = {}
        self._pushed: dict[tuple[int, int], int] = {}
        # Of each cell, the terminals that can be fed after a rule has been reduced upon it.
        self._upon: list[dict[int, int]] = []
        bottom = Cell(start.state, (), 0, alive=-1 if coaccessible is None else coaccessible.first)
        self.known.append(bottom)
        self._upon.append({})
        self.known[0] = bottom._replace(expected=self._expected(0, [], bottom.state, []))
        self._numbers[self.known[0]] = 0

    def number(self, cell: Cell) -> int:
        """The number of a cell."""
        found = self._numbers.get(cell)
        if found is None:
            found = self._numbers[cell] = len(self.known)
            if found >= self._limit:
                raise LimitError("states", found + 1, self._limit, "the grammar's stacks differ in too many ways")
            self.known.append(cell)
            self._upon.append({})
        return found

    def with_indents(self, number: int, indents: Indents | None) -> int:
        """The same cell with other indents."""
        cell = self.known[number]
        return number if cell.indents == indents else self.number(cell._replace(indents=indents))

    def push(self, below: int, state: int) -> int:
        """The cell of a state on top of another cell."""
        key = below, state
        found = self._pushed.get(key)
        if found is None:
            found = self._pushed[key] = self._push(below, state)
        return found

    def _push(self, below: int, state: int) -> int:
        under = self.known[below]
        follows = []
        for cells, rule in self.pending[state]:
            if cells == 1:
                follows.append(self.upon(below, rule))
            else:
                follows.append(under.follows[self.pending[under.state][cells - 1, rule]])
        alive = -1 if self.coaccessible is None else self.coaccessible.above(under.alive, state)
        expected = self._expected(below, [state], state, follows)
        return self.number(Cell(state, tuple(follows), expected, None, alive))

    def _expected(self, number: int, above: list[int], state: int, follows: list[int]) -> int:
        """The terminals that can be fed to a cell, which is new; ``above``: its state, where it stands on a cell that is known."""
        does, pending = self._does[state], self.pending[state]
        expected = does.shifts
        for rule, length, terminals in does.reductions:
            if length:
                expected |= terminals & follows[pending[length, rule]]
            else:
                expected |= self._fed(number, above, terminals)
        return expected

    def upon(self, number: int, rule: int) -> int:
        """The terminals that can be fed after a rule has been reduced upon a cell, as bits."""
        found = self._upon[number].get(rule)
        if found is None:
            found = self._upon[number][rule] = self._reduced_upon(number, rule)
        return found

    def _reduced_upon(self, number: int, rule: int) -> int:
        """Without recursion: chains of unit rules are as long as users make them."""
        cell, known = self.known[number], self._upon[number]
        gotos = self.gotos[cell.state]
        if rule not in gotos:
            return 0
        # The rules that are reduced upon this same cell, one after the other; a rule that is met again derives itself.
        order, seen, work = [], {rule}, [rule]
        while work:
            order.append(work.pop())
            for other, length, _ in self._does[gotos[order[-1]]].reductions:
                if length == 1 and other in gotos and other not in seen and other not in known:
                    seen.add(other)
                    work.append(other)
        needs = {symbol: self._does[gotos[symbol]] for symbol in order}
        found = {symbol: does.shifts | self._accepts(gotos[symbol]) for symbol, does in needs.items()}
        for symbol, does in needs.items():
            for other, length, terminals in does.reductions:
                if length > 1:
                    place = self.pending[cell.state].get((length - 1, other))
                    found[symbol] |= terminals & (cell.follows[place] if place is not None else 0)
                elif length == 0:
                    found[symbol] |= self._fed(number, [gotos[symbol]], terminals)
        changed = True
        while changed:
            changed = False
            for symbol in reversed(order):
                now = found[symbol]
                for other, length, terminals in needs[symbol].reductions:
                    if length == 1:
                        now |= terminals & (found[other] if other in found else known.get(other, 0))
                if now != found[symbol]:
                    found[symbol], changed = now, True
        known.update(found)
        return found[rule]

    def _accepts(self, state: int) -> int:
        """``$END``, as bits, where the text has been read once a reduction leads to this state."""
        return 1 << self.end if state == self.end_state else 0

    def _fed(self, number: int, above: list[int], terminals: int) -> int:
        """Which of these terminals can be fed to a cell with further states above it. One by one: an empty rule is reduced."""
        found = 0
        for terminal in bits(terminals):
            if self._feeds(number, list(above), terminal):
                found |= 1 << terminal
        return found

    def _feeds(self, number: int, above: list[int], terminal: int) -> bool:
        cell = self.known[number]
        for _ in range(_ENDLESS):
            action = self.actions[above[-1] if above else cell.state].get(terminal)
            if action is None:
                return False
            if action >= 0:
                return True
            rule, length = self.rules[-1 - action]
            if length > len(above):
                left = length - len(above)
                place = self.pending[cell.state].get((left, rule))
                return place is not None and bool(cell.follows[place] >> terminal & 1)
            del above[len(above) - length :]
            target = self.gotos[above[-1] if above else cell.state].get(rule, -1)
            if target < 0:
                return False
            above.append(target)
            if terminal == self.end and target == self.end_state:
                return True
        return False

    def _reductions(self, row: dict[int, int]) -> _Reductions:
        shifts, found = 0, dict[tuple[int, int], int]()
        for terminal, action in row.items():
            if action >= 0:
                shifts |= 1 << terminal
            else:
                rule, length = self.rules[-1 - action]
                found[rule, length] = found.get((rule, length), 0) | 1 << terminal
        return _Reductions(shifts, tuple((rule, length, terminals) for (rule, length), terminals in found.items()))

    def _pending(self) -> list[dict[tuple[int, int], int]]:
        """Of each state, the (cells, rule) of reductions that are on their way there, with their places."""
        before: list[set[int]] = [set() for _ in self.actions]
        for state in range(len(self.actions)):
            for action in self.actions[state].values():
                if action >= 0:
                    before[action].add(state)
            for target in self.gotos[state].values():
                before[target].add(state)
        found: list[dict[tuple[int, int], int]] = [{} for _ in self.actions]
        work = []
        for state, row in enumerate(self.actions):
            for action in row.values():
                if action < 0 and self.rules[-1 - action][1]:
                    rule, length = self.rules[-1 - action]
                    work.append((state, length, rule))
        while work:
            state, cells, rule = work.pop()
            if (cells, rule) in found[state]:
                continue
            found[state][cells, rule] = 0
            if cells > 1:
                work += [(source, cells - 1, rule) for source in before[state]]
        return [{key: place for place, key in enumerate(sorted(keys))} for keys in found]


def bits(word: int) -> list[int]:
    """The bits that are set, ascending."""
    found = []
    while word:
        low = word & -word
        found.append(low.bit_length() - 1)
        word ^= low
    return found


def _by_state(indptr: Int32Array, symbols: Int32Array, values: Int32Array) -> list[dict[int, int]]:
    symbol, value = symbols.tolist(), values.tolist()
    return [dict(zip(symbol[i:j], value[i:j], strict=True)) for i, j in pairwise(indptr.tolist())]
