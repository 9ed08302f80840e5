"""KV caches of llama.cpp for several token sequences, in contexts that grow with the texts.

llama.cpp allocates all memory of a context when it creates it. A context therefore begins with space for a few hundred tokens per sequence
and is replaced by one of twice the size when it is full; keys and values are copied, not recomputed. Sequences have separate streams in
it, so the logits of one do not depend on the others.

The settings are those of the given `llama_cpp.Llama` (threads, RoPE, types of the cache), whose own context is not used.

Complexity: one pass over the weights for each ``block`` tokens of a call, over all sequences.

llama_cpp is imported inside functions: this module must be importable without it.
"""

import contextlib
import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from guided.errors import ModelError
from guided.generate.model import Batch, Logits, Session, check_context, shared_blocks

__all__ = ["CachedSession", "Sequences", "StreamBatch"]

_LEAST_ROOM = 256


class Sequences:
    """Token sequences of one model with their KV caches.

    ``size``: width of the logits. ``block``: the most tokens computed at once.
    """

    def __init__(self, llm: Any, n_rows: int, size: int, block: int) -> None:
        self.lengths = [0] * n_rows
        self._llm, self._size, self._block = llm, size, max(block, n_rows)
        self._room = 0
        self._context: _Context | None = None

    def feed(self, parts: Sequence[tuple[int, Sequence[int]]]) -> list[Logits]:
        """Append tokens to sequences.

        Parameters
        ----------
        parts : sequence of (int, sequence of int)
            Distinct rows, each with at least one token.

        Returns
        -------
        list of ndarray[float32], each of shape (size,)
            The logits after the last token of each part.

        Raises
        ------
        ModelError
            llama.cpp cannot compute the logits.
        """
        context = self._reserve(max(self.lengths[row] + len(tokens) for row, tokens in parts))
        entries = [
            (row, token, self.lengths[row] + place, place == len(tokens) - 1)
            for row, tokens in parts
            for place, token in enumerate(tokens)
        ]
        found = []
        for begin in range(0, len(entries), self._block):
            found.extend(context.decode(entries[begin : begin + self._block], self._size))
        for row, tokens in parts:
            self.lengths[row] += len(tokens)
        return found

    def truncate(self, row: int, n_kept: int) -> None:
        """Truncate a sequence to its first ``n_kept`` tokens."""
        if self._context is not None and n_kept < self.lengths[row]:
            self._context.remove(row, n_kept)
        self.lengths[row] = n_kept

    def widen(self, n_rows: int) -> None:
        """Add empty sequences until there are at least ``n_rows``."""
        missing = n_rows - len(self.lengths)
        if missing > 0:
            self.lengths += [0] * missing
            self._block = max(self._block, n_rows)
            if self._context is not None:
                self._renew(self._room)

    def repeat(self, source: int, targets: Sequence[int]) -> None:
        """Copy a sequence to empty ones."""
        if self._context is None or not self.lengths[source]:
            return
        # Why not llama_memory_seq_cp: between streams it copies again when later tokens are decoded, and overwrites the target's newer
        # entries (llama.cpp of llama-cpp-python 0.3.36).
        state = self._context.state(source)
        for target in targets:
            self._context.restore(target, state)
            self.lengths[target] = self.lengths[source]

    def _reserve(self, length: int) -> "_Context":
        """Return a context with space for ``length`` tokens per sequence."""
        if self._context is not None and length <= self._room:
            return self._context
        room = _LEAST_ROOM
        while room < length:
            room *= 2
        return self._renew(room)

    def _renew(self, room: int) -> "_Context":
        """Replace the context by one with space for ``room`` tokens in each of the present sequences."""
        context = _Context(self._llm, len(self.lengths), room, self._block)
        if self._context is not None:
            for row in (row for row, n_tokens in enumerate(self.lengths) if n_tokens):
                context.restore(row, self._context.state(row))
            self._context.close()
        self._context, self._room = context, room
        return context


class _Context:
    """One llama.cpp context and its batch; freed with this object, and before the model."""

    def __init__(self, llm: Any, n_rows: int, room: int, block: int) -> None:
        import llama_cpp

        self._api = llama_cpp
        if llm.model is None:
            raise ModelError("the llama_cpp.Llama of this model has been closed")
        params = llama_cpp.llama_context_params.from_buffer_copy(llm.context_params)
        params.n_ctx, params.n_seq_max, params.kv_unified = n_rows * room, n_rows, False
        params.n_batch = params.n_ubatch = min(block, n_rows * room)
        params.embeddings, params.swa_full = False, True
        self._context = llama_cpp.llama_init_from_model(llm.model, params)
        if not self._context:
            raise ModelError(f"llama.cpp cannot create a context of {n_rows} sequences of {room:,} tokens")
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(block, 0, 1)
        self.close = weakref.finalize(self, _free, llama_cpp, self._context, self._batch, llm)
        # Why: contexts must be freed before the model is closed; llama.cpp would use the freed model.
        stack = getattr(llm, "_stack", None)
        if isinstance(stack, contextlib.ExitStack):
            stack.callback(self.close)
        batch = self._batch
        self._tokens, self._positions, self._counts, self._wanted = (
            np.ctypeslib.as_array(pointer, (block,))
            for pointer in (batch.token, batch.pos, batch.n_seq_id, batch.logits)
        )
        self._counts[:] = 1

    def decode(self, entries: Sequence[tuple[int, int, int, bool]], size: int) -> list[Logits]:
        """Compute (row, token, position, wanted) entries; return the logits of the wanted ones."""
        self._check_open()
        count = len(entries)
        self._batch.n_tokens = count
        rows, self._tokens[:count], self._positions[:count], self._wanted[:count] = zip(*entries, strict=True)
        for place, row in enumerate(rows):
            self._batch.seq_id[place][0] = row
        status = self._api.llama_decode(self._context, self._batch)
        if status:
            raise ModelError(f"llama.cpp could not compute {count} tokens (llama_decode returned {status})")
        found = []
        for place in np.flatnonzero(self._wanted[:count]).tolist():
            pointer = self._api.llama_get_logits_ith(self._context, place)
            found.append(np.ctypeslib.as_array(pointer, (size,)).copy())
        return found

    def remove(self, row: int, n_kept: int) -> None:
        self._check_open()
        if not self._api.llama_memory_seq_rm(self._memory, row, n_kept, -1):
            raise ModelError("llama.cpp can not forget the end of this model's sequences")

    def state(self, row: int) -> Any:
        """Serialize the cache of a sequence."""
        self._check_open()
        size = self._api.llama_state_seq_get_size(self._context, row)
        data = (ctypes.c_uint8 * size)()
        if self._api.llama_state_seq_get_data(self._context, data, size, row) != size:
            raise ModelError("llama.cpp can not hand over what it computed")
        return data

    def restore(self, row: int, data: Any) -> None:
        """Load the serialized cache of a sequence from another context."""
        if not self._api.llama_state_seq_set_data(self._context, data, len(data), row):
            raise ModelError("llama.cpp can not take over what it computed")

    def _check_open(self) -> None:
        if not self.close.alive:
            raise ModelError("the llama_cpp.Llama of this model has been closed")


def _free(api: Any, context: Any, batch: Any, llm: Any) -> None:  # noqa: ARG001 - the model lives until then
    api.llama_batch_free(batch)
    api.llama_free(context)


class CachedSession(Session):
    """One sequence and its cache."""

    def __init__(self, llm: Any, size: int, block: int, context_length: int | None) -> None:
        super().__init__(size, block, context_length)
        self._sequences = Sequences(llm, 1, size, block)

    def _forward(self, tokens: Sequence[int]) -> Logits:
        return self._sequences.feed([(0, tokens)])[0]

    def _truncate(self, n_kept: int) -> None:
        self._sequences.truncate(0, n_kept)


class StreamBatch(Batch):
    """Rows that share each pass over the weights; each row is a sequence of one context."""

    def __init__(self, llm: Any, size: int, block: int, context_length: int | None) -> None:
        self._block, self._context_length = block, context_length
        self._sequences = Sequences(llm, 0, size, block)
        self._rows: list[int] = []
        self._tokens: list[list[int]] = []

    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> list[Logits]:
        """Read the common prefix of all prompts once, in blocks, and the rest of each prompt in its row.

        The beginning of the prefix is copied from a row.
        """
        for prompt in prompts:
            check_context(len(prompt), self._context_length)
        self._sequences.widen(len(kept) + len(prompts))
        shared, row, n_known = shared_blocks(prompts, self._tokens, self._block)
        self.keep([*kept, row] if n_known else kept)
        first = len(kept)
        if n_known:
            self.rewind(first, n_known)
        else:
            self._rows.append(min(set(range(first + 1)) - set(self._rows)))
            self._tokens.append([])
        waiting: list[Sequence[int]] = [()] * first
        for begin in range(n_known, shared, self._block):
            self.feed([*waiting, prompts[0][begin : begin + self._block]])
        self.keep([*range(first), *[first] * len(prompts)])
        return [
            logits for logits in self.feed([*waiting, *(prompt[shared:] for prompt in prompts)]) if logits is not None
        ]

    def feed(self, rows: Sequence[Sequence[int]]) -> list[Logits | None]:
        """Append to each row."""
        parts = [(row, tokens) for row, tokens in zip(self._rows, rows, strict=True) if tokens]
        for row, tokens in parts:
            check_context(self._sequences.lengths[row] + len(tokens), self._context_length)
        for known, more in zip(self._tokens, rows, strict=True):
            known.extend(more)
        found = iter(self._sequences.feed(parts) if parts else ())
        return [next(found) if tokens else None for tokens in rows]

    def rewind(self, row: int, n_kept: int) -> None:
        """Truncate a row to its first ``n_kept`` tokens."""
        length = self._sequences.lengths[self._rows[row]]
        if not 0 <= n_kept <= length:
            raise ValueError(f"n_kept must be from 0 to {length}, not {n_kept}")
        self._sequences.truncate(self._rows[row], n_kept)
        del self._tokens[row][n_kept:]

    def keep(self, rows: Sequence[int]) -> None:
        """Select rows: a row that occurs again is copied to a sequence that is not used, or a new one."""
        sources = [self._rows[row] for row in rows]
        for row in set(self._rows) - set(sources):
            self._sequences.truncate(row, 0)
        self._sequences.widen(len(sources))
        free = iter(sorted(set(range(len(self._sequences.lengths))) - set(sources)))
        kept, copies = list[int](), dict[int, list[int]]()
        for source in sources:
            if source in kept:
                copies.setdefault(source, []).append(next(free))
                kept.append(copies[source][-1])
            else:
                kept.append(source)
        for source, targets in copies.items():
            self._sequences.repeat(source, targets)
        self._rows = kept
        self._tokens = [list(self._tokens[row]) for row in rows]
