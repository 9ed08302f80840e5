"""`Kept`: a cache with a greatest number of entries. `cached_property` without a lock, as in Python 3.12.

Python 3.11 holds one lock for all instances of a class during the computation: a child forked meanwhile would wait for it forever.
"""

import sys
from typing import TYPE_CHECKING, TypeVar

__all__ = ["Kept", "cached_property"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Kept(dict[_Key, _Value]):
    """A dict that drops all entries before one more would exceed a number.

    Why all: threads may share it without a lock, and another thread may change it while one looks for the oldest entry.
    """

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - as in functools
        """A property computed once per instance; twice if two threads race for the first access."""

        def __init__(self, function):
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.function(instance)
            return value
