"""Hash tables with open addressing and linear probing, whose size is a power of two.

A *table of keys* has non-negative keys (int64, -1: free) and values (int32). A *table of slots* (int32, -1: free) holds numbers of rows
that a kernel interns; the kernel computes and keeps their hashes (uint64, FNV-1a) and compares rows.
"""

import numpy as np

from guided.arrays import UNKNOWN, Int32Array, Int64Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["OFFSET", "PRIME", "enter", "find", "key_slot", "refill", "rehash", "row_slot"]

# FNV-1a: the hash of an empty row, and the multiplier of each step.
OFFSET, PRIME = np.uint64(1469598103934665603), np.uint64(1099511628211)
# 2^64 divided by the golden ratio (Fibonacci hashing).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_POSITIVE = np.uint64(0x7FFFFFFFFFFFFFFF)


@kernel
def key_slot(key: int | np.int64, size: int) -> np.int64:
    """Return the first slot to probe for a key in a table of keys."""
    return np.int64((np.uint64(np.int64(key)) * _GOLDEN) >> np.uint64(33)) & np.int64(size - 1)


@kernel
def find(key: int | np.int64, keys: Int64Array, values: Int32Array) -> int:
    """Return the value of a key in a table of keys; UNKNOWN if it is missing. O(1) expected."""
    wrap = np.int64(len(keys) - 1)
    slot = key_slot(key, len(keys))
    while keys[slot] >= 0:
        if keys[slot] == key:
            return int(values[slot])
        slot = (slot + 1) & wrap
    return UNKNOWN


@kernel
def enter(key: int | np.int64, value: int, keys: Int64Array, values: Int32Array) -> None:
    """Insert a new key into a table of keys; at least one slot must be free. O(1) expected."""
    wrap = np.int64(len(keys) - 1)
    slot = key_slot(key, len(keys))
    while keys[slot] >= 0:
        slot = (slot + 1) & wrap
    keys[slot], values[slot] = key, value


@kernel
def rehash(keys: Int64Array, values: Int32Array, larger: Int64Array, room: Int32Array) -> None:
    """Insert all keys of a table of keys, with their values, into another. O(len(keys)) expected.

    Parameters
    ----------
    keys, values : ndarray[int64] and ndarray[int32], in
    larger, room : the same, out
        All slots free on entry.
    """
    wrap = np.int64(len(larger) - 1)
    for place in range(len(keys)):
        key = keys[place]
        if key >= 0:
            slot = key_slot(key, len(larger))
            while larger[slot] >= 0:
                slot = (slot + 1) & wrap
            larger[slot], room[slot] = key, values[place]


@kernel
def row_slot(hashed: np.uint64, size: int) -> np.int64:
    """Return the first slot to probe for a row with a hash."""
    return np.int64(hashed & _POSITIVE) & np.int64(size - 1)


@kernel
def refill(hashes: UInt64Array, first: int, end: int, slots: Int32Array) -> None:
    """Insert the rows ``first`` to ``end - 1`` by their hashes into an empty table of slots. O(end - first) expected."""
    wrap = np.int64(len(slots) - 1)
    for row in range(first, end):
        slot = row_slot(hashes[row], len(slots))
        while slots[slot] >= 0:
            slot = (slot + 1) & wrap
        slots[slot] = row
