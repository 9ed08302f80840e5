"""`Memo`: a bounded table of results that schemas share, keyed by plain data.

Entries are bounded, and so are the bytes of keys and results, since one pattern may be as large as a thousand others; the oldest go
first. Threads may use one at a time: the worst that can happen is that a result is made twice.

Not here: what results are made of that others hold as well; it is counted each time.
"""

import sys
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Generic, TypeVar

import numpy as np

__all__ = ["Memo", "bytes_of"]

_Value = TypeVar("_Value")
_PLAIN = frozenset((str, bytes, int, float, bool, type(None)))


class Memo(Generic[_Value]):
    """Results by key.

    Parameters
    ----------
    entries : int
        Most results kept.
    weight : int
        Most bytes kept; a result of more than a quarter of it is not kept at all.
    """

    __slots__ = ("_entries", "_found", "_held", "_weight")

    def __init__(self, entries: int = 4096, weight: int = 1 << 26) -> None:
        self._entries, self._weight = entries, weight
        self._found: dict[Hashable, tuple[_Value, int]] = {}
        self._held = 0

    @property
    def held(self) -> int:
        """Bytes of what is kept."""
        return self._held

    def get(self, key: Hashable) -> _Value | None:
        """The result of a key, if it is kept. O(1)."""
        found = self._found.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: _Value) -> _Value:
        """Keep a result, and return it. O(parts of both)."""
        weight = bytes_of((key, value), self._weight // 4)
        if weight > self._weight // 4:
            return value
        while len(self._found) >= self._entries or (self._held + weight > self._weight and self._found):
            try:
                oldest = next(iter(self._found))
            except (RuntimeError, StopIteration):  # another thread has just put or dropped something
                continue
            dropped = self._found.pop(oldest, None)
            if dropped is not None:
                self._held -= dropped[1]
        before = self._found.pop(key, None)
        self._found[key] = value, weight
        self._held += weight - (before[1] if before else 0)
        return value


def bytes_of(value: object, enough: int = 1 << 62) -> int:
    """About how many bytes a value takes, with all that it is made of; ``enough``: where counting may stop."""
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
