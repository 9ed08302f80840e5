"""Ctrl-C: status 130 and one line on stderr, at any time.

The first SIGINT raises ``KeyboardInterrupt`` in the main thread. C code may swallow it or turn it into another error, so `was_received` is
the test for an interrupt, not the exception's type. This module imports only what Python has loaded already, so that the handler is
installed before everything else.
"""

import atexit
import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

__all__ = ["INTERRUPTED", "check", "leave", "listen", "report", "was_received"]

INTERRUPTED = 130
_MESSAGE = "Interrupted."
# A terminal, a shell and a wrapper may each send a signal for the same Ctrl-C.
_SAME = 1.0

_received: float | None = None
_is_lost = False
_is_reported = False


def listen() -> None:
    """Install the SIGINT handler, unless SIGINT is ignored, as in background jobs of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable
        # Functions given to atexit run last in, first out. After them Python would restore the system's action: death by the signal.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def was_received() -> bool:
    """Return whether a SIGINT has been received."""
    return _received is not None


def check() -> None:
    """Raise KeyboardInterrupt if a SIGINT has been received: between two parts of long work, whatever swallowed the exception."""
    if was_received():
        raise KeyboardInterrupt


def report(*, as_json: bool = False) -> None:
    """Write the message once."""
    global _is_reported
    if _is_reported:
        return
    _is_reported = True
    if as_json:
        print('{"error": "KeyboardInterrupt", "message": "interrupted"}', file=sys.stderr, flush=True)
    else:
        # The first characters show the cursor again, which a progress line hides.
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{shown}{_MESSAGE}", file=sys.stderr, flush=True)


def leave() -> None:
    """End the process with `INTERRUPTED` if a SIGINT has been received; a later one ends the process at once."""
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, _end)
    if _is_reported or was_received():
        report()
        sys.exit(INTERRUPTED)


def _interrupt(_: int, __: FrameType | None) -> None:
    """Interrupt the main thread; a second Ctrl-C ends the process without waiting for it."""
    global _received, _is_lost
    now = time.monotonic()
    if _received is None or _is_lost:
        _received, _is_lost = now, False
        raise KeyboardInterrupt
    if now - _received > _SAME:
        _end(_, __)


def _end(_: int, __: FrameType | None) -> NoReturn:
    """End the process now: during Python's shutdown an exception would only be printed."""
    try:
        sys.stdout.flush()
        report()
    finally:
        os._exit(INTERRUPTED)


def _unraisable(lost: Any) -> None:
    """Redeliver an interrupt raised in a callback or a finalizer, where exceptions are printed and dropped."""
    global _is_lost
    if was_received() and issubclass(lost.exc_type, KeyboardInterrupt):
        import threading

        _is_lost = True
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(lost)
