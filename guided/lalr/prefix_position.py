"""`PrefixPositions`: the position of a prefix in a Lark grammar: the current lexeme, and the expected terminals.

The text is lexed as Lark lexes it, from its start. The part after the last lexeme that is known to have ended is the *current lexeme*. It
may be empty, or already complete, in which case the next character ends or continues it. Expected are the terminals that it can become and
the parser accepts, and, if it is complete, those that can follow it.

Used for error messages and explanations, not for masks. Terminals that only dead ends rule out (`guided.lalr.deadends`) are included.

Complexity: O(bytes of the text), and O(terminals x reductions) for the terminals.
"""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from guided.lalr.indents import NO_NEWLINE
from guided.lalr.lexing import last_characters
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.stack_symbols import StackSymbols
from guided.lalr.tables import LalrTables, Start, Terminal, bits
from guided.limits import Limits

__all__ = ["PrefixPosition", "PrefixPositions", "shown_terminal"]

_END = "the end of the text"
# A longer pattern is always shown by the terminal's name.
_SHOWN_LENGTH = 40
_FLAGS = re.compile(r"\(\?([a-z]+):(.*)\)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


# The cells of a stack, from the bottom.
_Stack: TypeAlias = tuple[int, ...]


class PrefixPosition(NamedTuple):
    """Position of a text.

    Attributes
    ----------
    begin : int
        Byte at which the current lexeme starts; the length of the text if none has started.
    becoming : tuple of str
        Terminals that the current lexeme can become, for display.
    following : tuple of str
        Terminals that can follow it, if it has ended; those that the next lexeme can be, if none has started.
    """

    begin: int
    becoming: tuple[str, ...]
    following: tuple[str, ...]

    @property
    def terminals(self) -> tuple[str, ...]:
        """All of them, without repeats."""
        return tuple(dict.fromkeys((*self.becoming, *self.following)))


class PrefixPositions:
    """The positions of one grammar's texts.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Built from the lexer of ``tables``.
    start : Start

    Attributes
    ----------
    tables, scanner, start
        As given.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start) -> None:
        self.tables, self.scanner, self.start = tables, scanner, start
        self._cells = StackSymbols(tables, start, Limits().states)
        self._contexts: list[int] = tables.context.tolist()
        self._names = tuple(shown_terminal(terminal) for terminal in tables.lexer.terminals)
        self._tried = [
            {*context.terminals, *(tables.lexer.keywords[number][1] for number in context.keywords)}
            - tables.lexer.ignored
            for context in tables.lexer.contexts
        ]

    def of(self, text: bytes) -> PrefixPosition | None:
        """Return the position of a text; None if Lark's lexer or parser fails before its end."""
        stack: _Stack = (0,)
        left, begin = self.scanner.first_left, 0
        while True:
            scanned, found = self._run(stack, left, text, begin)
            if scanned >= 0 and self._may_continue(scanned):
                break
            if found is None:
                return PrefixPosition(begin, (), ()) if begin == len(text) else None
            label, end, left = found
            after = self._fed(stack, label, text[begin:end])
            if after is None:
                return None
            stack, begin = after, end
        if begin == len(text):
            return PrefixPosition(begin, (), self._shown(stack))
        becoming = [label for label in bits(self.scanner.labels[scanned]) if self._can_be_fed(stack, label)]
        following: tuple[str, ...] = ()
        # A complete lexeme so far, or one if the text ends here.
        matches = [row[scanned].tolist() for row in (self.scanner.events, self.scanner.ends)]
        whole = [label for label, back, _ in matches if label != NOTHING and not back]
        after = self._fed(stack, whole[0], text[begin:]) if whole else None
        if after is not None:
            following = self._shown(after)
            if not becoming and whole[0] == self.scanner.ignored:
                # Ignored text is not shown as a lexeme.
                begin = len(text)
        return PrefixPosition(begin, self._named(becoming), following)

    def states(self, text: bytes) -> tuple[int, ...] | None:
        """Return the states of the stack after a text whose end also ends a lexeme; None if there is none."""
        stack: _Stack = (0,)
        left, begin = self.scanner.first_left, 0
        while begin < len(text):
            scanned, found = self._run(stack, left, text, begin)
            if scanned >= 0 and self.scanner.ends[scanned, 0] != NOTHING and not self.scanner.ends[scanned, 1]:
                found = int(self.scanner.ends[scanned, 0]), len(text), left
            if found is None:
                return None
            label, end, left = found
            after = self._fed(stack, label, text[begin:end])
            if after is None:
                return None
            stack, begin = after, end
        return tuple(self._cells.known[cell].state for cell in stack)

    def _run(self, stack: _Stack, left: int, text: bytes, begin: int) -> tuple[int, tuple[int, int, int] | None]:
        """Return the scanner state at the end of the text, or DEAD; and the last match on the way: label, end, left class."""
        scanner = self.scanner
        scanned = int(scanner.starts[self._context(stack), left])
        found = None
        for place in range(begin, len(text)):
            if scanned < 0:
                break
            scanned = int(scanner.table[scanned, scanner.classes[text[place]]])
            if scanned >= 0 and scanner.events[scanned, 0] != NOTHING:
                label, back, after = scanner.events[scanned].tolist()
                end = place + 1
                found = label, end - len(last_characters(text[begin:end], back)), after
        return scanned, found

    def _may_continue(self, scanned: int) -> bool:
        return bool((self.scanner.table[scanned] >= 0).any())

    def _context(self, stack: _Stack) -> int:
        return self._contexts[self._cells.known[stack[-1]].state]

    def _fed(self, stack: _Stack, label: int, lexeme: bytes) -> _Stack | None:
        """Return the stack after a lexeme; None if the parser rejects it."""
        indenter, column = self._cells.indenter, NO_NEWLINE
        if label == indenter.newline:
            for byte in lexeme:
                column = indenter.column(column, byte)
        return self._cells.after(stack, label, column)

    def _can_be_fed(self, stack: _Stack, label: int) -> bool:
        """Return whether the parser accepts a label, at some column if it is the newline of an Indenter."""
        cells = self._cells
        if label == cells.ignored:
            return False
        if label == cells.indenter.newline:
            return bool(cells.indents(stack[-1]).parentheses or cells.known[stack[-1]].expected >> label & 1)
        return cells.after(stack, label, NO_NEWLINE) is not None

    def _shown(self, stack: _Stack) -> tuple[str, ...]:
        """Return the terminals that a stack accepts, and the end of the text."""
        found = self._named(label for label in self._tried[self._context(stack)] if self._can_be_fed(stack, label))
        return (*found, _END) if self._cells.can_end(stack) else found

    def _named(self, labels: Iterable[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sorted(self._names[label] for label in labels)))


def shown_terminal(terminal: Terminal) -> str:
    """Return a terminal for display: a string as spelled, a name given by Lark as its pattern, any other by its name."""
    wrapped = _FLAGS.fullmatch(terminal.pattern)
    flags, body = (wrapped[1], wrapped[2]) if wrapped else ("", terminal.pattern)
    word = _ESCAPED.sub(r"\1", body)
    if len(word) > _SHOWN_LENGTH:
        return terminal.name
    if re.escape(word) == body:
        ignores_case = "i" in flags or terminal.flags & re.IGNORECASE
        return json.dumps(word, ensure_ascii=False) + ("i" if ignores_case else "")
    return f"/{terminal.pattern}/" if terminal.name.startswith("__") else terminal.name
