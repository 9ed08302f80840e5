"""`Feeds`: the parser as flat arrays, so that a kernel feeds terminals to stacks (`guided.kernels.lexemes`).

What Lark's table says is there at once. What hangs on the stacks that texts meet is made when it is asked for, by those who define
it: which cell is pushed upon another (`guided.lalr.cells`), what an Indenter makes of a lexeme (`guided.lalr.indents`), which labels
a cell allows (`guided.lalr.readings`), and the control in which a lexeme begins.

On the kernel's stacks cells are plain: the indents of the text, by number, stand beside the stack.

Not thread-safe: the index that asks holds a lock. Complexity: O(1) for each question met first.
"""

from collections.abc import Callable

import numpy as np

from guided.arrays import DEAD, Int32Array, Int64Array, UInt64Array
from guided.automata.growth import grown, insert, rehashed
from guided.automata.pushdown import PENDING
from guided.errors import LimitError
from guided.kernels import lexemes as kernel
from guided.lalr.cells import Cells
from guided.lalr.indents import Indenter, Indents
from guided.lalr.tables import LalrTables
from guided.lalr.tasks import Ended, Task

__all__ = ["Feeds"]

# Kinds of actions: what is left to reactions, a lexeme that is fed, and one that is ignored.
_OTHER, _FED, _IGNORED = 0, 1, 2
# Columns of a cell before its labels.
_COLUMNS = 4
# Terminals, and rules, share one word as a key with a cell.
_MOST_SYMBOLS = (1 << 16) - 2
_WORD = (1 << 64) - 1
# Bytes of memory of an entry in a dict, as measured.
_PER_ENTRY = 250


class Feeds:
    """The parser of one grammar, with its cells.

    Parameters
    ----------
    tables : LalrTables
    cells : Cells
    indenter : Indenter
    ignored : int
        Label of ignored text.
    is_sure : callable
        Of a label and the left class behind its lexeme: is nothing but the top cell asked where the next one begins?
    leads_on : callable
        Of the same: is it known that a text comes of any stack that the terminal has been fed to?

    Attributes
    ----------
    table : ndarray[int32]
        Offsets of symbols, of values and of rules; from 4 on the CSR of the states, and behind it symbols (terminals and rules,
        ascending), values (the state that is gone to, or ``-1 - r`` where rule r is reduced), and of each rule its symbol and length.
    cells : ndarray[int32], shape (capacity, 5 or 8)
        Of each cell its state, the lexer's context there, the plain cell, the number of its indents (-1: none), and where its labels
        stand in the automaton's tables (PENDING: not asked), for each kind of indents.
    native : ndarray[int32], shape (capacity, 5)
        Of each action its kind, label, number as a lexeme that the Indenter counts (-1: it is none), left class behind it, and whether a
        text comes of any stack that the label has been fed to.
    variant : ndarray[int32], shape (capacity,)
        Kind of each indents: 1 within parentheses, and 2 within a block. Of length 1 without an Indenter.
    expected : ndarray[uint64], shape (capacity, words)
        Terminals that can be fed to each cell.
    keys, values : ndarray[int64] and ndarray[int32], shape (power of two,)
        Open addressing, by kind of question (`guided.kernels.lexemes`): the cell that a state is on another; the cell with indents; and
        where in ``records`` it is said what is fed for a lexeme, and what a terminal does.
    records : ndarray[int32], shape (capacity,)
    counts : ndarray[int64], shape (2,)
        Keys, and records, in use.
    """

    def __init__(
        self,
        tables: LalrTables,
        cells: Cells,
        indenter: Indenter,
        ignored: int,
        is_sure: Callable[[int, int], bool],
        leads_on: Callable[[int, int], bool],
    ) -> None:
        self._cells, self._indenter, self._ignored = cells, indenter, ignored
        self._is_sure, self._leads_on = is_sure, leads_on
        self._has_indents = tables.indentation is not None
        self._counted = {indenter.newline, *indenter.opening, *indenter.closing} if self._has_indents else set()
        n_rules = len(tables.rules)
        if max(tables.end, n_rules) > _MOST_SYMBOLS:
            raise LimitError("rules", max(tables.end, n_rules), _MOST_SYMBOLS, "the grammar has too many")
        self._contexts: list[int] = tables.context.tolist()
        n_kinds = 4 if self._has_indents else 1
        self.table = _table(tables)
        self.cells: Int32Array = np.full((64, _COLUMNS + n_kinds), PENDING, np.int32)
        self.native: Int32Array = np.zeros((256, 5), np.int32)
        self.variant: Int32Array = np.zeros(16 if self._has_indents else 1, np.int32)
        self.expected: UInt64Array = np.zeros((64, (tables.end + 64) >> 6), np.uint64)
        self.keys: Int64Array = np.full(4096, -1, np.int64)
        self.values: Int32Array = np.zeros(4096, np.int32)
        self.records: Int32Array = np.zeros(4096, np.int32)
        self.counts: Int64Array = np.zeros(2, np.int64)
        self._pushed: dict[tuple[int, int], int] = {}
        self._lexemes: list[tuple[int, int]] = []
        self._lexeme_ids: dict[tuple[int, int], int] = {}
        self._indents: list[Indents] = []
        self._indents_ids: dict[Indents, int] = {}
        self.number(Indents())
        # The lowest cell has no indents of its own.
        self._enter(kernel.INDENTED, 0, 0, 0)

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory they take."""
        arrays = (self.cells, self.native, self.variant, self.expected, self.keys, self.values, self.records)
        n_entries = len(self._pushed) + len(self._lexemes) + len(self._indents)
        return sum(array.nbytes for array in arrays) + _PER_ENTRY * n_entries

    def number(self, indents: Indents) -> int:
        """The number of some indents."""
        found = self._indents_ids.get(indents)
        if found is None:
            found = self._indents_ids[indents] = len(self._indents)
            self._indents.append(indents)
            if self._has_indents:
                if found == len(self.variant):
                    self.variant = grown(self.variant, 2 * found, 0)
                self.variant[found] = (indents.parentheses > 0) + 2 * (len(indents.columns) > 1)
        return found

    def indents(self, number: int) -> Indents | None:
        """The indents with a number; None without an Indenter."""
        return self._indents[number] if self._has_indents else None

    def cell(self, number: int) -> None:
        """Enter a cell, the next one."""
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
        """Enter an action, the next one."""
        if number == len(self.native):
            self.native = grown(self.native, 2 * number, 0)
        if isinstance(task, Ended) and not task.watchers and self._is_sure(task.label, task.left):
            lexeme = -1
            if task.label in self._counted:
                key = task.label, task.column
                lexeme = self._lexeme_ids.setdefault(key, len(self._lexemes))
                if lexeme == len(self._lexemes):
                    self._lexemes.append(key)
            kind = _IGNORED if task.label == self._ignored else _FED
            is_sure = kind == _FED and self._leads_on(task.label, task.left)
            self.native[number] = kind, task.label, lexeme, task.left, is_sure

    def allow(self, cell: int, indents: int, offset: int) -> None:
        """Enter where the labels stand that a cell allows with such indents."""
        self.cells[cell, _COLUMNS + self.variant[indents]] = offset

    def push(self, cell: int, rule: int, terminal: int) -> None:
        """Make known all cells that a terminal pushes upon a cell, on which a rule has been reduced (-1: none), without those below it."""
        cells, above = self._cells, [cell]
        if rule >= 0:
            self._pushes(above, cells.gotos[cells.known[cell].state][cells.rules[rule][0]])
        while True:
            action = cells.actions[cells.known[above[-1]].state][terminal]
            if action >= 0:
                self._pushes(above, action)
                return
            symbol, length = cells.rules[-1 - action]
            if length >= len(above):
                return
            del above[len(above) - length :]
            self._pushes(above, cells.gotos[cells.known[above[-1]].state][symbol])

    def _pushes(self, above: list[int], state: int) -> None:
        key = above[-1], state
        found = self._pushed.get(key)
        if found is None:
            found = self._pushed[key] = self._cells.push(*key)
            self._enter(kernel.PUSHES, *key, found)
        above.append(found)

    def feed(self, indents: int, lexeme: int) -> None:
        """Make known what is fed for a lexeme that an Indenter counts."""
        said, value = self._indenter.tokens(self._indents[indents], *self._lexemes[lexeme]), DEAD
        if said is not None:
            tokens, after = said
            value = int(self.counts[1])
            last = value + 2 + len(tokens)
            while last > len(self.records):
                self.more_room()
            self.records[value:last] = last, self.number(after), *tokens
            self.counts[1] = last
        self._enter(kernel.FEEDS, indents, lexeme, value)

    def begin(self, context: int, left: int, control: int) -> None:
        """Enter the control in which a lexeme begins."""
        self._enter(kernel.BEGINS, context, left, control)

    def more_room(self) -> None:
        """Make room for what the kernel enters itself."""
        self.records = grown(self.records, 2 * len(self.records), 0)
        if 4 * self.counts[0] > len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)

    def _enter(self, kind: int, first: int, second: int, value: int) -> None:
        if 2 * self.counts[0] + 2 >= len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)
        insert(self.keys, self.values, kind << 58 | first << 29 | second, value)
        self.counts[0] += 1


def _table(tables: LalrTables) -> Int32Array:
    """Actions and gotos of each state in one row: terminals come before rules."""
    n = tables.n_states
    states = np.concatenate([
        np.repeat(np.arange(n), np.diff(indptr)) for indptr in (tables.action_indptr, tables.goto_indptr)
    ])  # fmt: skip
    symbols = np.concatenate([tables.action_symbol, tables.goto_symbol])
    values = np.concatenate([tables.action_value, tables.goto_state])
    order = np.lexsort((symbols, states))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(states, minlength=n))])
    rules = np.stack([tables.rule_origin, tables.rule_length], axis=1).ravel()
    first = 5 + n
    head = [first, first + len(order), first + 2 * len(order), 0]
    return np.concatenate([head, indptr, symbols[order], values[order], rules]).astype(np.int32)
