"""Reachable product of two byte automata, resumable when a buffer fills up."""

import numpy as np

from guided.arrays import Int32Array, Int64Array
from guided.kernels.hashing import row_slot
from guided.kernels.jit import kernel

__all__ = ["product", "refill"]


@kernel
def _slot(x: int, y: int, size: int) -> np.int64:
    """Return the first slot to probe for a pair."""
    h = (np.uint64(x + 1) * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(y + 1) * np.uint64(0xC2B2AE3D27D4EB4F))
    h ^= h >> np.uint64(32)
    return row_slot(h, size)


@kernel
def refill(pairs: Int32Array, count: int, slots: Int32Array) -> None:
    """Insert pairs 0..count-1 (int32, shape (cap, 2)) into an empty open addressing table (int32, 2^p entries of -1)."""
    wrap = np.int64(len(slots) - 1)
    for i in range(count):
        slot = _slot(pairs[i, 0], pairs[i, 1], len(slots))
        while slots[slot] >= 0:
            slot = (slot + 1) & wrap
        slots[slot] = i


@kernel
def product(
    left: Int32Array,
    right: Int32Array,
    left_class: Int32Array,
    right_class: Int32Array,
    keep_left: bool,
    keep_right: bool,
    pairs: Int32Array,
    table: Int32Array,
    slots: Int32Array,
    cursor: Int64Array,
) -> int:
    """Expand pairs of states from ``cursor`` on; a dead side is -1.

    ======================  =====  ===============  ==========================================================
    argument                dtype  shape            meaning
    ======================  =====  ===============  ==========================================================
    left, right             int32  (n, k), (m, l)   tables
    left_class, right_class int32  (q,)             class of each side for each joint class
    keep_left               bool                    continue after the right side has died
    keep_right              bool                    continue after the left side has died
    pairs                   int32  (cap, 2)         out; the first pair is set on entry
    table                   int32  (cap, q)         out
    slots                   int32  (2^p > 2 cap,)   open addressing table, -1 where free; the first pair is in it
    cursor                  int64  (2,)             in and out: pairs expanded, pairs known
    ======================  =====  ===============  ==========================================================

    Returns 0 when done, 1 when more room is needed. O(pairs x q).
    """
    q = len(left_class)
    wrap = np.int64(len(slots) - 1)
    while cursor[0] < cursor[1]:
        i = cursor[0]
        if cursor[1] + q > len(pairs):
            return 1
        a, b = pairs[i, 0], pairs[i, 1]
        for c in range(q):
            x = left[a, left_class[c]] if a >= 0 else -1
            y = right[b, right_class[c]] if b >= 0 else -1
            if (x < 0 and y < 0) or (x < 0 and not keep_right) or (y < 0 and not keep_left):
                table[i, c] = -1
                continue
            slot = _slot(x, y, len(slots))
            while slots[slot] >= 0 and (pairs[slots[slot], 0] != x or pairs[slots[slot], 1] != y):
                slot = (slot + 1) & wrap
            if slots[slot] < 0:
                slots[slot] = cursor[1]
                pairs[cursor[1], 0], pairs[cursor[1], 1] = x, y
                cursor[1] += 1
            table[i, c] = slots[slot]
        cursor[0] = i + 1
    return 0
