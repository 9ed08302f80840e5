"""Kernels compiled by numba on first use: cached on disk if a folder is writable, and without the GIL.

Imported only where no code compiled ahead of time fits and Python would take long (`guided.kernels.jit`).

Numba looks for a writable cache folder when a function is decorated and raises ``RuntimeError`` ("no locator available") if there
is none: a read-only install with an unusable HOME. Then kernels are compiled in memory, once per process, with one warning.

Numba notices an edit of a kernel's own file only, but compiled code includes the constants and functions that the kernel imports. So each
version of the sources has a cache folder of its own, named by a hash (ADR 0034).

The first use on a machine compiles for seconds. `_Notice` reports it on a terminal, and the logger ``guided.kernels`` has a record for
each kernel. Ctrl-C during a compilation takes effect at numba's next pass: elsewhere it would be lost in a callback of
LLVM, or leave numba with a half-compiled function.
"""

import hashlib
import logging
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event as events
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock

from guided.interrupts import deferred
from guided.kernels.extension import sources_hash
from guided.locks import Rank, fork_safe, new_lock
from guided.progress import announcement, is_shown, progress

__all__ = ["dispatcher", "is_cached", "kernels", "without_notice"]

# Why: a child forked while a thread compiles or loads a kernel could load none.
fork_safe(global_compiler_lock, Rank.COMPILER)

_logger = logging.getLogger("guided.kernels")
_kernels: list[Any] = []
_warned = False

# Number of cache folders kept side by side: other versions of the sources (branches of a checkout), with and without bounds checks.
_KEPT = 4
_PREFIX = "guided-"
# Why without numba's run time (`_nrt`): it counts references of arrays, atomically, whenever a kernel or a part of one is called.
# PERF: the walk of a mask takes 14 us instead of 29 (`python -m benchmarks.maskbench`). Kernels therefore cannot allocate arrays.
# No kernel is called from C by numba's convention.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}


def dispatcher(function: Callable[..., Any], is_inlined: bool = False) -> Any:
    """Return numba's dispatcher of ``function`` (``nogil``, disk cache where possible), or ``function`` with NUMBA_DISABLE_JIT."""
    global _warned
    # Kernels whose names begin with an underscore are called by kernels only: numba writes no code that reads Python's arguments.
    options = _OPTIONS | {"forceinline": is_inlined, "no_cpython_wrapper": function.__name__.startswith("_")}
    compiled: Any = numba.njit(**options)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT
        return function
    try:
        compiled._cache = _Cache(function)  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "guided: no writable cache folder for compiled kernels; they are compiled anew in every process "
                "(up to a minute). Set NUMBA_CACHE_DIR to a writable folder.",
                RuntimeWarning,
                stacklevel=2,
            )
    # Why this method: the dispatcher calls it for types of arguments that it has no code for, and for nothing else, so
    # calls of compiled code cost what they did.
    compiled._compile_for_args = _interruptible(compiled._compile_for_args)
    compiled.get_call_template = _widened(compiled.get_call_template)
    _kernels.append(compiled)
    return compiled


def is_cached(compiled: Any) -> bool:
    """Return whether the cache on disk has code of a dispatcher, for any types."""
    return isinstance(compiled._cache, _Cache) and os.path.exists(compiled._cache._cache_file._index_path)


def kernels() -> list[Any]:
    """Return numba's dispatchers of all kernels that needed one so far."""
    return list(_kernels)


class _Storage(CompileResultCacheImpl):
    """Numba's cache files of one kernel, in the folder of the present sources."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        folder = _folder(self.locator.get_cache_path())
        self.locator.get_cache_path = lambda: folder


class _Cache(FunctionCache):
    _impl_class = _Storage


@cache
def _folder(parent: str) -> str:
    """Return the cache folder of the present sources; if it is new, remove the oldest of the others.

    Its name has a hash of what compiled code depends on and numba does not compare: all sources that kernels import, and bounds checks.
    An application frozen into one file has no sources; there numba compares the file itself.
    """
    checked = bool(numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]
    version = hashlib.sha256(f"{numba.__version__} {checked} {sources_hash()}".encode()).hexdigest()[:16]
    folder = Path(parent, _PREFIX + version)
    if not folder.exists():
        try:
            others = sorted(Path(parent).glob(f"{_PREFIX}*"), key=lambda other: other.stat().st_mtime, reverse=True)
            folder.mkdir(parents=True)
        except OSError:  # another process is doing the same
            return str(folder)
        for other in others[_KEPT - 1 :]:
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


def _interruptible(load_or_compile: Callable[..., Any]) -> Callable[..., Any]:
    """Hold Ctrl-C back while code is loaded or compiled, except at the start of numba's passes."""

    def interruptible(*arguments: Any, **options: Any) -> Any:
        with deferred() as deliver, events.install_listener("numba:run_pass", _SafePoints(deliver)):
            return load_or_compile(*arguments, **options)

    return interruptible


def _widened(template_of: Callable[..., Any]) -> Callable[..., Any]:
    """Have a kernel that calls another pass signed and small integers as int64, constants included.

    PERF: otherwise numba compiles a kernel again for each type of integer that others happen to pass (`python -m benchmarks.cold_start`).
    """

    def widened(arguments: tuple[types.Type, ...], keywords: dict[str, types.Type]) -> Any:
        return template_of(tuple(map(_wide, arguments)), {name: _wide(kind) for name, kind in keywords.items()})

    return widened


def _wide(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    return types.int64 if isinstance(kind, types.Integer) and kind != types.uint64 else kind


class _SafePoints(events.Listener):
    """Deliver a signal at the start of a pass, where an exception leaves numba in the same state as an error in the pass."""

    def __init__(self, deliver: Callable[[], None]) -> None:
        self._deliver = deliver
        self._thread = threading.get_ident()

    def on_start(self, _event: events.Event) -> None:
        if threading.get_ident() == self._thread:
            self._deliver()

    def on_end(self, _event: events.Event) -> None:
        pass


class _Notice(events.Listener):
    """Report that kernels are being compiled: on a terminal their number and the time, after a second; elsewhere one line, after two."""

    _PATIENCE, _PATIENCE_ELSEWHERE = 1.0, 2.0

    def __init__(self) -> None:
        self._lock = new_lock(Rank.NOTICE)
        self._n_active = 0
        self._began = 0.0
        self._spent = 0.0
        self._timer: threading.Timer | None = None
        self._line: tuple[ExitStack, Callable[[str], None]] | None = None
        self.noticed = False

    def on_start(self, event: events.Event) -> None:
        if not _is_ours(event):
            return
        with self._lock:
            self._n_active += 1
            if self._n_active > 1:
                self._update()
                return
            self._began = time.perf_counter()
            patience = self._PATIENCE if is_shown() else self._PATIENCE_ELSEWHERE
            if self._spent >= patience:
                self._show()
            else:
                self._timer = threading.Timer(patience - self._spent, self._show)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: events.Event) -> None:
        if not _is_ours(event):
            return
        with self._lock:
            self._n_active -= 1
            if self._n_active:
                self._update()
                return
            seconds = time.perf_counter() - self._began
            self._spent += seconds
            self._hide()
        function = event.data["dispatcher"].py_func
        _logger.info("compiled %s.%s in %.1f s", function.__module__, function.__qualname__, seconds)

    def _show(self) -> None:
        with self._lock:
            if not self._n_active or self._line is not None:
                return
            if not self.noticed:
                self.noticed = True
                announcement(
                    "kernels are compiled on first use, which takes up to a minute, once on this machine; "
                    "'guided warmup' compiles all of them"
                )
            if not is_shown():
                return
            stack = ExitStack()
            self._line = (
                stack,
                stack.enter_context(progress(self._text(), elapsed=self._spent + time.perf_counter() - self._began)),
            )

    def _update(self) -> None:
        if self._line is not None:
            self._line[1](self._text())

    def _hide(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._line is not None:
            stack, _ = self._line
            self._line = None
            stack.close()

    def _text(self) -> str:
        ready = sum(bool(found.overloads) for found in _kernels)
        return f"compiling kernels: {ready} of up to {len(_kernels)} are ready"


def _is_ours(event: events.Event) -> bool:
    return event.data["dispatcher"] in _kernels


_notice = _Notice()
events.register("numba:compile", _notice)  # type: ignore[no-untyped-call]


def without_notice() -> None:
    """Omit the line that kernels are being compiled: the caller shows each kernel."""
    _notice.noticed = True
