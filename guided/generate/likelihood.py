"""Log-probabilities of the tokens of one step: under the model, and of the tokens that a mask allows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, Int64Array
from guided.errors import ModelError
from guided.events import Logprob, Scores
from guided.generate.sampler import unpack
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Step", "log_softmax", "logprob_of", "scaled", "step_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """The allowed tokens of one step."""

    # Ids of the allowed tokens that the model gives a probability above 0, ascending. The first end of sequence represents all of them.
    tokens: Int64Array
    # Their log-probabilities under the model, not renormalized.
    logs: npt.NDArray[np.float64]
    # Logarithm of the sum of their probabilities; minus infinity if there is no token.
    log_mass: float
    # Log-probabilities of the tokens that only the budget excludes.
    refused: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def log_refused(self) -> float:
        """Logarithm of the sum of the probabilities of the tokens that only the budget excludes."""
        return float(np.logaddexp.reduce(self.refused, initial=-np.inf))

    def shares(self) -> npt.NDArray[np.float64]:
        """The distribution that masking samples from, up to a factor."""
        return scaled(self.logs)[0]

    def without(self, places: Sequence[int]) -> "Step":
        """The step without the tokens at some indices; ``log_mass`` stays, so the rest are drawn in proportion to it."""
        return replace(self, tokens=np.delete(self.tokens, places), logs=np.delete(self.logs, places))

    @property
    def log_left(self) -> float:
        """Logarithm of the share of the mass that the tokens have: 0 unless tokens were taken out; minus infinity without tokens."""
        shares, log_scale = scaled(self.logs)
        return log_scale - self.log_mass + math.log(shares.sum()) if len(self.logs) else -math.inf

    def scores(self, place: int) -> Scores:
        """The scores of the token at index ``place``."""
        log = float(self.logs[place])
        return Scores(log, log - self.log_mass)

    def scores_of(self, token: int) -> Scores:
        """The scores of an allowed token, which may have the probability 0."""
        place = int(np.searchsorted(self.tokens, token))
        is_here = place < len(self.tokens) and self.tokens[place] == token
        return self.scores(place) if is_here else Scores(-np.inf, -np.inf)


def step_of(logits: npt.NDArray[Any], mask: Int32Array, eos: Sequence[int], free: Int32Array | None = None) -> Step:
    """Return the step with these logits and this mask. O(size).

    Parameters
    ----------
    logits : ndarray[float], shape (size,)
    mask : ndarray[int32], shape (ceil(size / 32),)
        The allowed tokens; either all or none of ``eos``.
    eos : sequence of int
        The vocabulary's end-of-sequence tokens.
    free : ndarray[int32], optional
        The tokens that would be allowed with a larger budget. None: the same.

    Raises
    ------
    ModelError
        No logit is finite.
    """
    logs = log_softmax(logits)
    allowed = unpack(mask, len(logs))
    if len(eos) > 1:
        logs[eos[0]] = np.logaddexp.reduce(logs[list(eos)])
        allowed[list(eos[1:])] = False
    tokens = np.flatnonzero(allowed & (logs > -np.inf))
    refused = np.zeros(0) if free is None else logs[unpack(free & ~mask, len(logs))]
    logs = logs[tokens]
    if not len(logs):
        return Step(tokens, logs, -math.inf, refused)
    shares, log_scale = scaled(logs)
    # Why min: rounding must not give a mass above 1.
    return Step(tokens, logs, min(log_scale + math.log(shares.sum()), 0.0), refused)


def logprob_of(token: int, logits: npt.NDArray[Any], n_top: int, vocabulary: Vocabulary) -> Logprob:
    """Return the log-probability of a token under the model, with those of the most probable tokens. O(size).

    Parameters
    ----------
    token : int
    logits : ndarray[float], shape (size,)
        The model's own, without mask and penalty.
    n_top : int
        How many of the most probable tokens.
    vocabulary : Vocabulary
        Spells the tokens.

    Raises
    ------
    ModelError
        No logit is finite.
    """
    logs = log_softmax(logits)
    n_top = min(n_top, len(logs))
    # Ties at the cut-off and in the order go to the lowest ids.
    edge = np.partition(logs, len(logs) - n_top)[len(logs) - n_top] if n_top else np.inf
    best = np.flatnonzero((logs >= edge) & (logs > -np.inf))
    best = best[np.argsort(-logs[best], kind="stable")][:n_top]
    top = tuple(Logprob(one, _data(one, vocabulary), float(logs[one])) for one in best.tolist())
    return Logprob(token, _data(token, vocabulary), float(logs[token]), top)


def _data(token: int, vocabulary: Vocabulary) -> bytes:
    """The bytes of a token; empty for special and padding tokens."""
    return (vocabulary[token] or b"") if token < len(vocabulary) else b""


def log_softmax(logits: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the log-probabilities of all tokens; NaN and infinities count as minus infinity.

    Raises
    ------
    ModelError
        No logit is finite.
    """
    finite = np.where(np.isfinite(logits), logits, -np.inf).astype(np.float64)
    if finite.max() == -np.inf:
        raise ModelError("the model gave only NaN or infinities as logits")
    shifted = finite - finite.max()
    result: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result


def scaled(logs: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """The exponentials divided by the largest one, and its logarithm: minus infinity if all are 0 or there are none.

    Probabilities of long texts are below the smallest float.
    """
    log_scale = float(logs.max()) if len(logs) else -np.inf
    return (np.exp(logs - log_scale) if log_scale > -np.inf else np.zeros(len(logs))), log_scale
