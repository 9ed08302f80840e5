"""`DeadEnds`: can a reading of a prefix still become a text?

A reading (a hypothesis of `guided.lalr.prefix`) is live if some lexeme that it can become leads the parser and the lexer where a text can
end. There are two ways to know:

- *assured*: it is proved that every stack with certain states on top can be completed behind certain controls (`guided.lalr.assured`).
  A reading is live if it gets to one of these, which is nearly always with its next lexeme; otherwise what it can become is searched;
- *cells*: where not all is assured, letters and cells (`guided.lalr.letters`, `guided.lalr.coaccessible`) decide at once.

Where neither can (too many letters; an Indenter, whose columns are no part of a stack; lexemes that have ended but may be watched for ever,
as ``/`` before ``*`` where comments begin so), what a search refutes is dead, and what it does not get to the end of counts as live:
`DeadEnds.notes` says so.
"""

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.lalr.adjacent import Adjacent
from guided.lalr.assured import assured_states
from guided.lalr.balance import imbalance
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.columns import Columns
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.items import Items, items_of, productive
from guided.lalr.letters import Letters, letters_of
from guided.lalr.lexemes import Control, Lexemes, Outcomes
from guided.lalr.scanner import Scanner
from guided.lalr.stacks import Stacks
from guided.lalr.tables import LalrTables, Start
from guided.limits import Limits

__all__ = ["DeadEnds"]

# Readings that a search looks at.
_MOST_SEARCHED = 500
# Steps of a construction or question: about a second.
_MOST_STEPS = 100_000_000


class DeadEnds:
    """What of one start's readings is live.

    Parameters
    ----------
    stacks : Stacks
        Of the same start.
    limits : Limits
        ``steps`` bounds the construction, and each question.

    Attributes
    ----------
    stacks : Stacks
    lexemes : Lexemes
    columns : Columns
    letters : Letters or None
    cells : Coaccessible or None
        The cells of stacks; both are None where all is assured without them, or where they were too many.
    unproductive : tuple of str
        Rules and terminals that no text is ever read for.
    doubts : tuple of str
        Where a reading may count as live although it is not; empty where all answers are exact.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start, stacks: Stacks, limits: Limits) -> None:
        self._steps = Steps(min(limits.steps, _MOST_STEPS))
        self.stacks = stacks
        self._contexts: list[int] = tables.context.tolist()
        self._label, self._end = len(tables.lexer.terminals), tables.end
        self._indenter = indenter = Indenter(tables)
        self.lexemes = Lexemes(scanner, self._steps)
        self.letters: Letters | None = None
        self.cells: Coaccessible | None = None
        self._cell_of: list[int] = []
        items = items_of(tables, start)
        self._adjacent = Adjacent(tables, self.lexemes, indenter.newline)
        self.columns = Columns(scanner, indenter, self._adjacent.columns)
        of_indenter = indenter.newline, indenter.indent, indenter.dedent
        self._assured = assured_states(
            tables, items, start, self._adjacent, scanner.first_left, of_indenter, self._steps
        )
        doubts = self._endless(tables, items)
        # Text that is ignored may lead nowhere where it looks ahead, or the next lexeme looks behind: the proof is not about it.
        of_ignored = np.concatenate([scanner.events, scanner.ends])
        of_ignored = of_ignored[of_ignored[:, 0] == self._label]
        looks_around = scanner.starts.shape[1] > scanner.n_runs or bool((of_ignored[:, 1] > 0).any())
        if tables.indentation is not None:
            doubts += self._uncounted(tables, items)
        elif (doubts or looks_around or not self._assured.is_complete) and self._make_cells(
            tables, items, start, scanner.first_left
        ):
            doubts = []
        if self.cells is None and not self._assured.is_complete:
            doubts.append("too much hangs on its conflicts or on where its terminals end")
        self.doubts = tuple(doubts)
        self.unproductive = self._unproductive(tables, items)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unproductive and in doubt, for people."""
        return (
            *(f"no text is ever read for {name}" for name in self.unproductive),
            *(f"dead ends are possible: {doubt}" for doubt in self.doubts),
        )

    def cell(self, node: int) -> int:
        """The cell of a node of the stacks, where there are cells."""
        assert self.cells is not None, "asked only where there are cells"
        chain = []
        while node >= len(self._cell_of) or self._cell_of[node] < 0:
            chain.append(node)
            node = self.stacks.below(node)
        found = self._cell_of[node]
        for one in reversed(chain):
            found = self.cells.above(found, self.stacks.states[one])
            self._cell_of += [-1] * (one + 1 - len(self._cell_of))
            self._cell_of[one] = found
        return found

    def certain(self, tables: LalrTables, start: Start) -> list[int] | None:
        """Of each state of the scanner, labels that its lexeme may have at once, or a letter later, and a text comes of any stack then.

        None where that is no question: where cells decide, and where there are doubts. An Indenter's newline is taken to do no harm.
        """
        if self.cells is not None or self.doubts:
            return None
        after: list[set[int]] = [set() for _ in tables.symbols]
        for symbol, value in zip(tables.action_symbol.tolist(), tables.action_value.tolist(), strict=True):
            if value >= 0:
                after[symbol].add(value)
        # Text that is ignored stands behind what was fed last.
        anywhere = set[int]().union({start.state}, *after)
        can_come, contexts = self._assured.can_come, self._contexts
        # What a newline brings with it comes in no lexeme of its own.
        with_newline = sum(1 << symbol for symbol in self._indenter.following)
        newline = self._indenter.newline
        if newline >= 0:
            # White space behind a newline is the newline's own.
            brought = set[int]().union(*(after[symbol] for symbol in (newline, *self._indenter.following)))
            anywhere -= {state for state in brought if state not in can_come}
            after[newline] = set()

        def wanted(label: int) -> set[tuple[int, int]] | None:
            states = anywhere if label == self._label else after[label]
            if any(state not in can_come for state in states):
                return None
            return {(contexts[state], can_come[state] & ~with_newline) for state in states}

        return self._adjacent.certain(wanted)

    def assures(self, state: int, control: Control) -> bool:
        """Does a text come of every stack with a state of the parser on top, behind a control? A lower bound."""
        wanted = self._assured.can_come.get(state)
        return wanted is not None and self._adjacent.allows(self._contexts[state], control, wanted)

    def renew(self) -> None:
        """A question begins: it has the whole budget of steps."""
        self._steps.spent = 0

    def is_live(self, node: int, indents: Indents, outcomes: Outcomes, columns: frozenset[int] | None = None) -> bool:
        """Can a reading become a text?

        Parameters
        ----------
        outcomes : Outcomes
            What its lexeme can become.
        columns : set of int, optional
            Where the lexeme may end if it becomes an Indenter's newline; anywhere if None.
        """
        self.renew()
        if self.cells is not None and self.letters is not None:
            letters = self.letters.of(outcomes, self._contexts[self.stacks.states[node]])
            return bool(letters & self.cells.live(self.cell(node)))
        return self._search(node, indents, outcomes, columns)

    def _search(self, node: int, indents: Indents, outcomes: Outcomes, columns: frozenset[int] | None) -> bool:
        """Breadth first over lexemes, until one leads to what is assured."""
        seen: set[tuple[int, Indents, Control]] = set()
        work = deque([(node, indents, outcomes, columns)])
        while work:
            node, indents, outcomes, columns = work.popleft()
            if outcomes.can_end and self._ends_at(node, indents):
                return True
            for label, control in outcomes.lexemes:
                for target, counts in self._fed(node, indents, label, columns):
                    state = self.stacks.states[target]
                    if self.assures(state, control):
                        return True
                    key = target, counts, control
                    if key not in seen:
                        if len(seen) == _MOST_SEARCHED:
                            return True
                        seen.add(key)
                        work.append((target, counts, self.lexemes.begun(self._contexts[state], control), None))
        return False

    def _fed(
        self, node: int, indents: Indents, label: int, columns: frozenset[int] | None
    ) -> Iterator[tuple[int, Indents]]:
        """Stacks and counts after a lexeme, for each column that it may end at."""
        newline = self._indenter.newline
        if label == self._label or (label == newline and indents.parentheses):
            yield node, indents
            return
        places: Iterable[int] = (NO_NEWLINE,)
        if label == newline:
            places = (*indents.columns[::-1], indents.columns[-1] + 1) if columns is None else sorted(columns)
        for place in places:
            found = self._indenter.tokens(indents, label, place)
            if found is not None:
                tokens, counts = found
                target = node
                for terminal in tokens:
                    target = self.stacks.feed(target, terminal) if target >= 0 else target
                if target >= 0:
                    yield target, counts

    def _ends_at(self, node: int, indents: Indents) -> bool:
        for terminal in (*self._indenter.at_end(indents), self._end):
            node = self.stacks.feed(node, terminal)
            if node < 0:
                return False
        return True

    def _make_cells(self, tables: LalrTables, items: Items, start: Start, first_left: int) -> bool:
        """Make letters and cells, unless they are too many."""
        first = self._contexts[start.state], Control(first_left, frozenset(), (), False)
        try:
            self.letters = letters_of(tables, items, self.lexemes, first, self._steps)
            self.cells = Coaccessible(tables, items, start, self.letters, self._steps)
        except LimitError:
            self.letters = None
            return False
        self._cell_of.append(self.cells.first)
        return True

    def _endless(self, tables: LalrTables, items: Items) -> list[str]:
        """Lexemes that have ended and may be watched for ever."""
        names = (*(terminal.name for terminal in tables.lexer.terminals), "text that is ignored")
        endless = self._adjacent.endless(items, self._contexts)
        return [f"what follows {names[b]} may always turn out to be {names[a]}" for a, b in endless]

    def _uncounted(self, tables: LalrTables, items: Items) -> list[str]:
        """Where an Indenter's counts are not those of the stack."""
        found = []
        broken = imbalance(tables, items)
        if broken:
            found.append(f"an Indenter counts what the rules do not: {broken}")
        if not self._adjacent.columns_are_free:
            found.append(f"{tables.symbols[self._indenter.newline]} cannot end at any column")
        return found

    def _unproductive(self, tables: LalrTables, items: Items) -> tuple[str, ...]:
        """Rules and terminals that states of the parser wait for in vain."""
        readable = self._adjacent.readable(items, self._contexts)
        if self._indenter.newline in readable:
            readable |= {self._indenter.indent, self._indenter.dedent}
        found = productive(items, readable)
        if self.cells is not None:
            found -= set(self.cells.empty())
        waited = {symbol for state in items.states for symbol in (*items.actions[state], *items.gotos[state])} - {
            self._end
        }
        return tuple(tables.symbols[symbol] for symbol in sorted(waited - found))
