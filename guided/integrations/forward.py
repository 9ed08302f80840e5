"""The forward pass of transformers: one sequence with its KV cache, and several sequences padded into one batch.

The KV cache has one entry per token read. A session appends to it and truncates it; no token is computed twice. In a batch the rows share
one cache, in which row r owns the columns that its attention mask shows. All rows receive columns together, so a row with fewer tokens
than another, or a rewound row, has gaps, and its positions count only the columns it owns.

Complexity: one pass over the weights per call, for any number of tokens and rows; with few cores, memory-bound for one row.

torch is imported inside functions: this module must be importable without it.
"""

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from guided.errors import ModelError
from guided.generate.model import Batch, Logits, Session, check_context, common_prefix

if TYPE_CHECKING:
    import torch

__all__ = ["CachedSession", "Forward", "PaddedBatch"]


class Forward:
    """A model's forward pass, adapted to the installed version of transformers."""

    def __init__(self, hf_model: Any) -> None:
        self._model = hf_model
        parameters = inspect.signature(hf_model.forward).parameters
        names = ("logits_to_keep", "num_logits_to_keep")
        self._options: dict[str, Any] = {name: 1 for name in names if name in parameters}
        self._positions = "position_ids" in parameters

    @property
    def device(self) -> "torch.device":
        """Device of the model."""
        device: torch.device = self._model.device
        return device

    def new_cache(self) -> Any:
        """Return an empty cache that keeps all tokens regardless of a layer's window, so that it can be truncated anywhere."""
        from transformers import DynamicCache

        return DynamicCache()

    def __call__(self, tokens: Sequence[Sequence[int]], cache: Any, **tensors: "torch.Tensor") -> Any:
        """Return the logits after the last column: ndarray[float32], shape (n_rows, size)."""
        import torch

        if not self._positions:
            tensors.pop("position_ids", None)
        device = self.device
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.tensor([list(row) for row in tokens], device=device),
                past_key_values=cache,
                use_cache=True,
                **self._options,
                **{name: tensor.to(device) for name, tensor in tensors.items()},
            )
            return output.logits[:, -1].float().cpu().numpy()


class CachedSession(Session):
    """One sequence and its cache."""

    def __init__(self, forward: Forward, size: int, block: int, context_length: int | None) -> None:
        super().__init__(size, block, context_length)
        self._model = forward
        self.cache: Any = forward.new_cache()

    def _forward(self, tokens: Sequence[int]) -> Logits:
        logits: Logits = self._model([tokens], self.cache)[0]
        return logits

    def _truncate(self, n_kept: int) -> None:
        if n_kept == 0:
            self.cache = self._model.new_cache()
        else:
            # Why negative: transformers 5 rejects the length to keep and takes the number to remove; 4 takes both.
            self.cache.crop(n_kept - len(self._tokens))


class PaddedBatch(Batch):
    """Rows in one cache. ``shown[r, c]`` is 1 where row r owns column c; its position is the number of columns it owns before c."""

    def __init__(self, forward: Forward, width: int, size: int, block: int, context_length: int | None) -> None:
        self._forward, self._width, self._size = forward, width, size
        self._block, self._context_length = block, context_length

    def start(self, prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Read the common prefix of all prompts once, in blocks, and the rest of each prompt in its row."""
        import torch

        for prompt in prompts:
            check_context(len(prompt), self._context_length)
        shared = min(min(common_prefix(prompts[0], prompt) for prompt in prompts), min(map(len, prompts)) - 1)
        shared = shared // self._block * self._block
        self._cache = self._forward.new_cache()
        self.shown = torch.ones((self._width, shared), dtype=torch.long)
        for begin in range(0, shared, self._block):
            self._forward([prompts[0][begin : begin + self._block]], self._cache)
        if shared:
            self._cache.batch_repeat_interleave(self._width)
        return [logits for logits in self.feed([prompt[shared:] for prompt in prompts]) if logits is not None]

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        """Append to each row, on the right; the extra columns of shorter rows are masked."""
        import torch

        lengths = torch.tensor([len(row) for row in rows])
        check_context(int((self.shown.sum(dim=1) + lengths).max()), self._context_length)
        columns = int(lengths.max())
        padded = [[0] * (columns - len(row)) + list(row) for row in rows]
        owned = (torch.arange(columns) >= columns - lengths[:, None]).long()
        before = self.shown.sum(dim=1, keepdim=True)
        positions = (before + owned.cumsum(dim=1) - 1).clamp(min=0)
        self.shown = torch.cat([self.shown, owned], dim=1)
        logits = self._forward(padded, self._cache, attention_mask=self.shown, position_ids=positions)
        if logits.shape != (len(rows), self._size):
            raise ModelError(f"the model gave logits of width {logits.shape[-1]}; its vocabulary needs {self._size}")
        return [logits[place] if row else None for place, row in enumerate(rows)]

    def rewind(self, row: int, n_kept: int) -> None:
        """Mask the columns of the dropped tokens; they stay in the cache until the row is dropped."""
        columns = self.shown[row].nonzero()[:, 0]
        if not 0 <= n_kept <= len(columns):
            raise ValueError(f"n_kept must be from 0 to {len(columns)}, not {n_kept}")
        self.shown[row, columns[n_kept:]] = 0

    def keep(self, rows: Sequence[int]) -> None:
        """Select rows of the cache."""
        import torch

        if list(rows) == list(range(len(self.shown))):
            return
        kept = torch.tensor(list(rows))
        self._cache.batch_select_indices(kept.to(self._forward.device))
        self.shown = self.shown[kept]
