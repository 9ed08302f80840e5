"""`ToolsGenerator`: text, calls in it, and the results of the calls, which the model reads and goes on from.

What happens within a text is told in `guided.generate.writing`; here is what all texts of the same tools share.

Tokens that the model chooses count towards ``max_tokens``; inserted ones do not. A call that begins always ends: near the end of the
budget only calls that fit are begun. Stop strings apply to free text, never within a call.

With ``select="score"`` a tool is chosen by its whole name (`guided.generate.scoring`): token by token, a model that wants a name that
is not there may be led astray by how it begins. Arguments are chosen token by token all the same.

With ``call_prompt`` a prompt of its own is injected when a call begins (ToolDec, figure 6): the model reads it, then what it has written
of the call, and goes on with that; when the call is complete, the context is restored as if the call had been written there.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Generator as Generated
from typing import Any, Literal, Unpack, cast

from guided.calls.prompts import few_shot
from guided.calls.running import Confirm
from guided.calls.spec import Tools
from guided.calls.tool import Example
from guided.calls.tool_prompt import ShowTools, ToolPrompt, check_show_tools
from guided.calls.waiting import seconds
from guided.engine.index import Index
from guided.errors import LimitError, shown
from guided.events import Call, Event, ToolEvent, ToolsResult
from guided.generate.course import Course
from guided.generate.decoding import Decoding, Script
from guided.generate.drivers import alone, alone_async
from guided.generate.generator import Generator, Options, Settings, no_value
from guided.generate.model import LanguageModel, Prompt, check_model
from guided.generate.sampler import Sampler
from guided.generate.writing import CallPrompt, Manner, Writing
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.vocabulary.markers import with_markers

__all__ = ["ToolStream", "ToolStreamAsync", "ToolsGenerator"]


class ToolsGenerator(Generator[list[Call]]):
    """Generates texts with calls of tools in them, runs the calls, and lets the model go on from their results.

    Made by `guided.tools`.

    Parameters
    ----------
    model : LanguageModel
        Gives the logits.
    spec : Tools
        What may be said.
    index : Index, optional
        Of the spec, or of its ``first_call()``, over the model's vocabulary.
    execute : bool
        Are calls run? If not, or where a tool has nothing to run, a text ends with its first call; with the spec's
        ``parallel_tool_calls`` it goes on, without results. Either way ``finish_reason`` is ``"tool_calls"``.
    call_prompt : str or callable, optional
        What is injected when a call begins; a callable is given the text so far.
    until : str, optional
        The tool with whose call a text ends.
    errors : {"show", "raise"}
        What a tool raises, a timeout included, is shown to the model as its result, or raised. StopIteration and
        StopAsyncIteration are raised as a `CallError` from them, since they would end the caller's loop.
    select : {"greedy", "score"}
        How the name of a tool is chosen: token by token, or by the scores of whole names, at the cost of one forward pass
        for each prefix that a name goes on from.
    timeout : float, optional
        Seconds that a call may take to run; ``math.inf`` is no limit, as is None.
    confirm : callable, optional
        Says whether a call may be run (`guided.calls.running`).
    show_tools : {"auto", "template", "prompt", "never"}
        How a prompt of messages tells the model of the tools; as in `guided.tools`.
    limits : Limits, optional
        Budgets of the compile.

    Raises
    ------
    LimitError
        A budget of the compile is passed.
    VocabularyError
        The vocabulary cannot spell any text of the spec, or the index was compiled for another vocabulary.
    IndexFormatError
        The index is of another spec.
    """

    index: Index

    def __init__(
        self,
        model: LanguageModel,
        spec: Tools,
        index: Index | None = None,
        *,
        execute: bool = True,
        call_prompt: CallPrompt | None = None,
        until: str | None = None,
        errors: Literal["show", "raise"] = "show",
        select: Literal["greedy", "score"] = "greedy",
        timeout: float | None = None,
        confirm: Confirm | None = None,
        show_tools: ShowTools = "auto",
        limits: Limits | None = None,
    ) -> None:
        check_model(model)
        check_show_tools(show_tools)
        if select not in ("greedy", "score"):
            raise ValueError(f"select is 'greedy' or 'score', not {shown(select)}")
        if errors not in ("show", "raise"):
            raise ValueError(f"errors is 'show' or 'raise', not {shown(errors)}")
        if confirm is not None and not callable(confirm):
            raise TypeError(f"confirm is a function of a call, not {type(confirm).__name__}")
        has_segments = spec.is_running_text and (execute or not spec.parallel_tool_calls)
        course = Course(model, spec, has_segments, index, until, limits)
        # The values are those of `Writing`.
        super().__init__(model, course.index, no_value)
        self.spec = spec
        is_shown = show_tools != "never" and bool(spec.layouts)
        self._tool_prompt = ToolPrompt(spec, show_tools, until, model) if is_shown else None
        self._manner = Manner(
            model=model,
            spec=spec,
            course=course,
            until=until,
            spelling=with_markers(model.vocabulary, spec.markers),
            runnable={tool.name: tool for tool in spec.tools if execute and tool.run is not None},
            has_segments=has_segments,
            call_prompt=call_prompt,
            errors=errors,
            select=select,
            timeout=seconds(timeout),
            confirm=confirm,
        )

    def few_shot(self, question: str, plain: Iterable[Example | Mapping[str, Any] | tuple[str, str]] = ()) -> str:
        """A prompt of the tools' own examples that ends with a question (`guided.calls.prompts`)."""
        return few_shot(self.spec, question, plain)

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
    ) -> ToolsResult:
        """Generate one text; as `Generator.__call__`. The result has the ``calls``, too."""
        result = super().__call__(prompt, max_tokens, temperature, top_k, top_p, min_p, seed, stop)
        return cast("ToolsResult", result)

    async def generate_async(self, prompt: Prompt, **options: Unpack[Options]) -> ToolsResult:
        """As a call, within a running event loop."""
        return cast("ToolsResult", await super().generate_async(prompt, **options))

    @suggest_keywords(Options)
    def batch(self, prompts: Sequence[Prompt], width: int = 8, **options: Unpack[Options]) -> list[ToolsResult]:  # type: ignore[override]
        """As `Generator.batch`."""
        return cast("list[ToolsResult]", super().batch(prompts, width, **options))

    @suggest_keywords(Options)
    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> "ToolStream":
        """Generate one text, as events; as `Generator.stream`, and calls may be asked for on the way (`ToolStream.enter`)."""
        writing = self._started(prompt, options)
        return ToolStream(alone(self.model, writing.script()), writing)

    @suggest_keywords(Options)
    def stream_async(self, prompt: Prompt, **options: Unpack[Options]) -> "ToolStreamAsync":
        """As `stream`, within a running event loop; as `Generator.stream_async`."""
        writing = self._started(prompt, options)
        return ToolStreamAsync(alone_async(self.model, writing.script()), writing)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The tokens that the model reads first; those of messages tell it of the tools.

        Raises
        ------
        ModelError
            The model has no chat template for messages, its template refuses them, or it takes no tools and must.
        LimitError
            ``context``: the tools are more than the model can read.
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

    def script(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> Script:
        """The coroutine that generates one text; raises at once what is wrong with its arguments."""
        return self._writing(prompt, settings, sampler).script()

    def _started(self, prompt: Prompt, options: Options) -> Writing:
        settings = Settings(**options)
        return self._writing(self.prompt_tokens(prompt), settings, settings.sampler())

    def _writing(self, prompt: Sequence[int], settings: Settings, sampler: Sampler) -> Writing:
        guide = self.index.guide()
        vocabulary, context_length = self.model.vocabulary, self.model.context_length
        decoding = Decoding(guide, sampler, vocabulary, prompt, settings.max_tokens, context_length)
        return Writing(self._manner, decoding, settings.stops)

    def __repr__(self) -> str:
        return f"<ToolsGenerator of {self.spec!r}>"


class ToolStream(Iterator[ToolEvent]):
    """The events of one text with calls in it.

    Parameters
    ----------
    events : iterator of Event
        Of the text.
    writing : Writing
        The text.
    """

    def __init__(self, events: Generated[Event, None, None], writing: Writing) -> None:
        self._events, self._writing = events, writing

    def __next__(self) -> ToolEvent:
        return cast("ToolEvent", next(self._events))

    def close(self) -> None:
        """End the text here."""
        self._events.close()

    def enter(self, tool: str | None = None) -> None:
        """Have a call begin now, whatever the model would have written: before the first event, or after any.

        Parameters
        ----------
        tool : str, optional
            Which tool is called; the model chooses otherwise.

        Raises
        ------
        ValueError
            A call has begun, the text has ended, or it is none in which calls begin.
        SchemaError
            There is no such tool.
        LimitError
            The shortest call does not fit into what is left of ``max_tokens``.
        """
        self._writing.enter(tool)


class ToolStreamAsync(AsyncIterator[ToolEvent]):
    """As `ToolStream`, within a running event loop."""

    def __init__(self, events: AsyncGenerator[Event, None], writing: Writing) -> None:
        self._events, self._writing = events, writing

    async def __anext__(self) -> ToolEvent:
        return cast("ToolEvent", await anext(self._events))

    async def aclose(self) -> None:
        """End the text here."""
        await self._events.aclose()

    def enter(self, tool: str | None = None) -> None:
        """As `ToolStream.enter`."""
        self._writing.enter(tool)
