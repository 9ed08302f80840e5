"""Automaton over classes of characters -> table over bytes of UTF-8 (RFC 3629)."""

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.growth import grown, room
from guided.automata.minimize import distinct_columns
from guided.automata.partition import Partition
from guided.automata.steps import Steps, check_size
from guided.kernels import utf8 as kernel
from guided.kernels.hashing import refill
from guided.limits import Limits

__all__ = ["decision_tree", "expanded", "to_bytes"]

# Cells of intermediate rows that cost as much as one step of a determinization.
_CELLS = 4
_FIRST_BYTES = np.array([*range(0x80), *range(0xC0, 0x100)], np.int32)
_CONTINUATIONS = np.arange(64, dtype=np.int32)
_TOO_SCATTERED = "too many states for such sets of characters: lower counts, or use sets such as [a-z]"


def to_bytes(
    table: Int32Array, accepting: BoolArray, parts: Partition, limits: Limits, steps: Steps | None = None
) -> tuple[Int32Array, UInt8Array, BoolArray]:
    """Expand edges by classes of characters into edges by bytes.

    Intermediate states (inside a character) are interned, so a minimal automaton over characters gives a minimal one over bytes.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state by class; state 0 is the start.
    accepting : ndarray[bool], shape (n_states,)
        Final states.
    steps : Steps, optional
        Counter to continue.

    Returns
    -------
    table : ndarray[int32], shape (n_states + n_intermediate, n_columns)
    classes : ndarray[uint8], shape (256,)
    accepting : ndarray[bool]

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded.
    """
    root, tree = decision_tree(parts.starts, parts.classes, parts.n_classes)
    roots, column = distinct_columns(root.reshape(1, -1), _FIRST_BYTES)
    inner, inner_number = distinct_columns(tree, _CONTINUATIONS)
    column[0x80:0xC0] = inner_number + len(roots)
    narrow_root, narrow_tree = root[roots], np.take(tree, inner, axis=1)
    out = expanded(table, narrow_root, narrow_tree, limits, steps)
    final = np.zeros(len(out), np.bool_)
    final[: len(table)] = accepting
    return out, column.astype(np.uint8), final


def decision_tree(starts: Int32Array, classes: Int32Array, n_classes: int) -> tuple[Int32Array, Int32Array]:
    """Build the decision tree of code point intervals: values by first byte, shape (256,), and of inner nodes, shape (n_nodes, 64)."""
    root = np.empty(256, np.int32)
    tree = np.empty((6 * len(starts) + 3 * n_classes + 64, 64), np.int32)
    uniform, scratch = np.full((3, n_classes), -1, np.int32), np.empty((3, 64), np.int32)
    return root, tree[: kernel.utf8_tree(starts, classes, uniform, scratch, root, tree)]


def expanded(
    table: Int32Array, root: Int32Array, tree: Int32Array, limits: Limits, steps: Steps | None = None
) -> Int32Array:
    """Return the rows of the states, then those of the intermediate states of their edges through a decision tree.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state by class of characters.
    root : ndarray[int32], shape (r,)
        Values of the tree by column of first bytes (`guided.kernels.utf8`).
    tree : ndarray[int32], shape (n_nodes, m)
        Values of inner nodes by column of further bytes.
    steps : Steps, optional
        Counter to continue.

    Returns
    -------
    ndarray[int32], shape (n_states + n_intermediate, r + m)
        The first r columns are used by states, the others by intermediate states.

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded.
    """
    steps = steps or Steps(limits.steps)
    wide = np.flatnonzero(np.bincount(tree[tree >= 0])).astype(np.int32)
    (n, _), (n_nodes, _), width = table.shape, tree.shape, len(root) + tree.shape[1]
    check_size(n, width, limits, _TOO_SCATTERED)
    capacity = n + max(256, 2 * n_nodes)
    # Why not filled: memory that is never touched is never allocated.
    out: Int32Array = room((capacity, width), np.int32)
    out[:n] = DEAD
    slots = np.full(1 << (4 * capacity).bit_length(), -1, np.int32)
    hashes, mapped = np.zeros(capacity, np.uint64), np.empty(n_nodes, np.int32)
    row_slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    cursor = np.array([0, n, 0], np.int64)
    while status := kernel.expand(
        table, wide, root, tree, out, slots, hashes, mapped, row_slots, cursor, _CELLS * steps.left
    ):
        count = int(cursor[1])
        if status == kernel.CELLS_SPENT:
            break
        check_size(count, width, limits, _TOO_SCATTERED)
        # Why no more: beyond it the states are refused.
        capacity = n_nodes + min(2 * capacity, limits.states, limits.transitions // width)
        out, hashes = grown(out[:count], capacity, make=room), grown(hashes, capacity, 0)
        slots = np.full(1 << (4 * capacity).bit_length(), -1, np.int32)
        refill(hashes, n, count, slots)
    steps.spend(-(-int(cursor[2]) // _CELLS), _TOO_SCATTERED)
    count = int(cursor[1])
    check_size(count, width, limits, _TOO_SCATTERED)
    return out[:count]
