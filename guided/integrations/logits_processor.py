"""`LogitsProcessor`: an index applied inside transformers' ``generate``.

``generate`` passes whole sequences to a processor, including the prompt, and never its length. Each call must determine:

1. The generation it belongs to: identified by the list of processors through which it is called (`guided.integrations.callers`), so
   generations in several threads, nested ones, and prompts that continue each other are kept apart.
2. The end of the prompt: the length of the sequences in the generation's first call.
3. The state of each row: looked up by the row's tokens (`guided.integrations.row_history`), so rows may be reordered, copied, extended by
   drafts and rolled back.

A state depends only on the index and the generated tokens. A token that the index rejects leads to a dead state, which only a rollback
leaves; beam search and assisted decoding pass such rows and then drop them.

Assisted decoding also calls the processor while an assistant model drafts. Drafts of a model with the same tokenizer are masked, so that
they are more likely to be accepted. Drafts with another tokenizer are not masked: they are checked when the main model verifies them.

torch is imported when a processor is created, so that `guided` works without it.
"""

import importlib.util
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guided.arrays import DEAD, Int32Array
from guided.engine.index import Index
from guided.errors import ModelError, kind_of
from guided.integrations.callers import Caller, calling_list, draft_of
from guided.integrations.following import Following
from guided.integrations.row_history import History, Rows, shown

if TYPE_CHECKING:
    from guided.integrations.masking import MaskStore

__all__ = ["LogitsProcessor"]


@dataclass(frozen=True, slots=True)
class _Generation:
    """State of the generation that calls through one list of processors."""

    # Its rows. A draft shares the history of its main generation.
    history: History
    # Whether calls of another generation verify its tokens later.
    is_draft: bool = False
    # False for a draft with another tokenizer.
    is_masked: bool = True


class LogitsProcessor:
    """Constrains transformers' ``generate`` to an index: pass ``logits_processor=[LogitsProcessor(index)]``.

    Works with greedy search, sampling, beam search, assisted decoding, prompt lookup, batches with left padding, and any float type.
    Disallowed tokens, including padding ids, get minus infinity. It must be the last in the list: a processor after it can undo the mask.

    Parameters
    ----------
    index : Index or sequence of Index
        One for all rows, or one for each prompt of the batch (beams of a prompt share its index).
    prefix : str, optional
        The part of the answer that every prompt already contains at its end; the rest is generated.
    max_new_tokens : int, optional
        The budget given to ``generate``: the last tokens are restricted so that every answer is complete within it. They may not be what
        the model wanted to say: `steered` tells from where.

    Raises
    ------
    TypeError
        The argument is not an index: a spec must be compiled first.
    ValueError
        No text of the index begins with ``prefix``.
    LimitError
        ``max_new_tokens`` is below the length of the shortest text.
    ModelError
        torch is not installed.

    Notes
    -----
    Thread-safe: one processor serves any number of ``generate`` calls, also in several threads at once. Each call of ``generate`` begins a
    new text. A loop that calls a processor itself (``processor(input_ids, scores)``) must pass all tokens so far at each step, and use one
    thread per text; see docs/logits.md.

    Complexity: O(size) per row and step, for the masking itself (`guided.integrations.masking`), and one comparison of the tokens with
    those of the last step. Masks stay on the device of the scores.
    """

    # With continuous batching, transformers drops the processor with a warning: it would not receive whole sequences.
    supports_continuous_batching = False

    def __init__(self, index: Index | Sequence[Index], prefix: str = "", max_new_tokens: int | None = None) -> None:
        self._arguments = (index, prefix, max_new_tokens)
        indices = _checked_indices(index)
        if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int | None):
            raise TypeError(f"max_new_tokens must be an int or None, not {type(max_new_tokens).__name__}")
        if importlib.util.find_spec("torch") is None:
            raise ModelError(
                "guided.LogitsProcessor works on torch's tensors, and torch is not installed: run pip install torch transformers"
            )
        # Minus one: the end of sequence counts as one of generate's new tokens.
        budget = None if max_new_tokens is None else max_new_tokens - 1
        self._texts = [Following(one, prefix, budget) for one in indices]
        for text in self._texts:
            text.check_budget("max_new_tokens", max_new_tokens or 0)
        self._size = max(text.index.vocabulary.size for text in self._texts)
        self.reset()

    def __reduce__(self) -> Any:
        return LogitsProcessor, self._arguments

    def reset(self) -> None:
        """Forget all generations, so that the next call of a custom loop begins a new text whatever its sequences are.

        ``generate`` does not need it.
        """
        # Key: id of a generation's list of processors; the weak reference removes the entry together with the list.
        self._generations: dict[int, tuple[weakref.ref[Any], _Generation]] = {}
        # Per thread: the generation of calls without a list, and the store that masks the scores.
        self._of_thread = threading.local()

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Set the scores of disallowed tokens to minus infinity.

        Parameters
        ----------
        input_ids : LongTensor, shape (rows, length)
        scores : FloatTensor, shape (rows, width)

        Returns
        -------
        FloatTensor, shape (rows, width)
            A new tensor of the same type. For drafts of an assistant model with another tokenizer, the same tensor.

        Raises
        ------
        ModelError
            The width or the number of rows does not match the indices; the decoding method cannot be constrained to an index; or other
            processors forbid all tokens that the index allows.
        """
        _check_tensors(input_ids, scores)
        caller = calling_list(depth=1)
        generation = self._generation(caller)
        rows, width = scores.shape
        if generation.is_draft and (width < self._size or not generation.is_masked):
            return scores
        group = self._rows_per_index(rows, width)
        followed = generation.history.follow(shown(input_ids), [row // group for row in range(rows)])
        masks, free = list[Int32Array](), dict[int, Int32Array]()
        for row, (kind, node) in enumerate(zip(followed.kinds, followed.nodes, strict=True)):
            mask, wider = self._texts[kind].mask(node.state, node.n_generated)
            masks.append(mask)
            if wider is not None and node.steered is None:
                free[row] = wider
        store = self._store(scores)
        masked = store.apply(scores, masks)
        if free:
            self._find_steered(followed, store.apply(scores[list(free)], list(free.values())), masked, list(free))
        if not generation.is_draft:
            self._of_thread.rows = followed
        if caller is not None and not generation.is_draft:
            self._check(caller, followed, masked)
        return masked

    @property
    def steered(self) -> tuple[int | None, ...]:
        """For each row of this thread's last call, the place of the first token that the budget chose; None if it chose none.

        With ``max_new_tokens``, a row is steered from the generated token (the first is 0) at which the budget excludes the token with the
        highest score among those that the index allows. With greedy search this is the token that would have been chosen. Processors do
        not see what is drawn: with sampling, a less probable token may have been drawn without the budget, too. Beam search may return
        sequences that ended before the last call, and are not among its rows.
        """
        rows: Rows | None = getattr(self._of_thread, "rows", None)
        return () if rows is None else tuple(node.steered for node in rows.nodes)

    def _find_steered(self, followed: Rows, wanted: Any, masked: Any, rows: list[int]) -> None:
        """Record which of some rows would continue with a token that only the budget excludes: ``wanted`` has their scores without it."""
        infinity = float("inf")
        best = wanted.nan_to_num(nan=-infinity, posinf=-infinity, neginf=-infinity).argmax(dim=1, keepdim=True)
        is_steered = (masked[rows].gather(1, best) == -infinity) & (wanted.gather(1, best) > -infinity)
        for row, one in zip(rows, is_steered[:, 0].tolist(), strict=True):
            if one:
                followed.nodes[row].steered = followed.nodes[row].n_generated

    def _history(self) -> History:
        return History(
            [text.initial for text in self._texts], lambda number, state, token: self._texts[number].next(state, token)
        )

    def _generation(self, caller: Caller | None) -> _Generation:
        if caller is None:
            generation: _Generation | None = getattr(self._of_thread, "generation", None)
            if generation is None:
                generation = self._of_thread.generation = _Generation(self._history())
            return generation
        known = self._known(caller.processors)
        if known is not None:
            return known
        _refuse_inexact(caller)
        draft = draft_of(caller)
        if draft is None:
            generation = _Generation(self._history())
        else:
            processors, has_own_tokenizer = draft
            goal = self._known(processors)
            history = self._history() if goal is None else goal.history
            generation = _Generation(history, is_draft=True, is_masked=not has_own_tokenizer)
        key, generations = id(caller.processors), self._generations
        generations[key] = weakref.ref(caller.processors, lambda _: generations.pop(key, None)), generation
        return generation

    def _known(self, processors: Any) -> _Generation | None:
        reference, generation = self._generations.get(id(processors), (None, None))
        return generation if reference is not None and reference() is processors else None

    def _rows_per_index(self, rows: int, width: int) -> int:
        # Models pad their logits a little; those of another tokenizer differ much.
        if not self._size <= width <= 2 * self._size:
            raise ModelError(
                f"the model's logits have {width:,} columns, the index's vocabulary {self._size:,}: "
                "compile it for this model (guided.Model(model, tokenizer).vocabulary)"
            )
        if rows % len(self._texts):
            raise ModelError(f"{len(self._texts)} indices cannot be spread over {rows} rows: give one for each prompt")
        return rows // len(self._texts) if len(self._texts) > 1 else rows

    def _store(self, scores: Any) -> "MaskStore":
        """The store that masks such scores; one per thread."""
        from guided.integrations.masking import mask_store

        store: MaskStore | None = getattr(self._of_thread, "store", None)
        if store is None or not store.fits(scores):
            store = self._of_thread.store = mask_store(scores)
        return store

    def _check(self, caller: Caller, rows: Rows, masked: Any) -> None:
        """Raise ModelError if the output cannot be in the index."""
        if (
            caller.function == "_assisted_decoding"
            and rows.nodes[0].state == DEAD
            and rows.length <= caller.committed_length()
        ):
            raise ModelError(
                "assisted decoding accepted a draft token that the index refuses, which its random numbers allow for once in 16 million "
                "drafts of a model with another tokenizer; generate again, or use an assistant model with the same tokenizer"
            )
        if caller.function == "_sample":
            most = masked.amax(dim=1).tolist()
            for row in [row for row, one in enumerate(most) if one == float("-inf")]:
                node = rows.nodes[row]
                if node.state not in (DEAD, self._texts[rows.kinds[row]].index.final):
                    raise ModelError(
                        f"row {row} has no token left after {node.n_generated} generated ones: other settings of generate forbid all "
                        "that the index allows here (look at min_new_tokens, min_length, forced_eos_token_id, no_repeat_ngram_size, "
                        "bad_words_ids, suppress_tokens and other processors)"
                    )


def _checked_indices(index: Any) -> list[Index]:
    """Validate the constructor's argument, and return it as a list."""
    found = list(index) if isinstance(index, Sequence) and not isinstance(index, str | bytes) else [index]
    if not found:
        raise TypeError("index must be an Index, or a list of them with one for each prompt, not an empty list")
    for one in found:
        if isinstance(one, Index):
            continue
        if isinstance(getattr(one, "index", None), Index):
            advice = "give its index"
        else:
            spec = "guided.Regex(pattern)" if isinstance(one, str) else "spec"
            advice = f"compile it first: guided.compile({spec}, vocabulary)"
        raise TypeError(f"index must be an Index, or a list of them, not {kind_of(one)}; {advice}")
    return found


def _check_tensors(input_ids: Any, scores: Any) -> None:
    import torch

    for name, tensor in (("input_ids", input_ids), ("scores", scores)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, not {type(tensor).__name__}")
        if tensor.dim() != 2:
            raise ModelError(
                f"{name} must have two dimensions, one row for each sequence, not shape {tuple(tensor.shape)}"
            )
    if len(input_ids) != len(scores):
        raise ModelError(
            f"{len(scores)} rows of scores for {len(input_ids)} sequences: each row of input_ids must be a whole sequence "
            "(continuous batching shows no sequences, and is not supported)"
        )


def _refuse_inexact(caller: Caller) -> None:
    """Raise ModelError for decoding methods that may choose tokens of probability zero."""
    if caller.function == "_contrastive_search":
        raise ModelError(
            "contrastive search may choose tokens that the index refuses, since it ranks the top k tokens by similarity: "
            "use sampling, beam search or assisted decoding"
        )
    if caller.function == "_assisted_decoding" and caller.setting("assistant_ensemble_weight") is not None:
        raise ModelError(
            "assistant_ensemble_weight lets assisted decoding accept draft tokens that the index refuses: leave it out"
        )
