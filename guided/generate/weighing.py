"""`WeighedChoice`: the options of a choice by their probabilities under the model."""

from collections.abc import Sequence
from functools import partial

from guided.engine.index import Index
from guided.engine.specs import Choice
from guided.errors import ArgumentError
from guided.generate.decoding import Decoding, TextCoroutine
from guided.generate.generator import Generator, T_co
from guided.generate.model import LanguageModel, Prompt
from guided.generate.options import Settings
from guided.generate.sampler import Sampler
from guided.generate.search import enumeration
from guided.generate.stops import TextStream
from guided.limits import Limits

__all__ = ["WeighedChoice"]


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
        for name in ("logprobs", "repetition_penalty", "top_k", "top_p", "min_p"):
            if getattr(settings, name) is not None:
                raise ValueError(
                    f"probabilities=True chooses whole options by the model's own distribution: leave out {name}"
                )
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
