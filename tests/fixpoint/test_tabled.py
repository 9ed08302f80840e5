"""Goals on demand: the same values as the least fixpoint by rounds, and no search twice where none is needed."""

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.fixpoint.tabled import TabledFixpoint

# A goal is a number; it is true where all goals of one of its reasons are.
systems = st.lists(st.lists(st.lists(st.integers(0, 7), max_size=2), max_size=3), min_size=8, max_size=8)


def least_fixpoint(system: list[list[list[int]]]) -> list[bool]:
    """By rounds from nothing, until nothing changes."""
    answers = [False] * len(system)
    while True:
        after = [any(all(answers[one] for one in reason) for reason in reasons) for reasons in system]
        if after == answers:
            return answers
        answers = after


def ignore(_: int) -> None:
    """There is no budget."""


def ask(table: TabledFixpoint, system: list[list[list[int]]], one: int, searched: list[int]) -> bool:
    def search() -> bool:
        searched.append(one)
        return any(all(ask(table, system, other, searched) for other in reason) for reason in system[one])

    return table.ask(one, search)


@given(systems, st.permutations(range(8)), st.integers(1, 9))
def test_answers_are_the_least_fixpoint(system: list[list[list[int]]], order: list[int], most_nested: int) -> None:
    table, expected = TabledFixpoint(ignore, most_nested), least_fixpoint(system)
    for one in order:
        assert ask(table, system, one, []) == expected[one]
    again: list[int] = []
    for one in order:
        assert ask(table, system, one, again) == expected[one]
        assert table.known.get(one) == expected[one]
    assert not again


def test_a_false_goal_that_depends_on_an_open_one_is_not_searched_again() -> None:
    # Ever more goals lead back to the first: without a memo, 2^20 searches.
    system = [[[1], [1]], *([[i + 1], [i + 1]] for i in range(1, 20)), [[0]]]
    searched: list[int] = []
    assert not ask(TabledFixpoint(ignore, most_nested=21), system, 0, searched)
    assert sorted(searched) == list(range(21))
    searched.clear()
    assert not ask(TabledFixpoint(ignore, most_nested=5), system, 0, searched)
    assert set(searched) == set(range(21))
    assert max(Counter(searched).values()) == 2


@pytest.mark.parametrize("last", [[[]], [], [[0]], [[1_500]]])
def test_deep_chains_take_little_of_the_stack(last: list[list[int]]) -> None:
    # Each goal asks the next one, and another that it knows nothing of.
    length = 3_000
    system: list[list[list[int]]] = [*([[i + 1, length + 1], [i + 1]] for i in range(length)), last, []]
    limit, searched, table = sys.getrecursionlimit(), list[int](), TabledFixpoint(ignore)
    sys.setrecursionlimit(_frames() + 150)
    try:
        answer = ask(table, system, 0, searched)
    finally:
        sys.setrecursionlimit(limit)
    assert answer == (last == [[]])
    assert max(Counter(searched).values()) <= 3
    assert table.known.get(length) is not None


def _frames() -> int:
    """How many frames of Python are on the stack."""
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


def test_answers_that_depend_on_a_goal_that_becomes_true_are_dropped() -> None:
    # 0 asks 1, which counts it as false; then 0 finds another reason.
    system: list[list[list[int]]] = [[[1], [2]], [[0]], [[]]]
    table = TabledFixpoint(ignore)
    assert ask(table, system, 0, [])
    assert table.known.get(1) is None
    assert ask(table, system, 1, [])


def test_a_budget_leaves_nothing_behind() -> None:
    budget = Steps(3)
    table = TabledFixpoint(lambda count: budget.spend(count, "too hard"))

    def search(steps: int) -> bool:
        table.spend(steps)
        return True

    with pytest.raises(LimitError, match="steps"):
        table.ask("a", lambda: table.ask("b", lambda: search(4)))
    budget.limit = 10
    assert table.known.get("b") is None
    assert table.ask("b", lambda: search(3))
    assert table.ask("a", lambda: search(3))
