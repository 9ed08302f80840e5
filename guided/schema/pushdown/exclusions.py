"""Frames of strings, numbers or keys that exclude some values.

The excluded values are earlier items of an array with ``uniqueItems``, or names of earlier members of an object that counts them.

The excluded texts form a trie with hash-consed nodes, so adding a text creates nodes on its own path only. A control here is a pair of a
control of the base frame and a node of the trie. Once the bytes read so far are a prefix of no excluded text, the base control itself is
used. So each further text costs as many controls as it has bytes, however many texts are already excluded.

A number has several spellings: ``1.50`` is ``1.5``. After an excluded number, zeros behind its point therefore lead to excluded texts
too (`_Tail`).

Invariant: every control is live: some non-excluded text can be completed from it.

Complexity: O(bytes of the texts), and O(256) for each node of their trie that is new.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, Int32Array, UInt64Array
from guided.automata.pushdown import ACTION, END_ACTION, GUARD, LIVE, NEEDS, PLAN, WIDTH, PushdownTables
from guided.caching import Kept

__all__ = ["Exclusions"]

_POINT = ord(".")

# Most guards that are kept for further controls.
_GUARDS_KEPT = 4096


class _Tail(IntEnum):
    """The characters that may follow an excluded number without changing its value."""

    NONE = 0
    POINT = 1
    FIRST_ZERO = 2
    ZEROS = 3


# For each tail, the next tail by byte; NONE where absent.
_TAILS = {
    _Tail.NONE: {},
    _Tail.POINT: {ord("."): _Tail.FIRST_ZERO},
    _Tail.FIRST_ZERO: {ord("0"): _Tail.ZEROS},
    _Tail.ZEROS: {ord("0"): _Tail.ZEROS},
}
_EXCLUDED = (_Tail.POINT, _Tail.ZEROS)


class _Key(NamedTuple):
    """A base control, a trie node, the tail, and whether a point has been read."""

    base: int
    node: int
    tail: _Tail
    has_point: bool

    @property
    def is_common(self) -> bool:
        return not self.node and not self.tail


# Steps that one control costs a call.
_STEPS = 60


class Exclusions:
    """The variants of frames that exclude texts.

    Parameters
    ----------
    tables : PushdownTables
        The tables to fill.
    is_number : bool
        Whether the texts are spellings of numbers, not strings or keys.
    """

    def __init__(self, tables: PushdownTables, *, is_number: bool) -> None:
        self._tables, self._is_number = tables, is_number
        # Trie nodes: whether a text ends there, and the children. Node 0 is the empty trie.
        self._nodes: list[tuple[bool, tuple[tuple[int, int], ...]]] = [(False, ())]
        self._node_ids = {self._nodes[0]: 0}
        # Trie root of each set of a chain; None if one of its texts has several spellings.
        self._root_of: dict[int, int | None] = {}
        # Control by base control, node and tail; DEAD if all texts from there are excluded.
        self._controls: dict[_Key, int] = {}
        self._own: set[int] = set()
        # By base control, whether it ends an excluded text, and the bytes that lead towards excluded texts.
        self._guards = Kept[tuple[int, ...], UInt64Array](_GUARDS_KEPT)

    def without_chain(
        self, first: int, chain: int, link: Callable[[int], tuple[int, Sequence[bytes] | None]]
    ) -> int | None:
        """Return the same for the texts of a chain of sets, each of which adds a few texts to the previous one.

        ``link`` maps a set's number to the previous set's number (0 for the empty set) and the added texts. The texts are None if one has
        several spellings; then there is no such frame. O(bytes) of the sets not yet known.
        """
        links: list[tuple[int, Sequence[bytes] | None]] = []
        while chain and chain not in self._root_of:
            before, bodies = link(chain)
            links.append((chain, bodies))
            chain = before
        root = self._root_of.get(chain, 0)
        for one, bodies in reversed(links):
            if root is not None:
                for body in bodies or ():
                    root = self._with(root, body)
            root = self._root_of[one] = None if bodies is None else root
        return None if root is None else self._control(first, root)

    def __contains__(self, control: int) -> bool:
        """Return whether a control was made here and is not a base control."""
        return control in self._own

    # The trie

    def _with(self, root: int, body: bytes) -> int:
        path = [root]
        for byte in body:
            path.append(dict(self._nodes[path[-1]][1]).get(byte, 0))
        node = self._node(True, self._nodes[path.pop()][1])
        for byte in reversed(body):
            does_end, children = self._nodes[path.pop()]
            node = self._node(does_end, tuple(sorted({**dict(children), byte: node}.items())))
        return node

    def _node(self, does_end: bool, children: tuple[tuple[int, int], ...]) -> int:
        key = does_end, children
        found = self._node_ids.get(key)
        if found is None:
            found = self._node_ids[key] = len(self._nodes)
            self._nodes.append(key)
        return found

    # Controls

    def _control(self, base: int, root: int) -> int | None:
        start = self._key(base, root, _Tail.NONE, has_point=False)
        todo, begun = [start], set[_Key]()
        while todo:
            key = todo[-1]
            if key in self._controls or key.is_common:
                todo.pop()
                continue
            onward = self._onward(key)
            missing = [
                after for _, after in onward if after != key and not after.is_common and after not in self._controls
            ]
            if not missing:
                self._make(todo.pop(), onward)
            elif key in begun:
                return None
            else:
                begun.add(key)
                todo += missing
        return self._found(start)

    def _key(self, base: int, node: int, tail: _Tail, *, has_point: bool) -> _Key:
        """Return the key after some bytes. At the end of an excluded number it starts the matching tail."""
        if self._is_number and self._nodes[node][0]:
            tail = _Tail.ZEROS if has_point else _Tail.POINT
        return _Key(base, node, tail, has_point and node > 0)

    def _onward(self, key: _Key) -> list[tuple[int, _Key]]:
        """Return the bytes that lead towards excluded texts, with their target keys."""
        row = self._tables.rows[key.base]
        children = dict(self._nodes[key.node][1])
        tails = _TAILS[key.tail]
        found = []
        for byte in sorted({*children, *tails}):
            target = row.item(byte)
            # Skip texts that the base frame rejects anyway.
            if target >= 0:
                has_point = key.has_point or byte == _POINT
                after = self._key(target, children.get(byte, 0), tails.get(byte, _Tail.NONE), has_point=has_point)
                found.append((byte, after))
        return found

    def _found(self, key: _Key) -> int:
        return key.base if key.is_common else self._controls[key]

    def _make(self, key: _Key, onward: Sequence[tuple[int, _Key]]) -> None:
        """Make a control whose successors exist; a loop to itself is allowed."""
        tables, (base, node, tail, _) = self._tables, key
        row: Int32Array = tables.rows[base].copy()
        is_excluded = tail in _EXCLUDED if self._is_number else self._nodes[node][0]
        if is_excluded:
            row[row <= ACTION] = DEAD
        bytes_onward = [byte for byte, _ in onward]
        row[bytes_onward] = DEAD
        others = row.copy()
        row[bytes_onward] = [DEAD if after == key else self._found(after) for _, after in onward]
        if (row == DEAD).all():
            self._controls[key] = DEAD
            return
        tables.steps.spend(_STEPS + len(onward), "too many strings, numbers or names must not be repeated")
        control = tables.n_controls
        row[[byte for byte, after in onward if after == key]] = control
        tables.control(row)
        n_live = int(tables.info[control, LIVE])
        tables.info[control] = tables.info[base]
        tables.info[control, LIVE] = n_live
        if tables.info.item(base, GUARD) >= 0:
            guard = self._guard_of_others(base, others, is_excluded, bytes_onward).copy()
            for target in {self._found(after) for _, after in onward if after != key} - {DEAD}:
                self._add_guard(guard, target)
            tables.guard(control, guard)
        if not self._is_number:
            plan = tables.info.item(base, PLAN)
            tables.info[control, PLAN] = plan if plan >= 0 else base
            if is_excluded:
                tables.info[control, NEEDS] = max(int(tables.info[base, NEEDS]), 1)
        elif is_excluded:
            tables.info[control, END_ACTION] = 0
        self._controls[key] = control
        self._own.add(control)

    def _guard_of_others(self, base: int, row: Int32Array, is_excluded: bool, onward: Sequence[int]) -> UInt64Array:
        """Return the labels that a key can still get by the bytes that lead away from excluded texts, the live bytes of this row.

        PERF: few base controls and bytes occur along all the names that a text excludes (`python -m benchmarks.soak`).
        """
        key = base, is_excluded, *onward
        found = self._guards.get(key)
        if found is None:
            tables = self._tables
            found = np.zeros((1, tables.info.item(base, WIDTH)), np.uint64)
            for entry in np.unique(row[row != DEAD]).tolist():
                if entry >= 0:
                    self._add_guard(found, entry)
                elif entry <= ACTION:
                    label = tables.actions.item(ACTION - entry, 2)
                    found[0, label >> 6] |= np.uint64(1 << (label & 63))
            self._guards[key] = found
        return found

    def _add_guard(self, guard: UInt64Array, control: int) -> None:
        """Add the labels that a key can still get from a control."""
        tables = self._tables
        first, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        guard[0, :width] |= tables.guards[first : first + width]
