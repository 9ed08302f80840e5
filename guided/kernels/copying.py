"""Rows of words copied from addresses: the masks of a batch lie in arrays of their own, which numba would take one by one.

The caller keeps the arrays alive and answers for the addresses; the bounds of nothing are checked here, in no mode.

Complexity: one ``memcpy`` per row, at the speed of memory.
"""

from typing import Any

from guided.arrays import Int64Array
from guided.kernels.jit import intrinsic, kernel

__all__ = ["copy_rows"]


def _typed_copy(_typing: Any, target: Any, source: Any, n_bytes: Any) -> Any:
    """Return signature and code of a call that copies bytes from one address to another."""
    # Why here: code compiled ahead of time needs no numba.
    from numba import types
    from numba.core import cgutils

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(types.voidptr)
        to, start = (builder.inttoptr(address, pointer) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, start, arguments[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(target, source, n_bytes), code


_copy: Any = intrinsic(_typed_copy)


@kernel
def copy_rows(sources: Int64Array, lengths: Int64Array, targets: Int64Array) -> None:
    """Copy ``lengths[i]`` bytes from address ``sources[i]`` to address ``targets[i]``."""
    for i in range(len(sources)):
        _copy(targets[i], sources[i], lengths[i])
