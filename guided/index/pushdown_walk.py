"""`PushdownWalk`: walk of a token trie over an automaton with a stack, computing automaton entries on demand.

The kernel (`guided.kernels.pushdown`) stops at an unknown entry, reaction or label set. The walk computes it and resumes the kernel.

Not thread-safe: the calling index holds a lock.
"""

from collections.abc import Callable, Container
from typing import TypeAlias

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.automata.pushdown import UNLIMITED, Pushdown
from guided.automata.stacks import Configuration, Stacks
from guided.errors import LimitError
from guided.kernels import pushdown as kernel
from guided.kernels.jit import may_be_python
from guided.kernels.tables import SCRATCH
from guided.limits import Limits
from guided.vocabulary.trie import TokenTrie

__all__ = ["Foresee", "PushdownWalk"]

Foresee: TypeAlias = Callable[[Pushdown, int, TokenTrie, int, int], None]

_NONE: Int32Array = np.zeros(0, np.int32)
_TOO_MANY_PUSHES = "tokens change the stack too often"
_NONE_BELOW = np.zeros((0, 2), np.uint64), _NONE, _NONE, _NONE
_FIRST_ROOM = 64
_IS_SLOW = may_be_python(kernel.read)
# Controls whose loops a walk keeps; a power of two. They are cleared for each walk.
_LOOPS = 64


class _Rows:
    """Distinct rows of three numbers with a hash table over them, filled by the kernel.

    Attributes
    ----------
    rows : ndarray[int32], shape (n, 3)
    slots : ndarray[int32], shape (2 n,)
        Open addressing; -1: free.
    """

    def __init__(self) -> None:
        self.rows: Int32Array = np.empty((_FIRST_ROOM, 3), np.int32)
        self.slots: Int32Array = np.empty(2 * _FIRST_ROOM, np.int32)

    def grow(self) -> None:
        """Double the capacity of full rows."""
        n = len(self.rows)
        self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.slots = np.empty(2 * len(self.slots), np.int32)
        kernel.enter_all(self.rows, self.slots, n)


class PushdownWalk:
    """Walks over one automaton's stacks.

    Attributes
    ----------
    deferred : list of int
        Tokens whose result depends on bytes read before, from all walks so far that recorded no escapes.

    Parameters
    ----------
    stacks : Stacks
    trie : TokenTrie
        The vocabulary's trie: no other trie that is walked has more nodes.
    spelling : (ndarray[uint8], ndarray[int64])
        The bytes of all tokens, and where those of each begin.
    foresee : callable or None
        Called with the automaton, an entry, a trie and a range of its nodes before the walk reads these nodes from that entry.
    limits : Limits
    """

    def __init__(
        self,
        stacks: Stacks,
        trie: TokenTrie,
        spelling: tuple[UInt8Array, Int64Array],
        foresee: Foresee | None,
        limits: Limits,
    ) -> None:
        self._stacks, self._limits = stacks, limits
        self._trie, self._foresee = trie, foresee
        self._loops: UInt64Array = np.zeros((_LOOPS, 3), np.uint64)
        self.deferred: list[int] = []
        # A trie node is deferred at most once. PERF: 4 MB for Llama-3, allocated only if something is deferred (`benchmarks.first_mask`).
        self._deferred: Int32Array = np.empty((0, 4), np.int32)
        self._frames: Int32Array = np.zeros((trie.max_depth + 2, 8), np.int32)
        self._pushed, self._classes = _Rows(), _Rows()
        self._spelling, self._read_out = spelling, np.zeros(9, np.int64)
        self._no_escapes: Int32Array = np.zeros((1, 4), np.int32)

    def __call__(
        self,
        trie: TokenTrie,
        configuration: Configuration,
        words: Int32Array,
        *,
        base: int = -1,
        counts: Int32Array = _NONE,
        escapes: Int32Array | None = None,
        allow: int = -1,
        ends: Int32Array = _NONE,
        first: int = 0,
    ) -> tuple[int, int, int]:
        """Set the bits of a trie's allowed tokens. Return the numbers of escapes and of classes, and the maximum for ``counts``."""
        automaton = self._stacks.automaton
        tables = automaton.tables
        frames, out = self._frames, np.zeros(10, np.int64)
        pushed, classes = self._pushed, self._classes
        below = trie.below if trie is self._trie else _NONE_BELOW
        kernel.enter_all(pushed.rows, pushed.slots, 0)
        if len(ends):
            kernel.enter_all(classes.rows, classes.slots, 0)
        is_deferring = escapes is None
        frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = configuration
        frames[0, 7] = base
        if self._foresee is not None:
            self._foresee(automaton, configuration[0], trie, 0, len(trie.byte))
        out[0], out[5], out[8] = -1, allow, first
        while True:
            if is_deferring:
                if (tables.defers or tables.byte_dependent) and not len(self._deferred):
                    self._deferred = np.empty((len(self._trie.byte), 4), np.int32)
                escapes = self._deferred
            assert escapes is not None
            status = kernel.walk(
                trie.byte, trie.skip, trie.token_indptr, trie.token_ids, trie.child, *below,
                tables.rows, tables.info, tables.live, tables.actions, tables.results, tables.keys, tables.values,
                tables.guards, tables.allows, tables.cell_allow, self._stacks.nodes, frames, self._loops,
                pushed.rows, pushed.slots, words,
                counts, escapes, ends, classes.rows, classes.slots, out,
            )  # fmt: skip
            if status == kernel.DONE:
                if is_deferring and out[3]:
                    for i in escapes[: int(out[3]), 1].tolist():
                        self.deferred += trie.token_ids[trie.token_indptr[i] : trie.token_indptr[trie.skip[i]]].tolist()
                return out.item(3), out.item(7), out.item(9)
            if status == kernel.MISSING_ROOM:
                full = pushed if int(out[6]) == len(pushed.rows) else classes
                if len(full.rows) > self._limits.pushes:
                    raise LimitError("pushes", len(full.rows), self._limits.pushes, _TOO_MANY_PUSHES)
                full.grow()
            elif status == kernel.MISSING_ENTRY:
                control, byte = int(out[1]), int(out[2])
                automaton.fill(control, byte)
                if self._foresee is not None:
                    cursor, row = frames[int(out[0]), 4], frames[int(out[0]), 6]
                    node = int(cursor if row < 0 else trie.child[row, byte])
                    self._foresee(automaton, tables.rows.item(control, byte), trie, node + 1, int(trie.skip[node]))
            elif status == kernel.MISSING_LABELS:
                automaton.compute_allowed(int(out[1]))
            else:
                automaton.compute_reaction(int(out[1]), int(out[2]))

    def read(self, token: int, configuration: Configuration) -> Configuration | None:
        """Return the configuration after a token as `Stacks.read` does; None also where only that can tell.

        PERF: a third of the time (`python -m benchmarks.maskbench`).
        """
        stacks, pushed, out = self._stacks, self._pushed, self._read_out
        tables = stacks.automaton.tables
        if _IS_SLOW or tables.records or tables.defers:
            return None
        found = kernel.read(
            token, *self._spelling, *configuration, tables.rows, tables.info, tables.actions, tables.results, tables.keys,
            tables.values, tables.guards, tables.allows, tables.cell_allow, stacks.nodes, pushed.rows, pushed.slots,
            self._no_escapes, out,
        )  # fmt: skip
        if found == kernel.NOT_READ:
            return None
        node = found >> 32 & 0x3FFFFFFF
        if node >= SCRATCH:
            top, rows = node - SCRATCH, pushed.rows
            below = rows.item(top, 1)
            # PERF: most tokens push one cell (`python -m benchmarks.maskbench`).
            node = stacks.push(rows.item(top, 0), below if below < SCRATCH else self._node(below, {}))
        if found & kernel.HAS_REGISTERS:
            return found & 0xFFFFFFFF, node, out.item(1), out.item(2)
        return found & 0xFFFFFFFF, node, 0, UNLIMITED

    def ends(
        self,
        trie: TokenTrie,
        configuration: Configuration,
        words: Int32Array,
        ends: Int32Array,
        first: int,
        base: int = -1,
    ) -> list[Configuration]:
        """Write the class of each allowed token to ``ends``; class numbers begin with ``first``.

        Returns
        -------
        list of Configuration
            Configuration after the tokens of each class, without maximum of code points: completions never come near one.
        """
        n = self(trie, configuration, words, base=base, ends=ends, first=first)[1]
        nodes: dict[int, int] = {}
        return [
            (control, self._node(node, nodes), needed, UNLIMITED)
            for control, node, needed in self._classes.rows[:n].tolist()
        ]

    def stays(
        self, trie: TokenTrie, configuration: Configuration, words: Int32Array, ends: Int32Array, escapes: Int32Array
    ) -> list[tuple[int, tuple[int, ...], int]]:
        """Write classes from 1 for an unknown stack, and return for each: control, cells pushed, and code points needed."""
        n = self(trie, configuration, words, escapes=escapes, ends=ends, first=1)[1]
        return [
            (control, tuple(cell for _, cell in reversed(self._above(node)[0])), needed)
            for control, node, needed in self._classes.rows[:n].tolist()
        ]

    def _above(self, node: int, known: Container[int] = ()) -> tuple[list[tuple[int, int]], int]:
        """Return the walk's own stacks above a known stack or the caller's, with their top cells, and that stack."""
        found = []
        while node >= SCRATCH and node not in known:
            at, rows = node - SCRATCH, self._pushed.rows
            found.append((node, rows.item(at, 0)))
            node = rows.item(at, 1)
        return found, node

    def _node(self, node: int, nodes: dict[int, int]) -> int:
        """Return the index's stack equal to a stack of the walk."""
        above, below = self._above(node, nodes)
        found = nodes.get(below, below)
        for own, cell in reversed(above):
            found = nodes[own] = self._stacks.push(cell, found)
        return found
