"""The kernels of minimization against their definitions in plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.kernels import minimize as kernel


@st.composite
def tables(draw: st.DrawFn, max_states: int = 8) -> np.ndarray:
    n, k = draw(st.integers(1, max_states)), draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(-1, n - 1), min_size=n * k, max_size=n * k))
    return np.array(cells, np.int32).reshape(n, k)


def flags(n: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.booleans(), min_size=n, max_size=n).map(lambda found: np.array(found, np.bool_))


def inverse(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    indptr, source = np.zeros(table.size + 1, np.int32), np.empty(int((table >= 0).sum()), np.int32)
    kernel.invert(table, indptr, source)
    return indptr, source


@given(tables())
def test_invert(table: np.ndarray) -> None:
    indptr, source = inverse(table)
    n, k = table.shape
    assert indptr[0] == 0
    assert indptr[-1] == len(source)
    for target in range(n):
        for c in range(k):
            row = target * k + c
            assert source[indptr[row] : indptr[row + 1]].tolist() == [s for s in range(n) if table[s, c] == target]


@given(st.data())
def test_distances(data: st.DataObject) -> None:
    table = data.draw(tables())
    n, k = table.shape
    accepting = data.draw(flags(n))
    distance, queue = np.empty(n, np.int32), np.empty(n, np.int32)
    count = kernel.distances(accepting, *inverse(table), k, distance, queue)
    expected = np.where(accepting, 0, -1)
    for d in range(1, n + 1):
        for s in range(n):
            if expected[s] < 0 and any(t >= 0 and expected[t] == d - 1 for t in table[s]):
                expected[s] = d
    assert distance.tolist() == expected.tolist()
    assert count == int((expected >= 0).sum())


@given(st.data())
def test_breadth_first(data: st.DataObject) -> None:
    table = data.draw(tables())
    n = len(table)
    start = data.draw(st.integers(0, n - 1))
    some = data.draw(st.lists(st.sampled_from(range(table.shape[1])), unique=True))
    columns = np.array(some, np.int32)
    order, number = np.empty(n, np.int32), np.full(n, -1, np.int32)
    count = kernel.breadth_first(table, columns, start, order, number)
    expected, i = [start], 0
    while i < len(expected):
        for t in table[expected[i], columns].tolist():
            if t >= 0 and t not in expected:
                expected.append(t)
        i += 1
    assert order[:count].tolist() == expected
    assert [number[s] for s in expected] == list(range(count))
    assert all(number[s] == -1 for s in set(range(n)) - set(expected))


@given(st.data())
def test_refine(data: st.DataObject) -> None:
    """The coarsest stable refinement, by splitting until nothing changes."""
    table = data.draw(tables(max_states=10))
    n, k = table.shape
    colors = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    colors = np.unique(colors, return_inverse=True)[1].astype(np.int32)
    n_colors = int(colors.max()) + 1
    block_of, elements = colors.copy(), np.argsort(colors, kind="stable").astype(np.int32)
    place, begin, end = np.empty(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    place[elements] = np.arange(n)
    end[:n_colors] = np.cumsum(np.bincount(colors))
    begin[1:n_colors] = end[: n_colors - 1]
    scratch = [np.empty(n, np.int32) for _ in range(3)]
    count = kernel.refine(
        n_colors, k, *inverse(table), block_of, elements, place, begin, end, np.zeros(n, np.int32), *scratch
    )

    expected = colors.tolist()
    for _ in range(n):
        rows = [(expected[s], *(expected[t] if t >= 0 else -1 for t in table[s].tolist())) for s in range(n)]
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        expected = [numbers[row] for row in rows]
    pairs = set(zip(block_of.tolist(), expected, strict=True))
    assert len(pairs) == count == len(set(expected)) == len(set(block_of.tolist()))
    for b in range(count):
        assert sorted(elements[begin[b] : end[b]].tolist()) == np.flatnonzero(block_of == b).tolist()
    assert all(elements[place[s]] == s for s in range(n))


@given(
    st.integers(0, 3).flatmap(
        lambda n: st.lists(st.lists(st.integers(-1, 1), min_size=n, max_size=n), min_size=1, max_size=6)
    ),
    st.data(),
)
def test_equal_columns(columns: list[list[int]], data: st.DataObject) -> None:
    k = len(columns)
    order = data.draw(st.lists(st.integers(0, k - 1), max_size=8))
    table = np.array(columns, np.int32).reshape(k, -1).T.copy()
    first, merged = np.empty(k, np.int32), np.full(k, -1, np.int32)
    count = kernel.equal_columns(table, np.array(order, np.int32), first, merged, np.zeros(k, np.uint64))
    different = list(dict.fromkeys(tuple(columns[c]) for c in order))
    assert count == len(different)
    assert first[:count].tolist() == [next(c for c in order if tuple(columns[c]) == column) for column in different]
    assert merged.tolist() == [different.index(tuple(columns[c])) if c in order else -1 for c in range(k)]
