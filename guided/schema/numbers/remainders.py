"""The joint remainders of whole parts by several divisors, and those after each further digit, as arrays.

`Divisor` computes the same for single states. Members are numbered from 0 in order of discovery.

Complexity: O(members x 10 x divisors), and one int per combination of the divisors' states.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from guided.arrays import DEAD, Int32Array, Int64Array
from guided.schema.numbers.divisor import Divisor

__all__ = ["Remainders", "combinations", "distinct_rows"]

# Rows are packed into one number while it stays below this.
_PACKED_LIMIT = 1 << 62


def combinations(divisors: Sequence[Divisor]) -> int:
    """Return the number of combinations of states of whole parts."""
    return prod(divisor.n_wholes for divisor in divisors)


class Remainders:
    """The remainders found so far.

    Parameters
    ----------
    divisors : sequence of Divisor
        At least one.
    most : int
        The search stops beyond this many members.

    Attributes
    ----------
    count : int
        Members so far.
    """

    __slots__ = ("_divisors", "_known", "_numbers", "_onward", "_strides", "_wholes", "count", "most")

    def __init__(self, divisors: Sequence[Divisor], most: int) -> None:
        self._divisors = divisors
        self._strides: list[int] = []
        size = 1
        for divisor in divisors:
            self._strides.append(size)
            size *= divisor.n_wholes
        self._wholes: list[Int64Array] = [
            divisor.all_wholes() * stride for divisor, stride in zip(divisors, self._strides, strict=True)
        ]
        # Member number of each combination.
        self._numbers: Int32Array = np.full(size, DEAD, np.int32)
        # Combinations in order of their numbers, and the combinations after each digit.
        self._known: list[Int64Array] = []
        self._onward: list[Int64Array] = []
        self.count = 0
        self.most = most

    def number(self, rests: tuple[int, ...]) -> int:
        """Return the number of a member; everything reachable by further digits becomes a member too."""
        code = sum(rest * stride for rest, stride in zip(rests, self._strides, strict=True))
        found = self._numbers.item(code)
        if found == DEAD:
            found = self.count
            fresh: Int64Array = np.array([code])
            while len(fresh) and self.count <= self.most:
                self._numbers[fresh] = np.arange(self.count, self.count + len(fresh))
                self.count += len(fresh)
                after = self._after(fresh)
                self._known.append(fresh)
                self._onward.append(after)
                fresh = np.unique(after)
                fresh = fresh[self._numbers[fresh] == DEAD]
        return found

    def _after(self, codes: Int64Array) -> Int64Array:
        found = np.zeros((len(codes), 10), np.int64)
        for divisor, stride, wholes in zip(self._divisors, self._strides, self._wholes, strict=True):
            found += wholes[codes // stride % divisor.n_wholes]
        return found

    def onward(self, begin: int) -> Int32Array:
        """Return the members after each of the ten digits, for the members from ``begin`` on: shape (n, 10)."""
        numbers: Int32Array = self._numbers[np.concatenate(self._onward)[begin:]]
        return numbers

    def fractions(self, begin: int) -> list[Int64Array]:
        """Return, per divisor, the states before the first digit of the fraction, for the members from ``begin`` on."""
        codes = np.concatenate(self._known)[begin:]
        return [
            divisor.all_fractions(codes // stride % divisor.n_wholes)
            for divisor, stride in zip(self._divisors, self._strides, strict=True)
        ]


def distinct_rows(columns: Sequence[Int64Array]) -> tuple[list[tuple[int, ...]], Int64Array]:
    """Return the distinct rows of a table, and the index of each row among them; entries are at least -1."""
    code, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        width = int(column.max()) + 2
        # PERF: rows are compared as packed numbers; sorting them as rows took half of an exploration (`python -m benchmarks.first_mask`).
        if size * width >= _PACKED_LIMIT:
            different, code = np.unique(code, return_inverse=True)
            size = len(different)
        code = code * width + column + 1
        size *= width
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), which
