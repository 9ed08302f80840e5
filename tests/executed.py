"""Counts of executed lines, which compare the work of inputs of two sizes on any machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from guided.errors import GuidedError

__all__ = ["executed_lines"]


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
