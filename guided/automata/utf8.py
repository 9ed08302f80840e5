"""Automaton over classes of characters -> table over bytes of UTF-8 (RFC 3629)."""

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.partition import Partition
from guided.errors import LimitError
from guided.kernels import utf8 as kernel
from guided.limits import Limits

__all__ = ["to_bytes"]

# Cells of intermediate rows that cost as much as one step of a determinization.
_CELLS = 8
_TOO_SCATTERED = "too many states for such sets of characters"


def to_bytes(
    table: Int32Array, accepting: BoolArray, parts: Partition, limits: Limits
) -> tuple[Int32Array, UInt8Array, BoolArray]:
    """Expand edges by classes of characters into edges by bytes.

    Intermediate states (inside a character) are interned, so a minimal automaton over characters gives a minimal one over bytes.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state by class; state 0 is the start.
    accepting : ndarray[bool], shape (n_states,)
        Final states.

    Returns
    -------
    table : ndarray[int32], shape (n_states + n_intermediate, n_columns)
    classes : ndarray[uint8], shape (256,)
    accepting : ndarray[bool]

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` is passed.
    """
    n_intervals = len(parts.starts)
    root = np.empty(256, np.int32)
    tree = np.empty((6 * n_intervals + 3 * parts.n_classes + 64, 64), np.int32)
    uniform = np.full((3, parts.n_classes), -1, np.int32)
    n_nodes = kernel.utf8_tree(parts.starts, parts.classes, uniform, root, tree)
    columns: dict[bytes, int] = {}
    column = [0] * 256
    root_values: dict[int, int] = {}
    values = root.tolist()
    for byte in (*range(0x80), *range(0xC0, 0x100)):
        column[byte] = root_values.setdefault(values[byte], len(root_values))
    inner = np.ascontiguousarray(tree[:n_nodes].T)
    first: list[int] = []
    for byte in range(64):
        number = columns.setdefault(inner[byte].tobytes(), len(columns))
        if number == len(first):
            first.append(byte)
        column[0x80 + byte] = len(root_values) + number
    narrow_tree = np.ascontiguousarray(inner[first].T)
    narrow_root = np.fromiter(root_values, np.int32, len(root_values))
    wide = np.unique(narrow_tree[narrow_tree >= 0]).astype(np.int32)
    n, width = len(table), len(root_values) + len(first)
    _check(n, width, limits)
    capacity = n + max(256, 2 * n_nodes)
    # Why not filled to its end: memory that is never touched is never taken.
    out = np.empty((capacity, width), np.int32)
    out[:n] = DEAD
    slots = np.full(1 << (4 * capacity).bit_length(), -1, np.int32)
    hashes, mapped = np.zeros(capacity, np.uint64), np.empty(n_nodes, np.int32)
    row_slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    cursor = np.array([0, n, 0], np.int64)
    while status := kernel.expand(
        table, wide, narrow_root, narrow_tree, out, slots, hashes, mapped, row_slots, cursor, _CELLS * limits.steps
    ):
        count = int(cursor[1])
        if status == kernel.CELLS_SPENT:
            raise LimitError("steps", -(-int(cursor[2]) // _CELLS), limits.steps, _TOO_SCATTERED)
        _check(count, width, limits)
        capacity = 2 * capacity + n_nodes
        grown = np.empty((capacity, width), np.int32)
        grown[:count] = out[:count]
        out, slots = grown, np.full(1 << (4 * capacity).bit_length(), -1, np.int32)
        hashes = np.concatenate([hashes, np.zeros(capacity - len(hashes), np.uint64)])
        kernel.refill(hashes, n, count, slots)
    count = int(cursor[1])
    _check(count, width, limits)
    final = np.zeros(count, np.bool_)
    final[:n] = accepting
    return out[:count], np.array(column, np.uint8), final


def _check(n_states: int, width: int, limits: Limits) -> None:
    if n_states > limits.states:
        raise LimitError("states", n_states, limits.states, _TOO_SCATTERED)
    if n_states * width > limits.transitions:
        raise LimitError("transitions", n_states * width, limits.transitions, _TOO_SCATTERED)
