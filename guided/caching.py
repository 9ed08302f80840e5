"""`cached_property` without a lock, as in Python 3.12.

Python 3.11 holds one lock for all instances of a class during the computation: a child forked meanwhile would wait for it forever.
"""

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

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
