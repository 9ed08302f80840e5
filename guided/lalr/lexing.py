"""`Lexing`: what the scanner's states mean, apart from any stack.

What can still come of a lexeme, whether it may go on, how much of its text an event may ask for, and where a lexeme that goes on may in
truth have ended: `Lexing.may_part` says where no context lets it, so that hardly any text has two readings.

Labels are numbers of terminals, and `Lexing.ignored` for text that is ignored; sets of them are bits of an integer.

Complexity: O(states x columns) once; what is asked is remembered.
"""

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.caching import cached_property
from guided.kernels.outlasts import outlasts
from guided.lalr.indents import Indenter
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.tables import LalrTables

__all__ = ["Lexing", "Said", "last_characters", "leading"]

# A match: its label, the characters read since its end, the left class there.
Said = tuple[int, int, int]
# So many pairs of states are searched: two readings are kept where that is not enough.
_MOST_PAIRS = 1 << 16
# What an Indenter tells apart.
_BLANKS = (0x09, 0x0A, 0x20)
# The second byte of characters, where it is not any byte that goes on with one.
_SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


class Lexing:
    """The lexer of one grammar.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
    indenter : Indenter
    alphabet : bytes, length 256
        1 for each byte that can come.

    Attributes
    ----------
    rows : list of list of int
        Next state by column of bytes, or DEAD.
    classes : list of int
        Column of each byte.
    events, ends : list of (Said or None)
        The match met in a state, and the match if the text ends there.
    labels : list of int
        The labels that a state can still lead to, its own among them.
    goes_on : list of bool
        May a lexeme be longer than it is in a state, or its end say something else?
    tails : list of int
        How many of the last whole characters an event there or later may ask for; -1: no event asks for any.
    starts : list of list of int
        First state of a lexeme, by the parser's context and the left class.
    contexts : list of int
        By the parser's state.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, indenter: Indenter, alphabet: bytes) -> None:
        self._indenter, self.ignored = indenter, tables.end + 1
        self._ignored_label = scanner.n_terminals
        self.classes: list[int] = scanner.classes.tolist()
        open_columns = {self.classes[byte] for byte in range(256) if alphabet[byte]}
        self._open_columns = sorted(open_columns)
        self.rows: list[list[int]] = [
            [target if column in open_columns else DEAD for column, target in enumerate(row)]
            for row in scanner.table.tolist()
        ]
        self.events = [self._said(*said) for said in scanner.events.tolist()]
        self.ends = [self._said(*said) for said in scanner.ends.tolist()]
        said = zip(self.events, self.ends, strict=True)
        self.labels = leading(
            self.rows, [(1 << event[0] if event else 0) | (1 << end[0] if end else 0) for event, end in said]
        )
        self.goes_on = [
            end is not None or any(target >= 0 for target in row) for end, row in zip(self.ends, self.rows, strict=True)
        ]
        self.tails = self._tails()
        self.starts: list[list[int]] = scanner.starts.tolist()
        self.contexts: list[int] = tables.context.tolist()
        self._contexts_after: list[set[int]] = [set() for _ in range(tables.end + 1)]
        for terminal, target in zip(tables.action_symbol.tolist(), tables.action_value.tolist(), strict=True):
            if target >= 0:
                self._contexts_after[terminal].add(self.contexts[target])
        self._settled: dict[tuple[int, int], Said | None] = {}
        self._parts: dict[tuple[Said, bytes, int], bool] = {}

    def _said(self, label: int, back: int, left: int) -> tuple[int, int, int] | None:
        if label == NOTHING:
            return None
        return self.ignored if label == self._ignored_label else label, back, left

    def _tails(self) -> list[int]:
        """Of each state, how many of the last whole characters an event there or later may ask for; -1: no event asks for any."""
        inside = {self.classes[byte] for byte in range(0x80, 0xC0)}
        within = [any(row[column] >= 0 for column in inside) for row in self.rows]
        found = [
            max(said[1] if said else 0 for said in pair) or -1 for pair in zip(self.events, self.ends, strict=True)
        ]
        sources: list[set[int]] = [set() for _ in found]
        for state, row in enumerate(self.rows):
            for target in set(row) - {DEAD}:
                sources[target].add(state)
        work = [state for state, count in enumerate(found) if count > 0]
        while work:
            state = work.pop()
            # A character ends where a state between characters is met, and only then counts.
            before = found[state] - (not within[state])
            for source in sources[state]:
                if before >= (0 if within[source] else 1) and found[source] < before:
                    found[source] = before
                    work.append(source)
        return found

    def kept(self, text: bytes, scanned: int) -> bytes:
        """Of what has been read of a lexeme, what an event may ask for."""
        if self.tails[scanned] < 0:
            return b""
        lead = len(text) - 1
        while lead and text[lead] & 0xC0 == 0x80:
            lead -= 1
        end = lead if len(text) - lead < _length(text[lead]) else len(text)
        return last_characters(text[:end], min(self.tails[scanned], _count(text[:end]))) + text[end:]

    def arrived(self, scanned: int, byte: int) -> tuple[Said | None, bool]:
        """The match met in a state after a byte, and whether the lexeme may go on.

        A character that only shows that the lexeme has ended before it does so by its first byte, if all characters with it do.
        """
        event = self.events[scanned]
        if byte < 0xC0 or event is not None:
            return event, self.goes_on[scanned]
        key = scanned, byte
        if key not in self._settled:
            low, high = _SECOND.get(byte, (0x80, 0xBF))
            self._settled[key] = self._settles(scanned, low, high, _length(byte) - 2)
        event = self._settled[key]
        return event, event is None and self.goes_on[scanned]

    def _settles(self, scanned: int, low: int, high: int, left: int) -> Said | None:
        """The match one character back that all characters lead to, whose next byte is in a range; None where they differ."""
        found: set[Said | None] = set()
        for target in {self.rows[scanned][self.classes[byte]] for byte in range(low, high + 1)}:
            if target < 0:
                return None
            event = self._settles(target, 0x80, 0xBF, left - 1) if left else self.events[target]
            found.add(event)
            if event is None or event[1] != 1 or (not left and self.goes_on[target]) or len(found) > 1:
                return None
        return found.pop()

    def alike(self, alphabet: bytes, has_indents: bool) -> list[list[int]]:
        """Bytes that lead to the same from every state, but for those that cannot come."""
        found: dict[tuple[int, int], list[int]] = {}
        for byte in range(256):
            if alphabet[byte]:
                own = byte if has_indents and byte in _BLANKS else -1
                found.setdefault((self.classes[byte], own), []).append(byte)
        return list(found.values())

    def may_part(self, event: Said, behind: bytes, scanned: int) -> bool:
        """Where a lexeme goes on to a state, may it, in some context, have ended before it all the same?

        Not where the next lexeme cannot begin so, or cannot end without the first one meeting another event.
        ``behind``: all that has been read since the lexeme may have ended.
        """
        key = event, behind, scanned
        found = self._parts.get(key)
        if found is None:
            begun = self._begun(event, behind)
            found = self._parts[key] = None in begun or any(
                state is not None and self._outlasts(state, scanned) for state in begun
            )
        return found

    def may_be(self, event: Said, behind: bytes) -> bool:
        """Can what stands behind a lexeme come there, in some context?"""
        key = event, behind, DEAD
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = not behind or bool(self._begun(event, behind))
        return found

    def _begun(self, event: Said, text: bytes) -> set[int | None]:
        """The states that lexemes behind a match may have come to, in some context; None where one may have ended within the text."""
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
        """The starts of the contexts in which the parser may be after a lexeme."""
        if label == self.ignored:
            return self.starts
        fed = {label}
        if label == self._indenter.newline:
            fed |= {*self._indenter.following}
            if self._indenter.drops:
                return self.starts
        return [
            self.starts[context]
            for context in {context for terminal in fed for context in self._contexts_after[terminal]}
        ]

    def _outlasts(self, state: int, watcher: int) -> bool:
        """Can a lexeme end, or outlive a watcher, without the watcher meeting an event? True as well where that takes too long to say."""
        rows, columns, has_match, has_end, seen = self._pairs
        work: Int32Array = np.empty((_MOST_PAIRS, 2), np.int32)
        return outlasts(rows, columns, has_match, has_end, state, watcher, seen, work) != 0

    @cached_property
    def _pairs(self) -> tuple[Int32Array, Int32Array, BoolArray, BoolArray, UInt8Array]:
        """What `outlasts` takes."""
        return (
            np.array(self.rows, np.int32),
            np.array(self._open_columns, np.int32),
            np.array([said is not None for said in self.events]),
            np.array([said is not None for said in self.ends]),
            np.zeros((len(self.rows) ** 2 >> 3) + 1, np.uint8),
        )


def _length(lead: int) -> int:
    """Bytes of the character that begins with a byte."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _count(data: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in data)


def last_characters(data: bytes, count: int) -> bytes:
    """The last characters of some UTF-8, which begins anywhere and ends with a character."""
    place = len(data)
    for _ in range(count):
        place -= 1
        while data[place] & 0xC0 == 0x80:
            place -= 1
    return data[place:]


def leading(rows: list[list[int]], own: list[int]) -> list[int]:
    """What each state leads to, given what each has, as bits."""
    found = own.copy()
    sources: list[set[int]] = [set() for _ in rows]
    for state, row in enumerate(rows):
        for target in set(row) - {DEAD}:
            sources[target].add(state)
    work = list(range(len(rows)))
    while work:
        state = work.pop()
        for source in sources[state]:
            if found[state] & ~found[source]:
                found[source] |= found[state]
                work.append(source)
    return found
