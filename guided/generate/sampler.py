"""Sampling of one token from logits and a mask: repetition penalty, mask, temperature, top-k, top-p, min-p, in that order.

With x the logits and A the allowed tokens whose logit is finite, the model's renormalized distribution is
``p(t) = exp(x_t / T) / sum of exp(x_s / T) over s in A`` for t in A, and exactly 0 elsewhere. Top-k keeps the k most
probable tokens of A, top-p the smallest set with mass at least p, min-p the tokens with at least p times the mass of the
best; each filter applies to the renormalized result of the previous one. Temperature 0 is greedy: the best token.

Invariants: a token that is not allowed, or whose logit is not finite, has mass exactly 0. Ties go to the lowest id, in
the greedy choice and at the cut-offs of top-k and top-p. Equal seeds give equal choices: one uniform number is drawn per
sampled token, none at temperature 0.

Complexity: O(size) per token; only top-p sorts, at most 16 times as many tokens as it keeps. A repetition penalty adds O(length of the
context).

Not handled here: bias, end of sequence. Arithmetic is float64 for logits of any type.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import BoolArray, Int32Array, Int64Array
from guided.errors import ArgumentError, ModelError, shown, whole_number

__all__ = ["Sampler", "unpack"]

_Float64Array = npt.NDArray[np.float64]


class Sampler:
    """A sampler with its own random stream.

    Parameters
    ----------
    temperature : float
        0 is greedy; 1 is the model's own distribution. At least 0, finite.
    top_k : int, optional
        Keep at most this many tokens, at least 1. None keeps all.
    top_p : float, optional
        Keep the fewest tokens with this total mass, above 0, at most 1. None keeps all.
    min_p : float, optional
        Keep tokens with at least this fraction of the best token's mass, from 0 to 1. None keeps all.
    seed : int, optional
        Seed of NumPy's PCG64, at least 0. None takes entropy from the system.
    repetition_penalty : float
        Divides positive logits of tokens that occur in the context, and multiplies negative ones: above 1 discourages repetition, below 1
        encourages it. Above 0, finite.

    Raises
    ------
    ValueError
        A number is out of range.
    TypeError
        An argument is not a number.
    """

    __slots__ = ("min_p", "random", "repetition_penalty", "seed", "temperature", "top_k", "top_p")

    def __init__(
        self,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        seed: int | None = None,
        repetition_penalty: float = 1.0,
    ) -> None:
        self.temperature = _number(temperature, "temperature")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ArgumentError(
                "temperature", f"must be a finite number of at least 0, not {temperature!r}; 0 is greedy"
            )
        self.top_k = None if top_k is None else whole_number(top_k, "top_k", least=1)
        self.top_p = None if top_p is None else _number(top_p, "top_p")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError("top_p", f"must be above 0 and at most 1, not {top_p!r}; None keeps all tokens")
        self.min_p = None if min_p is None else _number(min_p, "min_p")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ArgumentError("min_p", f"must be from 0 to 1, not {min_p!r}")
        self.seed = None if seed is None else whole_number(seed, "seed", least=0)
        self.random = np.random.Generator(np.random.PCG64(self.seed))
        self.repetition_penalty = _number(repetition_penalty, "repetition_penalty")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ArgumentError(
                "repetition_penalty", f"must be a finite number above 0, not {repetition_penalty!r}; 1 changes nothing"
            )

    def penalized(self, logits: npt.NDArray[Any], context: Sequence[int]) -> npt.NDArray[Any]:
        """Return the logits with the repetition penalty for the tokens of a context.

        Parameters
        ----------
        logits : ndarray[float], shape (size,)
            Of any float type.
        context : sequence of int
            All tokens before the next one: prompt, generated and inserted tokens. How often one occurs makes no difference.

        Returns
        -------
        ndarray[float], shape (size,)
            A copy; the logits themselves if the penalty is 1.
        """
        if self.repetition_penalty == 1 or not context:
            return logits
        seen = np.unique(np.asarray(context, dtype=np.int64))
        found = logits.copy()
        old = found[seen]
        found[seen] = np.where(old > 0, old / self.repetition_penalty, old * self.repetition_penalty)
        return found

    def sample(self, logits: npt.NDArray[Any], mask: Int32Array | None = None) -> int:
        """Choose one allowed token.

        Parameters
        ----------
        logits : ndarray[float], shape (size,)
            Of any float type.
        mask : ndarray[int32], shape (ceil(size / 32),), optional
            Bit ``t & 31`` of word ``t >> 5`` allows token t. None allows all.

        Returns
        -------
        int
            A token id, always an allowed one.

        Raises
        ------
        ModelError
            No allowed token has a finite logit.
        """
        allowed = np.ones(len(logits), np.bool_) if mask is None else unpack(mask, len(logits))
        if self.temperature == 0:
            return _greedy(logits, allowed)
        tokens, masses = self._candidates(logits, allowed)
        cumulative = np.cumsum(masses)
        # Why side="right": the first entry above the drawn number then has a positive mass. There is none if the product rounds up to
        # the sum; then the last token with a positive mass is taken.
        place = int(np.searchsorted(cumulative, self.random.random() * cumulative[-1], side="right"))
        return int(tokens[place if place < len(tokens) else np.flatnonzero(masses)[-1]])

    def _candidates(self, logits: npt.NDArray[Any], allowed: BoolArray) -> tuple[Int64Array, _Float64Array]:
        """Tokens that may be drawn, in ascending order of ids, and their masses, not normalized."""
        possible = allowed & np.isfinite(logits)
        tokens = np.flatnonzero(possible)
        if not len(tokens):
            raise _no_logit(int(allowed.sum()))
        scores = logits[possible].astype(np.float64)
        scores -= scores.max()
        # Why errstate: a temperature near 0 overflows scores to minus infinity, and a mass of 0 is correct there.
        with np.errstate(over="ignore"):
            scores /= self.temperature
        if self.top_k is not None and self.top_k < len(tokens):
            kept = _top_k(scores, self.top_k)
            tokens, scores = tokens[kept], scores[kept]
        masses = np.exp(scores)
        if self.top_p is not None and self.top_p < 1:
            kept = _top_p(masses / masses.sum(), self.top_p)
            tokens, masses = tokens[kept], masses[kept]
        if self.min_p is not None:
            kept = np.flatnonzero(masses >= self.min_p * masses.max())
            tokens, masses = tokens[kept], masses[kept]
        return tokens, masses


def unpack(mask: Int32Array, size: int) -> BoolArray:
    """Unpack the bits of a mask.

    Parameters
    ----------
    mask : ndarray[int32], shape (ceil(size / 32),)
        Bit ``t & 31`` of word ``t >> 5`` is token t.
    size : int
        Number of tokens; further bits are ignored.

    Returns
    -------
    ndarray[bool], shape (size,)
    """
    little = np.ascontiguousarray(mask, dtype="<i4")
    return np.unpackbits(little.view(np.uint8), count=size, bitorder="little").view(np.bool_)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(name, f"is too large: {shown(value)}") from None


def _greedy(logits: npt.NDArray[Any], allowed: BoolArray) -> int:
    scores = np.where(allowed, logits, -np.inf)
    best = int(scores.argmax())
    if not math.isfinite(scores[best]):
        scores[~np.isfinite(scores)] = -np.inf
        best = int(scores.argmax())
        if not math.isfinite(scores[best]):
            raise _no_logit(int(allowed.sum()))
    return best


def _top_k(scores: _Float64Array, count: int) -> Int64Array:
    """Indices of the ``count`` highest scores, ascending; ties at the cut-off go to the lowest indices."""
    edge = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > edge)
    level = np.flatnonzero(scores == edge)[: count - len(above)]
    return np.sort(np.concatenate([above, level]))


def _top_p(masses: _Float64Array, share: float) -> Int64Array:
    """Indices of the fewest masses that sum to at least ``share``, ascending; ties go to the lowest indices."""
    # PERF: few tokens hold most of the mass, so only the heaviest are sorted, and more of them after each miss. For logits
    # of a real model, 128,256 wide, top_p=0.9 takes 5 ms, of which the softmax takes 1.5; sorting all would take 20
    # (timeit of Sampler(1.0, top_p=0.9).sample).
    count = min(1024, len(masses))
    while True:
        places = _top_k(masses, count) if count < len(masses) else np.arange(len(masses))
        order = places[np.argsort(-masses[places], kind="stable")]
        needed = int(np.searchsorted(np.cumsum(masses[order]), share, side="left")) + 1
        if needed <= count or count == len(masses):
            return np.sort(order[:needed])
        count = min(16 * count, len(masses))


def _no_logit(allowed: int) -> ModelError:
    return ModelError(
        f"none of the {allowed:,} tokens allowed here has a finite logit: the model gave only NaN or infinities for "
        "them (a float16 model may have overflowed: try bfloat16 or float32)"
    )
