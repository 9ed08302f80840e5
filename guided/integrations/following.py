"""Where a text stands in an index, as logits processors need it: from tokens to states, from states to masks.

A state of -1 is dead: the row was taken against its mask, as beam search and other processors may. Behind the end, and in a dead row, only
the end of sequence is allowed, since samplers need something.
"""

from guided.arrays import DEAD, Int32Array, freeze
from guided.engine.index import Index
from guided.errors import LimitError
from guided.generate.decoding import token_mask

__all__ = ["Following"]


class Following:
    """An index, the state behind a prefix, and a budget.

    Parameters
    ----------
    index : Index
    prefix : str
        The part of the text that is there before the first token.
    budget : int, optional
        The most tokens of a text, without its end; the last ones are steered so that the text is complete.

    Raises
    ------
    TypeError
        No index, or a prefix that is no str.
    ValueError
        The prefix begins no text of the index.
    """

    def __init__(self, index: Index, prefix: str, budget: int | None) -> None:
        if not isinstance(index, Index):
            raise TypeError("index must be an Index, or a list of them, as guided.compile returns it")
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be a str, not {type(prefix).__name__}")
        state, read = index.tables.trace(index.initial, prefix.encode())
        if read < len(prefix.encode()) or index.remaining(state) < 0:
            raise ValueError(f"prefix {prefix!r} begins no text of the index: it fails at byte {read}")
        self.index, self.initial, self._budget = index, state, budget
        self._end = freeze(token_mask(index.vocabulary.eos, index.vocabulary.size))

    def check_budget(self, what: str, given: int) -> None:
        """Raise LimitError, in the caller's words, where the budget is below the shortest text."""
        needed = self.index.remaining(self.initial)
        if self._budget is not None and needed > self._budget:
            raise LimitError(what, needed + given - self._budget, given, "no complete text is that short")

    def next(self, state: int, token: int) -> int:
        """The state after a token. Behind the end, padding changes nothing."""
        return state if state in (DEAD, self.index.final) else self.index.next(state, token)

    def mask(self, state: int, spent: int) -> Int32Array:
        """The mask of a state after ``spent`` tokens."""
        if state in (DEAD, self.index.final):
            return self._end
        if self._budget is None:
            return self.index.mask(state)
        return self.index.mask_within(state, max(self._budget - spent, self.index.remaining(state)))
