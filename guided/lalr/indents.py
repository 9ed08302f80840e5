"""Indentation as Lark's Indenter counts it: a pure function from tokens to tokens with an explicit state.

Outside of parentheses, a newline token is followed by INDENT if its column exceeds the current one, and by DEDENTs if it is smaller, in
which case it must equal the column of an open block. The column is that of the token's text after its last newline: a space counts 1, a tab
counts the Indenter's tab width, and any other character 0, so the spaces of a comment at the end of a text count. Inside parentheses
newlines are dropped. At the end of a text, DEDENTs close all open blocks.

The state is (columns, open parentheses); all functions are pure.

`Columns` tells at which columns a newline that is being read may still end. Nearly always every column is possible, because another line
break starts a new line. If no line break can follow, the column only grows, and all continuations are explored up to the first column
beyond the innermost block.

`imbalance` checks that the parser's stack determines the counts. If each rule closes what it opens, in order, and nothing inside
parentheses derives a line's end or a block, a DEDENT or a closing parenthesis can come wherever the parser can read it, and newlines are
dropped exactly where the parser does not expect them.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from guided.lalr.scanner import Scanner, leading
from guided.lalr.tables import LalrTables, Rule

__all__ = ["NO_NEWLINE", "Columns", "Indenter", "Indents", "imbalance"]

# The column of a token without a newline, on which Lark's Indenter fails.
NO_NEWLINE = -1
_NEWLINE, _SPACE, _TAB = 0x0A, 0x20, 0x09


class Indents(NamedTuple):
    """Columns of the open blocks, innermost last, and the number of open parentheses."""

    columns: tuple[int, ...] = (0,)
    parentheses: int = 0


class Indenter:
    """Lark's Indenter of one grammar."""

    def __init__(self, tables: LalrTables) -> None:
        indentation = tables.indentation
        numbers = {name: number for number, name in enumerate(tables.symbols[: tables.end])}
        self.newline = numbers.get(indentation.newline, -1) if indentation else -1
        self.opening = {numbers[name] for name in indentation.opening if name in numbers} if indentation else set()
        self.closing = {numbers[name] for name in indentation.closing if name in numbers} if indentation else set()
        # -1 for a terminal that the grammar does not have: no state reads it.
        self.indent = numbers.get(indentation.indent, -1) if indentation else -1
        self.dedent = numbers.get(indentation.dedent, -1) if indentation else -1
        self._tab = indentation.tab if indentation else 0
        # Terminals that may follow a newline token, and whether there are parentheses in which newlines are dropped.
        self.following = tuple(number for number in (self.indent, self.dedent) if number >= 0)
        self.drops = bool(self.opening)

    def column(self, column: int, byte: int) -> int:
        """Return the column of a token's text after one more byte."""
        if byte == _NEWLINE:
            return 0
        if column == NO_NEWLINE:
            return column
        return column + (1 if byte == _SPACE else self._tab if byte == _TAB else 0)

    def tokens(self, indents: Indents, terminal: int, column: int) -> tuple[tuple[int, ...], Indents] | None:
        """Return the tokens that the parser gets for a terminal, and the state after it; None if Lark fails."""
        columns, parentheses = indents
        if terminal != self.newline:
            parentheses += (terminal in self.opening) - (terminal in self.closing)
            return None if parentheses < 0 else ((terminal,), Indents(columns, parentheses))
        if parentheses:
            return (), indents
        if column == NO_NEWLINE:
            return None
        if column > columns[-1]:
            if min(self.indent, self.dedent) < 0:
                # A block needs both INDENT and DEDENT.
                return None
            return (terminal, self.indent), Indents((*columns, column), 0)
        kept = columns
        while column < kept[-1]:
            kept = kept[:-1]
        if column != kept[-1]:
            return None
        return (terminal, *[self.dedent] * (len(columns) - len(kept))), Indents(kept, 0)

    def at_end(self, indents: Indents) -> tuple[int, ...]:
        """Return the tokens that the parser gets at the end of a text, before ``$END``."""
        return (self.dedent,) * (len(indents.columns) - 1)


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
        self._rows = scanner.rows
        self._matches: list[bool] = (scanner.events[:, 0] == indenter.newline).tolist()
        self._ends: list[bool] = (scanner.ends[:, 0] == indenter.newline).tolist()
        # By table column: one byte for each distinct effect on the text column.
        self._bytes: list[dict[tuple[int, bool], int]] = [{} for _ in range(scanner.table.shape[1])]
        for byte, place in enumerate(scanner.classes.tolist()):
            self._bytes[place].setdefault((indenter.column(1, byte), byte == _NEWLINE), byte)
        line_break = int(scanner.classes[_NEWLINE])
        self._counting = [labels >> indenter.newline & 1 for labels in scanner.labels]
        self._is_free = leading(scanner.sources, [row[line_break] in free for row in self._rows])

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


def imbalance(indenter: Indenter, tables: LalrTables) -> str:
    """Describe the rule that breaks an Indenter's counts; empty if there is none."""
    broken = _deriving(tables.rules, {indenter.newline, indenter.indent, indenter.dedent})
    for number, (_, side) in enumerate(tables.rules):
        if not _closes(side, indenter.opening, indenter.closing) or not _closes(
            side, {indenter.indent}, {indenter.dedent}
        ):
            return f"{tables.rule_text(number)} has unbalanced parentheses or indents"
        depth = 0
        for symbol in side:
            depth -= symbol in indenter.closing
            if depth > 0 and symbol in broken:
                return f"{tables.rule_text(number)} has line ends within parentheses"
            depth += symbol in indenter.opening
    return ""


def _closes(side: tuple[int, ...], opening: Collection[int], closing: Collection[int]) -> bool:
    depth = 0
    for symbol in side:
        depth += (symbol in opening) - (symbol in closing)
        if depth < 0:
            return False
    return depth == 0


def _deriving(rules: Sequence[Rule], symbols: Collection[int]) -> set[int]:
    """Return these symbols and every nonterminal that derives one of them."""
    users: dict[int, set[int]] = {}
    for origin, side in rules:
        for symbol in side:
            users.setdefault(symbol, set()).add(origin)
    found, work = set(symbols), list(symbols)
    while work:
        for origin in users.get(work.pop(), ()):
            if origin not in found:
                found.add(origin)
                work.append(origin)
    return found
