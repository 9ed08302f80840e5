r"""The decision tree of ``\uXXXX``: from four hexadecimal digits, or eight as a surrogate pair, to a character's class.

A node has a column per digit, and two more, ``\`` and ``u``, between the halves of a pair. Values are those of `guided.kernels.utf8`: a
class, -1 for nothing, -2 - j for node j. Equal nodes of a level are shared, so a set spread over all of Unicode has a tree of some
hundred nodes.

Complexity: O(65,536 + 1,024 per high surrogate whose characters differ), by arrays.
"""

from collections.abc import Sequence

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.patterns.charset import Charset

__all__ = ["HexTree"]

_BACKSLASH, _U, _WIDTH = 16, 17, 18
_CONTROLS = 0x20
_HIGH, _LOW, _SUPPLEMENTARY, _END = 0xD800, 0xDC00, 0x10000, 0x110000
# Multipliers that hash rows; collisions are possible.
_WEIGHTS = np.array([pow(3, 40 * i + 1, 2**61 - 1) for i in range(16)], np.uint64)


class HexTree:
    """The nodes of a tree, children before parents.

    Parameters
    ----------
    starts, classes : ndarray[int32], shape (n_intervals,)
        First code points of the intervals, and their classes.
    first : int
        Number of the first node.
    """

    def __init__(self, starts: Int32Array, classes: Int32Array, first: int) -> None:
        self._starts, self._classes, self._first = starts, classes, first
        self.rows: list[list[int]] = []

    def classes_of(self, points: Sequence[int]) -> Int32Array:
        """Return the classes of code points."""
        return self._classes[np.searchsorted(self._starts, points, side="right") - 1]

    def root(self, escaped: Charset) -> int:
        r"""Return the value of ``\u`` for the characters that may be escaped: all of them, or some below 256."""
        if not escaped:
            return DEAD
        last = escaped.ranges[-1][1]
        if last < _CONTROLS:
            return self._controls(escaped)
        values = np.full(_SUPPLEMENTARY, DEAD, np.int32)
        for low, high in escaped.ranges:
            end = min(high + 1, len(values))
            values[low:end] = self._each(low, end)
        if last >= _SUPPLEMENTARY:
            values[_HIGH:_LOW] = self._pairs()
        while len(values) > 1:
            values = self._level(values)
        return int(values[0])

    def _controls(self, escaped: Charset) -> int:
        """Return the same for some of the first 32 characters. PERF: a tenth of the time."""
        classes = self.classes_of(range(_CONTROLS)).tolist()
        values = [DEAD] * _CONTROLS
        for low, high in escaped.ranges:
            values[low : high + 1] = classes[low : high + 1]
        digits = [DEAD] * 16
        digits[:2] = [self._node(values[i : i + 16]) if max(values[i : i + 16]) >= 0 else DEAD for i in (0, 16)]
        for _ in range(2):
            digits = [self._node(digits)] + [DEAD] * 15
        return self._node(digits)

    def _each(self, low: int, end: int) -> Int32Array:
        """Return the class of each code point from ``low`` to ``end`` (exclusive)."""
        if low >= end:
            return np.empty(0, np.int32)
        begin, after = np.searchsorted(self._starts, (low, end - 1), side="right").tolist()
        edges = np.append(self._starts[begin:after], end)
        return np.repeat(self._classes[begin - 1 : after], np.diff(np.append(low, edges)))

    def _pairs(self) -> Int32Array:
        """Return the value after each high surrogate."""
        begins = np.arange(_SUPPLEMENTARY, _END, 0x400)
        first = np.searchsorted(self._starts, begins, side="right") - 1
        last = np.searchsorted(self._starts, begins + 0x3FF, side="right") - 1
        is_mixed = first != last
        mixed = np.flatnonzero(is_mixed)
        # Why only these classes: every node must be reachable.
        uniform, which_of = np.unique(self._classes[first[~is_mixed]], return_inverse=True)
        blocks = [np.full(0x400, value, np.int32) for value in uniform.tolist()]
        blocks += [self._each(begin, begin + 0x400) for begin in begins[mixed].tolist()]
        low = self._level(self._level(np.concatenate(blocks)))
        halves = np.full((len(blocks), 16), DEAD, np.int32)
        halves[:, 12:] = low.reshape(-1, 4)
        found = np.full((len(blocks), 16), DEAD, np.int32)
        found[:, 0xD] = self._level(halves.reshape(-1))
        after = self._step(self._step(self._level(found.reshape(-1)), _U), _BACKSLASH)
        which = np.empty(len(begins), np.int64)
        which[~is_mixed] = which_of
        which[mixed] = len(uniform) + np.arange(len(mixed))
        return after[which]

    def _level(self, values: Int32Array) -> Int32Array:
        """Make one node per sixteen values; DEAD for sixteen DEAD values."""
        block = values.reshape(-1, 16)
        sums = (block + 2).astype(np.uint64) @ _WEIGHTS
        _, index, inverse = np.unique(sums, return_index=True, return_inverse=True)
        if not np.array_equal(block[index][inverse], block):
            _, index, inverse = np.unique(block, axis=0, return_index=True, return_inverse=True)
        numbers = np.full(len(index), DEAD, np.int32)
        for i, row in enumerate(block[index]):
            if (row != DEAD).any():
                numbers[i] = self._node(row.tolist())
        found: Int32Array = numbers[inverse.reshape(-1)]
        return found

    def _step(self, values: Int32Array, column: int) -> Int32Array:
        """Make a node before each value, with one column."""
        found = np.full(len(values), DEAD, np.int32)
        for i, value in enumerate(values.tolist()):
            row = [DEAD] * _WIDTH
            row[column] = value
            found[i] = self._node(row)
        return found

    def _node(self, columns: list[int]) -> int:
        self.rows.append(columns + [DEAD] * (_WIDTH - len(columns)))
        return -2 - (self._first + len(self.rows) - 1)
