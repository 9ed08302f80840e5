"""The distribution of a sampler, and Pearson's chi-square test, for counted frequencies against probabilities."""

import numpy as np

from guided.generate.sampler import Sampler, unpack


def chi_square_is_plausible(counts: np.ndarray, probabilities: np.ndarray, deviations: float = 4.0) -> bool:
    """Whether counts may come from the probabilities: within so many standard deviations of what chance gives.

    Outcomes that are expected fewer than five times count as one. The statistic is brought to a standard normal by the
    transformation of Wilson and Hilferty.
    """
    if counts[probabilities == 0].any():
        return False
    expected = probabilities * counts.sum()
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    degrees = len(observed) - 1
    statistic = ((observed - expected) ** 2 / expected).sum()
    normal = ((statistic / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / np.sqrt(2 / (9 * degrees))
    return bool(normal < deviations)


def probabilities(sampler: Sampler, logits: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """The distribution that a sampler draws from."""
    found = np.zeros(len(logits))
    if sampler.temperature == 0:
        found[sampler.sample(logits, mask)] = 1
    else:
        allowed = np.ones(len(logits), np.bool_) if mask is None else unpack(mask, len(logits))
        tokens, masses = sampler._candidates(logits, allowed)
        found[tokens] = masses / masses.sum()
    return found
