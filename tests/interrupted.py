"""Interrupts a call at each of its moments."""

import sys
from collections.abc import Callable, Iterator

__all__ = ["interrupted_anywhere"]


def interrupted_anywhere(run: Callable[[], object]) -> Iterator[int]:
    """Call a function again and again, with a KeyboardInterrupt at its first line, call or return, at its second one, and so on.

    Yields the number of each moment after the call, which must have raised the interrupt, until a call ends before its moment.
    """
    left = 0

    def trace(_frame: object, _event: str, returned: object) -> object:
        nonlocal left
        left -= 1
        # Why: the error's traceback would keep what a function was about to return.
        del returned
        if left == 0:
            raise KeyboardInterrupt
        return trace

    for moment in range(1, 10_000):
        left, before = moment, sys.gettrace()
        sys.settrace(trace)
        try:
            run()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        if left > 0:
            return
        yield moment
