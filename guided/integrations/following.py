"""State tracking for logits processors: from tokens to states, from states to masks.

A state of -1 is dead: the row contains a token that its mask excluded, as beam search and other processors may produce. After the end, and
in a dead row, only the end of sequence is allowed, because samplers need at least one token.
"""

import numpy as np

from guided.arrays import DEAD, Int32Array, freeze
from guided.engine.index import Index
from guided.errors import LimitError
from guided.guide.end_tokens import token_mask

__all__ = ["Following"]


class Following:
    """An index, the state after a prefix, and a budget.

    Parameters
    ----------
    index : Index
    prefix : str
        The part of the text before the first token.
    budget : int, optional
        Maximum number of tokens of a text, without its end; the last ones are restricted so that the text is complete.

    Raises
    ------
    TypeError
        The prefix is not a str.
    ValueError
        No text of the index begins with the prefix.
    """

    def __init__(self, index: Index, prefix: str, budget: int | None) -> None:
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be a str, not {type(prefix).__name__}")
        state, read = index.tables.trace(index.initial, prefix.encode())
        if read < len(prefix.encode()) or index.remaining(state) < 0:
            raise ValueError(f"prefix {prefix!r} is not a prefix of any text of the index: it fails at byte {read}")
        self.index, self.initial, self._budget = index, state, budget
        self._end = freeze(token_mask(index.vocabulary.eos, index.vocabulary.size))

    def check_budget(self, what: str, given: int) -> None:
        """Raise LimitError, with the caller's name of the budget, if it is below the shortest text."""
        needed = self.index.remaining(self.initial)
        if self._budget is not None and needed > self._budget:
            raise LimitError(what, needed + given - self._budget, given, "the shortest text that was found is longer")

    def next(self, state: int, token: int) -> int:
        """Return the state after a token. After the end, padding does not change the state."""
        return state if state in (DEAD, self.index.final) else self.index.next(state, token)

    def mask(self, state: int, spent: int) -> tuple[Int32Array, Int32Array | None]:
        """Return the mask of a state after ``spent`` tokens, and the mask without the budget if it is another."""
        if state in (DEAD, self.index.final):
            return self._end, None
        free = self.index.mask(state)
        if self._budget is None:
            return free, None
        mask = self.index.mask_within(state, max(self._budget - spent, self.index.remaining(state)))
        return mask, None if mask is free or np.array_equal(mask, free) else free
