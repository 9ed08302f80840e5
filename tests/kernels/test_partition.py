"""Classes of code points: two are in one class exactly when the same sets hold them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.partition import INVALID, Partition, joint, partition
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset

EDGES = [0, 1, 2, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFE, 0x10FFFF]
charsets = st.lists(
    st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).map(lambda pair: tuple(sorted(pair)))).map(
        Charset.of
    ),
    max_size=7,
)


def class_of(parts: Partition, point: int) -> int:
    place = sum(start <= point for start in parts.starts.tolist()) - 1
    return int(parts.classes[place])


@given(charsets)
def test_classes_are_the_membership_vectors(sets: list[Charset]) -> None:
    parts = partition(sets)
    vectors = {point: tuple(chr(point) in charset for charset in sets) for point in EDGES}
    classes = {point: class_of(parts, point) for point in EDGES}
    assert len(set(zip(vectors.values(), classes.values(), strict=True))) == len(set(vectors.values()))
    assert len(set(classes.values())) == len(set(vectors.values()))
    for number, charset in enumerate(sets):
        members = set(parts.set_classes[parts.set_indptr[number] : parts.set_indptr[number + 1]].tolist())
        assert {point for point in EDGES if classes[point] in members} == {p for p in EDGES if chr(p) in charset}
        assert 0 not in members
        assert parts.charset(sorted(members)) == charset
    assert class_of(parts, 0xD800) == class_of(parts, 0xDFFF) == INVALID
    assert len(set(classes.values()) | {0}) <= parts.n_classes
    assert (parts.classes[1:] != parts.classes[:-1]).all()


@given(charsets, charsets)
def test_a_joint_partition_refines_both(left: list[Charset], right: list[Charset]) -> None:
    sides = partition(left), partition(right)
    parts, pairs = joint(*sides)
    found = {class_of(parts, point): tuple(class_of(side, point) for side in sides) for point in EDGES}
    assert {number: tuple(pairs[number].tolist()) for number in found} == found
    assert len(set(found.values())) == len(found)
    assert class_of(parts, 0xDABC) == INVALID


def test_sets_that_overlap_without_end_are_refused() -> None:
    sets = [Charset.of([(number, 60_000 + number)]) for number in range(0x100, 0x1100)]
    with pytest.raises(LimitError, match=r"transitions: .* too many different sets of characters"):
        partition(sets, Limits(transitions=1_000_000))
    assert partition(sets[:50]).n_classes == 100
