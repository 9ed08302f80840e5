"""Masks as rows of words in one table on a device: assignment of masks to rows, and transfers.

A mask is identified by its object identity, since an index returns the same array for the same mask. New masks are copied in one transfer
from pinned memory, and so are row numbers if a kernel cannot take them as arguments. The host waits for the device only if the device is
65,536 row numbers behind.

Invariants: the table keeps its masks alive, and a mask never changes. All masks of one call are in the table together. When the table
reaches its size limit, the least recently used masks are replaced. All work is ordered on one stream.

Complexity: per call O(masks), and per new mask its words; a full table is searched once per call with new masks.

Logits and kernels are handled elsewhere.
"""

from collections.abc import Sequence

import numpy as np
import torch

from guided.arrays import Int32Array, check_masks

__all__ = ["MaskRows"]

_FIRST_ROWS = 32
_PINNED_NUMBERS = 1 << 16
_NOTHING = np.zeros(0, np.int32)


class MaskRows:
    """A table of masks on a device.

    Parameters
    ----------
    n_words : int
        Words of a row; a shorter mask allows nothing beyond its end, a longer one may only allow tokens within.
    device : torch.device
    max_bytes : int
        Maximum size of the table, unless one call needs more.
    width : int, optional
        Tokens of a row: a mask that allows more raises a ValueError.

    Attributes
    ----------
    table : Tensor[int32], shape (n_rows, n_words)
        On the device. Replaced when a call needs more rows.
    """

    def __init__(self, n_words: int, device: torch.device, max_bytes: int, width: int | None = None) -> None:
        self._n_words, self._device = n_words, device
        self._width = 32 * n_words if width is None else width
        self._most = max(1, max_bytes // (4 * n_words))
        self._row_of: dict[int, int] = {}
        self._masks: list[Int32Array] = []
        self._calls = 0
        # The last call that used each row.
        self._used = np.zeros(0, np.int64)
        self._numbers = _PinnedNumbers(device) if device.type == "cuda" else None
        with torch.inference_mode(False):
            self.table = torch.zeros((0, n_words), dtype=torch.int32, device=device)

    def rows(self, masks: Sequence[Int32Array]) -> Int32Array:
        """Return the table rows of masks, adding new masks to the table, shape (len(masks),)."""
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
        """Copy row numbers to the device, shape (len(rows),); valid until the next copy."""
        if self._numbers is not None:
            return self._numbers.sent(rows)
        return torch.from_numpy(rows).to(self._device)

    def _admit(self, wanted: dict[int, Int32Array]) -> None:
        """Assign a table row to each new mask, and fill those rows."""
        row_of, count = self._row_of, len(self._masks)
        missing = {key: mask for key, mask in wanted.items() if key not in row_of}
        check_masks(missing.values(), self._width)
        self._reserve(len(wanted), count + len(missing))
        rows = list(range(count, min(count + len(missing), len(self.table))))
        if (taken := len(missing) - len(rows)) > 0:
            # Invariant: the table has a row for every mask of the call, so the least recently used rows are not among those of the call.
            self._used[[row_of[key] for key in wanted.keys() & row_of.keys()]] = self._calls
            for row in np.argpartition(self._used[:count], taken - 1)[:taken].tolist():
                row_of.pop(id(self._masks[row]), None)
                rows.append(row)
        self._fill(rows, list(missing.values()))
        self._masks.extend([_NOTHING] * (max(rows) + 1 - count))
        for row, (key, mask) in zip(rows, missing.items(), strict=True):
            row_of[key], self._masks[row] = row, mask

    def _reserve(self, at_least: int, at_best: int) -> None:
        """Grow the table to hold one call, and, within the size limit, all masks so far."""
        count = len(self.table)
        if count < at_least or count < min(at_best, self._most):
            count = max(at_least, min(max(at_best, 2 * count, _FIRST_ROWS), self._most))
            with torch.inference_mode(False):
                table = torch.zeros((count, self._n_words), dtype=torch.int32, device=self._device)
                table[: len(self.table)] = self.table
                self.table = table
            self._used = np.concatenate([self._used, np.zeros(count - len(self._used), np.int64)])

    def _fill(self, rows: Sequence[int], masks: Sequence[Int32Array]) -> None:
        """Write masks into table rows."""
        pinned = self._device.type == "cuda"
        words = torch.empty((len(rows), self._n_words), dtype=torch.int32, pin_memory=pinned)
        # Why NumPy: torch copies this much in several threads, which wait for each other on a busy machine.
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
    """Row numbers sent to a CUDA device through pinned memory; one half is written while transfers may read the other."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._make(_PINNED_NUMBERS)

    def _make(self, half: int) -> None:
        with torch.inference_mode(False):
            self._pinned = torch.empty(2 * half, dtype=torch.int32, pin_memory=True)
            self._target = torch.empty(half, dtype=torch.int32, device=self._device)
        self._array = self._pinned.numpy()
        self._half, self._side, self._at = half, 0, 0
        # Invariant: the event of a half follows all transfers from it, and is awaited before the half is written again.
        self._left = [torch.cuda.Event() for _ in range(2)]  # type: ignore[no-untyped-call]

    def sent(self, rows: Int32Array) -> torch.Tensor:
        """The numbers on the device, in a buffer that the next call reuses: work ordered on one stream has read it by then."""
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
