"""Columns of spellings, and tries beside automata, against plain definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels.overlay import follow
from guided.kernels.spelling import narrow
from guided.vocabulary.trie import trie_of
from tests.oracles import slow_trie

VALUES = st.integers(-3, 2)


@given(st.lists(VALUES, min_size=1, max_size=6), st.lists(st.lists(VALUES, min_size=4, max_size=4), max_size=5))
def test_bytes_of_one_class_do_the_same(firsts: list[int], nodes: list[list[int]]) -> None:
    root = np.array([firsts[byte * byte % len(firsts)] for byte in range(256)], np.int32)
    inner = np.array(nodes, np.int32).reshape(-1, 4)
    byte = np.array([7, 200, 0, 99], np.int32)
    first, kept, columns = np.empty(256, np.int32), np.empty(4, np.int32), np.empty((256, 2), np.int32)
    classes, counts = np.empty(256, np.uint8), np.empty(3, np.int32)
    scratch = np.empty(4, np.int64), np.empty(256, np.int32), np.empty(256 * 5, np.int32)
    narrow(root, inner, byte, scratch[0], first, kept, scratch[1], scratch[2], classes, columns, counts)
    n_firsts, n_kept, n_classes = counts.tolist()
    places = {value: i for i, value in enumerate(byte.tolist())}
    nothing = [-1] * len(nodes)

    def does(value: int) -> tuple[int, tuple[int, ...]]:
        """What a byte does first, and in each inner node."""
        return int(root[value]), tuple(inner[:, places[value]].tolist() if value in places else nothing)

    def says(value: int) -> tuple[int, tuple[int, ...]]:
        """The same by its class."""
        begin, inside = columns[classes[value]].tolist()
        column = inner[:, kept[inside - n_firsts]].tolist() if inside else nothing
        return int(first[begin]), tuple(column)

    assert [does(value) for value in range(256)] == [says(value) for value in range(256)]
    assert n_classes == len({does(value) for value in range(256)})
    assert n_kept == len({does(value)[1] for value in places} - {tuple(nothing)})


@given(
    st.sets(st.binary(min_size=1, max_size=4).map(lambda word: bytes(b % 3 for b in word)), max_size=12),
    st.integers(0, 999),
)
def test_nodes_are_at_the_ends_of_their_bytes(words: set[bytes], seed: int) -> None:
    strings = sorted(words)
    trie, prefixes = trie_of(strings), slow_trie(strings).preorder
    table = np.random.default_rng(seed).integers(-1, 5, (5, 2), np.int32)
    classes = (np.arange(256) % 2).astype(np.uint8)
    parent, shadow = np.empty(trie.n_nodes, np.int32), np.empty(trie.n_nodes, np.int32)
    follow(trie.byte, trie.depth, table, classes, np.empty(4, np.int32), parent, shadow)

    def state(data: bytes) -> int:
        found = 0
        for value in data:
            found = int(table[found, classes[value]]) if found >= 0 else -1
        return found

    assert shadow.tolist() == [state(prefix) for prefix in prefixes]
    assert parent.tolist() == [prefixes.index(prefix[:-1]) if len(prefix) > 1 else -1 for prefix in prefixes]
