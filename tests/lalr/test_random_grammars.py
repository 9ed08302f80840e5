"""Lark, the readings of prefixes and the automaton on random grammars: ``python -m benchmarks.random_grammars`` runs any number of them."""

from collections import Counter

import pytest

from tests.lalr.random_grammars import check

# Of so many numbers, about two thirds are grammars that Lark takes.
N_NUMBERS, N_PARTS = 460, 10


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, N_PARTS))])
def test_random_grammars(part: int) -> None:
    counts = Counter(check(number) for number in range(part, N_NUMBERS, N_PARTS))
    assert counts["exact"] + counts["in doubt"] > N_NUMBERS / N_PARTS / 2


@pytest.mark.parametrize("number", [774_049, 775_061, 775_555])
def test_watchers_that_are_not_reduced_are_followed(number: int) -> None:
    """The readings of prefixes have watchers there that the automaton leaves out."""
    assert check(number) == "exact"
