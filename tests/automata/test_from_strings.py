"""Automata of finite sets of byte strings."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guided.automata.build import from_strings, from_tree
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.tree import Literal, alternate
from tests.profiles import examples

ALL = [bytes(word) for n in range(5) for word in product(b"ab\xff", repeat=n)]


@settings(max_examples=examples(300))
@given(st.sets(st.sampled_from(ALL)))
@example(set())
@example({b""})
@example({b"", b"a"})
@example(set(ALL))
def test_exactly_the_strings_of_a_set(strings: set[bytes]) -> None:
    automaton = from_strings(strings)
    assert {word for word in [*ALL, b"aaaaa", b"c"] if automaton.accepts(word)} == strings
    assert automaton.is_empty() == (not strings)
    assert automaton.witness() == min(strings, key=lambda word: (len(word), word), default=None)


@settings(max_examples=examples(200))
@given(st.sets(st.text(max_size=6), max_size=12))
def test_equal_to_the_alternatives_of_a_pattern(texts: set[str]) -> None:
    assert from_strings(text.encode() for text in texts) == from_tree(alternate(Literal(text) for text in texts))


@settings(max_examples=examples(100))
@given(st.lists(st.binary(max_size=5), max_size=10))
def test_neither_order_nor_repetition_counts(strings: list[bytes]) -> None:
    assert from_strings(strings) == from_strings(reversed(strings + strings))


@settings(max_examples=examples(100))
@given(st.sets(st.binary(max_size=4), max_size=12), st.sets(st.binary(max_size=4), max_size=12))
def test_operations_are_those_of_sets(left: set[bytes], right: set[bytes]) -> None:
    first, second = from_strings(left), from_strings(right)
    assert first | second == from_strings(left | right)
    assert first & second == from_strings(left & right)
    assert first - second == from_strings(left - right)


def test_every_byte_and_every_pair_of_bytes() -> None:
    """All 256 bytes are in use, so the column for the others is beyond a byte's range."""
    singles = from_strings(bytes([value]) for value in range(256))
    assert singles.table.tolist() == [[1], [-1]]
    pairs = from_strings(map(bytes, product(range(256), repeat=2)))
    assert pairs.table.tolist() == [[1], [2], [-1]]
    different = from_strings(bytes([value, 255 - value]) for value in range(256))
    assert different.table.shape == (258, 256)
    assert all(different.accepts(bytes([a, b])) == (a + b == 255) for a in range(0, 256, 5) for b in range(256))


def test_common_ends_are_shared() -> None:
    words = [f"{n:05}suffix".encode() for n in range(100_000)]
    automaton = from_strings(words)
    assert automaton.n_states == 12
    assert automaton.accepts(words[777])
    assert not automaton.accepts(b"0077suffix")


@pytest.mark.slow
def test_fifty_thousand_names() -> None:
    generator = np.random.default_rng(3)
    names = {"_".join(map(str, generator.integers(0, 1000, 3))).encode() for _ in range(50_000)}
    automaton = from_strings(names)
    assert all(map(automaton.accepts, names))
    assert not any(automaton.accepts(name[:-1]) for name in list(names)[:1000] if name[:-1] not in names)


def test_one_long_string() -> None:
    automaton = from_strings([b"ab" * 50_000])
    assert automaton.n_states == 100_001
    assert automaton.accepts(b"ab" * 50_000)


@pytest.mark.parametrize(("what", "limit"), [("states", 1_000), ("transitions", 5_000)])
def test_budgets(what: str, limit: int) -> None:
    with pytest.raises(LimitError) as error:
        from_strings([b"abcd" * 500], Limits(**{what: limit}))
    assert (error.value.what, error.value.limit) == (what, limit)
    assert error.value.given > limit
