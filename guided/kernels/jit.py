"""The one decorator of all kernels: compiled, cached on disk where a folder is writable, and free of the GIL.

Numba looks for a writable cache folder when a function is decorated and raises ``RuntimeError`` ("no locator available") when there
is none: a read-only install with an unusable HOME. Then kernels are compiled in memory, once per process, with one warning.
"""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_warned = False


def kernel(function: _Function) -> _Function:
    """Compile ``function`` with numba (``nogil``, disk cache where possible)."""
    global _warned
    try:
        return cast("_Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "guided: no writable cache folder for compiled kernels; they are compiled anew in every process "
                "(some seconds). Set NUMBA_CACHE_DIR to a writable folder.",
                RuntimeWarning,
                stacklevel=2,
            )
        return cast("_Function", numba.njit(nogil=True)(function))
