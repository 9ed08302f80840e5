"""Decorator of all kernels: code compiled ahead of time where it fits, numba otherwise.

Ways to run a kernel (ADR 0036):

1. The *extension* (`guided.kernels.extension`): code that a wheel for the platform has, or that ``guided warmup`` built. A call whose
   arguments fit one of its signatures imports no numba.
2. Numba (`guided.kernels.compiler`), which compiles on first use and caches on disk, for other arguments.
3. Without an extension, plain Python first: small inputs are done long before numba has compiled anything. A kernel is numba's from the
   call on whose arrays are large, once Python has taken as long as compiling takes, once numba is loaded and has it in its cache,
   and in `compile_at_once`.
4. Numba alone, with ``GUIDED_COMPILED_KERNELS=0`` or ``NUMBA_BOUNDSCHECK=1``; plain Python alone, with ``NUMBA_DISABLE_JIT=1``.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from guided.interrupts import deferred
from guided.kernels.extension import is_wanted, load
from guided.locks import Rank, new_lock

__all__ = ["compile_at_once", "inlined", "intrinsic", "kernel", "may_be_python", "python_function"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_logger = logging.getLogger("guided.kernels")
# Why: a child forked during an import of numba could not import it.
_loading = new_lock(Rank.LOADER)
# Seconds of CPU time that a kernel may take as Python: about what compiling one takes. And the elements of an array above which it is
# compiled at once: a call might take Python many times as long. The tables of small schemas have room for nearly as many.
_PATIENCE, _LARGE = 0.25, 1 << 20
_compiles_at_once = False


def kernel(function: _Function, is_inlined: bool = False) -> _Function:
    """Return the compiled form of ``function``: same arguments by position, same result. Calls release the GIL."""
    extension = load()
    if extension is None:
        # Why 2: older versions of NumPy do not take unsigned scalars and Python's integers together.
        is_patient = is_wanted() and int(np.__version__.partition(".")[0]) >= 2
        return cast("_Function", (_Uncompiled if is_patient else _compiled_by_numba)(function, is_inlined))
    fallback = _Fallback(function, is_inlined)
    bound = extension.bind(f"{function.__module__}.{function.__qualname__}", fallback)
    return cast("_Function", bound or fallback)


def inlined(function: _Function) -> _Function:
    """Return the compiled form of a part of kernels, which is compiled into each of its callers, whatever its size.

    PERF: LLVM would call a large part, with seven numbers for each array: `guided.kernels.pushdown.walk` takes twice as long.
    """
    return kernel(function, is_inlined=True)


@contextmanager
def compile_at_once() -> Iterator[None]:
    """Have numba compile, or load from its cache, every kernel that is called in the block, in any thread."""
    global _compiles_at_once
    before, _compiles_at_once = _compiles_at_once, True
    try:
        yield
    finally:
        _compiles_at_once = before


def may_be_python(compiled: Callable[..., Any]) -> bool:
    """Return whether Python runs a kernel until numba is worth its time: a call then takes more than a few lines in place of it."""
    return isinstance(compiled, _Uncompiled)


def python_function(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function that a kernel was compiled from."""
    owner = getattr(compiled, "__self__", compiled)
    found: Callable[..., Any] = owner.function if isinstance(owner, _ByNumba) else getattr(owner, "py_func", owner)
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


class _ByNumba:
    """A kernel that numba compiles if need be."""

    def __init__(self, function: Callable[..., Any], is_inlined: bool) -> None:
        self.function, self._is_inlined = function, is_inlined

    @cached_property
    def for_numba(self) -> Any:
        """Numba's dispatcher of the kernel."""
        return _compiled_by_numba(self.function, self._is_inlined)


class _Fallback(_ByNumba):
    """A kernel of the extension, for arguments that fit none of its signatures: numba compiles it for them."""

    def __call__(self, *arguments: Any) -> Any:
        return self.for_numba(*arguments)

    @cached_property
    def for_numba(self) -> Any:
        """Numba's dispatcher of the kernel."""
        function = self.function
        _logger.info("no code compiled ahead of time fits a call of %s.%s", function.__module__, function.__qualname__)
        return _compiled_by_numba(function, self._is_inlined)


class _Uncompiled(_ByNumba):
    """A kernel without code compiled ahead of time: Python runs it until numba is worth its time."""

    def __init__(self, function: Callable[..., Any], is_inlined: bool) -> None:
        super().__init__(function, is_inlined)
        self._dispatcher: Any = None
        self._spent = 0.0
        self._is_missing = False

    def __call__(self, *arguments: Any) -> Any:
        if self._dispatcher is None and self._is_worth_compiling(arguments):
            self._dispatcher = self.for_numba
        if self._dispatcher is not None:
            return self._dispatcher(*arguments)
        begin = time.thread_time()
        # Why deferred: Ctrl-C must not leave tables half written.
        with deferred(), np.errstate(over="ignore"):
            result = self.for_python(*arguments)
        self._spent += time.thread_time() - begin
        return _plain(result)

    @cached_property
    def for_python(self) -> Callable[..., Any]:
        """The function, which calls other kernels as Python too."""
        return _with_names(self.function, lambda owner: owner.for_python if isinstance(owner, _Uncompiled) else None)

    @cached_property
    def _needs_numba(self) -> bool:
        """Whether the function calls what Python cannot run."""
        function = self.function
        return any(isinstance(function.__globals__.get(name), intrinsic) for name in function.__code__.co_names)

    @property
    def _is_at_hand(self) -> bool:
        """Whether another kernel has loaded numba already, and its cache on disk has this one."""
        compiler = sys.modules.get("guided.kernels.compiler")
        if self._is_missing or compiler is None:
            return False
        self._is_missing = not compiler.is_cached(self.for_numba)
        return not self._is_missing

    def _is_worth_compiling(self, arguments: tuple[Any, ...]) -> bool:
        if _compiles_at_once or self._needs_numba or self._spent > _PATIENCE or self._is_at_hand:
            return True
        return any(isinstance(argument, np.ndarray) and argument.size > _LARGE for argument in arguments)


def _plain(result: Any) -> Any:
    """Return a result as numba does: NumPy's scalars are Python's."""
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    return result.item() if isinstance(result, np.generic) else result


def _compiled_by_numba(function: Callable[..., Any], is_inlined: bool) -> Any:
    # Why held: numpy and numba cannot be imported again once Ctrl-C has interrupted their import.
    with _loading, deferred():
        from guided.kernels.compiler import dispatcher

        return dispatcher(_with_names(function, _for_numba), is_inlined)


def _for_numba(owner: Any) -> Any:
    return owner.for_numba if isinstance(owner, _ByNumba | intrinsic) else None


def _with_names(function: Callable[..., Any], replaced: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function some of whose globals are others: what ``replaced`` returns for them, unless it is None."""
    names = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    found = {name: replaced(getattr(value, "__self__", value)) for name, value in names.items()}
    changed = {name: value for name, value in found.items() if value is not None}
    if not changed:
        return function
    copy = FunctionType(function.__code__, function.__globals__ | changed, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__, copy.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return copy
