"""Making the hash table of `guided.automata.growth` anew, with more room."""

import numpy as np

from guided.arrays import Int32Array, Int64Array
from guided.kernels.jit import kernel

__all__ = ["rehash"]


@kernel
def rehash(keys: Int64Array, values: Int32Array, larger: Int64Array, room: Int32Array) -> None:
    """Enter all keys of a table, and their values, into another.

    Parameters
    ----------
    keys, values : ndarray[int64] and ndarray[int32], shape (power of two,), in
        -1: free.
    larger, room : the same, out
        Free throughout on entry.

    Notes
    -----
    O(len(keys)) expected.
    """
    wrap = np.int64(len(larger) - 1)
    for place in range(len(keys)):
        key = keys[place]
        if key >= 0:
            slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & wrap
            while larger[slot] >= 0:
                slot = (slot + 1) & wrap
            larger[slot], room[slot] = key, values[place]
