"""A cursor over the text of a pattern, which knows how to complain about a place. Positions are offsets in code points."""

import re

from guided.errors import PatternError

__all__ = ["Source"]


class Source:
    """The text of a pattern and how far it has been read.

    Attributes
    ----------
    text : str
        The whole pattern.
    position : int
        Offset of the next character to read.
    """

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.position >= len(self.text)

    def take(self) -> str:
        """The next character, or the empty string at the end."""
        character = self.text[self.position : self.position + 1]
        self.position += len(character)
        return character

    def accept(self, expected: str) -> bool:
        """Read ``expected`` if it comes next."""
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def run(self, expression: re.Pattern[str]) -> str:
        """Read what the expression matches here; the empty string if it does not match."""
        match = expression.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match.group()

    def until(self, terminator: str, name: str) -> str:
        """Read a name and its terminator; the name is returned.

        Raises
        ------
        PatternError
            The name is empty, or nothing terminates it.
        """
        start = self.position
        end = self.text.find(terminator, start)
        if end == start or start == len(self.text):
            raise self.error(f"missing {name}", start)
        if end < 0:
            raise self.error(f"missing {terminator}, unterminated name", start)
        self.position = end + 1
        return self.text[start:end]

    def error(self, reason: str, position: int) -> PatternError:
        """An error about this pattern, to be raised."""
        return PatternError(reason, self.text, position)
