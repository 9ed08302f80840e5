"""`Memo`: a bounded table of results that schemas share, keyed by plain data.

Entries and what they weigh are bounded; the oldest go first. Threads may use one at a time: the worst that can happen is that a
result is made twice.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Memo"]

_Value = TypeVar("_Value")


class Memo(Generic[_Value]):
    """Results by key.

    Parameters
    ----------
    entries : int
        Most results kept.
    weight : int
        Most weight kept, in the units of `put`; a result of more than a quarter of it is not kept at all.
    """

    __slots__ = ("_entries", "_found", "_held", "_weight")

    def __init__(self, entries: int = 4096, weight: int = 1 << 24) -> None:
        self._entries, self._weight = entries, weight
        self._found: dict[Hashable, tuple[_Value, int]] = {}
        self._held = 0

    def get(self, key: Hashable) -> _Value | None:
        """The result of a key, if it is kept. O(1)."""
        found = self._found.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: _Value, weight: int = 1) -> _Value:
        """Keep a result, and return it."""
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
