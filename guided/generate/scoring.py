"""Choice among whole texts by score, since choosing token by token is myopic.

The score of a candidate c with tokens t_1 .. t_n after a context is its mean log-probability per token,
``(1/n) sum over i of log p(t_i | context, t_1 .. t_{i-1})``, with the model's own unmasked p. A model that prefers the missing name
``year_started`` to the available ``started`` and ``year_invented`` begins with ``year_`` when it chooses token by token; the scores of the
whole names separate the two. A candidate is scored in the tokens that the tokenizer encodes it to.

Complexity: one forward pass for each distinct proper prefix of a candidate, including the empty one; the model's cache is truncated
between them.
"""

from collections.abc import Generator as Coroutine
from collections.abc import Sequence
from functools import partial

import numpy as np

from guided.engine.index import Index
from guided.engine.specs import Choice
from guided.errors import ArgumentError, LimitError
from guided.events import Done, Text
from guided.generate.decoding import Decoding, Feed, TextCoroutine
from guided.generate.generator import Generator, T_co
from guided.generate.likelihood import log_softmax
from guided.generate.model import LanguageModel, Logits, Prompt, common_prefix
from guided.generate.options import Settings
from guided.generate.sampler import Sampler
from guided.generate.search import enumeration
from guided.generate.steering import ENDLESS
from guided.generate.stops import TextStream
from guided.limits import Limits

__all__ = ["ScoredChoice", "WeighedChoice", "scores"]


def scores(decoding: Decoding, candidates: Sequence[Sequence[int]]) -> Coroutine[Feed, Logits, list[float]]:
    """Score candidates for the next text; the state of the decoding is restored afterwards.

    Parameters
    ----------
    decoding : Decoding
        State before the candidates.
    candidates : sequence of sequence of int
        Tokens of each candidate, none empty.

    Returns
    -------
    list of float
        Mean log-probability per token of each candidate.
    """
    totals = [0.0] * len(candidates)
    logits = yield from decoding.read()
    begin, read = decoding.place, list[int]()
    # In lexicographic order each prefix follows the one it extends, so the cache is truncated as little as possible.
    for prefix in sorted({tuple(candidate[:length]) for candidate in candidates for length in range(len(candidate))}):
        if prefix:
            shared = common_prefix(read, prefix)
            logits = yield from decoding.probe(begin + shared, prefix[shared:])
            read = list(prefix)
        logarithms = log_softmax(logits)
        for place, candidate in enumerate(candidates):
            if len(candidate) > len(prefix) and tuple(candidate[: len(prefix)]) == prefix:
                totals[place] += float(logarithms[candidate[len(prefix)]])
    decoding.forget(begin)
    return [total / len(candidate) for total, candidate in zip(totals, candidates, strict=True)]


class ScoredChoice(Generator[T_co]):
    """Chooses among options by score. Made by `guided.choice` with ``select="score"``; no option is empty."""

    def __init__(self, model: LanguageModel, index: Index, spec: Choice[T_co]) -> None:
        super().__init__(model, index, spec.read)
        if "" in spec.options:
            raise ValueError("select='score' cannot score the empty option: it has no tokens")
        self._candidates = [tuple(model.encode(option)) for option in spec.options]

    def coroutine(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> TextCoroutine:
        """Return the coroutine that chooses one option; raises at once if an argument is invalid."""
        if settings.search is not None or settings.scores or settings.is_canonical:
            raise ValueError("select='score' chooses whole options: leave out search, scores and tokenization")
        _check_unused(settings, "select='score'")
        if settings.temperature:
            raise ValueError(f"select='score' takes the best option: temperature must be 0, not {settings.temperature}")
        shortest = min(map(len, self._candidates))
        if shortest > settings.max_tokens:
            raise LimitError("max_tokens", shortest, settings.max_tokens, "the shortest option is longer")
        return super().coroutine(prompt, settings, sampler)

    def _coroutine(self, decoding: Decoding, stream: TextStream) -> TextCoroutine:
        if not any(len(candidate) <= decoding.left for candidate in self._candidates):
            needed = min(map(len, self._candidates))
            raise LimitError("context", needed, decoding.left, "the shortest option is longer")
        # The model never reads the last token of an option.
        most = self.model.context_length
        room = ENDLESS if most is None else most - decoding.place + 1
        readable = [candidate for candidate in self._candidates if len(candidate) <= room]
        found = yield from scores(decoding, readable)
        wanted = chosen = readable[int(np.argmax(found))]
        if len(chosen) > decoding.left or len(readable) < len(self._candidates):
            if decoding.on_budget == "truncate":
                chosen = chosen[: decoding.left]
            else:
                fitting = [place for place, candidate in enumerate(readable) if len(candidate) <= decoding.left]
                chosen = readable[max(fitting, key=found.__getitem__)]
                chosen = chosen if decoding.steer(wanted, chosen) else ()
        for token in chosen:
            yield from decoding.take(token)
        if chosen not in self._candidates:
            decoding.steer()
        stream.push(self.model.vocabulary.decode(chosen))
        stream.close()
        if stream.text:
            yield Text(stream.text, steered=decoding.is_steered)
        decoding.finish_reason = "stop_string" if stream.stopped else "stop"
        yield Done(self._result(stream, decoding), steered=decoding.steered is not None)


class WeighedChoice(Generator[T_co]):
    """Computes the probability of each option under the model. Made by `guided.choice` with ``probabilities=True``.

    ``prefixes`` of the limits is the maximum number of forward passes for one choice.
    """

    def __init__(
        self, model: LanguageModel, index: Index, spec: Choice[T_co], tolerance: float, limits: Limits | None
    ) -> None:
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
            raise TypeError(f"tolerance must be a number, not {type(tolerance).__name__}")
        if not 0 <= tolerance < 1:
            raise ArgumentError("tolerance", f"must be at least 0 and below 1, not {tolerance!r}")
        super().__init__(model, index, spec.read, limits=limits)
        self._tolerance = float(tolerance)

    def coroutine(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> TextCoroutine:
        """Return the coroutine that chooses one option; raises at once if an argument is invalid."""
        if settings.search is not None:
            raise ValueError("probabilities=True is a search of its own: leave out search")
        _check_unused(settings, "probabilities=True")
        if settings.temperature not in (None, 0, 1):
            raise ValueError(
                f"probabilities=True takes the best option (temperature 0) or samples one (1), not {settings.temperature}"
            )
        return super().coroutine(prompt, settings, sampler)

    def _attempt(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> tuple[Decoding, TextCoroutine]:
        random = sampler.random if settings.temperature else None
        search = partial(enumeration, tolerance=self._tolerance, prefixes=self._limits.prefixes, random=random)
        decoding = self._decoding(prompt, settings, sampler, search)
        return decoding, self._coroutine(decoding, TextStream(settings.stops))


def _check_unused(settings: Settings, choosing: str) -> None:
    for name in ("logprobs", "repetition_penalty", "top_k", "top_p", "min_p"):
        if getattr(settings, name) is not None:
            raise ValueError(f"{choosing} chooses whole options by the model's own distribution: leave out {name}")
