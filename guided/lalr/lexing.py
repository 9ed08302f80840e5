"""`Lexing`: properties of scanner states that do not depend on the stack.

For each state: the labels that the lexeme can still get, whether it may continue, how much of its text an event may look back at, and where
a lexeme that continues may have ended instead. `Lexing.may_part` rules out splits that no context allows, so that hardly any text has two
hypotheses.

Sets of labels are bits of an integer.

Complexity: O(states x columns) once; query results are cached.
"""

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.caching import cached_property
from guided.kernels.outlive import can_outlive
from guided.lalr.indents import Indenter
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.tables import LalrTables

__all__ = ["Lexing", "Match", "begin_of_last", "last_characters"]

# A match: its label, the number of characters read since its end, the left class at its end.
Match = tuple[int, int, int]
# Maximum number of state pairs in a search; beyond it both hypotheses are kept.
_PAIRS_SEARCHED = 1 << 16
# Bytes that an Indenter distinguishes.
_BLANKS = (0x09, 0x0A, 0x20)
# Range of the second UTF-8 byte after lead bytes that do not allow all of 0x80 to 0xBF.
_SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


class Lexing:
    """The lexer of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
    indenter : Indenter

    Attributes
    ----------
    rows : list of tuple of int
        Next state by byte column, or DEAD.
    classes : list of int
        Column of each byte.
    sources : list of tuple of int
        The states with an edge to each state.
    ignored, newline : int
        Label of ignored text; that of an Indenter's newline, as bits.
    events, ends : list of (Match or None)
        The match reached in a state, and the match if the text ends there.
    labels : list of int
        The labels that a state can still lead to, including its own, as bits.
    may_continue : list of bool
        Whether a lexeme may continue from a state, or match at the end of the text.
    tails : list of int
        How many of the last whole characters an event in this or a later state may look back at; -1 if none does.
    starts : list of list of int
        First state of a lexeme, by parser context and left class.
    contexts : list of int
        Context of each parser state.
    is_scannerless : bool
        A lexeme may end at any match, also if it turns out longer.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, indenter: Indenter) -> None:
        self._indenter, self.ignored = indenter, scanner.ignored
        self.newline = 1 << indenter.newline if indenter.newline >= 0 else 0
        self.is_scannerless = scanner.is_scannerless
        self.classes: list[int] = scanner.classes.tolist()
        self.rows, self.sources = scanner.rows, scanner.sources
        self.events, self.ends, self.labels = _matches(scanner.events), _matches(scanner.ends), scanner.labels
        self.may_continue = scanner.may_continue
        self.tails = scanner.tails
        self.starts: list[list[int]] = scanner.starts.tolist()
        self.contexts: list[int] = tables.context.tolist()
        self._contexts_after = [{self.contexts[state] for state in states} for states in tables.after]
        self._settled: dict[tuple[int, int], Match | None] = {}
        self._parts: dict[tuple[Match, bytes, int], bool] = {}

    def kept(self, text: bytes, scanned: int) -> bytes:
        """Return the part of a lexeme's text that a later event may look back at."""
        if self.tails[scanned] < 0:
            return b""
        lead = begin_of_last(text)
        end = lead if len(text) - lead < _length(text[lead]) else len(text)
        return last_characters(text[:end], self.tails[scanned]) + text[end:]

    def arrived(self, scanned: int, byte: int) -> tuple[Match | None, bool]:
        """Return the match reached in a state after a byte, and whether the lexeme may continue.

        If every character with this first byte shows that the lexeme ended before it, the match is reported at the first byte.
        """
        event = self.events[scanned]
        if byte < 0xC0 or event is not None:
            return event, self.may_continue[scanned]
        key = scanned, byte
        if key not in self._settled:
            low, high = _SECOND.get(byte, (0x80, 0xBF))
            self._settled[key] = self._settles(scanned, low, high, _length(byte) - 2)
        event = self._settled[key]
        return event, event is None and self.may_continue[scanned]

    def _settles(self, scanned: int, low: int, high: int, left: int) -> Match | None:
        """Return the match one character back that all characters with this range of next bytes reach; None if they differ."""
        found: set[Match | None] = set()
        for target in {self.rows[scanned][self.classes[byte]] for byte in range(low, high + 1)}:
            if target < 0:
                return None
            event = self._settles(target, 0x80, 0xBF, left - 1) if left else self.events[target]
            found.add(event)
            if event is None or event[1] != 1 or (not left and self.may_continue[target]) or len(found) > 1:
                return None
        return found.pop()

    def byte_classes(self, alphabet: bytes, has_indents: bool) -> list[list[int]]:
        """Return the classes of bytes that behave alike in every state, without bytes that cannot occur."""
        found: dict[tuple[int, int], list[int]] = {}
        for byte in range(256):
            if alphabet[byte]:
                own = byte if has_indents and byte in _BLANKS else -1
                found.setdefault((self.classes[byte], own), []).append(byte)
        return list(found.values())

    def may_part(self, event: Match, behind: bytes, scanned: int) -> bool:
        """Return whether a lexeme that continues to state `scanned` may, in some context, have ended with `event` instead.

        It cannot if the next lexeme cannot start with `behind`, or, unless the lexer is scannerless, cannot end before the first one
        reaches another event.
        ``behind``: all text since the possible end.
        """
        key = event, behind, scanned
        found = self._parts.get(key)
        if found is None:
            begun = self._begun(event, behind)
            found = self._parts[key] = None in begun or any(
                state is not None and (self.is_scannerless or self._can_outlive(state, scanned)) for state in begun
            )
        return found

    def may_be(self, event: Match, behind: bytes) -> bool:
        """Return whether the text `behind` can follow a lexeme in some context."""
        key = event, behind, DEAD
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = not behind or bool(self._begun(event, behind))
        return found

    def _begun(self, event: Match, text: bytes) -> set[int | None]:
        """Return the states that lexemes after a match reach over a text, in all contexts; None stands for an end within the text."""
        label, _, left = event
        found: set[int | None] = set()
        for starts in self.after(label):
            state = starts[left]
            for place, byte in enumerate(text):
                if state >= 0 and place and self.events[state]:
                    found.add(None)
                state = self.rows[state][self.classes[byte]] if state >= 0 else DEAD
            if state >= 0:
                found.add(state)
        return found

    def after(self, label: int) -> list[list[int]]:
        """Return the start states of each context that the parser may be in after a lexeme."""
        if label == self.ignored:
            return self.starts
        fed = {label}
        if label == self._indenter.newline:
            fed |= {*self._indenter.following}
            if self._indenter.drops:
                return self.starts
        return [
            self.starts[context] for context in set[int]().union(*(self._contexts_after[terminal] for terminal in fed))
        ]

    def _can_outlive(self, state: int, watcher: int) -> bool:
        """Return whether a lexeme can end, or outlive a watcher, before the watcher reaches an event.

        True also if the search is cut off.
        """
        rows, columns, has_match, has_end, seen = self._pairs
        work: Int32Array = np.empty((_PAIRS_SEARCHED, 2), np.int32)
        return can_outlive(rows, columns, has_match, has_end, state, watcher, seen, work) != 0

    @cached_property
    def _pairs(self) -> tuple[Int32Array, Int32Array, BoolArray, BoolArray, UInt8Array]:
        """Arguments of the `can_outlive` kernel."""
        table = np.array(self.rows, np.int32)
        return (
            table,
            np.flatnonzero((table >= 0).any(axis=0)).astype(np.int32),
            np.array([match is not None for match in self.events]),
            np.array([match is not None for match in self.ends]),
            np.zeros((len(self.rows) ** 2 >> 3) + 1, np.uint8),
        )


def _matches(array: Int32Array) -> list[Match | None]:
    return [None if label == NOTHING else (label, back, left) for label, back, left in array.tolist()]


def _length(lead: int) -> int:
    """Return the number of bytes of the character that starts with `lead`."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def begin_of_last(text: bytes) -> int:
    """Return the offset of the last character of UTF-8 text, which may be incomplete."""
    place = len(text) - 1
    while place > 0 and text[place] & 0xC0 == 0x80:
        place -= 1
    return place


def last_characters(text: bytes, count: int) -> bytes:
    """Return the last characters, at most `count`, of UTF-8 text that may start inside a character and ends with a whole one."""
    place = len(text)
    while count and place:
        place = begin_of_last(text[:place])
        count -= 1
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return text[place:]
