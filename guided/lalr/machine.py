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
    PER_CONTROL,
    Pushdown,
    PushdownTables,
    Reaction,
)
from guided.caching import cached_property
from guided.errors import GrammarError, LimitError, nothing_completes
from guided.kernels import lexemes as kernel
from guided.lalr.completion import Completion
from guided.lalr.deadends import DeadEnds
from guided.lalr.hypotheses import Hypothesis, HypothesisReader
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.kernel_parser import (
    END_READ,
    NOTHING_READ,
    Controls,
    Ended,
    Finish,
    KernelParser,
    Pushes,
    Reads,
    Reduced,
    Task,
)
from guided.lalr.rows import Rows
from guided.lalr.scanner import Scanner
from guided.lalr.stack_symbols import StackSymbols, StackUnderflow
from guided.lalr.tables import LalrTables, Start
from guided.limits import Limits

__all__ = ["LalrMachine"]

_NONE: frozenset[int] = frozenset()
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
    controls : Controls
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
        self.controls = Controls(self.tables, self.reader, self.kernel_parser)
        self.end = self.controls.end
        self._rows = Rows(self.reader, self._bytes, self.controls)
        self._filled: set[int] = set()
        begun = self.reader.begin((0,), scanner.first_left)
        self.is_empty = not self.reader.is_live(begun)
        self.start = self.controls.control(frozenset({begun._replace(above=())}))

    def fill(self, control: int, byte: int) -> None:
        """Compute a control's row of transitions, including the entry of this byte."""
        hypotheses = self.controls.sets[control]
        is_new = control not in self._filled
        row = self._rows.row(hypotheses) if is_new else self.tables.rows[control].copy()
        self._filled.add(control)
        if row[byte] == UNKNOWN:
            # Why: bytes that share an action form one group of tokens with one plan, so all of them are set together.
            unknown = np.flatnonzero(row == UNKNOWN).tolist()
            group = self._rows.together(unknown, byte)
            row[group] = self._split_entry(hypotheses, group[0])
        self.tables.set_row(control, row)

    def _split_entry(self, hypotheses: frozenset[Hypothesis], byte: int) -> int:
        """Return the entry of a byte on which a hypothesis splits or text is read again."""
        try:
            found = self.reader.read(hypotheses, byte)
        except StackUnderflow:
            return self.controls.action(Reads(hypotheses, byte, ()))
        if not found:
            return DEAD
        shared, control = self._shared(found)
        return self.controls.action(Pushes(shared, control)) if shared else control

    def compute_reaction(self, action: int, cell: int) -> None:
        """Compute a cell's reaction to an action and store it in the tables."""
        if (action << 32 | cell) in self.tables.reactions:
            return
        reaction = self._reaction(self.controls.tasks[action], cell)
        self.controls.number_cells()
        self.tables.set_reaction(action, cell, reaction)

    def _reaction(self, task: Task, cell: int) -> Reaction | None:
        cells = self.cells
        match task:
            case Ended(label, column, left, watchers):
                fed = cells.tokens(cell, label, column)
                return None if fed is None else self._fed(cell, -1, *fed, left, watchers)
            case Finish(label, column):
                fed = cells.tokens(cell, label, column)
                if fed is None:
                    return None
                tokens, indents = fed
                return self._fed(cell, -1, (*tokens, *cells.indenter.at_end(indents), cells.end), indents, -1, _NONE)
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
        indents: Indents,
        left: int,
        watchers: frozenset[int],
    ) -> Reaction | None:
        """Feed terminals to a cell after a reduction of `rule` onto it (-1: none), as far as possible without the cells below."""
        try:
            stack = self.cells.feed((cell,), tokens, indents, rule)
        except StackUnderflow as missing:
            rest = Reduced(missing.rule, missing.terminals, indents, left, watchers)
            return Reaction(missing.pops + 1, -1, self.controls.action(rest))
        if stack is None:
            return None
        if tokens[-1:] == (self.cells.end,):
            return Reaction(0, -1, self.end)
        kept = stack[:1] == (cell,)
        return self._begun(1 - kept, stack[kept:], stack[-1], left, watchers)

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
            ask = self.controls.action(Reads(hypotheses, NOTHING_READ, ()))
            return self.controls.after(pops, pushes, ask)
        return self.controls.after(pops, pushes, self.controls.control(hypotheses))

    def _read(self, hypotheses: frozenset[Hypothesis], byte: int, known: tuple[int, ...]) -> Reaction | None:
        """Return the reaction of a set of hypotheses to a byte or the end, given the top cells of the base."""
        on_known = {hypothesis._replace(above=(*known, *hypothesis.above)) for hypothesis in hypotheses}
        try:
            if byte == END_READ:
                return Reaction(0, -1, self.end) if self.reader.may_end(on_known) else None
            if byte == NOTHING_READ:
                found = {hypothesis for hypothesis in on_known if self.reader.is_live(hypothesis)}
            else:
                found = self.reader.read(on_known, byte)
        except StackUnderflow:
            return Reaction(1, -1, self.controls.action(Reads(hypotheses, byte, known)))
        if not found:
            return None
        shared, control = self._shared(found)
        if len(known) == 1 and shared[:1] == known:
            return self.controls.after(0, shared[1:], control)
        return self.controls.after(1, shared, control)

    def _shared(self, hypotheses: set[Hypothesis]) -> tuple[tuple[int, ...], int]:
        """Return the cells that all hypotheses share above the base, and the control of the hypotheses on top of them."""
        stacks = [hypothesis.above for hypothesis in hypotheses]
        shared = tuple(
            column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*stacks, strict=False))
        )
        self.controls.number_cells()
        rest = frozenset(hypothesis._replace(above=hypothesis.above[len(shared) :]) for hypothesis in hypotheses)
        return shared, self.controls.control(rest)

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
                self.controls.labels(first, second)
            case kernel.MISSING_CELL:
                self.cells.with_indents(first, self.kernel_parser.indents(second))
            case kernel.MISSING_FEED:
                self.kernel_parser.feed(first, second)
            case kernel.MISSING_STEPS:
                self.kernel_parser.more_room()
            case kernel.MISSING_BEGIN:
                hypothesis = Hypothesis((), self.reader.lexing.starts[first][second], b"", True, NO_NEWLINE, _NONE)
                self.kernel_parser.begin(first, second, self.controls.control(frozenset({hypothesis})))
        self.controls.number_cells()

    def is_open(self, control: int, cell: int) -> bool:
        """Return whether a guarded control can still produce a label that the cell allows."""
        return bool(self.reader.allowed(cell) & (self.reader.guard(self.controls.sets[control]) or 0))

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        """Return the node of the stack, which determines the completion."""
        return self._completion.node(cell, own if isinstance(own, int) else -1)

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:  # noqa: ARG002 - the protocol's signature
        """Return the next byte of a completion (`guided.lalr.completion`); empty if none was found."""
        return self._completion.next(control, cell, own if isinstance(own, int) else -1)

    @cached_property
    def _completion(self) -> Completion:
        # Why weak: a machine is in no reference cycle, so an index that drops it frees its memory at once.
        return Completion(weakref.proxy(self), self.reader, self.controls, self._bytes)

    def no_completion_error(self) -> GrammarError:
        """Return the error for a text that has no completion."""
        return nothing_completes(self._name)
