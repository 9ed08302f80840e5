"""What a piece of work costs, and how that is measured.

Work of a tenth of a millisecond and more is given in CPU time of the process, all its threads: neighbours on the machine
leave it nearly alone, and threads cannot hide work. Single steps are too short for that clock and are given in wall time, less
what reading the clock costs; each step is the median over passes of the same text, so that what the scheduler did to one pass
does not count, and percentiles are over the steps.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from benchmarks.engines import Matcher

__all__ = ["clock_overhead", "median", "no_collection", "percentiles", "settle", "step_times", "timed"]

_Result = TypeVar("_Result")


def timed(work: Callable[..., _Result], *arguments: Any) -> tuple[_Result, float, float]:
    """(result, CPU milliseconds, wall milliseconds) of one call."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    result = work(*arguments)
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return result, cpu / 1e6, wall / 1e6


def settle() -> None:
    """Take what is there now out of the collector's sight.

    Why: to collect the modules of all engines takes half a second and leaves the processor's caches cold for what is measured next.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def no_collection():
    """Python's collector of cycles, run before and not during the work. `settle` makes it short."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def clock_overhead(repeat: int = 2000) -> float:
    """Median nanoseconds between two readings of the clock with nothing between them."""
    clock, found = time.perf_counter_ns, []
    for _ in range(repeat):
        begin = clock()
        found.append(clock() - begin)
    return statistics.median(found)


def step_times(start: Callable[[], Matcher], tokens: Sequence[int], passes: int) -> np.ndarray:
    """Nanoseconds of (mask, advance) at each step of a text, shape (passes, len(tokens), 2), clock included."""
    clock, found = time.perf_counter_ns, np.empty((passes, len(tokens), 2), np.int64)
    for number in range(passes):
        matcher = start()
        mask, advance, times = matcher.mask, matcher.advance, found[number]
        for place, token in enumerate(tokens):
            begin = clock()
            mask()
            middle = clock()
            advance(token)
            end = clock()
            times[place] = middle - begin, end - middle
    return found


def percentiles(nanoseconds: np.ndarray) -> dict[str, float]:
    """Microseconds: mean, p50, p99 and largest."""
    microseconds = np.maximum(nanoseconds, 0) / 1e3
    return {
        "mean": round(float(microseconds.mean()), 3),
        "p50": round(float(np.percentile(microseconds, 50)), 3),
        "p99": round(float(np.percentile(microseconds, 99)), 3),
        "max": round(float(microseconds.max()), 3),
    }


def median(values: Sequence[float]) -> float:
    """The median, to three digits after the point."""
    return round(statistics.median(values), 3)
