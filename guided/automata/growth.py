"""Growing arrays and tables of keys (`guided.kernels.hashing`): storage of tables filled on demand. O(1) amortized."""

import math
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import rehash

__all__ = ["appended", "grown", "rehashed", "room"]

# From this size on numpy asks for pages of 2 MiB.
_LARGE = 1 << 22
# Windows has no flags: its memory is never shared.
_PRIVATE = {"flags": mmap.MAP_PRIVATE} if hasattr(mmap, "MAP_PRIVATE") else {}


def rehashed(keys: Int64Array, values: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Return the same table of keys with four times the capacity."""
    larger: Int64Array = np.full(4 * len(keys), -1, np.int64)
    room: Int32Array = np.zeros(len(larger), np.int32)
    rehash(keys, values, larger, room)
    return larger, room


def grown(array: Any, capacity: int, fill: int | None = None, make: Callable[..., Any] = np.empty) -> Any:
    """Return a longer copy. Without ``fill`` the rest is not written: memory that is never touched is never allocated.

    ``make`` finds the memory: that of `room` where most of it may stay untouched. Its small pages take longer where all are touched.
    """
    longer = make((capacity, *array.shape[1:]), array.dtype)
    if fill is not None:
        longer[len(array) :] = fill
    longer[: len(array)] = array
    return longer


def appended(array: UInt64Array, count: int, words: tuple[int, ...] | UInt64Array) -> UInt64Array:
    """Return the array with words written after its first ``count``: itself, or a longer copy."""
    while count + len(words) > len(array):
        array = grown(array, 2 * len(array), 0)
    array[count : count + len(words)] = words
    return array


def room(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of any content for which memory is found only where it is touched, 4 KiB at a time.

    PERF: where memory is scattered, the first touch of a page of 2 MiB takes 4 to 9 ms (`python -m benchmarks.maskbench`).
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    try:
        memory = mmap.mmap(-1, size, **_PRIVATE)
    except OSError as error:
        # As numpy does: callers know a lack of memory by this type.
        raise MemoryError(f"a table of {size:,} bytes") from error
    return np.frombuffer(memory, dtype).reshape(shape)
