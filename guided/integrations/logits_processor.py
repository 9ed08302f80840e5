"""`LogitsProcessor`: an index applied inside transformers' ``generate``.

``generate`` shows a processor the whole sequences at every step, in an order that beam search changes, and never says where
the prompt ends. So a row's state is found by its *generated tokens*: the first call of a run defines the prompt's length,
and from then on the state of each sequence is looked up by its tokens and stepped once.

Invariant: a call belongs to the run at hand when its sequences are one token longer than the last ones and each continues one of them;
otherwise it begins a new run. So one processor serves any number of ``generate`` calls, one after the other.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from guided.arrays import Int32Array
from guided.engine.index import Index
from guided.errors import LimitError, ModelError
from guided.generate.sampler import unpack

__all__ = ["LogitsProcessor"]

_DEAD = -1
_KEPT_MASKS = 256


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
    O(size) per row and step, most of it the masking itself. Not thread-safe: one processor, one ``generate`` at a time.
    """

    supports_continuous_batching = False

    def __init__(self, index: Index | Sequence[Index], prefix: str = "", max_new_tokens: int | None = None) -> None:
        self._indices = [index] if isinstance(index, Index) else list(index)
        if not self._indices or not all(isinstance(one, Index) for one in self._indices):
            raise TypeError("index must be an Index, or a list of them, as guided.compile returns it")
        self._budget = max_new_tokens
        self._initial = [_state_after(one, prefix) for one in self._indices]
        if max_new_tokens is not None:
            # Why plus one: EOS is one of generate's new tokens.
            needed = max(one.remaining(state) for one, state in zip(self._indices, self._initial, strict=True)) + 1
            if needed > max_new_tokens:
                raise LimitError(
                    "max_new_tokens", needed, max_new_tokens, "no complete text and its end are that short"
                )
        self._states: dict[tuple[int, bytes], int] = {}
        self._start = self._length = -1
        self._masks: dict[tuple[int, torch.device], tuple[Int32Array, torch.Tensor]] = {}

    def reset(self) -> None:
        """Forget the run at hand, so that the next call begins one whatever its sequences are."""
        self._states, self._start, self._length = {}, -1, -1

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
        tokens = input_ids.cpu().numpy()
        states = self._follow(tokens, group) if length == self._length + 1 else None
        if states is None:
            self._start = length
            states = [self._initial[row // group] for row in range(rows)]
        self._length = length
        self._states = {(row // group, tokens[row, self._start :].tobytes()): state for row, state in enumerate(states)}
        spent = length - self._start
        allowed = torch.stack([self._allowed(row // group, state, spent, scores) for row, state in enumerate(states)])
        return scores.masked_fill(~allowed, -torch.inf)

    def _rows_per_index(self, rows: int, width: int) -> int:
        size = max(index.vocabulary.size for index in self._indices)
        if width < size:
            raise ModelError(
                f"the model's logits have {width:,} columns, the index's vocabulary {size:,}: "
                "compile it for this model (Vocabulary.from_tokenizer(tokenizer, size=...))"
            )
        if rows % len(self._indices):
            raise ModelError(
                f"{len(self._indices)} indices cannot be spread over {rows} rows: give one for each prompt"
            )
        return rows // len(self._indices) if len(self._indices) > 1 else rows

    def _follow(self, tokens: "np.ndarray[Any, np.dtype[np.int64]]", group: int) -> list[int] | None:
        """The states after the last token of each row; None where a row continues none of the run at hand."""
        states = []
        for row in range(len(tokens)):
            number = row // group
            before = self._states.get((number, tokens[row, self._start : -1].tobytes()))
            if before is None:
                return None
            index = self._indices[number]
            # A finished row is filled up with padding; a row that beam search took against the scores stays dead.
            ended = before in (_DEAD, index.final)
            states.append(before if ended else index.next(before, int(tokens[row, -1])))
        return states

    def _allowed(self, number: int, state: int, spent: int, scores: torch.Tensor) -> torch.Tensor:
        index = self._indices[number]
        if state in (_DEAD, index.final):
            # Nothing follows, but softmax needs something: the end, which generate replaces by padding.
            allowed = torch.zeros(scores.shape[1], dtype=torch.bool, device=scores.device)
            allowed[list(index.vocabulary.eos)] = True
            return allowed
        if self._budget is None:
            return self._tensor(index.mask(state), scores)
        left = self._budget - spent - 1
        return self._tensor(index.mask_within(state, max(left, index.remaining(state))), scores)

    def _tensor(self, mask: Int32Array, scores: torch.Tensor) -> torch.Tensor:
        """A mask as booleans on the scores' device; the last ones are kept."""
        key = (id(mask), scores.device)
        found = self._masks.get(key)
        if found is None:
            bits = np.zeros(scores.shape[1], np.bool_)
            size = min(32 * len(mask), scores.shape[1])
            bits[:size] = unpack(mask, size)
            # The mask is kept with its tensor, so that its id stays its own.
            found = self._masks[key] = mask, torch.from_numpy(bits).to(scores.device)
            if len(self._masks) > _KEPT_MASKS:
                del self._masks[next(iter(self._masks))]
        return found[1]


def _state_after(index: Index, prefix: str) -> int:
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a str, not {type(prefix).__name__}")
    state, read = index.tables.trace(index.initial, prefix.encode())
    if read < len(prefix.encode()) or index.remaining(state) < 0:
        raise ValueError(f"prefix {prefix!r} begins no text of the index: it fails at byte {read}")
    return state
