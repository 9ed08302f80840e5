"""`Reader`: reads single bytes from a state of an index, without creating states on the way."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from guided.automata.automaton import Automaton

__all__ = ["Reader", "table_reader"]

Position = TypeVar("Position", bound=Any)


class Reader(NamedTuple, Generic[Position]):
    """Functions on positions in a text. Valid while the index yields it.

    Attributes
    ----------
    start : position
    step : callable
        Returns the position after a byte; None if the byte is not allowed.
    may_end : callable
        Returns whether a text may end at a position.
    continues : callable
        Returns whether some byte may be allowed at a position.
    state : callable
        Returns the state of a position, given the bytes that led there from the start.
    """

    start: Position
    step: Callable[[Position, int], Position | None]
    may_end: Callable[[Position], bool]
    continues: Callable[[Position], bool]
    state: Callable[[Position, bytes], int]


def table_reader(automaton: Automaton, state: int = 0) -> Reader[int]:
    """Return the reader of an automaton from a state."""
    table, classes, accepting = automaton.table, automaton.classes, automaton.accepting

    def step(at: int, byte: int) -> int | None:
        after = int(table[at, classes[byte]])
        return after if after >= 0 else None

    return Reader(
        state, step, lambda at: bool(accepting[at]), lambda at: bool((table[at] >= 0).any()), lambda at, _data: at
    )
