"""Where a newline under way may still end: the columns that an Indenter can be told.

Nearly always anywhere, since another line break begins a new line. Where none can come, the column only grows, and all ways on are tried,
up to the first column beyond the innermost block.
"""

from collections.abc import Sequence

from guided.lalr.indents import Indenter, Indents
from guided.lalr.scanner import Scanner

__all__ = ["Columns"]

_BREAK = 0x0A


class Columns:
    """The columns of newlines.

    Parameters
    ----------
    free : frozenset of int
        Scanner states behind a line break from which spaces lead to any column.
    """

    def __init__(self, scanner: Scanner, indenter: Indenter, free: frozenset[int]) -> None:
        self._indenter = indenter
        self._known: dict[tuple[int, int, int], frozenset[int]] = {}
        if indenter.newline < 0:
            return
        self._rows: list[list[int]] = scanner.table.tolist()
        self._matches: list[bool] = (scanner.events[:, 0] == indenter.newline).tolist()
        self._ends: list[bool] = (scanner.ends[:, 0] == indenter.newline).tolist()
        # By column of the table: a byte of each kind that counts differently.
        self._bytes: list[dict[tuple[int, bool], int]] = [{} for _ in range(scanner.table.shape[1])]
        for byte, place in enumerate(scanner.classes.tolist()):
            self._bytes[place].setdefault((indenter.column(1, byte), byte == _BREAK), byte)
        sources: list[set[int]] = [set() for _ in self._rows]
        for state, row in enumerate(self._rows):
            for target in row:
                if target >= 0:
                    sources[target].add(state)
        line_break = int(scanner.classes[_BREAK])
        ending = zip(self._matches, self._ends, strict=True)
        self._counting = _leading(sources, {state for state, ends in enumerate(ending) if any(ends)})
        self._is_free = _leading(sources, {state for state, row in enumerate(self._rows) if row[line_break] in free})

    def counts(self, scanned: int) -> bool:
        """Can a lexeme under way become a newline?"""
        return self._indenter.newline >= 0 and scanned in self._counting

    def hangs(self, scanned: int) -> bool:
        """Does it hang on the column whether a lexeme under way can become a newline?"""
        return self.counts(scanned) and scanned not in self._is_free

    def within(self, scanned: int, column: int, indents: Indents) -> frozenset[int] | None:
        """The columns at which a lexeme may end, those beyond the innermost block as the first of them; None if all."""
        if self._indenter.newline < 0 or scanned in self._is_free:
            return None
        if scanned not in self._counting:
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


def _leading(sources: Sequence[set[int]], targets: set[int]) -> set[int]:
    """The states that lead to some, those among them."""
    found, work = set(targets), list(targets)
    while work:
        for source in sources[work.pop()] - found:
            found.add(source)
            work.append(source)
    return found
