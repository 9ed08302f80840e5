r"""Backslash escapes of ECMA-262, outside and inside classes, and classes: ``[a-z\d_]``, ``[^...]``, ``[]`` (nothing), ``[^]`` (anything).

An escape yields a character (``str``; possibly a lone surrogate, which no text contains), a set (``Charset``) or an assertion (a node).
Annex B applies where the flag ``u`` would make a syntax error, except for letters without a meaning, which are refused.

A ``]`` always closes a class. Annex B: a hyphen beside a set such as ``\d`` is a character. Under IGNORECASE characters and ranges are
folded, sets are added unchanged, and negation comes last. Lone surrogates are dropped, as no text contains them.
"""

import re
import string
from dataclasses import dataclass

from guided.patterns.anchors import FIRST, LAST
from guided.patterns.casefold import Folding
from guided.patterns.charset import Charset
from guided.patterns.escapes import set_of
from guided.patterns.properties import property_escape
from guided.patterns.source import Source
from guided.patterns.tree import Chars, Look, Node, alternate, concat

__all__ = ["TERMINATORS", "Escapes", "character_class", "escape"]

TERMINATORS = Charset.of([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])
_CONTROL = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGIT = Charset.of([(0x30, 0x39)])
_WORD = Charset.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACE = Charset.of(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
_SETS = {"d": _DIGIT, "D": ~_DIGIT, "w": _WORD, "W": ~_WORD, "s": _SPACE, "S": ~_SPACE}

_AFTER, _NOT_AFTER = (Look(Chars(_WORD), behind=True, negative=negative) for negative in (False, True))
_BEFORE, _NOT_BEFORE = (Look(Chars(_WORD), behind=False, negative=negative) for negative in (False, True))
_BOUNDARY = alternate([concat([_AFTER, _NOT_BEFORE]), concat([_NOT_AFTER, _BEFORE])])
_NO_BOUNDARY = alternate([concat([_AFTER, _BEFORE]), concat([_NOT_AFTER, _NOT_BEFORE])])
_ASSERTIONS = {"b": _BOUNDARY, "B": _NO_BOUNDARY, "A": FIRST, "Z": LAST, "z": LAST}

_HEX = re.compile("[0-9a-fA-F]{2}")
_UNIT = re.compile("[0-9a-fA-F]{4}")
_PAIR = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_BRACES = re.compile(r"\{([0-9a-fA-F]+)\}")
_NUMBER = re.compile("[1-9][0-9]*")
_OCTAL = re.compile("[0-3][0-7]{0,2}|[4-7][0-7]?")


@dataclass(frozen=True, slots=True)
class Escapes:
    """Properties of the whole pattern that escapes depend on.

    Attributes
    ----------
    captures : int
        Number of capturing groups.
    has_names : bool
        Whether any group has a name.
    """

    captures: int
    has_names: bool


def escape(source: Source, start: int, escapes: Escapes) -> str | Charset | Node:
    r"""Return the escape after a backslash at ``start``, outside classes.

    Raises
    ------
    PatternError
        The escape is a backreference, or has no meaning.
    """
    number = _NUMBER.match(source.text, source.position)
    if number and (len(number[0]) > 9 or int(number[0]) <= escapes.captures):
        raise source.error(f"backreference \\{number[0]}: no automaton can compare with an earlier match", start)
    letter = source.take()
    if letter in _ASSERTIONS:
        return _ASSERTIONS[letter]
    if letter == "k":
        if escapes.has_names:
            raise source.error("backreference \\k: no automaton can compare with an earlier match", start)
        return "k"
    return _escape(source, start, letter, in_class=False)


def _class_escape(source: Source, start: int) -> str | Charset:
    letter = source.take()
    return "\b" if letter == "b" else _escape(source, start, letter, in_class=True)


def _escape(source: Source, start: int, letter: str, *, in_class: bool) -> str | Charset:
    if not letter:
        raise source.error("\\ at the end of the pattern", start)
    if letter in _CONTROL:
        return _CONTROL[letter]
    if letter in _SETS:
        return _SETS[letter]
    if letter in string.digits:
        source.position -= 1
        octal = source.run(_OCTAL)
        return chr(int(octal, 8)) if octal else source.take()
    match letter:
        case "x":
            digits = source.run(_HEX)
            return chr(int(digits, 16)) if digits else "x"
        case "u":
            return _unicode(source, start)
        case "c":
            return _control(source, start, in_class=in_class)
        case "p" | "P":
            return property_escape(source, start)
    if letter in string.ascii_letters:
        raise source.error(f"\\{letter} is not an escape of ECMA-262", start)
    return letter


def _unicode(source: Source, start: int) -> str:
    braces = _BRACES.match(source.text, source.position)
    if braces:
        digits = braces[1].lstrip("0") or "0"
        if len(digits) > 6 or int(digits, 16) > 0x10FFFF:
            raise source.error("code point out of range", start)
        source.position = braces.end()
        return chr(int(digits, 16))
    unit = source.run(_UNIT)
    if not unit:
        return "u"
    point = int(unit, 16)
    low = _PAIR.match(source.text, source.position) if 0xD800 <= point <= 0xDBFF else None
    if low is None:
        return chr(point)
    source.position = low.end()
    return chr(0x10000 + ((point - 0xD800) << 10) + int(low[1], 16) - 0xDC00)


def _control(source: Source, start: int, *, in_class: bool) -> str:
    letter = source.take()
    if letter and (letter in string.ascii_letters or (in_class and (letter in string.digits or letter == "_"))):
        return chr(ord(letter) % 32)
    # Annex B: a literal backslash; c is read again.
    source.position = start + 1
    return "\\"


def character_class(source: Source, start: int, folding: Folding | None) -> Charset:
    """Return the set whose ``[`` at ``start`` has been read; ``folding`` is None if case matters.

    Raises
    ------
    PatternError
        The class is not closed, or a range or escape is invalid.
    """
    negated = source.accept("^")
    ranges: list[tuple[int, int]] = []
    named: dict[int, Charset] = {}
    while not source.accept("]"):
        here = source.position
        low = _member(source, start)
        members = [low]
        if not source.text.startswith("-]", source.position) and source.accept("-"):
            high = _member(source, start)
            if isinstance(low, str) and isinstance(high, str):
                if high < low:
                    raise source.error(f"range out of order: {source.text[here : source.position]}", here)
                ranges.append((ord(low), ord(high)))
                continue
            members = [low, "-", high]
        for member in members:
            if isinstance(member, str):
                ranges.append((ord(member), ord(member)))
            else:
                named[id(member)] = member
    return set_of(source, ranges, named.values(), folding, negated=negated)


def _member(source: Source, start: int) -> str | Charset:
    here = source.position
    character = source.take()
    if not character:
        raise source.error("missing ], unterminated class", start)
    return _class_escape(source, here) if character == "\\" else character
