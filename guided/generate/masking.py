"""Token masks applied to logits in host memory: NumPy arrays, or any array whose bits NumPy can view.

The result is ``where(allowed, logits, -inf)`` for every float type, including NaN. Columns beyond a mask's words are padding and never
allowed.

Complexity: O(rows * width) at memory speed (`guided.kernels.logits`); no state is kept between calls.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, IntegerArray, check_masks, mask_words
from guided.kernels.logits import copy_allowed, fill_refused

__all__ = ["mask_bits", "mask_logits"]


def mask_logits(logits: npt.NDArray[Any], masks: Sequence[Int32Array]) -> npt.NDArray[Any]:
    """Replace the logits that a row's mask does not allow by minus infinity.

    Parameters
    ----------
    logits : ndarray[float16, float32 or float64], shape (rows, width)
    masks : sequence of ndarray[int32], each of shape (at most ceil(width / 32),)
        One per row: bit ``t & 31`` of word ``t >> 5`` allows token t.

    Returns
    -------
    ndarray, shape (rows, width)
        A new array of the same type.

    Raises
    ------
    ValueError
        A mask allows a token beyond the logits.
    """
    kind = np.dtype(f"i{logits.dtype.itemsize}")
    infinity = int(np.array(-np.inf, logits.dtype).view(kind))
    out = np.empty(logits.shape, logits.dtype)
    mask_bits(np.ascontiguousarray(logits).view(kind), masks, infinity, out.view(kind))
    return out


def mask_bits(bits: IntegerArray, masks: Sequence[Int32Array], infinity: int, out: IntegerArray) -> None:
    """Mask logits given as integers of the same size (`mask_logits`).

    Parameters
    ----------
    bits, out : ndarray[int16, int32 or int64], shape (rows, width)
        Either the same memory (masking in place) or disjoint memory. C-contiguous is faster.
    masks : sequence of ndarray[int32]
        As in `mask_logits`.
    infinity : int
        Bit pattern of minus infinity.
    """
    check_masks(masks, bits.shape[1])
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
