"""Charset is a set: its algebra against Python's sets over a small universe around every edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.patterns.charset import Charset

EDGES = [
    0,
    1,
    2,
    3,
    9,
    10,
    11,
    0x7F,
    0x80,
    0xD7FE,
    0xD7FF,
    0xD800,
    0xDFFF,
    0xE000,
    0xE001,
    0xFFFF,
    0x10000,
    0x10FFFE,
    0x10FFFF,
]
SCALARS = [point for point in EDGES if not 0xD800 <= point <= 0xDFFF]

ranges = st.lists(
    st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).map(lambda pair: tuple(sorted(pair))), max_size=5
)


def members(charset: Charset) -> set[int]:
    return {point for point in SCALARS if chr(point) in charset}


def wanted(of: list[tuple[int, int]]) -> set[int]:
    return {point for point in SCALARS if any(low <= point <= high for low, high in of)}


@given(ranges, ranges)
def test_algebra_is_that_of_sets(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    x, y = Charset.of(a), Charset.of(b)
    assert members(x) == wanted(a)
    assert members(x | y) == wanted(a) | wanted(b)
    assert members(x & y) == wanted(a) & wanted(b)
    assert members(x - y) == wanted(a) - wanted(b)
    assert members(~x) == set(SCALARS) - wanted(a)


@given(ranges, ranges)
def test_equal_sets_have_equal_ranges(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    x, y = Charset.of(a), Charset.of(b)
    assert x & y == ~(~x | ~y)
    assert x - y == ~(~x | y)
    assert ~~x == x
    assert (x | y) & x == x
    for charset in (x, x | y, x & y, x - y, ~x):
        assert charset == Charset.of(reversed(charset.ranges))
        assert len(charset) == sum(high - low + 1 for low, high in charset.ranges)
        assert bool(charset) == (len(charset) > 0)
        for (_, high), (low, _) in zip(charset.ranges, charset.ranges[1:], strict=False):
            assert high + 1 < low


def test_surrogates_are_left_out() -> None:
    assert Charset.of([(0, 0x10FFFF)]) == Charset.UNIVERSE
    assert not Charset.of([(0xD800, 0xDFFF)])
    assert Charset.char("\ud800") == Charset.EMPTY
    assert Charset.of([(0xD7FF, 0xE000)]).ranges == ((0xD7FF, 0xD7FF), (0xE000, 0xE000))
    assert len(Charset.UNIVERSE) == 0x110000 - 0x800


@pytest.mark.parametrize(
    ("of", "single"), [([], None), ([(65, 65)], "A"), ([(65, 66)], None), ([(65, 65), (67, 67)], None)]
)
def test_single(of: list[tuple[int, int]], single: str | None) -> None:
    assert Charset.of(of).single() == single
