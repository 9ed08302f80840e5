"""Questions that depend on each other: the same answers as the least fixpoint by rounds, and no search twice where none is needed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def ask(questions: Questions, system: list[list[list[int]]], one: int, searched: list[int]) -> bool:
    def search() -> bool:
        searched.append(one)
        return any(all(ask(questions, system, other, searched) for other in reason) for reason in system[one])

    return questions.ask(one, search)


@given(systems, st.permutations(range(8)))
def test_answers_are_the_least_fixpoint(system: list[list[list[int]]], order: list[int]) -> None:
    questions, expected = Questions(1000), least_fixpoint(system)
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
    assert not ask(Questions(1000), system, 0, searched)
    assert sorted(searched) == list(range(21))


def test_what_rests_on_a_question_that_ends_with_yes_is_forgotten() -> None:
    # 0 asks 1, which counts it as no; then 0 finds another reason.
    system: list[list[list[int]]] = [[[1], [2]], [[0]], [[]]]
    questions = Questions(1000)
    assert ask(questions, system, 0, [])
    assert questions.known(1) is None
    assert ask(questions, system, 1, [])


def test_a_budget_leaves_nothing_behind() -> None:
    questions = Questions(3)

    def search(steps: int) -> bool:
        questions.spend(steps)
        return True

    with pytest.raises(LimitError, match="steps"):
        questions.ask("a", lambda: questions.ask("b", lambda: search(4)))
    assert questions.known("b") is None
    assert questions.ask("b", lambda: search(3))
    assert questions.ask("a", lambda: search(3))
