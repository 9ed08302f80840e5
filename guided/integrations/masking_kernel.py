"""One triton kernel that applies masks to logits: reads words and logits, writes logits, without temporaries in memory.

Each program handles a block of one row. It reads the row's words from the table by row number; one word decides 32 logits. Logits of an
all-zero word are not read, and in place, logits of an all-one word are not written. Writes cover whole memory lines, because partial lines
cost more.

Row numbers of up to 64 rows are passed as kernel arguments, four in each, and of more rows in a tensor. Compiled kernels are cached by
everything that triton specializes on, and launched without asking triton's compiler, which takes half of the host's time for a launch.

Complexity: O(rows * width / 8) bytes of masks, and the logits at most once in each direction.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl

from guided.arrays import Int32Array
from guided.integrations.masking_rows import MaskRows

__all__ = ["FusedMasks"]

# PERF: the best of 32 to 256 words, `python -m benchmarks.logits --device cuda` on one H200.
_WORDS = tl.constexpr(128)
# An argument: four row numbers of 15 bits, and one of two flags, so that it always has 64 bits.
_PER_ARGUMENT, _BITS = tl.constexpr(4), tl.constexpr(15)
_LARGEST_ROW = tl.constexpr((1 << 15) - 1)
_AS_ARGUMENTS, _IN_A_TENSOR = 1 << 61, tl.constexpr(1 << 62)
_NAMES = [f"n{place}" for place in range(16)]
_SENT = [_IN_A_TENSOR.value] * len(_NAMES)
_KEPT_LAUNCHES = 1 << 12


@triton.jit
def _number(row, rows, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15):
    """The table row of a row of the logits."""
    four, at = n0, row // _PER_ARGUMENT
    four = tl.where(at == 1, n1, four)
    four = tl.where(at == 2, n2, four)
    four = tl.where(at == 3, n3, four)
    four = tl.where(at == 4, n4, four)
    four = tl.where(at == 5, n5, four)
    four = tl.where(at == 6, n6, four)
    four = tl.where(at == 7, n7, four)
    four = tl.where(at == 8, n8, four)
    four = tl.where(at == 9, n9, four)
    four = tl.where(at == 10, n10, four)
    four = tl.where(at == 11, n11, four)
    four = tl.where(at == 12, n12, four)
    four = tl.where(at == 13, n13, four)
    four = tl.where(at == 14, n14, four)
    four = tl.where(at == 15, n15, four)
    number = (four >> (_BITS * (row % _PER_ARGUMENT))) & _LARGEST_ROW
    return tl.load(rows + row, mask=n0 >= _IN_A_TENSOR, other=number.to(tl.int32)).to(tl.int64)


@triton.jit
def _words(table, number, width, n_words):
    """A block of a table row: its words, shape (_WORDS,); their bits, columns, and flags for columns in range, each (_WORDS, 32)."""
    place = tl.program_id(1) * _WORDS + tl.arange(0, _WORDS)
    words = tl.load(table + number * n_words + place, mask=place < n_words, other=0)
    bit = tl.arange(0, 32)[None, :]
    columns = place[:, None] * 32 + bit
    return words, (words[:, None] >> bit) & 1, columns, columns < width


@triton.jit(do_not_specialize=_NAMES)
def _copy(
    out, out_stride, scores, table, rows, width, stride, n_words,
    n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15,
):  # fmt: skip
    row = tl.program_id(0)
    number = _number(row, rows, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15)
    words, allowed, columns, inside = _words(table, number, width, n_words)
    row = row.to(tl.int64)
    some = (words != 0)[:, None]
    found = tl.load(scores + row * stride + columns, mask=inside & some, other=float("-inf"))
    tl.store(out + row * out_stride + columns, tl.where(allowed != 0, found, float("-inf")), mask=inside)


@triton.jit(do_not_specialize=_NAMES)
def _in_place(
    scores, table, rows, width, stride, n_words,
    n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15,
):  # fmt: skip
    row = tl.program_id(0)
    number = _number(row, rows, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n15)
    words, allowed, columns, inside = _words(table, number, width, n_words)
    here = scores + row.to(tl.int64) * stride + columns
    not_all = (words != -1)[:, None]
    some = (words != 0)[:, None]
    found = tl.load(here, mask=inside & not_all & some, other=float("-inf"))
    tl.store(here, tl.where(allowed != 0, found, float("-inf")), mask=inside & not_all)


class FusedMasks:
    """The kernel for logits of one width and type on one device."""

    def __init__(self) -> None:
        self._launches: dict[tuple[int, ...], Callable[..., Any]] = {}

    def __call__(self, scores: torch.Tensor, out: torch.Tensor, masks: MaskRows, rows: Int32Array) -> None:
        """Write the scores to ``out``, with minus infinity where the bit of a row's words is 0.

        Parameters
        ----------
        scores, out : Tensor, shape (len(rows), width)
            On one device, with contiguous columns; they may be the same.
        masks : MaskRows
            Its rows have ceil(width / 32) words.
        rows : ndarray[int32], shape (len(scores),)
            The row of the table for each row of the scores.
        """
        height, width = scores.shape
        numbers, sent = _packed(rows), masks.table
        if numbers is _SENT:
            sent = masks.sent(rows)
        kernel = _in_place
        arguments = (scores, masks.table, sent, width, scores.stride(0), masks.table.shape[1], *numbers)
        # Invariant: the key covers all that triton specializes on: alignment of memory to 16 bytes, and divisibility of numbers by 16.
        key: tuple[int, ...] = (height, scores.stride(0), scores.data_ptr() % 16)
        if out.data_ptr() != scores.data_ptr():
            kernel = _copy
            arguments = (out, out.stride(0), *arguments)
            key = (*key, out.stride(0), out.data_ptr() % 16)
        with torch.cuda.device_of(scores):
            launch = self._launches.get(key)
            if launch is not None:
                launch(*arguments)
                return
            if len(self._launches) == _KEPT_LAUNCHES:
                self._launches.clear()
            self._launches[key] = _launched(kernel, (height, -(-width // (32 * _WORDS.value)), 1), arguments)


def _packed(rows: Int32Array) -> list[int]:
    """Row numbers packed into arguments; `_SENT` if they are too many or too large."""
    if len(rows) > len(_NAMES) * _PER_ARGUMENT.value:
        return _SENT
    numbers = rows.tolist()
    if max(numbers) > _LARGEST_ROW.value:
        return _SENT
    numbers += [0] * (-len(numbers) % 4)
    fours = zip(numbers[::4], numbers[1::4], numbers[2::4], numbers[3::4], strict=True)
    packed = [_AS_ARGUMENTS | a | b << 15 | c << 30 | d << 45 for a, b, c, d in fours]
    return packed + [_AS_ARGUMENTS] * (len(_NAMES) - len(packed))


def _launched(kernel: Any, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Launch the kernel, and return a function that launches it again with similar arguments."""
    # Launching twice is safe: the result is the same.
    slow: Callable[..., Any] = partial(kernel[grid], num_warps=4 if kernel is _in_place else 8)
    compiled = slow(*arguments)
    try:
        launch: Callable[..., Any] = compiled[grid]
        launch(*arguments)
    except (AttributeError, TypeError):  # triton's interpreter, or a triton that takes other arguments here
        return slow
    return launch
