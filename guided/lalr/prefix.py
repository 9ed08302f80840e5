"""`Prefixes`: what Lark can still make of a text that has begun, exactly, byte by byte.

Lark's lexer decides where a lexeme ends by what comes behind it, so a prefix has several readings. A *hypothesis* is one of them: the
parser's stack, the scanner's state in the lexeme at hand, and *watchers*: the scanner states of lexemes that are taken to have ended
although they could go on. If one of those meets another event the lexeme should have been longer, and the hypothesis is wrong.
Reading a byte:

- a watcher moves on; where nothing is left of it, it is right for good; where it meets an event, the hypothesis falls;
- the scanner moves on, and the lexeme with it; where it meets an event, the lexeme may also end there: the parser is fed, the state is
  watched, and a new lexeme begins. Where the event lies back, the characters since then are read again.

At the end of a text no watcher may have a match that needs the end, and the lexeme at hand must end, by a match that needs the end if
there is one.

A hypothesis is kept only while it can become a text (`guided.lalr.deadends`, whose notes name the grammars for which it may be kept
longer): a set without one is dead, and every other one can be completed.

A state is a set of hypotheses, interned; nearly always there is one, or two of which one is about to fall. Plain Python, lazily, with
every step remembered: the definition that faster engines are tested against.
Ref: the sets of configurations of generalized LR parsing; here they differ in the lexer's decisions, never in the parser's.
"""

from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray
from guided.errors import GrammarError, LimitError
from guided.lalr.deadends import DeadEnds
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.stacks import Stacks
from guided.lalr.tables import LalrTables
from guided.limits import Limits

__all__ = ["Prefixes"]

_NONE: frozenset[int] = frozenset()
_MOST_HYPOTHESES = 1_000
_TOO_MANY = "its terminals leave too many readings open"


class Hypothesis(NamedTuple):
    """One reading of a prefix.

    Attributes
    ----------
    node : int
        The parser's stack.
    scanned : int
        The scanner's state in the lexeme at hand.
    text : bytes
        The last bytes of that lexeme, as far as an event may lie back; empty and ``is_fresh`` at its begin.
    is_fresh : bool
        Nothing of the lexeme has been read.
    column : int
        Column of the lexeme, where it may become a newline of an Indenter.
    indents : Indents
    watchers : frozenset of int
        Scanner states of lexemes that have ended.
    """

    node: int
    scanned: int
    text: bytes
    is_fresh: bool
    column: int
    indents: Indents
    watchers: frozenset[int]


class Prefixes:
    """The prefixes of one grammar's texts, as states that bytes lead on.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Of the tables' lexer.
    start : str
        The start rule.
    limits : Limits
        ``states`` bounds the states.

    Attributes
    ----------
    initial : int
        The state of the empty text; DEAD where the language has no text.
    stacks : Stacks
    dead_ends : DeadEnds

    Raises
    ------
    GrammarError
        There is no such start, or the Indenter's newline terminal looks ahead of its end.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: str, limits: Limits) -> None:
        starts = {one.name: one for one in tables.starts}
        if start not in starts:
            raise GrammarError(f"the grammar was not read with this start; there are: {', '.join(starts)}", start)
        self.stacks = Stacks(tables, starts[start])
        self._indenter = Indenter(tables)
        self._end, self._ignored = tables.end, scanner.n_terminals
        self._table = scanner.table
        self._rows: list[list[int]] = scanner.table.tolist()
        self._classes: list[int] = scanner.classes.tolist()
        self._events: list[list[int]] = scanner.events.tolist()
        self._ends: list[list[int]] = scanner.ends.tolist()
        self._starts: list[list[int]] = scanner.starts.tolist()
        self._contexts: list[int] = tables.context.tolist()
        self.dead_ends = DeadEnds(tables, scanner, starts[start], self.stacks, limits)
        newline = self._indenter.newline
        if newline >= 0 and any(said[0] == newline and said[1] for said in (*self._events, *self._ends)):
            raise GrammarError("the newline of an Indenter looks ahead of its end", tables.symbols[newline])
        self._back = 4 * max((said[1] for said in (*self._events, *self._ends)), default=0)
        self._limit = limits.states
        self._sets: list[frozenset[Hypothesis]] = []
        self._numbers: dict[frozenset[Hypothesis], int] = {}
        self._next: dict[tuple[int, int], int] = {}
        self._accepting: dict[int, bool] = {}
        self.initial = self._state({self._begin(0, Indents(), scanner.first_left)})

    def hypotheses(self, state: int) -> frozenset[Hypothesis]:
        """The readings of a state."""
        return self._sets[state]

    def step(self, state: int, byte: int) -> int:
        """The state after a byte; DEAD where nothing can come of it."""
        if state == DEAD:
            return DEAD
        key = state, byte
        found = self._next.get(key, UNKNOWN)
        if found == UNKNOWN:
            read: set[Hypothesis] = set()
            for hypothesis in self._sets[state]:
                self._read(hypothesis, byte, read)
            found = self._next[key] = self._state(read)
        return found

    def read(self, state: int, data: bytes) -> int:
        """The state after some bytes, or DEAD."""
        for byte in data:
            if state == DEAD:
                break
            state = self.step(state, byte)
        return state

    def onward(self, state: int) -> bytes:
        """The bytes that may follow, ascending."""
        if state == DEAD:
            return b""
        return bytes(byte for byte in np.flatnonzero(self._live(state)).tolist() if self.step(state, byte) != DEAD)

    def is_accepting(self, state: int) -> bool:
        """Does Lark parse the text so far?"""
        if state == DEAD:
            return False
        found = self._accepting.get(state)
        if found is None:
            found = self._accepting[state] = self._holds_at_end(self._sets[state])
        return found

    def _live(self, state: int) -> BoolArray:
        """The bytes that some lexeme at hand goes on with: bool, shape (256,). All that may follow are among them."""
        found: BoolArray = np.zeros(256, np.bool_)
        for hypothesis in self._sets[state]:
            if hypothesis.scanned >= 0:
                found |= (self._table[hypothesis.scanned] >= 0)[self._classes]
        return found

    def _state(self, read: set[Hypothesis]) -> int:
        kept = frozenset(filter(self._lives, _without_weaker(read) if len(read) > 1 else read))
        if not kept:
            return DEAD
        if len(kept) > _MOST_HYPOTHESES:
            raise LimitError("hypotheses", len(kept), _MOST_HYPOTHESES, _TOO_MANY)
        number = self._numbers.setdefault(kept, len(self._sets))
        if number == len(self._sets):
            if number >= self._limit:
                raise LimitError("states", number + 1, self._limit, _TOO_MANY)
            self._sets.append(kept)
        return number

    def _begin(self, node: int, indents: Indents, left: int) -> Hypothesis:
        """The begin of a lexeme."""
        scanned = self._starts[self._contexts[self.stacks.states[node]]][left]
        return Hypothesis(node, scanned, b"", True, NO_NEWLINE, indents, _NONE)

    def _lives(self, hypothesis: Hypothesis) -> bool:
        """Can it become a text?"""
        node, scanned, text, is_fresh, column, indents, watchers = hypothesis
        lexemes = self.dead_ends.lexemes
        if is_fresh:
            return self.dead_ends.is_live(node, indents, lexemes.fresh(scanned, watchers))
        columns = self.dead_ends.columns.within(scanned, column, indents)
        return self.dead_ends.is_live(node, indents, lexemes.going(scanned, text, watchers), columns)

    def _read(self, hypothesis: Hypothesis, byte: int, out: set[Hypothesis]) -> None:
        """Add what a hypothesis becomes with a byte."""
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
        going = Hypothesis(node, scanned, text, False, column, indents, watchers)
        if self._goes_on(scanned):
            out.add(going)
        if self._events[scanned][0] != NOTHING:
            own = watchers | ({scanned} if self._goes_on(scanned) else _NONE)
            ended = self._ended(going, self._events[scanned])
            out |= {one._replace(watchers=one.watchers | own) for one in ended}

    def _goes_on(self, scanned: int) -> bool:
        return self._ends[scanned][0] != NOTHING or any(target >= 0 for target in self._rows[scanned])

    def _ended(self, hypothesis: Hypothesis, said: list[int]) -> set[Hypothesis]:
        """What a hypothesis becomes where its lexeme ends by a match; watchers are those of the lexemes behind it."""
        label, back, left = said
        after = self._fed(hypothesis, label)
        if after is None:
            return set()
        found = {self._begin(*after, left)}
        rest = _last_characters(hypothesis.text, back)
        for byte in rest:
            following: set[Hypothesis] = set()
            for one in found:
                self._read(one, byte, following)
            found = following
        return found

    def _fed(self, hypothesis: Hypothesis, label: int) -> tuple[int, Indents] | None:
        """Stack and indents after the lexeme has been taken for a label."""
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

    def _holds_at_end(self, hypotheses: frozenset[Hypothesis] | set[Hypothesis]) -> bool:
        """May the text end? Each pass reads what stands behind a match that lies back, which is shorter each time."""
        while hypotheses:
            again: set[Hypothesis] = set()
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
    """The last characters of some UTF-8, which begins anywhere and ends with a character."""
    place = len(data)
    for _ in range(count):
        place -= 1
        while data[place] & 0xC0 == 0x80:
            place -= 1
    return data[place:]


def _without_weaker(read: set[Hypothesis]) -> set[Hypothesis]:
    """Drop a hypothesis where another one is the same but watches less."""
    least: dict[Hypothesis, list[frozenset[int]]] = {}
    for hypothesis in sorted(read, key=lambda one: len(one.watchers)):
        kept = least.setdefault(hypothesis._replace(watchers=_NONE), [])
        if not any(less <= hypothesis.watchers for less in kept):
            kept.append(hypothesis.watchers)
    return {hypothesis._replace(watchers=watchers) for hypothesis, found in least.items() for watchers in found}
