"""Masks as rows of words in one table on a device: which mask lies in which row, and what travels there.

A mask is recognised by its identity, since an index hands out the same array for the same mask. Masks not seen before travel together in
one transfer, out of pinned memory; so do row numbers, where a kernel cannot take them as arguments. Nothing waits for the device, unless it
is 65,536 row numbers behind.

Invariants: the table keeps its masks alive, and a mask never changes. All masks of one call are in the table together. What was used
longest ago goes first, when the table has its fill of bytes. All work is in order on one stream.

Complexity: per call O(masks), and per new mask its words; a full table is searched once per call that has new masks.

It knows neither logits nor kernels.
"""

from collections.abc import Sequence

import numpy as np
import torch

from guided.arrays import Int32Array

__all__ = ["MaskRows"]

_FIRST_ROWS = 32
_PINNED_NUMBERS = 1 << 16
_NOTHING = np.zeros(0, np.int32)


class MaskRows:
    """A table of masks on a device.

    Parameters
    ----------
    n_words : int
        Words of a row; a shorter mask allows nothing behind its end, a longer one is cut.
    device : torch.device
    max_bytes : int
        The most that is kept, unless one call needs more.

    Attributes
    ----------
    table : Tensor[int32], shape (n_rows, n_words)
        On the device. Another one after a call that had more masks than there were rows.
    """

    def __init__(self, n_words: int, device: torch.device, max_bytes: int) -> None:
        self._n_words, self._device = n_words, device
        self._most = max(1, max_bytes // (4 * n_words))
        self._row_of: dict[int, int] = {}
        self._masks: list[Int32Array] = []
        self._calls = 0
        # By row: the call that used it last.
        self._used = np.zeros(0, np.int64)
        self._numbers = _PinnedNumbers(device) if device.type == "cuda" else None
        with torch.inference_mode(False):
            self.table = torch.zeros((0, n_words), dtype=torch.int32, device=device)

    def rows(self, masks: Sequence[Int32Array]) -> Int32Array:
        """The rows of the table in which the masks are, after they have been put there, shape (len(masks),)."""
        self._calls += 1
        try:
            rows = self._found(masks)
        except KeyError:
            self._admit({id(mask): mask for mask in masks})
            rows = self._found(masks)
        self._used[rows] = self._calls
        return rows

    def _found(self, masks: Sequence[Int32Array]) -> Int32Array:
        return np.fromiter(map(self._row_of.__getitem__, map(id, masks)), np.int32, len(masks))

    def sent(self, rows: Int32Array) -> torch.Tensor:
        """Row numbers on the device, shape (len(rows),): good until the next are sent."""
        if self._numbers is not None:
            return self._numbers.sent(rows)
        return torch.from_numpy(rows).to(self._device)

    def _admit(self, wanted: dict[int, Int32Array]) -> None:
        """Give each mask that has none a row of the table, and fill those rows."""
        row_of, count = self._row_of, len(self._masks)
        missing = {key: mask for key, mask in wanted.items() if key not in row_of}
        self._reserve(len(wanted), count + len(missing))
        rows = list(range(count, min(count + len(missing), len(self.table))))
        if (taken := len(missing) - len(rows)) > 0:
            # Invariant: the table has rows for all of the call, so that the ones used longest ago are none of those that the call wants.
            self._used[[row_of[key] for key in wanted.keys() & row_of.keys()]] = self._calls
            for row in np.argpartition(self._used[:count], taken - 1)[:taken].tolist():
                row_of.pop(id(self._masks[row]), None)
                rows.append(row)
        self._fill(rows, list(missing.values()))
        self._masks.extend([_NOTHING] * (max(rows) + 1 - count))
        for row, (key, mask) in zip(rows, missing.items(), strict=True):
            row_of[key], self._masks[row] = row, mask

    def _reserve(self, at_least: int, at_best: int) -> None:
        """Have the table hold what one call needs, and if the bytes allow it everything seen so far."""
        count = len(self.table)
        if count < at_least or count < min(at_best, self._most):
            count = max(at_least, min(max(at_best, 2 * count, _FIRST_ROWS), self._most))
            with torch.inference_mode(False):
                table = torch.zeros((count, self._n_words), dtype=torch.int32, device=self._device)
                table[: len(self.table)] = self.table
                self.table = table
            self._used = np.concatenate([self._used, np.zeros(count - len(self._used), np.int64)])

    def _fill(self, rows: Sequence[int], masks: Sequence[Int32Array]) -> None:
        """Write masks into rows of the table."""
        pinned = self._device.type == "cuda"
        words = torch.empty((len(rows), self._n_words), dtype=torch.int32, pin_memory=pinned)
        # Why by NumPy: torch copies this much by many threads, which on a busy machine wait for each other.
        target = words.numpy()
        if all(len(mask) == self._n_words for mask in masks):
            np.stack(masks, out=target)
        else:
            target[:] = 0
            for line, mask in zip(target, masks, strict=True):
                line[: len(mask)] = mask[: self._n_words]
        if rows[-1] - rows[0] == len(rows) - 1 and all(row == rows[0] + place for place, row in enumerate(rows)):
            self.table[rows[0] : rows[0] + len(rows)].copy_(words, non_blocking=True)
        else:
            self.table.index_copy_(
                0, self.sent(np.array(rows, np.int32)).long(), words.to(self._device, non_blocking=True)
            )


class _PinnedNumbers:
    """Row numbers on their way to a CUDA device, through pinned memory: one half of it is written while transfers may read the other."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._make(_PINNED_NUMBERS)

    def _make(self, half: int) -> None:
        with torch.inference_mode(False):
            self._pinned = torch.empty(2 * half, dtype=torch.int32, pin_memory=True)
            self._target = torch.empty(half, dtype=torch.int32, device=self._device)
        self._array = self._pinned.numpy()
        self._half, self._side, self._at = half, 0, 0
        # Invariant: a half's event is behind all transfers out of it, and is waited for before the half is written again.
        self._left = [torch.cuda.Event() for _ in range(2)]  # type: ignore[no-untyped-call]

    def sent(self, rows: Int32Array) -> torch.Tensor:
        """The numbers on the device, where the next ones will be written: work in order on one stream has read them by then."""
        count = len(rows)
        if count > self._half:
            self._make(2 * count)
        if self._at + count > self._half:
            self._left[self._side].record(torch.cuda.current_stream(self._device))
            self._side, self._at = 1 - self._side, 0
            self._left[self._side].synchronize()
        begin = self._side * self._half + self._at
        self._at += count
        self._array[begin : begin + count] = rows
        return self._target[:count].copy_(self._pinned[begin : begin + count], non_blocking=True)
