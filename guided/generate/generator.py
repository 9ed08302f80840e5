"""Generators: a model and an index that together produce constrained text.

A generator holds no conversation state: every call creates its own guide, so calls from several threads are independent. Kinds of
generators differ in their `coroutine` (see `guided.generate.decoding`) and in how a text becomes a value.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack, cast, get_args, overload

from guided.engine.index import Index
from guided.errors import GuidedError, IncompleteError, shown
from guided.events import Done, Event, FinishReason, Result, Sample, StreamEvent, Text
from guided.generate.decoding import Decoding, OnBudget, Search, TextCoroutine
from guided.generate.drivers import alone, alone_async, together
from guided.generate.model import LanguageModel, Prompt, check_model
from guided.generate.retries import budget_error, prompt_with_error, with_retries
from guided.generate.sampler import Sampler, whole_number
from guided.generate.search import beam, rejection, smc
from guided.generate.steering import FreeGuide, Steering
from guided.generate.stops import TextStream
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.notebook import card, text_cell
from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "Generator",
    "Method",
    "Options",
    "Resampling",
    "Result",
    "Settings",
    "Tokenization",
    "no_value",
    "with_search",
]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Result[Any])


Method: TypeAlias = Literal["mask", "smc", "rejection", "beam"]
Resampling: TypeAlias = Literal["token", "segment"]
Tokenization: TypeAlias = Literal["any", "canonical"]
_PARTICLES, _ATTEMPTS = 8, 1_000


class Options(TypedDict, total=False):
    """Keyword arguments of every call; `Generator.__call__` documents them and their defaults."""

    max_tokens: int
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    method: Method
    particles: int | None
    attempts: int | None
    resample: Resampling
    scores: bool
    tokenization: Tokenization
    repetition_penalty: float | None
    logprobs: int | None
    retries: int
    on_budget: OnBudget


@dataclass(frozen=True, slots=True)
class Settings:
    """The validated arguments of a call.

    Attributes
    ----------
    max_tokens, temperature, top_k, top_p, min_p, seed, stop, method, particles, attempts, resample, scores, tokenization, \
    repetition_penalty, logprobs, retries, on_budget
        As in `Generator.__call__`.
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
    method: Method = "mask"
    particles: int | None = None
    attempts: int | None = None
    resample: Resampling = "token"
    scores: bool = False
    tokenization: Tokenization = "any"
    repetition_penalty: float | None = None
    logprobs: int | None = None
    retries: int = 0
    on_budget: OnBudget = "complete"
    stops: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        whole_number(self.max_tokens, "max_tokens", least=1)
        whole_number(self.retries, "retries", least=0)
        if isinstance(self.logprobs, bool):
            raise TypeError("logprobs must be an int, the number of alternatives to each token (0: none), not bool")
        if self.logprobs is not None:
            whole_number(self.logprobs, "logprobs", least=0)
        self.sampler()
        object.__setattr__(self, "stops", _stop_strings(self.stop))
        self._check_method()
        if self.on_budget not in get_args(OnBudget):
            raise ValueError(f"on_budget must be 'complete', 'raise' or 'truncate', not {shown(self.on_budget)}")
        if self.tokenization not in get_args(Tokenization):
            raise ValueError(f"tokenization must be 'any' or 'canonical', not {shown(self.tokenization)}")

    @property
    def is_canonical(self) -> bool:
        """Whether only the tokenizer's own encodings are allowed."""
        return self.tokenization == "canonical"

    def sampler(self, place: int = 0) -> Sampler:
        """Return a sampler for the prompt at index `place` of a batch, with the seed ``seed + place``."""
        seed = self.seed if self.seed is None or not place else self.seed + place
        penalty = 1.0 if self.repetition_penalty is None else self.repetition_penalty
        return Sampler(self.temperature or 0.0, self.top_k, self.top_p, self.min_p, seed, penalty)

    def search(self, sampler: Sampler) -> Search | None:
        """Return the search of the method, with the random numbers of a sampler; None for ``"mask"``."""
        match self.method:
            case "smc":
                by_segment = self.resample == "segment"
                return partial(
                    smc, particles=self.particles or _PARTICLES, random=sampler.random, by_segment=by_segment
                )
            case "beam":
                return partial(beam, width=self.particles or _PARTICLES)
            case "rejection":
                attempts = self.attempts or _ATTEMPTS
                return partial(rejection, samples=self.particles or 1, attempts=attempts, random=sampler.random)
        return None

    def _check_method(self) -> None:
        methods = get_args(Method)
        if self.method not in methods:
            raise ValueError(
                f"method must be {', '.join(map(repr, methods[:-1]))} or {methods[-1]!r}, not {shown(self.method)}"
            )
        if not isinstance(self.scores, bool):
            raise TypeError(f"scores must be a bool, not {type(self.scores).__name__}")
        if self.particles is not None:
            whole_number(self.particles, "particles", least=1)
            if self.method == "mask":
                raise ValueError("method='mask' has no particles: pass method='smc', 'rejection' or 'beam'")
        if self.attempts is not None:
            whole_number(self.attempts, "attempts", least=1)
            if self.method != "rejection":
                raise ValueError(f"method={self.method!r} makes no attempts: they are for method='rejection'")
        if self.resample not in get_args(Resampling):
            raise ValueError(f"resample must be 'token' or 'segment', not {shown(self.resample)}")
        if self.resample != "token" and self.method != "smc":
            raise ValueError(f"method={self.method!r} does not resample: resample is for method='smc'")
        if self.method == "mask":
            return
        if self.temperature not in (None, 1):
            raise ValueError(
                f"method={self.method!r} is about the model's own distribution: temperature must be 1 or left out, "
                f"not {self.temperature!r}"
            )
        for name in ("top_k", "top_p", "min_p", "repetition_penalty"):
            if getattr(self, name) is not None:
                raise ValueError(f"method={self.method!r} is about the model's own distribution: leave out {name}")
        if self.logprobs is not None:
            raise ValueError(f"method={self.method!r} chooses whole texts: result.scores has their log-probabilities")


class Generator(Generic[T_co]):
    """Generates only texts that a spec accepts. The values of a ``Generator[T]`` have type T.

    Made by `guided.regex`, `guided.choice`, `guided.grammar` and `guided.generator`.

    Parameters
    ----------
    model : LanguageModel
        Source of the logits.
    index : Index, optional
        Index of the spec over the model's vocabulary. None: free text.
    value : callable, optional
        Converts a complete text to its value; by default the text itself.
    limits : Limits, optional
        ``encoding_steps`` bounds the searches of ``tokenization="canonical"``; the others count while the index is compiled.

    Raises
    ------
    VocabularyError
        The index was compiled for another vocabulary.
    """

    @overload
    def __init__(
        self: "Generator[str]", model: LanguageModel, index: Index | None, *, limits: Limits | None = None
    ) -> None: ...

    @overload
    def __init__(
        self, model: LanguageModel, index: Index | None, value: Callable[[str], T_co], *, limits: Limits | None = None
    ) -> None: ...

    def __init__(
        self,
        model: LanguageModel,
        index: Index | None,
        value: Callable[[str], Any] = str,
        *,
        limits: Limits | None = None,
    ) -> None:
        check_model(model)
        if index is not None:
            index.check_vocabulary(model.vocabulary)
        self.model, self.index = model, index
        self._value, self._limits = value, limits or Limits()
        # The vocabulary in which special tokens that a spec names have bytes.
        self._spelling = model.vocabulary
        self._free = FreeGuide(model.vocabulary) if index is None else None

    @suggest_keywords()
    def __call__(
        self,
        prompt: Prompt,
        max_tokens: int = 200,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        method: Method = "mask",
        particles: int | None = None,
        attempts: int | None = None,
        resample: Resampling = "token",
        scores: bool = False,
        tokenization: Tokenization = "any",
        repetition_penalty: float | None = None,
        logprobs: int | None = None,
        retries: int = 0,
        on_budget: OnBudget = "complete",
    ) -> Result[T_co]:
        """Generate one text.

        Parameters
        ----------
        prompt : str or list of messages
            A str is completed as is. Messages in the format of OpenAI's API (dicts with ``role`` and ``content``, including tool calls
            and results) are rendered by the model's chat template.
        max_tokens : int
            Maximum number of tokens to generate; ``on_budget`` says what happens if the model wants more.
        temperature : float, optional
            With ``method="mask"``: 0, the default, takes the best allowed token at each step; 1 samples each token from the model's own
            distribution, renormalized over the allowed tokens. The other methods take 1 only.
        top_k, top_p, min_p : optional
            See `guided.generate.sampler`; applied in this order, after the mask and the temperature. For ``method="mask"`` only.
        seed : int, optional
            The same seed gives the same text.
        stop : str or sequence of str, optional
            Strings that end the text, which is truncated before them.
        method : {"mask", "smc", "rejection", "beam"}
            How the text is found (`guided.generate.search`). ``"mask"`` chooses token by token, which distorts the probabilities of whole
            texts. ``"smc"`` and ``"rejection"`` sample from the model's own distribution of texts that satisfy the constraint, the former
            approximately and the latter exactly. ``"beam"`` takes a text with a high probability.
        particles : int, optional
            Number of particles of ``"smc"`` (by default 8), of prefixes that ``"beam"`` keeps (8), or of samples that ``"rejection"`` draws
            (1). ``"smc"`` and ``"beam"`` compute up to as many rows of a batch at once; memory grows with it.
        attempts : int, optional
            Maximum number of texts that ``"rejection"`` may reject or accept for all samples; 1,000 by default.
        resample : {"token", "segment"}
            Where ``"smc"`` compares particles and resamples them: after every token, or by their weights at the end of their last segment,
            which ends with a space or punctuation.
        scores : bool
            Whether ``"mask"`` computes ``scores`` too, as the other methods do; each forced token then costs a forward pass.
        tokenization : {"any", "canonical"}
            ``"canonical"`` allows only the tokens to which the tokenizer itself encodes the generated text. With ``"any"``, the model may
            spell it in other tokens. See docs/sampling.md for the tokenizers supported.
        repetition_penalty : float, optional
            With a penalty above 1, tokens that occur in the prompt or in the text so far are less likely: their logits are divided by it if
            positive, and multiplied by it if negative, before the mask and the temperature. For ``method="mask"`` only.
        logprobs : int, optional
            ``logprobs`` of the result has the log-probability of each token under the model, and this number of most probable tokens in its
            place; 0: none of them. Each token then costs a forward pass, forced ones too. For ``method="mask"`` only.
        retries : int
            How often to generate again, each time with ``max_tokens``, if the budget steered the text or validators of the type refuse the
            value of a complete text. The model reads the refused text and the error, as two messages or appended to a str prompt.
        on_budget : {"complete", "raise", "truncate"}
            What happens at the first token that the model chooses and that leaves too few tokens to complete the text. ``"complete"``: the
            budget chooses from here. The text is complete, but its values may be others than the model's: ``steered`` is the place of this
            token, and ``finish_reason`` is ``"length"``. ``"raise"``: the text ends, with an `IncompleteError`. ``"truncate"``: the model
            continues, and the text ends when ``max_tokens`` are used up, most likely with an `IncompleteError` in ``error``.

        Returns
        -------
        Result
            ``text``, ``value``, ``tokens``, ``finish_reason``, ``steered`` and ``forward_passes``; with a search also ``scores``,
            ``samples`` and ``log_z``. If a stop string or the budget cuts the text before it is complete, ``error`` is set and ``value``
            raises it.

        Raises
        ------
        IncompleteError
            With ``on_budget="raise"``, the text does not fit ``max_tokens``, or the budget ended it; ``text`` has the text so far. Streams
            and batches have the error in ``error`` of the result.
        SchemaError
            Validators of the type refuse the value; ``attempts`` has all texts if there were ``retries``.
        LimitError
            ``max_tokens`` is below the length of the shortest accepted text, or the prompt leaves too little of the model's context; or
            ``attempts`` were not enough.
        VocabularyError
            ``tokenization="canonical"``: the tokenizer is not supported.
        ModelError
            The model returned no usable logits, or has no chat template for messages.
        ValueError, TypeError
            An argument is out of range or has the wrong type.
        """
        events = self.stream(
            prompt,
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            seed=seed,
            stop=stop,
            method=method,
            particles=particles,
            attempts=attempts,
            resample=resample,
            scores=scores,
            tokenization=tokenization,
            repetition_penalty=repetition_penalty,
            logprobs=logprobs,
            retries=retries,
            on_budget=on_budget,
        )
        return self._returned(_result(list(events)), on_budget)

    @suggest_keywords(Options)
    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> Iterator[StreamEvent[T_co]]:
        """Generate one text as a stream of events.

        Parameters
        ----------
        prompt, **options
            As in `__call__`. They are checked before the first event.

        Returns
        -------
        iterator of Event
            ``Text`` events, then ``Done`` with the result. With a search, all events come when it is complete.
        """
        settings = Settings(**options)
        events = alone(self.model, self.coroutine(prompt, settings, settings.sampler()))
        return cast("Iterator[StreamEvent[T_co]]", events)

    @suggest_keywords(Options)
    def stream_async(self, prompt: Prompt, **options: Unpack[Options]) -> AsyncIterator[StreamEvent[T_co]]:
        """Like `stream`, without blocking the running event loop.

        The model computes in a thread; tools that are coroutine functions are awaited in the loop.

        Returns
        -------
        asynchronous iterator of Event
        """
        settings = Settings(**options)
        events = alone_async(self.model, self.coroutine(prompt, settings, settings.sampler()))
        return cast("AsyncIterator[StreamEvent[T_co]]", events)

    async def generate_async(self, prompt: Prompt, **options: Unpack[Options]) -> Result[T_co]:
        """Generate one text without blocking the running event loop; otherwise like `__call__`."""
        result = _result([event async for event in self.stream_async(prompt, **options)])
        return self._returned(result, options.get("on_budget"))

    @suggest_keywords(Options)
    def batch(self, prompts: Sequence[Prompt], width: int = 8, **options: Unpack[Options]) -> list[Result[T_co]]:
        """Generate one text per prompt, several at a time.

        Rows that advance together share each forward pass. Batched logits differ in the last bits from those of a single prompt, which can
        decide a near tie; ``width=1`` gives exactly the results of single calls. With a search, the prompts follow one another, since each
        has a batch of its own.

        Parameters
        ----------
        prompts : sequence of prompts
            Each as in `__call__`.
        width : int
            Number of prompts processed together; memory grows with it.
        **options
            As in `__call__`; the prompt at index i has the seed ``seed + i``.

        Returns
        -------
        list of Result
            In the order of the prompts.
        """
        if isinstance(prompts, str):
            raise TypeError("batch needs a list of prompts, not a single str")
        settings = Settings(**options)
        whole_number(width, "width", least=1)
        coroutines = [self.coroutine(prompt, settings, settings.sampler(place)) for place, prompt in enumerate(prompts)]
        if width == 1 or settings.method != "mask":
            return [_result(list(alone(self.model, coroutine))) for coroutine in coroutines]
        groups = (coroutines[begin : begin + width] for begin in range(0, len(coroutines), width))
        return [_result(events) for group in groups for events in together(self.model, group)]

    @suggest_keywords(Options)
    def sample(self, prompt: Prompt, n: int, width: int = 8, **options: Unpack[Options]) -> list[Result[T_co]]:
        """Draw several independent texts for one prompt, which is read once for each group of ``width`` texts.

        Parameters
        ----------
        prompt
            As in `__call__`.
        n : int
            Number of texts.
        width : int
            Number of texts processed together, as in `batch`.
        **options
            As in `__call__`, but the default temperature is 1. The text at index i has the seed ``seed + i``.

        Returns
        -------
        list of Result
            ``n`` results; texts may be equal.

        Raises
        ------
        ValueError
            ``temperature=0`` or ``method="beam"``, which always give the same text.
        """
        whole_number(n, "n", least=1)
        if options.get("temperature") is None:
            options["temperature"] = 1.0
        if n > 1 and (options["temperature"] == 0 or options.get("method") == "beam"):
            what = "temperature=0" if options["temperature"] == 0 else "method='beam'"
            raise ValueError(f"{what} gives the same text {n} times: call the generator once")
        return self.batch([prompt] * n, width, **options)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt."""
        return self.model.prompt_tokens(prompt)

    def coroutine(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> TextCoroutine:
        """Return the coroutine that generates one text; raises at once if an argument is invalid."""
        tokens = self.prompt_tokens(prompt)
        first = self._attempt(tokens, settings, sampler)
        if not settings.retries:
            return first[1]

        def again(result: Result[Any], error: GuidedError) -> tuple[Decoding, TextCoroutine]:
            nonlocal prompt, tokens
            prompt, tokens = prompt_with_error(self.model, prompt, tokens, result, error, self.prompt_tokens)
            return self._attempt(tokens, settings, sampler)

        return with_retries(first, again, settings.retries)

    def _attempt(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> tuple[Decoding, TextCoroutine]:
        """One text after a prompt, and its state."""
        decoding = self._decoding(prompt, settings, sampler, settings.search(sampler))
        return decoding, self._coroutine(decoding, TextStream(settings.stops))

    def _decoding(self, prompt: Sequence[int], settings: Settings, sampler: Sampler, search: Search | None) -> Decoding:
        """The state at the start of a text; stop strings end the texts of the search."""
        guide: Steering
        if self._free is not None:
            guide = self._free
        else:
            assert self.index is not None
            guide = self.index.guide()
        return Decoding(
            guide,
            sampler,
            self.model.vocabulary,
            prompt,
            settings.max_tokens,
            self.model.context_length,
            search,
            settings.stops,
            settings.scores,
            self._limits if settings.is_canonical else None,
            settings.logprobs,
            settings.on_budget,
        )

    def _returned(self, result: Result[T_co], on_budget: OnBudget | None) -> Result[T_co]:
        """Return the result of a single text or raise its error; ``value`` raises an `IncompleteError` that nobody asked for."""
        is_asked_for = on_budget == "raise" and result.steered is not None
        if result.error is not None and (is_asked_for or not isinstance(result.error, IncompleteError)):
            raise result.error
        return result

    def _coroutine(self, decoding: Decoding, stream: TextStream) -> TextCoroutine:
        vocabulary = self._spelling
        while not stream.stopped and (token := (yield from decoding.next())) is not None:
            if piece := stream.push(vocabulary[token] or b""):
                yield Text(piece, steered=decoding.is_steered)
        if rest := stream.close():
            yield Text(rest, steered=decoding.is_steered)
        result = with_search(self._result(stream, decoding), decoding, vocabulary, stream.stops)
        yield Done(result, steered=result.steered is not None)

    def _result(self, stream: TextStream, decoding: Decoding) -> Result[T_co]:
        """The result of a text; an error replaces the value if a stop string or the budget cut the text."""
        is_steered = decoding.steered is not None
        finish_reason: FinishReason = "length" if is_steered else decoding.finish_reason or "stop_string"
        is_cut = stream.stopped or (is_steered and decoding.on_budget != "complete")
        error = budget_error(decoding, stream.text) if decoding.on_budget == "raise" else None
        value = None
        if error is None and is_cut and self.index is not None and not self.index.accepts(stream.text):
            cut = "a stop string" if stream.stopped else "the end of max_tokens"
            error = IncompleteError(f"the text has no value: {cut} cut it before it was complete", stream.text)
        if error is None:
            value = self._value(stream.text)
        tokens, n_passes, steered = tuple(decoding.tokens), decoding.forward_passes, decoding.steered
        return Result(stream.text, value, tokens, finish_reason, n_passes, error, steered=steered)

    def __repr__(self) -> str:
        return f"<Generator of {'free text' if self.index is None else self.index!r}>"

    def _repr_html_(self) -> str:
        """A summary for notebooks."""
        constraint = text_cell("none" if self.index is None else repr(getattr(self, "spec", self.index)))
        rows = {"model": text_cell(repr(self.model)), "constraint": constraint}
        return card(type(self).__name__, rows, "" if self.index is None else self.index._repr_html_())


def with_search(result: R, decoding: Decoding, vocabulary: Vocabulary, stops: tuple[str, ...]) -> R:
    """The result with the scores and log-probabilities of its tokens, and with the samples if it comes from one search.

    Parameters
    ----------
    result : Result
        Result without them.
    decoding : Decoding
        State at the end of the text.
    vocabulary : Vocabulary
        Spells the samples.
    stops : tuple of str
        Strings before which the samples end.
    """
    if decoding.scores is None and not decoding.found and not decoding.logprobs:
        return result
    samples, log_z = tuple[Sample, ...](), None
    if len(decoding.found) == 1:
        (found,) = decoding.found
        log_z = found.log_z
        samples = tuple(
            Sample(
                _text(text.tokens, vocabulary, stops),
                text.tokens,
                text.weight,
                text.scores,
                text.finish_reason,
                text.steered,
            )
            for text in found.texts
        )
    logprobs = tuple(decoding.logprobs or ())
    return replace(result, scores=decoding.scores, samples=samples, log_z=log_z, logprobs=logprobs)


def _text(tokens: Sequence[int], vocabulary: Vocabulary, stops: tuple[str, ...]) -> str:
    """The text of tokens, before any stop string."""
    stream = TextStream(stops)
    for token in tokens:
        stream.push(vocabulary[token] or b"")
    stream.close()
    return stream.text


def no_value(_text: str) -> Any:
    """Return None, for generators whose coroutines compute the values themselves."""
    return None


def _result(events: Sequence[Event]) -> Any:
    """The result in the last event of a stream."""
    last = events[-1]
    assert isinstance(last, Done)
    return last.result


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
            raise ValueError(f"stop[{place}] is empty, and would stop everything at once")
    return tuple(stop)
