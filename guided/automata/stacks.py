"""Execution of pushdown automata: hash-consed stacks, reactions, and configurations.

A stack is a node: its top cell and the node below. Equal stacks are one node, so forks and rollbacks cost nothing. A
*configuration* is a control, a stack node, and the registers. The bytes read on top of recording cells (`Texts`) are kept beside it: a
*text configuration* is a configuration with these texts.

Not thread-safe: the calling index holds a lock.

Complexity: O(1) for a byte and each reaction it causes.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.pushdown import (
    ACTION,
    BEYOND,
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

__all__ = ["Configuration", "Record", "Stacks", "TextConfiguration", "Texts"]

# Measured bytes of memory of a node, and of a guard with a set of labels.
_PER_NODE, _PER_MEETING = 250, 100

# Configuration: control, stack node, code points needed and allowed.
Configuration = tuple[int, int, int, int]
# Bytes read on top of each recording cell of a stack, the lowest first; None after a key until its value has ended, when no reaction
# depends on these bytes.
Texts = tuple[bytes | None, ...]
TextConfiguration = tuple[Configuration, Texts]


class Record(NamedTuple):
    """A reaction of a recording cell.

    Attributes
    ----------
    level : int
        Position among the recording cells of the stack; 0 is the lowest.
    action, cell : int
    data : bytes
        Bytes read on top of the cell.
    reaction : Reaction or None
    """

    level: int
    action: int
    cell: int
    data: bytes
    reaction: Reaction | None


class _Recorded:
    """Bytes read on top of each recording cell during one read; sliced out only on request.

    Attributes
    ----------
    at : int
        Offset of the current byte.
    """

    __slots__ = ("_data", "at", "begun")

    def __init__(self, texts: list[bytes | None], data: bytes) -> None:
        self._data = data
        self.at = 0
        # For each cell, the bytes read before, and the offset from which the current data continues them.
        self.begun: list[tuple[bytes | None, int]] = [(text, 0) for text in texts] if texts else []

    def __getitem__(self, level: int) -> bytes | None:
        text, begin = self.begun[level]
        return None if text is None else text + self._data[begin : self.at]

    def __setitem__(self, level: int, text: bytes | None) -> None:
        self.begun[level] = text, self.at

    def resize(self, depth: int, begin: int) -> None:
        """Set the number of recording cells; new ones record from an offset on."""
        del self.begun[depth:]
        self.begun += [(b"", begin)] * (depth - len(self.begun))

    def texts(self) -> list[bytes | None]:
        """Return the bytes read on top of each cell, including all of the current data."""
        self.at = len(self._data)
        return [self[level] for level in range(len(self.begun))]


class Stacks:
    """Stacks created so far, and reading on them.

    Attributes
    ----------
    automaton : Pushdown
    cells : list of int
        Top cell of each node.
    nodes : ndarray[int32], shape (capacity, 3)
        Top cell, node below, and number of cells above the lowest, of each node.
    least_depth : int
        Minimum depth of the stacks that actions have left since it was last set.
    """

    def __init__(self, automaton: Pushdown) -> None:
        self.automaton = automaton
        # By control, the entry of `settled`.
        self._settling: dict[int, int] = {}
        self.cells: list[int] = [0]
        self._below: list[int] = [-1]
        self._node_ids: dict[tuple[int, int], int] = {(0, -1): 0}
        self.nodes: Int32Array = np.zeros((64, 3), np.int32)
        self.nodes[0] = 0, -1, 0
        self.least_depth = 0
        # Whether a guard and a set of allowed labels have a common label.
        self._meets: dict[int, bool] = {}
        # For each stack, the number of its recording cells.
        self._depths: list[int] = [0]

    def is_end(self, configuration: Configuration) -> bool:
        """Return whether a text may end in this configuration."""
        control, node, needed, _ = configuration
        if control == self.automaton.end:
            return True
        entry = int(self.automaton.tables.info[control, END_ACTION])
        if not entry or needed:
            return False
        after = self.after_action(entry, node)
        return after is not None and after[0] == self.automaton.end

    def top(self, node: int) -> tuple[int, int]:
        """Return the top cell of a stack, and the node below (-1: none)."""
        return self.cells[node], self._below[node]

    def depth(self, node: int) -> int:
        """Return the number of cells above the lowest."""
        return self.nodes.item(node, 2)

    def n_recording(self, node: int) -> int:
        """Return the number of recording cells of a stack."""
        return self._depths[node]

    def read(
        self,
        configuration: Configuration,
        data: bytes,
        texts: list[bytes | None] | None = None,
        records: list[Record] | None = None,
    ) -> Configuration | None:
        """Return the configuration after some bytes; None if they are not allowed.

        ``texts``: bytes read on top of each recording cell, updated in place. Without it, reactions that depend on them are not allowed.
        ``records``: the reactions of recording cells are appended.
        """
        control, node, needed, allowed = configuration
        automaton = self.automaton
        tables = automaton.tables
        rows, info = tables.rows, tables.info
        recorded = _Recorded(texts, data) if texts else None
        for at, byte in enumerate(data):
            while True:
                entry = rows.item(control, byte)
                if entry >= 0:
                    # PERF: most strings neither need nor limit code points (`python -m benchmarks.maskbench`).
                    if allowed != UNLIMITED or needed:
                        if info.item(control, COUNTS) == 1:
                            if allowed == 0:
                                return None
                            allowed -= allowed != UNLIMITED and allowed != BEYOND
                            needed -= needed > 0
                        if allowed < info.item(entry, NEEDS):
                            return None
                    control = entry
                    break
                if entry == DEAD:
                    return None
                if entry == UNKNOWN:
                    automaton.fill(control, byte)
                    rows, info = tables.rows, tables.info
                    continue
                if needed:
                    entry = tables.taken(entry, needed)
                    if entry == DEAD:
                        return None
                if recorded is not None:
                    recorded.at = at
                is_again = tables.actions.item(ACTION - entry, 1)
                after = self.after_action(entry, node, recorded, b"" if is_again else data[at : at + 1], records)
                if after is None:
                    return None
                rows, info = tables.rows, tables.info
                control, node, needed, allowed = after
                if texts is not None and self._depths[node] != (0 if recorded is None else len(recorded.begun)):
                    recorded = recorded or _Recorded(texts, data)
                    recorded.at = at
                    recorded.resize(self._depths[node], at if is_again else at + 1)
                if not is_again:
                    break
        # A control leads to no label that those before it do not lead to, so the last one decides for all.
        if info.item(control, GUARD) >= 0 and not self.is_open(control, node):
            return None
        if texts is not None and recorded is not None:
            texts[:] = recorded.texts()
        return control, node, needed, allowed

    def readable(
        self, configuration: Configuration, texts: Sequence[bytes | None], words: Sequence[bytes]
    ) -> Iterator[bool]:
        """Yield for each of some sorted words whether `read` allows it. What a word shares with the next one is read once."""
        # Prefixes of the current word that the words before it share, each with its length and what `read` makes of it.
        path: list[tuple[int, Configuration | None, list[bytes | None]]] = [(0, configuration, list(texts))]
        for data, following in pairwise((*words, b"")):
            shared = next(length for length in range(len(data), -1, -1) if following.startswith(data[:length]))
            at, after, known = path[-1]
            if at > shared:
                while path[-1][0] > shared:
                    path.pop()
            elif shared > at:
                known = list(known)
                after = None if after is None else self.read(after, data[at:shared], known)
                at = shared
                path.append((at, after, known))
            yield after is not None and self.read(after, data[at:], list(known)) is not None

    def is_open(self, control: int, node: int) -> bool:
        """Return whether a guarded control can still lead to a label that the cell allows."""
        tables = self.automaton.tables
        guard = tables.info.item(control, GUARD)
        if guard < 0:
            return True
        allow = tables.cell_allow.item(self.cells[node])
        if allow == -1:
            return True
        if allow == PENDING:
            return self.automaton.is_open(control, self.cells[node])
        # PERF: called at each byte of a key, whose labels are mostly one word (`python -m benchmarks.maskbench`).
        guards, allows = tables.guards, tables.allows
        width = tables.info.item(control, WIDTH)
        if width == 1:
            return guards.item(guard) & allows.item(allow) != 0
        # PERF: with hundreds of names, the same sets meet at most bytes of a key (`python -m benchmarks.soak`).
        key = guard << 32 | allow
        found = self._meets.get(key)
        if found is None:
            found = self._meets[key] = bool((guards[guard : guard + width] & allows[allow : allow + width]).any())
            tables.steps.n_bytes += _PER_MEETING
        return found

    def after_action(
        self,
        entry: int,
        node: int,
        texts: "_Recorded | None" = None,
        last: bytes = b"",
        records: list[Record] | None = None,
    ) -> Configuration | None:
        """Return the configuration after an action on a stack; None if it is not allowed.

        ``last``: the byte that the action reads. ``records``: reactions of recording cells are appended; without ``texts``, only those that
        depend on the bytes read.
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
                    reaction = self.automaton.recorded_reaction(action, cell, data)
                    if records is not None:
                        records.append(Record(level, action, cell, data, reaction))
                    texts[level] = None if label >= 0 else b""
                else:
                    reaction = tables.reactions.get(key)
                    if reaction is None and key not in tables.reactions:
                        self.automaton.compute_reaction(action, cell)
                        reaction = tables.reactions[key]
                    if records is not None and key in tables.byte_dependent:
                        records.append(Record(self._depths[node] - 1, action, cell, b"", reaction))
                if reaction is None or reaction is DEFERRED:
                    return None
            pops, pushes, entry, (needed, allowed) = reaction
            for _ in range(pops):
                node = self._below[node]
            if pushes >= 0:
                node = self.push(pushes, node)
            if pops:
                depth = self.nodes.item(node, 2)
                if depth < self.least_depth:
                    self.least_depth = depth
            if allowed <= PER_CELL:
                needed = allowed = needed * (self.nodes.item(node, 2) + allowed - PER_CELL)
        if tables.info.item(entry, GUARD) >= 0 and not self.is_open(entry, node):
            return None
        return entry, node, needed, allowed

    def settled(self, configuration: Configuration) -> Configuration:
        """Return the configuration after the action to which every byte leads that may come, many of them, if the byte is read again.

        Both allow the same texts. So does a value that any byte may begin: its plan is that of all values of its kind.
        """
        control, node, *_ = configuration
        entry = self._settling.get(control)
        if entry is None:
            entry = self._settling_entry(control)
        if entry == DEAD:
            return configuration
        after = self.after_action(entry, node)
        return configuration if after is None else self.settled(after)

    def _settling_entry(self, control: int) -> int:
        """Return the entry of that action; DEAD if there is none."""
        tables = self.automaton.tables
        first = int((tables.rows[control] == UNKNOWN).argmax())
        if tables.rows.item(control, first) == UNKNOWN:
            self.automaton.fill(control, first)
        row: Int32Array = tables.rows[control]
        if (row == UNKNOWN).any():
            return DEAD
        live = row != DEAD
        entry = row.item(int(live.argmax()))
        reaction = tables.direct.get(ACTION - entry) if entry <= ACTION and (row[live] == entry).all() else None
        is_same = (
            reaction is not None
            and reaction.goes_to >= 0
            and tables.actions.item(ACTION - entry, 1) == 1
            and np.array_equal(tables.rows[reaction.goes_to] != DEAD, live)
        )
        found = self._settling[control] = entry if is_same else DEAD
        return found

    def push(self, cell: int, below: int) -> int:
        """Return the stack with one more cell."""
        key = (cell, below)
        found = self._node_ids.get(key)
        if found is None:
            found = len(self.cells)
            if found == len(self.nodes):
                self.nodes = np.concatenate([self.nodes, np.zeros_like(self.nodes)])
            self.nodes[found] = cell, below, self.nodes[below, 2] + 1
            tables = self.automaton.tables
            tables.steps.n_bytes += _PER_NODE
            self.cells.append(cell)
            self._below.append(below)
            self._depths.append(self._depths[below] + (cell in tables.records))
            self._node_ids[key] = found
        return found
