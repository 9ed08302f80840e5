"""`Rows`: the effect of each byte on a set of hypotheses, as far as it does not depend on the stack.

Nearly always a set has one hypothesis, and a byte leads it to the scanner's next state, whatever the state before: these entries are cached
by state. An entry is UNKNOWN if the byte splits a hypothesis or text is read again: a caller that knows the stack computes it on demand.

Complexity: O(byte classes) for a row.
"""

from collections.abc import Iterable

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.lalr.hypotheses import Hypothesis, HypothesisReader
from guided.lalr.indents import NO_NEWLINE
from guided.lalr.kernel_parser import Controls, Ended
from guided.lalr.lexing import Match, last_characters

__all__ = ["Rows"]

# Groups of bytes whose entries are computed in a step of a call.
_GROUPS = 2


class Rows:
    """Rows of the controls of one grammar.

    Parameters
    ----------
    reader : HypothesisReader
    groups : list of list of int
        The bytes that can occur, grouped by equal behavior in every state.
    controls : Controls
    """

    def __init__(self, reader: HypothesisReader, groups: list[list[int]], controls: Controls) -> None:
        self._reader, self._controls = reader, controls
        lexing = reader.lexing
        self._bytes = sorted(byte for group in groups for byte in group)
        # The first byte of each group represents it.
        first_of = np.zeros(256, np.int32)
        for group in groups:
            first_of[group] = group[0]
        self._first_of: list[int] = first_of.tolist()
        self._comes = np.zeros(256, np.bool_)
        self._comes[self._bytes] = True
        # By state: the successor for each byte that can occur.
        self._targets: Int32Array = np.array(lexing.rows, np.int32)[:, lexing.classes]
        self._targets[:, ~self._comes] = DEAD
        # By state: whether a hypothesis that arrives there carries the column of a newline; and whether it carries only the state, if it
        # arrives by an ASCII byte (plain) or by any byte (bare).
        self._has_column = [bool(labels & reader.newline) for labels in lexing.labels]
        self._is_plain = [
            not column and (keeps <= 0 or self._stands_behind(state))
            for state, (column, keeps) in enumerate(zip(self._has_column, lexing.tails, strict=True))
        ]
        self._is_bare = [not column and keeps < 0 for column, keeps in zip(self._has_column, lexing.tails, strict=True)]
        # DEAD, at index -1, counts as bare.
        self._bare = np.array([*self._is_bare, True], np.bool_)
        # Whether an event makes an earlier one of the same lexeme void.
        self._replaces = np.array(
            [event is not None and not lexing.is_scannerless for event in lexing.events], np.bool_
        )
        # Caches of entries: by newline state and column; by (event, target state, byte) for lexemes that continue after an event; and by
        # target state, with DEAD last.
        self._newlines: dict[tuple[int, int], int] = {}
        self._longer: dict[tuple[Match, int, int], int] = {}
        self._arrivals: Int32Array = np.full(len(lexing.rows) + 1, UNKNOWN, np.int32)
        self._arrivals[-1] = DEAD

    def _stands_behind(self, state: int) -> bool:
        """Return whether an ASCII byte that leads to a state only shows that the lexeme has ended before it, so that it is read again."""
        lexing = self._reader.lexing
        match = lexing.events[state]
        return match is not None and match[1] == 1 and not lexing.may_continue[state]

    def row(self, hypotheses: frozenset[Hypothesis]) -> Int32Array:
        """Return the entries of all bytes."""
        hypothesis = next(iter(hypotheses))
        if len(hypotheses) > 1 or hypothesis.above or hypothesis.watchers or hypothesis.scanned < 0 or hypothesis.text:
            return self._by_byte(hypotheses, np.full(256, DEAD, np.int32), self._bytes)
        lexing, reader = self._reader.lexing, self._reader
        targets = self._targets[hypothesis.scanned]
        event = reader.event(hypothesis)
        row: Int32Array = self._arrivals[targets]
        if hypothesis.column != NO_NEWLINE:
            row[~self._bare[targets]] = UNKNOWN
        if event is not None:
            ended = (self._comes & (targets < 0)).nonzero()[0]
            if len(ended):
                row[ended] = self._entry(hypotheses, ended.item(0))
            row[(targets >= 0) & ~self._replaces[targets]] = UNKNOWN
        others = []
        for byte in (row == UNKNOWN).nonzero()[0].tolist():
            target = int(targets[byte])
            if event is not None and not self._replaces[target]:
                if not self._is_bare[target]:
                    others.append(byte)
                    continue
                longer = event, target, self._first_of[byte]
                if longer not in self._longer:
                    self._longer[longer] = self._entry(hypotheses, byte)
                row[byte] = self._longer[longer]
            elif self._is_bare[target] or (byte < 0x80 and hypothesis.column == NO_NEWLINE and self._is_plain[target]):
                if self._arrivals[target] == UNKNOWN:
                    self._arrivals[target] = self._entry(hypotheses, byte)
                row[byte] = self._arrivals[target]
            elif self._has_column[target] and lexing.tails[target] < 0:
                arrival = target, reader.indenter.column(hypothesis.column, byte)
                entry = self._newlines.get(arrival, UNKNOWN)
                if entry == UNKNOWN:
                    entry = self._newlines[arrival] = self._entry(hypotheses, byte)
                row[byte] = entry
            else:
                others.append(byte)
        return self._by_byte(hypotheses, row, others) if others else row

    def together(self, some: Iterable[int], byte: int) -> list[int]:
        """Return the bytes among `some` with the same effect as `byte` on every stack, itself included."""
        return [other for other in some if self._first_of[other] == self._first_of[byte]]

    def _by_byte(self, hypotheses: frozenset[Hypothesis], row: Int32Array, some: list[int]) -> Int32Array:
        """Enter bytes whose entries may differ."""
        groups: dict[int, list[int]] = {}
        for byte in some:
            groups.setdefault(self._first_of[byte], []).append(byte)
        self._reader.call.spend(len(groups) // _GROUPS, "the grammar's terminals overlap in too many ways")
        for group in groups.values():
            row[group] = self._entry(hypotheses, group[0])
        return row

    def _entry(self, hypotheses: frozenset[Hypothesis], byte: int) -> int:
        """Return the entry of a byte for a single hypothesis that does not split; otherwise UNKNOWN, computed on demand."""
        reader = self._reader
        if len(hypotheses) == 1:
            (hypothesis,) = hypotheses
            if not hypothesis.above:
                watchers = reader.watchers_after(hypothesis.watchers, byte)
                if watchers is None:
                    return DEAD
                continued = reader.continued(hypothesis, byte, watchers)
                event = reader.event(hypothesis)
                if continued is None:
                    if event is None:
                        return DEAD
                    if not event[1]:
                        task = Ended(event[0], hypothesis.column, event[2], hypothesis.watchers)
                        return self._controls.action(task, again=True)
                else:
                    after, may_continue = reader.lexing.arrived(continued.scanned, byte)
                    behind = b"" if event is None else last_characters(hypothesis.text, event[1]) + bytes([byte])
                    parts = (
                        event is not None
                        and (after is None or reader.lexing.is_scannerless)
                        and reader.lexing.may_part(event, behind, continued.scanned)
                    )
                    if after is not None and not may_continue and not parts:
                        if not after[1]:
                            return self._controls.action(Ended(after[0], continued.column, after[2], watchers))
                        if after[1] == 1 and (byte < 0x80 or byte >= 0xC0):
                            # The byte follows the lexeme.
                            task = Ended(after[0], hypothesis.column, after[2], hypothesis.watchers)
                            return self._controls.action(task, again=True)
                    if reader.is_definitive(continued) and not parts:
                        return self._controls.control(frozenset({continued}))
        return UNKNOWN
