r"""Backslash escapes, outside and inside brackets.

Outside, ``\b`` is a word boundary and ``\1`` a backreference (refused) or an octal escape; inside, ``\b`` is a backspace and ``\1`` is
octal. An escape yields a character (``str``), a set (``Charset``, not subject to IGNORECASE), or an assertion (``Look`` or a tree of
them). As in `re`, letters without a meaning are refused, so that they may get one later.
"""

import string
import sys
import unicodedata

from guided.patterns.anchors import FIRST, LAST, boundary, no_boundary
from guided.patterns.charset import Charset
from guided.patterns.flags import ASCII
from guided.patterns.properties import class_escape, property_escape
from guided.patterns.source import Source
from guided.patterns.tree import Node

__all__ = ["escape", "escape_in_brackets"]

_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODE_LENGTHS = {"x": 2, "u": 4, "U": 8}
_END_OF_TEXT = ("Z", "z") if sys.version_info >= (3, 14) else ("Z",)


def escape(source: Source, start: int, flags: int, groups: int) -> str | Charset | Node:
    """Read the escape after a backslash at ``start``, outside brackets; ``groups`` is the number of groups opened so far.

    Raises
    ------
    PatternError
        The escape is malformed, a backreference, or a lone surrogate.
    """
    letter = source.take()
    if letter in ("b", "B"):
        return boundary(flags & ASCII) if letter == "b" else no_boundary(flags & ASCII)
    if letter == "A":
        return FIRST
    if letter and letter in _END_OF_TEXT:
        return LAST
    if letter and letter in string.digits:
        return _octal_or_reference(source, start, letter, groups)
    return _escape(source, start, letter, flags)


def escape_in_brackets(source: Source, start: int, flags: int) -> str | Charset:
    """Read the escape after a backslash at ``start``, inside brackets.

    Raises
    ------
    PatternError
        The escape is malformed, or a lone surrogate.
    """
    letter = source.take()
    if letter == "b":
        return "\b"
    if letter and letter in string.octdigits:
        return _octal(source, start, letter + _digits(source, string.octdigits, 2))
    return _escape(source, start, letter, flags)


def _escape(source: Source, start: int, letter: str, flags: int) -> str | Charset:
    if not letter:
        raise source.error("bad escape (end of pattern)", start)
    if letter in _CONTROL:
        return _CONTROL[letter]
    if letter in "dswDSW":
        return class_escape(letter, flags)
    if letter in "pP":
        return property_escape(source, start)
    if letter in _CODE_LENGTHS:
        return _code_point(source, start, letter)
    if letter == "N":
        return _named_character(source, start)
    if letter in string.ascii_letters or letter in string.digits:
        raise source.error(f"bad escape \\{letter}", start)
    return letter


def _code_point(source: Source, start: int, letter: str) -> str:
    digits = _digits(source, string.hexdigits, _CODE_LENGTHS[letter])
    if len(digits) < _CODE_LENGTHS[letter]:
        raise source.error(f"incomplete escape \\{letter}{digits}", start)
    point = int(digits, 16)
    if point > sys.maxunicode:
        raise source.error(f"bad escape \\{letter}{digits}", start)
    if 0xD800 <= point <= 0xDFFF:
        reason = f"lone surrogate \\{letter}{digits}: text is UTF-8, which has none"
        raise source.error(reason, start)
    return chr(point)


def _named_character(source: Source, start: int) -> str:
    if not source.accept("{"):
        raise source.error("missing {", source.position)
    name = source.until("}", "character name")
    try:
        found = unicodedata.lookup(name)
    except KeyError:
        found = ""
    # Why: lookup also knows named sequences of several characters.
    if len(found) != 1:
        raise source.error(f"undefined character name {name!r}", start)
    return found


def _octal_or_reference(source: Source, start: int, first: str, groups: int) -> str:
    if first == "0":
        return _octal(source, start, first + _digits(source, string.octdigits, 2))
    digits = first + _digits(source, string.digits, 1)
    if set(digits) <= set(string.octdigits):
        third = _digits(source, string.octdigits, 1)
        if third:
            return _octal(source, start, digits + third)
    if int(digits) > groups:
        raise source.error(f"invalid group reference {int(digits)}", start + 1)
    raise source.error(f"backreference \\{digits}: no automaton can compare with an earlier match", start)


def _octal(source: Source, start: int, digits: str) -> str:
    if int(digits, 8) > 0o377:
        raise source.error(f"octal escape value \\{digits} outside of range 0-0o377", start)
    return chr(int(digits, 8))


def _digits(source: Source, allowed: str, most: int) -> str:
    found = ""
    while len(found) < most and not source.at_end and source.text[source.position] in allowed:
        found += source.take()
    return found
