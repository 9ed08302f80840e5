"""`Names`: the names of an inventory, sorted, as a trie that is not written down.

A place in the trie is an interval of the sorted names, those that begin alike, and how much of them has been read. What may come next
is read off a column of the names. So to make the trie, or to add a name, is to sort: no node exists before a text gets there.

Complexity: O(n log n) to make; O(interval) vectorized for the places below one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import BoolArray, Int64Array, UInt8Array, freeze

__all__ = ["Names"]


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Distinct names without NUL, sorted as bytes.

    Attributes
    ----------
    lengths : ndarray[int64], shape (n,)
    """

    _texts: npt.NDArray[Any] = field(repr=False)
    lengths: Int64Array

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """The names of a list. O(n log n)."""
        return cls._sorted(np.array(sorted(name.encode() for name in names), np.bytes_))

    @classmethod
    def _sorted(cls, texts: npt.NDArray[Any]) -> "Names":
        return cls(texts, freeze(np.char.str_len(texts).astype(np.int64)))

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: int) -> bytes:
        return bytes(self._texts[place])

    def only(self, kept: BoolArray) -> "Names":
        """Those of some places."""
        return Names(self._texts[kept], freeze(self.lengths[kept]))

    def spelled_with(self, letters: BoolArray) -> "Names":
        """Those whose bytes are all among some: ndarray[bool], shape (256,)."""
        if letters.all():
            return self
        columns = self._columns()
        fits: BoolArray = (letters[columns] | (columns == 0)).all(axis=1)
        return self if fits.all() else self.only(fits)

    def below(
        self, low: Int64Array, high: Int64Array, depth: int
    ) -> tuple[Int64Array, Int64Array, Int64Array, UInt8Array, BoolArray]:
        """The places one byte below some.

        Parameters
        ----------
        low, high : ndarray[int64], shape (n,)
            Intervals of one depth, ascending, apart from each other.

        Returns
        -------
        parent, low, high : ndarray[int64], shape (m,)
        byte : ndarray[uint8], shape (m,)
        ends : ndarray[bool], shape (n,)
            Does a name end at each of the places?
        """
        first, last = int(low[0]), int(high[-1])
        columns = self._columns()
        if depth >= columns.shape[1]:
            none = np.zeros(0, np.int64)
            return none, none, none, none.astype(np.uint8), np.ones(len(low), np.bool_)
        column = columns[first:last, depth]
        is_start = np.empty(last - first, np.bool_)
        is_start[0] = True
        np.not_equal(column[1:], column[:-1], out=is_start[1:])
        is_start[low - first] = True
        starts = np.flatnonzero(is_start).astype(np.int64) + first
        parent = np.searchsorted(low, starts, "right").astype(np.int64) - 1
        ends = np.minimum(np.append(starts[1:], last), high[parent])
        byte = columns[starts, depth]
        inside = starts < high[parent]
        is_end = np.zeros(len(low), np.bool_)
        is_end[parent[inside & (byte == 0)]] = True
        kept = inside & (byte != 0)
        return parent[kept], starts[kept], ends[kept], byte[kept], is_end

    def shortest(self, low: int, high: int) -> int:
        """Place of the shortest name of an interval, the first of several."""
        return low + int(np.argmin(self.lengths[low:high]))

    def _columns(self) -> UInt8Array:
        """The bytes of the names: uint8, shape (n, longest), zero after the end of each."""
        columns: UInt8Array = self._texts.view(np.uint8).reshape(len(self._texts), self._texts.itemsize)
        return columns

    def changed(self, added: Iterable[str], removed: Iterable[str]) -> "Names":
        """With names that are not there, and without some that are. O(n)."""
        texts = self._texts
        gone = [name.encode() for name in removed]
        if gone:
            kept = np.ones(len(texts), np.bool_)
            kept[np.searchsorted(texts, np.array(gone, np.bytes_))] = False
            texts = texts[kept]
        new = sorted(name.encode() for name in added)
        if new:
            spelled: npt.NDArray[Any] = np.array(new, np.bytes_)
            wide = np.dtype(f"S{max(texts.itemsize, spelled.itemsize)}")
            texts = np.insert(texts.astype(wide, copy=False), np.searchsorted(texts, spelled), spelled)
        return self._sorted(texts)
