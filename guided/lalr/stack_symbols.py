"""Stack symbols of the LALR parser: a state, plus the terminals that may follow each rule in progress.

The top LALR state alone does not determine which terminals the parser accepts: a state deeper in the stack may reject a lookahead by which
the top state reduces. The missing information is ``follow(j, A)``: for each reduction to A that may pop j cells from here, the terminals
that can be fed afterwards. The follow sets of a stack are a function of those of the cell below and the state that is pushed. A *cell*, a
state with its follow sets, therefore determines exactly which terminals every stack with it on top accepts. Cells make the distinctions
of a canonical LR(1) parser, restricted to stacks that occur and with Lark's conflict resolution.

If the grammar has an Indenter, the top cell also carries the indents of the text (`guided.lalr.indents`). Cells below the top carry
none, so that they are shared.

Complexity: O(actions of the states on the way) for a new cell; O(1) for a known one.
Ref: Knuth, "On the Translation of Languages from Left to Right" (1965): LR(1) items; here they are derived from the table.
"""

from dataclasses import dataclass
from typing import NamedTuple

from guided.errors import LimitError
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.indents import Indenter, Indents
from guided.lalr.parser import Parser
from guided.lalr.tables import LalrTables, Start, bits

__all__ = ["StackSymbol", "StackSymbols", "StackUnderflow"]

_NO_INDENTS = Indents()


class StackUnderflow(Exception):
    """Raised when a step needs a cell below those that are known: it pops ``pops`` of them, reduces ``rule``, and feeds ``terminals``."""

    def __init__(self, pops: int = 0, rule: int = -1, terminals: tuple[int, ...] = ()) -> None:
        self.pops, self.rule, self.terminals = pops, rule, terminals


class StackSymbol(NamedTuple):
    """A stack symbol of the parser.

    Attributes
    ----------
    state : int
        Parser state.
    follows : tuple of int
        For each entry of ``StackSymbols.pending[state]``, the terminals that can be fed after its reduction, as bits.
    expected : int
        The terminals that can be fed to a stack with this cell on top, as bits.
    indents : Indents or None
        None without an Indenter, and for cells below the top.
    coaccessible_cell : int
        Its cell number in ``StackSymbols.coaccessible``, which decides liveness; -1 without one.
    """

    state: int
    follows: tuple[int, ...]
    expected: int
    indents: Indents | None = None
    coaccessible_cell: int = -1


@dataclass(frozen=True, slots=True)
class _Reductions:
    """The actions of a state: shifted terminals as bits, and (rule, length, terminals) for each reduction."""

    shifts: int
    reductions: tuple[tuple[int, int, int], ...]


class StackSymbols:
    """The cells of one grammar, numbered in order of discovery; cell 0 is the bottom of the stack.

    Parameters
    ----------
    tables : LalrTables
    start : Start
    limit : int
        Maximum number of cells.
    coaccessible : Coaccessible, optional
        For the same start, if some stacks are dead ends.

    Attributes
    ----------
    known : list of StackSymbol
    pending : list of dict
        By state: (number of cells popped, rule) -> index in ``follows``.
    moves : list of dict of int to int
        As in the tables.
    rules : list of (int, int)
        Symbol and length of each rule.
    pushed : dict
        (cell, state) -> the cell of the state on top of it, in order of discovery.
    indenter : Indenter
    ignored : int
        Label of ignored text.
    """

    def __init__(self, tables: LalrTables, start: Start, limit: int, coaccessible: Coaccessible | None = None) -> None:
        self.coaccessible = coaccessible
        self.end, self.end_state, self._limit = tables.end, start.end, limit
        self.indenter, self.ignored = Indenter(tables), tables.lexer.label_of_ignored
        self._parser = Parser(tables, start)
        self.moves, self.rules = self._parser.moves, self._parser.rules
        self._state_actions = [
            self._reductions(row, own) for row, own in zip(self.moves, tables.reductions, strict=True)
        ]
        self.pending = self._pending()
        self.known: list[StackSymbol] = []
        self._numbers: dict[StackSymbol, int] = {}
        self.pushed: dict[tuple[int, int], int] = {}
        # By cell: the terminals that can be fed after a symbol is reduced onto it.
        self._upon: list[dict[int, int]] = []
        bottom = StackSymbol(start.state, (), 0, coaccessible_cell=-1 if coaccessible is None else coaccessible.first)
        self.known.append(bottom)
        self._upon.append({})
        self.known[0] = bottom._replace(expected=self._expected(0, [], bottom.state, []))
        self._numbers[self.known[0]] = 0

    def number(self, cell: StackSymbol) -> int:
        """Return the number of a cell, adding it if it is new."""
        found = self._numbers.get(cell)
        if found is None:
            found = len(self.known)
            if found >= self._limit:
                raise LimitError("states", found + 1, self._limit, "the grammar has too many distinct parser stacks")
            self._numbers[cell] = found
            self.known.append(cell)
            self._upon.append({})
        return found

    def with_indents(self, number: int, indents: Indents | None) -> int:
        """Return the same cell with other indents."""
        cell = self.known[number]
        return number if cell.indents == indents else self.number(cell._replace(indents=indents))

    def push(self, below: int, state: int) -> int:
        """Return the cell of a state on top of another cell."""
        key = below, state
        found = self.pushed.get(key)
        if found is None:
            found = self.pushed[key] = self._push(below, state)
        return found

    def indents(self, number: int) -> Indents:
        """Return the indents of a text with this cell on top."""
        return self.known[number].indents or _NO_INDENTS

    def after(self, stack: tuple[int, ...], label: int, column: int) -> tuple[int, ...] | None:
        """Return a stack after a lexeme with this label; None if the parser rejects it. Raises as `feed`."""
        if not stack:
            raise StackUnderflow
        found = self.tokens(stack[-1], label, column)
        return None if found is None else self.feed(stack, *found)

    def tokens(self, number: int, label: int, column: int) -> tuple[tuple[int, ...], Indents] | None:
        """Return what is fed to a cell for a lexeme (-1: none), and the indents after it; None if Lark fails."""
        indents = self.indents(number)
        return ((), indents) if label in (-1, self.ignored) else self.indenter.tokens(indents, label, column)

    def can_end(self, stack: tuple[int, ...]) -> bool:
        """Return whether the parser accepts a text that ends here. Raises as `feed`."""
        if not stack:
            raise StackUnderflow
        indents = self.indents(stack[-1])
        return self.feed(stack, (*self.indenter.at_end(indents), self.end), indents) is not None

    def feed(
        self, stack: tuple[int, ...], terminals: tuple[int, ...], indents: Indents, rule: int = -1
    ) -> tuple[int, ...] | None:
        """Return a stack after terminals, which lead to these indents; None if the parser rejects one.

        ``stack``: its known cells, not empty. ``rule``: a rule that is reduced onto the top cell first (-1: none).

        Raises
        ------
        StackUnderflow
            Cells below the known ones are needed.
        """
        if not terminals:
            return stack
        cells = [*stack[:-1], self.with_indents(stack[-1], None)]
        for place, terminal in enumerate(terminals):
            expected = self.upon(cells[-1], rule) if rule >= 0 else self.known[cells[-1]].expected
            if not expected >> terminal & 1:
                return None
            if terminal == self.end:
                return tuple(cells)
            missing = self.shift(cells, terminal, rule)
            if missing is not None:
                raise StackUnderflow(*missing, terminals[place:])
            rule = -1
        if self.indenter.newline >= 0:
            cells[-1] = self.with_indents(cells[-1], indents)
        return tuple(cells)

    def shift(self, stack: list[int], terminal: int, rule: int = -1) -> tuple[int, int] | None:
        """Feed a terminal that the top cell expects, after a reduction of `rule` (-1: none), as far as the cells of `stack` suffice.

        Returns None if the terminal has been shifted. If a reduction pops the whole stack, returns how many cells below it pops too, and
        its rule.
        """
        while True:
            step = self._parser.step(self.known[stack[-1]].state, terminal, rule)
            assert step is not None, "the top cell expects the terminal"
            if not step.pops:
                for state in step.pushes:
                    stack.append(self.push(stack[-1], state))
                return None
            rule = step.rule
            if step.pops >= len(stack):
                return step.pops - len(stack), rule
            del stack[len(stack) - step.pops :]

    def _push(self, below: int, state: int) -> int:
        under = self.known[below]
        follows = []
        for cells, rule in self.pending[state]:
            if cells == 1:
                follows.append(self.upon(below, rule))
            else:
                follows.append(under.follows[self.pending[under.state][cells - 1, rule]])
        coaccessible_cell = -1 if self.coaccessible is None else self.coaccessible.above(under.coaccessible_cell, state)
        expected = self._expected(below, [state], state, follows)
        return self.number(StackSymbol(state, tuple(follows), expected, None, coaccessible_cell))

    def _expected(self, number: int, above: list[int], state: int, follows: list[int]) -> int:
        """Return the terminals that a new cell accepts; ``above``: its state, if it is pushed on a known cell."""
        does, pending = self._state_actions[state], self.pending[state]
        expected = does.shifts
        for rule, length, terminals in does.reductions:
            if length:
                expected |= terminals & follows[pending[length, rule]]
            else:
                expected |= self._fed(number, above, terminals)
        return expected

    def upon(self, number: int, rule: int) -> int:
        """Return the terminals that can be fed after `rule` is reduced onto a cell, as bits."""
        found = self._upon[number].get(rule)
        if found is None:
            found = self._upon[number][rule] = self._reduced_upon(number, rule)
        return found

    def _reduced_upon(self, number: int, rule: int) -> int:
        """Compute `upon` iteratively: chains of unit rules can be arbitrarily long."""
        cell, known = self.known[number], self._upon[number]
        gotos = self.moves[cell.state]
        if rule not in gotos:
            return 0
        # Symbols reduced onto this same cell through chains of unit rules; a repeated symbol is a cycle.
        order, seen, work = [], {rule}, [rule]
        while work:
            order.append(work.pop())
            for other, length, _ in self._state_actions[gotos[order[-1]]].reductions:
                if length == 1 and other in gotos and other not in seen and other not in known:
                    seen.add(other)
                    work.append(other)
        needs = {symbol: self._state_actions[gotos[symbol]] for symbol in order}
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
        """Return ``$END`` as bits if a reduction that leads to this state accepts the text."""
        return 1 << self.end if state == self.end_state else 0

    def _fed(self, number: int, above: list[int], terminals: int) -> int:
        """Return which of these terminals can be fed to a cell with states above it, testing each because an empty rule is reduced."""
        found = 0
        for terminal in bits(terminals):
            if self._feeds(self.known[number], list(above), terminal):
                found |= 1 << terminal
        return found

    def _feeds(self, cell: StackSymbol, above: list[int], terminal: int) -> bool:
        step = self._parser.step(above[-1] if above else cell.state, terminal)
        while step is not None and step.pops:
            if step.pops > len(above):
                place = self.pending[cell.state].get((step.pops - len(above), step.rule))
                return place is not None and bool(cell.follows[place] >> terminal & 1)
            del above[len(above) - step.pops :]
            step = self._parser.step(above[-1] if above else cell.state, terminal, step.rule)
        return step is not None

    def _reductions(self, row: dict[int, int], reductions: dict[int, int]) -> _Reductions:
        found: dict[tuple[int, int], int] = {}
        for rule, terminals in reductions.items():
            found[self.rules[rule]] = found.get(self.rules[rule], 0) | terminals
        end = self.end
        shifts = sum(1 << terminal for terminal, target in row.items() if target >= 0 and terminal <= end)
        return _Reductions(shifts, tuple((*rule, terminals) for rule, terminals in found.items()))

    def _pending(self) -> list[dict[tuple[int, int], int]]:
        """Return, by state, the (cells, rule) pairs of reductions in progress there, with their indices."""
        before: list[list[int]] = [[] for _ in self.moves]
        for state, row in enumerate(self.moves):
            for target in row.values():
                if target >= 0:
                    before[target].append(state)
        found: list[dict[tuple[int, int], int]] = [{} for _ in self.moves]
        work = [
            (state, length, rule)
            for state, does in enumerate(self._state_actions)
            for rule, length, _ in does.reductions
            if length
        ]
        while work:
            state, cells, rule = work.pop()
            if (cells, rule) in found[state]:
                continue
            found[state][cells, rule] = 0
            if cells > 1:
                work += [(source, cells - 1, rule) for source in before[state]]
        return [{key: place for place, key in enumerate(sorted(keys))} for keys in found]
