"""Values of schemas within other texts: a byte automaton with holes (`guided.schema.frames`), as an automaton with a stack.

The states of what is around the values are controls; where a hole is, the bytes that begin a value push a cell that stands for the
state behind the hole, and enter the machine of the value's schema (`guided.schema.machine`), with their byte to be read again. When the
value has ended, that cell takes itself off and goes on around it. A number is ended by what follows it, so whatever may follow a hole
may follow a number.

All machines share one set of tables, and equal values share a machine, which is made when a text first gets there. So are the states
around them, where they come into being.

Complexity: O(states known) around the values; a machine costs what its schema does, once; O(1) for a byte.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable
from typing import TypeAlias

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array
from guided.automata.growth import grown
from guided.automata.pushdown import PushdownTables, Reaction, action_entry
from guided.errors import SchemaError, VocabularyError, too_few_values
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import Formulas
from guided.schema.frames import ANY, Ahead, Around, Frame, FrameStates, Hole, Value
from guided.schema.lowering import Lowering
from guided.schema.machine import Machine, Surroundings
from guided.schema.structure import Structure, structure_of

__all__ = ["Embedding", "Maker", "around_of", "value_machine"]

Maker: TypeAlias = Callable[[BoolArray, Callable[[Value], bool]], Around]


def around_of(frame: Frame) -> Maker:
    """What makes the states of a whole frame.

    Raises
    ------
    VocabularyError
        When it is called: all texts need bytes that the alphabet lacks.
    """

    def make(letters: BoolArray, is_empty: Callable[[Value], bool]) -> Around:
        states = FrameStates(frame, letters, is_empty)
        if not states.is_live:
            raise VocabularyError("every text of the spec needs a byte that no token of the vocabulary has alone")
        return states

    return make


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
    """The automaton of values and what is around them; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    around : callable
        Makes what is around the values; is given the bytes that texts may hold, ndarray[bool] of shape (256,), and a function that says
        whether no value can be spelled with them.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 bytes, 1 for each byte that texts may hold.

    Attributes
    ----------
    structure : Structure
        The controls that all embeddings with the same options have in common.
    """

    def __init__(self, around: Maker, options: JsonOptions, limits: Limits, alphabet: bytes) -> None:
        self._options, self._limits, self._alphabet = options, limits, alphabet
        self._letters: BoolArray = np.frombuffer(alphabet, np.bool_)
        # Which machine made the cells and controls from a number on; None: what is around.
        self._cell_owners: list[Machine | None] = [None]
        self._control_starts: list[int] = [0]
        self._control_owners: list[Machine | None] = [None]
        self._below: dict[tuple[int, int], int] = {}
        self._machines: dict[tuple[int, str], Machine] = {}
        self._around = around(self._letters, self._is_empty)
        self.structure: Structure = structure_of(options, alphabet, self._around.following)
        self.tables: PushdownTables = self.structure.tables.copy()
        self.tables.limit, self.tables.steps.limit = limits.states, limits.call_steps
        self._surroundings = Surroundings(self.structure, self.tables)
        self.end = self.structure.end
        self.tables.cell()
        self._finish = action_entry(self.tables.action(reaction=Reaction(0, -1, self.end)))
        self._control_of: Int32Array = np.full(1, -1, np.int32)
        self._state_of: dict[int, int] = {}
        self._make_known(0)
        self.start = int(self._control_of[0])

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the automaton takes, as it has grown so far."""
        return self.tables.n_bytes + self._control_of.nbytes + sum(one.n_own_bytes for one in self._machines.values())

    def _is_empty(self, value: Value) -> bool:
        return value_machine(value, self._options, self._limits, self._alphabet).is_empty

    # Around the values

    def _make_known(self, state: int) -> None:
        """Controls for a state and some that may follow it."""
        self._make_room(state)
        self._note_states(*self._around.near(state, self._control_of))

    def _note_states(self, states: Int32Array, rows: Int32Array, ends: BoolArray) -> None:
        """Controls for those of some states that have none, and what is known of all of them."""
        self._make_room(max(int(rows.max()), int(states.max())))
        is_new: BoolArray = self._control_of[states] < 0
        first, new = self.tables.n_controls, states[is_new]
        self._control_of[new] = np.arange(first, first + len(new), dtype=np.int32)
        at, byte = np.nonzero(rows >= 0)
        controls = self._control_of[rows[at, byte]]
        rows[at, byte] = np.where(controls >= 0, controls, UNKNOWN)
        self.tables.controls(
            rows if is_new.all() else rows[is_new], end_actions=np.where(ends[is_new], self._finish, 0)
        )
        self._state_of.update(zip(range(first, first + len(new)), new.tolist(), strict=True))
        self._note_controls(None)
        is_known = ~is_new[at] & (controls >= 0)
        self.tables.rows[self._control_of[states[at[is_known]]], byte[is_known]] = controls[is_known]

    def foresee(self, control: int, trie: Ahead) -> None:
        """Make known where texts lead from a control, as far as they are not in values, if that is cheaper at once."""
        state = self._state_of.get(control)
        found = None if state is None else self._around.below(state, trie)
        if found is not None:
            self._note_states(*found)

    def _make_room(self, state: int) -> None:
        if state >= len(self._control_of):
            self._control_of = grown(self._control_of, max(state + 1, 2 * len(self._control_of)), -1)

    def _control(self, state: int) -> int:
        self._make_room(state)
        if self._control_of[state] < 0:
            self._make_known(state)
        return int(self._control_of[state])

    def _enter(self, hole: Hole) -> tuple[Machine, int]:
        """The machine of the value in a hole, and the cell that stands for what follows."""
        after = self._control(hole.behind)
        machine = self._machine(hole.value)
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
        target = self._around.step(state, byte)
        if target >= 0:
            # Why first: to make a control may replace the rows.
            entry = self._control(target)
            self.tables.rows[control, byte] = entry
            return
        hole = self._around.hole(state)
        if hole is None or byte not in (hole.value.begins or ANY):
            self.tables.rows[control, byte] = DEAD
            return
        machine, cell = self._enter(hole)
        entry = action_entry(self.tables.action(again=True, reaction=Reaction(0, cell, machine.start)))
        row, place = self.tables.rows[control], self.tables.rows[machine.start]
        for letter in hole.value.begins or ANY:
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

    def told_by(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:
        """By what a cell that differs tells these bytes of a key from others."""
        machine = self._cell_owners[cell]
        assert machine is not None, "cells that differ are of values"
        return machine.told_by(cell, data)

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

    def unending(self) -> SchemaError:
        """The error of a text that nothing completes."""
        return too_few_values()

    def _way(self, state: int) -> bytes:
        """From a state to the next hole on the way to the end, or to the end; from a hole, the beginning of its value."""
        found = self._around.way(state)
        hole = None if found else self._around.hole(state)
        if hole is None:
            return found
        machine, cell = self._enter(hole)
        way = machine.way_out(machine.start, cell, None, 0)
        self._note(machine)
        return way
