"""Elementary steps, counted: of one compile over all the automata that it builds on its way, or of one call of an index."""

from dataclasses import dataclass

from guided.errors import LimitError

__all__ = ["Steps"]


@dataclass(slots=True)
class Steps:
    """How many elementary steps have been made, and how many may be.

    Attributes
    ----------
    limit : int
        ``steps`` of the limits, or another field.
    what : str
        The name of the field.
    spent : int
        Steps so far.
    """

    limit: int
    what: str = "steps"
    spent: int = 0

    @property
    def left(self) -> int:
        """Steps that may still be made."""
        return self.limit - self.spent

    def begin(self) -> None:
        """Count from zero."""
        self.spent = 0

    def spend(self, count: int, advice: str) -> None:
        """Count steps.

        Raises
        ------
        LimitError
            The limit is passed.
        """
        self.spent += count
        if self.spent > self.limit:
            raise LimitError(self.what, self.spent, self.limit, advice)
