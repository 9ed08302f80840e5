"""`fill_masks`: the masks of a batch of guides, written into the rows of one bitmask.

Serving engines keep one bitmask per batch, ``rows x ceil(V / 32)`` words, which is sent to the device as a whole. A mask that its index has
computed before costs a look-up and the copy of its words. Many rows are copied by one kernel, which releases the GIL once; few by NumPy,
which keeps it: with another thread busy in Python, getting the GIL back takes up to 5 ms, as much as thousands of rows.

Complexity: O(rows x words), at the speed of memory, plus the masks that are computed for the first time.
"""

import weakref
from collections.abc import Iterable, Sequence
from operator import index as as_index
from types import FunctionType
from typing import Any

import numpy as np

from guided.arrays import Int32Array, Int64Array
from guided.errors import shown
from guided.guide.guide import Guide
from guided.kernels.copying import copy_rows

__all__ = ["fill_masks"]

# Bytes from which the kernel copies: about 50 us.
_MANY_BYTES = 1 << 19
_NOTHING: Int32Array = np.zeros(0, np.int32)
# Without a compiler, kernels are plain Python, which has no addresses.
_IS_COMPILED = not isinstance(copy_rows, FunctionType)


def fill_masks(guides: Sequence[Guide | None], out: Any, rows: Iterable[int] | None = None) -> dict[int, Exception]:
    """Write the mask of each guide into its row of a batch's bitmask.

    Parameters
    ----------
    guides : sequence of Guide or None
        None: every token is allowed, all bits of the row are set.
    out : ndarray or torch.Tensor on the CPU, int32 or uint32, shape (any, words)
        Filled in place, not copied. A row is C-contiguous and has at least ``ceil(size / 32)`` words of each guide's index; bits beyond
        ``size`` are cleared. Rows without an entry in ``guides`` are unchanged.
    rows : iterable of int, optional
        Row of each guide, all different. By default guide i fills row i.

    Returns
    -------
    dict of int to Exception
        Errors by row, empty if there are none. A row with an error allows no token, and the other rows are complete: the text must end
        with the error. Mostly `LimitError`: the mask costs more than `Limits.call_steps`.

    Raises
    ------
    TypeError
        ``out`` is not such an array, or a guide is neither a `Guide` nor None.
    ValueError
        ``out`` is read-only or too narrow, or ``rows`` are not as many as the guides, not different, or beyond ``out``. Nothing was
        written.

    Notes
    -----
    A guide belongs to one thread at a time, so a batch must not name a guide that another thread moves. One guide may fill several rows.
    """
    words = _words_of(out)
    places = _checked_rows(rows, len(guides), len(words))
    errors: dict[int, Exception] = {}
    width = words.shape[1]
    masks: list[Int32Array | None] = []
    for row, guide in zip(places, guides, strict=True):
        try:
            masks.append(None if guide is None else guide.mask())
        except Exception as error:  # Why all: one text must not end the others of its batch; the caller gets the error
            if not isinstance(guide, Guide):
                raise TypeError(f"guides must be Guide or None, not {type(guide).__name__}") from None
            errors[row] = error
            masks.append(_NOTHING)
    lengths = [-1 if mask is None else len(mask) for mask in masks]
    if lengths and max(lengths) > width:
        raise ValueError(f"out has {width:,} words in a row, and a mask {max(lengths):,}: allocate ceil(size / 32)")
    if _IS_COMPILED and 4 * width * len(masks) >= _MANY_BYTES:
        _copy_all(masks, lengths, words, places)
    else:
        for row, copied in zip(places, masks, strict=True):
            _copy_one(copied, words[row])
    return errors


def _words_of(out: Any) -> Int32Array:
    """Return the words of ``out`` as an array over the same memory."""
    array = out
    if not isinstance(out, np.ndarray):
        # Tensors share their memory with this array, or refuse.
        to_numpy = getattr(out, "numpy", None)
        if to_numpy is None:
            raise TypeError(f"out must be an ndarray or a CPU tensor of int32 or uint32, not {type(out).__name__}")
        array = to_numpy()
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.itemsize != 4:
        raise TypeError(f"out must have two dimensions of int32 or uint32, not shape {array.shape} of {array.dtype}")
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    if array.shape[1] > 1 and array.strides[1] != 4:
        raise ValueError("the words of a row of out must lie next to each other")
    words: Int32Array = array.view(np.int32)
    return words


def _checked_rows(rows: Iterable[int] | None, n_guides: int, n_rows: int) -> Sequence[int]:
    if rows is None and n_guides <= n_rows:
        return range(n_guides)
    places = range(n_guides) if rows is None else [as_index(row) for row in rows]
    if len(places) != n_guides:
        raise ValueError(f"{n_guides} guides need as many rows, not {len(places)}")
    if n_guides and (min(places) < 0 or max(places) >= n_rows):
        raise ValueError(f"rows run from 0 to {n_rows - 1}, not from {min(places)} to {max(places)}")
    if rows is not None and len(set(places)) < n_guides:
        raise ValueError(f"rows must be different: {shown(list(places))}")
    return places


def _copy_one(mask: Int32Array | None, row: Int32Array) -> None:
    if mask is None:
        row.fill(-1)
        return
    row[: len(mask)] = mask
    row[len(mask) :] = 0


def _copy_all(masks: list[Int32Array | None], lengths: list[int], words: Int32Array, places: Sequence[int]) -> None:
    """Copy by one kernel the masks that fill their row, and the others one by one."""
    width = words.shape[1]
    rows = np.arange(len(places), dtype=np.int64) if isinstance(places, range) else np.array(places, np.int64)
    whole = masks
    if lengths.count(width) < len(masks):
        for row, mask, length in zip(places, masks, lengths, strict=True):
            if length < width:
                _copy_one(mask, words[row])
        rows = rows[np.array(lengths) == width]
        whole = [mask for mask, length in zip(masks, lengths, strict=True) if length == width]
    targets = words.__array_interface__["data"][0] + words.strides[0] * rows
    copy_rows(_addresses(whole), np.full(len(whole), 4 * width, np.int64), targets)


# Addresses of masks, by the id of the mask, with a reference that removes the entry.
# PERF: NumPy takes 1 to 2 us for an address, and an index gives the same arrays at every step (python -m benchmarks.batch_masks).
_address_of: dict[int, tuple["weakref.ref[Any]", int]] = {}


def _addresses(masks: Sequence[Any]) -> Int64Array:
    known_of = _address_of.get
    addresses = [
        known[1] if (known := known_of(id(mask))) is not None and known[0]() is mask else _address(mask)
        for mask in masks
    ]
    return np.array(addresses, np.int64)


def _address(mask: Int32Array) -> int:
    key = id(mask)
    assert mask.dtype == np.int32, "masks are words"
    assert mask.flags.c_contiguous, "masks of an index are contiguous"
    address: int = mask.__array_interface__["data"][0]
    _address_of[key] = weakref.ref(mask, lambda _: _address_of.pop(key, None)), address
    return address
