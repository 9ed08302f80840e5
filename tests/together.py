"""Many threads, or other processes, that do the same work at once."""

import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["N_THREADS", "processes", "threads"]

N_THREADS = 64
T = TypeVar("T")


def threads(run: Callable[[int], T]) -> list[T]:
    """What ``run`` gives for 0 to 63, each in a thread of its own; all begin at once, and change places often."""
    gate = threading.Barrier(N_THREADS)

    def begin(number: int) -> T:
        gate.wait()
        return run(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(N_THREADS) as pool:
            return list(pool.map(begin, range(N_THREADS)))
    finally:
        sys.setswitchinterval(interval)


@contextmanager
def processes(method: str) -> Iterator[ProcessPoolExecutor]:
    """Two processes. Python 3.12 warns of forks of processes with threads, which numpy has; nothing here holds a lock."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            yield pool
