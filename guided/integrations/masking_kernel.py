"""Masks applied to logits by one triton kernel: words, logits in, logits out, nothing between them in memory.

Each program does a block of one row. It reads the row's words from the table by the row's number, and where a bit is 0 it does not read the
logit. In place it writes minus infinity only where a bit is 0, and reads no logits at all.

Complexity: O(rows * width / 8) bytes of masks, and the logits once each way at most.
"""

import torch
import triton
import triton.language as tl

__all__ = ["masked"]

_BLOCK = 4096


@triton.jit
def _allowed(table, slots, n_words, BLOCK: tl.constexpr):
    """The bits of a block of a row: 0 or 1, shape (BLOCK,)."""
    place = tl.program_id(1) * (BLOCK // 32) + tl.arange(0, BLOCK // 32)
    slot = tl.load(slots + tl.program_id(0))
    words = tl.load(table + slot * n_words + place, mask=place < n_words, other=0)
    return tl.reshape((words[:, None] >> tl.arange(0, 32)[None, :]) & 1, [BLOCK])


@triton.jit
def _copy(out, scores, table, slots, width, out_stride, stride, n_words, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    allowed = _allowed(table, slots, n_words, BLOCK) != 0
    inside = columns < width
    kept = tl.load(scores + row * stride + columns, mask=inside & allowed, other=float("-inf"))
    tl.store(out + row * out_stride + columns, kept, mask=inside)


@triton.jit
def _in_place(scores, table, slots, width, stride, n_words, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    refused = _allowed(table, slots, n_words, BLOCK) == 0
    tl.store(scores + row * stride + columns, float("-inf"), mask=(columns < width) & refused)


def masked(scores: torch.Tensor, table: torch.Tensor, slots: torch.Tensor, out: torch.Tensor) -> None:
    """Write the scores to ``out``, minus infinity where the bit of a row's words is 0.

    Parameters
    ----------
    scores, out : Tensor, shape (rows, width)
        On one device, with columns side by side; they may be the same.
    table : Tensor[int32], shape (n_masks, ceil(width / 32))
    slots : Tensor[int64], shape (rows,)
        The row of the table for each row of the scores.
    """
    rows, width = scores.shape
    grid = (rows, triton.cdiv(width, _BLOCK))
    n_words = table.shape[1]
    with torch.cuda.device_of(scores):
        if out.data_ptr() == scores.data_ptr():
            _in_place[grid](scores, table, slots, width, scores.stride(0), n_words, BLOCK=_BLOCK, num_warps=8)
        else:
            strides = out.stride(0), scores.stride(0)
            _copy[grid](out, scores, table, slots, width, *strides, n_words, BLOCK=_BLOCK, num_warps=8)
