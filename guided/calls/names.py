"""`Names`: the names of an inventory, sorted, as an implicit trie.

A place in the trie is the interval of sorted names with a common prefix, and the length of that prefix. Successors are found by bisection,
so building the trie means sorting, adding a name means copying, and no node exists before a text reaches it.

Complexity: O(n log n) to build; O(log n) per place and possible next byte; O(bytes) copied per change.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, UInt8Array, freeze
from guided.kernels import intervals as kernel
from guided.schema.pushdown.frames import SubTrie

__all__ = ["Names", "Places"]


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Places in the trie of names.

    Attributes
    ----------
    low, high, depth : ndarray[int64], shape (n,)
        Interval of the names with a common prefix, and the length of the prefix in bytes.
    parent : ndarray[int32], byte : ndarray[uint8], shape (n,)
        The parent of each place and the byte that leads to it; unused for the first place.
    """

    low: Int64Array
    high: Int64Array
    depth: Int64Array
    parent: Int32Array
    byte: UInt8Array


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Distinct names, sorted as bytes.

    Attributes
    ----------
    data : ndarray[uint8], indptr : ndarray[int64], shape (n + 1,)
        CSR: the bytes of each name.
    """

    data: UInt8Array = field(repr=False)
    indptr: Int64Array = field(repr=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Build from a list of names. O(n log n)."""
        texts = sorted(name.encode() for name in names)
        indptr = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=indptr[1:])
        return cls(freeze(np.frombuffer(b"".join(texts), np.uint8)), freeze(indptr))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, place: int) -> bytes:
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self.data[self.indptr[place] : self.indptr[place + 1]].tobytes()

    def length(self, place: int) -> int:
        """Length of a name in bytes."""
        return int(self.indptr[place + 1] - self.indptr[place])

    def only(self, kept: BoolArray) -> "Names":
        """Return the names at the places where `kept` is True."""
        lengths = np.diff(self.indptr)
        indptr = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(lengths[kept], out=indptr[1:])
        return Names(freeze(self.data[np.repeat(kept, lengths)]), freeze(indptr))

    def spelled_with(self, letters: BoolArray) -> "Names":
        """Return the names whose bytes are all letters: ndarray[bool], shape (256,)."""
        if letters.all():
            return self
        missing = np.concatenate([[0], np.cumsum(~letters[self.data])])
        fits: BoolArray = missing[self.indptr[1:]] == missing[self.indptr[:-1]]
        return self if fits.all() else self.only(fits)

    def within(self, low: int, high: int, depth: int, byte: int) -> tuple[int, int]:
        """Return the interval of the names that continue with a byte; may be empty."""
        out = np.empty(2, np.int64)
        kernel.within(self.data, self.indptr, low, high, depth, byte, out)
        return int(out[0]), int(out[1])

    def rows(self, places: Places) -> tuple[Int32Array, BoolArray]:
        """Return the possible next bytes at places.

        Returns
        -------
        rows : ndarray[int32], shape (n, 256)
            UNKNOWN for each byte that continues a name, DEAD for the others.
        ends : ndarray[bool], shape (n,)
            Whether a name ends there.
        """
        rows: Int32Array = np.empty((len(places.low), 256), np.int32)
        ends: BoolArray = np.empty(len(places.low), np.bool_)
        kernel.next_bytes(self.data, self.indptr, places.low, places.high, places.depth, rows, ends)
        return rows, ends

    def below(self, low: int, high: int, depth: int, trie: SubTrie) -> Places:
        """Return a place and the places below it on the paths of a trie.

        Parameters
        ----------
        low, high, depth : int
            The place.
        trie : SubTrie
        """
        # PERF: there are at most as many places as bytes left in the names, and as nodes; small buffers are cheap to allocate.
        left = int(self.indptr[high] - self.indptr[low]) - (high - low) * depth
        room = min(left, trie.end - trie.begin) + 1
        lows, highs, read = (np.empty(room, np.int64) for _ in range(3))
        parent, label = np.zeros(room, np.int32), np.zeros(room, np.uint8)
        lows[0], highs[0], read[0] = low, high, depth
        path = np.empty(room, np.int32)
        count = kernel.meet(
            self.data, self.indptr, trie.byte, trie.depth, trie.skip, trie.begin, trie.end, path, lows, highs, read,
            parent, label,
        )  # fmt: skip
        return Places(lows[:count], highs[:count], read[:count], parent[:count], label[:count])

    def shortest(self, low: int, high: int) -> int:
        """Index of the shortest name of an interval, the first of several."""
        return low + int(np.argmin(np.diff(self.indptr[low : high + 1])))

    def changed(self, added: Iterable[str], removed: Iterable[str]) -> "Names":
        """Return a copy with new names added and existing names removed. O(bytes) copied."""
        names = self
        gone = [self._place(name.encode()) for name in removed]
        if gone:
            kept = np.ones(len(self), np.bool_)
            kept[gone] = False
            names = self.only(kept)
        new = sorted(name.encode() for name in added)
        return names._with(new) if new else names

    def _with(self, new: list[bytes]) -> "Names":
        """Add sorted names."""
        places = [self._place(name) for name in new]
        data: list[UInt8Array] = []
        lengths: list[Int64Array] = []
        known = np.diff(self.indptr)
        for name, begin, end in zip(new, [0, *places], places, strict=False):
            data += [self.data[self.indptr[begin] : self.indptr[end]], np.frombuffer(name, np.uint8)]
            lengths += [known[begin:end], np.array([len(name)])]
        data.append(self.data[self.indptr[places[-1]] :])
        lengths.append(known[places[-1] :])
        indptr = np.zeros(len(self) + len(new) + 1, np.int64)
        np.cumsum(np.concatenate(lengths), out=indptr[1:])
        return Names(freeze(np.concatenate(data)), freeze(indptr))

    def _place(self, name: bytes) -> int:
        """The index of a name, or its insertion point."""
        return bisect_left(self, name)
