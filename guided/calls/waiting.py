"""Wait for what takes time: functions that block, coroutines, both within a number of seconds, inside and outside of event loops.

A thread cannot be ended from outside: a function that is too late is left to itself, in a thread that does not keep the process alive,
and what it gives is thrown away. An awaitable that is too late is cancelled.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from guided.errors import shown

__all__ = ["awaited", "finished", "in_thread", "in_thread_async", "seconds"]

T = TypeVar("T")


def in_thread(function: Callable[[], T], timeout: float | None = None) -> T:
    """What a function gives, or raises, in a thread with a copy of this one's context.

    Raises
    ------
    TimeoutError
        It takes more seconds than ``timeout``.
    """
    outcome = _Outcome[T]()
    thread = _started(partial(outcome.fill, function))
    thread.join(timeout)
    if thread.is_alive():
        raise _late(timeout)
    return outcome.told()


async def in_thread_async(function: Callable[[], T]) -> T:
    """As `in_thread`, within a running event loop, which goes on meanwhile."""
    loop = asyncio.get_running_loop()
    outcome, end = _Outcome[T](), loop.create_future()

    def tell() -> None:
        if not end.done():
            end.set_result(None)

    def work() -> None:
        outcome.fill(function)
        # Why suppressed: a loop that has been closed since waits for nothing.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)

    _started(work)
    await end
    return outcome.told()


async def awaited(awaitable: Awaitable[T], timeout: float | None = None) -> T:
    """What an awaitable gives or raises, in the running loop.

    Raises
    ------
    TimeoutError
        It takes more seconds than ``timeout``, and is cancelled.
    RuntimeError
        It was cancelled by something else.
    """
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            raise _late(timeout)
    finally:
        # Both when it is late and when whoever waits is cancelled; what a cancelled task raises is of no interest.
        if not task.done():
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            task.cancel()
    if task.cancelled():
        raise RuntimeError("what was awaited was cancelled")
    if isinstance(task.exception(), GeneratorExit):
        # Why: it would seem to end whatever waits.
        raise RuntimeError("what was awaited raised GeneratorExit") from task.exception()
    return task.result()


def seconds(timeout: float | None) -> float | None:
    """A timeout as Python's functions take it: None where it is infinite, or longer than any wait can be.

    Raises
    ------
    ValueError
        It is not a number above 0.
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"timeout is a number of seconds above 0, not {shown(timeout)}")
    return None if timeout >= threading.TIMEOUT_MAX else float(timeout)


def finished(awaitable: Awaitable[T], timeout: float | None = None) -> T:
    """As `awaited`, without a loop, or from within a running one, which stands still meanwhile."""

    async def wait() -> T:
        return await awaited(awaitable, timeout)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    # Why a thread: a loop cannot wait for itself, so the awaitable gets another one.
    return in_thread(lambda: asyncio.run(wait()))


class _Outcome(Generic[T]):
    """What a function gave or raised."""

    def __init__(self) -> None:
        self._result: Any = None
        self._error: BaseException | None = None

    def fill(self, function: Callable[[], T]) -> None:
        try:
            self._result = function()
        except BaseException as error:
            self._error = error

    def told(self) -> T:
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
