"""Kernels that stop when a buffer is full and go on with a larger one: from the smallest buffers, the same results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.determinize import determinize, lasting_states
from guided.automata.minimize import canonical
from guided.automata.nfa import build_nfa, rows_by_source
from guided.automata.partition import partition
from guided.errors import LimitError
from guided.index.walk import token_functions
from guided.kernels import determinize as determinize_kernel
from guided.kernels import product as product_kernel
from guided.kernels import walk as walk_kernel
from guided.kernels.hashing import refill
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.vocabulary.vocabulary import Vocabulary
from tests.strategies import trees, vocabularies


def grown(array: np.ndarray, length: int, fill: int = 0) -> np.ndarray:
    longer = np.full((length, *array.shape[1:]), fill, array.dtype)
    longer[: len(array)] = array
    return longer


def slots_for(capacity: int) -> np.ndarray:
    return np.full(1 << (2 * capacity + 1).bit_length(), -1, np.int32)


@given(trees('ab"é', max_leaves=6), vocabularies(max_tokens=12))
def test_walk(tree: Node, vocabulary: Vocabulary) -> None:
    automaton, trie = from_tree(tree), vocabulary.trie
    n, k = automaton.table.shape
    memo, ptr = np.full((1, k), -2, np.int32), np.array([0, n], np.int64)
    src, dst = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32)
    hashes, slots = np.zeros(1, np.uint64), slots_for(1)
    node_function, stack = np.full(len(trie.byte), -1, np.int32), np.zeros(trie.max_depth + 1, np.int32)
    cursor, roots = np.array([0, 1, 0], np.int64), np.empty(256, np.int32)
    stops = set()
    while status := walk_kernel.walk(
        trie.byte, trie.depth, trie.skip, automaton.classes, automaton.table, memo, ptr, src, dst, hashes, slots,
        node_function, roots, stack, cursor,
    ):  # fmt: skip
        stops.add(status)
        count = int(cursor[1])
        if status == walk_kernel.MORE_FUNCTIONS:
            memo, ptr, hashes = grown(memo, count + 1, -2), grown(ptr, count + 2), grown(hashes, count + 1)
            slots = slots_for(count + 1)
            refill(hashes, 0, count, slots)
        else:
            assert status == walk_kernel.MORE_PAIRS
            src, dst = grown(src, len(src) + 1), grown(dst, len(dst) + 1)
    expected = token_functions(automaton, trie, Limits())
    count = int(cursor[1])
    assert np.array_equal(roots[: cursor[2]], expected.roots)
    for root in expected.roots.tolist():
        below = slice(root, trie.skip[root])
        assert np.array_equal(node_function[below], expected.node_function[below])
    assert np.array_equal(ptr[: count + 1], expected.indptr)
    assert np.array_equal(src[: ptr[count]], expected.source)
    assert np.array_equal(dst[: ptr[count]], expected.target)


@given(trees("abé", max_leaves=8, lookaround=False, boolean=False))
def test_determinize(tree: Node) -> None:
    nfa = build_nfa(tree, Limits())
    parts = partition(nfa.charsets)
    n, k = nfa.n_states, parts.n_classes
    empty_indptr, empty = rows_by_source(nfa.empty, n)
    edge_indptr, edges = rows_by_source(nfa.edges, n)
    core = np.diff(edge_indptr) > 0
    core[nfa.accept] = True
    lasting = lasting_states(nfa, parts, empty_indptr, np.ascontiguousarray(empty[:, 1]))
    table, accepting = np.full((1, k), -1, np.int32), np.zeros(1, np.bool_)
    set_indptr, pool = np.zeros(2, np.int64), np.empty(0, np.int32)
    hashes, slots = np.empty(1, np.uint64), slots_for(1)
    buckets = 1
    cursor, head = np.zeros(5, np.int64), np.full(k, -1, np.int32)
    stamp = np.zeros(n, np.int64)
    while True:
        status = determinize_kernel.determinize(
            nfa.accept, empty_indptr, np.ascontiguousarray(empty[:, 1]), edge_indptr,
            np.ascontiguousarray(edges[:, 1]), np.ascontiguousarray(edges[:, 2]), parts.set_indptr, parts.set_classes,
            core, lasting, table, accepting, set_indptr, pool, hashes, slots, stamp, np.empty(n, np.int32),
            np.empty(n, np.int32), nfa.places, nfa.ranks, np.empty(n, np.int32),
            head, np.empty(k, np.int32), np.empty(buckets, np.int32), np.empty(buckets, np.int32), cursor, 10**9,
        )  # fmt: skip
        count = int(cursor[1])
        if status == determinize_kernel.DONE:
            break
        assert (head == -1).all()
        if status == determinize_kernel.MORE_STATES:
            size = len(accepting) + 1
            table, accepting, hashes = grown(table, size, -1), grown(accepting, size), grown(hashes, size)
            set_indptr, slots = grown(set_indptr, size + 1), slots_for(size)
            refill(hashes, 0, count, slots)
        elif status == determinize_kernel.MORE_MEMBERS:
            pool = grown(pool, len(pool) + 1)
        else:
            assert status == determinize_kernel.MORE_BUCKETS
            buckets += 1
    expected = determinize(nfa, parts, Limits())
    assert np.array_equal(table[:count], expected.table)
    assert np.array_equal(accepting[:count], expected.accepting)


@pytest.mark.parametrize("steps", [0, 1, 5, 20])
def test_determinize_stops_when_its_steps_are_spent(steps: int) -> None:
    nfa = build_nfa(parse("(?:a|b)*a(?:a|b){3}"), Limits())
    with pytest.raises(LimitError) as error:
        determinize(nfa, partition(nfa.charsets), Limits(steps=steps))
    assert error.value.what == "steps"
    assert error.value.given > steps


@given(
    trees("ab", max_leaves=5), trees("ab", max_leaves=5), st.sampled_from([(True, True), (True, False), (False, False)])
)
def test_product(left: Node, right: Node, keep: tuple[bool, bool]) -> None:
    first, second = from_tree(left), from_tree(right)
    joint: dict[tuple[int, int], int] = {}
    both = zip(first.classes.tolist(), second.classes.tolist(), strict=True)
    classes = np.array([joint.setdefault(pair, len(joint)) for pair in both], np.uint8)
    columns = np.array(list(joint), np.int32)
    q = len(joint)
    size = 1
    pairs, table, slots = np.zeros((size, 2), np.int32), np.full((size, q), -1, np.int32), slots_for(size)
    cursor = np.array([0, 1], np.int64)
    product_kernel.refill(pairs, 1, slots)
    while product_kernel.product(
        first.table, second.table, np.ascontiguousarray(columns[:, 0]), np.ascontiguousarray(columns[:, 1]), *keep,
        pairs, table, slots, cursor,
    ):  # fmt: skip
        size = int(cursor[1]) + q
        pairs, table, slots = grown(pairs, size), grown(table, size, -1), slots_for(size)
        product_kernel.refill(pairs, int(cursor[1]), slots)
    count = int(cursor[1])
    a, b = pairs[:count, 0], pairs[:count, 1]
    # A side that has died is followed only where the other may still accept alone.
    assert keep[0] or (b >= 0).all()
    assert keep[1] or (a >= 0).all()
    assert ((a >= 0) | (b >= 0)).all()
    left_final = np.append(first.accepting, False)[a]
    right_final = np.append(second.accepting, False)[b]
    accepting, expected = {
        (True, True): (left_final | right_final, first | second),
        (True, False): (left_final & ~right_final, first - second),
        (False, False): (left_final & right_final, first & second),
    }[keep]
    labels = np.zeros(count, np.int32)
    found = Automaton(*canonical(table[:count].copy(), classes, accepting, labels))
    assert found == expected
