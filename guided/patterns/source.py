"""Cursor over the text of a pattern, which creates errors with positions, and the flags of `re` as plain integers.

Positions are offsets in code points. The cursor also counts the intervals of characters that reading computes, against a budget: a Unicode
class has hundreds, and two characters of a pattern can request one, so the work is not linear in the text.

``ASCII`` set means ASCII classes, clear means Unicode; ``UNICODE`` is only remembered to refuse both at once. Flags for bytes, locales or
debugging are refused: they have no meaning for the language of a str pattern.
"""

import re
from dataclasses import dataclass

from guided.errors import LimitError, PatternError
from guided.limits import Limits

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "LETTERS",
    "MULTILINE",
    "TYPES",
    "VERBOSE",
    "Intervals",
    "Source",
    "checked_flags",
    "flags_after",
    "flags_inside",
]

# Cost of a search among all code points, in intervals (20 ms against 0.3 us).
_SEARCH = 1 << 16
_INTERVALS = Limits().intervals

# Why plain integers: operators of re.RegexFlag are Python calls, and flags are tested for every token.
ASCII = int(re.ASCII)
DOTALL = int(re.DOTALL)
IGNORECASE = int(re.IGNORECASE)
MULTILINE = int(re.MULTILINE)
UNICODE = int(re.UNICODE)
VERBOSE = int(re.VERBOSE)

TYPES = ASCII | UNICODE
LETTERS = {"a": ASCII, "i": IGNORECASE, "m": MULTILINE, "s": DOTALL, "u": UNICODE, "x": VERBOSE}
_KNOWN = sum(LETTERS.values())


@dataclass(slots=True)
class Intervals:
    """Number of intervals of characters computed so far, for one pattern or several, and their limit."""

    limit: int
    spent: int = 0

    def spend(self, count: int) -> None:
        """Count computed intervals.

        Raises
        ------
        LimitError
            ``intervals`` was exceeded.
        """
        self.spent += count
        if self.spent > self.limit:
            raise LimitError("intervals", self.spent, self.limit, "use fewer or simpler sets of characters")


class Source:
    """Text of a pattern, and how far it has been read.

    Attributes
    ----------
    text : str
        The whole pattern.
    position : int
        Offset of the next character to read.
    spend : callable
        Counts intervals of characters.
    """

    __slots__ = ("_properties", "position", "spend", "text")

    def __init__(self, text: str, intervals: int | Intervals = _INTERVALS) -> None:
        self.text = text
        self.position = 0
        self.spend = (Intervals(intervals) if isinstance(intervals, int) else intervals).spend
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


def checked_flags(flags: int, pattern: str) -> int:
    """Check and return the flags given to `parse`.

    Raises
    ------
    PatternError
        A flag that does not apply to str patterns, or ASCII and UNICODE at once.
    """
    if flags & int(re.LOCALE):
        raise PatternError("cannot use LOCALE flag with a str pattern", pattern, 0)
    if flags & ~_KNOWN:
        raise PatternError(f"unsupported flags {flags & ~_KNOWN:#x}; use re.A, I, M, S, U and X", pattern, 0)
    if flags & TYPES == TYPES:
        raise PatternError("ASCII and UNICODE flags are incompatible", pattern, 0)
    return int(flags)


def flags_after(flags: int, added: int, source: Source, position: int) -> int:
    """Return the flags after a global group such as ``(?i)``.

    Raises
    ------
    PatternError
        The result contains both ASCII and UNICODE.
    """
    if (flags | added) & TYPES == TYPES:
        raise source.error("ASCII and UNICODE flags are incompatible", position)
    return flags | added


def flags_inside(flags: int, added: int, removed: int) -> int:
    """Return the flags inside a scoped group such as ``(?i-s:...)``; there ``a`` replaces ``u`` and the reverse."""
    if added & TYPES:
        flags &= ~TYPES
    return (flags | added) & ~removed
