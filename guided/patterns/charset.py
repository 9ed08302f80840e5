"""Sets of characters as sorted, disjoint intervals of code points.

The universe is Unicode's scalar values: 0 to 0x10FFFF without the surrogates 0xD800 to 0xDFFF, because text is UTF-8 and
UTF-8 cannot spell a surrogate. All operations are linear in the number of intervals; nothing is dense.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["Charset"]

_SURROGATES = (0xD800, 0xDFFF)
_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Charset:
    """A set of scalar values.

    Attributes
    ----------
    ranges : tuple of (int, int)
        Inclusive intervals, ascending, disjoint and not adjacent, without surrogates.
    """

    ranges: tuple[tuple[int, int], ...]

    UNIVERSE: ClassVar["Charset"]
    EMPTY: ClassVar["Charset"]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> "Charset":
        """The union of inclusive ranges in any order; surrogates are left out."""
        pieces: list[tuple[int, int]] = []
        for low, high in sorted(_without_surrogates(ranges)):
            if pieces and _touches(pieces[-1][1], low):
                if high > pieces[-1][1]:
                    pieces[-1] = (pieces[-1][0], high)
            else:
                pieces.append((low, high))
        return cls(tuple(pieces))

    @classmethod
    def char(cls, character: str) -> "Charset":
        """The set of one character."""
        return cls.of([(ord(character), ord(character))])

    def __or__(self, other: "Charset") -> "Charset":
        return Charset.of(self.ranges + other.ranges)

    def __invert__(self) -> "Charset":
        gaps, start = [], 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= _LAST:
            gaps.append((start, _LAST))
        return Charset.of(gaps)

    def __and__(self, other: "Charset") -> "Charset":
        return ~(~self | ~other)

    def __sub__(self, other: "Charset") -> "Charset":
        return ~(~self | other)

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        return any(low <= point <= high for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        """Number of characters."""
        return sum(high - low + 1 for low, high in self.ranges)


def _touches(high: int, low: int) -> bool:
    # Invariant: the gap of surrogates does not split an interval in two: ..0xD7FF and 0xE000.. stay apart, as UTF-8 needs them.
    return low <= high + 1


def _without_surrogates(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    first, last = _SURROGATES
    for low, high in ranges:
        if high < first or low > last:
            yield low, high
            continue
        if low < first:
            yield low, first - 1
        if high > last:
            yield last + 1, high


Charset.EMPTY = Charset(())
Charset.UNIVERSE = Charset(((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, _LAST)))
