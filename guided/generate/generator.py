"""Generators: a model and an index made into something to be asked.

A generator holds no state of a conversation: every call starts a guide of its own, and calls from several threads do
not meet. What differs between kinds of generators is their `script` (see `guided.generate.decoding`) and what a text
stands for.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar, Unpack, cast, overload

from guided.engine.index import Index
from guided.errors import IncompleteError
from guided.events import Done, Event, FinishReason, Result, StreamEvent, Text
from guided.generate.decoding import Decoding, FreeGuide, Script, Steering
from guided.generate.drivers import alone, alone_async, together
from guided.generate.model import LanguageModel, Prompt, check_model
from guided.generate.sampler import Sampler, whole_number
from guided.generate.stops import TextStream
from guided.keywords import suggest_keywords

__all__ = ["Generator", "Options", "Result", "Settings", "no_value"]

T_co = TypeVar("T_co", covariant=True)


class Options(TypedDict, total=False):
    """The keyword arguments of every call, with the meaning and defaults that `Generator.__call__` gives them."""

    max_tokens: int
    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a call.

    Attributes
    ----------
    max_tokens, temperature, top_k, top_p, min_p, seed, stop
        As in `Generator.__call__`.
    stops : tuple of str
        The stop strings.
    """

    max_tokens: int = 200
    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    stops: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        whole_number(self.max_tokens, "max_tokens", least=1)
        self.sampler()
        object.__setattr__(self, "stops", _stop_strings(self.stop))

    def sampler(self, place: int = 0) -> Sampler:
        """A sampler for the prompt at a place of a batch, which has the seed ``seed + place``."""
        seed = self.seed if self.seed is None or not place else self.seed + place
        return Sampler(self.temperature, self.top_k, self.top_p, self.min_p, seed)


class Generator(Generic[T_co]):
    """Generates texts that a spec accepts, and none other. ``Generator[T]``: the value of a text is a T.

    Made by `guided.regex`, `guided.choice`, `guided.grammar` and `guided.generator`.

    Parameters
    ----------
    model : LanguageModel
        Gives the logits.
    index : Index, optional
        Of the spec, over the model's vocabulary. None: free text.
    value : callable, optional
        From a complete text to its value; the text itself by default.

    Raises
    ------
    VocabularyError
        The index was compiled for another vocabulary than the model's.
    """

    @overload
    def __init__(self: "Generator[str]", model: LanguageModel, index: Index | None) -> None: ...

    @overload
    def __init__(self, model: LanguageModel, index: Index | None, value: Callable[[str], T_co]) -> None: ...

    def __init__(self, model: LanguageModel, index: Index | None, value: Callable[[str], Any] = str) -> None:
        check_model(model)
        if index is not None:
            index.check_vocabulary(model.vocabulary)
        self.model, self.index = model, index
        self._value = value
        self._free = FreeGuide(model.vocabulary) if index is None else None

    @suggest_keywords()
    def __call__(
        self,
        prompt: Prompt,
        max_tokens: int = 200,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
    ) -> Result[T_co]:
        """Generate one text.

        Parameters
        ----------
        prompt : str or list of messages
            A str is completed as it stands; messages, as OpenAI's API has them (dicts with ``role`` and ``content``, calls
            and results of tools too), go through the model's chat template.
        max_tokens : int
            The most tokens to generate. The text is complete all the same: the last tokens are steered to an end.
        temperature : float
            0 takes the best allowed token each time; 1 samples from the model's own distribution.
        top_k, top_p, min_p : optional
            See `guided.generate.sampler`; applied in this order, after the mask and the temperature.
        seed : int, optional
            Equal seeds give equal texts.
        stop : str or sequence of str, optional
            Strings that end the text; it is cut before them.

        Returns
        -------
        Result
            With ``text``, ``value``, ``tokens``, ``finish_reason`` and ``forward_passes``. Where a stop string cut the text before
            it was complete, ``error`` says so and ``value`` raises it.

        Raises
        ------
        LimitError
            ``max_tokens`` is below the shortest accepted text, or the prompt leaves too little of the model's context.
        ModelError
            The model gave no usable logits, or has no chat template for messages.
        ValueError, TypeError
            An argument out of range, or of a wrong type.
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
        )
        return self._returned(_result(list(events)))

    @suggest_keywords(Options)
    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> Iterator[StreamEvent[T_co]]:
        """Generate one text, as events.

        Parameters
        ----------
        prompt, **options
            As in a call. They are checked here, before the first event.

        Returns
        -------
        iterator of Event
            ``Text`` events, and ``Done`` with the result as the last one.
        """
        settings = Settings(**options)
        events = alone(self.model, self.script(self.prompt_tokens(prompt), settings, settings.sampler()))
        return cast("Iterator[StreamEvent[T_co]]", events)

    @suggest_keywords(Options)
    def stream_async(self, prompt: Prompt, **options: Unpack[Options]) -> AsyncIterator[StreamEvent[T_co]]:
        """As `stream`, within a running event loop, which goes on meanwhile.

        The model computes in a thread; tools that are coroutine functions are awaited in the loop.

        Returns
        -------
        asynchronous iterator of Event
        """
        settings = Settings(**options)
        events = alone_async(self.model, self.script(self.prompt_tokens(prompt), settings, settings.sampler()))
        return cast("AsyncIterator[StreamEvent[T_co]]", events)

    async def generate_async(self, prompt: Prompt, **options: Unpack[Options]) -> Result[T_co]:
        """Generate one text within a running event loop, as `stream_async` does; else as a call."""
        return self._returned(_result([event async for event in self.stream_async(prompt, **options)]))

    @suggest_keywords(Options)
    def batch(self, prompts: Sequence[Prompt], width: int = 8, **options: Unpack[Options]) -> list[Result[T_co]]:
        """Generate one text per prompt, several at a time.

        Rows that advance together share each forward pass. Numbers then differ in the last bits from those of a prompt
        alone, which can turn a near tie; ``width=1`` gives exactly what single calls give.

        Parameters
        ----------
        prompts : sequence of prompts
            Each as in a call.
        width : int
            How many at a time; memory grows with it.
        **options
            As in a call; the prompt at place i has the seed ``seed + i``.

        Returns
        -------
        list of Result
            In the order of the prompts.
        """
        if isinstance(prompts, str):
            raise TypeError("batch takes a list of prompts, not one str")
        settings = Settings(**options)
        whole_number(width, "width", least=1)
        scripts = [
            self.script(self.prompt_tokens(prompt), settings, settings.sampler(place))
            for place, prompt in enumerate(prompts)
        ]
        if width == 1:
            return [_result(list(alone(self.model, script))) for script in scripts]
        groups = (scripts[begin : begin + width] for begin in range(0, len(scripts), width))
        return [_result(events) for group in groups for events in together(self.model, group)]

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens that the model reads first."""
        return self.model.prompt_tokens(prompt)

    def script(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> Script:
        """The coroutine that generates one text; raises at once what is wrong with its arguments."""
        guide: Steering
        if self._free is not None:
            guide = self._free
        else:
            assert self.index is not None
            guide = self.index.guide()
        decoding = Decoding(
            guide, sampler, self.model.vocabulary, prompt, settings.max_tokens, self.model.context_length
        )
        return self._script(decoding, TextStream(settings.stops))

    def _returned(self, result: Result[T_co]) -> Result[T_co]:
        """Return the result of a single text; raise its error unless that is an `IncompleteError`, which ``value`` raises."""
        if result.error is not None and not isinstance(result.error, IncompleteError):
            raise result.error
        return result

    def _script(self, decoding: Decoding, stream: TextStream) -> Script:
        vocabulary = self.model.vocabulary
        while not stream.stopped and (token := (yield from decoding.next())) is not None:
            if piece := stream.push(vocabulary[token] or b""):
                yield Text(piece)
        if rest := stream.close():
            yield Text(rest)
        finish_reason = decoding.finish_reason or "stop_string"
        yield Done(self._result(stream, tuple(decoding.tokens), finish_reason, decoding.forward_passes))

    def _result(
        self, stream: TextStream, tokens: tuple[int, ...], finish_reason: FinishReason, forward_passes: int
    ) -> Result[T_co]:
        """The result of a text; an error in place of the value where a stop string cut the text."""
        error = value = None
        if stream.stopped and self.index is not None and not self.index.accepts(stream.text):
            error = IncompleteError("the text has no value: a stop string cut it before it was complete")
        else:
            value = self._value(stream.text)
        return Result(stream.text, value, tokens, finish_reason, forward_passes, error)

    def __repr__(self) -> str:
        return f"<Generator of {'free text' if self.index is None else self.index!r}>"


def no_value(_text: str) -> Any:
    """For generators whose scripts make the values themselves."""
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
