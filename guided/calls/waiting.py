"""Waiting for blocking functions and coroutines, with a timeout, inside and outside of event loops.

A thread cannot be stopped from outside: after a timeout a function keeps running in a daemon thread, and its result is discarded. An
awaitable is cancelled after a timeout.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from guided.errors import ArgumentError, shown

__all__ = ["awaited", "finished", "in_thread", "in_thread_async", "seconds"]

T = TypeVar("T")


def in_thread(function: Callable[[], T], timeout: float | None = None) -> T:
    """Run a function in a thread with a copy of the current context; return or raise its outcome.

    Raises
    ------
    TimeoutError
        The function takes more than ``timeout`` seconds.
    """
    outcome = _Outcome[T]()
    thread = _started(partial(outcome.fill, function))
    thread.join(timeout)
    if thread.is_alive():
        raise _late(timeout)
    return outcome.result()


async def in_thread_async(function: Callable[[], T]) -> T:
    """Like `in_thread`, without blocking the running event loop."""
    loop = asyncio.get_running_loop()
    outcome, end = _Outcome[T](), loop.create_future()

    def tell() -> None:
        if not end.done():
            end.set_result(None)

    def work() -> None:
        outcome.fill(function)
        # Why suppressed: if the loop has been closed, nothing waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)

    _started(work)
    await end
    return outcome.result()


async def awaited(awaitable: Awaitable[T], timeout: float | None = None) -> T:
    """Await an awaitable in the running loop; return or raise its outcome.

    Raises
    ------
    TimeoutError
        It takes more than ``timeout`` seconds, and is cancelled.
    RuntimeError
        It was cancelled by other code.
    """
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            raise _late(timeout)
    finally:
        # Reached after a timeout and if the waiting task is cancelled; exceptions of the cancelled task are ignored.
        if not task.done():
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            task.cancel()
    if task.cancelled():
        raise RuntimeError("the awaited object was cancelled")
    if isinstance(task.exception(), GeneratorExit):
        # Why: a GeneratorExit would end the waiting coroutine.
        raise RuntimeError("the awaited object raised GeneratorExit") from task.exception()
    return task.result()


def seconds(timeout: float | None) -> float | None:
    """Normalize a timeout: None if it is infinite, or longer than any wait can be.

    Raises
    ------
    ValueError
        The timeout is not a number above 0.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ArgumentError("timeout", f"must be a number of seconds above 0, not {shown(timeout)}")
    return None if timeout >= threading.TIMEOUT_MAX else float(timeout)


def finished(awaitable: Awaitable[T], timeout: float | None = None) -> T:
    """Like `awaited`, without a loop; within a running loop, it blocks that loop."""

    async def wait() -> T:
        return await awaited(awaitable, timeout)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # Why a thread: a loop cannot wait for itself, so the awaitable runs in another one.
    return in_thread(lambda: asyncio.run(wait()))


class _Outcome(Generic[T]):
    """The result or exception of a function."""

    def __init__(self) -> None:
        self._result: Any = None
        self._error: BaseException | None = None

    def fill(self, function: Callable[[], T]) -> None:
        try:
            self._result = function()
        except BaseException as error:
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        result: T = self._result
        return result


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    return thread


def _late(timeout: float | None) -> TimeoutError:
    return TimeoutError(f"not done within {timeout:g} s")
