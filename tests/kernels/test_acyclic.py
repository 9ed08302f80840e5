"""Equal subtrees of a trie get the same number: against the sets of strings below each node."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels.acyclic import merge_suffixes
from guided.vocabulary.trie import trie_of
from tests.oracles import slow_trie


@given(st.sets(st.binary(min_size=1, max_size=4).map(lambda word: bytes(b % 3 for b in word)), max_size=12))
def test_merge_suffixes(words: set[bytes]) -> None:
    strings = sorted(words)
    trie, prefixes = trie_of(strings), slow_trie(strings).preorder
    n = len(trie.byte)
    final = np.zeros(n, np.bool_)
    final[trie.token_node] = True
    block, representative = np.empty(n, np.int32), np.empty(n, np.int32)
    slots = np.full(1 << (2 * n + 4).bit_length(), -1, np.int32)
    count = merge_suffixes(trie.byte, trie.skip, final, block, representative, np.empty(n, np.uint64), slots)
    below = [frozenset(word[len(p) :] for word in words if word.startswith(p)) for p in prefixes]
    assert count == len(set(below))
    assert len(set(zip(block.tolist(), below, strict=True))) == count
    assert all(block[representative[number]] == number for number in range(count))
