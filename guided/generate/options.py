"""The options of a generation, written once: every call of a generator or conversation and the command line takes `GenerationOptions`.

`Settings` are validated options. `Smc`, `Rejection` and `Beam` are the searches over whole texts (`guided.generate.search`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, get_args

from guided.errors import ArgumentError, check_word, shown, whole_number
from guided.generate.decoding import OnBudget, Search
from guided.generate.sampler import Sampler
from guided.generate.search import beam, rejection, smc
from guided.keywords import suggest_keywords_of_class

__all__ = ["Beam", "GenerationOptions", "Rejection", "SearchMethod", "Settings", "Smc", "Tokenization", "search_named"]

Tokenization: TypeAlias = Literal["any", "canonical"]


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True)
class Smc:
    """Sequential Monte Carlo: texts from the model's own distribution given the constraint, approximately.

    Parameters
    ----------
    particles : int
        Number of texts that are written side by side, at most as many rows of a batch; memory grows with it.
    """

    particles: int = 8

    def __post_init__(self) -> None:
        whole_number(self.particles, "particles", least=1)


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True)
class Rejection:
    """Rejection sampling: texts from the model's own distribution given the constraint, exactly.

    Parameters
    ----------
    samples : int
        Number of texts to draw.
    attempts : int
        Maximum number of texts that may be rejected or accepted for all samples; then a `LimitError` is raised.
    """

    samples: int = 1
    attempts: int = 1_000

    def __post_init__(self) -> None:
        whole_number(self.samples, "samples", least=1)
        whole_number(self.attempts, "attempts", least=1)


@suggest_keywords_of_class
@dataclass(frozen=True, slots=True)
class Beam:
    """Beam search: a text with a high probability.

    Parameters
    ----------
    width : int
        Number of prefixes that are kept, at most as many rows of a batch; memory grows with it.
    """

    width: int = 8

    def __post_init__(self) -> None:
        whole_number(self.width, "width", least=1)


SearchMethod: TypeAlias = Smc | Rejection | Beam
_SEARCHES: dict[str, type[SearchMethod]] = {"smc": Smc, "rejection": Rejection, "beam": Beam}


class GenerationOptions(TypedDict, total=False):
    """Keyword arguments of every call of a generator, and their defaults.

    Parameters
    ----------
    max_tokens : int
        Maximum number of tokens to generate, by default 200; ``on_budget`` says what happens if the model wants more.
    max_new_tokens : int
        Another name of ``max_tokens``, that of transformers.
    temperature : float, optional
        Without a search: 0, the default, takes the best allowed token at each step; 1 samples each token from the model's own
        distribution, renormalized over the allowed tokens. Searches take 1 only.
    top_k, top_p, min_p : optional
        See `guided.generate.sampler`; applied in this order, after the mask and the temperature. Not with a search.
    seed : int, optional
        The same seed gives the same text.
    stop : str or sequence of str, optional
        Strings that end the text, which is truncated before them.
    search : Smc, Rejection, Beam, {"smc", "rejection", "beam"} or None
        How the text is found (`guided.generate.search`). None chooses token by token, which distorts the probabilities of whole texts.
        `Smc` and `Rejection` sample from the model's own distribution of texts that satisfy the constraint, the former approximately and
        the latter exactly. `Beam` takes a text with a high probability. A name stands for the search with its defaults.
    scores : bool
        Whether ``scores`` are computed without a search too, as searches do; each forced token then costs a forward pass.
    tokenization : {"any", "canonical"}
        ``"canonical"`` allows only the tokens to which the tokenizer itself encodes the generated text. With ``"any"``, the model may
        spell it in other tokens. See docs/sampling.md for the tokenizers supported.
    repetition_penalty : float, optional
        With a penalty above 1, tokens that occur in the prompt or in the text so far are less likely: their logits are divided by it if
        positive, and multiplied by it if negative, before the mask and the temperature. Not with a search.
    logprobs : int, optional
        ``logprobs`` of the result has the log-probability of each token under the model, and this number of most probable tokens in its
        place; 0: none of them. Each token then costs a forward pass, forced ones too. Not with a search.
    retries : int
        How often to generate again, each time with ``max_tokens``, if the budget steered the text or validators of the type refuse the
        value of a complete text. The model reads the refused text and the error, as two messages or appended to a str prompt.
    context : Any
        For generators with tools only: what tools get for their parameters that are a `guided.Context`, such as a user or a connection.
        None: nothing; such parameters then need defaults.
    on_budget : {"complete", "raise", "truncate"}
        What happens at the first token that the model chooses and that leaves too few tokens to complete the text. ``"complete"``: the
        budget chooses from here. The text is complete, but its values may be others than the model's: ``steered`` is the place of this
        token, and ``finish_reason`` is ``"length"``. ``"raise"``: the text ends, with an `IncompleteError`. ``"truncate"``: the model
        continues, and the text ends when ``max_tokens`` are used up, most likely with an `IncompleteError` in ``error``.
    """

    max_tokens: int
    max_new_tokens: int
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    search: SearchMethod | Literal["smc", "rejection", "beam"] | None
    scores: bool
    tokenization: Tokenization
    repetition_penalty: float | None
    logprobs: int | None
    retries: int
    on_budget: OnBudget
    context: Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Validated `GenerationOptions`.

    Attributes
    ----------
    max_tokens, temperature, top_k, top_p, min_p, seed, stop, search, scores, tokenization, repetition_penalty, logprobs, retries, \
    on_budget, context
        As in `GenerationOptions`; a search is never a name.
    stops : tuple of str
        The stop strings as a tuple.
    """

    max_tokens: int = 200
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    search: SearchMethod | None = None
    scores: bool = False
    tokenization: Tokenization = "any"
    repetition_penalty: float | None = None
    logprobs: int | None = None
    retries: int = 0
    on_budget: OnBudget = "complete"
    context: Any = None
    stops: tuple[str, ...] = field(init=False)

    @classmethod
    def of(cls, options: GenerationOptions) -> "Settings":
        """Return the settings of options.

        Raises
        ------
        TypeError, ValueError
            An option has the wrong type, is out of range, or has no effect together with others.
        """
        given: dict[str, Any] = {**options}
        if "max_new_tokens" in given:
            if "max_tokens" in given:
                raise TypeError("max_tokens and max_new_tokens are two names of one option: pass one")
            given["max_tokens"] = given.pop("max_new_tokens")
        if "search" in given:
            given["search"] = search_named(given["search"])
        return cls(**given)

    def __post_init__(self) -> None:
        whole_number(self.max_tokens, "max_tokens", least=1)
        whole_number(self.retries, "retries", least=0)
        if isinstance(self.logprobs, bool):
            raise TypeError("logprobs must be an int, the number of alternatives to each token (0: none), not bool")
        if self.logprobs is not None:
            whole_number(self.logprobs, "logprobs", least=0)
        if not isinstance(self.scores, bool):
            raise TypeError(f"scores must be a bool, not {type(self.scores).__name__}")
        self.sampler()
        object.__setattr__(self, "stops", _stop_strings(self.stop))
        check_word("on_budget", self.on_budget, *get_args(OnBudget))
        check_word("tokenization", self.tokenization, *get_args(Tokenization))
        if self.search is not None:
            self._check_search(self.search)

    @property
    def is_canonical(self) -> bool:
        """Whether only the tokenizer's own encodings are allowed."""
        return self.tokenization == "canonical"

    def sampler(self, place: int = 0) -> Sampler:
        """Return a sampler for the prompt at index `place` of a batch, with the seed ``seed + place``."""
        seed = self.seed if self.seed is None or not place else self.seed + place
        penalty = 1.0 if self.repetition_penalty is None else self.repetition_penalty
        return Sampler(self.temperature or 0.0, self.top_k, self.top_p, self.min_p, seed, penalty)

    def searched(self, sampler: Sampler) -> Search | None:
        """Return the search with the random numbers of a sampler; None if the text is chosen token by token."""
        match self.search:
            case Smc(particles):
                return partial(smc, particles=particles, random=sampler.random)
            case Rejection(samples, attempts):
                return partial(rejection, samples=samples, attempts=attempts, random=sampler.random)
            case Beam(width):
                return partial(beam, width=width)
        return None

    def _check_search(self, search: SearchMethod) -> None:
        if self.temperature not in (None, 1):
            raise ValueError(
                f"search={search} is about the model's own distribution: temperature must be 1 or left out, "
                f"not {self.temperature!r}"
            )
        for name in ("top_k", "top_p", "min_p", "repetition_penalty"):
            if getattr(self, name) is not None:
                raise ValueError(f"search={search} is about the model's own distribution: leave out {name}")
        if self.logprobs is not None:
            raise ValueError(f"search={search} chooses whole texts: result.scores has their log-probabilities")


def search_named(given: object, options: dict[str, Any] | None = None) -> SearchMethod | None:
    """Return a search, or the one of a name with some options.

    Raises
    ------
    ValueError, TypeError
        There is no such search, or it has no such option.
    """
    if given is None or isinstance(given, Smc | Rejection | Beam):
        return given
    if isinstance(given, str) and given in _SEARCHES:
        return _SEARCHES[given](**(options or {}))
    if isinstance(given, str):
        raise ArgumentError("search", f"must be None, 'smc', 'rejection' or 'beam', not {shown(given)}")
    if isinstance(given, type) and given in _SEARCHES.values():
        raise TypeError(f"search must be an object, {given.__name__}(), not the class")
    raise TypeError(f"search must be a Smc, Rejection or Beam, or its name, not {type(given).__name__}")


def _stop_strings(stop: object) -> tuple[str, ...]:
    if stop is None:
        return ()
    if isinstance(stop, str):
        stop = (stop,)
    if isinstance(stop, bytes) or not isinstance(stop, Sequence):
        raise TypeError(f"stop must be a str or a sequence of str, not {type(stop).__name__}")
    for place, text in enumerate(stop):
        if not isinstance(text, str):
            raise TypeError(f"stop[{place}] must be a str, not {type(text).__name__}")
        if not text:
            raise ArgumentError(f"stop[{place}]", "is empty, and would stop everything at once")
    return tuple(stop)
