"""`Standings`: where a text that has begun stands in a Lark grammar: the lexeme under way, and the terminals that are expected.

The text is lexed as Lark lexes it, from its begin. What is left when no further lexeme is known to have ended is the lexeme *under way*: it
may be empty, and it may already be a whole one, which the next character ends or goes on with. Expected are the terminals that it can
become where the parser can read them, and, where it is a whole one, those that can come behind it.

For people, in errors and explanations: masks ask none of this. What only dead ends forbid (`guided.lalr.deadends`) is not left out.

Complexity: O(bytes of the text), and O(terminals x reductions) for the terminals.
"""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from guided.arrays import DEAD
from guided.lalr.indents import NO_NEWLINE, Indenter, Indents
from guided.lalr.lexing import last_characters
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.stacks import Stacks
from guided.lalr.tables import LalrTables, Start
from guided.lalr.terminals import Terminal

__all__ = ["Standing", "Standings", "shown_terminal"]

_END = "the end of the text"
# A longer pattern is shown by the terminal's name, whatever that is.
_MOST_SHOWN = 40
_FLAGS = re.compile(r"\(\?([a-z]+):(.*)\)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Standing(NamedTuple):
    """Where a text stands.

    Attributes
    ----------
    begin : int
        Byte at which the lexeme under way begins; the length of the text where none has begun.
    becoming : tuple of str
        Terminals that the lexeme under way can become, for people.
    following : tuple of str
        Terminals that can come behind it, if it has ended; what the next lexeme can be, where none has begun.
    """

    begin: int
    becoming: tuple[str, ...]
    following: tuple[str, ...]

    @property
    def terminals(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.becoming, *self.following)))


class Standings:
    """The standings of one grammar's texts.

    Parameters
    ----------
    tables : LalrTables
    scanner : Scanner
        Of the tables' lexer.
    start : Start

    Attributes
    ----------
    stacks : Stacks
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, start: Start) -> None:
        self.stacks, self._indenter = Stacks(tables, start), Indenter(tables)
        self._scanner, self._end = scanner, tables.end
        self._contexts: list[int] = tables.context.tolist()
        self._names = tuple(shown_terminal(terminal) for terminal in tables.lexer.terminals)
        self._tried = [
            {*context.terminals, *(tables.lexer.keywords[number][1] for number in context.keywords)}
            - tables.lexer.ignored
            for context in tables.lexer.contexts
        ]
        self._reach: dict[int, frozenset[int]] = {}

    def of(self, text: bytes) -> Standing | None:
        """Where a text stands; None where Lark's lexer or parser has broken off before its end."""
        node, indents, left, begin = 0, Indents(), self._scanner.first_left, 0
        while True:
            scanned, found = self._run(node, left, text, begin)
            if scanned >= 0 and self._goes_on(scanned):
                break
            if found is None:
                return Standing(begin, (), ()) if begin == len(text) else None
            label, end, left = found
            after = self._fed(node, indents, label, text[begin:end])
            if after is None:
                return None
            (node, indents), begin = after, end
        if begin == len(text):
            return Standing(
                begin, (), self._shown(node, indents, self._tried[self._contexts[self.stacks.states[node]]])
            )
        becoming = [label for label in self._reachable(scanned) if self._can_be_fed(node, indents, label)]
        following: tuple[str, ...] = ()
        # A whole lexeme so far, or one if the text ends here.
        said = [row[scanned].tolist() for row in (self._scanner.events, self._scanner.ends)]
        whole = [label for label, back, _ in said if label != NOTHING and not back]
        after = self._fed(node, indents, whole[0], text[begin:]) if whole else None
        if after is not None:
            following = self._shown(*after, self._tried[self._contexts[self.stacks.states[after[0]]]])
            if not becoming and whole[0] == self._scanner.n_terminals:
                # Text that is ignored is no lexeme to people.
                begin = len(text)
        return Standing(begin, self._named(becoming), following)

    def node(self, text: bytes) -> int:
        """The stack (`guided.lalr.stacks`) after a text whose end is taken to end a lexeme; -1 if there is none."""
        node, indents, left, begin = 0, Indents(), self._scanner.first_left, 0
        while begin < len(text) and node >= 0:
            scanned, found = self._run(node, left, text, begin)
            if scanned >= 0 and self._scanner.ends[scanned, 0] != NOTHING and not self._scanner.ends[scanned, 1]:
                found = int(self._scanner.ends[scanned, 0]), len(text), left
            if found is None:
                return -1
            label, end, left = found
            after = self._fed(node, indents, label, text[begin:end])
            (node, indents), begin = (-1, indents) if after is None else after, end
        return node

    def _run(self, node: int, left: int, text: bytes, begin: int) -> tuple[int, tuple[int, int, int] | None]:
        """The scanner's state at the end of the text, or DEAD; and the last match on the way: label, where it ends, left class."""
        scanner = self._scanner
        scanned = int(scanner.starts[self._contexts[self.stacks.states[node]], left])
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

    def _goes_on(self, scanned: int) -> bool:
        return bool((self._scanner.table[scanned] >= 0).any())

    def _fed(self, node: int, indents: Indents, label: int, lexeme: bytes) -> tuple[int, Indents] | None:
        """Stack and indents after a lexeme; None where it cannot come."""
        if label == self._scanner.n_terminals:
            return node, indents
        column = NO_NEWLINE
        if label == self._indenter.newline:
            for byte in lexeme:
                column = self._indenter.column(column, byte)
        said = self._indenter.tokens(indents, label, column)
        if said is None:
            return None
        for terminal in said[0]:
            node = self.stacks.feed(node, terminal)
            if node < 0:
                return None
        return node, said[1]

    def _can_be_fed(self, node: int, indents: Indents, label: int) -> bool:
        """At some column, for the newline of an Indenter."""
        if label == self._scanner.n_terminals:
            return False
        if label == self._indenter.newline:
            return bool(indents.parentheses) or self.stacks.feed(node, label) >= 0
        return self._fed(node, indents, label, b"") is not None

    def _shown(self, node: int, indents: Indents, tried: Iterable[int]) -> tuple[str, ...]:
        """The terminals that a stack takes, and the end of the text."""
        found = self._named(label for label in tried if self._can_be_fed(node, indents, label))
        for terminal in (*self._indenter.at_end(indents), self._end):
            node = self.stacks.feed(node, terminal) if node >= 0 else node
        return (*found, _END) if node >= 0 else found

    def _named(self, labels: Iterable[int]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sorted(self._names[label] for label in labels)))

    def _reachable(self, scanned: int) -> frozenset[int]:
        """The labels that a state of the scanner can still lead to."""
        found = self._reach.get(scanned)
        if found is None:
            seen, work, labels = {scanned}, [scanned], set[int]()
            for state in work:
                labels |= {int(self._scanner.events[state, 0]), int(self._scanner.ends[state, 0])}
                for target in set(self._scanner.table[state].tolist()) - seen - {DEAD}:
                    seen.add(target)
                    work.append(target)
            found = self._reach[scanned] = frozenset(labels - {NOTHING})
        return found


def shown_terminal(terminal: Terminal) -> str:
    """A terminal for people: a string as it is spelled, any other by its name, and by its pattern where Lark made the name up."""
    wrapped = _FLAGS.fullmatch(terminal.pattern)
    flags, body = (wrapped[1], wrapped[2]) if wrapped else ("", terminal.pattern)
    word = _ESCAPED.sub(r"\1", body)
    if len(word) > _MOST_SHOWN:
        return terminal.name
    if re.escape(word) == body:
        ignores_case = "i" in flags or terminal.flags & re.IGNORECASE
        return json.dumps(word, ensure_ascii=False) + ("i" if ignores_case else "")
    return f"/{terminal.pattern}/" if terminal.name.startswith("__") else terminal.name
