"""`Memo`: a bounded cache of results that schemas share, keyed by plain data.

It bounds the number of entries and the bytes of keys and results, since one pattern may be as large as a thousand others. The oldest
entries are evicted first. Threads may share a memo without a lock: at worst a result is computed twice.

Not handled: data that several results share is counted once for each.
"""

import sys
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Generic, TypeVar

import numpy as np

from guided.limits import Limits

__all__ = ["Memo", "bytes_of"]

_Value = TypeVar("_Value")
# Counted without their parts: all results share the limits.
_PLAIN = frozenset((str, bytes, int, float, bool, type(None), Limits))


class Memo(Generic[_Value]):
    """A cache that evicts its oldest entries.

    Parameters
    ----------
    entries : int
        Maximum number of results.
    weight : int
        Maximum number of bytes; a result of more than a quarter of it is not kept.
    """

    __slots__ = ("_entries", "_found", "_held", "_weight")

    def __init__(self, entries: int = 4096, weight: int = 1 << 26) -> None:
        self._entries, self._weight = entries, weight
        self._found: dict[Hashable, tuple[_Value, int]] = {}
        self._held = 0

    @property
    def held(self) -> int:
        """Bytes of the keys and results in the cache."""
        return self._held

    def get(self, key: Hashable) -> _Value | None:
        """Return the result of a key, or None if it is not cached. O(1)."""
        found = self._found.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: _Value) -> _Value:
        """Cache a result and return it. O(parts of key and result)."""
        weight = bytes_of((key, value), self._weight // 4)
        if weight > self._weight // 4:
            return value
        while len(self._found) >= self._entries or (self._held + weight > self._weight and self._found):
            try:
                oldest = next(iter(self._found))
            except (RuntimeError, StopIteration):  # another thread has just added or dropped an entry
                continue
            dropped = self._found.pop(oldest, None)
            if dropped is not None:
                self._held -= dropped[1]
        before = self._found.pop(key, None)
        self._found[key] = value, weight
        self._held += weight - (before[1] if before else 0)
        return value


def bytes_of(value: object, enough: int = 1 << 62) -> int:
    """Return the approximate size of a value and all its parts in bytes; counting stops above ``enough``."""
    total, seen, todo = 0, set[int](), [value]
    while todo and total <= enough:
        each = todo.pop()
        if type(each) in _PLAIN:
            total += sys.getsizeof(each)
            continue
        if id(each) in seen:
            continue
        if isinstance(each, np.ndarray):
            total += each.nbytes + sys.getsizeof(each, 0)
            continue
        total += sys.getsizeof(each, 0)
        seen.add(id(each))
        if isinstance(each, dict):
            todo += each.keys()
            todo += each.values()
        elif isinstance(each, (tuple, list, set, frozenset)):
            todo += each
        else:
            todo += [getattr(each, name, None) for name in _parts_of(type(each).__mro__)]
    return total


@cache
def _parts_of(line: tuple[type, ...]) -> tuple[str, ...]:
    if is_dataclass(line[0]):
        return tuple(field.name for field in fields(line[0]))
    slots = [name for base in line for name in getattr(base, "__slots__", ())]
    return tuple(name for name in slots if not name.startswith("__"))
