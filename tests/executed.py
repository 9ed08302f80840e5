"""Counts of executed lines and calls, which compare the work of inputs of two sizes on any machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from guided.errors import GuidedError

__all__ = ["executed_calls", "executed_lines"]


def executed_lines(work: Callable[[], object]) -> int:
    """Return the number of lines of Python that a function executes; an error of the package ends it."""
    count = 0

    def trace(_frame: FrameType, event: str, _given: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except GuidedError:
        pass
    finally:
        sys.settrace(before)
    return count


def executed_calls(work: Callable[[], object]) -> int:
    """Return the number of calls of Python and C functions that a function makes."""
    count = 0

    def note(_frame: FrameType, event: str, _given: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
