"""Opening parentheses of ECMA-262: groups, assertions, flags, comments, and constructs that no automaton supports."""

import re

from guided.patterns.groups import Assertion, Comment, GlobalFlags
from guided.patterns.source import Source

__all__ = ["DOTALL", "IGNORECASE", "MULTILINE", "opening"]

IGNORECASE, MULTILINE, DOTALL = 1, 2, 4
# Flag u is always on, and may be written.
_LETTERS = {"i": IGNORECASE, "m": MULTILINE, "s": DOTALL, "u": 0}
_FLAGS = re.compile(r"([a-zA-Z]*)(-([a-zA-Z]*))?([:)])")
_COMMENT = re.compile(r"[^)]*")


def opening(source: Source, start: int, flags: int, names: set[str]) -> int | Assertion | GlobalFlags | Comment:
    """Read what follows the ``(`` at ``start``; an int is a group with those flags inside.

    Parameters
    ----------
    flags : int
        Flags outside the group.
    names : set of str
        Group names so far; a new one is added.

    Raises
    ------
    PatternError
        The syntax is unknown or incomplete, or no automaton supports it.
    """
    if not source.accept("?"):
        return flags
    if source.accept(":"):
        return flags
    for sign, behind, negative in (("=", False, False), ("!", False, True), ("<=", True, False), ("<!", True, True)):
        if source.accept(sign):
            return Assertion(behind, negative)
    if source.accept("#"):
        source.run(_COMMENT)
        if not source.accept(")"):
            raise source.error("missing ), unterminated comment", start)
        return Comment()
    if source.accept("<") or source.accept("P<"):
        place = source.position
        name = source.until(">", "group name")
        if not name.replace("$", "_").isidentifier():
            raise source.error(f"bad character in group name {name!r}", place)
        # Why allow duplicates: alternatives may share a group name (ES2025), and backreferences are refused anyway.
        names.add(name)
        return flags
    if source.accept(">"):
        raise source.error("atomic group: its language depends on the order of attempts", start)
    if source.accept("P="):
        raise source.error("backreference: no automaton can compare with an earlier match", start)
    if source.accept("("):
        raise source.error("conditional group: no automaton can ask whether an earlier group matched", start)
    return _flags(source, start, flags)


def _flags(source: Source, start: int, flags: int) -> int | GlobalFlags:
    found = _FLAGS.match(source.text, source.position)
    if found is None or not (found[1] or found[3]):
        raise source.error("invalid group", start)
    place = source.position
    added = _sum(found[1], source, place)
    removed = _sum(found[3] or "", source, found.start(3)) if found[2] else 0
    if added & removed:
        raise source.error("a flag is turned on and off", place)
    source.position = found.end()
    if found[4] == ":":
        return (flags | added) & ~removed
    if found[2]:
        raise source.error("flags can be turned off for a group only", place)
    return GlobalFlags(added)


def _sum(letters: str, source: Source, place: int) -> int:
    found = 0
    for offset, letter in enumerate(letters):
        if letter not in _LETTERS:
            raise source.error(f"unknown flag {letter!r}", place + offset)
        found |= _LETTERS[letter]
    return found
