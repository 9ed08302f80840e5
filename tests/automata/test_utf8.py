"""Sets of characters as automata over UTF-8: exact on every code point, and nothing that is not UTF-8."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.partition import INVALID, partition
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Chars, Concat, Literal, Repeat
from tests.profiles import examples

SCALARS = np.delete(np.arange(0x110000), slice(0xD800, 0xE000))
# All boundaries of UTF-8's lengths and lead bytes, and both sides of the surrogates.
EDGES = sorted(
    {0, 0x10FFFF, 0xD7FF, 0xE000, 0xFFFF, 0x10000}
    | {edge + near for edge in (0x80, 0x800, 0x10000) for near in (-1, 0)}
    | {(lead & 0x1F) << 6 for lead in range(0xC2, 0xE0)}
    | {(lead & 0x0F) << 12 for lead in range(0xE1, 0xF0)}
    | {(lead & 0x07) << 18 for lead in range(0xF1, 0xF5)}
)


def one_of(charset: Charset) -> Automaton:
    return from_tree(Chars(charset))


def accepted_points(automaton: Automaton) -> np.ndarray:
    """Which of all 1,112,064 scalar values the automaton accepts as a text of one character, ascending."""
    table = np.vstack([automaton.table, np.full(automaton.table.shape[1], -1, np.int32)])
    found = []
    for length, low, high in ((1, 0, 0x80), (2, 0x80, 0x800), (3, 0x800, 0x10000), (4, 0x10000, 0x110000)):
        points = SCALARS[slice(*np.searchsorted(SCALARS, [low, high]))]
        text = "".join(map(chr, points.tolist()))
        data = np.frombuffer(text.encode(), np.uint8).reshape(-1, length)
        states = np.zeros(len(points), np.int64)
        for column in range(length):
            states = table[states, automaton.classes[data[:, column]]]
        found.append(points[np.append(automaton.accepting, False)[states]])
    return np.concatenate(found)


def points_of(charset: Charset) -> np.ndarray:
    return np.concatenate([np.arange(low, high + 1) for low, high in charset.ranges] or [np.arange(0)])


@st.composite
def charsets(draw: st.DrawFn) -> Charset:
    """Sets with ends at and near the boundaries of UTF-8, at random places, and one character wide."""
    point = st.one_of(
        st.sampled_from(EDGES),
        st.tuples(st.sampled_from(EDGES), st.integers(-66, 66)).map(sum),
        st.integers(0, 0x10FFFF),
        st.integers(0, 0x2FFF),
    ).map(lambda p: min(max(p, 0), 0x10FFFF))
    pairs = draw(st.lists(st.tuples(point, st.one_of(point, st.none())), max_size=8))
    charset = Charset.of((min(low, high or low), max(low, high or low)) for low, high in pairs)
    return ~charset if draw(st.booleans()) else charset


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(charsets())
@example(Charset.EMPTY)
@example(Charset.UNIVERSE)
@example(Charset.of([(0x800, 0x800)]))
@example(Charset.of([(0xD7FF, 0xE000)]))
def test_both_sides_of_every_boundary(charset: Charset) -> None:
    automaton = one_of(charset)
    ends = {end + near for pair in charset.ranges for end in pair for near in (-1, 0, 1)}
    for point in ends | set(EDGES):
        if 0 <= point <= 0x10FFFF and not 0xD800 <= point < 0xE000:
            assert automaton.accepts(chr(point).encode()) == (chr(point) in charset), hex(point)


@pytest.mark.parametrize(
    "charset",
    [
        Charset.UNIVERSE,
        Charset.EMPTY,
        Charset.of([(0x80, 0x10FFFF)]),
        Charset.of([(0xD7FF, 0xE000)]),
        Charset.of([(0, 0x10FFFF - 1)]),
        ~Charset.of([(0xFFFF, 0x10000)]),
        Charset.of((point, point) for point in range(0, 0x110000, 64)),
        Charset.of((point, point + 63) for point in range(0, 0x110000, 128)),
        Charset.of((point, point + 4095) for point in range(0, 0x110000, 8192)),
        Charset.of((point * point, point * point + point) for point in range(1, 1000, 3)),
    ],
    ids=lambda charset: f"{len(charset.ranges)} ranges",
)  # fmt: skip
def test_every_code_point_of_a_set(charset: Charset) -> None:
    assert np.array_equal(accepted_points(one_of(charset)), points_of(charset))


@pytest.mark.parametrize("escape", [r"\w", r"\W", r"\d", r"\s", r"\p{Lu}", "(?i)[k-så]", "."])
def test_every_code_point_of_an_escape(escape: str) -> None:
    (charset,) = (node.charset for node in [parse(escape)] if isinstance(node, Chars))
    assert np.array_equal(accepted_points(from_tree(parse(escape))), points_of(charset))


@pytest.mark.exhaustive
@settings(max_examples=examples(10))
@given(charsets())
def test_every_code_point_of_any_set(charset: Charset) -> None:
    assert np.array_equal(accepted_points(one_of(charset)), points_of(charset))


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


EVERY = from_tree(Repeat(Chars(Charset.UNIVERSE), 0, None))


def test_every_string_of_two_bytes() -> None:
    for data in map(bytes, product(range(256), repeat=2)):
        assert EVERY.accepts(data) == is_utf8(data), data


@pytest.mark.slow
def test_strings_of_three_and_four_bytes() -> None:
    """Every lead byte with every second byte, and the edges of continuation in the rest."""
    near = (0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF)
    for lead, second in product(range(0xC0, 0x100), range(256)):
        for rest in [(third,) for third in near] + list(product(near, repeat=2)):
            data = bytes([lead, second, *rest])
            assert EVERY.accepts(data) == is_utf8(data), data


@pytest.mark.parametrize(
    "data",
    [
        b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf",  # overlong
        b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\x80\xed\xb0\x80",  # surrogates
        b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff", b"\xfe",  # beyond Unicode
        b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3\xc3\xa9", b"a\xbf",  # cut
    ],
)  # fmt: skip
def test_invalid_utf_8_is_in_no_language(data: bytes) -> None:
    for pattern in (r"(?s).*", r"[^a]*", r"\W*|\w*", r"(?s)a?.", r"(?!a)(?s:.)*"):
        assert not from_tree(parse(pattern)).accepts(data)


@settings(max_examples=examples(100))
@given(st.lists(charsets(), min_size=1, max_size=3), st.lists(st.text(max_size=4), max_size=6))
def test_sequences_of_sets(sets: list[Charset], texts: list[str]) -> None:
    automaton = from_tree(Concat(tuple(map(Chars, sets))))
    members = ["".join(chr(charset.ranges[0][0]) for charset in sets)] if all(sets) else []
    for text in [*texts, *members]:
        if not any("\ud800" <= c < "\ue000" for c in text):
            expected = len(text) == len(sets) and all(c in charset for c, charset in zip(text, sets, strict=True))
            assert automaton.accepts(text.encode()) == expected


@settings(max_examples=examples(200))
@given(st.lists(charsets(), max_size=5), st.lists(st.integers(0, 0x10FFFF), max_size=20))
def test_partitions_distinguish_exactly_the_sets(sets: list[Charset], points: list[int]) -> None:
    parts = partition(sets)
    points += [end + near for charset in sets for pair in charset.ranges for end in pair for near in (-1, 0, 1)]
    members = [set(parts.set_classes[parts.set_indptr[i] : parts.set_indptr[i + 1]].tolist()) for i in range(len(sets))]
    by_membership: dict[tuple[bool, ...], int] = {}
    for point in points:
        if not 0 <= point <= 0x10FFFF:
            continue
        number = int(parts.classes[np.searchsorted(parts.starts, point, side="right") - 1])
        if 0xD800 <= point < 0xE000:
            assert number == INVALID
            continue
        membership = tuple(chr(point) in charset for charset in sets)
        assert [number in found for found in members] == list(membership)
        assert by_membership.setdefault(membership, number) == number
        assert (number == 0) == (not any(membership))
    assert len(set(by_membership.values())) == len(by_membership)


@settings(max_examples=examples(100))
@given(st.lists(charsets(), max_size=4))
def test_classes_of_a_partition_are_disjoint_sets_that_make_up_the_universe(sets: list[Charset]) -> None:
    parts = partition(sets)
    classes = [parts.charset([number]) for number in range(parts.n_classes)]
    assert sum(map(len, classes)) == len(Charset.UNIVERSE)
    assert parts.charset(range(parts.n_classes)) == Charset.UNIVERSE
    for i, charset in enumerate(sets):
        assert parts.charset(parts.set_classes[parts.set_indptr[i] : parts.set_indptr[i + 1]]) == charset


@pytest.mark.parametrize(("what", "limit"), [("transitions", 200_000), ("states", 3_000), ("steps", 300_000)])
def test_scattered_sets_in_many_states_have_a_budget(what: str, limit: int) -> None:
    scattered = Charset.of((point, point) for point in range(0x80, 0x110000, 9973))
    tree = Repeat(Concat((Chars(scattered), Literal("x"))), 0, 1_000)
    with pytest.raises(LimitError, match="too many states for such sets of characters") as error:
        from_tree(tree, Limits(**{what: limit}))
    assert error.value.what == what
    assert error.value.given > error.value.limit == limit
    assert from_tree(tree).accepts("\x80x".encode() * 1_000)


def test_states_with_the_same_continuations_share_intermediate_states() -> None:
    """A set of many pieces after a long count: its intermediate states are made once."""
    automaton = from_tree(parse(r"[ab]{0,2000}\w"))
    assert automaton.n_states == 2_001 + from_tree(parse(r"\w")).n_states - 1
    for text in ("a" * 2_000 + "é", "é", "ab€"[:2] + "中"):
        assert automaton.accepts(text.encode())
