"""Values of schemas embedded in other texts: a byte automaton with holes (`guided.schema.pushdown.frames`), as a pushdown automaton.

The states of the surrounding automaton are controls. At a hole, the bytes that begin a value push a cell for the state behind the hole
and enter the machine of the value's schema (`guided.schema.pushdown.machine`); the byte is then read again. When the value ends, that
cell is popped and the surrounding automaton continues. A number is ended by the byte after it, so any byte that may follow a hole may
follow a number.

All machines share one set of tables. Values of one document share a machine, which is made when a text first reaches one of them.
Surrounding states are also added on demand.

Complexity: O(known states) around the values; a machine costs as much as its schema, once; O(1) per byte.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array
from guided.automata.growth import grown
from guided.automata.pushdown import PushdownTables, Reaction, action_entry
from guided.automata.steps import Steps
from guided.errors import SchemaError, VocabularyError, too_few_values, within
from guided.limits import Limits
from guided.schema.containers.budgets import check_work
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import Arguments, JsonOptions, Notation
from guided.schema.formula.formulas import Formulas
from guided.schema.formula.memo import Memo
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.costs import check_objects
from guided.schema.pushdown.frames import Frame, FrameStates, Hole, HostAutomaton, SubTrie, Value
from guided.schema.pushdown.machine import SchemaMachine, Surroundings, of_arguments
from guided.schema.pushdown.structure import Structure, structure_of
from guided.schema.values.context import SchemaContext

__all__ = ["Embedding", "Maker", "around_of", "check_documents", "containers_of", "has_value", "value_machine"]

# Steps of a compile for each step of a call.
_PER_CALL_STEP = 20
# Documents that keep to some limits, and the steps that it took to tell.
_kept: Memo[tuple[Any, int]] = Memo(4096, 1 << 22)
_EVERY, _LIMITS = bytes([1] * 256), Limits()

Maker: TypeAlias = Callable[[BoolArray, Callable[[Value], bool]], HostAutomaton]


def around_of(frame: Frame) -> Maker:
    """Return a function that makes the states of a whole frame.

    Raises
    ------
    VocabularyError
        When it is called: every text needs bytes outside the alphabet.
    """

    def make(letters: BoolArray, is_empty: Callable[[Value], bool]) -> HostAutomaton:
        states = FrameStates(frame, letters, is_empty)
        if not states.is_live:
            raise VocabularyError("every text of the spec needs a byte that the vocabulary cannot encode")
        return states

    return make


def value_machine(
    value: Value, options: JsonOptions, limits: Limits, alphabet: bytes, within: Surroundings | None = None
) -> SchemaMachine:
    """Return the machine of the document of a value, whose schema is fully lowered.

    Raises
    ------
    SchemaError, LimitError
        As `Lowering`.
    """
    formulas = Formulas()
    lowering = Lowering(value.schema, options, formulas, limits, pointer=value.pointer)
    lowering.check()
    return SchemaMachine(
        lowering,
        formulas,
        options,
        limits,
        alphabet,
        within,
        value.notation,
        value.arguments,
        any_order=value.any_order,
        pointer=value.pointer,
    )


def containers_of(value: Value, options: JsonOptions, limits: Limits, alphabet: bytes) -> Containers:
    """Return the objects and arrays of the document of a value, whose schema is fully lowered and keeps to the limits, without its machine.

    Raises
    ------
    SchemaError, LimitError
        As `Lowering`, and `check_work`.
    """
    formulas = Formulas()
    lowering = Lowering(value.schema, options, formulas, limits, pointer=value.pointer)
    lowering.check()
    elements = value.arguments if value.arguments is not None and value.arguments.item else None
    letters = structure_of(options, alphabet, b"", limits).alphabet
    found = Containers(SchemaContext(formulas, lowering, options, limits, letters, elements=elements))
    check_work(found.satisfiability)
    check_objects(found)
    return found


def has_value(value: Value, options: JsonOptions, limits: Limits, alphabet: bytes) -> bool:
    """Return whether a value that is written as arguments has any text, without its machine."""
    containers = containers_of(value, options, limits, alphabet)
    assert value.arguments is not None
    root = of_arguments(containers.formulas, containers.context.lowering.root, value.arguments)
    found = containers.satisfiability.is_satisfiable(root)
    containers.release()
    return found


def check_documents(documents: Iterable[tuple[Any, str, str]], options: JsonOptions, limits: Limits) -> None:
    """Refuse documents that exceed a limit before a text reaches one of their values, as if each were compiled by itself.

    ``documents``: those of values, which keep to the default limits, the pointers of these in them, and their places.

    Raises
    ------
    SchemaError, LimitError
        With the place of the first value, and that within its schema.
    """
    if limits == _LIMITS:
        return
    together = Steps(limits.steps)
    first: dict[int, tuple[Any, str, str]] = {}
    for found in documents:
        first.setdefault(id(found[0]), found)
    for number, (schema, pointer, place) in first.items():
        key = number, options, limits
        known = _kept.get(key)
        if known is None:
            # Parts of one document are arguments of one tool.
            with within(place, pointer and place.removesuffix(pointer.removeprefix("/properties"))):
                containers = containers_of(Value(schema), options, limits, _EVERY)
            known = _kept.put(key, (schema, containers.formulas.steps.spent))
            containers.release()
        together.spend(_PER_CALL_STEP * known[1], "too many or too large schemas of arguments")


class Embedding:
    """The pushdown automaton of values and their surroundings; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    around : callable
        Makes the automaton around the values. Its arguments are the bytes that texts may contain, ndarray[bool] of shape (256,), and a
        function that returns whether a value has no spelling with them.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 flags: 1 for each byte that texts may contain.

    Attributes
    ----------
    structure : Structure
        Controls shared by all embeddings with the same options.
    """

    def __init__(self, around: Maker, options: JsonOptions, limits: Limits, alphabet: bytes) -> None:
        self._options, self._limits, self._alphabet = options, limits, alphabet
        self._letters: BoolArray = np.frombuffer(alphabet, np.bool_)
        # The machine that made each cell, and each control from a number on; None: the surrounding automaton.
        self._cell_owners: list[SchemaMachine | None] = [None]
        self._control_starts: list[int] = [0]
        self._control_owners: list[SchemaMachine | None] = [None]
        self._below: dict[tuple[int, int], int] = {}
        self._machines: dict[tuple[int, Notation | None, Arguments | None, bool], SchemaMachine] = {}
        self._places: dict[int, str] = {}
        # Why not a method: it would be a reference cycle, and keep the memory of a dropped automaton until it is collected.
        self._host = around(self._letters, lambda value: value_machine(value, options, limits, alphabet).is_empty)
        self.structure: Structure = structure_of(options, alphabet, self._host.following, limits)
        self.tables: PushdownTables = self.structure.tables.copy()
        self.tables.limit, self.tables.steps.limit = limits.states, limits.call_steps
        self._surroundings = Surroundings(self.structure, self.tables)
        self.end = self.structure.end
        self.tables.cell()
        self._finish = self.tables.entry(Reaction(0, -1, self.end))
        self._control_of: Int32Array = np.full(1, -1, np.int32)
        self._state_of: dict[int, int] = {}
        self._make_known(0)
        self.start = int(self._control_of[0])

    # Around the values

    def _make_known(self, state: int) -> None:
        """Add controls for a state and some of its successors."""
        self._make_room(state)
        self._note_states(*self._host.near(state, self._control_of))

    def _note_states(self, states: Int32Array, rows: Int32Array, ends: BoolArray) -> None:
        """Add controls for the states that lack one, and enter the known transitions of all of them."""
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

    def foresee(self, control: int, trie: SubTrie) -> None:
        """Enter transitions outside values from a control along a trie, if that is cheaper in bulk."""
        state = self._state_of.get(control)
        found = None if state is None else self._host.below(state, trie)
        if found is not None:
            self._note_states(*found)

    def _make_room(self, state: int) -> None:
        if state >= len(self._control_of):
            before = self._control_of.nbytes
            self._control_of = grown(self._control_of, max(state + 1, 2 * len(self._control_of)), -1)
            self.tables.steps.n_bytes += self._control_of.nbytes - before

    def _control(self, state: int) -> int:
        self._make_room(state)
        if self._control_of[state] < 0:
            self._make_known(state)
        return int(self._control_of[state])

    def _enter(self, hole: Hole) -> tuple[SchemaMachine, int, int]:
        """Return the machine of the value in a hole, the cell for the state behind it, and the control at the start of the value."""
        after = self._control(hole.behind)
        machine = self._machine(hole.value)
        start = machine.start_at(hole.value.pointer)
        self._note(machine)
        number = (id(machine), after)
        found = self._below.get(number)
        if found is None:
            found = self._below[number] = machine.below(after)
            self._note_cells(machine)
        return machine, found, start

    def _machine(self, value: Value) -> SchemaMachine:
        key = (id(value.schema), value.notation, value.arguments, value.any_order)
        found = self._machines.get(key)
        self.tables.place = value.place
        if found is None:
            found = value_machine(value, self._options, self._limits, self._alphabet, self._surroundings)
            self._machines[key] = found
            self._note(found)
        self._places[id(found)] = value.place
        return found

    def _owner(self, cell: int) -> SchemaMachine:
        """Return the machine of a cell of a value, whose place errors of the call name from now on."""
        machine = self._cell_owners[cell]
        assert machine is not None, "the cell is of a value"
        self.tables.place = self._places[id(machine)]
        return machine

    def _note(self, machine: SchemaMachine) -> None:
        self._note_cells(machine)
        self._note_controls(machine)

    def _note_cells(self, machine: SchemaMachine) -> None:
        self._cell_owners.extend([machine] * (self.tables.n_cells - len(self._cell_owners)))

    def _note_controls(self, owner: SchemaMachine | None) -> None:
        """Assign the controls made since the last call to an owner."""
        if self._control_starts[-1] < self.tables.n_controls:
            self._control_owners[-1] = owner
            self._control_starts.append(self.tables.n_controls)
            self._control_owners.append(None)

    # Requests of the index

    def fill(self, control: int, byte: int) -> None:
        """Compute the entry of a byte, in a surrounding state or at a value start."""
        state = self._state_of.get(control)
        if state is None:
            machine = self._control_owners[bisect_right(self._control_starts, control) - 1]
            assert machine is not None, "only value starts are filled later"
            self.tables.place = self._places[id(machine)]
            machine.fill(control, byte)
            self._note(machine)
            return
        target = self._host.step(state, byte)
        if target >= 0:
            # Why first: making a control may replace the rows.
            entry = self._control(target)
            self.tables.rows[control, byte] = entry
            return
        hole = self._host.hole(state)
        if hole is None or byte not in hole.value.letters:
            self.tables.rows[control, byte] = DEAD
            return
        _, cell, start = self._enter(hole)
        entry = action_entry(self.tables.action(again=True, reaction=Reaction(0, cell, start)))
        row, entries = self.tables.rows[control], self.tables.rows[start]
        for letter in hole.value.letters:
            row[letter] = DEAD if entries[letter] == DEAD else entry

    def compute_reaction(self, action: int, cell: int) -> None:
        """Compute the reaction of a cell to an action."""
        if self._cell_owners[cell] is None:
            self.tables.set_reaction(action, cell, None)
            return
        machine = self._owner(cell)
        machine.compute_reaction(action, cell)
        self._note(machine)

    def compute_allowed(self, cell: int) -> None:
        """Compute the key labels that a cell allows."""
        machine = self._owner(cell)
        machine.compute_allowed(cell)
        self._note(machine)

    def is_open(self, control: int, cell: int) -> bool:
        """Return whether a key control can still lead to a label that the cell allows."""
        machine = self._owner(cell)
        found = machine.is_open(control, cell)
        self._note(machine)
        return found

    def recorded_reaction(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """Return the reaction of a recording cell, given the bytes read on top of it."""
        machine = self._owner(cell)
        found = machine.recorded_reaction(action, cell, data)
        self._note(machine)
        return found

    def distinctness_key(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:
        """Return the keys by which a differing cell distinguishes these bytes of a key from others."""
        machine = self._owner(cell)
        return machine.distinctness_key(cell, data)

    # Completions

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        """Return the target valuations for the value on top of a cell; None for a whole value."""
        return None if self._cell_owners[cell] is None else self._owner(cell).completion_target(cell, own)

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """Return the next bytes of a short completion."""
        state = self._state_of.get(control)
        if state is not None:
            return self._next_bytes(state)
        machine = self._owner(cell)
        found = machine.completion_step(control, cell, own, needed)
        self._note(machine)
        if found:
            return found
        return self._next_bytes(self._state_of[machine.after(cell)])

    def no_completion_error(self) -> SchemaError:
        """Return the error of a text that has no completion."""
        return too_few_values()

    def _next_bytes(self, state: int) -> bytes:
        """Return the bytes from a state to the next hole on its completion, or to the end; at a hole, the beginning of its value."""
        found = self._host.way(state)
        hole = None if found else self._host.hole(state)
        if hole is None:
            return found
        machine, cell, start = self._enter(hole)
        path = machine.completion_step(start, cell, None, 0)
        self._note(machine)
        return path
