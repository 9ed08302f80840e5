r"""Minterms: the coarsest partition of the code points that respects a list of character sets.

Automata over characters run on *classes*, one per distinct membership vector, so that their size depends on how many sets a
pattern uses and not on how many characters these hold: ``\\w+`` has two classes.

Invariant: class 0 is what no set contains; surrogates belong to no class (``INVALID``), since UTF-8 cannot spell them.
Complexity: a sweep over the intervals, O(intervals * sets / 64).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import Int32Array
from guided.patterns.charset import Charset

__all__ = ["INVALID", "Partition", "partition"]

INVALID = -1
_FIRST_SURROGATE, _AFTER_SURROGATES, _END = 0xD800, 0xE000, 0x110000


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Classes of code points.

    Attributes
    ----------
    starts : ndarray[int32], shape (n_intervals,)
        First code point of each interval, ascending, from 0; an interval ends where the next begins.
    classes : ndarray[int32], shape (n_intervals,)
        Class of each interval, or ``INVALID``.
    n_classes : int
        Number of classes; class 0 is the characters of no set.
    set_indptr, set_classes : ndarray[int32]
        CSR from a set's position in the input to its classes.
    """

    starts: Int32Array
    classes: Int32Array
    n_classes: int
    set_indptr: Int32Array
    set_classes: Int32Array

    def charset(self, classes: Sequence[int]) -> Charset:
        """The characters of some classes."""
        wanted = np.isin(self.classes, np.asarray(classes, np.int32))
        ends = np.append(self.starts[1:], _END) - 1
        return Charset.of(zip(self.starts[wanted].tolist(), ends[wanted].tolist(), strict=True))


def partition(charsets: Sequence[Charset]) -> Partition:
    """The minterms of ``charsets``."""
    events: dict[int, int] = {0: 0, _FIRST_SURROGATE: 0, _AFTER_SURROGATES: 0}
    for number, charset in enumerate(charsets):
        bit = 1 << number
        for low, high in charset.ranges:
            # An event toggles membership; two sets that meet at a point toggle different bits.
            events[low] = events.get(low, 0) ^ bit
            events[high + 1] = events.get(high + 1, 0) ^ bit
    events.pop(_END, None)
    numbers: dict[int, int] = {0: 0}
    starts: list[int] = []
    classes: list[int] = []
    members = 0
    for point in sorted(events):
        members ^= events[point]
        surrogate = _FIRST_SURROGATE <= point < _AFTER_SURROGATES
        number = INVALID if surrogate else numbers.setdefault(members, len(numbers))
        if not classes or classes[-1] != number:
            starts.append(point)
            classes.append(number)
    rows: list[list[int]] = [[] for _ in charsets]
    for signature, number in numbers.items():
        while signature:
            low_bit = signature & -signature
            rows[low_bit.bit_length() - 1].append(number)
            signature ^= low_bit
    indptr = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    flat = np.fromiter((number for row in rows for number in row), np.int32, int(indptr[-1]))
    return Partition(np.array(starts, np.int32), np.array(classes, np.int32), len(numbers), indptr, flat)
