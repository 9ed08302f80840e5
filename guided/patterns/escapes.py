r"""Backslash escapes, outside and inside brackets, and bracket sets: ``[a-z\d_]``, ``[^...]``.

Outside, ``\b`` is a word boundary and ``\1`` a backreference (refused) or an octal escape; inside, ``\b`` is a backspace and ``\1`` is
octal. An escape yields a character (``str``), a set (``Charset``, not subject to IGNORECASE), or an assertion (``Look`` or a tree of
them). As in `re`, letters without a meaning are refused, so that they may get one later.

In brackets, a ``]`` in first position is a character, and so is a ``-`` that is not between two characters. Verbose mode does not apply.
IGNORECASE folds characters and ranges; named sets are added unchanged; negation comes last. Pairs such as ``[[``, ``--`` and ``&&``, which
`re` warns may get a meaning, are plain characters.
"""

import re
import string
import sys
import unicodedata
from collections.abc import Collection

from guided.patterns.anchors import FIRST, LAST, boundary, no_boundary
from guided.patterns.casefold import Folding
from guided.patterns.charset import Charset
from guided.patterns.properties import class_escape, property_escape
from guided.patterns.source import ASCII, Source
from guided.patterns.tree import Node

__all__ = ["bracket_set", "escape", "set_of"]

_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HYPHEN = re.compile(r"-(?!\])")
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


def _escape_in_brackets(source: Source, start: int, flags: int) -> str | Charset:
    """Read the escape after a backslash at ``start``, inside brackets."""
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


def bracket_set(source: Source, start: int, flags: int, folding: Folding | None) -> Charset:
    """Read the set whose ``[`` at ``start`` has been read; ``folding`` is None if case matters.

    Raises
    ------
    PatternError
        The brackets do not close, or a range or an escape is invalid.
    """
    negated = source.accept("^")
    ranges: list[tuple[int, int]] = []
    named: dict[int, Charset] = {}
    closed = False
    while not closed:
        here = source.position
        low = _member(source, start, flags)
        # Why: a hyphen before the closing bracket is a member; the next iteration reads it.
        if _HYPHEN.match(source.text, source.position) is None:
            if isinstance(low, str):
                ranges.append((ord(low), ord(low)))
            else:
                named[id(low)] = low
        else:
            source.position += 1
            high = _member(source, start, flags)
            if not isinstance(low, str) or not isinstance(high, str) or high < low:
                raise source.error(f"bad character range {source.text[here : source.position]}", here)
            ranges.append((ord(low), ord(high)))
        closed = source.accept("]")
    return set_of(source, ranges, named.values(), folding, negated=negated)


def _member(source: Source, start: int, flags: int) -> str | Charset:
    here = source.position
    character = source.text[here : here + 1]
    if not character:
        raise source.error("unterminated character set", start)
    source.position += 1
    return _escape_in_brackets(source, here, flags) if character == "\\" else character


def set_of(
    source: Source,
    ranges: list[tuple[int, int]],
    named: Collection[Charset],
    folding: Folding | None,
    *,
    negated: bool,
) -> Charset:
    """Return the union of folded ranges and unchanged named sets; its cost is charged to the source's budget."""
    if len(named) == 1 and not ranges and not negated:
        return next(iter(named))
    pieces = [interval for charset in named for interval in charset.ranges]
    source.spend(len(ranges) + len(pieces))
    found = Charset.of([*(folding.ranges(ranges, source.spend) if folding else ranges), *pieces])
    return ~found if negated else found
