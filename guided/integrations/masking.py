"""Token masks applied to torch's logits, where the logits are.

The definition is ``scores.masked_fill(~allowed, -inf)``: what is allowed keeps its bits, NaN included, everything else is minus infinity.
A *store* does that for rows of one width and type on one device.

- On the CPU one pass over the logits' bits reads the words as they are.
- Elsewhere masks lie as words in one table on the device. A step sends the numbers of its masks' rows, one integer per sequence, in one
  transfer that nothing waits for; masks not seen before travel together in one more. Words become booleans by a table of 256 entries, or
  inside one fused kernel where triton is installed.

Invariant: on a device a mask is recognised by its identity, since an index hands out the same array for the same mask; a store keeps it
alive, and a mask never changes. What was used longest ago goes first when a store has its fill of bytes.

Complexity: O(rows * width) per call, which is memory traffic.

It knows no index and no guide, and imports torch and NumPy only, on the CPU numba, too: a serving loop can use it alone. Gradients do
not flow through it. A store belongs to one thread and one stream.
"""

import functools
import importlib.util
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch

from guided.arrays import Int32Array, mask_words

__all__ = ["DeviceMasks", "HostMasks", "MaskStore", "mask_store"]

_STORE_BYTES = 1 << 26
_FIRST_ROWS = 32
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}

Fused: TypeAlias = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], None]


class MaskStore(ABC):
    """Applies masks to logits of one width and type on one device.

    Parameters
    ----------
    width : int
        Columns of the logits; those beyond a mask's words are padding, and are never allowed.
    dtype : torch.dtype
        A float type of 2, 4 or 8 bytes.
    device : torch.device
        Where the logits are.
    """

    def __init__(self, width: int, dtype: torch.dtype, device: torch.device) -> None:
        if not dtype.is_floating_point or dtype.itemsize not in _INTEGERS:
            raise TypeError(f"logits must be floats of 2, 4 or 8 bytes, not {dtype}")
        self.width, self.dtype, self.device = width, dtype, device

    def fits(self, scores: torch.Tensor) -> bool:
        """Is this store for such scores?"""
        return scores.shape[-1] == self.width and scores.dtype == self.dtype and scores.device == self.device

    def apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor | None = None) -> torch.Tensor:
        """Minus infinity for what a row's mask does not allow.

        Parameters
        ----------
        scores : Tensor, shape (rows, width)
            Of the store's type and device.
        masks : sequence of ndarray[int32], each of shape (at most ceil(width / 32),)
            One per row: bit ``t & 31`` of word ``t >> 5`` allows token t.
        out : Tensor, shape (rows, width), optional
            Where to write; ``out=scores`` works in place. None: a new tensor.

        Returns
        -------
        Tensor, shape (rows, width)

        Raises
        ------
        ValueError
            Shapes, types or devices that do not fit.
        """
        if scores.dim() != 2 or not self.fits(scores) or len(masks) != len(scores):
            raise ValueError(
                f"this store takes a {self.dtype} tensor of shape ({len(masks)}, {self.width}) on {self.device}, "
                f"not one of {scores.dtype} of shape {tuple(scores.shape)} on {scores.device}"
            )
        with torch.no_grad():
            if out is None:
                out = torch.empty_like(scores)
            elif out.shape != scores.shape or not self.fits(out):
                raise ValueError("out must have the shape, the type and the device of the scores")
            if len(masks):
                self._apply(scores, masks, out)
        return out

    @abstractmethod
    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        """Write all rows, of which there is at least one."""


def mask_store(scores: torch.Tensor) -> MaskStore:
    """A store for scores like these."""
    kind = HostMasks if scores.device.type == "cpu" else DeviceMasks
    return kind(scores.shape[-1], scores.dtype, scores.device)


class HostMasks(MaskStore):
    """For logits on the CPU: nothing is kept, since one pass over the logits is all it takes (`guided.generate.masking`)."""

    def __init__(self, width: int, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(width, dtype, device)
        # Why here: only this class needs numba, and a machine that masks on its GPU may be without.
        from guided.generate.masking import mask_bits

        self._mask_bits = mask_bits
        self._kind = _INTEGERS[dtype.itemsize]
        self._infinity = int(torch.full((1,), -torch.inf, dtype=dtype).view(self._kind))

    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        bits, target = (tensor.detach().view(self._kind).numpy() for tensor in (scores, out))
        self._mask_bits(bits, masks, self._infinity, target)


class DeviceMasks(MaskStore):
    """For logits on a GPU or another device; on the CPU it works, too, if slower than `HostMasks`.

    Parameters
    ----------
    width, dtype, device
        As in `MaskStore`.
    max_bytes : int
        The most that is kept of masks, unless one call needs more.
    fused : bool, optional
        Use the fused kernel? None: on CUDA, where triton is installed and can compile it.
    """

    def __init__(
        self,
        width: int,
        dtype: torch.dtype,
        device: torch.device,
        max_bytes: int = _STORE_BYTES,
        fused: bool | None = None,
    ) -> None:
        super().__init__(width, dtype, device)
        self._words = mask_words(width)
        self._slots: OrderedDict[int, tuple[Int32Array, int]] = OrderedDict()
        self._most = max(1, max_bytes // (4 * self._words))
        self._pinned = device.type == "cuda"
        if fused is None:
            possible = device.type == "cuda" and importlib.util.find_spec("triton") is not None
            self._fused = _tried_kernel() if possible else None
        else:
            self._fused = _fused_kernel() if fused else None
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        with torch.inference_mode(False):
            # Entry b: eight bytes, 1 for each 0 in b, so that 8 bits become 8 booleans in one look-up.
            self._refused = torch.from_numpy(1 - bits).view(torch.int64)[:, 0].to(device)
            self._table = torch.zeros((0, self._words), dtype=torch.int32, device=device)

    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        places = self._sent(np.array(self._place(masks), np.int64))
        if self._fused is not None and scores.stride(1) == out.stride(1) == 1:
            self._fused(scores, self._table, places, out)
            return
        eights = self._table.index_select(0, places).view(torch.uint8).flatten().int()
        refused = self._refused.index_select(0, eights).view(torch.bool).view(len(masks), -1)[:, : self.width]
        if out.data_ptr() != scores.data_ptr():
            out.copy_(scores)
        out.masked_fill_(refused, -torch.inf)

    def _place(self, masks: Sequence[Int32Array]) -> list[int]:
        """The rows of the table in which the masks are, after they have been put there."""
        slots = self._slots
        wanted = {id(mask): mask for mask in masks}
        for key in wanted.keys() & slots.keys():
            slots.move_to_end(key)
        missing = [mask for key, mask in wanted.items() if key not in slots]
        if missing:
            self._reserve(len(wanted), len(slots) + len(missing))
            self._admit(missing)
        return [slots[id(mask)][1] for mask in masks]

    def _reserve(self, at_least: int, at_best: int) -> None:
        """Have the table hold what one call needs, and if the bytes allow it everything seen so far."""
        rows = len(self._table)
        if rows < at_least or rows < min(at_best, self._most):
            rows = max(at_least, min(max(at_best, 2 * rows, _FIRST_ROWS), self._most))
            with torch.inference_mode(False):
                table = torch.zeros((rows, self._words), dtype=torch.int32, device=self.device)
                table[: len(self._table)] = self._table
                self._table = table

    def _admit(self, missing: Sequence[Int32Array]) -> None:
        """Give each new mask a row of the table, and fill those rows."""
        # Invariant: the other masks of this call are the last ones, and the table has rows for all of the call. So the oldest
        # ones, whose rows are taken, are none of it.
        slots = self._slots
        words = np.zeros((len(missing), self._words), np.int32)
        places = np.empty(len(missing), np.int64)
        for row, mask in enumerate(missing):
            places[row] = len(slots) if len(slots) < len(self._table) else slots.popitem(last=False)[1][1]
            slots[id(mask)] = mask, int(places[row])
            words[row, : len(mask)] = mask[: self._words]
        self._table.index_copy_(0, self._sent(places), self._sent(words))

    def _sent(self, array: np.ndarray) -> torch.Tensor:
        """The array on the device. Torch keeps pinned memory until its transfer is done, so nothing waits here."""
        tensor = torch.from_numpy(array)
        return (tensor.pin_memory() if self._pinned else tensor).to(self.device, non_blocking=True)


def _fused_kernel() -> Fused:
    from guided.integrations.masking_kernel import masked

    return masked


@functools.cache
def _tried_kernel() -> Fused | None:
    """The fused kernel, once it has run on this machine; None with a warning where triton can not compile it."""
    try:
        masked = _fused_kernel()
        scores, table = torch.zeros((1, 32), device="cuda"), torch.zeros((1, 1), dtype=torch.int32, device="cuda")
        masked(scores, table, torch.zeros(1, dtype=torch.int64, device="cuda"), scores)
    except Exception as error:  # triton raises what its compilers and drivers raise; it needs a C compiler, for one
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(
            f"guided: masks are applied without triton, which fails here: {reason} ({type(error).__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return masked
