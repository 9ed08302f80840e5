"""Sets of characters as sorted, disjoint intervals of code points.

The universe is Unicode's scalar values: 0 to 0x10FFFF without the surrogates 0xD800 to 0xDFFF, because text is UTF-8 and
UTF-8 cannot encode a surrogate. Sets are sparse: union sorts the intervals (a merge for two sets); intersection, difference and
complement are linear in them; membership is a binary search.

Invariant: equal sets have equal ``ranges``. Intervals are not adjacent, except that one ending at 0xD7FF and one beginning at 0xE000 stay
separate, as UTF-8 needs.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["SURROGATE", "Charset"]

SURROGATE = re.compile("[\ud800-\udfff]")
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
        """Return the union of inclusive ranges in any order; surrogates are dropped."""
        pieces: list[tuple[int, int]] = []
        for low, high in sorted(_without_surrogates(ranges)):
            if pieces and low <= pieces[-1][1] + 1:
                if high > pieces[-1][1]:
                    pieces[-1] = (pieces[-1][0], high)
            else:
                pieces.append((low, high))
        return cls(tuple(pieces))

    @classmethod
    def char(cls, character: str) -> "Charset":
        """Return the set of one character."""
        code = ord(character)
        return cls.EMPTY if _SURROGATES[0] <= code <= _SURROGATES[1] else cls(((code, code),))

    def single(self) -> str | None:
        """Return the only character, or None if there is not exactly one."""
        return chr(self.ranges[0][0]) if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1] else None

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
        pieces: list[tuple[int, int]] = []
        mine, others = iter(self.ranges), iter(other.ranges)
        a, b = next(mine, None), next(others, None)
        while a and b:
            low, high = max(a[0], b[0]), min(a[1], b[1])
            if low <= high:
                pieces.append((low, high))
            if a[1] < b[1]:
                a = next(mine, None)
            else:
                b = next(others, None)
        return Charset(tuple(pieces))

    def __sub__(self, other: "Charset") -> "Charset":
        return self & ~other

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        after = bisect_right(self.ranges, (point, _LAST))
        return after > 0 and point <= self.ranges[after - 1][1]

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        """Return the number of characters."""
        return sum(high - low + 1 for low, high in self.ranges)


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
