"""Questions that depend on each other: the same answers as the least fixpoint by rounds, and no search twice where none is needed."""

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.schema.questions import Questions

# A question is a number; it is yes where all questions of one of its reasons are.
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


def ask(questions: Questions, system: list[list[list[int]]], one: int, searched: list[int]) -> bool:
    def search() -> bool:
        searched.append(one)
        return any(all(ask(questions, system, other, searched) for other in reason) for reason in system[one])

    return questions.ask(one, search)


@given(systems, st.permutations(range(8)), st.integers(1, 9))
def test_answers_are_the_least_fixpoint(system: list[list[list[int]]], order: list[int], most_nested: int) -> None:
    questions, expected = Questions(ignore, most_nested), least_fixpoint(system)
    for one in order:
        assert ask(questions, system, one, []) == expected[one]
    again: list[int] = []
    for one in order:
        assert ask(questions, system, one, again) == expected[one]
        assert questions.known(one) == expected[one]
    assert not again


def test_a_no_that_rests_on_an_open_question_is_not_searched_again() -> None:
    # Ever more questions lead back to the first: without a memo, 2^20 searches.
    system = [[[1], [1]], *([[i + 1], [i + 1]] for i in range(1, 20)), [[0]]]
    searched: list[int] = []
    assert not ask(Questions(ignore, most_nested=21), system, 0, searched)
    assert sorted(searched) == list(range(21))
    searched.clear()
    assert not ask(Questions(ignore, most_nested=5), system, 0, searched)
    assert set(searched) == set(range(21))
    assert max(Counter(searched).values()) == 2


@pytest.mark.parametrize("last", [[[]], [], [[0]], [[1_500]]])
def test_deep_chains_take_little_of_the_stack(last: list[list[int]]) -> None:
    # Each question asks the next one, and another that it knows nothing of.
    length = 3_000
    system: list[list[list[int]]] = [*([[i + 1, length + 1], [i + 1]] for i in range(length)), last, []]
    limit, searched, questions = sys.getrecursionlimit(), list[int](), Questions(ignore)
    sys.setrecursionlimit(_frames() + 150)
    try:
        answer = ask(questions, system, 0, searched)
    finally:
        sys.setrecursionlimit(limit)
    assert answer == (last == [[]])
    assert max(Counter(searched).values()) <= 3
    assert questions.known(length) is not None


def _frames() -> int:
    """How many frames of Python are on the stack."""
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


def test_what_rests_on_a_question_that_ends_with_yes_is_forgotten() -> None:
    # 0 asks 1, which counts it as no; then 0 finds another reason.
    system: list[list[list[int]]] = [[[1], [2]], [[0]], [[]]]
    questions = Questions(ignore)
    assert ask(questions, system, 0, [])
    assert questions.known(1) is None
    assert ask(questions, system, 1, [])


def test_a_budget_leaves_nothing_behind() -> None:
    budget = Steps(3)
    questions = Questions(lambda count: budget.spend(count, "too hard"))

    def search(steps: int) -> bool:
        questions.spend(steps)
        return True

    with pytest.raises(LimitError, match="steps"):
        questions.ask("a", lambda: questions.ask("b", lambda: search(4)))
    budget.limit = 10
    assert questions.known("b") is None
    assert questions.ask("b", lambda: search(3))
    assert questions.ask("a", lambda: search(3))
