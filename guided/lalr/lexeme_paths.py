"""`LexemePaths`: shortest paths through the scanner to a lexeme of a terminal.

From a scanner state, before or inside a lexeme, a *path* to a label is a shortest text after which the current lexeme has that label. Each
class of bytes that the scanner does not distinguish is represented by one byte: preferably a letter, a digit, or another printable
character.

Newlines of an Indenter also need a column: `line` leads to the start of a further line within the lexeme.

Complexity: O(states x targets x length of the longest path) once; O(columns) for each byte of a path.
"""

from typing import NamedTuple

from guided.arrays import DEAD
from guided.lalr.lexing import Lexing, Match
from guided.lalr.stack_symbols import bits

__all__ = ["LexemePath", "LexemePaths"]

_NEWLINE = 0x0A


class LexemePath(NamedTuple):
    """A text, and the match that it leads to."""

    text: bytes
    match: Match


class LexemePaths:
    """Shortest paths through the scanner of one grammar.

    Parameters
    ----------
    lexing : Lexing
    alphabet : iterable of int
        The bytes that can occur.
    """

    def __init__(self, lexing: Lexing, alphabet: list[int]) -> None:
        self._lexing = lexing
        chosen: dict[int, int] = {}
        for byte in sorted(alphabet, key=preference):
            chosen.setdefault(lexing.classes[byte], byte)
        self._bytes = list(chosen.items())
        self._can_break = _NEWLINE in alphabet
        self.near = self._near()
        self._paths: dict[tuple[int, int], LexemePath] = {}
        self._lines: dict[tuple[int, int], bytes | None] = {}

    def matches(self, state: int) -> list[Match]:
        """Return the match in a state and the match if the text ends there; the latter also applies where the next character decides."""
        found = (self._lexing.events[state], self._lexing.ends[state])
        return list(dict.fromkeys(match for match in found if match is not None))

    def _near(self) -> list[list[tuple[int, int]]]:
        """Return, per state, (bytes, labels as bits) of the labels at that distance, nearest first."""
        rows = self._lexing.rows
        own = [0] * len(rows)
        for state in range(len(rows)):
            for label, _, _ in self.matches(state):
                own[state] |= 1 << label
        targets = [sorted({row[column] for column, _ in self._bytes} - {DEAD}) for row in rows]
        found = [[(0, labels)] if labels else [] for labels in own]
        reached, fresh, away = own, own, 0
        while any(fresh):
            away += 1
            added = [0] * len(rows)
            for state, after in enumerate(targets):
                labels = 0
                for target in after:
                    labels |= fresh[target]
                added[state] = labels & ~reached[state]
            reached = [labels | more for labels, more in zip(reached, added, strict=True)]
            for state, labels in enumerate(added):
                if labels:
                    found[state].append((away, labels))
            fresh = added
        return found

    def least(self, state: int, label: int) -> int:
        """Return the distance of a label in bytes; -1 if it is unreachable."""
        return next((away for away, labels in self.near[state] if labels >> label & 1), -1)

    def reachable(self, state: int, labels: int) -> list[tuple[int, int]]:
        """Return (bytes, label) for each reachable label among `labels`, ascending."""
        return [(away, label) for away, reached in self.near[state] for label in bits(reached & labels)]

    def path(self, state: int, label: int) -> LexemePath:
        """Return a shortest path to a reachable label."""
        found = self._paths.get((state, label))
        if found is None:
            text, at = bytearray(), state
            for left in range(self.least(state, label) - 1, -1, -1):
                row = self._lexing.rows[at]
                byte, at = next(
                    (byte, row[column])
                    for column, byte in self._bytes
                    if row[column] >= 0 and self.least(row[column], label) == left
                )
                text.append(byte)
            match = next(match for match in self.matches(at) if match[0] == label)
            found = self._paths[state, label] = LexemePath(bytes(text), match)
        return found

    def line(self, state: int, label: int) -> bytes | None:
        """Return a shortest text from a state that ends with a newline and keeps the label possible; None if there is none."""
        key = state, label
        if key not in self._lines:
            self._lines[key] = self._line(state, label) if self._can_break else None
        return self._lines[key]

    def _line(self, state: int, label: int) -> bytes | None:
        rows, column = self._lexing.rows, self._lexing.classes[_NEWLINE]
        seen, work = {state}, [(state, b"")]
        for at, text in work:
            target = rows[at][column]
            if target >= 0 and self._lexing.labels[target] >> label & 1:
                return text + bytes([_NEWLINE])
            for other, byte in self._bytes:
                target = rows[at][other]
                if target >= 0 and target not in seen:
                    seen.add(target)
                    work.append((target, text + bytes([byte])))
        return None

    def walked(self, state: int, text: bytes) -> int:
        """Return the state after a text, or DEAD."""
        for byte in text:
            state = self._lexing.rows[state][self._lexing.classes[byte]]
            if state < 0:
                return DEAD
        return state


def preference(byte: int) -> tuple[int, int]:
    """Sort key that puts readable bytes first."""
    character = chr(byte)
    if byte >= 0x7F or byte < 0x20:
        return 3, byte
    return (0 if character.islower() else 1 if character.isalnum() else 2), byte
