"""Flags of `re` as plain integers, and their combination.

``ASCII`` set means ASCII classes, clear means Unicode; ``UNICODE`` is only remembered to refuse both at once. Flags for bytes, locales or
debugging are refused: they have no meaning for the language of a str pattern.
"""

import re

from guided.errors import PatternError
from guided.patterns.source import Source

__all__ = [
    "ASCII",
    "DOTALL",
    "IGNORECASE",
    "LETTERS",
    "MULTILINE",
    "TYPES",
    "UNICODE",
    "VERBOSE",
    "combine",
    "join",
    "of_argument",
]

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


def of_argument(flags: int, pattern: str) -> int:
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


def join(flags: int, added: int, source: Source, position: int) -> int:
    """Return the flags after a global group such as ``(?i)``.

    Raises
    ------
    PatternError
        The result contains both ASCII and UNICODE.
    """
    if (flags | added) & TYPES == TYPES:
        raise source.error("ASCII and UNICODE flags are incompatible", position)
    return flags | added


def combine(flags: int, added: int, removed: int) -> int:
    """Return the flags inside a scoped group such as ``(?i-s:...)``; there ``a`` replaces ``u`` and the reverse."""
    if added & TYPES:
        flags &= ~TYPES
    return (flags | added) & ~removed
