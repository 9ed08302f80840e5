"""Generators: a model and an index that together produce constrained text.

A generator holds no conversation state: every call creates its own guide, so calls from several threads are independent. Kinds of
generators differ in their `coroutine` (see `guided.generate.decoding`) and in how a text becomes a value.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from typing import Any, Generic, TypeVar, Unpack, cast, overload

from guided.engine.index import Index
from guided.errors import GuidedError, IncompleteError, kind_of, whole_number
from guided.events import Done, Event, FinishReason, Result, Sample, StreamEvent, Text
from guided.generate.decoding import Decoding, OnBudget, Search, TextCoroutine
from guided.generate.drivers import alone, alone_async, together
from guided.generate.model import LanguageModel, Prompt, check_model
from guided.generate.options import Beam, GenerationOptions, Settings, search_named
from guided.generate.retries import budget_error, prompt_with_error, with_retries
from guided.generate.sampler import Sampler
from guided.generate.steering import FreeGuide
from guided.generate.stops import TextStream
from guided.guide.guide import Guide
from guided.keywords import suggest_attributes, suggest_keywords
from guided.limits import Limits
from guided.progress import counting
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Generator", "Result", "TextReader", "check_index", "error_of_call", "no_value", "with_search"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Result[Any])


class TextReader:
    """Reads one text while it is written; this one yields no events and leaves the result as it is."""

    def feed(self, piece: str, is_steered: bool) -> Iterable[Event]:  # noqa: ARG002 - for others
        """Return the events of the next piece; ``is_steered``: whether the budget steered the text by then."""
        return ()

    def close(self, is_steered: bool) -> Iterable[Event]:  # noqa: ARG002 - for others
        """Return the events at the end of a text without an error."""
        return ()

    def result(self, result: R) -> R:
        """Return the result with what was read."""
        return result


# Results for each row that may wait for an earlier one.
_WAITING = 16


@suggest_attributes
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
            check_index(index)
            index.check_vocabulary(model.vocabulary)
        self.model, self.index = model, index
        self._value, self._limits = value, limits or Limits()
        # The vocabulary in which special tokens that a spec names have bytes.
        self._spelling = model.vocabulary
        # A guide of free text has one state, so all texts can share it.
        self._new_guide: Callable[[], Guide | FreeGuide] = (
            FreeGuide(model.vocabulary).fork if index is None else index.guide
        )

    @suggest_keywords(GenerationOptions)
    def __call__(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Result[T_co]:
        """Generate one text.

        Parameters
        ----------
        prompt : str or list of messages
            A str is completed as is. Messages in the format of OpenAI's API (dicts with ``role`` and ``content``, including tool calls
            and results) are rendered by the model's chat template.
        **options
            `GenerationOptions`: ``max_tokens``, ``temperature``, ``seed``, ``stop``, ``search`` and others.

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
            Validators of the type refuse the value, or fail; ``attempts`` has all refused texts.
        LimitError
            ``max_tokens`` is below the length of the shortest accepted text, or the prompt leaves too little of the model's context; or
            the ``attempts`` of a `Rejection` were not enough.
        VocabularyError
            ``tokenization="canonical"``: the tokenizer is not supported.
        ModelError
            The model returned no usable logits, or has no chat template for messages.
        ValueError, TypeError
            An argument is out of range or has the wrong type.
        """
        return self._returned(_result(list(self.stream(prompt, **options))), options.get("on_budget"))

    @suggest_keywords(GenerationOptions)
    def stream(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Iterator[StreamEvent[T_co]]:
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
        settings = Settings.of(options)
        events = alone(self.model, self.coroutine(prompt, settings, settings.sampler()))
        return cast("Iterator[StreamEvent[T_co]]", events)

    @suggest_keywords(GenerationOptions)
    def stream_async(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> AsyncIterator[StreamEvent[T_co]]:
        """Like `stream`, without blocking the running event loop.

        The model computes in a thread; tools that are coroutine functions are awaited in the loop.

        Returns
        -------
        asynchronous iterator of Event
        """
        settings = Settings.of(options)
        events = alone_async(self.model, self.coroutine(prompt, settings, settings.sampler()))
        return cast("AsyncIterator[StreamEvent[T_co]]", events)

    async def generate_async(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> Result[T_co]:
        """Generate one text without blocking the running event loop; otherwise like `__call__`."""
        result = _result([event async for event in self.stream_async(prompt, **options)])
        return self._returned(result, options.get("on_budget"))

    @suggest_keywords(GenerationOptions)
    def map(
        self,
        prompts: Iterable[Prompt | None],
        width: int = 8,
        *,
        ordered: bool = False,
        **options: Unpack[GenerationOptions],
    ) -> Iterator[tuple[int, Result[T_co]]]:
        """Generate one text per prompt, several at a time, and yield each as soon as it ends.

        As soon as a text ends, the next prompt takes its row, so rows stay busy, and the iterable may be of any length: a prompt is taken
        when there is a row for it. Rows that advance together share each forward pass. Batched logits differ in the last bits from those
        of a single prompt, which can decide a near tie; ``width=1`` gives exactly the results of single calls. With a search, the prompts
        follow one another, since each has a batch of its own. Progress is shown on stderr; the environment variable
        ``GUIDED_PROGRESS=0`` turns it off.

        Parameters
        ----------
        prompts : iterable of prompts
            Each as in `__call__`. None is skipped, but has an index: so work that was interrupted resumes with the same seeds.
        width : int
            Number of prompts processed together; memory grows with it.
        ordered : bool
            Yield results in the order of the prompts. Those that end earlier wait: at most 16 times ``width``; then rows wait, too.
        **options
            As in `__call__`; the prompt at index i has the seed ``seed + i``.

        Yields
        ------
        (int, Result)
            The index of a prompt and its result. If the text failed (its prompt is too long, or the chat template refuses it), ``error``
            of the result says why, and ``finish_reason`` is ``"error"``; other prompts are not affected.
        """
        if isinstance(prompts, str):
            raise TypeError("expected several prompts, not a single str")
        settings = Settings.of(options)
        whole_number(width, "width", least=1)
        return self._mapped(prompts, width, settings, _WAITING * width if ordered else None)

    def _mapped(
        self, prompts: Iterable[Prompt | None], width: int, settings: Settings, window: int | None
    ) -> Iterator[tuple[int, Result[T_co]]]:
        """Yield the results of prompts; in their order if there is a window, which is how many may wait for an earlier one."""
        # Places of the prompts that were taken and not yielded; unused if results have no order.
        open_places = deque[int]()

        def started() -> Iterator[tuple[int, TextCoroutine]]:
            for place, prompt in enumerate(prompts):
                if prompt is not None:
                    if window is not None:
                        open_places.append(place)
                    yield place, self._kept(prompt, place, settings)

        coroutines = started()
        if width == 1 or settings.search is not None:
            ended: Iterator[tuple[int, list[Event]]] = (
                (place, list(alone(self.model, coroutine))) for place, coroutine in coroutines
            )
        else:
            ended = together(self.model, coroutines, width, window)
        total = len(prompts) if isinstance(prompts, Sized) else None
        waiting = dict[int, Result[T_co]]()
        with counting("texts", total) as count:
            for n_ended, (place, events) in enumerate(ended, 1):
                count(n_ended)
                if window is None:
                    yield place, _result(events)
                    continue
                waiting[place] = _result(events)
                while open_places and open_places[0] in waiting:
                    yield open_places[0], waiting.pop(open_places.popleft())

    def _kept(self, prompt: Prompt, place: int, settings: Settings) -> TextCoroutine:
        """The coroutine of one text of several: an error is part of its result."""
        try:
            yield from self.coroutine(prompt, settings, settings.sampler(place))
        except GuidedError as error:
            yield Done(Result("", None, (), "error", 0, error))
        except Exception as error:
            error.add_note(f"of the prompt at index {place}")
            raise

    @suggest_keywords(GenerationOptions)
    def batch(
        self, prompts: Sequence[Prompt], width: int = 8, **options: Unpack[GenerationOptions]
    ) -> list[Result[T_co]]:
        """Generate one text per prompt, several at a time; return the list of the results of `map`, in the order of the prompts.

        None is not a prompt here: a result would have another place than its prompt.
        """
        prompts = prompts if isinstance(prompts, str) else list(prompts)
        if any(prompt is None for prompt in prompts):
            raise TypeError("None is not a prompt here; map skips it, and yields indices with the results")
        return [result for _, result in self.map(prompts, width, ordered=True, **options)]

    @suggest_keywords(GenerationOptions)
    def sample(
        self, prompt: Prompt, n: int, width: int = 8, **options: Unpack[GenerationOptions]
    ) -> list[Result[T_co]]:
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
            As in `__call__`, but the default temperature is 1. The text at index i has the seed ``seed + i``. A model rounds rows of a
            batch otherwise than a single row, so another ``width`` may give other texts.

        Returns
        -------
        list of Result
            ``n`` results; texts may be equal.

        Raises
        ------
        ValueError
            ``temperature=0`` or a `Beam`, which always give the same text.
        """
        whole_number(n, "n", least=1)
        if options.get("temperature") is None:
            options["temperature"] = 1.0
        is_beam = isinstance(search_named(options.get("search")), Beam)
        if n > 1 and (options["temperature"] == 0 or is_beam):
            what = "a beam" if is_beam else "temperature=0"
            raise ValueError(f"{what} gives the same text {n} times: call the generator once")
        results = self.batch([prompt] * n, width, **options)
        for result in results:
            if result.finish_reason == "error" and result.error is not None:
                raise result.error
        return results

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt."""
        return self.model.prompt_tokens(prompt)

    def coroutine(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> TextCoroutine:
        """Return the coroutine that generates one text; raises at once if an argument is invalid."""
        if settings.context is not None:
            raise TypeError("context is for tools: this generator has none")
        tokens = self.prompt_tokens(prompt)
        first = self._attempt(tokens, settings, sampler)

        def again(result: Result[Any], error: GuidedError) -> tuple[Decoding, TextCoroutine]:
            nonlocal prompt, tokens
            prompt, tokens = prompt_with_error(self.model, prompt, tokens, result, error, self.prompt_tokens)
            return self._attempt(tokens, settings, sampler)

        return with_retries(first, again, settings.retries)

    def _attempt(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> tuple[Decoding, TextCoroutine]:
        """One text after a prompt, and its state."""
        decoding = self._decoding(prompt, settings, sampler, settings.searched(sampler))
        return decoding, self._coroutine(decoding, TextStream(settings.stops))

    def _decoding(self, prompt: Sequence[int], settings: Settings, sampler: Sampler, search: Search | None) -> Decoding:
        """The state at the start of a text; stop strings end the texts of the search."""
        return Decoding(
            self._new_guide(),
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
        """Return the result of a single text or raise its error."""
        if (error := error_of_call(result, on_budget)) is not None:
            raise error
        return result

    def _coroutine(self, decoding: Decoding, stream: TextStream) -> TextCoroutine:
        vocabulary, reader = self._spelling, self._reader()
        while not stream.stopped and (token := (yield from decoding.next())) is not None:
            if piece := stream.push(vocabulary[token] or b""):
                yield Text(piece, steered=(is_steered := decoding.is_steered))
                yield from reader.feed(piece, is_steered)
        if rest := stream.close():
            yield Text(rest, steered=decoding.is_steered)
            yield from reader.feed(rest, decoding.is_steered)
        result = with_search(self._result(stream, decoding), decoding, vocabulary, stream.stops)
        is_steered = result.steered is not None
        if result.error is None:
            yield from reader.close(is_steered)
        yield Done(reader.result(result), steered=is_steered)

    def _reader(self) -> TextReader:
        return TextReader()

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


def error_of_call(result: Result[Any], on_budget: OnBudget | None) -> GuidedError | None:
    """The error that the call of one text raises; ``value`` raises an `IncompleteError` that nobody asked for."""
    is_asked_for = on_budget == "raise" and result.steered is not None
    return result.error if is_asked_for or not isinstance(result.error, IncompleteError) else None


def check_index(index: object) -> None:
    """Raise TypeError if the argument is not an `Index`."""
    if not isinstance(index, Index):
        raise TypeError(
            f"index must be an Index, as guided.compile returns it, not {kind_of(index)}; "
            "guided.generator(model, constraint) takes any constraint"
        )


def with_search(result: R, decoding: Decoding, vocabulary: Vocabulary, stops: tuple[str, ...]) -> R:
    """The result with the scores and log-probabilities of its tokens, and with the samples if it comes from one search.

    ``stops``: strings before which the samples end.
    """
    if decoding.scores is None and not decoding.found and not decoding.logprobs:
        return result
    samples, log_z = tuple[Sample, ...](), None
    if len(decoding.found) == 1:
        (found,) = decoding.found
        log_z = found.log_z
        samples = tuple(replace(one, text=_text(one.tokens, vocabulary, stops)) for one in found.texts)
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
    last = events[-1]
    assert isinstance(last, Done)
    return last.result
