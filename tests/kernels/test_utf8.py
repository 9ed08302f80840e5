"""The decision tree of UTF-8 over a partition: every spelling of four bytes leads to its class, and others nowhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.partition import Partition, partition
from guided.kernels.utf8 import utf8_tree
from guided.patterns.charset import Charset


def tree_of(parts: Partition) -> tuple[np.ndarray, np.ndarray, int]:
    root = np.empty(256, np.int32)
    tree = np.empty((6 * len(parts.starts) + 3 * parts.n_classes + 64, 64), np.int32)
    uniform, scratch = np.full((3, parts.n_classes), -1, np.int32), np.empty((3, 64), np.int32)
    count = utf8_tree(parts.starts, parts.classes, uniform, scratch, root, tree)
    return root, tree[:count], count


def walk(root: np.ndarray, tree: np.ndarray, data: bytes) -> int:
    """The class at the end of some bytes, -1 where they spell nothing, below -1 within a character."""
    value = int(root[data[0]])
    for byte in data[1:]:
        if value > -2 or not 0x80 <= byte < 0xC0:
            return -1
        value = int(tree[-2 - value, byte - 0x80])
    return value


def class_of(parts: Partition, point: int) -> int:
    return int(parts.classes[np.searchsorted(parts.starts, point, side="right") - 1])


points = st.one_of(
    st.integers(0, 0x10FFFF), st.integers(0, 0x900), st.sampled_from([0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000])
)


@given(st.lists(st.lists(st.tuples(points, points), max_size=4), max_size=3), st.lists(points, max_size=30))
def test_every_character_leads_to_its_class(sets: list[list[tuple[int, int]]], some: list[int]) -> None:
    parts = partition([Charset.of((min(pair), max(pair)) for pair in pairs) for pairs in sets])
    root, tree, count = tree_of(parts)
    near = [p + d for pairs in sets for pair in pairs for p in pair for d in (-1, 0, 1)]
    for point in [*some, *near]:
        if 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000:
            assert walk(root, tree, chr(point).encode()) == class_of(parts, point)
    for data in (
        b"\x80",
        b"\xc0\x80",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5",
        b"\xff",
    ):
        assert walk(root, tree, data) == -1
    # Children have lower numbers than their parents, and every node leads somewhere.
    for number, row in enumerate(tree.tolist()):
        assert all(-2 - value < number for value in row if value < -1)
        assert any(value != -1 for value in row)
    assert {-2 - v for v in [*root.tolist(), *tree.ravel().tolist()] if v < -1} == set(range(count))


@pytest.mark.parametrize("step", [1, 64, 4096])
def test_the_tree_fits_its_buffer_where_every_block_is_cut(step: int) -> None:
    scattered = Charset.of((p, p) for p in range(0, 0x3000 * step, 2 * step) if p <= 0x10FFFF)
    _, _, count = tree_of(partition([scattered]))
    assert 0 < count <= 6 * len(partition([scattered]).starts) + 3 * 2 + 64
