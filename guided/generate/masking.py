"""Token masks applied to logits in host memory, NumPy's or any whose bits NumPy can see.

The definition is ``where(allowed, logits, -inf)``, for every float type, NaN included; columns beyond a mask's words are padding, and are
never allowed.

Complexity: O(rows * width) at the speed of memory (`guided.kernels.logits`); nothing is kept of a mask between calls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, IntegerArray, mask_words
from guided.kernels.logits import copy_allowed, fill_refused

__all__ = ["mask_bits", "mask_logits"]


def mask_logits(logits: npt.NDArray[Any], masks: Sequence[Int32Array]) -> npt.NDArray[Any]:
    """Logits with minus infinity for what a row's mask does not allow.

    Parameters
    ----------
    logits : ndarray[float16, float32 or float64], shape (rows, width)
    masks : sequence of ndarray[int32], each of shape (at most ceil(width / 32),)
        One per row: bit ``t & 31`` of word ``t >> 5`` allows token t.

    Returns
    -------
    ndarray, shape (rows, width)
        New, of the same type.
    """
    kind = np.dtype(f"i{logits.dtype.itemsize}")
    infinity = int(np.array(-np.inf, logits.dtype).view(kind))
    out = np.empty(logits.shape, logits.dtype)
    mask_bits(np.ascontiguousarray(logits).view(kind), masks, infinity, out.view(kind))
    return out


def mask_bits(bits: IntegerArray, masks: Sequence[Int32Array], infinity: int, out: IntegerArray) -> None:
    """The same for logits given as integers of their own size.

    Parameters
    ----------
    bits, out : ndarray[int16, int32 or int64], shape (rows, width)
        They share all of their memory, which is masking in place, or none of it. C-contiguous is faster.
    masks : sequence of ndarray[int32]
        As in `mask_logits`.
    infinity : int
        The bits of minus infinity.
    """
    words = np.zeros((len(masks), mask_words(bits.shape[1])), np.int32)
    for row, mask in enumerate(masks):
        words[row, : len(mask)] = mask[: words.shape[1]]
    end = bits.dtype.type(infinity)
    straight = bits.flags.c_contiguous and out.flags.c_contiguous
    if straight and bits.ctypes.data == out.ctypes.data:
        fill_refused(words, end, out)
    elif straight:
        copy_allowed(words, bits, end, out)
    else:
        whole = np.array(bits, order="C")
        fill_refused(words, end, whole)
        out[...] = whole
