"""`LogitsProcessor`: an index applied inside transformers' ``generate``.

``generate`` shows a processor the whole sequences at every step, in an order that beam search changes, and never says where
the prompt ends. So a row's state is found by its *generated tokens*: the first call of a run defines the prompt's length,
and from then on the state of each sequence is looked up by its tokens and stepped once. Where no row has changed its place, which is
everywhere but in beam search, that is found out first. A few thousand tokens are read from the device for it, which waits for no more than
the last ones would; of more, only the last token of each row and the verdict are.

Invariant: a call belongs to the run at hand when its sequences are one token longer than the last ones and each continues one of them;
otherwise it begins a new run. So one processor serves any number of ``generate`` calls, one after the other.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from guided.arrays import Int64Array
from guided.engine.index import Index
from guided.errors import ModelError
from guided.integrations.following import Following
from guided.integrations.masking import MaskStore, mask_store

__all__ = ["LogitsProcessor"]

# Why: the last tokens are waited for anyway, and reading 64 KB instead costs less than the kernels that compare them on the device.
_FEW_TOKENS = 1 << 13

# Generated tokens, shape (rows, length): on the host, or many on a device.
Tokens: TypeAlias = "Int64Array | torch.Tensor"


class LogitsProcessor:
    """Keeps transformers' ``generate`` within an index: pass ``logits_processor=[LogitsProcessor(index)]``.

    Works with greedy search, sampling, beams, batches, left padding and any float type. Disallowed tokens, padding ids
    included, get minus infinity.

    Parameters
    ----------
    index : Index or sequence of Index
        One for all rows, or one for each prompt of the batch (beams of a prompt share its index).
    prefix : str, optional
        The part of the answer that every prompt already holds at its end; the rest is generated.
    max_new_tokens : int, optional
        The budget given to ``generate``: the last tokens are steered so that every answer is complete within it.

    Raises
    ------
    ValueError
        ``prefix`` is not the beginning of any text of the index.

    LimitError
        ``max_new_tokens`` is below the shortest text.

    Notes
    -----
    O(size) per row and step, which is the masking itself (`guided.integrations.masking`), and one look at the generated tokens to see that
    they are the ones known. Masks stay on the device of the scores. Not thread-safe: one processor, one ``generate`` at a time.
    """

    supports_continuous_batching = False

    def __init__(self, index: Index | Sequence[Index], prefix: str = "", max_new_tokens: int | None = None) -> None:
        # Why minus one: EOS is one of generate's new tokens.
        budget = None if max_new_tokens is None else max_new_tokens - 1
        self._texts = [Following(one, prefix, budget) for one in ([index] if isinstance(index, Index) else index)]
        if not self._texts:
            raise TypeError("index must be an Index, or a list of them, as guided.compile returns it")
        for text in self._texts:
            text.check_budget("max_new_tokens", max_new_tokens or 0)
        self._size = max(text.index.vocabulary.size for text in self._texts)
        self._store: MaskStore | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the run at hand, so that the next call begins one whatever its sequences are."""
        self._states: list[int] = []
        self._start = self._length = self._group = -1
        self._generated: Tokens | None = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores with disallowed tokens at minus infinity.

        Parameters
        ----------
        input_ids : LongTensor, shape (rows, length)
        scores : FloatTensor, shape (rows, width)

        Returns
        -------
        FloatTensor, shape (rows, width)
            A new tensor of the same type.

        Raises
        ------
        ModelError
            The width or the number of rows does not fit the indices.
        """
        rows, length = input_ids.shape
        group = self._rows_per_index(rows, scores.shape[1])
        going_on = self._generated is not None and length == self._length + 1
        now = self._shown(input_ids) if going_on else None
        states = self._follow(now, group) if now is not None else None
        if states is None:
            self._start = length
            states = [self._texts[row // group].initial for row in range(rows)]
            now = self._shown(input_ids)
        self._length, self._group, self._states, self._generated = length, group, states, now
        spent = length - self._start
        masks = [self._texts[row // group].mask(state, spent) for row, state in enumerate(states)]
        if self._store is None or not self._store.fits(scores):
            self._store = mask_store(scores)
        return self._store.apply(scores, masks)

    def _rows_per_index(self, rows: int, width: int) -> int:
        if width < self._size:
            raise ModelError(
                f"the model's logits have {width:,} columns, the index's vocabulary {self._size:,}: "
                "compile it for this model (Vocabulary.from_tokenizer(tokenizer, size=...))"
            )
        if rows % len(self._texts):
            raise ModelError(f"{len(self._texts)} indices cannot be spread over {rows} rows: give one for each prompt")
        return rows // len(self._texts) if len(self._texts) > 1 else rows

    def _shown(self, input_ids: torch.Tensor) -> Tokens:
        """The generated tokens, in memory of their own, since beam search writes into the tensors that it showed."""
        now = input_ids[:, self._start :]
        if now.device.type != "cpu" and now.numel() > _FEW_TOKENS:
            return now.clone()
        return now.cpu().numpy().copy()

    def _follow(self, now: Tokens, group: int) -> list[int] | None:
        """The states after the last token of each row; None where a row continues none of the run at hand."""
        assert self._generated is not None, "a run at hand has tokens"
        tokens = _unmoved(self._generated, now)
        if tokens is None:
            return self._look_up(now, group)
        return [
            self._texts[row // group].next(state, token)
            for row, (state, token) in enumerate(zip(self._states, tokens, strict=True))
        ]

    def _look_up(self, now: Tokens, group: int) -> list[int] | None:
        """The same for rows that may have changed their places."""
        assert self._generated is not None, "a run at hand has tokens"
        before = _on_host(self._generated)
        known = {
            (row // self._group, tokens.tobytes()): state
            for row, (tokens, state) in enumerate(zip(before, self._states, strict=True))
        }
        states = []
        for row, tokens in enumerate(_on_host(now)):
            state = known.get((row // group, tokens[:-1].tobytes()))
            if state is None:
                return None
            states.append(self._texts[row // group].next(state, int(tokens[-1])))
        return states


def _unmoved(before: Tokens, now: Tokens) -> list[int] | None:
    """The last token of each row, where each continues the row that was in its place; None where one does not, or it is not known."""
    if len(before) != len(now):
        return None
    if isinstance(before, np.ndarray) and isinstance(now, np.ndarray):
        return now[:, -1].tolist() if np.array_equal(now[:, :-1], before) else None
    if isinstance(before, torch.Tensor) and isinstance(now, torch.Tensor) and now.device == before.device:
        same = (now[:, :-1] == before).all()
        *tokens, unmoved = torch.cat([now[:, -1], same[None]]).tolist()
        return tokens if unmoved else None
    return None


def _on_host(tokens: Tokens) -> Int64Array:
    return tokens if isinstance(tokens, np.ndarray) else tokens.cpu().numpy()
