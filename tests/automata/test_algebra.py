"""Union, intersection, difference, complement, emptiness and witness against sets of strings."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, from_tree
from guided.errors import GuidedError, LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Alternate, Chars, Literal, Node, repeat
from tests.automata.enumerated import trees_of_size
from tests.automata.test_canonical import Table, tables
from tests.oracles import AllTexts
from tests.profiles import examples
from tests.strategies import trees

TEXTS = AllTexts("abc", 4)
WORDS = [bytes(word) for n in range(7) for word in product(b"\x00\x01", repeat=n)]


def automaton(pattern: str) -> Automaton:
    return from_tree(parse(pattern))


def language(found: Automaton) -> set[bytes]:
    return {word for word in WORDS if found.accepts(word)}


@settings(max_examples=examples(200))
@given(tables(max_states=5), tables(max_states=5))
def test_operations_are_those_of_sets(left: Table, right: Table) -> None:
    first, second = left.build(), right.build()
    mine, theirs = language(first), language(second)
    assert language(first & second) == mine & theirs
    assert language(first | second) == mine | theirs
    assert language(first - second) == mine - theirs


@settings(max_examples=examples(100))
@given(tables(), tables(), tables())
def test_laws_of_sets(left: Table, middle: Table, right: Table) -> None:
    a, b, c = left.build(), middle.build(), right.build()
    assert a & b == b & a
    assert a | b == b | a
    assert (a & b) & c == a & (b & c)
    assert (a | b) | c == a | (b | c)
    assert a & (b | c) == (a & b) | (a & c)
    assert a - (b | c) == (a - b) - c
    assert a & a == a | a == a
    assert (a - a).is_empty()
    assert a - (a - b) == a & b


@settings(max_examples=examples(100))
@given(trees("aé", max_leaves=5), trees("aé", max_leaves=5))
def test_operations_on_automata_are_those_on_trees(left: Node, right: Node) -> None:
    first, second = from_tree(left), from_tree(right)
    assert first & second == from_tree(left & right)
    assert first | second == from_tree(left | right)
    assert first - second == from_tree(left & ~right)
    assert ~first == from_tree(~left)


@settings(max_examples=examples(100))
@given(trees("aé", max_leaves=6), trees("aé", max_leaves=6))
def test_de_morgan(left: Node, right: Node) -> None:
    first, second = from_tree(left), from_tree(right)
    assert ~(first & second) == ~first | ~second
    assert ~(first | second) == ~first & ~second
    assert ~~first == first


def test_complements_of_all_small_trees() -> None:
    for tree in [*trees_of_size(1), *trees_of_size(2), *trees_of_size(3)[::5]]:
        found = from_tree(tree)
        assert np.array_equal(TEXTS.accepted(~found), ~TEXTS.accepted(found))


def test_the_complement_is_valid_utf_8_only() -> None:
    everything = ~from_strings([])
    assert everything == from_tree(repeat(Chars(Charset.UNIVERSE)))
    for data in (b"", b"a", "é€😀".encode()):
        assert everything.accepts(data)
    for data in (b"\x80", b"\xc3", b"\xff", b"a\xf5", b"\xed\xa0\x80", b"\xc0\x80"):
        assert not everything.accepts(data)
    assert (~everything).is_empty()
    # Bytes that are no text are in neither the language nor its complement.
    half = from_strings([b"\xc3", b"a"])
    assert not (~half).accepts(b"\xc3")
    assert ~~half == from_strings([b"a"])


@settings(max_examples=examples(300))
@given(tables())
def test_the_witness_is_the_shortest_and_of_those_the_least(table: Table) -> None:
    found = table.build()
    # Bytes that act alike have the least of them as their name, so words over the first few bytes are enough.
    columns = {table.classes[byte]: byte for byte in reversed(range(256))}
    level = {table.start: b""}
    expected = None
    for _ in range(len(table.rows) + 1):
        ends = [word for state, word in level.items() if table.accepting[state]]
        if ends:
            expected = min(ends)
            break
        further: dict[int, bytes] = {}
        for state, word in level.items():
            for column, byte in columns.items():
                target = table.rows[state][column]
                if target >= 0:
                    longer = word + bytes([byte])
                    further[target] = min(further.get(target, longer), longer)
        level = further
    assert found.witness() == expected
    assert found.is_empty() == (expected is None)


@pytest.mark.parametrize(
    ("pattern", "witness"),
    [
        ("", b""),
        ("a*", b""),
        ("b|a|ab", b"a"),
        ("ba|ab|abb", b"ab"),
        ("[b-z]{2}", b"bb"),
        ("(a{3}|b{2}|c)d", b"cd"),
        ("é|z", b"z"),
        ("[é-ü]", "é".encode()),
        ("[^a]", b"\x00"),
        (".", b"\x00"),
        ("(?!.)a", None),
        ("a{1000}", b"a" * 1000),
    ],
)  # fmt: skip
def test_witnesses(pattern: str, witness: bytes | None) -> None:
    assert automaton(pattern).witness() == witness
    assert automaton(pattern).is_empty() == (witness is None)


@settings(max_examples=examples(200))
@given(tables())
def test_distances_are_the_least_numbers_of_bytes(table: Table) -> None:
    found = table.build()
    rows = [set(row) - {-1} for row in found.table.tolist()]
    for state, distance in enumerate(found.distances().tolist()):
        seen, ring, steps = {state}, {state}, 0
        while ring and not any(found.accepting[s] for s in ring):
            ring = {target for s in ring for target in rows[s]} - seen
            seen |= ring
            steps += 1
        assert distance == (steps if ring else -1)


def test_run_carries_a_state() -> None:
    found = automaton("ab*c")
    middle = found.run(b"abb")
    assert middle > 0
    assert found.accepting[found.run(b"bc", middle)]
    assert found.run(b"x", middle) == -1
    assert found.run(b"", middle) == middle
    assert found.run(b"abbx") == -1


def test_labels_forbid_combinations() -> None:
    labelled = Table(((0,),), (True,), (3,), 0, (0,)).build()
    plain = automaton("a")
    for combine in (lambda: labelled & plain, lambda: plain | labelled, lambda: plain - labelled, lambda: ~labelled):
        with pytest.raises(GuidedError, match="automata with labels cannot be combined: combine the languages first"):
            combine()


def test_automata_are_equal_to_automata_only() -> None:
    found = automaton("a")
    assert found != "a"
    assert found == automaton("(?:a)")
    assert len({found, automaton("a"), automaton("b")}) == 2


def test_large_products() -> None:
    """Products that outgrow their first buffers, against arithmetic."""
    left, right = automaton("(?:a{97})*"), automaton("(?:a{89})*")
    both = left & right
    assert both == automaton("(?:a{8633})*")
    assert both.witness() == b""
    assert (both - automaton("")).witness() == b"a" * 8633
    either = left | right
    for n in (0, 88, 89, 97, 178, 194, 186):
        assert either.accepts(b"a" * n) == (n % 97 == 0 or n % 89 == 0)


def test_products_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    from guided.automata import automaton as module

    left, right = automaton("(?:a{997})*"), automaton("(?:a{991})*")
    for limits, what in ((Limits(states=10_000), "states"), (Limits(transitions=10_000), "transitions")):
        monkeypatch.setattr(module, "Limits", lambda limits=limits: limits)
        with pytest.raises(LimitError, match="the product of two automata is too large") as error:
            left & right
        assert (error.value.what, error.value.limit) == (what, 10_000)
        assert error.value.given > 10_000


def test_empty_and_full() -> None:
    nothing, empty = from_tree(Alternate(())), from_tree(Literal(""))
    assert nothing.n_states == empty.n_states == 1
    assert nothing.fingerprint != empty.fingerprint
    assert nothing | empty == empty
    assert nothing & empty == nothing
    assert empty.witness() == b""
    assert nothing.distances().tolist() == [-1]


@pytest.mark.parametrize("other", ["a", None, b"a", 1])
def test_automata_combine_with_automata_only(other: object) -> None:
    found = automaton("a")
    for combine in (lambda: found & other, lambda: found | other, lambda: found - other):
        with pytest.raises(TypeError, match=f"expected an Automaton, not {type(other).__name__}"):
            combine()


@pytest.mark.parametrize("data", [None, 1, [97]])
def test_automata_read_texts_only(data: object) -> None:
    found = automaton("a")
    for action in (found.accepts, found.run):
        with pytest.raises(TypeError, match=f"expected str or bytes, not {type(data).__name__}"):
            action(data)  # type: ignore[arg-type]
    for text in ("a", b"a", bytearray(b"a"), memoryview(b"a")):
        assert found.accepts(text)
