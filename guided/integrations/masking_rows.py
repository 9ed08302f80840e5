"""Masks as rows of words in one table on a device: assignment of masks to rows, and transfers.

A mask is identified by its object identity, since an index returns the same array for the same mask. The new masks of a call get rows in
a row, the next ones of the table in a circle, so one transfer from pinned memory copies them all. What a call finds in these rows is sent
again. Row numbers are copied likewise if a kernel cannot take them as arguments. The host waits for the device only if the device is behind
by all pinned memory.

Invariants: the table keeps its masks alive, and a mask never changes. All masks of one call are in the table together. When the table
reaches its size limit, the masks that were sent first are replaced. All work is ordered on one stream.

Complexity: per call O(masks), and per new mask its words.

Logits and kernels are handled elsewhere.
"""

from collections.abc import Sequence

import numpy as np
import torch

from guided.arrays import Int32Array, check_masks

__all__ = ["MaskRows"]

_FIRST_ROWS = 32
# Words of one half of the pinned memory, unless one call needs more.
_PINNED_WORDS = 1 << 16
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
        # The mask of each row, and the next row to fill.
        self._masks: list[Int32Array] = []
        self._next = 0
        self._pinned = (_Pinned(device), _Pinned(device)) if device.type == "cuda" else None
        self._numbers: torch.Tensor | None = None
        with torch.inference_mode(False):
            self.table = torch.zeros((0, n_words), dtype=torch.int32, device=device)

    def rows(self, masks: Sequence[Int32Array]) -> Int32Array:
        """Return the table rows of masks, adding new masks to the table, shape (len(masks),)."""
        try:
            return self._found(masks)
        except KeyError:
            self._admit({id(mask): mask for mask in masks})
            return self._found(masks)

    def _found(self, masks: Sequence[Int32Array]) -> Int32Array:
        return np.fromiter(map(self._row_of.__getitem__, map(id, masks)), np.int32, len(masks))

    def sent(self, rows: Int32Array) -> torch.Tensor:
        """Copy row numbers to the device, shape (len(rows),); valid until the next copy, which reuses the memory in the stream's order."""
        if self._pinned is None:
            return torch.from_numpy(rows).to(self._device)
        count = len(rows)
        if self._numbers is None or len(self._numbers) < count:
            with torch.inference_mode(False):
                self._numbers = torch.empty(max(2 * count, _PINNED_WORDS), dtype=torch.int32, device=self._device)
        words = self._pinned[0].room(count)
        words.numpy()[:] = rows
        return self._numbers[:count].copy_(words, non_blocking=True)

    def _admit(self, wanted: dict[int, Int32Array]) -> None:
        """Assign a row to each new mask, and fill these rows."""
        row_of = self._row_of
        missing = {key: mask for key, mask in wanted.items() if key not in row_of}
        check_masks(missing.values(), self._width)
        self._reserve(len(wanted), len(row_of) + len(missing))
        while True:
            begin = self._next if self._next + len(missing) <= len(self.table) else 0
            end = begin + len(missing)
            lost = [key for key in wanted if key not in missing and begin <= row_of[key] < end]
            if not lost:
                break
            missing |= {key: wanted[key] for key in lost}
        for row in range(begin, end):
            if row_of.get(key := id(self._masks[row])) == row:
                del row_of[key]
        self._fill(begin, list(missing.values()))
        self._masks[begin:end] = missing.values()
        row_of.update(zip(missing, range(begin, end), strict=True))
        self._next = end

    def _reserve(self, at_least: int, at_best: int) -> None:
        """Grow the table to hold one call, and, within the size limit, all masks so far."""
        count = len(self.table)
        if count < at_least or count < min(at_best, self._most):
            more = max(at_least, min(max(at_best, 2 * count, _FIRST_ROWS), self._most)) - count
            with torch.inference_mode(False):
                self.table = torch.cat([self.table, self.table.new_zeros((more, self._n_words))])
            self._masks += [_NOTHING] * more
            self._next = count

    def _fill(self, begin: int, masks: list[Int32Array]) -> None:
        """Write masks into the rows from one on."""
        size = len(masks) * self._n_words
        words = torch.empty(size, dtype=torch.int32) if self._pinned is None else self._pinned[1].room(size)
        # Why NumPy: torch copies this much in several threads, which wait for each other on a busy machine.
        target = words.numpy()
        if all(len(mask) == self._n_words for mask in masks):
            np.concatenate(masks, out=target)
        else:
            target[:] = 0
            for line, mask in zip(target.reshape(len(masks), -1), masks, strict=True):
                line[: len(mask)] = mask[: self._n_words]
        self.table[begin : begin + len(masks)].copy_(words.view(len(masks), -1), non_blocking=True)


class _Pinned:
    """Pinned memory that is sent to a CUDA device; one half is written while transfers may read the other."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._make(_PINNED_WORDS)

    def _make(self, half: int) -> None:
        with torch.inference_mode(False):
            self._words = torch.empty(2 * half, dtype=torch.int32, pin_memory=True)
        self._half, self._side, self._at = half, 0, 0
        # Invariant: the event of a half follows all transfers from it, and is awaited before the half is written again.
        self._left = [torch.cuda.Event() for _ in range(2)]  # type: ignore[no-untyped-call]

    def room(self, count: int) -> torch.Tensor:
        """Return words to write now and to send before the next call, shape (count,)."""
        if count > self._half:
            self._make(2 * count)
        if self._at + count > self._half:
            self._left[self._side].record(torch.cuda.current_stream(self._device))
            self._side, self._at = 1 - self._side, 0
            self._left[self._side].synchronize()
        begin = self._side * self._half + self._at
        self._at += count
        return self._words[begin : begin + count]
