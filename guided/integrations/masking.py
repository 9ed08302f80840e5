"""Token masks applied to torch logits on their device.

The result is ``scores.masked_fill(~allowed, -inf)``: allowed logits keep their bits, including NaN, all others become minus infinity. A
*store* does this for rows of one width and type on one device.

- On the CPU one pass over the logits reads the words directly.
- On other devices masks are rows of words in one table (`guided.integrations.masking_rows`), and a step passes their row numbers, one
  integer per sequence. If triton is installed, one fused kernel reads them, and takes the integers of small batches as arguments, so that
  a step with known masks is a single launch. Without triton, words are expanded to booleans with a table of 256 entries.

Complexity: O(rows * width) per call, bound by memory bandwidth.

This module is independent of indices and guides, and imports only torch and NumPy (on the CPU also numba), so a serving loop can use it
alone. Gradients do not flow through it. A store belongs to one thread and one stream.
"""

import functools
import importlib.util
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from guided.arrays import Int32Array, mask_words
from guided.integrations.masking_rows import MaskRows

if TYPE_CHECKING:
    from guided.integrations.masking_kernel import FusedMasks

__all__ = ["DeviceMasks", "HostMasks", "MaskStore", "mask_store"]

_STORE_BYTES = 1 << 26
_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class MaskStore(ABC):
    """Applies masks to logits of one width and type on one device.

    Parameters
    ----------
    width : int
        Columns of the logits; those beyond a mask's words are padding and never allowed.
    dtype : torch.dtype
        A float type of 2, 4 or 8 bytes.
    device : torch.device
        Device of the logits.
    """

    def __init__(self, width: int, dtype: torch.dtype, device: torch.device) -> None:
        if not dtype.is_floating_point or dtype.itemsize not in _INTEGERS:
            raise TypeError(f"logits must be floats of 2, 4 or 8 bytes, not {dtype}")
        self.width, self.dtype, self.device = width, dtype, device

    def fits(self, scores: torch.Tensor) -> bool:
        """Return whether this store is for such scores."""
        return scores.shape[-1] == self.width and scores.dtype == self.dtype and scores.device == self.device

    def apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor | None = None) -> torch.Tensor:
        """Replace the scores that a row's mask does not allow by minus infinity.

        Parameters
        ----------
        scores : Tensor, shape (rows, width)
            Same type and device as the store.
        masks : sequence of ndarray[int32], each of shape (at most ceil(width / 32),)
            One per row: bit ``t & 31`` of word ``t >> 5`` allows token t.
        out : Tensor, shape (rows, width), optional
            Output; ``out=scores`` works in place. None: a new tensor.

        Returns
        -------
        Tensor, shape (rows, width)

        Raises
        ------
        ValueError
            Shapes, types or devices do not match, or a mask allows a token beyond the logits.
        """
        if scores.dim() != 2 or not self.fits(scores) or len(masks) != len(scores):
            raise ValueError(
                f"this store takes a {self.dtype} tensor of shape ({len(masks)}, {self.width}) on {self.device}, "
                f"not one of {scores.dtype} of shape {tuple(scores.shape)} on {scores.device}"
            )
        if out is None:
            out = torch.empty_like(scores)
        elif out is not scores and (out.shape != scores.shape or not self.fits(out)):
            raise ValueError("out must have the shape, the type and the device of the scores")
        if len(masks):
            self._apply(scores, masks, out)
        return out

    @abstractmethod
    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        """Write all rows; there is at least one."""


def mask_store(scores: torch.Tensor) -> MaskStore:
    """Create a store for such scores."""
    kind = HostMasks if scores.device.type == "cpu" else DeviceMasks
    return kind(scores.shape[-1], scores.dtype, scores.device)


class HostMasks(MaskStore):
    """For logits on the CPU; keeps no masks, since one pass over the logits suffices (`guided.generate.masking`)."""

    def __init__(self, width: int, dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(width, dtype, device)
        # Why here: only this class needs numba, which may be missing on a machine that masks on its GPU.
        from guided.generate.masking import mask_bits

        self._mask_bits = mask_bits
        self._kind = _INTEGERS[dtype.itemsize]
        self._infinity = int(torch.full((1,), -torch.inf, dtype=dtype).view(self._kind))

    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        bits, target = (tensor.detach().view(self._kind).numpy() for tensor in (scores, out))
        self._mask_bits(bits, masks, self._infinity, target)


class DeviceMasks(MaskStore):
    """For logits on a GPU or another device; also works on the CPU, but slower than `HostMasks`.

    Parameters
    ----------
    width, dtype, device
        As in `MaskStore`.
    max_bytes : int
        Maximum size of the stored masks, unless one call needs more.
    fused : bool, optional
        Whether to use the fused kernel. None: on CUDA, if triton is installed and can compile it.
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
        self._rows = MaskRows(mask_words(width), device, max_bytes, width)
        self._fused: FusedMasks | None = None
        if fused is None:
            fused = device.type == "cuda" and importlib.util.find_spec("triton") is not None and _kernel_works()
        if fused:
            self._fused = _fused_masks()
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
        with torch.inference_mode(False):
            # Entry b: eight bytes, 1 for each 0 bit in b, so that one look-up expands 8 bits to 8 booleans.
            self._refused = torch.from_numpy(1 - bits).view(torch.int64)[:, 0].to(device)

    def _apply(self, scores: torch.Tensor, masks: Sequence[Int32Array], out: torch.Tensor) -> None:
        rows = self._rows.rows(masks)
        if self._fused is not None and scores.stride(1) == out.stride(1) == 1:
            self._fused(scores, out, self._rows, rows)
            return
        with torch.no_grad():
            eights = self._rows.table.index_select(0, self._rows.sent(rows)).view(torch.uint8).flatten().int()
            refused = self._refused.index_select(0, eights).view(torch.bool).view(len(masks), -1)[:, : self.width]
            if out.data_ptr() != scores.data_ptr():
                out.copy_(scores)
            out.masked_fill_(refused, -torch.inf)


def _fused_masks() -> "FusedMasks":
    from guided.integrations.masking_kernel import FusedMasks

    return FusedMasks()


@functools.cache
def _kernel_works() -> bool:
    """Return whether triton compiles the fused kernel on this machine; warns if it fails."""
    try:
        _try_kernel(torch.device("cuda"))
    except Exception as error:  # triton passes on errors of compilers and drivers, for example a missing C compiler
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(
            f"guided: masks are applied without triton, which fails here: {reason} ({type(error).__name__})",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def _try_kernel(device: torch.device) -> None:
    """Launch the kernel in every way on a few logits; RuntimeError if a result is wrong."""
    fused, table = _fused_masks(), MaskRows(2, device, _STORE_BYTES)
    masks = [np.array([5, place], np.int32) for place in range(70)]
    for count in (1, 70):
        rows = table.rows(masks[:count])
        for _ in range(2):  # compiled first, then launched from the cache
            scores = torch.zeros((count, 64), device=device)
            fused(scores, scores, table, rows)
            allowed = np.packbits(scores.cpu().numpy() == 0, axis=1, bitorder="little").view(np.int32)
            if not np.array_equal(allowed, np.stack(masks[:count])):
                raise RuntimeError("its kernel gives other masks")
