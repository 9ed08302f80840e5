"""Holes in the tree of a call: placeholders for schema values, and the automaton of calls as a frame around them.

In the tree a schema value is a *mark*: four private-use characters, the hexadecimal digits of its number. The automaton of a tree with
marks is therefore built like any other. `frame_of` then removes the marks, each a path of 16 bytes between two states, and leaves a hole
in their place. No other text at such a place begins like a mark.
"""

import numpy as np

from guided.arrays import DEAD, Int32Array, Int64Array, freeze
from guided.automata.automaton import Automaton
from guided.calls.modes import CALL, TEXT
from guided.calls.schema import SchemaType
from guided.errors import LimitError, SchemaError
from guided.kernels import minimize as kernel
from guided.patterns.tree import Literal, Node
from guided.schema.pushdown.frames import Frame, Value

__all__ = ["MARKS", "NAME", "Holes", "frame_of", "has_marks", "split_at_name"]

_FIRST, _DIGITS = 0xF0000, 4
MARKS = frozenset(chr(_FIRST + digit) for digit in range(16))
# Placeholder for the name of a tool.
NAME = chr(_FIRST + 16)
_LEAD, _LAST = chr(_FIRST).encode()[:-1], chr(_FIRST).encode()[-1]


class Holes:
    """The schema values of one spec, numbered in order of first use."""

    def __init__(self) -> None:
        self._values: dict[tuple[SchemaType, bytes], int] = {}

    def mark(self, kind: SchemaType, begins: bytes = b"") -> Node:
        """Return the mark of a value of a type that begins with one of the given bytes.

        Raises
        ------
        LimitError
            More values than mark numbers.
        """
        number = self._values.setdefault((kind, begins), len(self._values))
        if number >= 16**_DIGITS:
            raise LimitError("values", number + 1, 16**_DIGITS, "too many arguments of different types")
        return Literal("".join(chr(_FIRST + (number >> shift & 15)) for shift in (12, 8, 4, 0)))

    @property
    def values(self) -> tuple[Value, ...]:
        """The values in order of their numbers."""
        return tuple(Value(kind.document, kind.pointer, begins) for kind, begins in self._values)


def frame_of(automaton: Automaton, holes: Holes) -> Frame:
    """Replace the marks of an automaton by holes. O(states)."""
    table = automaton.table.copy()
    source, number, at = _marks(automaton, np.flatnonzero(automaton.labels != TEXT).astype(np.int32))
    # Why: the end of one mark and the beginning of the next look like a third mark.
    known = number < len(holes.values)
    source, number, at = source[known], number[known], at[known]
    table[source, automaton.classes[_LEAD[0]]] = DEAD
    kept = _reachable(table, source, at)
    renamed: Int32Array = np.cumsum(kept, dtype=np.int32) - 1
    table = np.where(table >= 0, renamed[table], np.int32(DEAD))[kept]
    found = np.stack([renamed[source], number, renamed[at]], axis=1).astype(np.int32)
    return Frame(
        Automaton(freeze(table), automaton.classes, freeze(automaton.accepting[kept]), freeze(automaton.labels[kept])),
        freeze(found[np.argsort(found[:, 0], kind="stable")]),
        holes.values,
    )


def split_at_name(automaton: Automaton) -> tuple[Frame, Automaton]:
    """Split an automaton of calls with labels into the parts before and after `NAME`.

    Returns
    -------
    Frame
        The calls, with a hole in place of the name.
    Automaton
        The text after the name.

    Raises
    ------
    SchemaError
        The name occurs in several places or in another spelling.
    """
    table, classes = automaton.table, automaton.classes
    source = at = np.flatnonzero(automaton.labels == CALL).astype(np.int32)
    n_live = _n_live(automaton)
    for count, byte in enumerate(NAME.encode()):
        source, at = source[(n_live[at] == 1) | (count == 0)], at[(n_live[at] == 1) | (count == 0)]
        at = table[at, classes[byte]]
        source, at = source[at >= 0], at[at >= 0]
    if len(source) != 1:
        raise SchemaError("with this many tools the format must write the name once and unescaped", "", "format")
    before = table.copy()
    before[source, classes[_LEAD[0]]] = DEAD
    frame = Frame(
        Automaton(freeze(before), classes, automaton.accepting, automaton.labels),
        np.array([[source[0], 0, at[0]]], np.int32),
        (Value(True),),
    )
    return frame, Automaton.from_table(table, classes, automaton.accepting, automaton.labels, int(at[0]))


def has_marks(automaton: Automaton) -> bool:
    """Return whether some text of an automaton may contain a mark."""
    return len(_marks(automaton, np.arange(automaton.n_states, dtype=np.int32))[0]) > 0


def _n_live(automaton: Automaton) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """Number of bytes that may follow each state."""
    # PERF: float32, because integer matrix products take ten times as long (`python -m benchmarks.inventory`).
    counts = np.bincount(automaton.classes, minlength=automaton.table.shape[1]).astype(np.float32)
    found: np.ndarray[tuple[int], np.dtype[np.float32]] = (automaton.table >= 0).astype(np.float32) @ counts
    return found


def _marks(automaton: Automaton, source: Int32Array) -> tuple[Int32Array, Int64Array, Int32Array]:
    """The marks that begin in `source`: start states, numbers and end states."""
    table, classes = automaton.table, automaton.classes
    at, number = source, np.zeros(len(source), np.int64)
    # Invariant: within a mark only its own bytes are live; within text that may hold any character, others are too.
    n_live = _n_live(automaton)
    for _ in range(_DIGITS):
        for most, byte in zip((1, 1, 16), _LEAD, strict=True):
            at = table[at, classes[byte]]
            kept = (at >= 0) & (n_live[at] <= most)
            source, number, at = source[kept], number[kept], at[kept]
        ways = [table[at, classes[_LAST + digit]] for digit in range(16)]
        number = np.concatenate([number * 16 + digit for digit in range(16)])
        source, at = np.tile(source, 16), np.concatenate(ways)
        source, number, at = source[at >= 0], number[at >= 0], at[at >= 0]
    return source, number, at


def _reachable(
    table: Int32Array, source: Int32Array, target: Int32Array
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """The states reachable from the start, through holes too."""
    behind = np.full(len(table), DEAD, np.int32)
    behind[source] = target
    edges = np.concatenate([table, behind[:, None]], axis=1)
    order, number = np.empty(len(table), np.int32), np.full(len(table), DEAD, np.int32)
    kernel.breadth_first(edges, np.arange(edges.shape[1], dtype=np.int32), 0, order, number)
    return number >= 0
