"""`Prefixes`: reference implementation that tracks, byte by byte, everything Lark can still make of a prefix.

Lark's lexer needs the text after a lexeme to decide where the lexeme ends, so a prefix has several interpretations. A *hypothesis* is one
of them: the parser's stack, the scanner's state in the current lexeme, and *watchers*, the scanner states of lexemes that are assumed to
have ended although they could continue. If a watcher reaches another event, the lexeme should have been longer and the hypothesis is wrong.
Reading a byte:

- a watcher advances; it is dropped when it dies, and the hypothesis is dropped when it reaches an event;
- the scanner advances, and the lexeme with it. At an event the lexeme may also end there: the parser is fed, the state becomes a watcher,
  and a new lexeme starts. If the event looks back, the characters since then are read again.

At the end of a text no watcher may have a match that requires the end, and the current lexeme must end, preferably by a match that
requires the end.

A hypothesis is kept only while it can become a text (the notes of `guided.lalr.deadends` name the grammars for which it may be kept
longer). An empty set is dead, and every other set can be completed.

A state is an interned set of hypotheses; nearly always it has one, or two of which one is about to be dropped. Plain Python, lazy, every
step cached: the definition that faster engines are tested against.
Ref: the sets of configurations of generalized LR parsing; here they differ in the lexer's decisions, never in the parser's.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray
from guided.automata.steps import Steps
from guided.errors import GrammarError, LimitError
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.lexemes import Control, Outcomes
from guided.lalr.lookahead_classes import LookaheadClasses
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from tests.lalr.parser_stacks import Stacks

__all__ = ["Prefixes"]

_NONE: frozenset[int] = frozenset()
_LARGEST_SET = 1_000
_TOO_MANY = "the grammar's terminals match the text in too many ways"


class PrefixHypothesis(NamedTuple):
    """One interpretation of a prefix.

    Attributes
    ----------
    node : int
        The parser's stack.
    scanned : int
        Scanner state in the current lexeme.
    text : bytes
        Last bytes of that lexeme, as many as an event may look back; empty, with ``is_fresh``, at its start.
    is_fresh : bool
        No byte of the lexeme has been read.
    column : int
        Column reached by the lexeme if it may become a newline of an Indenter.
    indents : Indents
    watchers : frozenset of int
        Scanner states of ended lexemes that must not turn out longer.
    """

    node: int
    scanned: int
    text: bytes
    is_fresh: bool
    column: int
    indents: Indents
    watchers: frozenset[int]


class Prefixes:
    """The prefixes of one grammar's texts as states of a lazy byte automaton.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Built from the lexer of ``tables``.
    start : str
        The start rule.
    limits : Limits
        ``states`` bounds the number of states.

    Attributes
    ----------
    initial : int
        The state of the empty text; DEAD if the language is empty.
    stacks : Stacks
    dead_ends : DeadEnds

    Raises
    ------
    GrammarError
        The tables have no such start, or the Indenter's newline terminal looks ahead of its end.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: str, limits: Limits) -> None:
        starts = {one.name: one for one in tables.starts}
        if start not in starts:
            raise GrammarError(f"unknown start rule; the grammar was loaded with: {', '.join(starts)}", start)
        self.stacks = Stacks(tables, starts[start])
        self._indenter = Indenter(tables)
        self._end, self._ignored = tables.end, scanner.ignored
        self._table = scanner.table
        self._rows: list[list[int]] = scanner.table.tolist()
        self._classes: list[int] = scanner.classes.tolist()
        self._events: list[list[int]] = scanner.events.tolist()
        self._ends: list[list[int]] = scanner.ends.tolist()
        self._starts: list[list[int]] = scanner.starts.tolist()
        self._contexts: list[int] = tables.context.tolist()
        self.dead_ends = DeadEnds(tables, scanner, starts[start], limits, Steps(1 << 62))
        self._cell_of = [self.dead_ends.cells.first] if self.dead_ends.cells is not None else []
        newline = self._indenter.newline
        if newline >= 0 and any(match[0] == newline and match[1] for match in (*self._events, *self._ends)):
            raise GrammarError("the newline terminal of an Indenter must not have a lookahead", tables.symbols[newline])
        self._back = 4 * max((match[1] for match in (*self._events, *self._ends)), default=0)
        self._limit = limits.states
        self._sets: list[frozenset[PrefixHypothesis]] = []
        self._numbers: dict[frozenset[PrefixHypothesis], int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._accepting: dict[int, bool] = {}
        self.initial = self._state({self._begin(0, Indents(), scanner.first_left)})

    def hypotheses(self, state: int) -> frozenset[PrefixHypothesis]:
        """Return the hypotheses of a state."""
        return self._sets[state]

    def step(self, state: int, byte: int) -> int:
        """Return the state after a byte; DEAD if no hypothesis survives."""
        if state == DEAD:
            return DEAD
        key = state, byte
        found = self._next.get(key, UNKNOWN)
        if found == UNKNOWN:
            read: set[PrefixHypothesis] = set()
            for hypothesis in self._sets[state]:
                self._read(hypothesis, byte, read)
            found = self._next[key] = self._state(read)
        return found

    def read(self, state: int, data: bytes) -> int:
        """Return the state after some bytes, or DEAD."""
        for byte in data:
            if state == DEAD:
                break
            state = self.step(state, byte)
        return state

    def onward(self, state: int) -> bytes:
        """Return the bytes that may follow, ascending."""
        if state == DEAD:
            return b""
        return bytes(byte for byte in np.flatnonzero(self._live(state)).tolist() if self.step(state, byte) != DEAD)

    def is_accepting(self, state: int) -> bool:
        """Return whether Lark parses the text so far."""
        if state == DEAD:
            return False
        found = self._accepting.get(state)
        if found is None:
            found = self._accepting[state] = self._holds_at_end(self._sets[state])
        return found

    def _live(self, state: int) -> BoolArray:
        """Return a superset of the bytes that may follow, those that extend some current lexeme: bool, shape (256,)."""
        found: BoolArray = np.zeros(256, np.bool_)
        for hypothesis in self._sets[state]:
            if hypothesis.scanned >= 0:
                found |= (self._table[hypothesis.scanned] >= 0)[self._classes]
        return found

    def _state(self, read: set[PrefixHypothesis]) -> int:
        kept = frozenset(filter(self._lives, _without_weaker(read) if len(read) > 1 else read))
        if not kept:
            return DEAD
        if len(kept) > _LARGEST_SET:
            raise LimitError("readings", len(kept), _LARGEST_SET, _TOO_MANY)
        number = self._numbers.setdefault(kept, len(self._sets))
        if number == len(self._sets):
            if number >= self._limit:
                raise LimitError("states", number + 1, self._limit, _TOO_MANY)
            self._sets.append(kept)
        return number

    def _begin(self, node: int, indents: Indents, left: int) -> PrefixHypothesis:
        """Return the hypothesis that starts a lexeme."""
        scanned = self._starts[self._contexts[self.stacks.states[node]]][left]
        return PrefixHypothesis(node, scanned, b"", True, NO_NEWLINE, indents, _NONE)

    def _lives(self, hypothesis: PrefixHypothesis) -> bool:
        """Return whether a hypothesis can become a text."""
        node, scanned, text, is_fresh, column, indents, watchers = hypothesis
        lexemes = self.dead_ends.lexemes
        if is_fresh:
            return self._is_live(node, indents, lexemes.fresh(scanned, watchers))
        columns = self.dead_ends.columns.within(scanned, column, indents)
        return self._is_live(node, indents, lexemes.outcomes_of_lexeme(scanned, text, watchers), columns)

    def _is_live(self, node: int, indents: Indents, outcomes: Outcomes, columns: frozenset[int] | None = None) -> bool:
        """Return whether a stack can be completed to a text by these outcomes of its lexeme.

        ``columns``: where the lexeme may end if it becomes an Indenter's newline; anywhere if None.
        """
        ends = self.dead_ends
        with ends.query():
            if ends.cells is not None and ends.lookaheads is not None:
                return self._is_live_by_cells(node, outcomes, ends.cells, ends.lookaheads)
            return self._search(node, indents, outcomes, columns)

    def _is_live_by_cells(
        self, node: int, outcomes: Outcomes, cells: Coaccessible, lookaheads: LookaheadClasses
    ) -> bool:
        """Return the same where cells decide.

        Watchers here are not reduced (`Lexemes.reduced`): a control that has no class for that reason is followed to the next lexeme.
        """
        seen: set[tuple[int, Control]] = set()
        work = [(node, outcomes)]
        for node, outcomes in work:
            known: list[tuple[int, Control]] = []
            for label, control in outcomes.lexemes:
                number = lookaheads.class_of.get(control)
                if number is not None and (label == self._ignored or (label, number) in lookaheads.number):
                    known.append((label, control))
                    continue
                self.dead_ends.try_lexeme()
                target = node if label == self._ignored else self.stacks.feed(node, label)
                if target >= 0 and (target, control) not in seen:
                    seen.add((target, control))
                    context = self._contexts[self.stacks.states[target]]
                    work.append((target, self.dead_ends.lexemes.begun(context, control)))
            found = lookaheads.of(Outcomes(known, outcomes.can_end), self._contexts[self.stacks.states[node]])
            if found & cells.live(self._cell(node, cells)):
                return True
        return False

    def _cell(self, node: int, cells: Coaccessible) -> int:
        while len(self._cell_of) <= node:
            new = len(self._cell_of)
            self._cell_of.append(cells.above(self._cell_of[self.stacks.below(new)], self.stacks.states[new]))
        return self._cell_of[node]

    def _search(self, node: int, indents: Indents, outcomes: Outcomes, columns: frozenset[int] | None) -> bool:
        """Search breadth first over lexemes for a proved state."""
        seen: set[tuple[int, Indents, Control]] = set()
        work = deque([(node, indents, outcomes, columns)])
        while work:
            node, indents, outcomes, columns = work.popleft()
            if outcomes.can_end and self._ends_at(node, indents):
                return True
            for label, control in outcomes.lexemes:
                self.dead_ends.try_lexeme()
                for target, counts in self._fed_at_columns(node, indents, label, columns):
                    state = self.stacks.states[target]
                    if self.dead_ends.is_safe(state, control):
                        return True
                    key = target, counts, control
                    if key not in seen:
                        if len(seen) >= self.dead_ends.most_searched:
                            return True
                        seen.add(key)
                        begun = self.dead_ends.lexemes.begun(self._contexts[state], control)
                        work.append((target, counts, begun, None))
        return False

    def _fed_at_columns(
        self, node: int, indents: Indents, label: int, columns: frozenset[int] | None
    ) -> Iterator[tuple[int, Indents]]:
        """Yield the stacks and indents after a lexeme, for each column at which it may end."""
        newline = self._indenter.newline
        if label == self._ignored or (label == newline and indents.parentheses):
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

    def _read(self, hypothesis: PrefixHypothesis, byte: int, out: set[PrefixHypothesis]) -> None:
        """Add the hypotheses that follow from one after a byte."""
        column_of = self._classes[byte]
        watchers = _NONE
        if hypothesis.watchers:
            moved = {self._rows[watcher][column_of] for watcher in hypothesis.watchers} - {DEAD}
            if any(self._events[watcher][0] != NOTHING for watcher in moved):
                return
            watchers = frozenset(moved)
        if hypothesis.scanned < 0:
            return
        scanned = self._rows[hypothesis.scanned][column_of]
        if scanned < 0:
            return
        node, indents = hypothesis.node, hypothesis.indents
        column = NO_NEWLINE
        if self.dead_ends.columns.counts(scanned):
            column = self._indenter.column(hypothesis.column, byte)
        text = (hypothesis.text + bytes([byte]))[-self._back :] if self._back else b""
        going = PrefixHypothesis(node, scanned, text, False, column, indents, watchers)
        if self._may_continue(scanned):
            out.add(going)
        if self._events[scanned][0] != NOTHING:
            own = watchers | ({scanned} if self._may_continue(scanned) else _NONE)
            ended = self._ended(going, self._events[scanned])
            out |= {one._replace(watchers=one.watchers | own) for one in ended}

    def _may_continue(self, scanned: int) -> bool:
        return self._ends[scanned][0] != NOTHING or any(target >= 0 for target in self._rows[scanned])

    def _ended(self, hypothesis: PrefixHypothesis, match: list[int]) -> set[PrefixHypothesis]:
        """Return the hypotheses after the lexeme ends with a match; their watchers are those of the lexemes after it."""
        label, back, left = match
        after = self._fed(hypothesis, label)
        if after is None:
            return set()
        found = {self._begin(*after, left)}
        rest = _last_characters(hypothesis.text, back)
        for byte in rest:
            following: set[PrefixHypothesis] = set()
            for one in found:
                self._read(one, byte, following)
            found = following
        return found

    def _fed(self, hypothesis: PrefixHypothesis, label: int) -> tuple[int, Indents] | None:
        """Return stack and indents after a lexeme with this label."""
        node, indents = hypothesis.node, hypothesis.indents
        if label == self._ignored:
            return node, indents
        found = self._indenter.tokens(indents, label, hypothesis.column)
        if found is None:
            return None
        tokens, indents = found
        for terminal in tokens:
            node = self.stacks.feed(node, terminal)
            if node < 0:
                return None
        return node, indents

    def _ends_at(self, node: int, indents: Indents) -> bool:
        for terminal in (*self._indenter.at_end(indents), self._end):
            node = self.stacks.feed(node, terminal)
            if node < 0:
                return False
        return True

    def _holds_at_end(self, hypotheses: frozenset[PrefixHypothesis] | set[PrefixHypothesis]) -> bool:
        """Return whether the text may end.

        Each pass reads the text after a match that looks back, which is shorter each time.
        """
        while hypotheses:
            again: set[PrefixHypothesis] = set()
            for hypothesis in hypotheses:
                if any(self._ends[watcher][0] != NOTHING for watcher in hypothesis.watchers):
                    continue
                if hypothesis.is_fresh:
                    if self._ends_at(hypothesis.node, hypothesis.indents):
                        return True
                elif self._ends[hypothesis.scanned][0] != NOTHING:
                    again |= self._ended(hypothesis, self._ends[hypothesis.scanned])
            hypotheses = again
        return False


def _last_characters(data: bytes, count: int) -> bytes:
    """Return the last `count` characters of UTF-8 text that may start inside a character and ends with a whole one."""
    place = len(data)
    for _ in range(count):
        place -= 1
        while data[place] & 0xC0 == 0x80:
            place -= 1
    return data[place:]


def _without_weaker(read: set[PrefixHypothesis]) -> set[PrefixHypothesis]:
    """Drop each hypothesis that equals another one except for additional watchers."""
    least: dict[PrefixHypothesis, list[frozenset[int]]] = {}
    for hypothesis in sorted(read, key=lambda one: len(one.watchers)):
        kept = least.setdefault(hypothesis._replace(watchers=_NONE), [])
        if not any(less <= hypothesis.watchers for less in kept):
            kept.append(hypothesis.watchers)
    return {hypothesis._replace(watchers=watchers) for hypothesis, found in least.items() for watchers in found}
