"""The walk per state: Outlines' Algorithm 4 with a trie in place of a scan, compiled by numba.

The reference that the index is measured against: the same automaton and trie, walked once for every state, each mask
written as it goes. It keeps masks only (with the next states too it would need gigabytes where a string has 1,000 lengths), and a
token is read byte by byte, in Python: `advance` is no measure of anything.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from benchmarks.engines import Compiled, Matcher
from guided.arrays import mask_words
from guided.automata.automaton import Automaton
from guided.engine.specs import Regex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


@njit(cache=True)
def _walk(byte, depth, skip, indptr, ids, classes, table, accepting, eos, stack, masks):
    """Masks of all states: bit by bit, one walk of the trie for each state. O(states x nodes)."""
    for state in range(len(table)):
        stack[0] = state
        i = 0
        while i < len(byte):
            target = table[stack[depth[i]], classes[byte[i]]]
            if target < 0:
                i = skip[i]
                continue
            stack[depth[i] + 1] = target
            for k in range(indptr[i], indptr[i + 1]):
                masks[state, ids[k] >> 5] |= np.int32(1) << np.int32(ids[k] & 31)
            i += 1
        if accepting[state]:
            for token in eos:
                masks[state, token >> 5] |= np.int32(1) << np.int32(token & 31)


class Engine:
    lazy, complete = False, True

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.vocabulary.trie  # noqa: B018 - built on first use

    def compile(self, regex: str) -> Compiled:
        automaton = Regex(regex).lower(Limits())
        trie, eos = self.vocabulary.trie, np.array(self.vocabulary.eos, np.int32)
        masks = np.zeros((automaton.n_states, mask_words(self.vocabulary.size)), np.int32)
        stack = np.zeros(trie.max_depth + 1, np.int32)
        _walk(
            trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, automaton.classes, automaton.table,
            automaton.accepting, eos, stack, masks,
        )  # fmt: skip
        return _Compiled(automaton, masks, self.vocabulary)


class _Compiled:
    def __init__(self, automaton: Automaton, masks: npt.NDArray[np.int32], vocabulary: Vocabulary) -> None:
        self.automaton, self.masks, self.vocabulary = automaton, masks, vocabulary

    def finish(self) -> None:
        """Nothing to do."""

    def start(self) -> Matcher:
        state = 0

        def advance(token: int) -> None:
            nonlocal state
            for value in self.vocabulary[token] or b"":
                state = int(self.automaton.table[state, self.automaton.classes[value]])

        def mask() -> npt.NDArray[np.int32]:
            return self.masks[state]

        return Matcher(mask, advance, mask)
