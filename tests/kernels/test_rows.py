"""The kernels that turn functions of tokens into rows of states and masks, against dictionaries and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels import rows as kernel


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


def grouped(
    made: list[dict[int, int]], tokens: list[int]
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n, v = len(made), len(tokens)
    number, token_function = np.full(n, -1, np.int32), np.empty(v, np.int32)
    indptr, ids = np.zeros(n + 1, np.int64), np.empty(v, np.int32)
    # A node for each function, one more where no function is defined, and -1 for tokens without bytes.
    node_function = np.array([*range(n), -1], np.int32)
    token_node = np.array([f if f >= 0 else (n if t % 2 else -1) for t, f in enumerate(tokens)], np.int32)
    used = kernel.group_tokens(node_function, token_node, number, token_function, indptr, ids)
    return used, number, token_function, indptr, ids


@given(functions())
def test_group_tokens(drawn: tuple[int, list[dict[int, int]], list[int]]) -> None:
    _, made, tokens = drawn
    used, number, token_function, indptr, ids = grouped(made, tokens)
    order = list(dict.fromkeys(f for f in tokens if f >= 0))
    assert used == len(order)
    assert number.tolist() == [order.index(f) if f in order else -1 for f in range(len(made))]
    assert token_function.tolist() == [order.index(f) if f >= 0 else -1 for f in tokens]
    for g, f in enumerate(order):
        assert ids[indptr[g] : indptr[g + 1]].tolist() == [t for t, other in enumerate(tokens) if other == f]
    assert indptr[0] == 0
    assert indptr[used] == sum(f >= 0 for f in tokens)


@given(functions(), st.data())
def test_transpose(drawn: tuple[int, list[dict[int, int]], list[int]], data: st.DataObject) -> None:
    n_states, made, tokens = drawn
    number = grouped(made, tokens)[1]
    live = np.array(data.draw(st.lists(st.booleans(), min_size=n_states, max_size=n_states)), np.bool_)
    ptr, src, dst = pairs(made)
    indptr = np.zeros(n_states + 1, np.int64)
    found, targets = np.empty(len(src), np.int32), np.empty(len(src), np.int32)
    kept = kernel.transpose(ptr, src, dst, number, live, indptr, found, targets)
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
    number = grouped(made, tokens)[1]
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
    indptr = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    tokens = np.array([t for group in groups for t in sorted(group)], np.int32)
    functions = st.lists(st.integers(0, len(groups) - 1), unique=True)
    chosen, kept = data.draw(functions), data.draw(functions)
    words = np.zeros(4, np.int32)
    kernel.fill_mask(np.array(chosen, np.int32), indptr, tokens, words)
    expected = set().union(*(groups[f] for f in chosen))
    assert sum((int(word) & 0xFFFFFFFF) << 32 * i for i, word in enumerate(words)) == sum(1 << t for t in expected)
    row_of, rows = np.full(len(groups), -1, np.int32), np.zeros((len(kept), 4), np.int32)
    for number, f in enumerate(kept):
        row_of[f] = number
        kernel.fill_mask(np.array([f], np.int32), indptr, tokens, rows[number])
    by_rows = np.zeros(4, np.int32)
    kernel.fill_mask_by_rows(np.array(chosen, np.int32), indptr, tokens, row_of, rows, by_rows)
    assert by_rows.tolist() == words.tolist()
