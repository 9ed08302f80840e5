"""Columns at which a newline that is being read may still end.

Nearly always every column is possible, because another line break starts a new line. If no line break can follow, the column only grows,
and all continuations are explored up to the first column beyond the innermost block.
"""

from guided.lalr.indents import Indenter, Indents
from guided.lalr.scanner import Scanner, leading, sources_of

__all__ = ["Columns"]

_BREAK = 0x0A


class Columns:
    """The columns of newlines.

    Parameters
    ----------
    free : frozenset of int
        Scanner states after a line break from which spaces lead to any column.
    """

    def __init__(self, scanner: Scanner, indenter: Indenter, free: frozenset[int]) -> None:
        self._indenter = indenter
        self._known: dict[tuple[int, int, int], frozenset[int]] = {}
        if indenter.newline < 0:
            return
        self._rows: list[list[int]] = scanner.table.tolist()
        self._matches: list[bool] = (scanner.events[:, 0] == indenter.newline).tolist()
        self._ends: list[bool] = (scanner.ends[:, 0] == indenter.newline).tolist()
        # By table column: one byte for each distinct effect on the text column.
        self._bytes: list[dict[tuple[int, bool], int]] = [{} for _ in range(scanner.table.shape[1])]
        for byte, place in enumerate(scanner.classes.tolist()):
            self._bytes[place].setdefault((indenter.column(1, byte), byte == _BREAK), byte)
        sources = sources_of(self._rows)
        line_break = int(scanner.classes[_BREAK])
        ending = zip(self._matches, self._ends, strict=True)
        self._counting = leading(sources, [any(ends) for ends in ending])
        self._is_free = leading(sources, [row[line_break] in free for row in self._rows])

    def counts(self, scanned: int) -> bool:
        """Return whether the current lexeme can become a newline."""
        return self._indenter.newline >= 0 and bool(self._counting[scanned])

    def is_restricted(self, scanned: int) -> bool:
        """Return whether the columns at which the current lexeme can end as a newline are restricted."""
        return self.counts(scanned) and not self._is_free[scanned]

    def within(self, scanned: int, column: int, indents: Indents) -> frozenset[int] | None:
        """Return the columns at which a lexeme may end; None if all.

        Columns beyond the innermost block are represented by the first of them.
        """
        if self._indenter.newline < 0 or self._is_free[scanned]:
            return None
        if not self._counting[scanned]:
            return frozenset()
        most = indents.columns[-1] + 1
        key = scanned, min(column, most), most
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._reached(*key)
        return found

    def _reached(self, scanned: int, column: int, most: int) -> frozenset[int]:
        found = set()
        seen = {(scanned, column)}
        work = [(scanned, column)]
        while work:
            state, column = work.pop()
            if self._ends[state]:
                found.add(column)
            for place, target in enumerate(self._rows[state]):
                if target < 0:
                    continue
                for byte in self._bytes[place].values():
                    item = target, min(self._indenter.column(column, byte), most)
                    if self._matches[target]:
                        found.add(item[1])
                    if item not in seen:
                        seen.add(item)
                        work.append(item)
        return frozenset(found)
