"""Trimming, minimization and the canonical form: equal languages give equal arrays.

The canonical form of a table is trim (every state is reachable and reaches acceptance), minimal, numbered breadth first by
ascending class, with equal columns merged and classes numbered by their least byte. The empty language is one state that
accepts nothing. States with different labels are never merged.
"""

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.kernels import minimize as kernel

__all__ = ["canonical", "inverse_edges", "merge_columns", "minimal"]


def inverse_edges(table: Int32Array) -> tuple[Int32Array, Int32Array]:
    """CSR by (target, class) of the sources of edges; shapes ``(n k + 1,)`` and ``(n_edges,)``. O(n k)."""
    indptr = np.zeros(table.size + 1, np.int32)
    source = np.empty(int(np.count_nonzero(table >= 0)), np.int32)
    kernel.invert(table, indptr, source)
    return indptr, source


def minimal(
    table: Int32Array, accepting: BoolArray, labels: Int32Array, start: int = 0
) -> tuple[Int32Array, BoolArray, Int32Array]:
    """The minimal trim automaton, start state 0: (table, accepting, labels). O(k n log n).

    The numbering is deterministic but not canonical. Classes stay as they are.
    """
    table = np.ascontiguousarray(table)
    n, k = table.shape
    order, number = np.empty(n, np.int32), np.full(n, DEAD, np.int32)
    reached = kernel.breadth_first(table, start, order, number)
    if reached < n:
        table, accepting, labels = _select(table, accepting, labels, order[:reached], number)
    indptr, source = inverse_edges(table)
    distance, queue = np.empty(len(table), np.int32), np.empty(len(table), np.int32)
    first = 0 if reached < n else start
    if kernel.distances(accepting, indptr, source, k, distance, queue) < len(table):
        live = np.flatnonzero(distance >= 0).astype(np.int32)
        if distance[first] < 0:
            return np.full((1, k), DEAD, np.int32), np.zeros(1, np.bool_), np.zeros(1, np.int32)
        number = np.full(len(table), DEAD, np.int32)
        number[live] = np.arange(len(live), dtype=np.int32)
        table, accepting, labels = _select(table, accepting, labels, live, number)
        first = int(number[first])
        indptr, source = inverse_edges(table)
    n = len(table)
    colors, inverse = np.unique(2 * labels.astype(np.int64) + accepting, return_inverse=True)
    block_of = inverse.astype(np.int32)
    elements = np.argsort(block_of, kind="stable").astype(np.int32)
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
    representative = elements[begin[:count]]
    merged = table[representative]
    merged = np.append(block_of, np.int32(DEAD))[merged]
    accepting, labels = accepting[representative], labels[representative]
    order, number = np.empty(count, np.int32), np.full(count, DEAD, np.int32)
    kernel.breadth_first(merged, int(block_of[first]), order, number)
    return _select(merged, accepting, labels, order, number)


def merge_columns(table: Int32Array, classes: UInt8Array) -> tuple[Int32Array, UInt8Array]:
    """Merge equal columns, drop those that no byte has; classes are numbered by their least byte. O(n k)."""
    columns = np.ascontiguousarray(table.T)
    numbers: dict[bytes, int] = {}
    first: list[int] = []
    merged = np.zeros(len(columns), np.uint8)
    for column in dict.fromkeys(classes.tolist()):
        number = merged[column] = numbers.setdefault(columns[column].tobytes(), len(numbers))
        if number == len(first):
            first.append(column)
    return np.ascontiguousarray(columns[first].T), merged[classes]


def canonical(
    table: Int32Array,
    classes: UInt8Array,
    accepting: BoolArray,
    labels: Int32Array,
    start: int = 0,
    *,
    is_minimal: bool = False,
) -> tuple[Int32Array, UInt8Array, BoolArray, Int32Array]:
    """The canonical form: (table, classes, accepting, labels), start state 0.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by column, negative where none.
    classes : ndarray, shape (256,)
        Column of each byte.
    accepting, labels : ndarray, shape (n_states,)
        Final states; labels that keep states apart.
    is_minimal : bool
        The table is trim and minimal already: only renumber.
    """
    if not is_minimal:
        # Why: a column that no byte has must neither keep states apart nor keep one alive.
        table, classes = merge_columns(table, classes)
        table, accepting, labels = minimal(table, accepting, labels, start)
        start = 0
    table, classes = merge_columns(table, classes)
    order, number = np.empty(len(table), np.int32), np.full(len(table), DEAD, np.int32)
    kernel.breadth_first(table, start, order, number)
    table, accepting, labels = _select(table, accepting, labels, order, number)
    return table, classes, accepting, labels


def _select(
    table: Int32Array, accepting: BoolArray, labels: Int32Array, states: Int32Array, number: Int32Array
) -> tuple[Int32Array, BoolArray, Int32Array]:
    """The rows of some states with their targets renumbered (``number`` is ``DEAD`` for states left out)."""
    # Why one more: -1 for no edge finds the last entry.
    rows = np.append(number, np.int32(DEAD))[table[states]]
    return rows, accepting[states], labels[states]
