"""`LexemeMasks`: masks of an automaton that reads lexemes (`guided.lalr`), from a tree of plans shared by all stacks.

A *plan* describes what a group of trie nodes does from a control within the current lexeme, if a cell allows certain labels
(`guided.kernels.lexeme_plans`). A mask is an evaluation of the tree on one stack (`guided.kernels.lexemes`): each edge at which a lexeme
may end feeds the parser.

Plans are created on demand and kept: small ones by the kernel that needs them, all others by `LexemePlans`. Equal groups are shared, so
controls that differ in how a lexeme began share the plans of what follows it. Large plans of one group are derived from each other: most
tokens do the same to a name after `d` as after `x`. All plans are dropped at once when they exceed their budget.

Not thread-safe: the calling index holds a lock.

Complexity: O(edges visited, rules reduced for them, and words of their masks) for a mask; O(trie nodes of the group) for a new plan;
O(nodes where it differs) for a derived one.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt64Array, mask_words
from guided.automata.growth import grown, rehashed
from guided.automata.stacks import Configuration, Stacks, Texts
from guided.errors import LimitError
from guided.index.pushdown_masks import MaskMaker, VocabularyData
from guided.kernels import lexeme_plans as plan_kernel
from guided.kernels import lexemes as kernel
from guided.kernels import plans as walks
from guided.kernels.below import LOOPS
from guided.kernels.hashing import enter, refill
from guided.kernels.lexemes import KEYS, N_GROUPS, N_STATES, plan_key
from guided.kernels.tables import SCRATCH
from guided.lalr.machine import LalrMachine
from guided.limits import Limits

__all__ = ["LexemeMasks"]

_FIRST_PUSHES, _FIRST_JOBS = 4096, 256
# Plans with more tokens than this store a mask.
_DENSE = 512
# Number of dense plans per group kept as bases of derived plans.
_BASES_KEPT = 8


class _Base(NamedTuple):
    """A plan from which others of its group are derived: its origin, the row of its mask, and the escapes of its tokens."""

    control: int
    allow: int
    row: int
    escapes: Int32Array


_NO_BASE = _Base(DEAD, 0, 0, np.empty((0, 2), np.int32))
_NO_MASK: Int32Array = np.zeros(0, np.int32)


class LexemePlans:
    """Plans of one index, as arrays for `guided.kernels.lexemes.evaluate`.

    Parameters
    ----------
    automaton : LalrMachine
    shared : VocabularyData
        Data shared by all indices over the vocabulary.
    size : int
        Width of masks in tokens.

    Attributes
    ----------
    keys, values
        Plans by group, control and labels. Group 0 is the whole trie.
    n_dense : int
        Plans with more tokens store a mask.
    below, path, loops, found, escapes, kinds, kind_of, plans, tokens, dense, edges, groups, group_nodes, group_hashes, group_slots, counts
        See the kernel.
    """

    def __init__(self, automaton: LalrMachine, shared: VocabularyData, size: int) -> None:
        trie = shared.trie
        self._automaton, self._trie = automaton, trie
        self.n_dense = _DENSE
        self.below: UInt64Array = shared.trie.below[0]
        self.loops: UInt64Array = np.zeros((LOOPS, 3), np.uint64)
        self.path: Int32Array = np.empty((2, trie.max_depth + 2), np.int32)
        self.found: Int32Array = np.empty(len(trie.token_ids), np.int32)
        self.escapes: Int32Array = np.empty((len(trie.byte), 2), np.int32)
        self.kinds: Int32Array = np.empty((_DENSE, 3), np.int32)
        self.kind_of: Int32Array = np.full(0, -1, np.int32)
        root = np.flatnonzero(trie.depth == 0).astype(np.int32)
        self.plans: Int32Array = np.zeros((64, 5), np.int32)
        self.keys: Int64Array = np.full(16, -1, np.int64)
        self.values: Int32Array = np.zeros(16, np.int32)
        self.tokens: Int32Array = np.zeros(4096, np.int32)
        self.dense: Int32Array = np.zeros((4, mask_words(size)), np.int32)
        self.edges: Int32Array = np.zeros((1024, 2), np.int32)
        self.groups: Int32Array = np.zeros((256, 4), np.int32)
        self.group_nodes: Int32Array = np.zeros(4096 + len(root), np.int32)
        self.group_hashes: UInt64Array = np.zeros(256, np.uint64)
        self.group_slots: Int32Array = np.full(8, -1, np.int32)
        self.counts: Int64Array = np.array([0, 0, 0, 0, 1, len(root), 0], np.int64)
        self.groups[0] = 0, len(root), 1, 0
        self.group_nodes[: len(root)] = root
        # Plans made here, by (group, control, labels): in `_ids` only labels that the control can lead to, in `_by_query` all that the cell
        # allows.
        self._ids: dict[tuple[int, int, int], int] = {}
        self._by_query: dict[tuple[int, int, int], int] = {}
        self._bases: dict[int, list[_Base]] = {}
        self._n_kept = 0

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory of the plans."""
        n_plans, n_tokens, n_dense, n_edges, n_groups, n_nodes, n_keys = self.counts.tolist()
        words = n_tokens + self.dense.shape[1] * n_dense + 2 * (n_edges + self._n_kept) + 8 * n_groups + n_nodes
        return int(64 * n_plans + 24 * n_keys + 4 * words)

    def plan(self, group: int, control: int, allow: int) -> int:
        """Return the plan of a group from a control on a cell that allows certain labels."""
        query = group, control, allow
        found = self._by_query.get(query)
        if found is None:
            if group >= N_GROUPS:
                raise LimitError(
                    "plan_groups", group + 1, N_GROUPS, "the grammar has too many distinct masks: use fewer terminals"
                )
            if max(control, allow) >= N_STATES:
                raise LimitError(
                    "plan_states",
                    max(control, allow) + 1,
                    N_STATES,
                    "the grammar has too many states: lower the counts of repeats",
                )
            key = group, control, self._automaton.controls.restricted(control, allow)
            found = self._ids.get(key)
            if found is None:
                found = self._ids[key] = self._make(*key)
            self._by_query[query] = found
            if 2 * self.counts[KEYS] + 2 > len(self.keys):
                self.keys, self.values = rehashed(self.keys, self.values)
            enter(plan_key(group, control, allow), found, self.keys, self.values)
            self.counts[KEYS] += 1
        return found

    def _make(self, group: int, control: int, allow: int) -> int:
        base = self._base(group, control)
        n_tokens, n_escapes = self._walk(group, control, allow, base)
        found, escapes = self.found[:n_tokens], self.escapes[:n_escapes]
        n_kinds = 2 * len(self._automaton.tables.actions)
        if len(self.kind_of) < n_kinds:
            self.kind_of = np.full(n_kinds, -1, np.int32)
        if len(self.kinds) < n_escapes:
            self.kinds = np.empty((2 * n_escapes, 3), np.int32)
        while (
            plan_kernel.keep(
                self._trie.skip, self._automaton.tables.actions, found, escapes, self.kinds, self.kind_of, self.plans,
                self.tokens, self.dense, self.edges, self.groups, self.group_nodes, self.group_hashes, self.group_slots,
                self.counts, self.n_dense, base is not None,
            )
            != plan_kernel.DONE
        ):  # fmt: skip
            self._more_room(n_tokens, n_escapes)
        made = int(self.counts[0]) - 1
        if base is None and n_tokens > self.n_dense:
            bases = self._bases.setdefault(group, [])
            if len(bases) < _BASES_KEPT:
                bases.append(_Base(control, allow, int(self.plans[made, 2]), escapes.copy()))
                self._n_kept += n_escapes
        return made

    def _base(self, group: int, control: int) -> _Base | None:
        """Return the plan of a group whose control is most similar; None if most bytes differ."""
        bases = self._bases.get(group)
        if bases is None:
            return None
        rows = self._automaton.tables.rows
        if (rows[control] == UNKNOWN).all():
            self._automaton.fill(control, int(self._trie.byte[0]))
            rows = self._automaton.tables.rows
        n_equal = (rows[[base.control for base in bases]] == rows[control]).sum(axis=1).tolist()
        best = n_equal.index(max(n_equal))
        return bases[best] if 2 * n_equal[best] > rows.shape[1] else None

    def _walk(self, group: int, control: int, allow: int, base: _Base | None) -> tuple[int, int]:
        """Find the effects of a group's tokens; return the numbers of tokens that end within the lexeme and of nodes that leave it.

        With a base, its tokens that also do so here are in the next row of ``dense``, and the tokens found are in addition.
        """
        mask = _NO_MASK
        if base is not None:
            row = int(self.counts[2])
            self.dense = _roomy(self.dense, row + 1)
            mask = self.dense[row]
            mask[:] = self.dense[base.row]
        control_of_base, allow_of_base, _, escapes = base or _NO_BASE
        trie, automaton = self._trie, self._automaton
        first, last, is_again, _ = self.groups[group].tolist()
        nodes, is_again = self.group_nodes[first:last], bool(is_again)
        out = np.array([0, 0, 0, 0, 0, -1, 0], np.int64)
        while True:
            tables = automaton.tables
            status = walks.within(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, self.below, tables.rows, tables.info,
                tables.guards, tables.allows, automaton.controls.width, nodes, is_again, control, allow, control_of_base, allow_of_base,
                escapes, self.path, self.loops, mask, self.found, self.escapes, out,
            )  # fmt: skip
            if status == walks.DONE:
                return int(out[0]), int(out[1])
            automaton.fill(int(out[2]), int(out[3]))

    def _more_room(self, n_tokens: int, n_escapes: int) -> None:
        n_plans, tokens, n_dense, n_edges, n_groups, n_nodes, _ = self.counts.tolist()
        self.plans = _roomy(self.plans, n_plans + 1)
        self.tokens = _roomy(self.tokens, tokens + min(n_tokens, self.n_dense))
        self.dense = _roomy(self.dense, n_dense + 1)
        self.edges = _roomy(self.edges, n_edges + n_escapes)
        self.groups = _roomy(self.groups, n_groups + n_escapes)
        self.group_hashes = _roomy(self.group_hashes, n_groups + n_escapes)
        self.group_nodes = _roomy(self.group_nodes, n_nodes + n_escapes)
        size = len(self.group_slots)
        while size < 2 * (n_groups + n_escapes):
            size *= 2
        if size > len(self.group_slots):
            self.group_slots = np.full(size, -1, np.int32)
            refill(self.group_hashes, 0, n_groups, self.group_slots)


class LexemeMasks(MaskMaker):
    """Builds the masks of one index of lexemes."""

    def __init__(self, stacks: Stacks, limits: Limits, shared: VocabularyData, family: Hashable, n_shared: int) -> None:
        super().__init__(stacks, limits, shared, family, n_shared)
        assert isinstance(stacks.automaton, LalrMachine), "the one automaton that reads lexemes"
        self._automaton = stacks.automaton
        self._budget, self._most_pushes = limits.mask_bytes, limits.pushes
        self._pushes: Int32Array = np.empty((_FIRST_PUSHES, 2), np.int32)
        self._jobs: Int32Array = np.empty((_FIRST_JOBS, 5), np.int32)
        self._plans = self._no_plans()

    @property
    def n_bytes(self) -> int:
        """See `MaskMaker`."""
        return self._automaton.kernel_parser.n_bytes + self._plans.n_bytes

    def _no_plans(self) -> LexemePlans:
        return LexemePlans(self._automaton, self.shared, self.size)

    def mask(self, configuration: Configuration, texts: Texts) -> Int32Array:  # noqa: ARG002 - the mask does not depend on the texts
        """Return the mask without EOS."""
        words: Int32Array = np.zeros(self.n_words, np.int32)
        control, node, _, _ = configuration
        automaton = self._automaton
        if control == automaton.end:
            return words
        if self._plans.n_bytes > self._budget:
            self._plans = self._no_plans()
        trie, tables, parser, plans = self.shared.trie, automaton.tables, automaton.kernel_parser, self._plans
        cell, below = self.stacks.top(node)
        _, _, plain, indents, *labels = parser.cells[cell].tolist()
        indents = max(indents, 0)
        allow = labels[parser.variant.item(indents)]
        if allow < 0:
            allow = automaton.controls.labels(plain, indents)
        self._pushes[0] = plain, below
        node = node if plain == cell else SCRATCH
        self._jobs[0] = plans.plan(0, control, allow), node, indents, -1, 0
        out: Int64Array = np.zeros(kernel.N_OUT, np.int64)
        out[0], out[4] = 1, plain != cell
        while True:
            status = kernel.evaluate(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, plans.below,
                tables.rows, tables.info, tables.actions, tables.results, tables.keys, tables.values, tables.guards, tables.allows,
                automaton.controls.width, parser.table, parser.cells, parser.native, parser.variant, parser.expected,
                parser.keys, parser.values, parser.records, parser.counts, plans.plans, plans.keys, plans.values,
                plans.tokens, plans.dense, plans.edges, plans.groups, plans.group_nodes, plans.group_hashes, plans.group_slots,
                plans.counts, plans.path, plans.loops, plans.found, plans.escapes, plans.kinds, plans.kind_of, plans.n_dense,
                self.stacks.nodes, self._pushes, self._jobs, words, out,
            )  # fmt: skip
            if status == kernel.DONE:
                return words
            if status == kernel.MISSING_PLAN:
                plans.plan(int(out[1]), int(out[2]), int(out[3]))
            elif status == kernel.MISSING_ROOM:
                if len(self._pushes) > self._most_pushes:
                    raise LimitError(
                        "pushes", len(self._pushes), self._most_pushes, "tokens change the stack too often"
                    )
                self._pushes = np.concatenate([self._pushes, np.empty_like(self._pushes)])
                self._jobs = np.concatenate([self._jobs, np.empty_like(self._jobs)])
            else:
                automaton.learn(status, int(out[1]), int(out[2]), int(out[3]))


def _roomy(array: Any, count: int) -> Any:
    return array if count <= len(array) else grown(array, max(2 * len(array), count), 0)
