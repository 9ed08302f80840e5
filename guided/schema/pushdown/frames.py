"""The text around embedded values: a byte automaton with *holes*, either whole (`Frame`) or lazily built (`HostAutomaton`).

At a hole a value of a schema is read, and the text continues in another state. `guided.schema.pushdown.embedding` runs it.

`FrameStates` presents a whole frame through the lazy interface: rows of requested states, and short completions.
Invariant: edges from which the end is unreachable are removed, so every state it returns is live.

Complexity: O(states) to build; O(1) per state.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array, UInt8Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.minimize import distances
from guided.automata.nearest import ORDER
from guided.schema.formula.atoms import BEGINS, Arguments, Notation
from guided.schema.pushdown.arguments import after_arguments

__all__ = ["ANY", "Frame", "FrameStates", "Hole", "HostAutomaton", "SubTrie", "Value"]

# Bytes that begin values.
ANY = b"".join(BEGINS.values())
_EVERY = bytes(range(256))
_NUMBER = frozenset(b"-0123456789")
# Frames of up to _SMALL states, a kilobyte each, are entered at once; larger ones about _AT_ONCE states at a time.
_SMALL, _AT_ONCE = 1 << 17, 4096


@dataclass(frozen=True, slots=True)
class Value:
    """A value that may fill a hole.

    Attributes
    ----------
    schema : dict or bool
        A document; equal documents are one object. Never changed.
    pointer : str
        JSON Pointer to the value's schema within it.
    begins : bytes
        Bytes that the value may begin with; empty: any.
    notation : Notation or None
        How the value is written, if not as JSON. Its closing text then belongs to the value.
    arguments : Arguments or None
        How the members of an object are written, if as arguments.
    any_order : bool
        Whether the members of an object may come in any order.
    place : str
        Where it stands, for errors: ``/tool/parameter``, the first of several; may be empty.
    """

    schema: Any = field(hash=False)
    pointer: str = ""
    begins: bytes = b""
    notation: Notation | None = None
    arguments: Arguments | None = None
    any_order: bool = False
    place: str = field(default="", compare=False)

    @property
    def letters(self) -> bytes:
        """The bytes that the value may begin with."""
        return self.begins or (_EVERY if self.is_text else ANY)

    @property
    def is_text(self) -> bool:
        """Whether any byte may begin the value, and its closing text ends it."""
        return self.notation is not None and self.notation.part != "others"


class Hole(NamedTuple):
    """A hole of a state.

    Attributes
    ----------
    value : Value
    behind : int
        The state in which the text continues.
    """

    value: Value
    behind: int


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A byte automaton with holes.

    Attributes
    ----------
    automaton : Automaton
    holes : ndarray[int32], shape (n, 3)
        State, number of the value, and the state behind it. A state has at most one hole, and none of its byte edges begins the value.
    values : tuple of Value
    """

    automaton: Automaton
    holes: Int32Array
    values: tuple[Value, ...]

    @property
    def following(self) -> bytes:
        """The bytes that may follow a number, ascending.

        Other values end by themselves. An object before free text must not make the text's digits end numbers elsewhere.
        """
        automaton = self.automaton
        is_number = [
            not value.is_text and value.arguments is None and not _NUMBER.isdisjoint(value.letters)
            for value in self.values
        ]
        behind = self.holes[np.array(is_number, np.bool_)[self.holes[:, 1]], 2]
        found: BoolArray = np.any(automaton.table[behind] >= 0, axis=0)[automaton.classes]
        for value in self.values:
            if value.arguments is not None:
                found[list(after_arguments(value.arguments))] = True
        return np.flatnonzero(found).astype(np.uint8).tobytes()


class SubTrie(NamedTuple):
    """Candidate continuations: part of a trie.

    Attributes
    ----------
    byte : ndarray[uint8], depth, skip : ndarray[int32], shape (n_nodes,)
        Byte, depth and first node after the subtree, for each node in preorder.
    begin, end : int
        Range of nodes: all children of one node, or of the root, with their subtrees.
    """

    byte: UInt8Array
    depth: Int32Array
    skip: Int32Array
    begin: int
    end: int


class HostAutomaton(Protocol):
    """A lazily built automaton around values. States are numbered from 0, the start; every state it returns is live."""

    following: bytes
    """Bytes that may follow a value."""

    def near(self, state: int, control_of: Int32Array) -> tuple[Int32Array, Int32Array, BoolArray]:
        """Return a state and some successors, those without an entry >= 0 in ``control_of``.

        The result holds their numbers; for each state and byte the next state, DEAD, or UNKNOWN if `step` or `hole` must be asked; and
        whether a text may end there.
        """

    def below(self, state: int, trie: SubTrie) -> tuple[Int32Array, Int32Array, BoolArray] | None:
        """Return a state and the states that a trie leads to, in the form of `near`; None if `near` and `step` are as cheap."""

    def step(self, state: int, byte: int) -> int:
        """Return the state after a byte, or DEAD."""

    def hole(self, state: int) -> Hole | None:
        """Return the hole of a state; its values begin with none of the bytes that have a next state."""

    def way(self, state: int) -> bytes:
        """Return short bytes to the next hole towards the end, or to the end; empty at a hole that is next, and at the end."""


class FrameStates:
    """The states of a whole frame; implements `HostAutomaton`.

    Parameters
    ----------
    frame : Frame
        Every value's schema is satisfiable.
    letters : ndarray[bool], shape (256,)
        Bytes that texts may contain.
    is_empty : callable
        Whether a value has no spelling with them.

    Attributes
    ----------
    n_states : int
    is_live : bool
        Whether any text can be spelled with these bytes.
    """

    def __init__(self, frame: Frame, letters: BoolArray, is_empty: Callable[[Value], bool]) -> None:
        self._frame, self._letters, automaton = frame, letters, frame.automaton
        self.following = frame.following
        self._classes, self._table = automaton.classes, automaton.table
        self.n_states = automaton.n_states
        self.behind: Int32Array = np.full(automaton.n_states, -1, np.int32)
        self._value_at: Int32Array = np.full(automaton.n_states, -1, np.int32)
        self.behind[frame.holes[:, 0]] = frame.holes[:, 2]
        self._value_at[frame.holes[:, 0]] = frame.holes[:, 1]
        if not letters.all():
            for state, value, _ in frame.holes.tolist():
                if is_empty(frame.values[value]):
                    self.behind[state] = -1
        self._distance = self._distances()
        self.is_live = bool(self._distance[0] >= 0)

    @property
    def accepting(self) -> BoolArray:
        """States in which a text may end."""
        return self._frame.automaton.accepting

    def _distances(self) -> Int32Array:
        """Return the steps from each state to the end, a byte or a value each; -1 if unreachable. Removes edges to such states."""
        used = np.zeros(self._table.shape[1], np.bool_)
        used[self._classes[self._letters]] = True
        table = np.where(used, self._table, np.int32(DEAD)) if not used.all() else self._table
        edges = np.concatenate([table, self.behind[:, None]], axis=1)
        distance = distances(edges, self._frame.automaton.accepting)
        if (distance < 0).any():
            table = np.where((table >= 0) & (distance[table] >= 0), table, np.int32(DEAD))
            self.behind[(self.behind >= 0) & (distance[self.behind] < 0)] = -1
        self._table = freeze(table)
        return freeze(distance)

    def rows(self, states: Int32Array) -> Int32Array:
        """Return the next states of some states by byte, UNKNOWN where a value begins: int32, shape (n, 256)."""
        rows: Int32Array = self._table[states][:, self._classes]
        rows[:, ~self._letters] = DEAD
        for i in np.flatnonzero(self.behind[states] >= 0).tolist():
            begins = self._frame.values[self._value_at[states[i]]].letters
            rows[i, [byte for byte in begins if self._letters[byte]]] = UNKNOWN
        return rows

    def row(self, state: int) -> Int32Array:
        """Return the next states of one state by byte class, including bytes outside the alphabet."""
        row: Int32Array = self._table[state]
        return row

    def near(self, state: int, control_of: Int32Array) -> tuple[Int32Array, Int32Array, BoolArray]:
        """Return all states of a small frame, or the nearest of a large one."""
        states = np.arange(self.n_states, dtype=np.int32)
        if self.n_states > _SMALL:
            states = self._nearest(state, control_of)
        return states, self.rows(states), self._frame.automaton.accepting[states]

    def _nearest(self, state: int, control_of: Int32Array) -> Int32Array:
        found = frontier = np.array([state], np.int32)
        known = np.append(np.flatnonzero(control_of >= 0), DEAD)
        while len(frontier) and len(found) < _AT_ONCE:
            onward = np.setdiff1d(self._table[frontier], known)
            frontier = np.setdiff1d(onward, found)[:_AT_ONCE].astype(np.int32)
            found = np.concatenate([found, frontier])
        return found

    def below(self, state: int, trie: SubTrie) -> None:
        """Return None: `near` suffices."""

    def step(self, state: int, byte: int) -> int:
        """Return the state after a byte, or DEAD."""
        return int(self._table[state, self._classes[byte]]) if self._letters[byte] else DEAD

    def hole(self, state: int) -> Hole | None:
        """Return the hole of a state, or None."""
        behind = int(self.behind[state])
        return None if behind < 0 else Hole(self._frame.values[self._value_at[state]], behind)

    def way(self, state: int) -> bytes:
        """Return shortest bytes to the next hole towards the end, or to the end."""
        found = bytearray()
        while self._distance[state]:
            following = self.behind[state]
            if following >= 0 and self._distance[following] == self._distance[state] - 1:
                break
            row = self._table[state]
            closer: BoolArray = (row >= 0) & (self._distance[row] == self._distance[state] - 1)
            byte = next(byte for byte in ORDER if closer[self._classes[byte]] and self._letters[byte])
            found.append(byte)
            state = int(row[self._classes[byte]])
        return bytes(found)
