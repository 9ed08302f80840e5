"""Ctrl-C at safe points only, for work that an exception at the wrong place would leave broken.

Python raises ``KeyboardInterrupt`` between any two bytecodes of the main thread. Inside an import of an extension module, or in a callback
of LLVM, it is swallowed or turned into another error, and the interrupted work cannot be restarted. `deferred` holds the signal
until the work reaches a safe point or ends.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred"]

_active = False


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Hold SIGINT back while the body runs; the previous handler is called at the end.

    No effect outside the main thread, inside another `deferred`, and if SIGINT is ignored or has the system's default action.

    Yields
    ------
    callable
        Delivers a signal received meanwhile. Call it where an exception does no harm.
    """
    global _active
    handler = signal.getsignal(signal.SIGINT)
    if _active or not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    received: list[FrameType | None] = []

    def hold(_: int, frame: FrameType | None) -> None:
        received.append(frame)

    def deliver() -> None:
        if received:
            frame = received.pop()
            received.clear()
            handler(signal.SIGINT, frame)

    try:
        _active = True
        signal.signal(signal.SIGINT, hold)
        yield deliver
    finally:
        _active = False
        signal.signal(signal.SIGINT, handler)
        deliver()
