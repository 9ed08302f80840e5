r"""Minterms: the coarsest partition of the code points that respects a list of character sets.

Automata over characters run on *classes*, one per distinct membership vector, so their size depends on the number of sets in a
pattern and not on the number of characters in these: ``\\w+`` has two classes.

Invariant: class 0 holds the characters of no set; surrogates belong to no class (``INVALID``), because UTF-8 cannot encode them.
Complexity: O(pieces of all sets), where a piece lies between two neighboring interval ends; budgeted, because n overlapping sets have n^2
pieces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array
from guided.errors import LimitError
from guided.kernels import partition as kernel
from guided.limits import Limits
from guided.patterns.charset import Charset

__all__ = ["INVALID", "Partition", "joint", "partition"]

INVALID = -1
_FIRST_SURROGATE, _AFTER_SURROGATES, _END = 0xD800, 0xE000, 0x110000
_FIXED = np.array([0, _FIRST_SURROGATE, _AFTER_SURROGATES], np.int32)
_TOO_MANY = "too many different sets of characters"


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
        Number of classes; class 0 holds the characters of no set, and may be empty.
    set_indptr, set_classes : ndarray[int32]
        CSR from a set's position in the input to its classes; then from those of the symbols.
    symbols : mapping of int to int
        The class of each symbol that is not a character.
    """

    starts: Int32Array
    classes: Int32Array
    n_classes: int
    set_indptr: Int32Array
    set_classes: Int32Array
    symbols: Mapping[int, int] = field(default_factory=dict)

    def charset(self, classes: Sequence[int] | npt.NDArray[np.integer[Any]]) -> Charset:
        """Return the characters of some classes."""
        wanted = np.isin(self.classes, np.asarray(classes, np.int32))
        ends = np.append(self.starts[1:], _END) - 1
        return Charset.of(zip(self.starts[wanted].tolist(), ends[wanted].tolist(), strict=True))


def partition(charsets: Sequence[Charset], limits: Limits | None = None, symbols: Sequence[int] = ()) -> Partition:
    """Compute the minterms of ``charsets``; each of the symbols has a class of its own.

    Raises
    ------
    LimitError
        The pieces of all sets exceed ``transitions`` of ``limits``.
    """
    limit = (limits or Limits()).transitions
    lengths = [len(charset.ranges) for charset in charsets]
    if sum(lengths) > limit:
        raise LimitError("transitions", sum(lengths), limit, _TOO_MANY)
    indptr = np.zeros(len(charsets) + 1, np.int32)
    np.cumsum(lengths, out=indptr[1:])
    flat = chain.from_iterable(chain.from_iterable(charset.ranges for charset in charsets))
    ranges = np.fromiter(flat, np.int32, 2 * int(indptr[-1])).reshape(-1, 2)
    low, end = ranges[:, 0], ranges[:, 1] + 1
    points = np.unique(np.concatenate([_FIXED, low, end]))
    points = points[points < _END]
    n = len(points)
    first, last = (np.searchsorted(points, edge).astype(np.int32) for edge in (low, end))
    pieces = int((last - first).sum(dtype=np.int64))
    if pieces > limit:
        raise LimitError("transitions", pieces, limit, _TOO_MANY)
    class_of, size = np.zeros(n, np.int32), np.zeros(n + 1, np.int32)
    size[0] = n + 1
    hits, moved, touched = np.zeros(n + 1, np.int32), np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    n_classes = int(kernel.classify(indptr, first, last, class_of, size, hits, moved, touched))
    set_indptr, set_classes = np.zeros(len(indptr), np.int32), np.empty(pieces, np.int32)
    kernel.list_classes(indptr, first, last, class_of, np.full(n_classes, -1, np.int32), set_classes, set_indptr)
    set_classes = set_classes[: set_indptr[-1]]
    if 2 * len(set_classes) < pieces:
        # What is kept holds no room.
        set_classes = set_classes.copy()
    starts, classes = _merged(points, class_of)
    if symbols:
        own = np.arange(len(symbols), dtype=np.int32)
        set_indptr = np.concatenate([set_indptr, set_indptr[-1] + 1 + own])
        set_classes = np.concatenate([set_classes, n_classes + own])
    numbers = {symbol: n_classes + i for i, symbol in enumerate(symbols)}
    return Partition(starts, classes, n_classes + len(symbols), set_indptr, set_classes, numbers)


def joint(left: Partition, right: Partition) -> tuple[Partition, Int32Array]:
    """Return the coarsest common refinement: (partition without sets, class of each side for every class: int32, shape (n, 2))."""
    points = np.union1d(left.starts, right.starts)
    sides = [side.classes[np.searchsorted(side.starts, points, side="right") - 1] for side in (left, right)]
    pairs, inverse = np.unique(sides[0].astype(np.int64) * right.n_classes + sides[1], return_inverse=True)
    valid = sides[0] != INVALID
    # Invariant: surrogates are INVALID on both sides, which is the smallest pair.
    n_invalid = int((pairs < 0).sum())
    starts, classes = _merged(points, np.where(valid, inverse - n_invalid, INVALID).astype(np.int32))
    found = np.stack(np.divmod(pairs[n_invalid:], right.n_classes), axis=1).astype(np.int32)
    none = np.zeros(1, np.int32)
    return Partition(starts, classes, len(found), none, none[:0]), found


def _merged(points: Int32Array, classes: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Merge neighboring intervals of one class, and leave surrogates without a class; return starts and classes."""
    classes = np.where((points >= _FIRST_SURROGATE) & (points < _AFTER_SURROGATES), INVALID, classes).astype(np.int32)
    begins = np.append(True, classes[1:] != classes[:-1])
    return points[begins].astype(np.int32), classes[begins]
