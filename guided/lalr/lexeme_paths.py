"""`LexemePaths`: shortest paths through the scanner to a lexeme of a terminal.

From a scanner state, before or inside a lexeme, a *path* to a label is a shortest text after which the current lexeme has that label. Each
class of bytes that the scanner does not distinguish is represented by one byte: preferably a letter, a digit, or another printable
character.

Newlines of an Indenter also need a column: `line` leads to the start of a further line within the lexeme.

Complexity: O(states x targets x length of the longest path) once; O(columns) for each byte of a path.
"""

from typing import NamedTuple

from guided.arrays import DEAD
from guided.caching import cached_property
from guided.lalr.lexing import Lexing, Match
from guided.lalr.tables import bits

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
        self.layers = self._layers()
        self._paths: dict[tuple[int, int], LexemePath] = {}

    def matches(self, state: int) -> list[Match]:
        """Return the match in a state and the match if the text ends there; the latter also applies where the next character decides."""
        found = (self._lexing.events[state], self._lexing.ends[state])
        return list(dict.fromkeys(match for match in found if match is not None))

    def _layers(self) -> list[list[int]]:
        """Return, per number of bytes and per state, the labels at that distance, as bits."""
        sources = self._lexing.sources
        fresh = [0] * len(sources)
        for state in range(len(sources)):
            for label, _, _ in self.matches(state):
                fresh[state] |= 1 << label
        reached, found = list(fresh), []
        while any(fresh):
            found.append(fresh)
            added = [0] * len(sources)
            for state, labels in enumerate(fresh):
                for source in sources[state] if labels else ():
                    added[source] |= labels
            fresh = [labels & ~known for labels, known in zip(added, reached, strict=True)]
            reached = [labels | known for labels, known in zip(fresh, reached, strict=True)]
        return found

    def reachable(self, state: int, labels: int) -> list[tuple[int, int]]:
        """Return (bytes, label) for each reachable label among `labels`, ascending."""
        return [(away, label) for away, layer in enumerate(self.layers) for label in bits(layer[state] & labels)]

    def path(self, state: int, label: int) -> LexemePath:
        """Return a shortest path to a reachable label."""
        found = self._paths.get((state, label))
        if found is None:
            text, at = bytearray(), state
            away = next(away for away, layer in enumerate(self.layers) if layer[state] >> label & 1)
            for layer in reversed(self.layers[:away]):
                row = self._lexing.rows[at]
                byte, at = next(
                    (byte, row[column])
                    for column, byte in self._bytes
                    if row[column] >= 0 and layer[row[column]] >> label & 1
                )
                text.append(byte)
            match = next(match for match in self.matches(at) if match[0] == label)
            found = self._paths[state, label] = LexemePath(bytes(text), match)
        return found

    def line(self, state: int) -> bytes | None:
        """Return a shortest text after which an Indenter's newline starts a further line; None if there is none."""
        away, rows, text = self._away_from_line, self._lexing.rows, bytearray()
        while away[state] > 0:
            byte, state = next(
                (byte, row[column])
                for row in (rows[state],)
                for column, byte in self._bytes
                if row[column] >= 0 and away[row[column]] == away[state] - 1
            )
            text.append(byte)
        return None if away[state] < 0 else bytes([*text, _NEWLINE])

    @cached_property
    def _away_from_line(self) -> list[int]:
        """By state: the bytes before the line break of the shortest such text; -1 if there is none."""
        lexing, column = self._lexing, self._lexing.classes[_NEWLINE]
        found = [-1] * len(lexing.rows)
        targets = [row[column] for row in lexing.rows] if self._can_break else []
        work = [state for state, at in enumerate(targets) if at >= 0 and lexing.labels[at] & lexing.newline]
        for state in work:
            found[state] = 0
        for state in work:
            for source in lexing.sources[state]:
                if found[source] < 0:
                    found[source] = found[state] + 1
                    work.append(source)
        return found

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
