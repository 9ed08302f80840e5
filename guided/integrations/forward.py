"""The forward pass of transformers: one sequence with its KV cache, and several sequences padded into one batch.

The KV cache has one entry per token read. A session appends to it and truncates it; no token is computed twice. In a batch the rows share
one cache, in which row r owns the columns that its attention mask shows. All rows receive columns together, so a row with fewer tokens
than another, or a rewound row, has gaps, and its positions count only the columns it owns. When rows are refilled, columns are copied so
that each row owns the last ones: the cache is as long as its longest row.

Complexity: one pass over the weights per call, for any number of tokens and rows; with few cores, memory-bound for one row.

torch is imported inside functions: this module must be importable without it.
"""

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from guided.errors import ModelError
from guided.generate.model import Batch, Logits, Session, check_context, shared_blocks

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
        # transformers 5.24 renames the parameter.
        self._cache = "cache" if "cache" in parameters else "past_key_values"

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
                use_cache=True,
                **{self._cache: cache},
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

    def __init__(self, forward: Forward, size: int, block: int, context_length: int | None) -> None:
        import torch

        self._forward, self._size = forward, size
        self._block, self._context_length = block, context_length
        self._tokens: list[list[int]] = []
        self._cache = forward.new_cache()
        self.shown = torch.ones((0, 0), dtype=torch.long)

    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Read the prompts in a batch of their own, and join its rows to those kept."""
        new = PaddedBatch(self._forward, self._size, self._block, self._context_length)
        logits = new._read(prompts, self)
        if kept:
            self.keep(kept)
            self._join(new)
        else:
            self._cache, self.shown, self._tokens = new._cache, new.shown, new._tokens
        return logits

    def _read(self, prompts: Sequence[Sequence[int]], known: "PaddedBatch") -> list[Logits]:
        """Read the common prefix of all prompts once, in blocks, and the rest of each prompt in its row.

        The beginning of the prefix is copied from a row of another batch.
        """
        import torch

        for prompt in prompts:
            check_context(len(prompt), self._context_length)
        shared, row, n_known = shared_blocks(prompts, known._tokens, self._block)
        if n_known:
            columns = known.shown[row].nonzero()[:n_known, 0].to(self._forward.device)
            self._fill(
                (keys[row : row + 1, :, columns], values[row : row + 1, :, columns])
                for keys, values in _tensors(known._cache)
            )
        for begin in range(n_known, shared, self._block):
            self._forward([prompts[0][begin : begin + self._block]], self._cache)
        if shared:
            self._cache.batch_repeat_interleave(len(prompts))
        self.shown = torch.ones((len(prompts), shared), dtype=torch.long)
        self._tokens = [list(prompt[:shared]) for prompt in prompts]
        return [logits for logits in self.feed([prompt[shared:] for prompt in prompts]) if logits is not None]

    def _join(self, other: "PaddedBatch") -> None:
        import torch

        batches = (self, other)
        n_columns = max(int(batch.shown.sum(dim=1).max()) for batch in batches)
        aligned = [batch._aligned(n_columns) for batch in batches]
        self._fill(
            (torch.cat(keys), torch.cat(values))
            for keys, values in (zip(*pair, strict=True) for pair in zip(*aligned, strict=True))
        )
        counts = torch.cat([batch.shown.sum(dim=1) for batch in batches])
        self.shown = (torch.arange(n_columns) >= n_columns - counts[:, None]).long()
        self._tokens += other._tokens

    def _aligned(self, n_columns: int) -> "list[tuple[torch.Tensor, torch.Tensor]]":
        """Return the keys and values of each layer in so many columns, of which each row owns the last ones."""
        import torch

        missing = n_columns - self.shown.shape[1]
        # Stable: the columns that a row owns stay in order behind the others.
        order = self.shown.argsort(dim=1, stable=True)[:, max(-missing, 0) :].to(self._forward.device)

        def align(tensor: "torch.Tensor") -> "torch.Tensor":
            index = order[:, None, :, None].expand(-1, tensor.shape[1], -1, tensor.shape[3])
            return torch.nn.functional.pad(tensor.gather(2, index), (0, 0, max(missing, 0), 0))

        return [(align(keys), align(values)) for keys, values in _tensors(self._cache)]

    def _fill(self, layers: "Iterable[tuple[torch.Tensor, torch.Tensor]]") -> None:
        cache = self._forward.new_cache()
        for number, (keys, values) in enumerate(layers):
            cache.update(keys, values, number)
        self._cache = cache

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        """Append to each row, on the right; the extra columns of shorter rows are masked."""
        import torch

        for tokens, row in zip(self._tokens, rows, strict=True):
            tokens.extend(row)
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
        del self._tokens[row][n_kept:]

    def keep(self, rows: Sequence[int]) -> None:
        """Select rows of the cache."""
        import torch

        if list(rows) == list(range(len(self.shown))):
            return
        kept = torch.tensor(list(rows))
        self._cache.batch_select_indices(kept.to(self._forward.device))
        self.shown = self.shown[kept]
        self._tokens = [list(self._tokens[row]) for row in rows]


def _tensors(cache: Any) -> "list[tuple[torch.Tensor, torch.Tensor]]":
    """Return the keys and values of each layer of a cache; of shape (rows, heads, columns, width)."""
    if hasattr(cache, "layers"):
        return [(layer.keys, layer.values) for layer in cache.layers]
    return list(zip(cache.key_cache, cache.value_cache, strict=True))  # before transformers 4.54
