"""Many threads, or other processes, that do the same work at once."""

import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["N_THREADS", "in_new_process", "processes", "threads"]

N_THREADS = 64
T = TypeVar("T")


def threads(run: Callable[[int], T], count: int = N_THREADS) -> list[T]:
    """What ``run`` gives for each number below ``count``, each in a thread of its own; all begin at once, and change places often.

    Why no pool: it may give two tasks to one thread, and the second would never begin.
    """
    gate = threading.Barrier(count + 1)
    has_begun = threading.Semaphore(0)
    futures: list[Future[T]] = [Future() for _ in range(count)]

    def begin(number: int) -> None:
        has_begun.release()
        try:
            gate.wait(60)
            futures[number].set_result(run(number))
        except BaseException as error:
            futures[number].set_exception(error)

    for number in range(count):
        threading.Thread(target=begin, args=(number,), daemon=True).start()
        # Why one by one: under coverage each thread installs a trace function first, which fails while another does.
        assert has_begun.acquire(timeout=60)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        gate.wait(60)
        return [future.result() for future in futures]
    finally:
        sys.setswitchinterval(interval)


def in_new_process(function: Callable[..., T], *arguments: object) -> T:
    """What a function of a module gives in a new process, without the threads, locks and libraries that other tests left behind."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result(timeout=300)


@contextmanager
def processes(method: str) -> Iterator[ProcessPoolExecutor]:
    """Two processes. Python 3.12 warns of forks of processes with threads, which numpy has; nothing here holds a lock.

    Use it within `in_new_process`: a fork of pytest's own process would inherit whatever other tests left there.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            yield pool
