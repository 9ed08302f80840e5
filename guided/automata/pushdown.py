"""Pushdown automata over bytes with lazily made tables: control, stack of cells, and reactions of the top cell.

A *control* is one state of a finite automaton over bytes; its row says for each byte what happens:

    >= 0      the next control
    DEAD      nothing may follow
    UNKNOWN   not computed yet: `Pushdown.fill` computes it
    <= ACTION an action (`action_entry`): the top cell of the stack decides, or the stack is pushed

A *cell* is one symbol of the stack's alphabet. The *reaction* of a cell to an action pops cells, pushes at most one, and goes on to a
control or to a further action on the cell that is then on top (so an LR reduction is a chain: pop the rule's length, then the goto of what
is exposed). Some actions are direct: they have the same reaction on every cell. An action may leave its byte to be read again: a number
is ended by what follows it.

Beside the stack a text has two *registers*: how many code points of the string at hand are still needed, and how many are still
allowed. A counting control spends one of each for every byte that it reads and that is no action; a reaction sets both. It may set
them to the depth of the stack, the number of cells above the lowest, some times over (`PER_CELL`): so many blanks indent a line.
Such a reaction is no direct one of a control that has a plan, since plans are made without a stack.

A cell may *allow* a set of labels only, and a control may be *guarded* by the set of labels it can still lead to: it is entered only where
the two meet, and an action that stands for one label only where the cell allows it. So one control table serves all states of an object in
which other keys are still to come.

What a cell does may hang on the very bytes that were read on top of it: two items of an array must differ. Such a cell *records*
(`PushdownTables.records`). Its reactions are those for any bytes, as far as these can say; where they cannot, they are `DEFERRED`, and
whoever knows the bytes asks `Pushdown.recorded`.

Tables only grow, and an entry changes once, from unknown to known. Readers therefore need no lock; whoever fills holds the one of the
index. Arrays are replaced when they grow: read them from the tables each time.
"""

from collections.abc import Hashable, Iterable
from copy import copy
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.automata.growth import appended, grown, insert, rehashed
from guided.automata.steps import Steps
from guided.errors import GuidedError, LimitError
from guided.kernels import frames as kernel
from guided.limits import Limits

__all__ = [
    "ACTION",
    "COUNTS",
    "DEFERRED",
    "END_ACTION",
    "GUARD",
    "KEPT",
    "LIKE",
    "LIVE",
    "MANY",
    "NEEDS",
    "PER_CELL",
    "PER_CELL_BELOW",
    "PLAN",
    "RUN",
    "UNLIMITED",
    "WIDTH",
    "Pushdown",
    "PushdownTables",
    "Reaction",
    "action_entry",
]

_BY_CONTROL = ("rows", "info", "live")
# Rows that new tables have room for, and by how much the room grows: what is not touched costs nothing, what is copied does. Less
# than 4 MiB, from which numpy asks for pages of 2 MiB.
_ROOM, _GROWTH = 3968, 4
# Bytes of memory of a control, a reaction and a cell, as measured.
_PER_CONTROL, _PER_REACTION, _PER_CELL = 1_072, 350, 600
# Instead of a number in `results`.
_DEFERRED = -3
# Added to it.
HANGS = 1 << 28

ACTION = -16
# A way out of a string that still needs more code points than this is one byte so many times, where a byte will do.
RUN = 256
# No maximum in the register of code points.
UNLIMITED = 1 << 30
# In place of the code points allowed: exactly as many as needed, for each cell above the lowest, or for each of these but the top one.
PER_CELL, PER_CELL_BELOW = -1, -2
# Instead of an offset in `cell_allow`: which labels the cell allows has not been asked.
PENDING = -2
# A reaction without registers of its own.
KEPT = (0, UNLIMITED)
# Columns of `info`: number of live bytes (more than MANY: not listed), whether it
# counts (1: every byte it reads; 2: the registers hold, within a character), guard (-1: none) and its words,
# entry at the end of the text (0: none), the control whose plan serves its masks (-1: none; it is guarded itself if it
# leads to controls that are), how many code points its string
# needs at least from there on, and the common control from which it may differ only in how the string ends (-1: none; that it
# does is for those to see who use it).
LIVE, COUNTS, GUARD, WIDTH, END_ACTION, PLAN, NEEDS, LIKE = range(8)
MANY = 16
_PLAIN = np.array([0, 0, -1, 0, 0, -1, 0, -1], np.int32)


def action_entry(action: int) -> int:
    """How an action stands in a row, and in a reaction that goes on with it."""
    return ACTION - action


class Reaction(NamedTuple):
    """What a cell does on an action.

    Attributes
    ----------
    pops : int
        Cells taken off.
    pushes : int
        Cell put on, -1 for none.
    goes_to : int
        Next control, or the entry of a further action.
    registers : (int, int)
        Code points needed and allowed from there on; or how many of both for each cell, and `PER_CELL` or `PER_CELL_BELOW`.
    """

    pops: int
    pushes: int
    goes_to: int
    registers: tuple[int, int] = KEPT


# Stands for a reaction that only those can know who know the bytes that were read.
DEFERRED = Reaction(-1, -1, -1)


class Pushdown(Protocol):
    """A lazily made pushdown automaton: what the index runs."""

    @property
    def tables(self) -> "PushdownTables":
        """The tables, filled on demand."""

    @property
    def start(self) -> int:
        """Control of the empty text, whose stack is cell 0 alone."""

    @property
    def end(self) -> int:
        """Control in which a whole text has been read."""

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the automaton takes, as it has grown so far."""

    def fill(self, control: int, byte: int) -> None:
        """Make the entry of a control for a byte known (and any others on the way)."""

    def react(self, action: int, cell: int) -> None:
        """Make the reaction of a cell to an action known."""

    def allow(self, cell: int) -> None:
        """Make known which labels a cell allows."""

    def is_open(self, control: int, cell: int) -> bool:
        """Can a guarded control still lead to a label that a cell allows? Without making all of them known."""

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """The reaction of a cell that records, to an action after these bytes on top of it."""

    def told_by(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:
        """By what a cell that differs (`PushdownTables.differing`) tells these bytes, which an action with a label has ended, from others.

        First a kind: after texts of one kind nothing but the texts themselves makes a difference.
        """

    def wish(self, cell: int, own: Hashable) -> Hashable:
        """What is wished of what comes on top of a cell, so that the text is soon complete.

        ``own``: what is wished of the cell itself; None for the lowest. For the automaton alone to understand.
        """

    def way_out(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """The next bytes of a short completion, from a control with ``cell`` on top.

        None where the text is complete, or nothing completes it. A policy: what it gives from a place on the way is the
        rest. ``needed``: the register.
        """

    def unending(self) -> GuidedError:
        """The error of a text that nothing completes."""


class PushdownTables:
    """The arrays of one pushdown automaton.

    Attributes
    ----------
    rows : ndarray[int32], shape (capacity, 256)
        Entry of each control and byte.
    info : ndarray[int32], shape (capacity, 8)
        Of each control, by the columns `LIVE` to `LIKE`.
    live : ndarray[uint8], shape (capacity, 16)
        Bytes of a control that are not dead, where they are few.
    actions : ndarray[int32], shape (capacity, 3)
        Of each action: number of its reaction where it is direct (-1: the cell decides), whether its byte is read again,
        its label (-1: none).
    results : ndarray[int32], shape (capacity, 5)
        Reactions: pops, pushes, goes_to, and the registers.
    keys, values : ndarray[int64] and ndarray[int32], shape (power of two,)
        Open addressing: ``action << 32 | cell`` (-1: free) to a number of ``results``, or DEAD. `HANGS` is added where the reaction
        hangs on the bytes that were read.
    guards, allows : ndarray[uint64]
        Sets of labels.
    cell_allow : ndarray[int32], shape (capacity,)
        Offset of each cell's labels in ``allows``; -1: all; PENDING: `Pushdown.allow` computes them.
    direct : dict of int to Reaction
        Reactions of the direct actions, for readers in Python.
    plan_keys : dict of int to hashable
        Names of controls whose plan is the same in all tables of a family.
    records : set of int
        Cells that record.
    differing : set of int
        Those of them that record only so that what comes later differs from what has been.
    reactions : dict of int to (Reaction or None)
        The same as ``keys`` and ``values``, for readers in Python.
    hanging : set of int
        Keys of those that hang on the bytes that were read.
    defers : bool
        Is any reaction `DEFERRED`?
    steps : Steps
        Of the call at hand.
    """

    __slots__ = (
        "_allow_ids", "_result_ids", "actions", "allows", "cell_allow", "defers", "differing", "direct", "guards", "hanging", "info",
        "keys", "limit", "live", "n_actions", "n_allows", "n_cells", "n_controls", "n_guards", "n_reactions", "n_results",
        "plan_keys", "reactions", "records", "results", "rows", "steps",
        "values",
    )  # fmt: skip

    def __init__(self, limit: int = 1_000_000, capacity: int = 256) -> None:
        self.limit = limit
        self.steps = Steps(Limits().call_steps, "call_steps")
        self.rows: Int32Array = np.full((capacity, 256), UNKNOWN, np.int32)
        self.info: Int32Array = np.zeros((capacity, 8), np.int32)
        self.live: UInt8Array = np.zeros((capacity, MANY), np.uint8)
        self.actions: Int32Array = np.zeros((256, 3), np.int32)
        self.results: Int32Array = np.zeros((256, 5), np.int32)
        self.keys: Int64Array = np.full(1024, -1, np.int64)
        self.values: Int32Array = np.zeros(1024, np.int32)
        self.guards: UInt64Array = np.zeros(64, np.uint64)
        self.allows: UInt64Array = np.zeros(64, np.uint64)
        self.cell_allow: Int32Array = np.full(64, -1, np.int32)
        self.n_controls = self.n_actions = self.n_results = self.n_cells = self.n_reactions = 0
        self.n_guards = self.n_allows = 0
        self.defers = False
        self.direct: dict[int, Reaction] = {}
        self.plan_keys: dict[int, Hashable] = {}
        self.records: set[int] = set()
        self.differing: set[int] = set()
        self.hanging: set[int] = set()
        self.reactions: dict[int, Reaction | None] = {}
        self._result_ids: dict[Reaction, int] = {}
        self._allow_ids: dict[tuple[int, ...], int] = {}

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the tables take."""
        return (
            _PER_CONTROL * self.n_controls
            + _PER_REACTION * self.n_reactions
            + _PER_CELL * self.n_cells
            + 8 * (self.n_guards + self.n_allows)
        )

    def control(self, row: npt.NDArray[np.int32], *, counts: int = 0, end_action: int = 0, plan: int = -1) -> int:
        """A new control with this row (copied)."""
        return self.controls(row[None, :], counts=counts, end_actions=(end_action,), plan=plan)

    def controls(
        self,
        rows: npt.NDArray[np.int32],
        *,
        counts: int = 0,
        end_actions: Iterable[int] | npt.NDArray[np.int32] | None = None,
        plan: int = -1,
        live: npt.NDArray[np.uint8] | None = None,
    ) -> int:
        """New controls with these rows, shape (n, 256); the number of the first.

        ``live``: the bytes that are not dead, where they are few and the same in all rows.

        Raises
        ------
        LimitError
            There are too many.
        """
        n = len(rows)
        first = self.reserve(n)
        self.rows[first : first + n] = rows
        info = self.info[first : first + n]
        info[:, COUNTS] = counts
        if end_actions is not None:
            info[:, END_ACTION] = np.fromiter(end_actions, np.int32, n)
        info[:, PLAN] = plan
        if live is None:
            self._note_live(first, n)
        else:
            info[:, LIVE] = len(live)
            self.live[first : first + n, : len(live)] = live
        return first

    def reserve(self, n: int) -> int:
        """New controls whose rows and live bytes the caller writes next; the number of the first.

        Raises
        ------
        LimitError
            There are too many.
        """
        first = self.room(n)
        self.info[first : first + n] = _PLAIN
        self.made(n)
        return first

    def made(self, n: int) -> None:
        """The caller has written so many new controls where there was room.

        Raises
        ------
        LimitError
            The call takes too many steps.
        """
        self.steps.spend(n, "the automaton has too many states")
        self.n_controls += n

    def room(self, n: int) -> int:
        """Room for so many more controls, of which none is made yet; the number of the next.

        Raises
        ------
        LimitError
            There are too many.
        """
        first = self.n_controls
        if first + n > self.limit:
            raise LimitError("states", first + n, self.limit, "the automaton has too many")
        if first + n > len(self.rows):
            capacity = max(_GROWTH * len(self.rows), first + n)
            for name in _BY_CONTROL:
                array = getattr(self, name)
                # PERF: what is not used yet is not touched; filling it took a tenth of all first masks.
                room = np.empty((capacity, *array.shape[1:]), array.dtype)
                room[:first] = array[:first]
                setattr(self, name, room)
        return first

    def _note_live(self, first: int, n: int) -> None:
        kernel.note_live(first, n, self.rows, self.info, self.live)

    def set_row(self, control: int, row: npt.NDArray[np.int32]) -> None:
        """Make a control's entries known; none that was dead comes alive."""
        # Why its live bytes are not noted anew: a walk may be on its way through them.
        self.rows[control] = row

    def guard(self, first: int, words: npt.NDArray[np.uint64]) -> None:
        """The labels that each of some controls can still lead to: shape (n, words of 64 bits)."""
        n, width = words.shape
        self.guards = appended(self.guards, self.n_guards, words.ravel())
        self.info[first : first + n, GUARD] = self.n_guards + width * np.arange(n)
        self.info[first : first + n, WIDTH] = width
        self.n_guards += n * width

    def copy(self) -> "PushdownTables":
        """Independent tables with the same content, and some room."""
        twin = PushdownTables.__new__(PushdownTables)
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(twin, name, value if name in _BY_CONTROL else copy(value))
        for name in _BY_CONTROL:
            array = getattr(self, name)
            # PERF: rows that are not used are not touched, so they cost no memory yet.
            room = np.empty((self.n_controls + _ROOM, *array.shape[1:]), array.dtype)
            room[: self.n_controls] = array[: self.n_controls]
            setattr(twin, name, room)
        return twin

    def action(self, *, again: bool = False, label: int = -1, reaction: Reaction | None = None) -> int:
        """A new action, direct where a reaction is given; its number."""
        number = self.n_actions
        if number == len(self.actions):
            self.actions = grown(self.actions, 2 * number, 0)
        self.actions[number] = -1 if reaction is None else self._result(reaction), again, label
        if reaction is not None:
            self.direct[number] = reaction
        self.n_actions = number + 1
        return number

    def cell(self, allow: int = -1) -> int:
        """A new cell, which allows all labels (-1), or those that `allow` will say (PENDING)."""
        number = self.n_cells
        if number == len(self.cell_allow):
            self.cell_allow = grown(self.cell_allow, 2 * number, -1)
        self.cell_allow[number] = allow
        self.n_cells = number + 1
        return number

    def record(self, cell: int, *, differs: bool) -> None:
        """Have a cell record; ``differs``: only so that what comes later differs from what has been."""
        self.records.add(cell)
        if differs:
            self.differing.add(cell)

    def allow(self, cell: int, labels: tuple[int, ...]) -> None:
        """Enter the labels that a cell allows, as words of 64 bits."""
        self.cell_allow[cell] = self.labels(labels)

    def labels(self, labels: tuple[int, ...]) -> int:
        """The offset in ``allows`` of some labels, as words of 64 bits."""
        found = self._allow_ids.get(labels)
        if found is None:
            found = self._allow_ids[labels] = self.n_allows
            self.allows = appended(self.allows, self.n_allows, labels)
            self.n_allows += len(labels)
        return found

    def reacts(self, action: int, cell: int, reaction: Reaction | None, *, hangs: bool = False) -> None:
        """Enter the reaction of a cell to an action; None: nothing may follow.

        ``hangs``: the cell records, and may do otherwise after some bytes.
        """
        if 2 * self.n_reactions >= len(self.keys):
            self.keys, self.values = rehashed(self.keys, self.values)
        if reaction is None:
            value = DEAD
        else:
            value = _DEFERRED if reaction is DEFERRED else self._result(reaction) + HANGS * hangs
            self.defers |= reaction is DEFERRED
            if hangs:
                self.hanging.add(action << 32 | cell)
        insert(self.keys, self.values, action << 32 | cell, value)
        self.reactions[action << 32 | cell] = reaction
        self.n_reactions += 1

    def _result(self, reaction: Reaction) -> int:
        found = self._result_ids.get(reaction)
        if found is None:
            found = self._result_ids[reaction] = self.n_results
            if found == len(self.results):
                self.results = grown(self.results, 2 * found, 0)
            self.results[found] = reaction.pops, reaction.pushes, reaction.goes_to, *reaction.registers
            self.n_results = found + 1
        return found
