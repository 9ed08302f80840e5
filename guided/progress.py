"""Progress lines on stderr: a spinner, the current work, and its duration.

They appear on terminals only, and vanish when the work is done; announcements appear everywhere, and stay. Two switches turn all of them
off: the environment variable ``GUIDED_PROGRESS=0``, and the logger ``guided`` (``logging.getLogger("guided").setLevel(logging.ERROR)``).
"""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from guided.locks import Rank, new_lock

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["announcement", "counting", "is_shown", "progress", "silenced"]

_logger = logging.getLogger("guided")
_lock = new_lock(Rank.DISPLAY)
# Between two lines of `counting` where there is no terminal.
_SECONDS = 60
# One display for all lines: rich allows one at a time, and lines may overlap.
_display: "Progress | None" = None
_n_silencers = 0


@contextmanager
def progress(text: str, *, announce: bool = False, elapsed: float = 0.0) -> Iterator[Callable[[str], None]]:
    """Show a line while the body runs.

    Parameters
    ----------
    text : str
        Description of the work.
    announce : bool
        If no line can be shown, write the text once: for downloads and other expensive work.
    elapsed : float
        Seconds that the work has already taken.

    Yields
    ------
    callable
        Replaces the text.
    """
    if not is_shown():
        if announce:
            _write(f"{text} ...")
        yield lambda _: None
        return
    global _display
    with _lock:
        if _display is None:
            _display = _new_display()
            _display.start()
        task = _display.add_task(text, total=None)
        for shown in _display.tasks:
            if shown.id == task and shown.start_time is not None:
                shown.start_time -= elapsed

    def update(new: str) -> None:
        with _lock:
            if _display is not None:
                _display.update(task, description=new)

    try:
        yield update
    finally:
        with _lock:
            if _display is not None:
                _display.remove_task(task)
                if not _display.tasks:
                    finished, _display = _display, None
                    finished.stop()


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show how many things are done while the body runs: as a line of `progress` on a terminal, and else as a line every minute.

    Parameters
    ----------
    what : str
        The things, in plural.
    total : int or None
        Their number, if known.

    Yields
    ------
    callable
        Takes the number of things done.
    """
    of_total = "" if total is None else f" of {total:,}"
    begin = last = time.monotonic()
    with progress(f"0{of_total} {what}") as update:

        def count(n_done: int) -> None:
            nonlocal last
            now, text = time.monotonic(), f"{n_done:,}{of_total} {what}"
            update(text)
            if now - last >= _SECONDS and not is_shown():
                last = now
                _write(f"{text} after {now - begin:,.0f} s")

        yield count


def announcement(text: str) -> None:
    """Write a permanent line, above those of `progress` if some are shown, unless lines are turned off."""
    with _lock:
        if is_shown() and _display is not None:
            _display.console.print(f"guided: {text}", markup=False, highlight=False, soft_wrap=True)
        else:
            _write(text)


def _write(text: str) -> None:
    """Write a line that no display of `progress` follows."""
    if not _is_turned_off() and sys.stderr is not None:
        sys.stderr.write(f"guided: {text}\n")


def is_shown() -> bool:
    """Return whether lines are shown now: only on a terminal, and if not turned off."""
    if _n_silencers or _is_turned_off():
        return False
    # Why not only stderr: during a display it is replaced by rich's, which in old versions does not report a terminal.
    return _display is not None or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def silenced() -> Iterator[None]:
    """Show no progress lines while the body runs; announcements are still written."""
    global _n_silencers
    with _lock:
        _n_silencers += 1
    try:
        yield
    finally:
        with _lock:
            _n_silencers -= 1


def _is_turned_off() -> bool:
    return os.environ.get("GUIDED_PROGRESS") == "0" or not _logger.isEnabledFor(logging.WARNING)


def _new_display() -> "Progress":
    # Why here: importing rich takes as long as the rest of a warm start.
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    # Why not Console(stderr=True): it looks up sys.stderr on each write, and libraries redirect it.
    console = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
