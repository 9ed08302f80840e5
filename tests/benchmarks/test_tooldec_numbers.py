"""The numbers of the papers' experiments: intervals, tests, distances, token counts and the tuned row, each against something plainer."""

import math
from itertools import product

import numpy as np
import pytest

from benchmarks.tooldec import sizes
from benchmarks.tooldec.arithmetic import TOOLS, written_problems
from benchmarks.tooldec.scoring import is_near
from benchmarks.tooldec.statistics import (
    binomial,
    estimate,
    mcnemar,
    paired_difference,
    power,
    problems_needed,
    ratio_of_sums,
)
from benchmarks.tooldec.trigger import Places, fired, placed, tuned_row


def test_an_estimate_is_the_mean_within_its_interval() -> None:
    found = estimate([0.0] * 30 + [1.0] * 10)
    assert found.value == 0.25
    # The normal interval of a share, as a bootstrap of forty comes near.
    half = 1.96 * math.sqrt(0.25 * 0.75 / 40)
    assert found.low == pytest.approx(0.25 - half, abs=0.03)
    assert found.high == pytest.approx(0.25 + half, abs=0.03)
    assert estimate([1.0] * 5).low == 1.0
    assert estimate([]).n == 0
    assert estimate([0.0, 1.0, 1.0]) == estimate([0.0, 1.0, 1.0])


def test_pairs_are_kept_together() -> None:
    rising = list(map(float, range(1, 41)))
    assert paired_difference([value + 1 for value in rising], rising).low == 1.0
    found = ratio_of_sums([value / 2 for value in rising], rising)
    assert (found.low, found.high) == (0.5, 0.5)


def test_mcnemar_counts_all_ways() -> None:
    left = [True] * 7 + [False] * 2 + [True] * 5
    right = [False] * 7 + [True] * 2 + [True] * 5
    # Of nine problems that one alone solves, each is either's by the toss of a coin.
    extreme = sum(abs(sum(ways) - 4.5) >= 2.5 for ways in product((0, 1), repeat=9))
    assert mcnemar(left, right) == pytest.approx(extreme / 2**9)
    assert mcnemar([True, False], [True, False]) == 1.0


@pytest.mark.parametrize(("n", "gained", "lost"), [(6, 0.7, 0.1), (9, 0.6, 0.2), (9, 1.0, 0.0), (5, 0.9, 0.0)])
def test_power_sums_the_outcomes_that_reject(n: int, gained: float, lost: float) -> None:
    chances = {1: gained, -1: lost, 0: 1 - gained - lost}
    total = 0.0
    for outcome in product((1, -1, 0), repeat=n):
        if mcnemar([each == 1 for each in outcome], [each == -1 for each in outcome]) <= 0.05 and sum(outcome) > 0:
            total += math.prod(chances[each] for each in outcome)
    assert power(n, gained, lost) == pytest.approx(total)


def test_problems_needed_are_the_fewest_tens() -> None:
    needed = problems_needed(0.2, 0.05)
    assert needed is not None
    assert power(needed, 0.2, 0.05) >= 0.8 > power(needed - 10, 0.2, 0.05)
    assert problems_needed(0.05, 0.2) == needed
    assert problems_needed(0.1, 0.1) is None
    assert problems_needed(0.1, 0.099) is None, "more than the most"


def test_binomial_sums_the_outcomes_that_are_not_likelier() -> None:
    # Of three throws of a die, sixes: 125, 75, 15 and 1 of 216 ways.
    for count, ways in ((0, 216), (1, 91), (2, 16), (3, 1)):
        assert binomial(count, 3, 1 / 6) == pytest.approx(ways / 216)
    assert binomial(0, 40, 1 / 30) > 0.05 > binomial(37, 40, 1 / 30)


def test_distances_are_levenshteins() -> None:
    def plain(left: str, right: str) -> int:
        if not left or not right:
            return len(left) + len(right)
        if left[0] == right[0]:
            return plain(left[1:], right[1:])
        return 1 + min(plain(left[1:], right), plain(left, right[1:]), plain(left[1:], right[1:]))

    words = ("", "a", "get", "gate", "great", "tear")
    for left, right in product(words, repeat=2):
        assert sizes._distance(left, right) == plain(left, right)


def test_pairs_of_lowest_rank_are_merged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = {data: rank for rank, data in enumerate((b"a", b"b", b"c", b"bc", b"ab", b"abab"))}
    monkeypatch.setattr(sizes, "_ranks", lambda: ranks)
    assert sizes._merged(b"abc") == 2, "a, bc: its rank is lower than that of ab"
    assert sizes._merged(b"abab") == 1
    assert sizes._merged(b"abcab") == 3


def test_own_problems_are_right() -> None:
    for question, tool, call, answer in written_problems(52, seed=0):
        arguments = [
            float(part) if tool in ("power", "divide") else int(part) for part in call[len(tool) + 1 : -1].split(", ")
        ]
        assert TOOLS[tool](*arguments) == answer
        assert all(str(part) in question for part in call[len(tool) + 1 : -1].split(", "))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("permutate", (10**9, 10**8)), ("choose", (-1, 2)), ("lcm", (10**18, 3)), ("divide", (1, 0))],
)
def test_tools_refuse_endless_or_undefined_computations(tool: str, arguments: tuple[int, ...]) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        TOOLS[tool](*arguments)


def test_answers_are_near_within_a_thousandth() -> None:
    assert is_near(1000.9, 1000.0)
    assert not is_near(1001.1, 1000.0)
    assert is_near(-4.0787, 4.0787)
    assert not is_near("4", 4.0)
    assert not is_near(None, 4.0)
    assert not is_near(4.0, None)


@pytest.mark.parametrize(
    ("tool", "numbers"),
    [("choose", (9999, 5000)), ("permutate", (9999, 999)), ("lcm", tuple(range(10**14, 10**14 + 40)))],
)
def test_results_that_no_double_holds_are_refused(tool: str, numbers: tuple[int, ...]) -> None:
    with pytest.raises(OverflowError):
        TOOLS[tool](*numbers)


def test_calls_are_placed_at_their_results() -> None:
    item = {"text": "Q: 2 and 3?\nA: It is 2+3=5, or 5.5.", "tar_eq": ["<add>(2, 3)=5<eoe>"], "tar_number": ["5"]}
    text, place, tool = placed(item) or ("", 0, "")
    assert (text[place:], tool) == ("5, or 5.5.", "add")
    spaced = {**item, "text": "Q: 2 and 3?\nA: It is 5."}
    text, place, _ = placed(spaced) or ("", 0, "")
    assert text[place:] == " 5."
    assert placed({**item, "tar_number": ["7"]}) is None
    assert placed({**item, "tar_eq": []}) is None


def test_the_tuned_row_is_a_minimum_and_separates_the_separable() -> None:
    random_numbers = np.random.default_rng(0)
    hidden = random_numbers.normal(size=(400, 8))
    is_call = hidden[:, 0] > 1.2
    total = np.full(400, -30.0) + hidden[:, 1]
    places = Places(hidden, total, total - 0.5, is_call)
    row = tuned_row(places)
    likely = 1 / (1 + np.exp(-(hidden @ row - total)))
    gradient = hidden.T @ (likely - is_call) + 1e-3 * row
    assert np.abs(gradient).max() < 1e-2

    with_bias = Places(np.column_stack([hidden, np.ones(400)]), total, total - 0.5, is_call)
    found = fired(tuned_row(with_bias), with_bias)
    assert found["calls"] == is_call.sum()
    assert found["F1"] > 0.95
