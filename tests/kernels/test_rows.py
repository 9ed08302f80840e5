"""The kernels that turn functions of tokens into rows of states and masks, against dictionaries and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels import rows as kernel
from tests.masks import bits


@st.composite
def functions(draw: st.DrawFn) -> tuple[int, list[dict[int, int]], list[int]]:
    """States, partial functions on them, and the function of each token (-1: none)."""
    n_states, n_functions = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    state = st.integers(0, n_states - 1)
    made = draw(st.lists(st.dictionaries(state, state, min_size=1), min_size=n_functions, max_size=n_functions))
    return n_states, made, draw(st.lists(st.integers(-1, n_functions - 1), max_size=12))


def pairs(made: list[dict[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [sorted(function.items()) for function in made]
    ptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    src, dst = (np.array([pair[side] for row in rows for pair in row], np.int32) for side in (0, 1))
    return ptr, src, dst


class Grouped:
    """The kernels that number functions and group tokens, over a trie with a node for each token; ``large``: tokens that make a row."""

    def __init__(self, made: list[dict[int, int]], tokens: list[int], large: int = 2) -> None:
        n, v = len(made), len(tokens)
        self.number, self.size = np.empty(n + 1, np.int32), np.empty(n, np.int32)
        self.indptr, self.row_of = np.zeros(n + 1, np.int64), np.empty(n + 1, np.int32)
        # Why backwards: the trie's order is not the order of ids. The first and the last token of that order are under no root.
        node_function, ends, ids = (
            np.array(array, np.int32) for array in ([9, *tokens[::-1], 9], range(v + 2), [v, *range(v - 1, -1, -1), v])
        )
        begin, end = np.array([1, 1 + v // 2], np.int32), np.array([1 + v // 2, v + 1], np.int32)
        counts = np.zeros((4, n + 1), np.int64)
        self.used = kernel.number_functions(
            node_function, ends, begin, end, large, counts, self.number, self.size, self.indptr, self.row_of
        )
        self.token_function = np.full(v, -1, np.int32)
        self.rows = np.zeros((max(2, int(self.row_of[: self.used + 1].max()) + 1), -(-v // 32)), np.int32)
        kernel.spread_tokens(
            node_function, ends, begin, end, ids, self.number, self.row_of, self.token_function, self.rows
        )
        self.tokens = np.empty(self.indptr[self.used], np.int32)
        kernel.list_tokens(self.rows, self.token_function, self.indptr[: self.used].copy(), self.tokens)


@given(functions(), st.integers(1, 4))
def test_functions_are_numbered_and_tokens_grouped(
    drawn: tuple[int, list[dict[int, int]], list[int]], large: int
) -> None:
    _, made, tokens = drawn
    found = Grouped(made, tokens, large)
    order = sorted(set(tokens) - {-1})
    assert found.used == len(order)
    assert found.number.tolist() == [-1] + [order.index(f) if f in order else -1 for f in range(len(made))]
    assert found.token_function.tolist() == [order.index(f) if f >= 0 else -1 for f in tokens]
    assert found.size[: found.used].tolist() == [tokens.count(f) for f in order]
    listed, row = [], 2
    for g, f in enumerate(order):
        having = [t for t, other in enumerate(tokens) if other == f]
        in_list = found.tokens[found.indptr[g] : found.indptr[g + 1]].tolist()
        if len(having) >= large:
            assert (in_list, found.row_of[g + 1]) == ([], row)
            assert bits(found.rows[row]) == having
            row += 1
        else:
            assert (in_list, found.row_of[g + 1]) == (having, 1)
            listed += having
    assert bits(found.rows[1]) == sorted(listed)
    assert bits(found.rows[0]) == [t for t, f in enumerate(tokens) if f < 0]


@given(functions(), st.data())
def test_transpose(drawn: tuple[int, list[dict[int, int]], list[int]], data: st.DataObject) -> None:
    n_states, made, tokens = drawn
    number = Grouped(made, tokens).number[1:]
    live = np.array(data.draw(st.lists(st.booleans(), min_size=n_states, max_size=n_states)), np.bool_)
    ptr, src, dst = pairs(made)
    indptr = np.zeros(n_states + 1, np.int64)
    found, targets = np.empty(len(src), np.int32), np.empty(len(src), np.int32)
    kept = kernel.transpose(ptr, src, dst, number, live, np.full(len(number), -1, np.int32), indptr, found, targets)
    expected = {
        s: sorted(
            (number[f], function[s])
            for f, function in enumerate(made)
            if number[f] >= 0 and s in function and live[function[s]]
        )
        for s in range(n_states)
    }
    assert kept == sum(map(len, expected.values())) == indptr[-1]
    for s, row in expected.items():
        span = slice(indptr[s], indptr[s + 1])
        assert list(zip(found[span].tolist(), targets[span].tolist(), strict=True)) == row


@given(functions(), st.data())
def test_token_distances(drawn: tuple[int, list[dict[int, int]], list[int]], data: st.DataObject) -> None:
    n_states, made, tokens = drawn
    number = Grouped(made, tokens).number[1:]
    accepting = np.array(data.draw(st.lists(st.booleans(), min_size=n_states, max_size=n_states)), np.bool_)
    ptr, src, dst = pairs(made)
    distance = np.empty(n_states, np.int32)
    count = kernel.token_distances(
        accepting, ptr, src, dst, number, distance,
        np.zeros(n_states + 1, np.int64), np.empty(len(src), np.int32), np.empty(n_states, np.int32),
    )  # fmt: skip
    expected = np.where(accepting, 0, -1)
    for d in range(1, n_states + 1):
        for f in set(tokens) - {-1}:
            for s, t in made[f].items():
                if expected[s] < 0 and expected[t] == d - 1:
                    expected[s] = d
    assert distance.tolist() == expected.tolist()
    assert count == int((expected >= 0).sum())


@given(st.lists(st.tuples(st.sets(st.integers(0, 4)), st.booleans()), min_size=1, max_size=10))
def test_intern_rows(states: list[tuple[set[int], bool]]) -> None:
    n = len(states)
    indptr = np.cumsum([0, *(len(row) for row, _ in states)]).astype(np.int64)
    found = np.array([f for row, _ in states for f in sorted(row)], np.int32)
    accepting = np.array([final for _, final in states], np.bool_)
    row_of, first = np.empty(n, np.int32), np.empty(n, np.int32)
    slots = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    count = kernel.intern_rows(indptr, found, accepting, row_of, first, np.empty(n, np.uint64), slots)
    contents = [(frozenset(row), final) for row, final in states]
    order = list(dict.fromkeys(contents))
    assert count == len(order)
    assert row_of.tolist() == [order.index(content) for content in contents]
    assert first[:count].tolist() == [contents.index(content) for content in order]


@given(st.lists(st.sets(st.integers(0, 99)), min_size=1, max_size=5), st.data())
def test_fill_mask(groups: list[set[int]], data: st.DataObject) -> None:
    functions = st.lists(st.integers(0, len(groups) - 1), unique=True)
    chosen, kept = data.draw(functions), data.draw(functions)
    listed = [group if f not in kept else set() for f, group in enumerate(groups)]
    indptr = np.cumsum([0, *map(len, listed)]).astype(np.int64)
    tokens = np.array([t for group in listed for t in sorted(group)], np.int32)
    row_of, rows = np.ones(len(groups), np.int32), np.zeros((2 + len(kept), 4), np.int32)
    for row, f in enumerate(kept, 2):
        row_of[f] = row
        for t in groups[f]:
            rows[row].view(np.uint32)[t >> 5] |= np.uint32(1 << (t & 31))
    rows[:2] = -1  # of tokens that are in no function or in lists: not to be taken
    words = np.zeros(4, np.int32)
    kernel.fill_mask(np.array(chosen, np.int32), indptr, tokens, row_of, rows, words)
    assert bits(words) == sorted(set().union(*(groups[f] for f in chosen)))
