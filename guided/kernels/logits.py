"""Masks applied to logits: allowed logits keep their bits, all others become minus infinity.

Logits are passed as integers of their size, because their bits are moved and never computed with: one loop serves every float type, and
NaN. The mask of a row has the bit of token t at ``t & 31`` of word ``t >> 5``.

Complexity: O(rows * width), at the speed of memory.
"""

from typing import Any

import numpy as np

from guided.arrays import Int32Array, IntegerArray
from guided.kernels.jit import kernel

__all__ = ["copy_allowed", "fill_refused"]

# PERF: a word's 32 bits are one inner loop of fixed length over int32, which compiles to vectors without branches: 12 us for 129,280 logits
# of 4 bytes, where torch's masked_fill takes 90 to 500 (python -m benchmarks.logits --device cpu). In place is a kernel of its own, since
# that loop needs to know that it does not write what it reads later.


@kernel
def copy_allowed(
    words: Int32Array,
    logits: IntegerArray,
    infinity: "np.signedinteger[Any]",
    out: IntegerArray,
) -> None:
    """Write the logits to ``out``, with refused ones replaced by ``infinity``.

    Parameters
    ----------
    words : int32, shape (rows, ceil(width / 32)), in
    logits : int16, int32 or int64, shape (rows, width), in
    infinity : of the type of the logits
        The bits of minus infinity.
    out : of the type of the logits, shape (rows, width), out
        Shares no memory with the logits.
    """
    n_rows, width = logits.shape
    n_whole = width // 32
    for row in range(n_rows):
        for place in range(n_whole):
            word = words[row, place]
            begin = 32 * place
            for bit in range(32):
                kept = (word >> np.int32(bit)) & np.int32(1)
                out[row, begin + bit] = logits[row, begin + bit] if kept else infinity
        for token in range(32 * n_whole, width):
            kept = (words[row, token >> 5] >> np.int32(token & 31)) & np.int32(1)
            out[row, token] = logits[row, token] if kept else infinity


@kernel
def fill_refused(words: Int32Array, infinity: "np.signedinteger[Any]", logits: IntegerArray) -> None:
    """Write ``infinity`` over the refused logits.

    Parameters
    ----------
    words : int32, shape (rows, ceil(width / 32)), in
    infinity : of the type of the logits
        The bits of minus infinity.
    logits : int16, int32 or int64, shape (rows, width), in and out
    """
    n_rows, width = logits.shape
    n_whole = width // 32
    for row in range(n_rows):
        for place in range(n_whole):
            word = words[row, place]
            if word != -1:
                begin = 32 * place
                for bit in range(32):
                    kept = (word >> np.int32(bit)) & np.int32(1)
                    logits[row, begin + bit] = logits[row, begin + bit] if kept else infinity
        for token in range(32 * n_whole, width):
            kept = (words[row, token >> 5] >> np.int32(token & 31)) & np.int32(1)
            logits[row, token] = logits[row, token] if kept else infinity
