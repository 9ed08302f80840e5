"""Growing arrays, and a hash table of integers in two arrays: storage of tables filled on demand.

The table uses open addressing with linear probing: ``keys`` (int64, -1: free) and ``values`` (int32), whose length is a power of two.
Kernels read it (`guided.kernels.pushdown`).

Invariant: a concurrent reader sees a key with its value, or no key. Complexity: O(1) amortized.
"""

from typing import Any

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import rehash

__all__ = ["appended", "grown", "insert", "rehashed"]


def insert(keys: Int64Array, values: Int32Array, key: int, value: int) -> None:
    """Insert a new key; at least one slot must be free."""
    wrap = len(keys) - 1
    # The same hash as in guided.kernels.pushdown.
    slot = ((key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) >> 33) & wrap
    while keys[slot] >= 0:
        slot = slot + 1 & wrap
    # Why the value first: a reader that sees the key must see the value.
    values[slot] = value
    keys[slot] = key


def rehashed(keys: Int64Array, values: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Return the same table with four times the capacity."""
    larger: Int64Array = np.full(4 * len(keys), -1, np.int64)
    room: Int32Array = np.zeros(len(larger), np.int32)
    rehash(keys, values, larger, room)
    return larger, room


def grown(array: Any, capacity: int, fill: int) -> Any:
    """Return a longer copy."""
    longer = np.full((capacity, *array.shape[1:]), fill, array.dtype)
    longer[: len(array)] = array
    return longer


def appended(array: UInt64Array, count: int, words: tuple[int, ...] | UInt64Array) -> UInt64Array:
    """Return the array with words written after its first ``count``: itself, or a longer copy."""
    while count + len(words) > len(array):
        array = grown(array, 2 * len(array), 0)
    array[count : count + len(words)] = words
    return array
