"""The guide of free text."""

from guided.arrays import Int32Array, freeze
from guided.guide.end_tokens import token_mask
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ENDLESS", "FreeGuide"]

# In place of a budget: more tokens than any text has.
ENDLESS = 1 << 40


class FreeGuide:
    """A guide without constraints: every token that has bytes is allowed, and the end of sequence at any time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        spelling = [token for token, data in enumerate(vocabulary) if data is not None]
        self._all = freeze(token_mask([*spelling, *vocabulary.eos], vocabulary.size))

    @property
    def state(self) -> int:
        """Always 0: there is one state."""
        return 0

    @property
    def remaining(self) -> int:
        """Always 0: free text may end anywhere."""
        return 0

    def mask(self) -> Int32Array:
        """All tokens that have bytes, and the end of sequence."""
        return self._all

    def fits(self, token: int, budget: int) -> bool:  # noqa: ARG002 - as `Guide`
        """Return True: free text may end after any token."""
        return True

    def mask_within(self, budget: int) -> Int32Array:  # noqa: ARG002 - as `Guide`
        """The same mask: free text may end after any token."""
        return self._all

    def advance(self, token: int) -> None:
        """Do nothing: the guide has one state."""

    def fork(self) -> "FreeGuide":
        """Return this guide: it has one state."""
        return self
