"""Trimming, minimization and the canonical form: equal languages give equal arrays.

The canonical form of a table is trim (every state is reachable and reaches acceptance), minimal, numbered breadth first by
ascending class, with equal columns merged and classes numbered by their least byte. The empty language is one state that
accepts nothing. States with different labels are never merged.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.growth import room
from guided.kernels import minimize as kernel

__all__ = [
    "canonical",
    "distances",
    "distinct",
    "distinct_columns",
    "inverse_edges",
    "merge_columns",
    "merged",
    "minimal",
]


def inverse_edges(table: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Return the CSR by (target, class) of the sources of edges; shapes ``(n k + 1,)`` and ``(n_edges,)``. O(n k)."""
    indptr = np.zeros(table.size + 1, np.int32)
    source = np.empty(int(np.count_nonzero(table >= 0)), np.int32)
    kernel.invert(table, indptr, source)
    return indptr, source


def distances(table: Int32Array, ends: BoolArray, inverse: tuple[Int32Array, Int32Array] | None = None) -> Int32Array:
    """Return the least number of edges from each state to one of some states: int32, -1 for none. O(n k).

    ``inverse``: the `inverse_edges` of the table, for several searches.
    """
    distance, queue = np.empty((2, len(table)), np.int32)
    kernel.distances(ends, *(inverse or inverse_edges(table)), table.shape[1], distance, queue)
    return distance


def minimal(
    table: Int32Array, accepting: BoolArray, labels: Int32Array | None = None, start: int = 0
) -> tuple[Int32Array, BoolArray, Int32Array]:
    """Return the minimal trim automaton, start state 0: (table, accepting, labels). O(k n log n).

    The numbering is deterministic but not canonical. Classes are unchanged. Labels are 0 if not given.
    """
    labels = np.zeros(len(table), np.int32) if labels is None else labels
    columns = np.arange(table.shape[1], dtype=np.int32)
    return _renumbered(*_merged(np.ascontiguousarray(table), accepting, labels, start, columns), columns)


def _merged(
    table: Int32Array, accepting: BoolArray, labels: Int32Array, start: int, columns: Int32Array
) -> tuple[Int32Array, BoolArray, Int32Array, int]:
    """Return the minimal trim automaton of some columns, in no particular order: (table, accepting, labels, start)."""
    n = len(table)
    every = np.arange(table.shape[1], dtype=np.int32)
    order, number = np.empty(n, np.int32), np.full(n, DEAD, np.int32)
    reached = kernel.breadth_first(table, columns, start, order, number)
    is_part = reached < n or not np.array_equal(columns, every)
    if is_part:
        table, accepting, labels = _select(table, accepting, labels, order[:reached], number, columns)
        columns = every[: len(columns)]
    table, accepting, labels, number = merged(table, accepting, labels)
    return table, accepting, labels, max(int(number[0 if is_part else start]), 0)


def merged(
    table: Int32Array, accepting: BoolArray, labels: Int32Array
) -> tuple[Int32Array, BoolArray, Int32Array, Int32Array]:
    """Merge equivalent states, from whichever of them a text starts, and drop those that do not reach acceptance.

    Returns table, accepting and labels, in no particular order, and the new state of each state, or ``DEAD``. If all are dropped, one state
    that accepts nothing is left. O(k n log n).
    """
    n, k = table.shape
    number = np.arange(n, dtype=np.int32)
    indptr, source = inverse_edges(table)
    distance, queue = np.empty(n, np.int32), np.empty(n, np.int32)
    if kernel.distances(accepting, indptr, source, k, distance, queue) < n:
        live = np.flatnonzero(distance >= 0).astype(np.int32)
        number[:] = DEAD
        if not len(live):
            return np.full((1, k), DEAD, np.int32), np.zeros(1, np.bool_), np.zeros(1, np.int32), number
        number[live] = np.arange(len(live), dtype=np.int32)
        table, accepting, labels = _select(table, accepting, labels, live, number)
        indptr, source = inverse_edges(table)
    n = len(table)
    colors, block_of = distinct(2 * labels.astype(np.int64) + accepting)
    # Why narrow: numpy sorts them by counting.
    narrow = block_of.astype(np.min_scalar_type(len(colors)))
    elements = np.argsort(narrow, kind="stable").astype(np.int32)
    place = np.empty(n, np.int32)
    place[elements] = np.arange(n, dtype=np.int32)
    begin, end = np.zeros(n, np.int32), np.zeros(n, np.int32)
    sizes = np.bincount(block_of, minlength=len(colors))
    end[: len(colors)] = np.cumsum(sizes)
    begin[: len(colors)] = end[: len(colors)] - sizes
    count = kernel.refine(
        len(colors), k, indptr, source, block_of, elements, place, begin, end,
        np.zeros(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32),
    )  # fmt: skip
    # Why: together with the following arrays they would be the peak of a compile's memory.
    del indptr, source
    if count == n:
        return table, accepting, labels, number
    number[number >= 0] = block_of[number[number >= 0]]
    return *_select(table, accepting, labels, elements[begin[:count]], block_of), number


def distinct(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Int32Array]:
    """Return the distinct values, ascending, and the rank of each value. O(n) if they are small and nonnegative."""
    # PERF: sorting a million values took a fifth of a large product (`python -m benchmarks.first_mask`).
    if values.min(initial=0) < 0 or values.max(initial=0) > 4 * len(values) + 16:
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.reshape(-1).astype(np.int32)
    is_there = np.bincount(values) > 0
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1).astype(np.int32)[values]


def distinct_columns(table: Int32Array, order: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Return the first of each kind of equal columns, among those in ``order``, and the number of each column. O(n k)."""
    k = table.shape[1]
    first, number = np.empty(k, np.int32), np.full(k, DEAD, np.int32)
    count = kernel.equal_columns(table, order, first, number, np.zeros(k, np.uint64))
    return first[:count], number


def merge_columns(table: Int32Array, classes: npt.NDArray[Any]) -> tuple[Int32Array, npt.NDArray[Any]]:
    """Merge equal columns: (one column of each, by least byte: int32; class of each byte). O(n k).

    Columns without a byte are dropped. ``classes`` may have more letters than the 256 bytes.
    """
    columns, number = distinct_columns(table, classes.astype(np.int32))
    return columns, number[classes].astype(np.uint8 if len(classes) <= 256 else np.int32)


def canonical(
    table: Int32Array,
    classes: npt.NDArray[Any],
    accepting: BoolArray,
    labels: Int32Array,
    start: int = 0,
    *,
    is_minimal: bool = False,
) -> tuple[Int32Array, npt.NDArray[Any], BoolArray, Int32Array]:
    """Return the canonical form: (table, classes, accepting, labels), start state 0.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by column, negative for none.
    classes : ndarray, shape (256,) or more
        Column of each byte, and of further letters. The canonical ones are uint8; int32 if there are further letters.
    accepting, labels : ndarray, shape (n_states,)
        Final states; labels that keep states apart.
    is_minimal : bool
        The table is already trim and minimal: only renumber.
    """
    if not is_minimal:
        # Why: a column without a byte must neither keep states apart nor keep one alive.
        columns, classes = merge_columns(table, classes)
        table, accepting, labels, start = _merged(table, accepting, labels, start, columns)
    columns, classes = merge_columns(table, classes)
    table, accepting, labels = _renumbered(table, accepting, labels, start, columns)
    return table, classes, accepting, labels


def _renumbered(
    table: Int32Array, accepting: BoolArray, labels: Int32Array, start: int, columns: Int32Array
) -> tuple[Int32Array, BoolArray, Int32Array]:
    """Renumber states breadth first by some columns, and keep only these."""
    order, number = np.empty(len(table), np.int32), np.full(len(table), DEAD, np.int32)
    kernel.breadth_first(table, columns, start, order, number)
    return _select(table, accepting, labels, order, number, columns)


def _select(
    table: Int32Array,
    accepting: BoolArray,
    labels: Int32Array,
    states: Int32Array,
    number: Int32Array,
    columns: Int32Array | None = None,
) -> tuple[Int32Array, BoolArray, Int32Array]:
    """Return the rows of some states, and some columns, with targets renumbered (``number`` is ``DEAD`` for dropped states)."""
    if columns is None:
        columns = np.arange(table.shape[1], dtype=np.int32)
    rows = room((len(states), len(columns)), np.int32)
    kernel.renumber(table, states, columns, number, rows)
    return rows, accepting[states], labels[states]
