"""`LalrMachine`: a Lark grammar as a pushdown automaton whose tables are built on demand.

A control is a set of hypotheses (`guided.lalr.hypotheses`), nearly always a single one with no cells above the base: a scanner state. Stack
symbols are cells of the parser's stack (`stack_symbols`). The end of a lexeme is an action. The top cell determines which terminals
the parser is fed; a reduction pops cells and continues on the cell below. The action ends with pushes and the start of the next lexeme,
which reads the byte again if the lexeme ended before it.

If a set has several hypotheses, or text after a lexeme is read again, the action pops base cells one at a time until every hypothesis can
be advanced, then pushes back the cells that all hypotheses share.

Invariants: a control is entered only if the top cell allows at least one label that the control can still produce (guards). Rows are
computed whole, except for bytes on which a hypothesis splits in two: those entries are computed when a caller asks for them.

Complexity: O(byte classes) for a row, O(rules reduced) for a reaction.
"""

import weakref
from collections.abc import Hashable
from itertools import takewhile

import numpy as np

from guided.arrays import DEAD, UNKNOWN
from guided.automata.pushdown import (
    END_ACTION,
    GUARD,
    LIVE,
    MANY,
    PER_CONTROL,
    Pushdown,
    PushdownTables,
    Reaction,
    action_entry,
)
from guided.caching import cached_property
from guided.errors import GrammarError, LimitError, nothing_completes
from guided.kernels import lexemes as kernel
from guided.lalr.completion import Completion
from guided.lalr.deadends import DeadEnds
from guided.lalr.hypotheses import Hypothesis, HypothesisReader, StackUnderflow
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.kernel_parser import KernelParser
from guided.lalr.rows import Rows
from guided.lalr.scanner import Scanner
from guided.lalr.stack_symbols import StackSymbols
from guided.lalr.tables import LalrTables, Start
from guided.lalr.tasks import Ended, Finish, Pushes, Reads, Reduced, Task
from guided.limits import Limits

__all__ = ["LalrMachine"]

_NONE: frozenset[int] = frozenset()
_WORD = (1 << 64) - 1
# Pseudo-bytes of `Reads`: the end of the text, and "check only whether the hypotheses are live".
_END_READ, _NOTHING_READ = -1, -2
# Steps of a call for a control, besides the one for its place in the tables: it takes 15 us and 2 KB.
_CONTROL_COST = 3
_TOO_MANY = "the grammar's terminals overlap in too many ways"
_TOO_LARGE = "a text may reach too many states of the terminals: lower the counts of repeats"


class LalrMachine(Pushdown):
    """The pushdown automaton of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Built from the lexer of ``tables``.
    start : Start
    limits : Limits
        ``states`` bounds the number of controls and the number of cells.
    alphabet : bytes, length 256
        1 for each byte that can occur.

    Attributes
    ----------
    tables : PushdownTables
    start, end : int
        Controls of the empty text and after a complete one.
    is_empty : bool
        No text can start.
    width : int
        Number of 64-bit words in a set of labels.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start, limits: Limits, alphabet: bytes) -> None:
        self.tables = PushdownTables(limits.states)
        self.tables.steps.limit = limits.call_steps
        scanner = scanner.within(alphabet)
        # As an index that starts over: one text may take three quarters, and it may reach all states of the scanner.
        needed = PER_CONTROL * len(scanner.table) * 4 // 3
        if needed > limits.growth_bytes:
            raise LimitError("growth_bytes", needed, limits.growth_bytes, _TOO_LARGE)
        self.dead_ends = DeadEnds(tables, scanner, start, limits, self.tables.steps)
        self.cells = StackSymbols(tables, start, limits.states, self.dead_ends.cells)
        self.reader = HypothesisReader(tables, scanner, start, self.cells, self.dead_ends, limits.readings)
        self._has_indents = tables.indentation is not None
        self.kernel_parser = KernelParser(tables, self.reader, limits)
        self._bytes = self.reader.lexing.byte_classes(alphabet, self._has_indents)
        self._name = start.name
        self.width = (self.reader.n_bits + 63) >> 6
        # Why weak: a machine is in no reference cycle, so an index that drops it frees its memory at once.
        machine = weakref.proxy(self)
        self._rows = Rows(
            self.reader,
            self._bytes,
            lambda hypotheses: machine._control(hypotheses),
            lambda task, *, again=False: machine._action(task, again=again),
        )
        self._tasks: list[Task] = []
        self._actions: dict[tuple[Task, bool], int] = {}
        self._sets: list[frozenset[Hypothesis]] = []
        self._controls: dict[frozenset[Hypothesis], int] = {}
        self._filled: set[int] = set()
        self.end = self.tables.control(np.full(256, DEAD, np.int32))
        self._sets.append(frozenset())
        self._number_cells()
        begun = self.reader.begin((0,), scanner.first_left)
        self.is_empty = not self.reader.is_live(begun)
        self.start = self._control(frozenset({begun._replace(above=())}))

    @property
    def n_bytes(self) -> int:
        """Approximate current memory use of the automaton in bytes."""
        return self.tables.n_bytes + self.kernel_parser.n_bytes

    def fill(self, control: int, byte: int) -> None:
        """Compute a control's row of transitions, including the entry of this byte."""
        hypotheses = self._sets[control]
        is_new = control not in self._filled
        row = self._rows.row(hypotheses) if is_new else self.tables.rows[control].copy()
        self._filled.add(control)
        if row[byte] == UNKNOWN:
            # Why: bytes that share an action form one group of tokens with one plan, so all of them are set together.
            unknown = np.flatnonzero(row == UNKNOWN).tolist()
            group = self._rows.together(hypotheses, unknown, byte)
            row[group] = self._split_entry(hypotheses, group[0])
        self.tables.set_row(control, row)

    def _split_entry(self, hypotheses: frozenset[Hypothesis], byte: int) -> int:
        """Return the entry of a byte on which a hypothesis splits or text is read again."""
        try:
            found = self.reader.read(hypotheses, byte)
        except StackUnderflow:
            return self._action(Reads(hypotheses, byte, ()))
        if not found:
            return DEAD
        shared, control = self._shared(found)
        return self._action(Pushes(shared, control)) if shared else control

    def compute_reaction(self, action: int, cell: int) -> None:
        """Compute a cell's reaction to an action and store it in the tables."""
        if (action << 32 | cell) in self.tables.reactions:
            return
        reaction = self._reaction(self._tasks[action], cell)
        self._number_cells()
        self.tables.set_reaction(action, cell, reaction)

    def _reaction(self, task: Task, cell: int) -> Reaction | None:
        reader = self.reader
        match task:
            case Ended(label, column, left, watchers):
                if label == reader.lexing.ignored:
                    return self._begun(0, (), cell, left, watchers)
                result = reader.indenter.tokens(reader.indents(cell), label, column)
                if result is None:
                    return None
                tokens, indents = result
                if not tokens:
                    return self._begun(0, (), cell, left, watchers)
                return self._fed(cell, -1, tokens, indents if self._has_indents else None, left, watchers)
            case Finish(label, column):
                indents, tokens = reader.indents(cell), tuple[int, ...]()
                if label >= 0 and label != reader.lexing.ignored:
                    result = reader.indenter.tokens(indents, label, column)
                    if result is None:
                        return None
                    tokens, indents = result
                closing = (*tokens, *reader.indenter.at_end(indents), reader.end)
                return self._fed(cell, -1, closing, indents if self._has_indents else None, -1, _NONE)
            case Reduced(rule, tokens, indents, left, watchers):
                return self._fed(cell, rule, tokens, indents, left, watchers)
            case Reads(hypotheses, byte, known):
                return self._read(hypotheses, byte, (cell, *known))
            case Pushes():
                raise AssertionError("an action that pushes only has one reaction")

    def _fed(
        self,
        cell: int,
        rule: int,
        tokens: tuple[int, ...],
        indents: Indents | None,
        left: int,
        watchers: frozenset[int],
    ) -> Reaction | None:
        """Feed terminals to a cell after a reduction of `rule` onto it (-1: none), as far as possible without the cells below."""
        cells = self.cells
        plain = cells.with_indents(cell, None)
        stack = [plain]
        for place, terminal in enumerate(tokens):
            expected = cells.upon(plain, rule) if rule >= 0 else cells.known[stack[-1]].expected
            if not expected >> terminal & 1:
                return None
            if terminal == cells.end:
                return Reaction(0, -1, self.end)
            missing = cells.feed(stack, terminal, rule)
            if missing is not None:
                below, rule = missing
                rest = Reduced(rule, tokens[place:], indents, left, watchers)
                return Reaction(below + 1, -1, self._action(rest))
            rule = -1
        stack[-1] = cells.with_indents(stack[-1], indents)
        kept = 0 if plain != cell else 1
        return self._begun(1 - kept, tuple(stack[kept:]), stack[-1], left, watchers)

    def _begun(
        self, pops: int, pushes: tuple[int, ...], top: int, left: int, watchers: frozenset[int]
    ) -> Reaction | None:
        """Return the reaction that changes the stack and starts a lexeme; None if no lexeme can start and the text cannot end."""
        begun = self.reader.begin((top,), left, watchers)
        hypotheses = frozenset({begun._replace(above=())})
        try:
            if not self.reader.is_live(begun):
                return None
        except StackUnderflow:
            ask = self._action(Reads(hypotheses, _NOTHING_READ, ()))
            return self._after(pops, pushes, ask)
        return self._after(pops, pushes, self._control(hypotheses))

    def _after(self, pops: int, pushes: tuple[int, ...], control: int) -> Reaction:
        if len(pushes) <= 1:
            return Reaction(pops, pushes[0] if pushes else -1, control)
        return Reaction(pops, pushes[0], self._action(Pushes(pushes[1:], control)))

    def _read(self, hypotheses: frozenset[Hypothesis], byte: int, known: tuple[int, ...]) -> Reaction | None:
        """Return the reaction of a set of hypotheses to a byte or the end, given the top cells of the base."""
        on_known = {hypothesis._replace(above=(*known, *hypothesis.above)) for hypothesis in hypotheses}
        try:
            if byte == _END_READ:
                return Reaction(0, -1, self.end) if self.reader.may_end(on_known) else None
            if byte == _NOTHING_READ:
                found = {hypothesis for hypothesis in on_known if self.reader.is_live(hypothesis)}
            else:
                found = self.reader.read(on_known, byte)
        except StackUnderflow:
            return Reaction(1, -1, self._action(Reads(hypotheses, byte, known)))
        if not found:
            return None
        shared, control = self._shared(found)
        if len(known) == 1 and shared[:1] == known:
            return self._after(0, shared[1:], control)
        return self._after(1, shared, control)

    def _shared(self, hypotheses: set[Hypothesis]) -> tuple[tuple[int, ...], int]:
        """Return the cells that all hypotheses share above the base, and the control of the hypotheses on top of them."""
        stacks = [hypothesis.above for hypothesis in hypotheses]
        shared = tuple(
            column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*stacks, strict=False))
        )
        self._number_cells()
        rest = frozenset(hypothesis._replace(above=hypothesis.above[len(shared) :]) for hypothesis in hypotheses)
        return shared, self._control(rest)

    def _control(self, hypotheses: frozenset[Hypothesis]) -> int:
        found = self._controls.get(hypotheses)
        if found is None:
            # Why first: if these exceed a budget, no control without its guard stays behind.
            self.tables.steps.spend(_CONTROL_COST, _TOO_MANY)
            wanted = self.reader.guard(hypotheses)
            found = self._controls[hypotheses] = self.tables.reserve(1)
            self._sets.append(hypotheses)
            self.tables.rows[found] = UNKNOWN
            self.tables.info[found, LIVE] = MANY + 1
            if wanted is not None:
                self.tables.guard(found, np.array([self._words(wanted)], np.uint64))
            # After the control is stored: its end action may lead back to it.
            self.tables.info[found, END_ACTION] = self._at_end(hypotheses)
        return found

    def _at_end(self, hypotheses: frozenset[Hypothesis]) -> int:
        """Return the entry for the end of the text; 0 if the text cannot end."""
        reader = self.reader
        if len(hypotheses) == 1:
            (hypothesis,) = hypotheses
            if any(reader.lexing.ends[watcher] for watcher in hypothesis.watchers):
                return 0
            if not hypothesis.above:
                if hypothesis.is_fresh:
                    return self._action(Finish(-1, NO_NEWLINE))
                match = reader.lexing.ends[hypothesis.scanned] or reader.lexing.events[hypothesis.scanned]
                if match is None:
                    return 0
                if not match[1]:
                    return self._action(Finish(match[0], hypothesis.column))
        return self._action(Reads(hypotheses, _END_READ, ()))

    def _action(self, task: Task, *, again: bool = False) -> int:
        """Return the entry of a task's action."""
        key = task, again
        found = self._actions.get(key)
        if found is None:
            reaction = self._after(0, task.cells, task.control) if isinstance(task, Pushes) else None
            action = self.tables.action(again=again, reaction=reaction)
            found = self._actions[key] = action_entry(action)
            self._tasks.append(task)
            self.kernel_parser.action(action, task)
        return found

    def _number_cells(self) -> None:
        """Enter new cells into the tables with the labels that they allow."""
        tables = self.tables
        self.kernel_parser.enter_pushes()
        while tables.n_cells < len(self.cells.known):
            number = tables.cell()
            tables.set_allowed(number, self._words(self.reader.allowed(number)))
            self.kernel_parser.cell(number)
            if not self._has_indents:
                self.kernel_parser.set_allowed(number, 0, tables.cell_allow.item(number))

    def _words(self, labels: int) -> tuple[int, ...]:
        return tuple(labels >> 64 * word & _WORD for word in range(self.width))

    def labels(self, cell: int, indents: int) -> int:
        """Store the labels that a plain cell allows with these indents; return their offset in the tables."""
        offset = self.tables.labels(self._words(self.reader.allowed_with(cell, self.kernel_parser.indents(indents))))
        self.kernel_parser.set_allowed(cell, indents, offset)
        return offset

    def restricted(self, control: int, allow: int) -> int:
        """Intersect the labels at an offset with those that a control can produce; return the offset of the result."""
        tables = self.tables
        first = tables.info.item(control, GUARD)
        if first < 0:
            return allow
        words = tables.allows[allow : allow + self.width] & tables.guards[first : first + self.width]
        return tables.labels(tuple(words.tolist()))

    def learn(self, what: int, first: int, second: int, third: int) -> None:
        """Compute a table entry that the kernel of `guided.kernels.lexemes` found missing."""
        match what:
            case kernel.MISSING_ROW:
                self.fill(first, second)
            case kernel.MISSING_REACTION:
                self.compute_reaction(first, second)
            case kernel.MISSING_PUSH:
                self.kernel_parser.push(first, second, third)
            case kernel.MISSING_LABELS:
                self.labels(first, second)
            case kernel.MISSING_CELL:
                self.cells.with_indents(first, self.kernel_parser.indents(second))
            case kernel.MISSING_FEED:
                self.kernel_parser.feed(first, second)
            case kernel.MISSING_STEPS:
                self.kernel_parser.more_room()
            case kernel.MISSING_BEGIN:
                hypothesis = Hypothesis((), self.reader.lexing.starts[first][second], b"", True, NO_NEWLINE, _NONE)
                self.kernel_parser.begin(first, second, self._control(frozenset({hypothesis})))
        self._number_cells()

    def is_open(self, control: int, cell: int) -> bool:
        """Return whether a guarded control can still produce a label that the cell allows."""
        return bool(self.reader.allowed(cell) & (self.reader.guard(self._sets[control]) or 0))

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        """Return the node of the stack, which determines the completion."""
        return self._completion.node(cell, own if isinstance(own, int) else -1)

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:  # noqa: ARG002 - the protocol's signature
        """Return the next byte of a completion (`guided.lalr.completion`); empty if none was found."""
        return self._completion.next(control, cell, own if isinstance(own, int) else -1)

    @cached_property
    def _completion(self) -> Completion:
        machine = weakref.proxy(self)
        return Completion(
            machine,
            self.reader,
            self._sets.__getitem__,
            lambda task, *, again=False: machine._action(task, again=again),
            self._bytes,
        )

    def no_completion_error(self) -> GrammarError:
        """Return the error for a text that has no completion."""
        return nothing_completes(self._name)
