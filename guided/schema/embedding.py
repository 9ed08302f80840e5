"""Values of schemas within other texts: a byte automaton with *holes*, as an automaton with a stack.

A `Frame` is a byte automaton some of whose states have a hole: there a value of a schema stands, and the text goes on in another state.
`Embedding` runs it. The states of the frame are controls; where a hole is, the bytes that begin a value push a cell that stands for the
state behind the hole, and enter the machine of the value's schema (`guided.schema.machine`), with their byte to be read again. When the
value has ended, that cell takes itself off and goes on in the frame. A number is ended by what follows it, so whatever may follow a hole
may follow a number.

All machines share one set of tables, and equal values share a machine, which is made when a text first gets there. So is, in a frame
of many states, what is known of a state.

Complexity: O(states) for the frame; a machine costs what its schema does, once; O(1) for a byte.
"""

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.minimize import inverse_edges
from guided.automata.pushdown import PushdownTables, Reaction, action_entry
from guided.errors import VocabularyError
from guided.kernels import minimize as kernel
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import Formulas
from guided.schema.lowering import Lowering
from guided.schema.machine import Machine, Surroundings
from guided.schema.nearest import ORDER
from guided.schema.places import BEGINS
from guided.schema.structure import Structure, structure_of

__all__ = ["Embedding", "Frame", "Value", "value_machine"]

_BEGINS = frozenset(b"".join(BEGINS.values()))
# Frames of up to so many states, a kilobyte each, are made known at once, larger ones by so many or a few more.
_SMALL, _AT_ONCE = 1 << 17, 4096


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand in a hole.

    Attributes
    ----------
    schema : dict or bool
        A document; equal ones are one object. It is not changed.
    pointer : str
        JSON Pointer to the schema of the value in it.
    begins : bytes
        Bytes that it may begin with; empty: any.
    """

    schema: Any = field(hash=False)
    pointer: str = ""
    begins: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A byte automaton with holes.

    Attributes
    ----------
    automaton : Automaton
    holes : ndarray[int32], shape (n, 3)
        State, number of the value, and the state behind it; at most one hole for each state, and no byte of the automaton begins its value.
    values : tuple of Value
    """

    automaton: Automaton
    holes: Int32Array
    values: tuple[Value, ...]


def value_machine(
    value: Value, options: JsonOptions, limits: Limits, alphabet: bytes, within: Surroundings | None = None
) -> Machine:
    """The machine of a value's schema, all of which is lowered.

    Raises
    ------
    SchemaError, LimitError
        As `Lowering`.
    """
    formulas = Formulas()
    lowering = Lowering(value.schema, options, formulas, limits, pointer=value.pointer)
    lowering.check()
    return Machine(lowering, formulas, options, limits, alphabet, within)


class Embedding:
    """The automaton of a frame; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    frame : Frame
        Every value is of a schema that some value satisfies.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 bytes, 1 for each byte that texts may hold.

    Attributes
    ----------
    structure : Structure
        The controls that all embeddings with the same options have in common.

    Raises
    ------
    VocabularyError
        All texts need bytes that the alphabet lacks.
    """

    def __init__(self, frame: Frame, options: JsonOptions, limits: Limits, alphabet: bytes) -> None:
        self._frame, self._options, self._limits, self._alphabet = frame, options, limits, alphabet
        automaton = frame.automaton
        letters = np.frombuffer(alphabet, np.bool_)
        self._classes = automaton.classes
        self._states_after: Int32Array = np.full(automaton.n_states, -1, np.int32)
        self._value_at: Int32Array = np.full(automaton.n_states, -1, np.int32)
        self._states_after[frame.holes[:, 0]] = frame.holes[:, 2]
        self._value_at[frame.holes[:, 0]] = frame.holes[:, 1]
        behind = automaton.table[frame.holes[:, 2]]
        following: BoolArray = np.any(behind >= 0, axis=0)[automaton.classes]
        self.structure: Structure = structure_of(
            options, alphabet, np.flatnonzero(following).astype(np.uint8).tobytes()
        )
        self.tables: PushdownTables = self.structure.tables.copy()
        self.tables.limit = limits.states
        self._surroundings = Surroundings(self.structure, self.tables)
        self.end = self.structure.end
        self._machines: dict[tuple[int, str], Machine] = {}
        # Which machine made the cells and controls from a number on; None: the frame.
        self._cell_owners: list[Machine | None] = [None]
        self._control_starts: list[int] = [0]
        self._control_owners: list[Machine | None] = [None]
        self._below: dict[tuple[int, int], int] = {}
        self.tables.cell()
        self._finish = action_entry(self.tables.action(reaction=Reaction(0, -1, self.end)))
        self._table, self._letters = automaton.table, letters
        if not letters.all():
            self._restrict()
        self._distance = self._distances()
        if self._distance[0] < 0:
            raise VocabularyError("every text of the spec needs a byte that no token of the vocabulary has alone")
        self._control_of: Int32Array = np.full(automaton.n_states, -1, np.int32)
        self._state_of: dict[int, int] = {}
        self._make_known(0)
        self.start = int(self._control_of[0])

    def _restrict(self) -> None:
        """Leave out bytes and values that the alphabet cannot spell."""
        for state, value, _ in self._frame.holes.tolist():
            if self._machine(self._frame.values[value]).is_empty:
                self._states_after[state] = -1

    def _distances(self) -> Int32Array:
        """Steps from each state to the end, a byte or a value each; -1 where no end is in reach. Edges that lead there are cut off."""
        used = np.zeros(self._table.shape[1], np.bool_)
        used[self._classes[self._letters]] = True
        table = np.where(used, self._table, np.int32(DEAD)) if not used.all() else self._table
        edges = np.concatenate([table, self._states_after[:, None]], axis=1)
        indptr, source = inverse_edges(edges)
        distance, queue = np.empty(len(edges), np.int32), np.empty(len(edges), np.int32)
        kernel.distances(self._frame.automaton.accepting, indptr, source, edges.shape[1], distance, queue)
        if (distance < 0).any():
            table = np.where((table >= 0) & (distance[table] >= 0), table, np.int32(DEAD))
            self._states_after[(self._states_after >= 0) & (distance[self._states_after] < 0)] = -1
        self._table = freeze(table)
        return freeze(distance)

    # The frame

    def _make_known(self, state: int) -> None:
        """Controls for a state and, of a small frame, all others; of a large one, some that may follow it."""
        n_states = len(self._table)
        if n_states <= _SMALL:
            states = np.arange(n_states, dtype=np.int32)
        else:
            states = self._some_from(state)
        rows: Int32Array = self._table[states][:, self._classes]
        rows[:, ~self._letters] = DEAD
        first = self.tables.n_controls
        self._control_of[states] = np.arange(first, first + len(states), dtype=np.int32)
        rows = np.where(rows >= 0, np.where(self._control_of[rows] >= 0, self._control_of[rows], UNKNOWN), DEAD)
        for i in np.flatnonzero(self._states_after[states] >= 0).tolist():
            begins = self._frame.values[self._value_at[states[i]]].begins or bytes(_BEGINS)
            rows[i, [byte for byte in begins if self._letters[byte]]] = UNKNOWN
        ends = np.where(self._frame.automaton.accepting[states], self._finish, 0)
        self.tables.controls(rows.astype(np.int32), end_actions=ends)
        self._state_of.update(zip(range(first, first + len(states)), states.tolist(), strict=True))
        self._note_controls(None)

    def _some_from(self, state: int) -> Int32Array:
        """States without a control that follow one, the nearest first."""
        found = frontier = np.array([state], np.int32)
        while len(frontier) and len(found) < _AT_ONCE:
            onward = np.unique(self._table[frontier])
            onward = onward[(onward >= 0) & (self._control_of[onward] < 0)]
            frontier = np.setdiff1d(onward, found)[:_AT_ONCE].astype(np.int32)
            found = np.concatenate([found, frontier])
        return found

    def _control(self, state: int) -> int:
        if self._control_of[state] < 0:
            self._make_known(state)
        return int(self._control_of[state])

    def _enter(self, state: int) -> tuple[Machine, int]:
        """The machine of the value in a state's hole, and the cell that stands for what follows."""
        value = self._frame.values[self._value_at[state]]
        after = self._control(int(self._states_after[state]))
        machine = self._machine(value)
        number = (id(machine), after)
        found = self._below.get(number)
        if found is None:
            found = self._below[number] = machine.below(after)
            self._note_cells(machine)
        return machine, found

    def _machine(self, value: Value) -> Machine:
        key = (id(value.schema), value.pointer)
        found = self._machines.get(key)
        if found is None:
            found = value_machine(value, self._options, self._limits, self._alphabet, self._surroundings)
            self._machines[key] = found
            self._note(found)
        return found

    def _note(self, machine: Machine) -> None:
        self._note_cells(machine)
        self._note_controls(machine)

    def _note_cells(self, machine: Machine) -> None:
        self._cell_owners.extend([machine] * (self.tables.n_cells - len(self._cell_owners)))

    def _note_controls(self, owner: Machine | None) -> None:
        """What was made since the last note is the owner's."""
        if self._control_starts[-1] < self.tables.n_controls:
            self._control_owners[-1] = owner
            self._control_starts.append(self.tables.n_controls)
            self._control_owners.append(None)

    # What the index asks for

    def fill(self, control: int, byte: int) -> None:
        """Make known where a byte leads from a state of the frame, or at a place of a value."""
        state = self._state_of.get(control)
        if state is None:
            machine = self._control_owners[bisect_right(self._control_starts, control) - 1]
            assert machine is not None, "only places of values are filled later"
            machine.fill(control, byte)
            self._note(machine)
            return
        target = int(self._table[state, self._classes[byte]])
        if target >= 0:
            entry = self._control(target)
            self.tables.rows[control, byte] = entry
            return
        machine, cell = self._enter(state)
        entry = action_entry(self.tables.action(again=True, reaction=Reaction(0, cell, machine.start)))
        row, place = self.tables.rows[control], self.tables.rows[machine.start]
        for letter in self._frame.values[self._value_at[state]].begins or _BEGINS:
            row[letter] = DEAD if place[letter] == DEAD else entry

    def react(self, action: int, cell: int) -> None:
        """Make known what a cell does on an action."""
        machine = self._cell_owners[cell]
        if machine is None:
            self.tables.reacts(action, cell, None)
            return
        machine.react(action, cell)
        self._note(machine)

    def allow(self, cell: int) -> None:
        """Make known which labels of keys a cell allows."""
        machine = self._cell_owners[cell]
        assert machine is not None, "keys are of values"
        machine.allow(cell)
        self._note(machine)

    def is_open(self, control: int, cell: int) -> bool:
        """Can a control of keys still lead to a label that a cell allows?"""
        machine = self._cell_owners[cell]
        assert machine is not None, "keys are of values"
        found = machine.is_open(control, cell)
        self._note(machine)
        return found

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """The reaction of a cell that records, after these bytes on top of it."""
        machine = self._cell_owners[cell]
        assert machine is not None, "cells that record are of values"
        found = machine.recorded(action, cell, data)
        self._note(machine)
        return found

    # Completions

    def wish(self, cell: int, own: Hashable) -> Hashable:
        """What is wished of what comes on top of a cell; of a value as a whole, nothing."""
        machine = self._cell_owners[cell]
        return None if machine is None else machine.wish(cell, own)

    def way_out(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """The next bytes of a short completion."""
        state = self._state_of.get(control)
        if state is not None:
            return self._way(state)
        machine = self._cell_owners[cell]
        assert machine is not None, "values stand on cells"
        found = machine.way_out(control, cell, own, needed)
        self._note(machine)
        if found:
            return found
        return self._way(self._state_of[machine.after(cell)])

    def _way(self, state: int) -> bytes:
        """From a state to the next hole on the way to the end, or to the end; from a hole, the beginning of its value."""
        found = bytearray()
        while self._distance[state]:
            following = self._states_after[state]
            if following >= 0 and self._distance[following] == self._distance[state] - 1:
                if found:
                    break
                machine, cell = self._enter(state)
                way = machine.way_out(machine.start, cell, None, 0)
                self._note(machine)
                return way
            row = self._table[state]
            closer: BoolArray = (row >= 0) & (self._distance[row] == self._distance[state] - 1)
            byte = next(byte for byte in ORDER if closer[self._classes[byte]] and self._letters[byte])
            found.append(byte)
            state = int(row[self._classes[byte]])
        return bytes(found)
