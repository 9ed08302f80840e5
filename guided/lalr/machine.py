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

from collections.abc import Hashable, Iterable
from functools import cached_property
from itertools import takewhile

import numpy as np

from guided.arrays import DEAD, UNKNOWN
from guided.automata.pushdown import END_ACTION, LIVE, MANY, Pushdown, PushdownTables, Reaction, action_entry
from guided.errors import GrammarError, nothing_completes
from guided.lalr.cells import Cells
from guided.lalr.completion import Completion
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.readings import Beneath, Reader, Reading
from guided.lalr.scanner import Scanner
from guided.lalr.stacks import Stacks
from guided.lalr.tables import LalrTables, Start
from guided.lalr.tasks import Ended, Finish, Pushes, Reads, Reduced, Task
from guided.limits import Limits

__all__ = ["LalrMachine"]

_NONE: frozenset[int] = frozenset()
_WORD = (1 << 64) - 1


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
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start, limits: Limits, alphabet: bytes) -> None:
        self._tables = PushdownTables(limits.states)
        scanner = scanner.within(alphabet)
        self.dead_ends = DeadEnds(tables, scanner, start, Stacks(tables, start), limits)
        self.cells = Cells(tables, start, limits.states, self.dead_ends.cells)
        self.reader = Reader(tables, scanner, self.cells, self.dead_ends, alphabet)
        self._has_indents = tables.indentation is not None
        self._bytes = self.reader.lexing.alike(alphabet, self._has_indents)
        self._name = start.name
        self._width = (self.reader.n_bits + 63) >> 6
        self._tasks: list[Task] = []
        self._actions: dict[tuple[Task, bool], int] = {}
        self._sets: list[frozenset[Reading]] = []
        self._controls: dict[frozenset[Reading], int] = {}
        self._filled: set[int] = set()
        self._end = self._tables.control(np.full(256, DEAD, np.int32))
        self._sets.append(frozenset())
        self._number_cells()
        begun = self.reader.begin((0,), scanner.first_left)
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
    def is_empty(self) -> bool:
        """Can no text even begin?"""
        return not self.is_open(self._start, 0)

    def fill(self, control: int, byte: int) -> None:
        """Make the row of a control known."""
        readings = self._sets[control]
        if control in self._filled:
            row = self._tables.rows[control].copy()
            row[byte] = self._asked(readings, byte)
        else:
            row = np.full(256, DEAD, np.int32)
            for alike in self._alike(readings):
                entry = self._entry(readings, alike[0])
                if entry != DEAD:
                    row[alike] = entry
            self._filled.add(control)
            if row[byte] == UNKNOWN:
                row[byte] = self._asked(readings, byte)
        self._tables.set_row(control, row)

    def _alike(self, readings: frozenset[Reading]) -> Iterable[list[int]]:
        """Bytes that have the same entry, as far as is seen at once: nearly always those that lead the scanner to the same state."""
        lexing, found = self.reader.lexing, dict[Hashable, list[int]]()
        reading = next(iter(readings))
        if len(readings) > 1 or reading.above or reading.watchers or reading.scanned < 0:
            return [[byte] for alike in self._bytes for byte in alike]
        row, event = lexing.rows[reading.scanned], not reading.is_fresh and lexing.events[reading.scanned]
        for alike in self._bytes:
            column = lexing.classes[alike[0]]
            target = row[column]
            for byte in alike:
                key: Hashable = target
                if target >= 0:
                    said, keeps = lexing.events[target], lexing.tails[target]
                    if said and said[1] == 1 and not lexing.goes_on[target] and byte < 0x80:
                        # The byte stands behind the lexeme, and is read again.
                        keeps = -1
                    if keeps > 0 or (keeps == 0 and byte >= 0x80) or lexing.labels[target] & self.reader.newline:
                        key = byte, -1
                    elif byte >= 0x80 or (event and not lexing.events[target]):
                        key = target, column, byte if byte >= 0xC0 else -1
                found.setdefault(key, []).append(byte)
        return found.values()

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

    def _entry(self, readings: frozenset[Reading], byte: int) -> int:
        """The entry for a byte where there is one reading, which does not part; otherwise UNKNOWN: it is made when it is asked for."""
        reader = self.reader
        if len(readings) == 1:
            (reading,) = readings
            if not reading.above:
                watchers = reader.moved(reading.watchers, byte)
                if watchers is None:
                    return DEAD
                going = reader.going(reading, byte, watchers)
                event = None if reading.is_fresh or reading.scanned < 0 else reader.lexing.events[reading.scanned]
                if going is None:
                    if event is None:
                        return DEAD
                    if not event[1]:
                        task = Ended(event[0], reading.column, event[2], reading.watchers)
                        return action_entry(self._action(task, again=True))
                else:
                    after, goes_on = reader.lexing.arrived(going.scanned, byte)
                    if after is not None and not goes_on:
                        if not after[1]:
                            return action_entry(self._action(Ended(after[0], going.column, after[2], watchers)))
                        if after[1] == 1 and (byte < 0x80 or byte >= 0xC0):
                            # The byte stands behind the lexeme.
                            task = Ended(after[0], reading.column, after[2], reading.watchers)
                            return action_entry(self._action(task, again=True))
                    parts = (
                        event is not None
                        and after is None
                        and (event[1] or reader.lexing.may_part(event, byte, going.scanned))
                    )
                    if (after is None or not after[1]) and not parts:
                        return self._control(frozenset({going}))
        return UNKNOWN

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
        if not self.reader.lives(begun):
            return None
        return self._after(pops, pushes, self._control(frozenset({begun._replace(above=())})))

    def _after(self, pops: int, pushes: tuple[int, ...], control: int) -> Reaction:
        if len(pushes) <= 1:
            return Reaction(pops, pushes[0] if pushes else -1, control)
        return Reaction(pops, pushes[0], action_entry(self._action(Pushes(pushes[1:], control))))

    def _read(self, readings: frozenset[Reading], byte: int, known: tuple[int, ...]) -> Reaction | None:
        """The reaction of a set of readings to a byte or the end, where so many cells of the base are known."""
        on_known = {reading._replace(above=(*known, *reading.above)) for reading in readings}
        try:
            if byte < 0:
                return Reaction(0, -1, self._end) if self.reader.may_end(on_known) else None
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
                words = [wanted >> 64 * word & _WORD for word in range(self._width)]
                self._tables.guard(found, np.array([words], np.uint64))
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
        return action_entry(self._action(Reads(readings, -1, ())))

    def _action(self, task: Task, *, again: bool = False) -> int:
        key = task, again
        found = self._actions.get(key)
        if found is None:
            reaction = self._after(0, task.cells, task.control) if isinstance(task, Pushes) else None
            found = self._actions[key] = self._tables.action(again=again, reaction=reaction)
            self._tasks.append(task)
        return found

    def _number_cells(self) -> None:
        """Enter new cells into the tables, with the labels that they allow."""
        tables = self._tables
        for cell in range(tables.n_cells, len(self.cells.known)):
            allowed = self.reader.allowed(cell)
            number = tables.cell()
            tables.allow(number, tuple(allowed >> 64 * word & _WORD for word in range(self._width)))

    def allow(self, cell: int) -> None:
        """Nothing: the labels of all cells are known."""

    def is_open(self, control: int, cell: int) -> bool:
        """Can a guarded control still lead to a label that a cell allows?"""
        return bool(self.reader.allowed(cell) & (self.reader.guard(self._sets[control]) or 0))

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:  # noqa: ARG002 - the protocol's signature
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

    def unending(self) -> GrammarError:
        """The error of a text that nothing completes."""
        return nothing_completes(self._name)
