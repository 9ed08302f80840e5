"""`LalrMachine`: a Lark grammar as a pushdown automaton, tables made on demand.

Controls are sets of readings (`guided.lalr.readings`), nearly always one with nothing above the base: a state of the scanner. Cells are
those of the parser's stack (`guided.lalr.cells`). A lexeme that has ended is an action: the cell on top says what is fed, a reduction takes
cells off and goes on with what it uncovers, and ends in pushes and the begin of the next lexeme, which reads the byte again where the
lexeme ended before it.

Where a set has several readings, or text behind a lexeme is read again, an action takes cells off the base one by one until the readings
can be carried on, and puts back what they share.

Invariants: a control is entered only where its cell allows one of the labels that it can still lead to (guards). Rows are made whole, but
for the bytes with which a reading parts in two: those are made when they are asked for.

Complexity: O(byte classes) for a row, O(rules reduced) for a reaction.
"""

from collections.abc import Hashable
from itertools import takewhile

import numpy as np

from guided.arrays import DEAD, UNKNOWN
from guided.automata.pushdown import END_ACTION, GUARD, LIVE, MANY, Pushdown, PushdownTables, Reaction, action_entry
from guided.caching import cached_property
from guided.errors import GrammarError, LimitError, nothing_completes
from guided.kernels import lexemes as kernel
from guided.lalr.cells import Cells
from guided.lalr.completion import Completion
from guided.lalr.deadends import DeadEnds
from guided.lalr.feeds import Feeds
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.readings import Beneath, Reader, Reading
from guided.lalr.rows import Rows
from guided.lalr.scanner import Scanner
from guided.lalr.stacks import Stacks
from guided.lalr.tables import LalrTables, Start
from guided.lalr.tasks import Ended, Finish, Pushes, Reads, Reduced, Task
from guided.limits import Limits

__all__ = ["LalrMachine"]

_NONE: frozenset[int] = frozenset()
_WORD = (1 << 64) - 1
# In place of the byte that is read.
_END_READ, _NOTHING_READ = -1, -2


class LalrMachine(Pushdown):
    """The automaton of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Of the tables' lexer.
    start : Start
    limits : Limits
        ``states`` bounds controls, and cells.
    alphabet : bytes, length 256
        1 for each byte that can come.

    Attributes
    ----------
    width : int
        Words of a set of labels.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start, limits: Limits, alphabet: bytes) -> None:
        self._tables = PushdownTables(limits.states)
        self._tables.steps.limit = limits.call_steps
        scanner = scanner.within(alphabet)
        self.dead_ends = DeadEnds(tables, scanner, start, Stacks(tables, start), limits)
        self.cells = Cells(tables, start, limits.states, self.dead_ends.cells)
        self.reader = Reader(tables, scanner, start, self.cells, self.dead_ends, alphabet)
        self._has_indents = tables.indentation is not None
        reader = self.reader
        self.feeds = Feeds(tables, self.cells, reader.indenter, reader.lexing.ignored, reader.is_sure, reader.leads_on)
        self._bytes = self.reader.lexing.alike(alphabet, self._has_indents)
        self._name = start.name
        self.width = (self.reader.n_bits + 63) >> 6
        self._rows = Rows(self.reader, self._bytes, self._control, self._action)
        self._tasks: list[Task] = []
        self._actions: dict[tuple[Task, bool], int] = {}
        self._sets: list[frozenset[Reading]] = []
        self._controls: dict[frozenset[Reading], int] = {}
        self._filled: set[int] = set()
        self._end = self._tables.control(np.full(256, DEAD, np.int32))
        self._sets.append(frozenset())
        self._number_cells()
        begun = self.reader.begin((0,), scanner.first_left)
        self._is_empty = not self.reader.lives(begun)
        self._start = self._control(frozenset({begun._replace(above=())}))

    @property
    def tables(self) -> PushdownTables:
        """The tables, filled on demand."""
        return self._tables

    @property
    def start(self) -> int:
        """Control of the empty text."""
        return self._start

    @property
    def end(self) -> int:
        """Control in which a whole text has been read."""
        return self._end

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the automaton takes, as it has grown so far."""
        return self._tables.n_bytes + self.feeds.n_bytes

    @property
    def is_empty(self) -> bool:
        """Can no text even begin?"""
        return self._is_empty

    def fill(self, control: int, byte: int) -> None:
        """Make the row of a control known."""
        readings = self._sets[control]
        is_new = control not in self._filled
        row = self._rows.row(readings) if is_new else self._tables.rows[control].copy()
        self._filled.add(control)
        if row[byte] == UNKNOWN:
            # Why all of them: what leaves by one action is one group of tokens, and has one plan.
            unknown = np.flatnonzero(row == UNKNOWN).tolist()
            alike = self._rows.together(readings, unknown, byte)
            row[alike] = self._asked(readings, alike[0])
        self._tables.set_row(control, row)

    def _asked(self, readings: frozenset[Reading], byte: int) -> int:
        """The entry for a byte that takes several readings, or text that is read again."""
        try:
            found = self.reader.read(readings, byte)
        except Beneath:
            return action_entry(self._action(Reads(readings, byte, ())))
        if not found:
            return DEAD
        shared, control = self._shared(found)
        return action_entry(self._action(Pushes(shared, control))) if shared else control

    def react(self, action: int, cell: int) -> None:
        """Make the reaction of a cell to an action known."""
        if (action << 32 | cell) in self._tables.reactions:
            return
        reaction = self._reaction(self._tasks[action], cell)
        self._number_cells()
        self._tables.reacts(action, cell, reaction)

    def _reaction(self, task: Task, cell: int) -> Reaction | None:
        reader = self.reader
        match task:
            case Ended(label, column, left, watchers):
                if label == reader.lexing.ignored:
                    return self._begun(0, (), cell, left, watchers)
                said = reader.indenter.tokens(reader.indents(cell), label, column)
                if said is None:
                    return None
                tokens, indents = said
                if not tokens:
                    return self._begun(0, (), cell, left, watchers)
                return self._fed(cell, tokens, indents if self._has_indents else None, left, watchers)
            case Finish(label, column):
                indents, tokens = reader.indents(cell), tuple[int, ...]()
                if label >= 0 and label != reader.lexing.ignored:
                    said = reader.indenter.tokens(indents, label, column)
                    if said is None:
                        return None
                    tokens, indents = said
                closing = (*tokens, *reader.indenter.at_end(indents), reader.end)
                return self._fed(cell, closing, indents if self._has_indents else None, -1, _NONE)
            case Reduced(rule, tokens, indents, left, watchers):
                target = self._goto(cell, rule)
                if self._has_accepted(target, tokens[0]):
                    return Reaction(0, -1, self._end)
                return self._carried(cell, [target], tokens, indents, left, watchers)
            case Reads(readings, byte, known):
                return self._read(readings, byte, (cell, *known))
            case Pushes():
                raise AssertionError("an action that pushes only has one reaction")

    def _fed(
        self, cell: int, tokens: tuple[int, ...], indents: Indents | None, left: int, watchers: frozenset[int]
    ) -> Reaction | None:
        """The reaction of the top cell where terminals are fed."""
        known = self.cells.known[cell]
        if not known.expected >> tokens[0] & 1:
            return None
        action = self.cells.actions[known.state][tokens[0]]
        if action < 0 and self.cells.rules[-1 - action][1]:
            rule, length = self.cells.rules[-1 - action]
            return Reaction(length, -1, action_entry(self._action(Reduced(rule, tokens, indents, left, watchers))))
        return self._carried(cell, [], tokens, indents, left, watchers)

    def _goto(self, cell: int, rule: int) -> int:
        return self.cells.push(cell, self.cells.gotos[self.cells.known[cell].state][rule])

    def _has_accepted(self, cell: int, terminal: int) -> bool:
        """Has the whole text been read, where this cell has been reduced to by this terminal?"""
        return terminal == self.cells.end and self.cells.known[cell].state == self.cells.end_state

    def _carried(
        self,
        cell: int,
        above: list[int],
        tokens: tuple[int, ...],
        indents: Indents | None,
        left: int,
        watchers: frozenset[int],
    ) -> Reaction | None:
        """Feed terminals to a cell with others above it, as far as it goes without the cells below."""
        cells = self.cells
        plain = cells.with_indents(cell, None)
        for place, terminal in enumerate(tokens):
            if not cells.known[above[-1] if above else plain].expected >> terminal & 1:
                return None
            while True:
                top = above[-1] if above else plain
                action = cells.actions[cells.known[top].state][terminal]
                if action >= 0 and terminal == cells.end:
                    return Reaction(0, -1, self._end)
                if action >= 0:
                    above.append(cells.push(top, action))
                    break
                rule, length = cells.rules[-1 - action]
                if length > len(above):
                    rest = Reduced(rule, tokens[place:], indents, left, watchers)
                    return Reaction(length - len(above), -1, action_entry(self._action(rest)))
                del above[len(above) - length :]
                above.append(self._goto(above[-1] if above else plain, rule))
                if self._has_accepted(above[-1], terminal):
                    return Reaction(0, -1, self._end)
        above[-1] = cells.with_indents(above[-1], indents)
        if plain != cell:
            return self._begun(1, (plain, *above), above[-1], left, watchers)
        return self._begun(0, tuple(above), above[-1], left, watchers)

    def _begun(
        self, pops: int, pushes: tuple[int, ...], top: int, left: int, watchers: frozenset[int]
    ) -> Reaction | None:
        """The reaction that changes the stack and begins a lexeme; None where none can begin and the text cannot end."""
        begun = self.reader.begin((top,), left, watchers)
        readings = frozenset({begun._replace(above=())})
        try:
            if not self.reader.lives(begun):
                return None
        except Beneath:
            ask = action_entry(self._action(Reads(readings, _NOTHING_READ, ())))
            return self._after(pops, pushes, ask)
        return self._after(pops, pushes, self._control(readings))

    def _after(self, pops: int, pushes: tuple[int, ...], control: int) -> Reaction:
        if len(pushes) <= 1:
            return Reaction(pops, pushes[0] if pushes else -1, control)
        return Reaction(pops, pushes[0], action_entry(self._action(Pushes(pushes[1:], control))))

    def _read(self, readings: frozenset[Reading], byte: int, known: tuple[int, ...]) -> Reaction | None:
        """The reaction of a set of readings to a byte or the end, where so many cells of the base are known."""
        on_known = {reading._replace(above=(*known, *reading.above)) for reading in readings}
        try:
            if byte == _END_READ:
                return Reaction(0, -1, self._end) if self.reader.may_end(on_known) else None
            if byte == _NOTHING_READ:
                found = {reading for reading in on_known if self.reader.lives(reading)}
            else:
                found = self.reader.read(on_known, byte)
        except Beneath:
            return Reaction(1, -1, action_entry(self._action(Reads(readings, byte, known))))
        if not found:
            return None
        shared, control = self._shared(found)
        if len(known) == 1 and shared[:1] == known:
            return self._after(0, shared[1:], control)
        return self._after(1, shared, control)

    def _shared(self, readings: set[Reading]) -> tuple[tuple[int, ...], int]:
        """The cells that all readings have above the base, and the control of the readings upon them."""
        stacks = [reading.above for reading in readings]
        shared = tuple(
            column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*stacks, strict=False))
        )
        self._number_cells()
        rest = frozenset(reading._replace(above=reading.above[len(shared) :]) for reading in readings)
        return shared, self._control(rest)

    def _control(self, readings: frozenset[Reading]) -> int:
        found = self._controls.get(readings)
        if found is None:
            found = self._controls[readings] = self._tables.reserve(1)
            self._sets.append(readings)
            self._tables.rows[found] = UNKNOWN
            self._tables.info[found, LIVE] = MANY + 1
            wanted = self.reader.guard(readings)
            if wanted is not None:
                self._tables.guard(found, np.array([self._words(wanted)], np.uint64))
            # After the control is known, since its end may lead to itself.
            self._tables.info[found, END_ACTION] = self._at_end(readings)
        return found

    def _at_end(self, readings: frozenset[Reading]) -> int:
        """The entry at the end of the text; 0 where it cannot end."""
        reader = self.reader
        if len(readings) == 1:
            (reading,) = readings
            if any(reader.lexing.ends[watcher] for watcher in reading.watchers):
                return 0
            if not reading.above:
                if reading.is_fresh:
                    return action_entry(self._action(Finish(-1, NO_NEWLINE)))
                said = reader.lexing.ends[reading.scanned] or reader.lexing.events[reading.scanned]
                if said is None:
                    return 0
                if not said[1]:
                    return action_entry(self._action(Finish(said[0], reading.column)))
        return action_entry(self._action(Reads(readings, _END_READ, ())))

    def _action(self, task: Task, *, again: bool = False) -> int:
        key = task, again
        found = self._actions.get(key)
        if found is None:
            reaction = self._after(0, task.cells, task.control) if isinstance(task, Pushes) else None
            found = self._actions[key] = self._tables.action(again=again, reaction=reaction)
            self._tasks.append(task)
            self.feeds.action(found, task)
        return found

    def _number_cells(self) -> None:
        """Enter new cells into the tables, with the labels that they allow."""
        tables = self._tables
        while tables.n_cells < len(self.cells.known):
            number = tables.cell()
            tables.allow(number, self._words(self.reader.allowed(number)))
            self.feeds.cell(number)
            if not self._has_indents:
                self.feeds.allow(number, 0, tables.cell_allow.item(number))

    def _words(self, labels: int) -> tuple[int, ...]:
        return tuple(labels >> 64 * word & _WORD for word in range(self.width))

    def labels(self, cell: int, indents: int) -> int:
        """Make known which labels a plain cell allows with such indents: their offset in the tables."""
        offset = self._tables.labels(self._words(self.reader.allowed_with(cell, self.feeds.indents(indents))))
        self.feeds.allow(cell, indents, offset)
        return offset

    def restricted(self, control: int, allow: int) -> int:
        """Of the labels at an offset, those that a control can lead to: their offset."""
        tables = self._tables
        first = tables.info.item(control, GUARD)
        if first < 0:
            return allow
        words = tables.allows[allow : allow + self.width] & tables.guards[first : first + self.width]
        return tables.labels(tuple(words.tolist()))

    def learn(self, what: int, first: int, second: int, third: int) -> None:
        """Make known what the kernel of `guided.kernels.lexemes` misses."""
        match what:
            case kernel.MISSING_REACTION:
                self.react(first, second)
            case kernel.MISSING_PUSH:
                self.feeds.push(first, second, third)
            case kernel.MISSING_LABELS:
                self.labels(first, second)
            case kernel.MISSING_CELL:
                self.cells.with_indents(first, self.feeds.indents(second))
            case kernel.MISSING_FEED:
                self.feeds.feed(first, second)
            case kernel.MISSING_STEPS:
                self.feeds.more_room()
            case kernel.MISSING_BEGIN:
                reading = Reading((), self.reader.lexing.starts[first][second], b"", True, NO_NEWLINE, _NONE)
                self.feeds.begin(first, second, self._control(frozenset({reading})))
        self._number_cells()

    def allow(self, cell: int) -> None:
        """Nothing: the labels of all cells are known."""

    def is_open(self, control: int, cell: int) -> bool:
        """Can a guarded control still lead to a label that a cell allows?"""
        return bool(self.reader.allowed(cell) & (self.reader.guard(self._sets[control]) or 0))

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:  # noqa: ARG002 - the protocol's signature
        """No cell records."""
        raise AssertionError("no cell records")

    def told_by(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:  # noqa: ARG002 - the protocol's signature
        """No cell records."""
        raise AssertionError("no cell records")

    def wish(self, cell: int, own: Hashable) -> Hashable:
        """The stack itself."""
        return self._completion.node(cell, own if isinstance(own, int) else -1)

    def way_out(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:  # noqa: ARG002 - the protocol's signature
        """The next byte of a completion (`guided.lalr.completion`); empty where none was found."""
        return self._completion.next(control, cell, own if isinstance(own, int) else -1)

    @cached_property
    def _completion(self) -> Completion:
        return Completion(self, self.reader, self._sets.__getitem__, self._action, self._bytes)

    def unending(self) -> GrammarError | LimitError:
        """The error of a text that nothing completes; or, where a search for a completion has been given up, of that."""
        return self._completion.given_up or nothing_completes(self._name)
