"""Dtypes, sentinels and the CSR contract of all arrays in the package.

- States, nodes, functions and tokens are ``int32``; offsets into pools of pairs are ``int64``; bytes and byte classes are
  ``uint8``; hashes are ``uint64``; masks are ``int32`` words, least significant bit first, 1 = allowed.
- ``DEAD`` (-1) is "no transition"; ``UNKNOWN`` (-2) is "not computed yet"; both are negative, so ``>= 0`` means a state.
- CSR: ``indptr[i]:indptr[i + 1]`` is the slice of row i in the value arrays; ``len(indptr) == n_rows + 1``, ``indptr[0] == 0``.
- Arrays returned by the function that created them are C-contiguous and frozen (``writeable=False``), so threads can share them.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "DEAD",
    "UNKNOWN",
    "BoolArray",
    "Int32Array",
    "Int64Array",
    "IntegerArray",
    "UInt8Array",
    "UInt64Array",
    "allow",
    "check_masks",
    "freeze",
    "mask_of",
    "mask_words",
    "tokens_of",
]

DEAD = -1
UNKNOWN = -2

Int32Array: TypeAlias = npt.NDArray[np.int32]
Int64Array: TypeAlias = npt.NDArray[np.int64]
IntegerArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]
UInt8Array: TypeAlias = npt.NDArray[np.uint8]
UInt64Array: TypeAlias = npt.NDArray[np.uint64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def freeze(array: npt.NDArray[_Scalar], dtype: Any = None) -> npt.NDArray[_Scalar]:
    """Return the array C-contiguous and read-only; copied only if it is not contiguous or of another dtype."""
    array = np.ascontiguousarray(array, dtype=dtype)
    array.flags.writeable = False
    return array


def mask_words(size: int) -> int:
    """Return the number of words of a token mask over ``size`` logits: ``ceil(size / 32)``."""
    return (size + 31) // 32


def mask_of(tokens: IntegerArray | list[int], size: int) -> Int32Array:
    """Return the mask of some tokens over ``size`` logits."""
    bits = np.zeros(32 * mask_words(size), np.uint8)
    bits[tokens] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)


def tokens_of(mask: Int32Array) -> Int32Array:
    """Return the tokens of a mask, ascending."""
    return freeze(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).astype(np.int32))


def allow(mask: Int32Array, tokens: Iterable[int]) -> None:
    """Set the bits of a few tokens in a mask."""
    for token in tokens:
        mask[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))


def check_masks(masks: Iterable[Int32Array], width: int) -> None:
    """Raise for a mask that allows a token beyond the logits, unless all its bits are set: it stands for no constraint.

    O(1) for each mask of their width, O(words) for one without a constraint.

    Raises
    ------
    ValueError
        The logits are narrower than the vocabulary of the masks.
    """
    whole, rest = divmod(width, 32)
    for mask in masks:
        is_beyond = len(mask) > whole and (int(mask[whole]) & 0xFFFFFFFF) >> rest | int(mask[whole + 1 :].any())
        if is_beyond and not (mask == -1).all():
            last = 32 * len(mask)
            raise ValueError(
                f"the logits have {width:,} columns, and the mask, for {last - 31:,} to {last:,} tokens, allows a token beyond them: "
                "compile the index for this model's vocabulary"
            )
