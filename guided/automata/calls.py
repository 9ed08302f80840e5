"""`CallAutomaton`: a minimal deterministic automaton over bytes and *calls*, the edges by texts of other automata.

A call edge leads from a state, by a text of the automaton with some number, to the state behind it. A state has at most one. In the table
it is one more letter after the 256 bytes, so the constructions of byte automata apply; `called` has the numbers and keeps states apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, Int64Array, UInt8Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import over_characters
from guided.automata.minimize import canonical, minimal
from guided.automata.nfa import CALL_DIGITS, LEAD
from guided.automata.steps import Steps
from guided.automata.utf8 import to_bytes
from guided.errors import GuidedError
from guided.limits import Limits
from guided.patterns.tree import Node

__all__ = ["CALL_LETTER", "NO_CALL", "CallAutomaton"]

# The letter of call edges, after the bytes.
CALL_LETTER = 256
NO_CALL = -1


@dataclass(frozen=True, slots=True, eq=False)
class CallAutomaton:
    """An automaton over bytes and calls; state 0 is the start.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by column, -1 for none.
    classes : ndarray[int32], shape (257,)
        Column of each byte, and of the letter of calls.
    accepting : ndarray[bool], shape (n_states,)
    labels : ndarray[int32], shape (n_states,)
        Labels that keep states apart, 0 if unused.
    called : ndarray[int32], shape (n_states,)
        Number of what a state calls; -1: it has no call edge.
    """

    table: Int32Array
    classes: Int32Array
    accepting: BoolArray
    labels: Int32Array
    called: Int32Array

    @classmethod
    def from_tree(cls, tree: Node, limits: Limits) -> "CallAutomaton":
        """Return the automaton of a pattern tree that may have `guided.patterns.tree.Call` nodes.

        Raises
        ------
        GuidedError
            After some text, two different calls are possible.
        LimitError
            A budget of ``limits`` was exceeded.
        """
        table, column, accepting, calls = with_call_edges(tree, limits)
        if len(np.unique(calls[:, 0])) != len(calls):
            raise GuidedError("ambiguous: two different values may start at the same place")
        n = len(table)
        behind: Int32Array = np.full((n, 1), DEAD, np.int32)
        called: Int32Array = np.full(n, NO_CALL, np.int32)
        behind[calls[:, 0], 0], called[calls[:, 0]] = calls[:, 2], calls[:, 1]
        edges = np.concatenate([table, behind], axis=1)
        classes = np.append(column.astype(np.int32), np.int32(table.shape[1]))
        labels = np.zeros(n, np.int32)
        return cls.from_table(edges, classes, accepting, labels, called, is_minimal=True)

    @classmethod
    def from_table(
        cls,
        table: Int32Array,
        classes: Int32Array,
        accepting: BoolArray,
        labels: Int32Array,
        called: Int32Array,
        start: int = 0,
        *,
        is_minimal: bool = False,
    ) -> "CallAutomaton":
        """Return the canonical automaton of any table, in the form of the attributes. O(n k log n), or O(n k) if it is minimal."""
        width = int(called.max(initial=NO_CALL)) + 2
        combined = (labels * width + called + 1).astype(np.int32)
        table, classes, accepting, combined = canonical(
            table, classes, accepting, combined, start, is_minimal=is_minimal
        )
        labels, called = np.divmod(combined, np.int32(width))
        return cls(table, classes, accepting, labels, (called - 1).astype(np.int32))

    @property
    def automaton(self) -> Automaton:
        """The automaton of the bytes: its states are also those behind call edges."""
        classes = self.classes[:CALL_LETTER]
        # Classes are numbered by their least letter, so that of calls is the last one, or one of bytes without edges.
        table = self.table[:, : int(classes.max()) + 1]
        return Automaton(np.ascontiguousarray(table), classes.astype(np.uint8), self.accepting, self.labels)

    @property
    def calls(self) -> Int32Array:
        """The call edges: int32, shape (n, 3); state, number of what it calls, state behind; by ascending state."""
        behind = self.table[:, self.classes[CALL_LETTER]]
        states = np.flatnonzero((self.called >= 0) & (behind >= 0))
        return freeze(np.stack([states, self.called[states], behind[states]], axis=1).astype(np.int32))


def with_call_edges(tree: Node, limits: Limits) -> tuple[Int32Array, UInt8Array, BoolArray, Int32Array]:
    """Return the minimal automaton of a pattern tree that may have `guided.patterns.tree.Call` nodes.

    Returns
    -------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by column, -1 for none; state 0 is the start.
    classes : ndarray[uint8], shape (256,)
        Column of each byte.
    accepting : ndarray[bool], shape (n_states,)
    calls : ndarray[int32], shape (n_calls, 3)
        State, number of what it calls, state behind. A state may have several.

    Raises
    ------
    LimitError
        A budget of ``limits`` was exceeded.
    """
    steps = Steps(limits.steps)
    dfa = over_characters(tree, limits, steps)
    symbols = dfa.partition.symbols
    table, accepting, _ = minimal(dfa.table, dfa.accepting)
    calls, inside = _contracted(table, symbols)
    n = len(table)
    table, classes, accepting = to_bytes(table, accepting, dfa.partition, limits, steps)
    # Invariant: states inside a call are reached by symbols only; the others stay trim and minimal.
    kept = np.ones(len(table), np.bool_)
    kept[:n][inside] = False
    numbers = np.where(kept, np.cumsum(kept) - 1, DEAD).astype(np.int32)
    table = table[kept]
    calls[:, [0, 2]] = numbers[calls[:, [0, 2]]]
    return np.where(table >= 0, numbers[table], np.int32(DEAD)).astype(np.int32), classes, accepting[kept], calls


def _contracted(table: Int32Array, symbols: Mapping[int, int]) -> tuple[Int32Array, Int32Array]:
    """Return the paths by the symbols of a call (source, number, target), and the states on these paths."""
    if not symbols:
        return np.zeros((0, 3), np.int32), np.zeros(0, np.int32)
    source = at = np.arange(len(table), dtype=np.int32)
    number: Int64Array = np.zeros(len(table), np.int64)
    inside: list[Int32Array] = []
    for place in range(CALL_DIGITS):
        digits = [(symbol % LEAD, column) for symbol, column in symbols.items() if (symbol < LEAD) == (place > 0)]
        number = np.concatenate([number * LEAD + digit for digit, _ in digits])
        source = np.tile(source, len(digits))
        at = np.concatenate([table[at, column] for _, column in digits])
        source, number, at = source[at >= 0], number[at >= 0], at[at >= 0]
        inside.append(at)
    return np.stack([source, number, at], axis=1).astype(np.int32), np.concatenate(inside[:-1])
