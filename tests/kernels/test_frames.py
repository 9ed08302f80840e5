"""The kernels that write frames and places, against the same row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.arrays import DEAD
from guided.automata.pushdown import GUARD, LIVE, MANY, PLAN, PushdownTables, action_entry
from guided.kernels import frames as kernel
from guided.kernels.names import fill_names

QUOTE = 0x22


def tables_of(n: int) -> PushdownTables:
    """Tables with room for some controls after three others."""
    tables = PushdownTables()
    tables.reserve(3)
    tables.make_room(n)
    return tables


def live_of(row: np.ndarray) -> tuple[int, list[int]]:
    """How many bytes are not dead, and which, where they are few."""
    found = np.flatnonzero(row != DEAD).tolist()
    return min(len(found), MANY + 1), found[:MANY]


def check_live(tables: PushdownTables, first: int, rows: np.ndarray) -> None:
    for control, row in enumerate(rows, first):
        count, found = live_of(row)
        assert tables.info[control, LIVE] == count
        if count <= MANY:
            assert tables.live[control, :count].tolist() == found


@st.composite
def tables_of_bytes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    return chance.integers(-1, n, (n, k)).astype(np.int32), chance.integers(0, k, 256).astype(np.uint8), n


@given(tables_of_bytes(), st.sets(st.integers(0, 255), max_size=20), st.data())
def test_a_place_with_whitespace_before_it(
    automaton: tuple[np.ndarray, np.ndarray, int], some: set[int], data: st.DataObject
) -> None:
    table, classes, n = automaton
    spaces = table[:, classes].astype(np.int32)
    accepting = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)))), np.int64)
    row = np.full(256, DEAD, np.int32)
    row[list(some)] = action_entry(7)
    tables = tables_of(n)
    kernel.fill_spaced(spaces, accepting, row, 3, tables.rows, tables.info, tables.live)
    expected = np.where(spaces >= 0, spaces + 3, DEAD)
    expected[np.ix_(accepting, sorted(some))] = action_entry(7)
    assert (tables.rows[3 : 3 + n] == expected).all()
    check_live(tables, 3, expected)


NAMES = st.lists(st.binary(max_size=4).map(lambda name: bytes(b"abc\xc3\xa9"[byte % 5] for byte in name)), min_size=1)


@given(NAMES, st.integers(1, 70), st.data())
def test_names_beside_the_common_control(names: list[bytes], n_labels: int, data: st.DataObject) -> None:
    names = list(dict.fromkeys(names))
    labels = data.draw(st.lists(st.integers(1, n_labels), min_size=len(names), max_size=len(names)))
    tables = tables_of(1 + sum(map(len, names)))
    # Control 1: after any name; control 2: within a character of two bytes.
    tables.rows[:3] = DEAD
    tables.rows[1, 0x20:0x7F], tables.rows[1, 0xC3], tables.rows[1, QUOTE] = 1, 2, action_entry(0)
    tables.rows[2, 0x80:0xC0] = 1
    tables.rows[1:3, [0xA9, 0xC3]] = 1
    kernel.note_live(0, 3, tables.rows, tables.info, tables.live)
    ends = np.array([action_entry(label) for label in range(n_labels + 1)], np.int32)
    room = 1 + sum(map(len, names))
    words = np.zeros((room, -(-(n_labels + 1) // 64)), np.uint64)
    indptr = np.cumsum([0, *map(len, names)]).astype(np.int32)
    count = fill_names(
        np.frombuffer(b"".join(names), np.uint8), indptr, np.array(labels, np.int32), ends, QUOTE, 1, 3,
        tables.rows, tables.info, tables.live, np.empty(room, np.int32), words,
    )  # fmt: skip

    nodes = {b"": 0}
    for name in names:
        for end in range(1, len(name) + 1):
            nodes.setdefault(name[:end], len(nodes))
    assert count == len(nodes)
    label_of = dict(zip(names, labels, strict=True))
    for text, node in nodes.items():
        common = 1
        for byte in text:
            common = int(tables.rows[common, byte])
        row = tables.rows[common].copy()
        for other, after in nodes.items():
            if len(other) == len(text) + 1 and other.startswith(text):
                row[other[-1]] = 3 + after
        if text in label_of:
            row[QUOTE] = action_entry(label_of[text])
        assert (tables.rows[3 + node] == row).all()
        assert tables.info[3 + node, PLAN] == common
        reached = {0} | {label for name, label in label_of.items() if name.startswith(text)}
        assert {i for i in range(n_labels + 1) if int(words[node, i >> 6]) >> (i & 63) & 1} == reached
        if text not in label_of or common == 1:
            check_live(tables, 3 + node, row[None, :])
    assert (tables.info[3 : 3 + count, GUARD] == -1).all()
