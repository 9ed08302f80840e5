"""Shares with bootstrap intervals, and paired tests: all exact or seeded, so that equal rows give equal numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = [
    "Estimate",
    "binomial",
    "estimate",
    "mcnemar",
    "paired_difference",
    "power",
    "problems_needed",
    "ratio_of_sums",
]

RESAMPLES = 4_000
_SEED = 20_231_009


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, or another statistic, with the 2.5 and 97.5 percentiles of its bootstrap.

    Attributes
    ----------
    value, low, high : float
    n : int
        Problems that it rests on.
    """

    value: float
    low: float
    high: float
    n: int

    def contains(self, other: float) -> bool:
        """Is the value within the interval?"""
        return self.low <= other <= self.high


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, one per problem, resampled by problem."""
    data = np.asarray(values, np.float64)
    if not len(data):
        return Estimate(math.nan, math.nan, math.nan, 0)
    means = data[_resamples(len(data))].mean(axis=1)
    return Estimate(float(data.mean()), *_interval(means), len(data))


def paired_difference(left: Sequence[float], right: Sequence[float]) -> Estimate:
    """The mean of ``left - right``, one pair per problem."""
    return estimate(np.asarray(left, np.float64) - np.asarray(right, np.float64))  # type: ignore[arg-type]


def binomial(count: int, n: int, chance: float) -> float:
    """Two-sided exact p of so many out of n, each with this chance: the ways that are no likelier than what was found."""
    ways = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    return min(1.0, sum(way for way in ways if way <= ways[count] * (1 + 1e-9)))


def ratio_of_sums(left: Sequence[float], right: Sequence[float]) -> Estimate:
    """``sum(left) / sum(right)``, pairs resampled together; ``right`` is positive."""
    above, below = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if not len(above):
        return Estimate(math.nan, math.nan, math.nan, 0)
    chosen = _resamples(len(above))
    ratios = above[chosen].sum(axis=1) / below[chosen].sum(axis=1)
    return Estimate(float(above.sum() / below.sum()), *_interval(ratios), len(above))


def mcnemar(left: Sequence[bool], right: Sequence[bool]) -> float:
    """Two-sided exact p of McNemar's test: are as many problems solved by one alone as by the other alone?"""
    only_left = sum(a and not b for a, b in zip(left, right, strict=True))
    only_right = sum(b and not a for a, b in zip(left, right, strict=True))
    n, least = only_left + only_right, min(only_left, only_right)
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, 2 * tail / 2**n)


def power(n: int, gained: float, lost: float) -> float:
    """Probability that McNemar's exact test at 5 % rejects, for the side of ``gained``, with n problems.

    Parameters
    ----------
    n : int
        Problems.
    gained, lost : float
        Probabilities that a problem is solved by one side alone, and by the other alone; not both 0.
    """
    both = gained + lost
    total = 0.0
    for k in range(n + 1):
        chance = math.exp(_log_binomial(n, k, both))
        if chance < 1e-12:
            continue
        least = _fewest_rejecting(k)
        total += chance * math.fsum(math.exp(_log_binomial(k, i, gained / both)) for i in range(least, k + 1))
    return total


@cache
def _fewest_rejecting(n: int) -> int:
    """The fewest of n problems solved by one side alone with which McNemar's exact test at 5 % rejects; n + 1 if none do."""
    ways, term, least = 0, 1, n + 1
    for others in range(n // 2 + 1):
        ways += term
        if 40 * ways > 2**n:
            break
        least = n - others
        term = term * (n - others) // (others + 1)
    return least


def problems_needed(gained: float, lost: float, most: int = 2_000) -> int | None:
    """The least multiple of ten problems with a `power` of 80 %; None if there is no difference, or more than ``most`` are needed."""
    if gained == lost:
        return None
    better, worse = max(gained, lost), min(gained, lost)
    low, high = 0, most // 10
    if power(10 * high, better, worse) < 0.8:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(10 * middle, better, worse) >= 0.8 else (middle, high)
    return 10 * high


def _log_binomial(n: int, k: int, chance: float) -> float:
    if chance in (0, 1):
        return 0.0 if k == n * chance else -math.inf
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return ways + k * math.log(chance) + (n - k) * math.log1p(-chance)


def _resamples(n: int) -> np.ndarray:
    return np.random.default_rng(_SEED).integers(n, size=(RESAMPLES, n))


def _interval(values: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
