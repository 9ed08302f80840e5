"""The characters that may follow in a language of bytes, as a readable description.

The given state is between two characters. The sets are exact: after each character, a text of the language remains possible.
"""

from functools import cache

from guided.cli.languages import Language, targets

__all__ = ["characters_after", "describe"]

# UTF-8: the first and the last lead byte of characters with 0, 1, 2, 3 more bytes, the mask of their payload bits, and the
# least code point encoded this way.
_LEADS = (
    (0x00, 0x7F, 0, 0x7F, 0),
    (0xC2, 0xDF, 1, 0x1F, 0x80),
    (0xE0, 0xEF, 2, 0x0F, 0x800),
    (0xF0, 0xF4, 3, 0x07, 0x10000),
)
_SURROGATES = (0xD800, 0xDFFF)
_LARGEST = 0x10FFFF
_SHOWN = 6

Ranges = tuple[tuple[int, int], ...]


def characters_after(language: Language, state: int) -> Ranges:
    """Code points that may follow a state: disjoint inclusive ranges, ascending."""

    @cache
    def continuations(state: int, count: int) -> Ranges:
        """Values of ``count`` continuation bytes that a state accepts."""
        if count == 0:
            return ((0, 0),)
        row, shift = targets(language, state), 6 * (count - 1)
        found = [
            (low + (bits << shift), high + (bits << shift))
            for bits in range(64)
            if row[0x80 + bits] >= 0
            for low, high in continuations(row[0x80 + bits], count - 1)
        ]
        return _joined(found)

    found, row = [], targets(language, state)
    for first, last, count, bits, least in _LEADS:
        for byte in range(first, last + 1):
            if row[byte] >= 0:
                begin = (byte & bits) << 6 * count
                onwards = ((begin + low, begin + high) for low, high in continuations(row[byte], count))
                found += [pair for low, high in onwards for pair in _characters(max(low, least), high)]
    return _joined(found)


def _characters(low: int, high: int) -> Ranges:
    """The characters in a range of code points; byte languages may also contain invalid UTF-8."""
    first, last = _SURROGATES
    pieces = ((low, min(high, first - 1)), (max(low, last + 1), min(high, _LARGEST)))
    return tuple((begin, end) for begin, end in pieces if begin <= end)


def describe(ranges: Ranges, *, may_end: bool) -> str:
    """``'-', '0' to '9' or the end of the text``; large sets are described by their complement."""
    pieces = []
    if sum(high - low + 1 for low, high in ranges) > _LARGEST // 2:
        lacking = _complement(ranges)
        pieces.append(f"any character except {_listed(lacking)}" if lacking else "any character")
    elif ranges:
        pieces.append(_listed(ranges, last_joint=", " if may_end else " or "))
    if may_end:
        pieces.append("the end of the text")
    return " or ".join(pieces) or "nothing"


def _listed(ranges: Ranges, last_joint: str = " or ") -> str:
    pieces = [_range(low, high) for low, high in ranges[:_SHOWN]]
    if len(ranges) > _SHOWN:
        pieces.append(f"{len(ranges) - _SHOWN} more ranges")
    return last_joint.join([", ".join(pieces[:-1]), pieces[-1]]) if len(pieces) > 1 else pieces[0]


def _range(low: int, high: int) -> str:
    if low == high:
        return _character(low)
    return f"{_character(low)}{', ' if high == low + 1 else ' to '}{_character(high)}"


def _character(point: int) -> str:
    char = chr(point)
    return repr(char) if point < 0x80 or (char.isprintable() and not _is_mark(char)) else f"U+{point:04X}"


def _is_mark(char: str) -> bool:
    """Return whether it is a combining character, drawn over the one before it."""
    from unicodedata import category

    return category(char).startswith("M")


def _joined(ranges: list[tuple[int, int]]) -> Ranges:
    """Merge ranges into ascending disjoint ones."""
    joined: list[tuple[int, int]] = []
    for low, high in ranges:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def _complement(ranges: Ranges) -> Ranges:
    """Code points in none of the ranges, without surrogates."""
    found, begin = [], 0
    for low, high in sorted([*ranges, _SURROGATES]):
        if begin < low:
            found.append((begin, low - 1))
        begin = max(begin, high + 1)
    if begin <= _LARGEST:
        found.append((begin, _LARGEST))
    return tuple(found)
