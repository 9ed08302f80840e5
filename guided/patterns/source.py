"""Cursor over the text of a pattern, which creates errors with positions. Positions are offsets in code points.

It also counts the intervals of characters that reading computes, against a budget: a Unicode class has hundreds, and two characters of a
pattern can request one, so the work is not linear in the text.
"""

import re

from guided.errors import LimitError, PatternError
from guided.limits import Limits

__all__ = ["Source"]

# Cost of a search among all code points, in intervals (20 ms against 0.3 us).
_SEARCH = 1 << 16


class Source:
    """Text of a pattern, and how far it has been read.

    Attributes
    ----------
    text : str
        The whole pattern.
    position : int
        Offset of the next character to read.
    spent : int
        Intervals of characters computed so far.
    """

    __slots__ = ("_limit", "_properties", "position", "spent", "text")

    def __init__(self, text: str, max_intervals: int = Limits().intervals) -> None:
        self.text = text
        self.position = self.spent = 0
        self._limit = max_intervals
        self._properties: set[str] = set()

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.position >= len(self.text)

    def take(self) -> str:
        """Read and return the next character; the empty string at the end."""
        character = self.text[self.position : self.position + 1]
        self.position += len(character)
        return character

    def accept(self, expected: str) -> bool:
        """Read ``expected`` if it comes next, and return whether it did."""
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def run(self, expression: re.Pattern[str]) -> str:
        """Read and return what the expression matches here; the empty string if it does not match."""
        match = expression.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def until(self, terminator: str, name: str) -> str:
        """Read a name and its terminator, and return the name.

        Raises
        ------
        PatternError
            The name is empty, or the terminator is missing.
        """
        start = self.position
        end = self.text.find(terminator, start)
        if end == start or start == len(self.text):
            raise self.error(f"missing {name}", start)
        if end < 0:
            raise self.error(f"missing {terminator}, unterminated name", start)
        self.position = end + 1
        return self.text[start:end]

    def spend(self, intervals: int) -> None:
        """Count computed intervals of characters.

        Raises
        ------
        LimitError
            ``intervals`` was exceeded.
        """
        self.spent += intervals
        if self.spent > self._limit:
            raise LimitError("intervals", self.spent, self._limit, "use fewer or simpler sets of characters")

    def spend_on_property(self, name: str) -> None:
        """Count a property by name: its first use is a search among all code points.

        Raises
        ------
        LimitError
            ``intervals`` was exceeded.
        """
        if name not in self._properties:
            self._properties.add(name)
            self.spend(_SEARCH)

    def error(self, reason: str, position: int) -> PatternError:
        """Return an error about this pattern, to be raised."""
        return PatternError(reason, self.text, position)
