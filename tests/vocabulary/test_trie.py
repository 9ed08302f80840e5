"""The trie of tokens against a dict of prefixes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import LimitError
from guided.kernels.jit import python_function
from guided.kernels.trie import build_trie
from guided.vocabulary.trie import TokenTrie, trie_of
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import slow_trie
from tests.strategies import vocabularies


def path(trie: TokenTrie, node: int) -> bytes:
    """The bytes from the root to a node, read from the arrays alone."""
    data = bytearray()
    depth = trie.depth[node] + 1
    for i in range(node, -1, -1):
        if trie.depth[i] == depth - 1:
            data.append(trie.byte[i])
            depth -= 1
    assert depth == 0
    return bytes(reversed(data))


def assert_equals_oracle(tokens: list[bytes | None], trie: TokenTrie) -> None:
    oracle = slow_trie(tokens)
    nodes = oracle.preorder
    assert trie.byte.tolist() == [node[-1] for node in nodes]
    assert trie.depth.tolist() == [len(node) - 1 for node in nodes]
    assert trie.skip.tolist() == oracle.skips
    rows = [trie.token_ids[trie.token_indptr[i] : trie.token_indptr[i + 1]].tolist() for i in range(len(nodes))]
    assert rows == [oracle.ends[node] for node in nodes]
    ends = [nodes.index(token) if token else -1 for token in tokens]
    assert trie.token_node.tolist() == ends
    assert trie.max_depth == max((len(token) for token in tokens if token), default=0)


@given(vocabularies())
def test_equals_the_dict_of_prefixes(vocabulary: Vocabulary) -> None:
    assert_equals_oracle(list(vocabulary.tokens), vocabulary.trie)


@given(st.lists(st.none() | st.binary(max_size=4), max_size=40))
def test_equals_the_dict_of_prefixes_on_any_bytes(tokens: list[bytes | None]) -> None:
    assert_equals_oracle(tokens, trie_of(tokens))


@given(vocabularies())
def test_invariants_that_a_walk_relies_on(vocabulary: Vocabulary) -> None:
    trie = vocabulary.trie
    nodes = np.arange(len(trie.byte))
    assert (trie.skip > nodes).all()
    assert (trie.skip <= len(trie.byte)).all()
    assert (np.diff(trie.depth) <= 1).all()
    assert (trie.depth < trie.max_depth).all()
    for node in nodes:
        if trie.skip[node] < len(trie.byte):
            assert trie.depth[trie.skip[node]] <= trie.depth[node]
        first, last = trie.token_indptr[node], trie.token_indptr[trie.skip[node]]
        assert last > first, "a subtree without a token"


@given(vocabularies())
def test_places_of_tokens_ascend_with_their_nodes(vocabulary: Vocabulary) -> None:
    trie = vocabulary.trie
    assert trie.ends.tolist() == sorted(trie.ends.tolist()) == trie.token_node[trie.token_ids].tolist()


@given(vocabularies())
def test_the_path_to_a_token_spells_it(vocabulary: Vocabulary) -> None:
    trie = vocabulary.trie
    for token, data in enumerate(vocabulary):
        node = trie.token_node[token]
        assert (node < 0) == (data is None)
        if data is not None and len(data) < 100:
            assert path(trie, node) == data


@pytest.mark.parametrize("length", [1_000, 4_096, 4_097, 100_000])
def test_long_tokens(length: int) -> None:
    trie = trie_of([b"x", b"x" * length, b"y"])
    assert len(trie.byte) == length + 1
    assert trie.max_depth == length
    assert trie.depth.tolist() == [*range(length), 0]
    assert trie.skip.tolist() == [length] * length + [length + 1]


@pytest.mark.parametrize("tokens", [[], [None], [b"", None, b""]])
def test_no_bytes_at_all(tokens: list[bytes | None]) -> None:
    trie = trie_of(tokens)
    assert len(trie.byte) == trie.max_depth == 0
    assert trie.token_indptr.tolist() == [0]
    assert trie.token_node.tolist() == [-1] * len(tokens)


def test_more_bytes_than_nodes_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guided.vocabulary.trie._LARGEST", 5)
    assert len(trie_of([b"abc", b"de"]).byte) == 5
    with pytest.raises(LimitError, match="vocabulary_bytes: 6 needed, 5 allowed"):
        trie_of([b"abc", b"def"])


def test_arrays_are_of_the_contract_and_read_only() -> None:
    trie = trie_of([b"a", b"ab", None])
    for name, dtype in {
        "byte": np.uint8,
        "depth": np.int32,
        "skip": np.int32,
        "token_node": np.int32,
        "token_indptr": np.int32,
        "token_ids": np.int32,
        "ends": np.int32,
    }.items():
        array = getattr(trie, name)
        assert array.dtype == dtype, name
        assert array.flags.c_contiguous, name
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


@given(st.lists(st.binary(min_size=1, max_size=5), max_size=30).map(sorted))
def test_the_kernel_equals_itself_in_plain_python(strings: list[bytes]) -> None:
    """Run without the compiler, where an index out of range is an error and not a stray write."""

    def run(function: object) -> list[list[int]]:
        data = np.frombuffer(b"".join(strings), np.uint8)
        offsets = np.cumsum([0, *map(len, strings)]).astype(np.int64)
        byte, depth, skip = np.zeros(len(data), np.uint8), np.zeros(len(data), np.int32), np.zeros(len(data), np.int32)
        ends = np.zeros(len(strings), np.int32)
        scratch = np.zeros(max(map(len, strings), default=0), np.int32)
        count = function(data, offsets, byte, depth, skip, ends, scratch)
        return [array.tolist() for array in (byte[:count], depth[:count], skip[:count], ends)]

    compiled = run(build_trie)
    assert compiled == run(python_function(build_trie))
    assert all(a <= b for a, b in pairwise(compiled[3])), "sorted strings end at ascending nodes"
