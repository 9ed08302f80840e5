"""`Living`: what can still come of a reading (`guided.lalr.readings`), as far as its lexeme and the top cell of its stack tell.

Labels are bits: those that a lexeme can still come to, and those that a cell allows. Where the dead ends of a grammar are decided by
cells (`guided.lalr.deadends`), letters stand in their place, and a reading is alive if the two meet. Where all stacks are assured, the
same holds if the lexeme can come to each of its labels so that no harm is done to what follows it (`Living.is_certain`); otherwise what it
may leave behind is searched on its stack (`guided.lalr.readings.Reader.lives`).

Complexity: O(1), what was asked is remembered.
"""

from typing import NamedTuple

from guided.arrays import DEAD
from guided.errors import GrammarError
from guided.lalr.cells import Cells
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.lexemes import Outcomes
from guided.lalr.lexing import Lexing, Said, last_characters, leading
from guided.lalr.scanner import Scanner
from guided.lalr.tables import LalrTables, Start

__all__ = ["NO_INDENTS", "Living", "Reading"]

NO_INDENTS = Indents()


class Reading(NamedTuple):
    """One reading of a prefix.

    Attributes
    ----------
    above : tuple of int
        Cells of the parser's stack above the base.
    scanned : int
        The scanner's state in the lexeme at hand; DEAD where none can begin, but the text may end.
    text : bytes
        The last bytes of that lexeme, as far as an event may lie back.
    is_fresh : bool
        Nothing of the lexeme has been read.
    column : int
        Column of the lexeme, where it may become a newline of an Indenter.
    watchers : frozenset of int
        Scanner states of lexemes that have ended.
    """

    above: tuple[int, ...]
    scanned: int
    text: bytes
    is_fresh: bool
    column: int
    watchers: frozenset[int]


class Living:
    """What can come of the readings of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
    start : Start
    cells : Cells
    dead_ends : DeadEnds
    alphabet : bytes, length 256
        1 for each byte that can come.

    Attributes
    ----------
    cells : Cells
    lexing : Lexing
    columns : Columns
    indenter : Indenter
    n_bits : int
        Bits of what can come: terminals, ``$END`` and ignored text; or letters, and ignored text by what it leaves open.
    end, newline : int
        ``$END``, and the bit of an Indenter's newline.
    """

    def __init__(
        self, tables: LalrTables, scanner: Scanner, start: Start, cells: Cells, dead_ends: DeadEnds, alphabet: bytes
    ) -> None:
        self.cells = cells
        self._dead_ends, self._lexemes, self._letters = dead_ends, dead_ends.lexemes, dead_ends.letters
        self.columns = dead_ends.columns
        self.n_bits = tables.end + 2
        if self._letters is not None:
            self._n_letters = len(self._letters.terminals)
            self.n_bits = self._n_letters + 1 + max(self._letters.class_of.values(), default=0)
        self._n_terminals = scanner.n_terminals
        self._allowed: dict[int, int] = {}
        self._wanted: dict[tuple[int, bytes, bool, frozenset[int]], int] = {}
        self.indenter = Indenter(tables)
        self._has_indents = tables.indentation is not None
        self.end = tables.end
        self.lexing = Lexing(tables, scanner, self.indenter, alphabet)
        newline = self.indenter.newline
        if newline >= 0 and any(
            said and said[0] == newline and said[1] for said in (*self.lexing.events, *self.lexing.ends)
        ):
            raise GrammarError("the newline of an Indenter looks ahead of its end", tables.symbols[newline])
        self.newline = 1 << newline if newline >= 0 else 0
        # What a newline brings with it comes in no lexeme of its own.
        self._with_newline = sum(1 << terminal for terminal in self.indenter.following)
        self._certain = self._certainly(dead_ends.certain(tables, start))
        self._closing = sum(1 << terminal for terminal in self.indenter.closing)

    def allowed(self, cell: int) -> int:
        """The labels that a lexeme may have on a stack with this cell on top, as bits; with ``$END`` where the text may end.

        Letters in their place (`guided.lalr.letters`) where stacks may lead nowhere: then only what a text can come of.
        """
        indents = self.cells.known[cell].indents
        return self.allowed_with(cell, NO_INDENTS if cell == 0 and self._has_indents else indents)

    def allowed_with(self, cell: int, indents: Indents | None) -> int:
        """The same for a plain cell, and such indents."""
        if self._letters is not None:
            return self._living(cell)
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

    def _living(self, cell: int) -> int:
        """The letters that a lexeme may come to on a cell, so that a text comes of it; and ignored text by what may follow it."""
        found = self._allowed.get(cell)
        if found is None:
            letters, coaccessible = self._letters, self.cells.coaccessible
            assert letters is not None, "asked only where there are letters"
            assert coaccessible is not None, "letters and cells come together"
            known = self.cells.known[cell]
            found = live = coaccessible.live(known.alive)
            context = self.lexing.contexts[known.state]
            for number in range(self.n_bits - self._n_letters):
                if letters.after.get((context, number), 0) & live:
                    found |= 1 << self._n_letters + number
            self._allowed[cell] = found
        return found

    def outcomes(self, reading: Reading) -> Outcomes:
        """What a reading's lexeme can become, and what it leaves open."""
        self._dead_ends.renew()
        if reading.is_fresh:
            return self._lexemes.fresh(reading.scanned, reading.watchers)
        going = self._lexemes.going(reading.scanned, reading.text, reading.watchers)
        if self.lexing.events[reading.scanned] is not None and self.event(reading) is None:
            return going
        met = self._lexemes.met(reading.scanned, reading.text, reading.watchers)
        return Outcomes(going.lexemes | met, going.can_end)

    def _past_watchers(self, reading: Reading) -> int:
        """The labels that a reading's lexeme can come to past its watchers, as bits."""
        key = reading.scanned, reading.text, reading.is_fresh, reading.watchers
        found = self._wanted.get(key)
        if found is None:
            found = 0
            for label, _ in self.outcomes(reading).lexemes:
                found |= 1 << (self.lexing.ignored if label == self._n_terminals else label)
            self._wanted[key] = found
        return found

    def _spelled(self, reading: Reading) -> int:
        """The letters that a reading can still come to, and what ignored text may leave open; all where they are not known."""
        key = reading.scanned, reading.text, reading.is_fresh, reading.watchers
        found = self._wanted.get(key)
        if found is None:
            letters = self._letters
            assert letters is not None, "asked only where there are letters"
            found = 0
            if reading.is_fresh and self._lexemes.fresh(reading.scanned, reading.watchers).can_end:
                found = 1 << self._n_letters - 1
            for label, control in self.outcomes(reading).lexemes:
                number = letters.class_of.get(control, -1)
                if label == letters.ignored and number >= 0:
                    found |= 1 << self._n_letters + number
                elif (label, number) in letters.number:
                    found |= 1 << letters.number[label, number]
                else:
                    found = -1
            self._wanted[key] = found = found if found >= 0 else (1 << self.n_bits) - 1
        return found

    def indents(self, cell: int) -> Indents:
        """The indents of a text with this cell on top."""
        return self.cells.known[cell].indents or NO_INDENTS

    def wanted(self, reading: Reading) -> int:
        """The labels that a reading can still lead to, as bits; with ``$END`` where the text may end."""
        if self._letters is not None:
            return self._spelled(reading)
        if reading.watchers and reading.scanned >= 0:
            found = self._past_watchers(reading)
        else:
            found = self.lexing.labels[reading.scanned] if reading.scanned >= 0 else 0
            if found and not reading.is_fresh and self.lexing.events[reading.scanned] and not self.event(reading):
                found = self.later(reading.scanned)
        return found | 1 << self.end if reading.is_fresh else found

    def guard(self, readings: frozenset[Reading]) -> int | None:
        """The labels that readings can still lead to on the base's top cell; None where that is not what they hang on."""
        wanted = 0
        for reading in readings:
            if reading.above or not self.is_certain(reading):
                return None
            wanted |= self.wanted(reading)
        return wanted

    def is_certain(self, reading: Reading) -> bool:
        """Does something come of a reading wherever its labels and those that its cell allows meet?"""
        if self.hangs_on_column(reading):
            return False
        if self._letters is not None:
            return True
        if self._certain is None:
            event = self.event(reading)
            return event is None or not event[1]
        return reading.scanned < 0 or not (
            reading.watchers or self.lexing.labels[reading.scanned] & ~self._certain[reading.scanned]
        )

    def hangs_on_column(self, reading: Reading) -> bool:
        """Is a newline of an Indenter under way that cannot begin another line, so that its column only grows?"""
        return reading.column != NO_NEWLINE and reading.scanned >= 0 and self.columns.hangs(reading.scanned)

    def certain(self, reading: Reading) -> int:
        """The labels, as bits, each of which is enough where it is allowed; none where that is not known."""
        if self._certain is None or reading.scanned < 0 or reading.watchers:
            return 0
        return self._certain[reading.scanned]

    def _certainly(self, own: list[int] | None) -> list[int] | None:
        """The same for each state of the scanner, where each of some has its own."""
        if own is None:
            return None
        terminals = (1 << self._n_terminals) - 1
        marked = [bits & terminals | bits >> self._n_terminals << self.lexing.ignored for bits in own]
        return leading(self.lexing.rows, marked)

    def is_sure(self, label: int, left: int) -> bool:
        """Is nothing but the top cell asked where a lexeme begins behind a label?"""
        return self._certain is None or all(
            start[left] < 0 or not self.lexing.labels[start[left]] & ~self._certain[start[left]]
            for start in self.lexing.after(label)
        )

    def leads_on(self, label: int, left: int) -> bool:
        """Can a lexeme begin on any stack that a terminal has been fed to? It can where ignored text can come."""
        if self._letters is not None or 1 << label == self.newline or not self.is_sure(label, left):
            return False
        return all(
            start[left] >= 0 and self.lexing.labels[start[left]] >> self.lexing.ignored & 1
            for start in self.lexing.after(label)
        )

    def event(self, reading: Reading) -> Said | None:
        """The match that a reading's lexeme has met, if what stands behind it can come there in some context."""
        event = None if reading.is_fresh or reading.scanned < 0 else self.lexing.events[reading.scanned]
        if event is not None and event[1] and not self.lexing.may_be(event, last_characters(reading.text, event[1])):
            return None
        return event

    def later(self, scanned: int) -> int:
        """The labels that longer lexemes can have, as bits."""
        own = self.lexing.ends[scanned]
        later = 1 << own[0] if own else 0
        for target in set(self.lexing.rows[scanned]) - {DEAD}:
            later |= self.lexing.labels[target]
        return later
