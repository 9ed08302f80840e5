"""Tries beside automata, against plain definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels.overlay import follow
from guided.vocabulary.trie import trie_of
from tests.oracles import slow_trie


@given(
    st.sets(st.binary(min_size=1, max_size=4).map(lambda word: bytes(b % 3 for b in word)), max_size=12),
    st.integers(0, 999),
)
def test_nodes_are_at_the_ends_of_their_bytes(words: set[bytes], seed: int) -> None:
    strings = sorted(words)
    trie, prefixes = trie_of(strings), slow_trie(strings).preorder
    table = np.random.default_rng(seed).integers(-1, 5, (5, 2), np.int32)
    classes = (np.arange(256) % 2).astype(np.uint8)
    parent, shadow = np.empty(len(trie.byte), np.int32), np.empty(len(trie.byte), np.int32)
    follow(trie.byte, trie.depth, table, classes, np.empty(4, np.int32), parent, shadow)

    def state(data: bytes) -> int:
        found = 0
        for value in data:
            found = int(table[found, classes[value]]) if found >= 0 else -1
        return found

    assert shadow.tolist() == [state(prefix) for prefix in prefixes]
    assert parent.tolist() == [prefixes.index(prefix[:-1]) if len(prefix) > 1 else -1 for prefix in prefixes]
