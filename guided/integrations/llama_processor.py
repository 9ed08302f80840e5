"""`LlamaProcessor`: an index applied inside llama-cpp-python's own generation.

The binding passes a processor all tokens so far, including the prompt, and the logits of the next one, but not where the prompt ends or
when a generation starts. The first call of a run therefore defines the prompt, and later calls advance the state by one token.

Invariant: a call belongs to the current run if its tokens are the last ones plus one that the index allows; otherwise it begins a new run.
So one processor serves any number of generations in sequence.

The binding calls processors from C, where exceptions cannot propagate: Python prints them and llama.cpp continues with the logits as they
are. Before an error is raised, all logits except those of the end of sequence are therefore set to minus infinity, so the text ends
without unconstrained tokens.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from guided.engine.index import Index
from guided.errors import ModelError
from guided.generate.masking import mask_logits
from guided.integrations.following import Following

__all__ = ["LlamaProcessor", "processor_list"]


class LlamaProcessor:
    """Made by `LlamaCpp.logits_processors`.

    Parameters
    ----------
    index : Index
    prefix : str, optional
        The part of the answer that every prompt already contains at its end.
    max_tokens : int, optional
        The token budget of each generation.

    Attributes
    ----------
    error : Exception or None
        The error of the current run, if there was one: its text was ended early.
    steered : int or None
        Place of the first generated token of the current run that the budget chose, as in `guided.LogitsProcessor`; None if there is none.

    Notes
    -----
    O(size) per token, most of it the masking itself. Not thread-safe: one call at a time.
    """

    def __init__(self, index: Index, prefix: str = "", max_tokens: int | None = None) -> None:
        self._text = Following(index, prefix, max_tokens)
        self._text.check_budget("max_tokens", max_tokens or 0)
        self.reset()

    def reset(self) -> None:
        """Forget the current run, so that the next call begins a new one whatever its tokens are."""
        self.error: Exception | None = None
        self.steered: int | None = None
        self._tokens: npt.NDArray[np.intc] | None = None
        self._start, self._state = 0, self._text.initial

    def __call__(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        """Set the scores of disallowed tokens to minus infinity.

        Parameters
        ----------
        input_ids : ndarray[intc], shape (length,)
        scores : ndarray[float32], shape (size,)

        Returns
        -------
        ndarray[float32], shape (size,)
            A new array.

        Raises
        ------
        ModelError
            The logits do not have the width of the vocabulary.
        """
        try:
            return self._masked(input_ids, scores)
        except Exception as error:
            self.error = error
            ends = [token for token in self._text.index.vocabulary.eos if token < len(scores)]
            scores[:] = -np.inf
            scores[ends] = 0
            raise

    def _masked(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        size = self._text.index.vocabulary.size
        if scores.shape != (size,):
            raise ModelError(f"the model gave logits of shape {scores.shape}; the index needs ({size},)")
        before, after = self._tokens, -1
        if before is not None and len(input_ids) == len(before) + 1 and np.array_equal(input_ids[:-1], before):
            after = self._text.index.next(self._state, int(input_ids[-1]))
        if after >= 0:
            self._state = after
        else:
            self.error, self.steered = None, None
            self._start, self._state = len(input_ids), self._text.initial
        # Why a copy: the binding passes its own array, and writes the next token into it.
        self._tokens = input_ids.copy()
        n_generated = len(input_ids) - self._start
        mask, free = self._text.mask(self._state, n_generated)
        masked: npt.NDArray[np.single] = mask_logits(scores[None], [mask])[0]
        if free is not None and self.steered is None:
            wanted = mask_logits(scores[None], [free])[0]
            best = int(np.where(np.isfinite(wanted), wanted, -np.inf).argmax())
            if masked[best] == -np.inf < wanted[best]:
                self.steered = n_generated
        return masked


def processor_list(processor: LlamaProcessor) -> Any:
    """Return a ``llama_cpp.LogitsProcessorList`` of one processor that remains active together with a ``logit_bias``."""
    from llama_cpp import LogitsProcessorList

    class Processors(LogitsProcessorList):  # type: ignore[misc, unused-ignore] # Any where llama_cpp is not installed
        # Why: with a logit_bias, the binding uses the return value of extend, which for a list is None, so no processor would run.
        def extend(self, more: Any) -> Any:
            return Processors([*self, *more])

    return Processors([processor])
