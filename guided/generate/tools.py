"""`ToolsGenerator`: text, tool calls in it, and their results, from which the model continues.

`guided.generate.writing` generates a single text; this module holds the state that all texts of the same tools share.

Tokens that the model chooses count towards ``max_tokens``; inserted ones do not. Every call that begins is completed: near the end of the
budget only calls that fit can begin. But a call whose tokens the budget chose does not run, unless it is that of ``until``. Stop strings
apply to free text, never within a call.

With ``select="probability"`` a tool is chosen by the probability that the model gives its name, over all spellings of the name in tokens:
choosing token by token is greedy, so a model that wants a missing name may pick the wrong tool because of a shared prefix. Arguments are
always chosen token by token.

With ``call_prompt`` a separate prompt is injected when a call begins (ToolDec, figure 6). The model reads it and then the call so far, and
continues from there. When the call is complete, the context is restored as if the call had been written in it.
"""

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, Unpack

from guided.calls.prompts import few_shot
from guided.calls.spec import Tools
from guided.calls.tool import Example, Tool
from guided.calls.tool_prompt import ToolPrompt
from guided.engine.index import Index
from guided.errors import LimitError
from guided.events import Call, Event, StreamEvent
from guided.generate.decoding import TextCoroutine
from guided.generate.drivers import alone, alone_async
from guided.generate.generator import Generator, no_value
from guided.generate.model import LanguageModel, Prompt, check_model
from guided.generate.options import GenerationOptions, Settings
from guided.generate.sampler import Sampler
from guided.generate.segments import Segments
from guided.generate.writing import ToolConfig, ToolOptions, Writing
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.frontend.callables import context_names
from guided.vocabulary.vocabulary import with_markers

_logger = logging.getLogger("guided.generate")

__all__ = ["ToolStream", "ToolStreamAsync", "ToolsGenerator"]

T = TypeVar("T")


class ToolsGenerator(Generator[list[Call]]):
    """Generates text with tool calls, runs the calls, and continues from their results.

    Made by `guided.tools`. ``calls`` of its results are the calls, and so is ``value``, as a list.

    With a search, each segment is searched for itself: the text up to and including a call, whose result the model then reads. Stop strings
    end the text that was chosen, but not the texts of the search. ``retries`` must be 0: the model reads the error of a call in its result.

    A call that the budget steered does not run (see ``run_steered``). A call that ``on_budget="raise"`` or ``"truncate"`` cuts is in
    ``error.text``, but neither in ``text`` nor in ``calls``.

    Parameters
    ----------
    model, limits
        As in `Generator`.
    spec : Tools
        The tools and their call format.
    index : Index, optional
        Index of the spec or of its ``first_call()``, over the model's vocabulary.
    options : ToolOptions

    Raises
    ------
    LimitError
        A compile budget is exceeded.
    VocabularyError
        The vocabulary cannot spell any text of the spec, or the index was compiled for another vocabulary.
    IndexFormatError
        The index was compiled from another spec.
    """

    index: Index

    def __init__(
        self,
        model: LanguageModel,
        spec: Tools,
        index: Index | None = None,
        options: ToolOptions = ToolOptions(),  # noqa: B008 - immutable
        *,
        limits: Limits | None = None,
    ) -> None:
        check_model(model)
        execute, until = options.execute, options.until
        if options.select == "probability" and "{id}" in spec.format.before_name:
            raise ValueError(
                f"in format {spec.format.name!r} an id comes before a tool's name: select='probability' would weigh the ids, too; "
                "leave it out, or choose another format"
            )
        _logger.info("calls of %d tools in format %r", len(spec.argument_lists), spec.format.name)
        # Nothing follows the call of a `first_call()`.
        has_segments = spec.is_running_text and spec.texts.continues and (execute or not spec.parallel_tool_calls)
        segments = Segments(model, spec, has_segments, index, until, limits)
        # The values come from `Writing`.
        super().__init__(model, segments.index, no_value, limits=limits)
        self.spec = spec
        is_shown = options.show_tools != "never" and bool(spec.argument_lists)
        self._tool_prompt = ToolPrompt(spec, options.show_tools, until, model) if is_shown else None
        self._first_with_context = next((tool.name for tool in spec.tools if execute and _needs_context(tool)), "")
        self._config = ToolConfig(
            model=model,
            spec=spec,
            options=options,
            segments=segments,
            spelling=with_markers(model.vocabulary, spec.markers),
            runnable={tool.name: tool for tool in spec.tools if execute and tool.run is not None},
            has_segments=has_segments,
            prefixes=self._limits.prefixes,
        )

    def few_shot(self, question: str, plain: Iterable[Example | Mapping[str, Any] | tuple[str, str]] = ()) -> str:
        """Return a prompt with the tools' own examples, ending with `question` (`guided.calls.prompts`)."""
        return few_shot(self.spec, question, plain)

    @suggest_keywords(GenerationOptions)
    def stream(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> "ToolStream[list[Call]]":
        """Generate one text as events, like `Generator.stream`; the caller can start a call on the way (`ToolStream.enter`)."""
        writing = self._started(prompt, options)
        return ToolStream(alone(self.model, writing.coroutine()), writing.enter)

    @suggest_keywords(GenerationOptions)
    def stream_async(self, prompt: Prompt, **options: Unpack[GenerationOptions]) -> "ToolStreamAsync[list[Call]]":
        """Like `stream`, without blocking the running event loop (see `Generator.stream_async`)."""
        writing = self._started(prompt, options)
        return ToolStreamAsync(alone_async(self.model, writing.coroutine()), writing.enter)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens of a prompt; for messages, with the tool definitions that ``show_tools`` asks for.

        Raises
        ------
        ModelError
            The model has no chat template for messages, its template rejects them, or ``show_tools="template"`` and it takes no tools.
        LimitError
            ``context``: the prompt with the tool definitions exceeds the model's context.
        """
        if isinstance(prompt, str) or self._tool_prompt is None:
            return super().prompt_tokens(prompt)
        tokens = self.model.prompt_tokens(prompt, self._tool_prompt)
        most = self.model.context_length
        if most is not None and len(tokens) >= most:
            n_tools = len(self._tool_prompt.definitions)
            reason = (
                f"the prompt with the definitions of {n_tools:,} tools is longer than the model can read: allow fewer "
                "with tool_choice, or show none with show_tools='never'"
            )
            raise LimitError("context", len(tokens) + 1, most, reason)
        return tokens

    def coroutine(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> TextCoroutine:
        """Return the coroutine that generates one text; raises at once if an argument is invalid."""
        return self._writing(prompt, settings, sampler).coroutine()

    def _started(self, prompt: Prompt, options: GenerationOptions) -> Writing:
        settings = Settings.of(options)
        return self._writing(prompt, settings, settings.sampler())

    def _writing(self, prompt: Prompt, settings: Settings, sampler: Sampler) -> Writing:
        select = self._config.options.select
        if settings.retries:
            raise ValueError("a generator with tools shows errors as results of calls: retries must be 0")
        if settings.search is not None and select != "greedy":
            raise ValueError(
                f"select={select!r} chooses names by itself: search={settings.search} needs select='greedy'"
            )
        if settings.is_canonical and select != "greedy":
            raise ValueError(
                f"select={select!r} spells names by itself: tokenization='canonical' needs select='greedy'"
            )
        if settings.context is None and self._first_with_context:
            raise TypeError(f"tool {self._first_with_context!r} needs a context: pass context=...")
        # Stop strings apply to free text only, which `Writing` knows.
        tokens = self.prompt_tokens(prompt)
        decoding = self._decoding(tokens, replace(settings, stop=None), sampler, settings.searched(sampler))
        return Writing(self._config, decoding, settings.stops, settings.context)

    def __repr__(self) -> str:
        return f"<ToolsGenerator of {self.spec!r}>"


class ToolStream(Iterator[StreamEvent[T]]):
    """The events of one text; ``enter`` starts a call (`Writing.enter`), and ``record`` receives each event."""

    def __init__(
        self, events: Any, enter: Callable[[str | None], None], record: Callable[[Event], None] = lambda _: None
    ) -> None:
        self._events, self._enter, self._record = events, enter, record

    def __next__(self) -> StreamEvent[T]:
        event: StreamEvent[T] = next(self._events)
        self._record(event)
        return event

    def close(self) -> None:
        """Stop generating."""
        self._events.close()

    def enter(self, tool: str | None = None) -> None:
        """Start a call now, whatever the model would write next: before the first event, or after any.

        Parameters
        ----------
        tool : str, optional
            The tool to call; by default the model chooses.

        Raises
        ------
        ValueError
            A call has begun, the text has ended, or calls cannot begin in this text.
        SchemaError
            Unknown tool.
        LimitError
            The shortest call does not fit into the rest of ``max_tokens``.
        """
        self._enter(tool)


class ToolStreamAsync(AsyncIterator[StreamEvent[T]]):
    """Like `ToolStream`, for an event loop."""

    def __init__(
        self, events: Any, enter: Callable[[str | None], None], record: Callable[[Event], None] = lambda _: None
    ) -> None:
        self._events, self._enter, self._record = events, enter, record

    async def __anext__(self) -> StreamEvent[T]:
        event: StreamEvent[T] = await anext(self._events)
        self._record(event)
        return event

    async def aclose(self) -> None:
        """Stop generating."""
        await self._events.aclose()

    def enter(self, tool: str | None = None) -> None:
        """Like `ToolStream.enter`."""
        self._enter(tool)


def _needs_context(tool: Tool) -> bool:
    """Return whether a tool has a context without a default."""
    if tool.run is None or not (names := context_names(tool.run)):
        return False
    parameters = inspect.signature(tool.run).parameters
    return any(parameters[name].default is inspect.Parameter.empty for name in names)
