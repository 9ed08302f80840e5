"""`HypothesisReader`: advances the hypotheses about a prefix on stacks whose lower part is unknown, and decides which are live.

The stack of a `Hypothesis` consists of known cells on top of a base that all hypotheses of the
prefix share. A step that needs a cell of the base raises `StackUnderflow`; a caller that knows the cell retries with it. A set of
hypotheses is therefore a state of an automaton with one stack, the base. Nearly always the set has a single hypothesis with no cells above
the base.

A lexeme that could end at the current byte is not split at once: one hypothesis stands for both cases. It splits when a byte extends the
lexeme to a state where it cannot end, because then either case may fail alone, and only if some context lets the ended lexeme survive
(`Lexing.may_part`). Under a scannerless lexer, where the longer lexeme does not exclude the shorter one, it splits at every byte that
extends it, under the same condition.

A hypothesis is live if further bytes can complete it to a text. Sets of labels are bit masks: the labels that a lexeme can still get, and
the labels that a cell allows. If cells decide the dead ends of a grammar (`guided.lalr.deadends`), the bits are lookaheads, and a
hypothesis is live if and only if the two sets intersect. If every stack is proved safe, the same test is exact as long as the lexeme can
get each of its labels without constraining the text after it (`HypothesisReader.is_definitive`). Otherwise `HypothesisReader.is_live`
searches for a continuation on the stack.

Not handled here: table numbers, and stacks that are fully known.
Complexity: O(1) for what the top cell of a stack decides; results are cached.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from guided.arrays import DEAD
from guided.errors import GrammarError, LimitError
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.lexemes import Control, Outcomes
from guided.lalr.lexing import Lexing, Match, last_characters
from guided.lalr.scanner import Scanner, leading
from guided.lalr.stack_symbols import StackSymbols, StackUnderflow
from guided.lalr.tables import LalrTables, Start

__all__ = ["Hypothesis", "HypothesisReader"]

_NO_INDENTS = Indents()
_NONE: frozenset[int] = frozenset()
# Outcomes that are visited in a step of a call.
_OUTCOMES = 2
_TOO_MANY = "the grammar's terminals overlap in too many ways"


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


class HypothesisReader:
    """Advances hypotheses byte by byte through the lexer and parser of one grammar, and decides which are live.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
    start : Start
    cells : StackSymbols
    dead_ends : DeadEnds
    most_hypotheses : int
        Maximum number of hypotheses (``Limits.readings``).

    Attributes
    ----------
    call : Steps
        Counts the steps of the current call.
    cells : StackSymbols
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
        cells: StackSymbols,
        dead_ends: DeadEnds,
        most_hypotheses: int,
    ) -> None:
        self.cells = cells
        self._most_hypotheses = most_hypotheses
        self._dead_ends, self._lexemes, self._lookaheads = dead_ends, dead_ends.lexemes, dead_ends.lookaheads
        self.call = dead_ends.call
        self.columns = dead_ends.columns
        self.n_bits = tables.end + 2
        if self._lookaheads is not None:
            self._n_lookaheads = len(self._lookaheads.terminals)
            self.n_bits = self._n_lookaheads + 1 + max(self._lookaheads.class_of.values(), default=0)
        self._allowed: dict[int, int] = {}
        self._wanted: dict[tuple[int, bytes, bool, frozenset[int]], int] = {}
        self.indenter = dead_ends.indenter
        self._has_indents = tables.indentation is not None
        self.end = tables.end
        self.lexing = Lexing(tables, scanner, self.indenter)
        newline = self.indenter.newline
        if newline >= 0 and any(
            match and match[0] == newline and match[1] for match in (*self.lexing.events, *self.lexing.ends)
        ):
            raise GrammarError("the newline terminal of an Indenter must not have a lookahead", tables.symbols[newline])
        self.newline = self.lexing.newline
        # INDENT and DEDENT follow a newline without lexemes of their own.
        self._with_newline = sum(1 << terminal for terminal in self.indenter.following)
        # By scanner state: the labels that make a hypothesis live if its cell allows them.
        own = dead_ends.certain(tables, start)
        self._certain = None if own is None else leading(scanner.sources, own)
        self._closing = sum(1 << terminal for terminal in self.indenter.closing)

    def allowed(self, cell: int) -> int:
        """Return the labels that a lexeme may have on a stack with this cell on top, as bits; with ``$END`` if the text may end.

        If stacks can be dead ends, the bits are lookaheads (`guided.lalr.lookahead_classes`), restricted to those that lead to a complete
        text.
        """
        indents = self.cells.known[cell].indents
        return self.allowed_with(cell, _NO_INDENTS if cell == 0 and self._has_indents else indents)

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

    def _outcomes(self, hypothesis: Hypothesis) -> Outcomes:
        """Return what a hypothesis can become, to be iterated once."""
        if hypothesis.is_fresh:
            return self._lexemes.fresh(hypothesis.scanned, hypothesis.watchers)
        continuing = self._lexemes.outcomes_of_lexeme(hypothesis.scanned, hypothesis.text, hypothesis.watchers)
        if self.lexing.events[hypothesis.scanned] is not None and self.event(hypothesis) is None:
            return continuing
        at_match = self._lexemes.outcomes_of_match(hypothesis.scanned, hypothesis.text, hypothesis.watchers)
        return Outcomes(chain(at_match, continuing.lexemes), continuing.can_end)

    def _counted(self, outcomes: Outcomes) -> Iterator[tuple[int, Control]]:
        """Yield the labels that a lexeme can get, with the control after each, and count them."""
        for count, outcome in enumerate(outcomes.lexemes, 1):
            if not count % _OUTCOMES:
                self.call.spend(1, _TOO_MANY)
            yield outcome

    def _past_watchers(self, hypothesis: Hypothesis) -> int:
        """Return the labels that a hypothesis's lexeme can get without a watcher matching, as bits."""
        key = hypothesis.scanned, hypothesis.text, hypothesis.is_fresh, hypothesis.watchers
        found = self._wanted.get(key)
        if found is None:
            found, every = 0, self.lexing.labels[hypothesis.scanned]
            with self._dead_ends.query():
                for label, _ in self._counted(self._outcomes(hypothesis)):
                    found |= 1 << label
                    if found == every:
                        break
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
            with self._dead_ends.query():
                for label, control in self._counted(self._outcomes(hypothesis)):
                    number = lookaheads.class_of.get(control, -1)
                    if label == self.lexing.ignored and number >= 0:
                        found |= 1 << self._n_lookaheads + number
                    elif (label, number) in lookaheads.number:
                        found |= 1 << lookaheads.number[label, number]
                    else:
                        found = -1
                        break
            self._wanted[key] = found = found if found >= 0 else (1 << self.n_bits) - 1
        return found

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
            if hypothesis.above or not self.is_definitive(hypothesis):
                return None
            wanted |= self.wanted(hypothesis)
        return wanted

    def is_definitive(self, hypothesis: Hypothesis) -> bool:
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

    def begin(self, above: tuple[int, ...], left: int, watchers: frozenset[int] = _NONE) -> Hypothesis:
        """Return the hypothesis that starts a lexeme on a stack whose top is known."""
        state = self.cells.known[above[-1]].state
        return Hypothesis(above, self.lexing.starts[self.lexing.contexts[state]][left], b"", True, NO_NEWLINE, watchers)

    def is_live(self, hypothesis: Hypothesis) -> bool:
        """Return whether a hypothesis is live.

        If only the top cell decides and the stack is unknown, the answer is True: the control's guard does the test (`guard`).

        Raises
        ------
        StackUnderflow
            A cell of the base is needed.
        """
        if self.depends_on_column(hypothesis):
            return self._fits(hypothesis)
        if self.is_definitive(hypothesis) or self._certain is None:
            return not hypothesis.above or bool(self.allowed(hypothesis.above[-1]) & self.wanted(hypothesis))
        if not hypothesis.above:
            raise StackUnderflow
        if self.allowed(hypothesis.above[-1]) & self.certain(hypothesis):
            return True
        return self._search(hypothesis)

    def _fits(self, hypothesis: Hypothesis) -> bool:
        """Return whether a newline being read can still end at a column that the stack accepts, or become another terminal."""
        if not hypothesis.above:
            raise StackUnderflow
        wanted = self.allowed(hypothesis.above[-1]) & self.wanted(hypothesis)
        indents = self.cells.indents(hypothesis.above[-1])
        columns = self.columns.within(hypothesis.scanned, hypothesis.column, indents)
        if wanted & ~self.newline or indents.parentheses or columns is None:
            return wanted != 0
        met = self.event(hypothesis)
        if met is not None and met[0] == self.indenter.newline:
            columns = columns | {hypothesis.column}
        return self._search(hypothesis, columns)

    def _search(self, hypothesis: Hypothesis, columns: frozenset[int] | None = None) -> bool:
        """Search lexeme by lexeme for a safe state. Undecided within the budget of a query counts as live.

        ``columns``: the columns at which the first lexeme may end if it is a newline.
        """
        try:
            with self._dead_ends.query():
                return self._leads_to_safety(hypothesis.above, self._outcomes(hypothesis), columns)
        except LimitError as error:
            # Why only this: what is undecided because of the call may be decided by the next one, and the answer is kept.
            if not self._dead_ends.is_of_query(error):
                raise
            return True

    def can_complete(self, stack: tuple[int, ...], outcomes: Outcomes) -> bool:
        """Return whether a whole stack can be completed to a text by these outcomes of its next lexeme.

        Raises
        ------
        LimitError
            That is not decided within the budget of a query.
        """
        with self._dead_ends.query():
            top, coaccessible = self.cells.known[stack[-1]], self.cells.coaccessible
            if coaccessible is not None and self._lookaheads is not None:
                lookaheads = self._lookaheads.of(outcomes, self.lexing.contexts[top.state])
                return bool(lookaheads & coaccessible.live(top.coaccessible_cell))
            return self._leads_to_safety(stack, outcomes, None)

    def _leads_to_safety(self, above: tuple[int, ...], outcomes: Outcomes, columns: frozenset[int] | None) -> bool:
        seen: set[tuple[tuple[int, ...], Control]] = set()
        work = [(above, outcomes, columns)]
        for above, outcomes, places in work:
            indents = self.cells.indents(above[-1])
            if outcomes.can_end and self.cells.can_end(above):
                return True
            for label, control in outcomes.lexemes:
                self._dead_ends.try_lexeme()
                ends_line = 1 << label == self.newline and not indents.parentheses
                if ends_line and places is None:
                    if self.cells.known[above[-1]].expected & self.newline:
                        return True
                    continue
                for place in sorted(places) if ends_line and places is not None else (NO_NEWLINE,):
                    after = self.cells.after(above, label, place)
                    if after is None:
                        continue
                    state = self.cells.known[after[-1]].state
                    if self._dead_ends.is_safe(state, control):
                        return True
                    if (after, control) not in seen:
                        if len(seen) >= self._dead_ends.most_searched:
                            return True
                        seen.add((after, control))
                        work.append((after, self._lexemes.begun(self.lexing.contexts[state], control), None))
        return False

    def _survives(self, hypothesis: Hypothesis, event: Match | None) -> bool:
        """Return whether a hypothesis whose lexeme may continue is live."""
        if event is None or not event[1] or self._lookaheads is not None or self._certain is not None:
            return self.is_live(hypothesis)
        # The text after the match may be invalid there; then only longer lexemes count.
        if not hypothesis.above:
            raise StackUnderflow
        return bool(self.allowed(hypothesis.above[-1]) & self.later(hypothesis.scanned)) or bool(
            self.ended(hypothesis, event, _NONE)
        )

    def watchers_after(self, watchers: frozenset[int], byte: int) -> frozenset[int] | None:
        """Return the watchers after a byte; None if one of them matches."""
        if not watchers:
            return watchers
        found = {self.lexing.rows[watcher][self.lexing.classes[byte]] for watcher in watchers} - {DEAD}
        return None if any(self.lexing.events[watcher] for watcher in found) else frozenset(found)

    def continued(self, hypothesis: Hypothesis, byte: int, watchers: frozenset[int]) -> Hypothesis | None:
        """Return the hypothesis whose lexeme continues with this byte; None if it cannot."""
        scanned = self.lexing.rows[hypothesis.scanned][self.lexing.classes[byte]] if hypothesis.scanned >= 0 else DEAD
        if scanned < 0:
            return None
        column = NO_NEWLINE
        if self.lexing.labels[scanned] & self.newline:
            column = self.indenter.column(hypothesis.column, byte)
        text = self.lexing.kept(hypothesis.text + bytes([byte]), scanned) if self.lexing.tails[scanned] >= 0 else b""
        return Hypothesis(hypothesis.above, scanned, text, False, column, watchers)

    def read(
        self, hypotheses: set[Hypothesis] | frozenset[Hypothesis], byte: int, *, is_last: bool = True
    ) -> set[Hypothesis]:
        """Return the hypotheses after a byte; ``is_last``: the byte after it is unknown.

        Raises
        ------
        StackUnderflow
            A cell of the base is needed.
        """
        found: set[Hypothesis] = set()
        work = list(hypotheses)
        while work:
            self.call.spend(1, _TOO_MANY)
            hypothesis = work.pop()
            watchers = self.watchers_after(hypothesis.watchers, byte)
            if watchers is None or hypothesis.scanned < 0:
                continue
            continued = self.continued(hypothesis, byte, watchers)
            if continued is not None:
                met, may_continue = self.lexing.arrived(continued.scanned, byte)
                if met is not None and not may_continue:
                    found |= self.ended(continued, met, watchers, is_last=is_last)
                elif not is_last or self._survives(continued, None if met is None else self.event(continued)):
                    found.add(continued)
                if met is not None and not self.lexing.is_scannerless:
                    continue
            event = self.event(hypothesis)
            if event is not None:
                behind = last_characters(hypothesis.text, event[1]) + bytes([byte])
                if continued is not None and not self.lexing.may_part(event, behind, continued.scanned):
                    continue
                is_watched = self.lexing.may_continue[hypothesis.scanned] and not self.lexing.is_scannerless
                own = {hypothesis.scanned} if is_watched else _NONE
                work += self.ended(hypothesis, event, hypothesis.watchers | own, is_last=False)
            count = max(len(found), len(work))
            if count > self._most_hypotheses:
                raise LimitError(
                    "readings", count, self._most_hypotheses, "the grammar's terminals match the text in too many ways"
                )
        return found

    def ended(
        self, hypothesis: Hypothesis, match: Match, watchers: frozenset[int], *, is_last: bool = True
    ) -> set[Hypothesis]:
        """Return the hypotheses after the lexeme ends with this match, with `watchers` added.

        The text after the match is read again.
        """
        # Why: only the last byte needs a liveness check; the bytes after the others are known and are read anyway.
        label, back, left = match
        above = self.cells.after(hypothesis.above, label, hypothesis.column)
        if above is None:
            return set()
        begun = self.begin(above, left)
        behind = last_characters(hypothesis.text, back)
        found = {begun} if behind or not is_last or self.is_live(begun) else set()
        for place, byte in enumerate(behind, 1):
            found = self.read(found, byte, is_last=is_last and place == len(behind))
        found = {one._replace(watchers=self._lexemes.reduced(one.watchers | watchers)) for one in found}
        return {one for one in found if self.is_live(one)} if watchers and is_last else found

    def may_end(self, hypotheses: set[Hypothesis] | frozenset[Hypothesis]) -> bool:
        """Return whether the text may end here.

        Raises
        ------
        StackUnderflow
            A cell of the base is needed.
        """
        work = list(hypotheses)
        while work:
            hypothesis = work.pop()
            if any(self.lexing.ends[watcher] for watcher in hypothesis.watchers):
                continue
            if hypothesis.is_fresh:
                if self.cells.can_end(hypothesis.above):
                    return True
                continue
            match = self.lexing.ends[hypothesis.scanned] or self.lexing.events[hypothesis.scanned]
            if match is not None:
                work += self.ended(hypothesis, match, _NONE, is_last=False)
        return False
