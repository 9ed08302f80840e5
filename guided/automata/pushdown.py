"""Pushdown automata over bytes with tables filled on demand: controls, stack cells, and reactions of the top cell.

A *control* is one state of a finite automaton over bytes. Its row gives an entry for each byte:

    >= 0      the next control
    DEAD      the byte is not allowed
    UNKNOWN   not computed yet: `Pushdown.fill` computes it
    <= ACTION an action (`action_entry`): the top cell of the stack decides, or the stack is pushed

A *cell* is a stack symbol. The *reaction* of a cell to an action pops cells, pushes at most one, and continues with a control or with a
further action on the new top cell (so an LR reduction is a chain: pop the rule's length, then the goto of the exposed cell). Some actions
are direct: they have the same reaction on every cell. An action may leave its byte to be read again: a number ends at the byte after it.
An action is taken only where the string needs at most some number of code points, mostly none; where it needs more, the action may name
another one, which has a larger number. So what a closing quote means may depend on the length of its string.

Besides the stack a configuration has two *registers*: how many code points the current string still needs, and how many are still
allowed. A counting control decrements both for every byte that it reads and that is not an action; a reaction sets both. It may set
them to a multiple of the stack depth, the number of cells above the lowest (`PER_CELL`): the number of blanks that indent a line. A
control with a plan must not have such a direct reaction, because plans are made without a stack.

A cell may *allow* a subset of labels, and a control may be *guarded* by the set of labels that it can still lead to. A guarded control is
entered only if the two sets intersect, and an action with a label is taken only if the cell allows the label. So one control table serves
all states of an object, whatever keys remain.

Reactions may depend on the bytes read on top of a cell: two items of an array must differ. Such a cell *records*
(`PushdownTables.records`). Its table entries are the reactions for unknown bytes, flagged `DEPENDS_ON_BYTES` if they may differ after some
bytes. If there is no such reaction, the entry is `DEFERRED`. `Pushdown.recorded_reaction` computes the reaction for given bytes.

Tables only grow, and an entry changes once, from unknown to known. Readers therefore need no lock; writers hold the lock of the
index. Arrays are replaced when they grow: fetch them from the tables for each use.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.automata.growth import appended, grown, rehashed, room
from guided.automata.steps import Steps
from guided.errors import GuidedError, LimitError
from guided.kernels import frames as kernel
from guided.kernels.hashing import enter, rehash
from guided.kernels.tables import (
    ACTION,
    BEYOND,
    COUNTS,
    DEPENDS_ON_BYTES,
    END_ACTION,
    GUARD,
    LIVE,
    MANY,
    NEEDS,
    PENDING,
    PER_CELL,
    PER_CELL_BELOW,
    PLAN,
    UNLIMITED,
    WIDTH,
)  # fmt: skip
from guided.kernels.tables import DEFERRED as _DEFERRED
from guided.limits import Limits

__all__ = [
    "ACTION",
    "BEYOND",
    "COUNTS",
    "DEFERRED",
    "DEPENDS_ON_BYTES",
    "END_ACTION",
    "GUARD",
    "KEPT",
    "LIVE",
    "MANY",
    "NEEDS",
    "PENDING",
    "PER_CELL",
    "PER_CELL_BELOW",
    "PER_CONTROL",
    "PLAN",
    "RUN",
    "UNLIMITED",
    "WIDTH",
    "Pushdown",
    "PushdownTables",
    "Reaction",
    "SharedReactions",
    "action_entry",
]

_COPIED = (
    "actions", "results", "keys", "values", "guards", "allows", "cell_allow", "direct", "same_plans", "records", "differing",
    "byte_dependent", "reactions", "_result_ids", "_allow_ids",
)  # fmt: skip
# Initial room for rows, and its growth factor: untouched memory costs nothing, copied memory does.
_ROOM, _GROWTH = 3968, 4
# Measured bytes of memory of a control, a reaction and a cell.
PER_CONTROL, _PER_REACTION, _PER_CELL = 1_072, 350, 600
# If a string still needs more code points than this, a completion step is one byte repeated this often, if one byte is possible.
RUN = 256
_TOO_MANY_STATES = (
    "the automaton has too many states: lower counts, use fewer and shorter names, patterns and terminals"
)
# Registers of a reaction that sets none.
KEPT = (0, UNLIMITED)
_PLAIN = np.array([0, 0, -1, 0, 0, -1, 0], np.int32)


def action_entry(action: int) -> int:
    """Return the entry of an action in a row, or in a reaction that continues with it."""
    assert action >= 0, "actions are numbered from 0"
    return ACTION - action


class Reaction(NamedTuple):
    """Effect of an action on a cell.

    Attributes
    ----------
    pops : int
        Number of cells popped.
    pushes : int
        Cell pushed, -1 for none.
    goes_to : int
        Next control, or the entry of a further action.
    registers : (int, int)
        Code points needed and allowed afterwards; or the number per cell for both, and `PER_CELL` or `PER_CELL_BELOW`.
    """

    pops: int
    pushes: int
    goes_to: int
    registers: tuple[int, int] = KEPT


# Placeholder for a reaction that depends on the bytes read.
DEFERRED = Reaction(-1, -1, -1)


class SharedReactions(NamedTuple):
    """Reactions to some actions that many cells share, as entries of a table of keys for cell 0."""

    keys: Int64Array
    values: Int32Array
    reactions: tuple[Reaction | None, ...]


class Pushdown(Protocol):
    """A pushdown automaton with tables filled on demand, as an index executes it.

    Attributes
    ----------
    tables : PushdownTables
    start : int
        Control of the empty text; its stack is cell 0 alone.
    end : int
        Control after a whole text.
    """

    tables: "PushdownTables"
    start: int
    end: int

    def fill(self, control: int, byte: int) -> None:
        """Compute the entry of a control for a byte, and possibly others."""

    def compute_reaction(self, action: int, cell: int) -> None:
        """Compute the reaction of a cell to an action."""

    def compute_allowed(self, cell: int) -> None:  # noqa: ARG002 - the protocol's signature
        """Compute which labels a cell allows. By default they are stored with each cell."""
        return

    def is_open(self, control: int, cell: int) -> bool:
        """Return whether a guarded control can still lead to a label that a cell allows, without computing all of them."""

    def recorded_reaction(self, action: int, cell: int, data: bytes) -> Reaction | None:  # noqa: ARG002 - the protocol's signature
        """Return the reaction of a recording cell to an action after the bytes read on top of it. By default no cell records."""
        raise AssertionError("no cell records")

    def distinctness_key(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:  # noqa: ARG002 - the protocol's signature
        """Return the (kind, name) by which a differing cell distinguishes these bytes, ended by an action with a label, from other bytes.

        See `PushdownTables.differing`. States after texts of one kind differ only in the texts themselves. By default no cell records.
        """
        raise AssertionError("no cell records")

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        """Return the target value of the content on top of a cell, for a short completion.

        ``own``: the target value of the cell itself; None for the lowest cell. Only the automaton interprets these values.
        """

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """Return the next bytes of a short completion, from a control with ``cell`` on top.

        None if the text is complete or has no completion. ``needed``: the register.
        Invariant: the policy depends only on the configuration: from a configuration along a completion it returns the rest.
        """

    def no_completion_error(self) -> GuidedError:
        """Return the error for a text without completion."""


class PushdownTables:
    """Arrays of one pushdown automaton.

    Attributes
    ----------
    rows : ndarray[int32], shape (capacity, 256)
        Entry of each control and byte.
    info : ndarray[int32], shape (capacity, 7)
        Per control, the columns `LIVE` to `NEEDS`.
    live : ndarray[uint8], shape (capacity, 16)
        Live bytes of each control that has few.
    actions : ndarray[int32], shape (capacity, 5)
        Per action: index of its reaction if it is direct (-1: the cell decides), whether its byte is read again, its label (-1: none), most
        code points that the string may still need, and the action where it needs more (-1: none).
    results : ndarray[int32], shape (capacity, 5)
        Reactions: pops, pushes, goes_to, and the registers.
    keys, values : ndarray[int64] and ndarray[int32], shape (power of two,)
        Open addressing: ``action << 32 | cell`` (-1: free) to an index into ``results``, or DEAD. `DEPENDS_ON_BYTES` is added if the
        reaction depends on the bytes read.
    guards, allows : ndarray[uint64]
        Sets of labels.
    cell_allow : ndarray[int32], shape (capacity,)
        Offset of each cell's labels in ``allows``; -1: all; PENDING: `Pushdown.compute_allowed` computes them.
    direct : dict of int to Reaction
        Reactions of the direct actions, for readers in Python.
    same_plans : list of (int, int, hashable)
        Controls from one to another, ascending, whose plans are the same in all tables of a family, and a key of them.
    records : set of int
        Recording cells.
    differing : set of int
        Recording cells that record only to keep later content different from earlier content.
    reactions : dict of int to (Reaction or None)
        Content of ``keys`` and ``values``, for readers in Python.
    byte_dependent : set of int
        Keys of the reactions that depend on the bytes read.
    defers : bool
        Whether any reaction is `DEFERRED`.
    limit, most : int
        Most controls, and most of them in the memory that a call may use.
    steps : Steps
        Steps of the current call, and the memory of the automaton and its index.
    place : str
        Place of the embedded value that the current call has reached, for errors; may be empty.
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self.limit, self.most = limit, limit
        self.steps = Steps(Limits().call_steps, "call_steps")
        self.rows: Int32Array = np.full((256, 256), UNKNOWN, np.int32)
        self.info: Int32Array = np.zeros((256, 7), np.int32)
        self.live: UInt8Array = np.zeros((256, MANY), np.uint8)
        # PERF: every schema copies these, and a page of new memory takes as long as 30 calls (`python -m benchmarks.serving_masks`).
        self.actions: Int32Array = np.zeros((32, 5), np.int32)
        self.results: Int32Array = np.zeros((32, 5), np.int32)
        self.keys: Int64Array = np.full(256, -1, np.int64)
        self.values: Int32Array = np.zeros(256, np.int32)
        self.guards: UInt64Array = np.zeros(64, np.uint64)
        self.allows: UInt64Array = np.zeros(64, np.uint64)
        self.cell_allow: Int32Array = np.full(64, -1, np.int32)
        self.n_controls = self.n_actions = self.n_results = self.n_cells = self.n_reactions = 0
        self.n_guards = self.n_allows = 0
        self.defers = False
        self.place = ""
        self.direct: dict[int, Reaction] = {}
        self.same_plans: list[tuple[int, int, Hashable]] = []
        self.records: set[int] = set()
        self.differing: set[int] = set()
        self.byte_dependent: set[int] = set()
        self.reactions: dict[int, Reaction | None] = {}
        self._result_ids: dict[Reaction, int] = {}
        self._allow_ids: dict[tuple[int, ...], int] = {}

    def control(self, row: npt.NDArray[np.int32], *, counts: int = 0, end_action: int = 0) -> int:
        """Add a control with a copy of this row, and return its number."""
        return self.controls(row[None, :], counts=counts, end_actions=(end_action,) if end_action else None)

    def controls(
        self,
        rows: npt.NDArray[np.int32],
        *,
        counts: int = 0,
        end_actions: Iterable[int] | npt.NDArray[np.int32] | None = None,
    ) -> int:
        """Add controls with these rows, shape (n, 256), and return the number of the first.

        Raises
        ------
        LimitError
            There are too many controls.
        """
        n = len(rows)
        first = self.reserve(n)
        self.rows[first : first + n] = rows
        info = self.info[first : first + n]
        if counts:
            info[:, COUNTS] = counts
        if end_actions is not None:
            info[:, END_ACTION] = np.fromiter(end_actions, np.int32, n)
        self.note_live(first, n)
        return first

    def reserve(self, n: int) -> int:
        """Add controls whose rows and live bytes the caller writes next, and return the number of the first.

        Raises
        ------
        LimitError
            There are too many controls.
        """
        # Before there is room: a gigabyte is not allocated to be refused.
        self.steps.spend(n, _TOO_MANY_STATES)
        first = self.make_room(n)
        self.info[first : first + n] = _PLAIN
        self.n_controls += n
        self.steps.n_bytes += PER_CONTROL * n
        return first

    def register(self, labels: npt.NDArray[np.uint64]) -> None:
        """Register controls that the caller has written into the room, with the labels that each can still lead to, as `guard`.

        Raises
        ------
        LimitError
            The call exceeded its steps.
        """
        first, n = self.n_controls, len(labels)
        self.steps.spend(n, _TOO_MANY_STATES)
        self.n_controls += n
        self.steps.n_bytes += PER_CONTROL * n
        self.guard(first, labels)

    def make_room(self, n: int) -> int:
        """Make room for ``n`` more controls without adding them, and return the number of the next.

        Raises
        ------
        LimitError
            There are too many controls.
        """
        first = self.n_controls
        if first + n > self.limit:
            raise LimitError("states", first + n, self.limit, _TOO_MANY_STATES)
        if first + n > self.most:
            needed, allowed = PER_CONTROL * (first + n), PER_CONTROL * self.most
            raise LimitError("growth_bytes", needed, allowed, "a single call needs too much of this budget")
        if first + n > len(self.rows):
            capacity = max(_GROWTH * len(self.rows), first + n)
            # PERF: unused memory is not touched; filling it took a tenth of all first masks.
            self.rows, self.info, self.live = (
                grown(array[:first], capacity, make=room) for array in (self.rows, self.info, self.live)
            )
        return first

    def note_live(self, first: int, n: int = 1) -> None:
        """Note the live bytes of some controls whose rows the caller has written."""
        kernel.note_live(first, n, self.rows, self.info, self.live)

    def plan_key(self, control: int) -> Hashable:
        """Return the key of a control's plan if it is the same in all tables of a family; None if it is not."""
        at = bisect_right(self.same_plans, control, key=itemgetter(0)) - 1
        if at < 0:
            return None
        first, end, name = self.same_plans[at]
        return (name, control - first) if control < end else None

    def set_row(self, control: int, row: npt.NDArray[np.int32]) -> None:
        """Set a control's entries; no dead entry becomes live."""
        # Why its live bytes are not updated: a walk may be iterating over them.
        self.rows[control] = row

    def guard(self, first: int, words: npt.NDArray[np.uint64]) -> None:
        """Set the labels that each of some controls can still lead to: shape (n, words of 64 bits)."""
        n, width = words.shape
        self.guards = appended(self.guards, self.n_guards, words.ravel())
        self.info[first : first + n, GUARD] = self.n_guards + width * np.arange(n)
        self.info[first : first + n, WIDTH] = width
        self.n_guards += n * width
        self.steps.n_bytes += 8 * n * width

    def copy(self) -> "PushdownTables":
        """Return independent tables with the same content, and some room."""
        twin = PushdownTables.__new__(PushdownTables)
        content = vars(twin)
        content.update(vars(self))
        # PERF: `copy.copy` looks up how to copy each (`python -m benchmarks.first_mask`).
        for name in _COPIED:
            content[name] = content[name].copy()
        twin.steps = replace(self.steps)
        by_control, n = (self.rows, self.info, self.live), self.n_controls
        twin.rows, twin.info, twin.live = (grown(array[:n], n + _ROOM, make=room) for array in by_control)
        return twin

    def action(
        self,
        *,
        again: bool = False,
        label: int = -1,
        reaction: Reaction | None = None,
        most_needed: int = 0,
        otherwise: int = -1,
    ) -> int:
        """Add an action, direct if a reaction is given, and return its number.

        ``most_needed``: most code points that the string may still need; where it needs more, the action ``otherwise`` is taken (-1: none).
        """
        number = self.n_actions
        if number == len(self.actions):
            self.actions = grown(self.actions, 2 * number, 0)
        result = -1 if reaction is None else self._result(reaction)
        self.actions[number] = result, again, label, most_needed, otherwise
        if reaction is not None:
            self.direct[number] = reaction
        self.n_actions = number + 1
        return number

    def entry(self, reaction: Reaction) -> int:
        """Return the entry of a new action that has this reaction on every cell."""
        return action_entry(self.action(reaction=reaction))

    def add_actions(self, labels: range) -> None:
        """Add an action for each label, which the cell decides."""
        first, end = self.n_actions, self.n_actions + len(labels)
        while end > len(self.actions):
            self.actions = grown(self.actions, 2 * len(self.actions), 0)
        self.actions[first:end] = -1, 0, 0, 0, -1
        self.actions[first:end, 2] = labels
        self.n_actions = end

    def alternatives(self, action: int) -> Iterator[tuple[int, int]]:
        """Yield an action and those taken in its place, each with the most code points that the string may still need there."""
        while action >= 0:
            yield action, self.actions.item(action, 3)
            action = self.actions.item(action, 4)

    def taken(self, entry: int, needed: int) -> int:
        """Return the entry of the action taken where a string still needs some code points; DEAD if there is none."""
        return next((action_entry(one) for one, most in self.alternatives(ACTION - entry) if needed <= most), DEAD)

    def cell(self, allow: int = -1) -> int:
        """Add a cell that allows all labels (-1), or those that `compute_allowed` will set (PENDING), and return its number."""
        number = self.n_cells
        if number == len(self.cell_allow):
            self.cell_allow = grown(self.cell_allow, 2 * number, -1)
        self.cell_allow[number] = allow
        self.n_cells = number + 1
        self.steps.n_bytes += _PER_CELL
        return number

    def record(self, cell: int, *, differs: bool) -> None:
        """Make a cell record; ``differs``: only to keep later content different from earlier content."""
        self.records.add(cell)
        if differs:
            self.differing.add(cell)

    def set_allowed(self, cell: int, labels: tuple[int, ...]) -> None:
        """Set the labels that a cell allows, as words of 64 bits."""
        self.cell_allow[cell] = self.labels(labels)

    def labels(self, labels: tuple[int, ...]) -> int:
        """Return the offset in ``allows`` of some labels, as words of 64 bits."""
        found = self._allow_ids.get(labels)
        if found is None:
            found = self._allow_ids[labels] = self.n_allows
            self.allows = appended(self.allows, self.n_allows, labels)
            self.n_allows += len(labels)
            self.steps.n_bytes += 8 * len(labels)
        return found

    def set_reaction(
        self, action: int, cell: int, reaction: Reaction | None, *, depends_on_bytes: bool = False
    ) -> None:
        """Set the reaction of a cell to an action; None: the action is not allowed.

        ``depends_on_bytes``: the cell records, and its reaction may differ after some bytes.
        """
        if 2 * self.n_reactions >= len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)
        if depends_on_bytes:
            self.byte_dependent.add(action << 32 | cell)
        enter(action << 32 | cell, self._value(reaction, depends_on_bytes), self.keys, self.values)
        self.reactions[action << 32 | cell] = reaction
        self.n_reactions += 1
        self.steps.n_bytes += _PER_REACTION

    def shared(self, reactions: Mapping[int, Reaction | None]) -> SharedReactions:
        """Return reactions by action, for `set_reactions`."""
        keys = np.array([action << 32 for action in reactions], np.int64)
        return SharedReactions(
            keys, np.array([*map(self._value, reactions.values())], np.int32), (*reactions.values(),)
        )

    def set_reactions(self, cell: int, shared: SharedReactions) -> None:
        """Set the reactions of a cell to several actions, as `set_reaction`."""
        n = len(shared.keys)
        if 2 * (self.n_reactions + n) > len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)
        keys = shared.keys | cell
        rehash(keys, shared.values, self.keys, self.values)
        self.reactions.update(zip(keys.tolist(), shared.reactions, strict=True))
        self.n_reactions += n
        self.steps.n_bytes += _PER_REACTION * n

    def _value(self, reaction: Reaction | None, depends_on_bytes: bool = False) -> int:
        """Return the value of a reaction in ``values``."""
        if reaction is DEFERRED:
            self.defers = True
            return _DEFERRED
        return DEAD if reaction is None else self._result(reaction) + DEPENDS_ON_BYTES * depends_on_bytes

    def _result(self, reaction: Reaction) -> int:
        found = self._result_ids.get(reaction)
        if found is None:
            found = self._result_ids[reaction] = self.n_results
            if found == len(self.results):
                self.results = grown(self.results, 2 * found, 0)
            self.results[found] = reaction.pops, reaction.pushes, reaction.goes_to, *reaction.registers
            self.n_results = found + 1
        return found
