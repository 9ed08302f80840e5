"""Constructs after an opening parenthesis: a group, an assertion, flags, a comment, or syntax that no automaton supports.

Group names are checked and then dropped, because nothing can refer to a group. Flags of a scoped group apply inside it; those of a
global one, which must come first in the pattern, apply to the whole pattern.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from guided.patterns.branches import Branches
from guided.patterns.source import LETTERS, TYPES, Source, flags_inside

__all__ = ["Assertion", "Comment", "GlobalFlags", "Group", "OpenGroup", "Opening", "opening"]


@dataclass(frozen=True, slots=True)
class Group:
    """``(...)``, ``(?:...)``, ``(?P<name>...)``, ``(?i-s:...)``."""

    flags: int
    name: str | None = None
    captures: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """``(?=...)``, ``(?!...)``, ``(?<=...)``, ``(?<!...)``."""

    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class GlobalFlags:
    """``(?i)``."""

    added: int


@dataclass(frozen=True, slots=True)
class Comment:
    """``(?#...)``."""


@dataclass(slots=True)
class OpenGroup:
    """A group that is still open; the whole pattern is the outermost one."""

    start: int
    flags: int
    assertion: Assertion | None = None
    branches: Branches = field(default_factory=Branches)


Opening = Group | Assertion | GlobalFlags | Comment

_REMOVABLE = {letter: flag for letter, flag in LETTERS.items() if not flag & TYPES}
_COMMENT = re.compile(r"(?:[^\\)]+|\\.)*+", re.DOTALL)


def opening(source: Source, start: int, flags: int) -> Opening:
    """Read the syntax after the ``(`` at ``start``, up to the contents of the group.

    Raises
    ------
    PatternError
        The syntax is unknown or incomplete, or requires a backreference, a conditional or an atomic group.
    """
    if not source.accept("?"):
        return Group(flags, captures=True)
    sign = _sign(source)
    if sign == "P":
        return _named(source, start, flags)
    if sign == ":":
        return Group(flags)
    if sign == "#":
        source.run(_COMMENT)
        if not source.accept(")"):
            raise source.error("missing ), unterminated comment", start)
        return Comment()
    if sign in "=!":
        return Assertion(behind=False, negative=sign == "!")
    if sign == "<":
        direction = _sign(source)
        if direction not in "=!":
            raise source.error(f"unknown extension ?<{direction}", start + 1)
        return Assertion(behind=True, negative=direction == "!")
    if sign == "(":
        raise source.error("conditional group: no automaton can ask whether an earlier group matched", start)
    if sign == ">":
        raise source.error("atomic group: its language depends on the order of attempts", start)
    if sign in LETTERS or sign in "-L":
        source.position -= 1
        return _flags(source, flags)
    raise source.error(f"unknown extension ?{sign}", start + 1)


def _sign(source: Source) -> str:
    sign = source.take()
    if not sign:
        raise source.error("unexpected end of pattern", source.position)
    return sign


def _named(source: Source, start: int, flags: int) -> Group:
    if source.accept("<"):
        place = source.position
        name = source.until(">", "group name")
        _check_name(name, source, place)
        return Group(flags, name, captures=True)
    if source.accept("="):
        place = source.position
        _check_name(source.until(")", "group name"), source, place)
        raise source.error("backreference: no automaton can compare with an earlier match", start)
    raise source.error(f"unknown extension ?P{_sign(source)}", start + 1)


def _check_name(name: str, source: Source, place: int) -> None:
    if not name.isidentifier():
        raise source.error(f"bad character in group name {name!r}", place)


def _flags(source: Source, flags: int) -> Group | GlobalFlags:
    """Read ``i)``, ``i:``, ``i-s:`` or ``-s:``."""
    added = removed = 0
    end = "-"
    if not source.accept("-"):
        added, end = _letters(source, LETTERS, ")-:", "missing -, : or )")
    if end == ")":
        return GlobalFlags(added)
    if end == "-":
        removed, _ = _letters(source, _REMOVABLE, ":", "missing :")
        if added & removed:
            raise source.error("bad inline flags: flag turned on and off", source.position - 1)
    return Group(flags_inside(flags, added, removed))


def _letters(source: Source, allowed: Mapping[str, int], ends: str, missing: str) -> tuple[int, str]:
    """Read at least one flag and the character after the last one."""
    found = 0
    while True:
        place = source.position
        letter = source.take()
        if found and letter and letter in ends:
            return found, letter
        if letter == "L":
            raise source.error("bad inline flags: cannot use 'L' flag with a str pattern", place)
        if letter not in LETTERS:
            reason = "unknown flag" if letter.isalpha() else missing if found else "missing flag"
            raise source.error(reason, place)
        if letter not in allowed:
            raise source.error("bad inline flags: cannot turn off flags 'a', 'u' and 'L'", place)
        found |= allowed[letter]
        if found & TYPES == TYPES:
            raise source.error("bad inline flags: flags 'a', 'u' and 'L' are incompatible", place)
