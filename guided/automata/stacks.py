"""Reading bytes on a pushdown automaton: stacks as hash-consed nodes, reactions, and places.

A stack is a node: its top cell and the node below. Equal stacks are one node, so forks and rollbacks cost nothing. A *place* is
where a text stands: control, node, and the registers. What some cells hang on, the very bytes read on top of them (`Texts`), travels
beside the place.

Not thread-safe: the index that reads holds a lock.

Complexity: O(1) for a byte and each reaction it causes.
"""

from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.pushdown import (
    ACTION,
    COUNTS,
    DEFERRED,
    END_ACTION,
    GUARD,
    KEPT,
    NEEDS,
    PENDING,
    PER_CELL,
    UNLIMITED,
    WIDTH,
    Pushdown,
    Reaction,
)

__all__ = ["Place", "Record", "Spot", "Stacks", "Texts"]

# Bytes of memory of a node, as measured.
_PER_NODE = 250

# Where a text stands: control, stack node, code points needed and allowed.
Place = tuple[int, int, int, int]
# What was read on top of each cell of a stack that records, the lowest first; None behind a key, until the value has ended: no reaction
# hangs on these bytes.
Texts = tuple[bytes | None, ...]
Spot = tuple[Place, Texts]


class Record(NamedTuple):
    """What a cell that records was asked, and what it did.

    Attributes
    ----------
    level : int
        Which of the cells of the stack that record, the lowest is 0.
    action, cell : int
    data : bytes
        What was read on top of it.
    reaction : Reaction or None
    """

    level: int
    action: int
    cell: int
    data: bytes
    reaction: Reaction | None


class _Recorded:
    """What is read on top of each cell that records, while bytes are read: cut out of them only where it is asked for.

    Attributes
    ----------
    at : int
        Offset of the byte at hand.
    """

    __slots__ = ("_begun", "_data", "at")

    def __init__(self, texts: list[bytes | None], data: bytes) -> None:
        self._data = data
        self.at = 0
        # Of each cell, what was read on top of it, and the offset from which on more was.
        self._begun: list[tuple[bytes | None, int]] = [(text, 0) for text in texts]

    def __len__(self) -> int:
        return len(self._begun)

    def __getitem__(self, level: int) -> bytes | None:
        text, begin = self._begun[level]
        return None if text is None else text + self._data[begin : self.at]

    def __setitem__(self, level: int, text: bytes | None) -> None:
        self._begun[level] = text, self.at

    def resize(self, depth: int) -> None:
        """So many cells record after the byte at hand."""
        del self._begun[depth:]
        self._begun += [(b"", self.at + 1)] * (depth - len(self._begun))

    def texts(self) -> list[bytes | None]:
        """What was read on top of each, all bytes included."""
        self.at = len(self._data)
        return [self[level] for level in range(len(self._begun))]


class Stacks:
    """The stacks that texts have made, and how they read on.

    Attributes
    ----------
    automaton : Pushdown
    cells : list of int
        Top cell of each node.
    nodes : ndarray[int32], shape (capacity, 3)
        Top cell, the node below, and the number of cells above the lowest, of each node.
    """

    def __init__(self, automaton: Pushdown) -> None:
        self.automaton = automaton
        self.cells: list[int] = [0]
        self._below: list[int] = [-1]
        self._node_ids: dict[tuple[int, int], int] = {(0, -1): 0}
        self.nodes: Int32Array = np.zeros((256, 3), np.int32)
        self.nodes[0] = 0, -1, 0
        # Of each stack, how many of its cells record.
        self._depths: list[int] = [0]

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the stacks take."""
        return _PER_NODE * len(self.cells)

    def is_end(self, place: Place) -> bool:
        """May a text end at this place?"""
        control, node, needed, _ = place
        if control == self.automaton.end:
            return True
        entry = int(self.automaton.tables.info[control, END_ACTION])
        if not entry or needed:
            return False
        after = self.react(entry, node)
        return after is not None and after[0] == self.automaton.end

    def top(self, node: int) -> tuple[int, int]:
        """The top cell of a stack, and the node below (-1: none)."""
        return self.cells[node], self._below[node]

    def depth(self, node: int) -> int:
        """The number of cells above the lowest."""
        return self.nodes.item(node, 2)

    def n_recording(self, node: int) -> int:
        """How many cells of the stack record."""
        return self._depths[node]

    def read(
        self, place: Place, data: bytes, texts: list[bytes | None] | None = None, records: list[Record] | None = None
    ) -> Place | None:
        """The place after some bytes; None where they cannot come.

        ``texts``: what was read on top of each cell that records, changed in place. Without it, what only they could tell cannot come.
        ``records``: what those cells were asked is appended.
        """
        control, node, needed, allowed = place
        automaton = self.automaton
        tables = automaton.tables
        rows, info = tables.rows, tables.info
        recorded = None if texts is None else _Recorded(texts, data)
        for at, byte in enumerate(data):
            if recorded is not None:
                recorded.at = at
            while True:
                entry = rows.item(control, byte)
                if entry >= 0:
                    if info.item(control, COUNTS) == 1:
                        if allowed == 0:
                            return None
                        allowed -= allowed != UNLIMITED
                        needed -= needed > 0
                    control = entry
                    if allowed < info.item(control, NEEDS):
                        return None
                    if info.item(control, GUARD) >= 0 and not self.is_open(control, node):
                        return None
                    break
                if entry == DEAD:
                    return None
                if entry == UNKNOWN:
                    automaton.fill(control, byte)
                    rows, info = tables.rows, tables.info
                    continue
                if needed:
                    return None
                is_again = tables.actions.item(ACTION - entry, 1)
                after = self.react(entry, node, recorded, b"" if is_again else bytes([byte]), records)
                rows, info = tables.rows, tables.info
                if after is None:
                    return None
                control, node, needed, allowed = after
                if not is_again:
                    break
            if recorded is not None and self._depths[node] != len(recorded):
                recorded.resize(self._depths[node])
        if texts is not None and recorded is not None:
            texts[:] = recorded.texts()
        return control, node, needed, allowed

    def is_open(self, control: int, node: int) -> bool:
        """Can a guarded control still lead to a label that the cell allows?"""
        tables = self.automaton.tables
        guard = tables.info.item(control, GUARD)
        if guard < 0:
            return True
        allow = tables.cell_allow.item(self.cells[node])
        if allow == -1:
            return True
        if allow == PENDING:
            return self.automaton.is_open(control, self.cells[node])
        # PERF: asked at each byte of a key, whose labels are mostly one word (`python -m benchmarks.maskbench`).
        guards, allows = tables.guards, tables.allows
        width = tables.info.item(control, WIDTH)
        if width == 1:
            return guards.item(guard) & allows.item(allow) != 0
        return any(guards.item(guard + k) & allows.item(allow + k) for k in range(width))

    def react(
        self,
        entry: int,
        node: int,
        texts: "_Recorded | None" = None,
        last: bytes = b"",
        records: list[Record] | None = None,
    ) -> Place | None:
        """Where an action leads on a stack; None where it cannot come.

        ``last``: the byte that the action reads. ``records``: what cells that record were asked is appended; without ``texts``, that to
        which they may do otherwise after some bytes.
        """
        tables = self.automaton.tables
        needed, allowed = KEPT
        while entry <= ACTION:
            action = ACTION - entry
            reaction = tables.direct.get(action)
            if reaction is None:
                cell = self.cells[node]
                label = tables.actions.item(action, 2)
                if label >= 0:
                    allow = tables.cell_allow.item(cell)
                    if allow >= 0 and not tables.allows.item(allow + (label >> 6)) >> (label & 63) & 1:
                        return None
                key = action << 32 | cell
                if texts is not None and cell in tables.records:
                    level = self._depths[node] - 1
                    data = (texts[level] or b"") + last
                    reaction = self.automaton.recorded(action, cell, data)
                    if records is not None:
                        records.append(Record(level, action, cell, data, reaction))
                    texts[level] = None if label >= 0 else b""
                else:
                    if key not in tables.reactions:
                        self.automaton.react(action, cell)
                    reaction = tables.reactions[key]
                    if records is not None and key in tables.hanging:
                        records.append(Record(self._depths[node] - 1, action, cell, b"", reaction))
                if reaction is None or reaction is DEFERRED:
                    return None
            for _ in range(reaction.pops):
                node = self._below[node]
            if reaction.pushes >= 0:
                node = self.push(reaction.pushes, node)
            entry = reaction.goes_to
            needed, allowed = reaction.registers
            if allowed <= PER_CELL:
                needed = allowed = needed * (self.nodes.item(node, 2) + allowed - PER_CELL)
        return (entry, node, needed, allowed) if self.is_open(entry, node) else None

    def push(self, cell: int, below: int) -> int:
        """The stack with one more cell."""
        key = (cell, below)
        found = self._node_ids.get(key)
        if found is None:
            found = len(self.cells)
            if found == len(self.nodes):
                self.nodes = np.concatenate([self.nodes, np.zeros_like(self.nodes)])
            self.nodes[found] = cell, below, self.nodes[below, 2] + 1
            self.cells.append(cell)
            self._below.append(below)
            self._depths.append(self._depths[below] + (cell in self.automaton.tables.records))
            self._node_ids[key] = found
        return found
