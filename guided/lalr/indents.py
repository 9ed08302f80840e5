"""Indentation as Lark's Indenter counts it: from tokens to tokens, with a state that can be copied.

Outside of parentheses a newline token is followed by INDENT where its column is larger than the last one, by DEDENTs where it is smaller,
and must then be equal. The column is that of the token's text behind its last newline: a space counts 1, a tab as many as the Indenter
says, and any other character nothing, so the spaces of a comment at the end of a text count. Within parentheses newlines are
dropped. At the end of a text stand DEDENTs.

The state is (columns, open parentheses); all functions are pure.
"""

from typing import NamedTuple

from guided.lalr.tables import LalrTables

__all__ = ["NO_NEWLINE", "Indenter", "Indents"]

# The column of a token without a newline: Lark's Indenter breaks on those.
NO_NEWLINE = -1
_NEWLINE, _SPACE, _TAB = 0x0A, 0x20, 0x09


class Indents(NamedTuple):
    """Columns of the open blocks, the innermost last, and how many parentheses are open."""

    columns: tuple[int, ...] = (0,)
    parentheses: int = 0


class Indenter:
    """What an Indenter does to the tokens of a grammar."""

    def __init__(self, tables: LalrTables) -> None:
        said = tables.indentation
        numbers = {name: number for number, name in enumerate(tables.symbols[: tables.end])}
        self.newline = numbers.get(said.newline, -1) if said else -1
        self.opening = {numbers[name] for name in said.opening if name in numbers} if said else set()
        self.closing = {numbers[name] for name in said.closing if name in numbers} if said else set()
        # A terminal that the grammar does not have is one that no state reads.
        self.indent = numbers.get(said.indent, -1) if said else -1
        self.dedent = numbers.get(said.dedent, -1) if said else -1
        self._tab = said.tab if said else 0
        # Terminals that a newline may bring with it, and whether there are parentheses in which it is dropped.
        self.following = tuple(number for number in (self.indent, self.dedent) if number >= 0)
        self.drops = bool(self.opening)

    def column(self, column: int, byte: int) -> int:
        """The column of a token's text after one more byte."""
        if byte == _NEWLINE:
            return 0
        if column == NO_NEWLINE:
            return column
        return column + (1 if byte == _SPACE else self._tab if byte == _TAB else 0)

    def tokens(self, indents: Indents, terminal: int, column: int) -> tuple[tuple[int, ...], Indents] | None:
        """What the parser gets for a terminal, and the state after it; None where Lark breaks off."""
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
                # Every block is begun and closed in the end.
                return None
            return (terminal, self.indent), Indents((*columns, column), 0)
        kept = columns
        while column < kept[-1]:
            kept = kept[:-1]
        if column != kept[-1]:
            return None
        return (terminal, *[self.dedent] * (len(columns) - len(kept))), Indents(kept, 0)

    def at_end(self, indents: Indents) -> tuple[int, ...]:
        """What the parser gets at the end of a text, before ``$END``."""
        return (self.dedent,) * (len(indents.columns) - 1)
