"""Counter of elementary steps: of one compile over all automata that it builds, or of one call of an index; and of its memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from guided.errors import LimitError
from guided.limits import Limits

__all__ = ["Steps", "check_size"]


@dataclass(slots=True)
class Steps:
    """Number of elementary steps made, and their limit.

    Attributes
    ----------
    limit : int
        ``steps`` of the limits, or another field.
    what : str
        Name of the field.
    spent : int
        Steps so far.
    n_bytes : int
        Approximate bytes of memory of all that an automaton has been asked for: whoever keeps something adds what it takes.
    """

    limit: int
    what: str = "steps"
    spent: int = 0
    n_bytes: int = 0

    @property
    def left(self) -> int:
        """Steps left."""
        return self.limit - self.spent

    def begin(self) -> None:
        """Restart the count at zero."""
        self.spent = 0

    def spend(self, count: int, advice: str) -> None:
        """Count steps.

        Raises
        ------
        LimitError
            The limit was exceeded.
        """
        self.spent += count
        if self.spent > self.limit:
            raise LimitError(self.what, self.spent, self.limit, advice)

    @contextmanager
    def at_most(self, count: int) -> Iterator[None]:
        """Lower the limit to at most ``count`` more steps within the block."""
        limit = self.limit
        self.limit = min(limit, self.spent + count)
        try:
            yield
        finally:
            self.limit = limit


def check_size(n_states: int, width: int, limits: Limits, advice: str = "") -> None:
    """Raise LimitError if a table of so many states and columns exceeds ``states`` or ``transitions``."""
    if n_states > limits.states:
        raise LimitError("states", n_states, limits.states, advice)
    if n_states * width > limits.transitions:
        raise LimitError("transitions", n_states * width, limits.transitions, advice)
