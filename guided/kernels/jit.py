"""Decorator of all kernels: code compiled ahead of time where it fits, numba otherwise.

Three ways to run a kernel, tried in this order (ADR 0036):

1. The *extension* (`guided.kernels.extension`): code that a wheel for the platform has, or that ``guided warmup`` built. A call whose
   arguments fit one of its signatures imports no numba.
2. Numba (`guided.kernels.compiler`), which compiles on first use and caches on disk: without an extension, and for other arguments.
3. Plain Python, with ``NUMBA_DISABLE_JIT=1``.
"""

import logging
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

from guided.interrupts import deferred
from guided.kernels.extension import load
from guided.locks import Rank, new_lock

__all__ = ["inlined", "intrinsic", "kernel", "python_function"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_logger = logging.getLogger("guided.kernels")
# Why: a child forked during an import of numba could not import it.
_loading = new_lock(Rank.LOADER)


def kernel(function: _Function, is_inlined: bool = False) -> _Function:
    """Return the compiled form of ``function``: same arguments by position, same result. Calls release the GIL."""
    extension = load()
    if extension is None:
        return cast("_Function", _compiled_by_numba(function, is_inlined))
    fallback = _Fallback(function, is_inlined)
    bound = extension.bind(f"{function.__module__}.{function.__qualname__}", fallback)
    return cast("_Function", bound or fallback)


def inlined(function: _Function) -> _Function:
    """Return the compiled form of a part of kernels, which is compiled into each of its callers, whatever its size.

    PERF: LLVM would call a large part, with seven numbers for each array: `guided.kernels.pushdown.walk` takes twice as long.
    """
    return kernel(function, is_inlined=True)


def python_function(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function that a kernel was compiled from."""
    owner = getattr(compiled, "__self__", compiled)
    found: Callable[..., Any] = owner.function if isinstance(owner, _Fallback) else getattr(owner, "py_func", owner)
    return found


class intrinsic:  # noqa: N801 - in place of numba's decorator of this name
    """`numba.extending.intrinsic`, applied when numba first compiles a kernel that calls it."""

    def __init__(self, implementation: Callable[..., Any]) -> None:
        self._implementation = implementation

    @cached_property
    def for_numba(self) -> Any:
        """What numba compiles a call of."""
        from numba.extending import intrinsic

        return intrinsic(self._implementation)


class _Fallback:
    """A kernel of the extension, for arguments that fit none of its signatures: numba compiles it for them."""

    def __init__(self, function: Callable[..., Any], is_inlined: bool) -> None:
        self.function, self._is_inlined = function, is_inlined

    def __call__(self, *arguments: Any) -> Any:
        return self.for_numba(*arguments)

    @cached_property
    def for_numba(self) -> Any:
        """Numba's dispatcher of the kernel."""
        function = self.function
        _logger.info("no code compiled ahead of time fits a call of %s.%s", function.__module__, function.__qualname__)
        return _compiled_by_numba(function, self._is_inlined)


def _compiled_by_numba(function: Callable[..., Any], is_inlined: bool) -> Any:
    # Why held: numpy and numba cannot be imported again once Ctrl-C has interrupted their import.
    with _loading, deferred():
        from guided.kernels.compiler import dispatcher

        return dispatcher(_with_names_for_numba(function), is_inlined)


def _with_names_for_numba(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose globals are numba's objects in place of those of this module."""
    names = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    owners = {name: getattr(value, "__self__", value) for name, value in names.items()}
    changed = {name: owner.for_numba for name, owner in owners.items() if isinstance(owner, _Fallback | intrinsic)}
    if not changed:
        return function
    copy = FunctionType(function.__code__, function.__globals__ | changed, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__, copy.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return copy
