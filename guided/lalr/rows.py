"""`Rows`: what each byte does to a set of readings, where no cell of the stack has to be known.

Nearly always a set has one reading, and a byte leads it to the scanner's next state, whatever the state before: entries of these
are remembered by state. An entry is UNKNOWN where a byte takes several readings, or text that is read again: it is made when
it is asked for, by whoever knows the stack.

Complexity: O(byte classes) for a row.
"""

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.pushdown import action_entry
from guided.lalr.indents import NO_NEWLINE
from guided.lalr.lexing import Said, last_characters
from guided.lalr.readings import Reader, Reading
from guided.lalr.tasks import Ended

__all__ = ["Rows"]


class Rows:
    """Rows of the controls of one grammar.

    Parameters
    ----------
    reader : Reader
    groups : list of list of int
        The bytes that can come; those that lead to the same from every state together.
    control : callable
        The control of a set of readings.
    action : callable
        The action of a task; ``again``: is its byte read again?
    """

    def __init__(
        self,
        reader: Reader,
        groups: list[list[int]],
        control: Callable[[frozenset[Reading]], int],
        action: Callable[..., int],
    ) -> None:
        self._reader, self._control, self._action = reader, control, action
        lexing = reader.lexing
        self._bytes = sorted(byte for group in groups for byte in group)
        # One of those that lead to the same stands for all.
        first_of = np.zeros(256, np.int32)
        for group in groups:
            first_of[group] = group[0]
        self._first_of: list[int] = first_of.tolist()
        self._comes = np.zeros(256, np.bool_)
        self._comes[self._bytes] = True
        # Of each state, where the bytes that come lead to.
        self._targets: Int32Array = np.array(lexing.rows, np.int32)[:, lexing.classes]
        self._targets[:, ~self._comes] = DEAD
        # Where a reading that comes to a state carries the column of a newline; and where it carries nothing but the state, if it comes by
        # a byte of ASCII, or by any byte.
        self._has_column = [bool(labels & reader.newline) for labels in lexing.labels]
        self._is_plain = [
            not column and (keeps <= 0 or self._stands_behind(state))
            for state, (column, keeps) in enumerate(zip(self._has_column, lexing.tails, strict=True))
        ]
        self._is_bare = [not column and keeps < 0 for column, keeps in zip(self._has_column, lexing.tails, strict=True)]
        # No state is bare as well.
        self._bare = np.array([*self._is_bare, True], np.bool_)
        self._has_event = np.array([event is not None for event in lexing.events], np.bool_)
        # The entry of such states, that of no state is the last one; of newlines with their columns; and of states that lexemes come to
        # which have met an event.
        self._newlines: dict[tuple[int, int], int] = {}
        self._longer: dict[tuple[Said, int, int], int] = {}
        self._arrivals: Int32Array = np.full(len(lexing.rows) + 1, UNKNOWN, np.int32)
        self._arrivals[-1] = DEAD

    def _stands_behind(self, state: int) -> bool:
        """Does a byte of ASCII that leads to a state only show that the lexeme has ended before it, so that it is read again?"""
        lexing = self._reader.lexing
        said = lexing.events[state]
        return said is not None and said[1] == 1 and not lexing.goes_on[state]

    def row(self, readings: frozenset[Reading]) -> Int32Array:
        """The entries of all bytes."""
        reading = next(iter(readings))
        if len(readings) > 1 or reading.above or reading.watchers or reading.scanned < 0 or reading.text:
            return self._by_byte(readings, np.full(256, DEAD, np.int32), self._bytes)
        lexing, reader = self._reader.lexing, self._reader
        targets = self._targets[reading.scanned]
        event = reader.event(reading)
        row: Int32Array = self._arrivals[targets]
        if reading.column != NO_NEWLINE:
            row[~self._bare[targets]] = UNKNOWN
        if event is not None:
            ended = (self._comes & (targets < 0)).nonzero()[0]
            if len(ended):
                row[ended] = self._entry(readings, ended.item(0))
            row[(targets >= 0) & ~self._has_event[targets]] = UNKNOWN
        others = []
        for byte in (row == UNKNOWN).nonzero()[0].tolist():
            target = int(targets[byte])
            if event is not None and not self._has_event[target]:
                if not self._is_bare[target]:
                    others.append(byte)
                    continue
                longer = event, target, self._first_of[byte]
                if longer not in self._longer:
                    self._longer[longer] = self._entry(readings, byte)
                row[byte] = self._longer[longer]
            elif self._is_bare[target] or (byte < 0x80 and reading.column == NO_NEWLINE and self._is_plain[target]):
                if self._arrivals[target] == UNKNOWN:
                    self._arrivals[target] = self._entry(readings, byte)
                row[byte] = self._arrivals[target]
            elif self._has_column[target] and lexing.tails[target] < 0:
                arrival = target, reader.indenter.column(reading.column, byte)
                entry = self._newlines.get(arrival, UNKNOWN)
                if entry == UNKNOWN:
                    entry = self._newlines[arrival] = self._entry(readings, byte)
                row[byte] = entry
            else:
                others.append(byte)
        return self._by_byte(readings, row, others) if others else row

    def together(self, readings: frozenset[Reading], some: list[int], byte: int) -> list[int]:
        """Of some bytes that are asked for, those that take readings to the same, whatever is on the stack: one and others."""
        if len(readings) == 1:
            lexing, (reading,) = self._reader.lexing, readings
            target = lexing.rows[reading.scanned][lexing.classes[byte]] if reading.scanned >= 0 else DEAD
            if target >= 0 and lexing.tails[target] < 0:
                return next(alike for alike in self._alike(readings, some) if byte in alike)
        return [other for other in some if self._first_of[other] == self._first_of[byte]]

    def _by_byte(self, readings: frozenset[Reading], row: Int32Array, some: list[int]) -> Int32Array:
        """Enter some bytes, which may differ."""
        for alike in self._alike(readings, some):
            row[alike] = self._entry(readings, alike[0])
        return row

    def _alike(self, readings: frozenset[Reading], some: list[int]) -> Iterable[list[int]]:
        """Bytes that have the same entry, as far as is seen at once: nearly always those that lead the scanner to the same state."""
        lexing, found = self._reader.lexing, dict[Hashable, list[int]]()
        reading = next(iter(readings))
        if len(readings) > 1 or reading.above or reading.watchers or reading.scanned < 0:
            return [[byte] for byte in some]
        row, event = lexing.rows[reading.scanned], not reading.is_fresh and lexing.events[reading.scanned]
        for byte in some:
            column = lexing.classes[byte]
            target = row[column]
            key: Hashable = target
            if target >= 0:
                keeps = -1 if byte < 0x80 and self._stands_behind(target) else lexing.tails[target]
                is_newline = bool(lexing.labels[target] & self._reader.newline)
                parts = event and not lexing.events[target]
                if keeps > 0 or (keeps == 0 and (byte >= 0x80 or is_newline)):
                    key = byte, -1
                elif is_newline or (parts and keeps < 0):
                    key = self._first_of[byte], -2
                elif byte >= 0x80 or parts:
                    key = target, column, byte if byte >= 0xC0 else -1
            found.setdefault(key, []).append(byte)
        return found.values()

    def _entry(self, readings: frozenset[Reading], byte: int) -> int:
        """The entry for a byte where there is one reading, which does not part; otherwise UNKNOWN: it is made when it is asked for."""
        reader = self._reader
        if len(readings) == 1:
            (reading,) = readings
            if not reading.above:
                watchers = reader.moved(reading.watchers, byte)
                if watchers is None:
                    return DEAD
                going = reader.going(reading, byte, watchers)
                event = reader.event(reading)
                if going is None:
                    if event is None:
                        return DEAD
                    if not event[1]:
                        task = Ended(event[0], reading.column, event[2], reading.watchers)
                        return action_entry(self._action(task, again=True))
                else:
                    after, goes_on = reader.lexing.arrived(going.scanned, byte)
                    if after is not None and not goes_on:
                        if not after[1]:
                            return action_entry(self._action(Ended(after[0], going.column, after[2], watchers)))
                        if after[1] == 1 and (byte < 0x80 or byte >= 0xC0):
                            # The byte stands behind the lexeme.
                            task = Ended(after[0], reading.column, after[2], reading.watchers)
                            return action_entry(self._action(task, again=True))
                    behind = b"" if event is None else last_characters(reading.text, event[1]) + bytes([byte])
                    parts = event is not None and after is None and reader.lexing.may_part(event, behind, going.scanned)
                    if reader.is_certain(going) and not parts:
                        return self._control(frozenset({going}))
        return UNKNOWN
