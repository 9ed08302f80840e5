"""Controls, actions and cells of a `LalrMachine`, numbered for its tables and for the kernel of `guided.kernels.lexemes`.

A control is a set of hypotheses. An action is a task, one class per kind, plus whether its byte is read again. Equal sets share a control,
equal tasks an action (`Controls`).

`KernelParser` is the parser as flat arrays. Lark's table is copied at construction. Everything that depends on the stacks of actual texts
is computed when the kernel misses it, by the module that defines it: the cell that a push produces (`guided.lalr.stack_symbols`), the
tokens that an Indenter makes of a lexeme (`guided.lalr.indents`), the labels that a cell allows (`guided.lalr.hypotheses`), and the control
in which a lexeme starts. On the kernel's stacks cells are plain: the number of the text's indents is stored beside the stack.

Not thread-safe: callers hold the lock of the index. Complexity: O(1) for each entry.
"""

from itertools import islice
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt64Array
from guided.automata.growth import grown, rehashed
from guided.automata.pushdown import END_ACTION, GUARD, LIVE, MANY, PENDING, PushdownTables, Reaction, action_entry
from guided.errors import LimitError
from guided.kernels import lexemes as kernel
from guided.kernels.hashing import enter
from guided.lalr.hypotheses import Hypothesis, HypothesisReader
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.tables import LalrTables
from guided.limits import Limits

__all__ = [
    "END_READ",
    "NOTHING_READ",
    "Controls",
    "Ended",
    "Finish",
    "KernelParser",
    "Pushes",
    "Reads",
    "Reduced",
    "Task",
]

# Pseudo-bytes of `Reads`: the end of the text, and "check only whether the hypotheses are live".
END_READ, NOTHING_READ = -1, -2
# Kinds of actions: handled by reactions, a lexeme that is fed, a lexeme that is ignored.
_OTHER, _FED, _IGNORED = 0, 1, 2
# Number of columns of a cell before its labels.
_COLUMNS = 4
_WORD = (1 << 64) - 1
# Measured memory of a dict entry in bytes.
_PER_ENTRY = 250
# Steps of a call for a control, besides the one for its place in the tables: it takes 15 us and 2 KB.
_CONTROL_COST = 3


class Ended(NamedTuple):
    """The lexeme has ended: the top cell decides which terminals are fed."""

    label: int
    column: int
    left: int
    watchers: frozenset[int]


class Finish(NamedTuple):
    """The text ends, with a lexeme that ended (-1: none)."""

    label: int
    column: int


class Reduced(NamedTuple):
    """A rule has been reduced onto the top cell; the terminals are fed next."""

    rule: int
    tokens: tuple[int, ...]
    indents: Indents
    left: int
    watchers: frozenset[int]


class Pushes(NamedTuple):
    """Cells to push, and the control after them."""

    cells: tuple[int, ...]
    control: int


class Reads(NamedTuple):
    """Hypotheses read a byte, given these cells of the base; byte -1: the text ends, -2: only check liveness."""

    hypotheses: frozenset[Hypothesis]
    byte: int
    known: tuple[int, ...]


Task = Ended | Finish | Reduced | Pushes | Reads


class KernelParser:
    """The parser of one grammar, with its cells.

    Parameters
    ----------
    tables : LalrTables
    reader : HypothesisReader
        Knows the cells, the Indenter, and after which labels the top cell alone decides if the next lexeme can start.
    limits : Limits

    Attributes
    ----------
    has_indents : bool
        Whether there is an Indenter.
    table : ndarray[int32]
        Offsets of symbols, of values and of rules; from index 4 the CSR row offsets of the states; then symbols (terminals and
        nonterminals, ascending), values (the next state, or ``-1 - r`` to reduce rule r), and symbol and length of each rule.
    cells : ndarray[int32], shape (capacity, 5 or 8)
        Per cell: its state, the lexer's context there, the plain cell, the number of its indents (-1: none), and the offset of its labels
        in the automaton's tables (PENDING: not computed), for each kind of indents.
    native : ndarray[int32], shape (capacity, 5)
        Per action: its kind, label, number as a lexeme that the Indenter counts (-1: not counted), left class after it, and whether
        every stack that the label has been fed to can be completed.
    variant : ndarray[int32], shape (capacity,)
        Kind of each indents: 1 inside parentheses, plus 2 inside a block. Length 1 without an Indenter.
    expected : ndarray[uint64], shape (capacity, words)
        Labels that can be fed to each cell.
    keys, values : ndarray[int64] and ndarray[int32], shape (power of two,)
        Hash table with open addressing; the key includes the kind of query (`guided.kernels.lexemes`): the cell of a state on top of
        another cell; a cell with indents; and offsets into ``records`` of the tokens fed for a lexeme and of the effect of a terminal.
    records : ndarray[int32], shape (capacity,)
    counts : ndarray[int64], shape (2,)
        Number of keys, and of records, in use.
    """

    def __init__(
        self,
        tables: LalrTables,
        reader: HypothesisReader,
        limits: Limits,
    ) -> None:
        self._reader, self._cells, self._indenter = reader, reader.cells, reader.indenter
        indenter = self._indenter
        self.has_indents = tables.indentation is not None
        self._counted = {indenter.newline, *indenter.opening, *indenter.closing} if self.has_indents else set()
        n_rules = len(tables.rules)
        # The maximum of this limit is what fits into one 64-bit key with a cell.
        n_symbols, most = max(tables.end, n_rules), limits.grammar_symbols
        if n_symbols > most:
            raise LimitError("grammar_symbols", n_symbols, most, "the grammar has too many terminals or rules")
        self._contexts: list[int] = tables.context.tolist()
        n_kinds = 4 if self.has_indents else 1
        self.table = _table(tables)
        self.cells: Int32Array = np.full((64, _COLUMNS + n_kinds), PENDING, np.int32)
        self.native: Int32Array = np.zeros((256, 5), np.int32)
        self.variant: Int32Array = np.zeros(16 if self.has_indents else 1, np.int32)
        self.expected: UInt64Array = np.zeros((64, (tables.end + 66) >> 6), np.uint64)
        self.keys: Int64Array = np.full(4096, -1, np.int64)
        self.values: Int32Array = np.zeros(4096, np.int32)
        self.records: Int32Array = np.zeros(4096, np.int32)
        self.counts: Int64Array = np.zeros(2, np.int64)
        self._n_pushed = 0
        self._lexemes: list[tuple[int, int]] = []
        self._lexeme_ids: dict[tuple[int, int], int] = {}
        self._indents: list[Indents] = []
        self._indents_ids: dict[Indents, int] = {}
        self.number(Indents())
        # The bottom cell has no indents of its own.
        self._enter(kernel.INDENTED, 0, 0, 0)

    @property
    def n_bytes(self) -> int:
        """Approximate memory use in bytes."""
        arrays = (self.cells, self.native, self.variant, self.expected, self.keys, self.values, self.records)
        n_entries = len(self._cells.pushed) + len(self._lexemes) + len(self._indents)
        return sum(array.nbytes for array in arrays) + _PER_ENTRY * n_entries

    def number(self, indents: Indents) -> int:
        """Return the number of these indents, adding them if new."""
        found = self._indents_ids.get(indents)
        if found is None:
            found = self._indents_ids[indents] = len(self._indents)
            self._indents.append(indents)
            if self.has_indents:
                if found == len(self.variant):
                    self.variant = grown(self.variant, 2 * found, 0)
                self.variant[found] = (indents.parentheses > 0) + 2 * (len(indents.columns) > 1)
        return found

    def indents(self, number: int) -> Indents | None:
        """Return the indents with a number; None without an Indenter."""
        return self._indents[number] if self.has_indents else None

    def cell(self, number: int) -> None:
        """Enter the next cell."""
        cell = self._cells.known[number]
        if number == len(self.cells):
            self.cells = grown(self.cells, 2 * number, PENDING)
            self.expected = grown(self.expected, 2 * number, 0)
        plain, indents = number, -1
        if cell.indents is not None:
            plain, indents = self._cells.with_indents(number, None), self.number(cell.indents)
            self._enter(kernel.INDENTED, plain, indents, number)
        self.cells[number, :_COLUMNS] = cell.state, self._contexts[cell.state], plain, indents
        for word in range(self.expected.shape[1]):
            self.expected[number, word] = cell.expected >> 64 * word & _WORD

    def action(self, number: int, task: Task) -> None:
        """Enter the next action."""
        if number == len(self.native):
            self.native = grown(self.native, 2 * number, 0)
        if isinstance(task, Ended) and not task.watchers and self._reader.top_cell_decides(task.label, task.left):
            lexeme = -1
            if task.label in self._counted:
                key = task.label, task.column
                lexeme = self._lexeme_ids.setdefault(key, len(self._lexemes))
                if lexeme == len(self._lexemes):
                    self._lexemes.append(key)
            kind = _IGNORED if task.label == self._reader.lexing.ignored else _FED
            is_completable = kind == _FED and self._reader.can_always_start(task.label, task.left)
            self.native[number] = kind, task.label, lexeme, task.left, is_completable

    def set_allowed(self, cell: int, indents: int, offset: int) -> None:
        """Enter the offset of the labels that a cell allows with these indents."""
        self.cells[cell, _COLUMNS + self.variant[indents]] = offset

    def push(self, cell: int, rule: int, terminal: int) -> None:
        """Find every cell that a terminal pushes on a cell without popping it, after a reduction of `rule` onto it (-1: none)."""
        self._cells.shift([cell], terminal, self._cells.rules[rule][0] if rule >= 0 else -1)

    def enter_pushes(self) -> None:
        """Enter the cells that new pushes produce."""
        pushed = self._cells.pushed
        for key, cell in islice(reversed(pushed.items()), len(pushed) - self._n_pushed):
            self._enter(kernel.PUSHES, *key, cell)
        self._n_pushed = len(pushed)

    def feed(self, indents: int, lexeme: int) -> None:
        """Enter the tokens fed for a lexeme that an Indenter counts."""
        result, value = self._indenter.tokens(self._indents[indents], *self._lexemes[lexeme]), DEAD
        if result is not None:
            tokens, after = result
            value = int(self.counts[1])
            last = value + 2 + len(tokens)
            while last > len(self.records):
                self.more_room()
            self.records[value:last] = last, self.number(after), *tokens
            self.counts[1] = last
        self._enter(kernel.FEEDS, indents, lexeme, value)

    def begin(self, context: int, left: int, control: int) -> None:
        """Enter the control in which a lexeme starts."""
        self._enter(kernel.BEGINS, context, left, control)

    def more_room(self) -> None:
        """Grow the arrays that the kernel writes to itself."""
        self.records = grown(self.records, 2 * len(self.records), 0)
        if 4 * self.counts[0] > len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)

    def _enter(self, kind: int, first: int, second: int, value: int) -> None:
        if 2 * self.counts[0] + 2 >= len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)
        enter(kind << 58 | first << 29 | second, value, self.keys, self.values)
        self.counts[0] += 1


class Controls:
    """The controls and actions of one machine.

    Parameters
    ----------
    tables : PushdownTables
    reader : HypothesisReader
    parser : KernelParser

    Attributes
    ----------
    sets : list of frozenset of Hypothesis
        By control.
    tasks : list of Task
        By action.
    end : int
        The control after a complete text.
    width : int
        Number of 64-bit words in a set of labels.
    """

    def __init__(self, tables: PushdownTables, reader: HypothesisReader, parser: KernelParser) -> None:
        self._tables, self._reader, self._parser = tables, reader, parser
        self.tasks: list[Task] = []
        self._actions: dict[tuple[Task, bool], int] = {}
        self._numbers: dict[frozenset[Hypothesis], int] = {}
        self.width = (reader.n_bits + 63) >> 6
        self.end = tables.control(np.full(256, DEAD, np.int32))
        self.sets: list[frozenset[Hypothesis]] = [frozenset()]
        self.number_cells()

    def after(self, pops: int, pushes: tuple[int, ...], control: int) -> Reaction:
        """Return the reaction with any number of pushes."""
        if len(pushes) <= 1:
            return Reaction(pops, pushes[0] if pushes else -1, control)
        return Reaction(pops, pushes[0], self.action(Pushes(pushes[1:], control)))

    def control(self, hypotheses: frozenset[Hypothesis]) -> int:
        """Return the control of a set of hypotheses."""
        found = self._numbers.get(hypotheses)
        if found is None:
            # Why first: if these exceed a budget, no control without its guard stays behind.
            self._tables.steps.spend(_CONTROL_COST, "the grammar's terminals overlap in too many ways")
            wanted = self._reader.guard(hypotheses)
            found = self._numbers[hypotheses] = self._tables.reserve(1)
            self.sets.append(hypotheses)
            self._tables.rows[found] = UNKNOWN
            self._tables.info[found, LIVE] = MANY + 1
            if wanted is not None:
                self._tables.guard(found, np.array([self._words(wanted)], np.uint64))
            # After the control is stored: its end action may lead back to it.
            self._tables.info[found, END_ACTION] = self._at_end(hypotheses)
        return found

    def _at_end(self, hypotheses: frozenset[Hypothesis]) -> int:
        """Return the entry for the end of the text; 0 if the text cannot end."""
        reader = self._reader
        if len(hypotheses) == 1:
            (hypothesis,) = hypotheses
            if any(reader.lexing.ends[watcher] for watcher in hypothesis.watchers):
                return 0
            if not hypothesis.above:
                if hypothesis.is_fresh:
                    return self.action(Finish(-1, NO_NEWLINE))
                match = reader.lexing.ends[hypothesis.scanned] or reader.lexing.events[hypothesis.scanned]
                if match is None:
                    return 0
                if not match[1]:
                    return self.action(Finish(match[0], hypothesis.column))
        return self.action(Reads(hypotheses, END_READ, ()))

    def action(self, task: Task, *, again: bool = False) -> int:
        """Return the entry of a task's action."""
        key = task, again
        found = self._actions.get(key)
        if found is None:
            reaction = self.after(0, task.cells, task.control) if isinstance(task, Pushes) else None
            action = self._tables.action(again=again, reaction=reaction)
            found = self._actions[key] = action_entry(action)
            self.tasks.append(task)
            self._parser.action(action, task)
        return found

    def number_cells(self) -> None:
        """Enter new cells into the tables with the labels that they allow."""
        tables = self._tables
        self._parser.enter_pushes()
        while tables.n_cells < len(self._reader.cells.known):
            number = tables.cell()
            tables.set_allowed(number, self._words(self._reader.allowed(number)))
            self._parser.cell(number)
            if not self._parser.has_indents:
                self._parser.set_allowed(number, 0, tables.cell_allow.item(number))

    def _words(self, labels: int) -> tuple[int, ...]:
        return tuple(labels >> 64 * word & _WORD for word in range(self.width))

    def labels(self, cell: int, indents: int) -> int:
        """Store the labels that a plain cell allows with these indents; return their offset in the tables."""
        offset = self._tables.labels(self._words(self._reader.allowed_with(cell, self._parser.indents(indents))))
        self._parser.set_allowed(cell, indents, offset)
        return offset

    def restricted(self, control: int, allow: int) -> int:
        """Intersect the labels at an offset with those that a control can produce; return the offset of the result."""
        tables = self._tables
        first = tables.info.item(control, GUARD)
        if first < 0:
            return allow
        words = tables.allows[allow : allow + self.width] & tables.guards[first : first + self.width]
        return tables.labels(tuple(words.tolist()))


def _table(tables: LalrTables) -> Int32Array:
    """Return the parser's table and rules as one array."""
    first = 5 + tables.n_states
    head = [first, first + len(tables.symbol), first + 2 * len(tables.symbol), 0]
    rules = [number for origin, side in tables.rules for number in (origin, len(side))]
    return np.concatenate([head, tables.indptr, tables.symbol, tables.value, rules]).astype(np.int32)
