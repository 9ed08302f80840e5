"""`CheckQueue`: checks of new constraints on a thread beside an event loop.

A check takes milliseconds, a costly one up to seconds, and strangers choose which. Three rules keep costly ones from delaying the others
without end. Every check first gets a small share of its budgets (`FrontEnd.first_refusal`); what that does not decide goes to a queue of
its own. In each queue, shorter texts come first, because they mostly take less time. A request whose check does not begin in time is asked
to come again. So nothing waits longer than ``patience`` for its turn, and a queue holds no more than what arrives in that time.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["CheckQueue"]

_Value = TypeVar("_Value")
# Checks of a queue that run at once. They compute in Python, so more would only wait for each other, and the event loop for them.
_THREADS = 1
# Seconds that a request waits for its check to begin.
_PATIENCE = 30.0


class CheckQueue:
    """Runs checks on threads, those of shorter texts first. Used by one event loop at a time.

    ``n_threads``: checks that run at once. ``patience``: seconds after which a check that has not begun is given up.
    """

    def __init__(self, n_threads: int = _THREADS, patience: float = _PATIENCE) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="guided-check")
        self._free, self._patience = n_threads, patience
        # Length of the text, order of arrival, and what is set when the check may begin.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()

    async def run(self, length: int, check: Callable[[], _Value]) -> _Value:
        """Return what a check of a text of this length returns.

        Raises
        ------
        TimeoutError
            It did not begin in time.
        """
        if self._free:
            self._free -= 1
        else:
            await self._turn(length)
        loop = asyncio.get_running_loop()
        future = self._pool.submit(check)
        # Why a callback: the thread is busy until then, even if the request is aborted before.
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release))
        return await asyncio.wrap_future(future)

    async def _turn(self, length: int) -> None:
        """Wait until a thread is free, which this check then holds."""
        turn = asyncio.get_running_loop().create_future()
        entry = (length, next(self._arrivals), turn)
        heapq.heappush(self._waiting, entry)
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._patience)
        except (TimeoutError, asyncio.CancelledError) as error:
            if turn.done():
                self._release()
            else:
                self._waiting.remove(entry)
                heapq.heapify(self._waiting)
            if isinstance(error, asyncio.CancelledError):
                raise
            raise TimeoutError(
                f"the constraint was not checked within {self._patience:g} s, since {len(self._waiting)} others wait: try again later"
            ) from None

    def _release(self) -> None:
        """Give a thread to the next check, or keep it."""
        if self._waiting:
            heapq.heappop(self._waiting)[2].set_result(None)
        else:
            self._free += 1
