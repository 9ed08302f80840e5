"""`Relations` against sets of pairs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.steps import Steps
from guided.lalr.relations import EMPTY, Relations
from tests.profiles import examples

N = 5
Pairs = frozenset[tuple[int, int]]
pairs = st.frozensets(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=12)


def number_of(relations: Relations, held: Pairs) -> int:
    rows: dict[int, int] = {}
    for first, second in held:
        rows[first] = rows.get(first, 0) | 1 << second
    return relations.of_rows(rows)


@settings(max_examples=examples(100))
@given(pairs, pairs, st.integers(0, 2**N - 1))
def test_operations_are_those_on_sets_of_pairs(one: Pairs, other: Pairs, members: int) -> None:
    relations = Relations(Steps(10**6), "")
    first, second = number_of(relations, one), number_of(relations, other)
    expected = frozenset((a, c) for a, b in one for d, c in other if b == d)
    # Equal relations have one number.
    assert relations.composed(first, second) == number_of(relations, expected)
    assert relations.joined(first, second) == number_of(relations, one | other)
    expected = frozenset((a, b) for a, b in one if members >> b & 1)
    assert relations.within(first, members) == number_of(relations, expected)
    assert relations.composed(first, relations.identity(members)) == relations.within(first, members)
    assert relations.backward(first, members) == sum({1 << a for a, _ in expected})
    begins = sum({1 << a for a, _ in one})
    assert relations.backward(relations.identity(members), begins) == members & begins
    assert (first == EMPTY) == (not one)
