"""`LexemeMasks`: masks of an automaton that reads lexemes (`guided.lalr`), by a tree of plans that all stacks share.

A *plan* is what a group of trie nodes does from a control, within the lexeme at hand, where a cell allows certain labels
(`guided.kernels.lexemes`). It is made when a mask first asks for it. A mask is an evaluation of the tree on one stack: one reaction for
each edge whose lexeme may end there. Equal groups are one, so controls that differ in how a lexeme began share what comes after it.

Not thread-safe: the index that asks holds a lock.

Complexity: O(edges met + words of their masks) for a mask; O(trie nodes of the group) for a new plan. Plans are dropped, all at
once, when they fill their budget.
"""

from itertools import pairwise

import numpy as np

from guided.arrays import Int32Array, Int64Array, mask_words
from guided.automata.growth import insert, rehashed
from guided.automata.stacks import Place, Stacks, Texts
from guided.errors import LimitError
from guided.index.pushdown_masks import MaskMaker, Shared
from guided.kernels import lexemes as kernel
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["LexemeMasks"]

# Groups with so many nodes of the trie are walked on the stack: cheaper than a plan of their own.
_FEW = 48
# Plans with more tokens keep a mask.
_DENSE = 512
_MOST_PUSHES = 1 << 22
# Bits of a plan's key: group, control, labels.
_MOST_GROUPS, _MOST_STATES = 1 << 19, 1 << 22
_FIRST_PUSHES, _FIRST_JOBS = 4096, 256


class LexemeMasks(MaskMaker):
    """Makes the masks of one index of lexemes."""

    def __init__(self, stacks: Stacks, vocabulary: Vocabulary, limits: Limits, shared: Shared, n_shared: int) -> None:
        super().__init__(stacks, vocabulary, limits, shared, n_shared)
        trie = shared.trie
        self._budget = limits.mask_bytes
        self._pushes: Int32Array = np.empty((_FIRST_PUSHES, 2), np.int32)
        self._jobs: Int32Array = np.empty((_FIRST_JOBS, 3), np.int32)
        self._path: Int32Array = np.empty((trie.max_depth + 2, 3), np.int32)
        self._tokens_room: Int32Array = np.empty(len(trie.token_ids), np.int32)
        self._escapes_room: Int32Array = np.empty((len(trie.byte), 2), np.int32)
        self._root = np.flatnonzero(trie.depth == 0).astype(np.int32)
        self._clear()

    def _clear(self) -> None:
        """Forget all plans."""
        self._n_bytes = self._n_plans = 0
        self._plans: Int32Array = np.zeros((64, 5), np.int32)
        self._plan_keys: Int64Array = np.full(256, -1, np.int64)
        self._plan_values: Int32Array = np.zeros(256, np.int32)
        self._tokens_of = _Rows(np.zeros(1024, np.int32))
        self._dense = _Rows(np.zeros((4, mask_words(self.size)), np.int32))
        self._edges = _Rows(np.zeros((256, 2), np.int32))
        self._groups = _Rows(np.zeros((64, 4), np.int32))
        self._group_nodes = _Rows(np.zeros(1024, np.int32))
        self._group_ids: dict[tuple[bool, bytes], int] = {}
        self._plan_ids: dict[tuple[int, int, int], int] = {}
        self._group(self._root, is_again=True)

    def mask(self, place: Place, texts: Texts) -> Int32Array:  # noqa: ARG002 - nothing hangs on what was read
        """The mask without EOS."""
        words: Int32Array = np.zeros(mask_words(self.size), np.int32)
        control, node, _, _ = place
        automaton = self.stacks.automaton
        if control == automaton.end:
            return words
        if self._n_bytes > self._budget:
            self._clear()
        trie = self.shared.trie
        allow = int(automaton.tables.cell_allow[self.stacks.cells[node]])
        self._jobs[0] = self._plan(0, control, allow), node, -1
        out = np.array([1, 0, 0, 0, 0, 0], np.int64)
        while True:
            tables = automaton.tables
            status = kernel.evaluate(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, tables.rows, tables.info,
                tables.actions, tables.results, tables.keys, tables.values, tables.guards, tables.allows,
                tables.cell_allow, self.stacks.nodes, self._pushes, self._plans, self._plan_keys, self._plan_values,
                self._tokens_of.array, self._dense.array, self._edges.array, self._groups.array,
                self._group_nodes.array, _FEW, self._path, self._jobs, words, out,
            )  # fmt: skip
            if status == kernel.DONE:
                return words
            if status == kernel.MISSING_PLAN:
                self._plan(int(out[1]), int(out[2]), int(out[3]))
            elif status == kernel.MISSING_REACTION:
                automaton.react(int(out[1]), int(out[2]))
            elif status == kernel.MISSING_ENTRY:
                automaton.fill(int(out[1]), int(out[2]))
            else:
                self._more_room()

    def _more_room(self) -> None:
        if len(self._pushes) > _MOST_PUSHES:
            raise LimitError("pushes", len(self._pushes), _MOST_PUSHES, "a token changes the stack too often")
        self._pushes = np.concatenate([self._pushes, np.empty_like(self._pushes)])
        self._jobs = np.concatenate([self._jobs, np.empty_like(self._jobs)])

    def _plan(self, group: int, control: int, allow: int) -> int:
        """The plan of a group from a control where a cell allows certain labels."""
        key = group, control, allow
        found = self._plan_ids.get(key)
        if found is None:
            if group >= _MOST_GROUPS or max(control, allow) >= _MOST_STATES:
                # They share one word as a key of the kernel.
                raise LimitError(
                    "states", max(group, control, allow), _MOST_GROUPS, "the grammar's masks differ in too many ways"
                )
            found = self._make_plan(group, control, allow)
            self._plan_ids[key] = found
            if 2 * self._n_plans >= len(self._plan_keys):
                self._plan_keys, self._plan_values = rehashed(self._plan_keys, self._plan_values)
            insert(self._plan_keys, self._plan_values, group << 44 | control << 22 | allow, found)
        return found

    def _make_plan(self, group: int, control: int, allow: int) -> int:
        trie, automaton = self.shared.trie, self.stacks.automaton
        first, last, is_again, _ = self._groups.array[group].tolist()
        nodes = self._group_nodes.array[first:last]
        out = np.zeros(4, np.int64)
        while True:
            tables = automaton.tables
            status = kernel.within(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, tables.rows, tables.info,
                tables.guards, tables.allows, nodes, bool(is_again), control, allow, self._path[:, 0].copy(),
                self._tokens_room, self._escapes_room, out,
            )  # fmt: skip
            if status == kernel.DONE:
                break
            automaton.fill(int(out[2]), int(out[3]))
        tokens, escapes = self._tokens_room[: int(out[0])], self._escapes_room[: int(out[1])]
        row, begin, end = -1, 0, 0
        if len(tokens) > _DENSE:
            words = np.zeros(mask_words(self.size), np.int32)
            np.bitwise_or.at(words, tokens >> 5, np.int32(1) << (tokens & 31))
            row = self._dense.extend(words[None, :])[0]
            self._n_bytes += words.nbytes
        else:
            begin, end = self._tokens_of.extend(tokens)
            self._n_bytes += tokens.nbytes
        edges = self._edges_of(escapes, nodes, bool(is_again), tables.actions)
        edge_begin, edge_end = self._edges.extend(edges)
        number = self._n_plans
        if number == len(self._plans):
            self._plans = np.concatenate([self._plans, np.zeros_like(self._plans)])
        self._plans[number] = begin, end, row, edge_begin, edge_end
        self._n_plans += 1
        self._n_bytes += 64 + edges.nbytes
        return number

    def _edges_of(self, escapes: Int32Array, nodes: Int32Array, is_again: bool, actions: Int32Array) -> Int32Array:
        """Action and group of each edge: for each action the nodes that leave at once, and those that leave later."""
        if not len(escapes):
            return np.zeros((0, 2), np.int32)
        at_once = np.isin(escapes[:, 1], nodes) if is_again else np.zeros(len(escapes), np.bool_)
        kinds = escapes[:, 0].astype(np.int64) * 2 + at_once
        order = np.argsort(kinds, kind="stable")
        bounds = [0, *(np.flatnonzero(np.diff(kinds[order])) + 1).tolist(), len(order)]
        found = []
        for begin, end in pairwise(bounds):
            mine = escapes[order[begin:end]]
            action = int(mine[0, 0])
            found.append((action, self._group(mine[:, 1], is_again=bool(actions[action, 1]))))
        return np.array(found, np.int32)

    def _group(self, nodes: Int32Array, *, is_again: bool) -> int:
        """The group of some trie nodes."""
        key = is_again, nodes.tobytes()
        found = self._group_ids.get(key)
        if found is None:
            found = self._group_ids[key] = len(self._group_ids)
            begin, end = self._group_nodes.extend(nodes)
            below = int((self.shared.trie.skip[nodes] - nodes).sum())
            self._groups.extend(np.array([[begin, end, is_again, below]], np.int32))
            self._n_bytes += 2 * nodes.nbytes
        return found


class _Rows:
    """Rows of an array that grows."""

    def __init__(self, array: Int32Array) -> None:
        self.array, self._n = array, 0

    def extend(self, rows: Int32Array) -> tuple[int, int]:
        """Append some rows: where they begin and end."""
        begin, self._n = self._n, self._n + len(rows)
        while self._n > len(self.array):
            self.array = np.concatenate([self.array, np.zeros_like(self.array)])
        self.array[begin : self._n] = rows
        return begin, self._n
