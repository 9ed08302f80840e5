"""`LexemeMasks`: masks of an automaton that reads lexemes (`guided.lalr`), from a tree of plans shared by all stacks.

A *plan* describes what a group of trie nodes does from a control within the current lexeme, if a cell allows certain labels
(`guided.index.lexeme_plans`). A mask is an evaluation of the tree on one stack (`guided.kernels.lexemes`): each edge at which a lexeme
may end feeds the parser.

Not thread-safe: the calling index holds a lock.

Complexity: O(edges visited, rules reduced for them, and words of their masks). All plans are dropped at once when they exceed their budget.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, mask_words
from guided.automata.stacks import Configuration, Stacks, Texts
from guided.errors import LimitError
from guided.index.lexeme_plans import LexemePlans
from guided.index.pushdown_masks import MaskMaker, VocabularyData
from guided.kernels import lexemes as kernel
from guided.kernels.tables import SCRATCH
from guided.lalr.machine import LalrMachine
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["LexemeMasks"]

_FIRST_PUSHES, _FIRST_JOBS = 4096, 256


class LexemeMasks(MaskMaker):
    """Builds the masks of one index of lexemes."""

    def __init__(
        self, stacks: Stacks, vocabulary: Vocabulary, limits: Limits, shared: VocabularyData, n_shared: int
    ) -> None:
        super().__init__(stacks, vocabulary, limits, shared, n_shared)
        assert isinstance(stacks.automaton, LalrMachine), "the one automaton that reads lexemes"
        self._automaton = stacks.automaton
        self._budget, self._most_pushes = limits.mask_bytes, limits.pushes
        self._pushes: Int32Array = np.empty((_FIRST_PUSHES, 2), np.int32)
        self._jobs: Int32Array = np.empty((_FIRST_JOBS, 5), np.int32)
        self._plans = self._no_plans()

    @property
    def n_bytes(self) -> int:
        """See `MaskMaker`."""
        return super().n_bytes + self._plans.n_bytes

    def _no_plans(self) -> LexemePlans:
        return LexemePlans(self._automaton, self.shared, self.size)

    def mask(self, configuration: Configuration, texts: Texts) -> Int32Array:  # noqa: ARG002 - the mask does not depend on the texts
        """Return the mask without EOS."""
        words: Int32Array = np.zeros(mask_words(self.size), np.int32)
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
            allow = automaton.labels(plain, indents)
        self._pushes[0] = plain, below
        node = node if plain == cell else SCRATCH
        self._jobs[0] = plans.plan(0, control, allow), node, indents, -1, 0
        out: Int64Array = np.zeros(kernel.N_OUT, np.int64)
        out[0], out[4] = 1, plain != cell
        while True:
            status = kernel.evaluate(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, plans.below,
                tables.rows, tables.info, tables.actions, tables.results, tables.keys, tables.values, tables.guards, tables.allows,
                automaton.width, parser.table, parser.cells, parser.native, parser.variant, parser.expected,
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
