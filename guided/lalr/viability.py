"""`Viability`: liveness of a hypothesis, as far as its lexeme and the top cell of its stack determine it.

A hypothesis is live if further bytes can complete it to a text. Sets of labels are bit masks: the labels that a lexeme can still get, and
the labels that a cell allows. If cells decide the dead ends of a grammar (`guided.lalr.deadends`), the bits are lookaheads, and a
hypothesis is live if and only if the two sets intersect. If every stack is proved safe, the same test is exact as long as the lexeme can
get each of its labels without constraining the text after it (`Viability.is_certain`). Otherwise
`guided.lalr.hypotheses.HypothesisReader.is_live` searches for a continuation on the stack.

Complexity: O(1); results are cached.
"""

from typing import NamedTuple

from guided.arrays import DEAD
from guided.errors import GrammarError
from guided.lalr.cells import Cells
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.lexemes import Outcomes
from guided.lalr.lexing import Lexing, Match, last_characters, leading
from guided.lalr.scanner import Scanner
from guided.lalr.tables import LalrTables, Start

__all__ = ["NO_INDENTS", "Hypothesis", "Viability"]

NO_INDENTS = Indents()


class Hypothesis(NamedTuple):
    """A hypothesis about how a prefix was tokenized and parsed.

    Attributes
    ----------
    above : tuple of int
        Cells of the parser's stack above the base.
    scanned : int
        Scanner state in the current lexeme; DEAD if no lexeme can start but the text may end.
    text : bytes
        Last bytes of the current lexeme, as many as an event may look back.
    is_fresh : bool
        No byte of the current lexeme has been read.
    column : int
        Column reached by the current lexeme if it may become an Indenter's newline.
    watchers : frozenset of int
        Scanner states of ended lexemes that must not turn out longer.
    """

    above: tuple[int, ...]
    scanned: int
    text: bytes
    is_fresh: bool
    column: int
    watchers: frozenset[int]


class Viability:
    """Liveness of the hypotheses of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
    start : Start
    cells : Cells
    dead_ends : DeadEnds
    alphabet : bytes, length 256
        1 for each byte that can occur.
    most_hypotheses : int
        Maximum number of hypotheses (``Limits.readings``).

    Attributes
    ----------
    cells : Cells
    lexing : Lexing
    columns : Columns
    indenter : Indenter
    n_bits : int
        Number of label bits: terminals, ``$END`` and ignored text; or lookaheads, plus one bit per class of controls after ignored text.
    end, newline : int
        ``$END``, and the bit of an Indenter's newline.
    """

    def __init__(
        self,
        tables: LalrTables,
        scanner: Scanner,
        start: Start,
        cells: Cells,
        dead_ends: DeadEnds,
        alphabet: bytes,
        most_hypotheses: int,
    ) -> None:
        self.cells = cells
        self._most_hypotheses = most_hypotheses
        self._dead_ends, self._lexemes, self._lookaheads = dead_ends, dead_ends.lexemes, dead_ends.lookaheads
        self.columns = dead_ends.columns
        self.n_bits = tables.end + 2
        if self._lookaheads is not None:
            self._n_lookaheads = len(self._lookaheads.terminals)
            self.n_bits = self._n_lookaheads + 1 + max(self._lookaheads.class_of.values(), default=0)
        self._n_terminals = scanner.n_terminals
        self._allowed: dict[int, int] = {}
        self._wanted: dict[tuple[int, bytes, bool, frozenset[int]], int] = {}
        self.indenter = Indenter(tables)
        self._has_indents = tables.indentation is not None
        self.end = tables.end
        self.lexing = Lexing(tables, scanner, self.indenter, alphabet)
        newline = self.indenter.newline
        if newline >= 0 and any(
            match and match[0] == newline and match[1] for match in (*self.lexing.events, *self.lexing.ends)
        ):
            raise GrammarError("the newline terminal of an Indenter must not have a lookahead", tables.symbols[newline])
        self.newline = 1 << newline if newline >= 0 else 0
        # INDENT and DEDENT follow a newline without lexemes of their own.
        self._with_newline = sum(1 << terminal for terminal in self.indenter.following)
        self._certain = self._certain_by_state(dead_ends.certain(tables, start))
        self._closing = sum(1 << terminal for terminal in self.indenter.closing)

    def allowed(self, cell: int) -> int:
        """Return the labels that a lexeme may have on a stack with this cell on top, as bits; with ``$END`` if the text may end.

        If stacks can be dead ends, the bits are lookaheads (`guided.lalr.lookahead_classes`), restricted to those that lead to a complete
        text.
        """
        indents = self.cells.known[cell].indents
        return self.allowed_with(cell, NO_INDENTS if cell == 0 and self._has_indents else indents)

    def allowed_with(self, cell: int, indents: Indents | None) -> int:
        """Return the same for a plain cell and separate indents."""
        if self._lookaheads is not None:
            return self._live_labels(cell)
        expected = found = self.cells.known[cell].expected
        if expected & ~self._with_newline:
            found |= 1 << self.lexing.ignored
        if indents is not None:
            if indents.parentheses:
                found |= self.newline
            else:
                found &= ~self._closing
            if len(indents.columns) > 1:
                dedent = self.indenter.at_end(indents)[0]
                found &= ~(1 << self.end)
                if dedent >= 0 and expected >> dedent & 1:
                    found |= 1 << self.end
        return found

    def _live_labels(self, cell: int) -> int:
        """Return the live lookaheads on a cell, and the classes of ignored text that a live lookahead can follow."""
        found = self._allowed.get(cell)
        if found is None:
            lookaheads, coaccessible = self._lookaheads, self.cells.coaccessible
            assert lookaheads is not None, "asked only where there are lookaheads"
            assert coaccessible is not None, "lookaheads and cells come together"
            known = self.cells.known[cell]
            found = live = coaccessible.live(known.coaccessible_cell)
            context = self.lexing.contexts[known.state]
            for number in range(self.n_bits - self._n_lookaheads):
                if lookaheads.after.get((context, number), 0) & live:
                    found |= 1 << self._n_lookaheads + number
            self._allowed[cell] = found
        return found

    def outcomes(self, hypothesis: Hypothesis) -> Outcomes:
        """Return the labels that a hypothesis's lexeme can get, with the control after each."""
        self._dead_ends.renew()
        if hypothesis.is_fresh:
            return self._lexemes.fresh(hypothesis.scanned, hypothesis.watchers)
        continuing = self._lexemes.outcomes_of_lexeme(hypothesis.scanned, hypothesis.text, hypothesis.watchers)
        if self.lexing.events[hypothesis.scanned] is not None and self.event(hypothesis) is None:
            return continuing
        at_match = self._lexemes.outcomes_of_match(hypothesis.scanned, hypothesis.text, hypothesis.watchers)
        return Outcomes(continuing.lexemes | at_match, continuing.can_end)

    def _past_watchers(self, hypothesis: Hypothesis) -> int:
        """Return the labels that a hypothesis's lexeme can get without a watcher matching, as bits."""
        key = hypothesis.scanned, hypothesis.text, hypothesis.is_fresh, hypothesis.watchers
        found = self._wanted.get(key)
        if found is None:
            found = 0
            for label, _ in self.outcomes(hypothesis).lexemes:
                found |= 1 << (self.lexing.ignored if label == self._n_terminals else label)
            self._wanted[key] = found
        return found

    def _spelled(self, hypothesis: Hypothesis) -> int:
        """Return the lookaheads that a hypothesis can still produce, and the classes of ignored text; all if a class is unknown."""
        key = hypothesis.scanned, hypothesis.text, hypothesis.is_fresh, hypothesis.watchers
        found = self._wanted.get(key)
        if found is None:
            lookaheads = self._lookaheads
            assert lookaheads is not None, "asked only where there are lookaheads"
            found = 0
            if hypothesis.is_fresh and self._lexemes.fresh(hypothesis.scanned, hypothesis.watchers).can_end:
                found = 1 << self._n_lookaheads - 1
            for label, control in self.outcomes(hypothesis).lexemes:
                number = lookaheads.class_of.get(control, -1)
                if label == lookaheads.ignored and number >= 0:
                    found |= 1 << self._n_lookaheads + number
                elif (label, number) in lookaheads.number:
                    found |= 1 << lookaheads.number[label, number]
                else:
                    found = -1
            self._wanted[key] = found = found if found >= 0 else (1 << self.n_bits) - 1
        return found

    def indents(self, cell: int) -> Indents:
        """Return the indents of a text with this cell on top."""
        return self.cells.known[cell].indents or NO_INDENTS

    def wanted(self, hypothesis: Hypothesis) -> int:
        """Return the labels that a hypothesis can still produce, as bits; with ``$END`` if the text may end."""
        if self._lookaheads is not None:
            return self._spelled(hypothesis)
        if hypothesis.watchers and hypothesis.scanned >= 0:
            found = self._past_watchers(hypothesis)
        else:
            found = self.lexing.labels[hypothesis.scanned] if hypothesis.scanned >= 0 else 0
            if (
                found
                and not hypothesis.is_fresh
                and self.lexing.events[hypothesis.scanned]
                and not self.event(hypothesis)
            ):
                found = self.later(hypothesis.scanned)
        return found | 1 << self.end if hypothesis.is_fresh else found

    def guard(self, hypotheses: frozenset[Hypothesis]) -> int | None:
        """Return the labels that hypotheses can still produce on the top cell of the base; None if labels alone do not decide liveness."""
        wanted = 0
        for hypothesis in hypotheses:
            if hypothesis.above or not self.is_certain(hypothesis):
                return None
            wanted |= self.wanted(hypothesis)
        return wanted

    def is_certain(self, hypothesis: Hypothesis) -> bool:
        """Return whether a hypothesis is live if and only if its labels intersect those that its cell allows."""
        if self.depends_on_column(hypothesis):
            return False
        if self._lookaheads is not None:
            return True
        if self._certain is None:
            event = self.event(hypothesis)
            return event is None or not event[1]
        return hypothesis.scanned < 0 or not (
            hypothesis.watchers or self.lexing.labels[hypothesis.scanned] & ~self._certain[hypothesis.scanned]
        )

    def depends_on_column(self, hypothesis: Hypothesis) -> bool:
        """Return whether an Indenter's newline is being read that cannot start another line, so that its column only grows."""
        return (
            hypothesis.column != NO_NEWLINE
            and hypothesis.scanned >= 0
            and self.columns.is_restricted(hypothesis.scanned)
        )

    def certain(self, hypothesis: Hypothesis) -> int:
        """Return the labels, as bits, each of which makes a hypothesis live if its cell allows it; 0 if none is known."""
        if self._certain is None or hypothesis.scanned < 0 or hypothesis.watchers:
            return 0
        return self._certain[hypothesis.scanned]

    def _certain_by_state(self, own: list[int] | None) -> list[int] | None:
        """Return those labels per scanner state, given the labels proved at each state itself."""
        if own is None:
            return None
        terminals = (1 << self._n_terminals) - 1
        marked = [bits & terminals | bits >> self._n_terminals << self.lexing.ignored for bits in own]
        return leading(self.lexing.rows, marked)

    def top_cell_decides(self, label: int, left: int) -> bool:
        """Return whether the top cell alone decides if a lexeme can start after this label."""
        return self._certain is None or all(
            start[left] < 0 or not self.lexing.labels[start[left]] & ~self._certain[start[left]]
            for start in self.lexing.after(label)
        )

    def can_always_start(self, label: int, left: int) -> bool:
        """Return whether a lexeme can start on every stack after this terminal; it can if ignored text can follow."""
        if self._lookaheads is not None or 1 << label == self.newline or not self.top_cell_decides(label, left):
            return False
        return all(
            start[left] >= 0 and self.lexing.labels[start[left]] >> self.lexing.ignored & 1
            for start in self.lexing.after(label)
        )

    def event(self, hypothesis: Hypothesis) -> Match | None:
        """Return the match that a hypothesis's lexeme has reached, if the text after the match can occur there in some context."""
        event = None if hypothesis.is_fresh or hypothesis.scanned < 0 else self.lexing.events[hypothesis.scanned]
        if event is not None and event[1] and not self.lexing.may_be(event, last_characters(hypothesis.text, event[1])):
            return None
        return event

    def later(self, scanned: int) -> int:
        """Return the labels that longer lexemes can have, as bits."""
        own = self.lexing.ends[scanned]
        later = 1 << own[0] if own else 0
        for target in set(self.lexing.rows[scanned]) - {DEAD}:
            later |= self.lexing.labels[target]
        return later
