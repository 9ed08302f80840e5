"""Tasks of the actions of a `LalrMachine`, as data: one class per kind.

An action is a task plus whether its byte is read again. Equal tasks share an action.
"""

from typing import NamedTuple

from guided.lalr.hypotheses import Hypothesis
from guided.lalr.indents import Indents

__all__ = ["Ended", "Finish", "Pushes", "Reads", "Reduced", "Task"]


class Ended(NamedTuple):
    """The lexeme has ended: the top cell decides which terminals are fed."""

    label: int
    column: int
    left: int
    watchers: frozenset[int]


class Finish(NamedTuple):
    """The text ends, with a lexeme that ended (-1: none)."""

    label: int
    column: int


class Reduced(NamedTuple):
    """A rule has been reduced onto the top cell; the terminals are fed next."""

    rule: int
    tokens: tuple[int, ...]
    indents: Indents | None
    left: int
    watchers: frozenset[int]


class Pushes(NamedTuple):
    """Cells to push, and the control after them."""

    cells: tuple[int, ...]
    control: int


class Reads(NamedTuple):
    """Hypotheses read a byte, given these cells of the base; byte -1: the text ends, -2: only check liveness."""

    hypotheses: frozenset[Hypothesis]
    byte: int
    known: tuple[int, ...]


Task = Ended | Finish | Reduced | Pushes | Reads
