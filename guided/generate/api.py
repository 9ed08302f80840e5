"""Factory functions: `tools` for generators with tool calls, `generator` for any spec."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar, overload

from guided.calls.formats.format import Format
from guided.calls.running import Confirm
from guided.calls.spec import Tools
from guided.calls.tool import AnyTool
from guided.calls.tool_prompt import ShowTools
from guided.engine.algebra import Composition
from guided.engine.index import Index
from guided.engine.specs import Choice, Spec, StackSpec
from guided.generate.compositions import CompositionGenerator
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.structured import JsonGenerator, JsonSpec
from guided.generate.texts import index_of
from guided.generate.tools import ToolsGenerator
from guided.keywords import refuse_options_of, suggest_keywords
from guided.limits import Limits

__all__ = ["generator", "tools"]

T = TypeVar("T")


@refuse_options_of(Tools, "tools", "format", "tool_choice", "parallel_tool_calls", "strict", "reasoning")
@suggest_keywords()
def tools(
    model: LanguageModel,
    tools: Tools | Iterable[AnyTool],
    *,
    format: "str | PathLike[str] | Format" = "json",  # noqa: A002 - the contract's name
    tool_choice: str | Iterable[str] | Mapping[str, Any] = "auto",
    parallel_tool_calls: bool | Sequence[int | None] = False,
    strict: bool = True,
    reasoning: bool | Sequence[str] = False,
    execute: bool = True,
    call_prompt: str | Callable[[str], str] | None = None,
    until: str | None = None,
    errors: Literal["show", "raise"] = "show",
    select: Literal["greedy", "score", "probability"] = "greedy",
    timeout: float | None = None,
    confirm: Confirm | None = None,
    run_steered: bool = False,
    show_tools: ShowTools = "auto",
    index: Index | None = None,
    limits: Limits | None = None,
) -> ToolsGenerator:
    """Generate text that contains tool calls, run the calls, and continue from their results.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    tools : Tools, or iterable of callable, Mapping, Tool or MCP tool
        Tools that can be called. A `Tools` spec has its own format, choice and strictness, and these options are refused with it.
    format, tool_choice, parallel_tool_calls, strict, reasoning
        As in `Tools`; ``format="auto"`` takes the format from the model's chat template.
    execute : bool
        Whether to run the calls. If not (a dry run), or if a tool has no function to run, a text ends with its first call; with
        ``parallel_tool_calls`` it continues without results. Either way ``finish_reason`` is ``"tool_calls"``.
    call_prompt : str or callable, optional
        A separate prompt for calls, injected when a call begins and removed when it is complete; a callable receives the text so far.
    until : str, optional
        A tool, such as a planner's ``Finish``. Calls follow each other, each answered, until this tool is called without an error; the
        text ends there. The end of the token budget is reserved for that call, which may be steered.
    errors : {"show", "raise"}
        Whether to show the model an exception of a tool (including a timeout) as the result, or to raise it. StopIteration and
        StopAsyncIteration are raised as a `CallError` from them, because they would end the caller's loop.
    select : {"greedy", "score", "probability"}
        How the name of a tool is chosen: token by token, or by the scores of whole names, as in `choice`. Scoring costs, in each call,
        one forward pass for each distinct prefix of the names. ``"probability"`` takes the most probable name over all its spellings in
        tokens, up to an error of 0.001; with a temperature above 0 it draws a name. It costs one pass for each prefix that may matter.
    timeout : float, optional
        Seconds that a call may take; None and ``math.inf`` mean no limit. After a timeout, a function keeps running in its thread and a
        coroutine is cancelled.
    confirm : callable, optional
        Receives each `Call` before it runs and returns True, False, or a text with the reason for the refusal. The model sees the
        refusal as the call's result. May be a coroutine function; its exceptions propagate.
    run_steered : bool
        Whether to run calls that the budget steered (``call.steered``): near the end of ``max_tokens``, their names and arguments may be
        others than the model wanted. If not, the model sees the refusal as the call's result. If so, ``confirm`` still decides on each.
        The call of ``until`` runs in either case.
    show_tools : {"auto", "template", "prompt", "never"}
        How a prompt of messages presents the tools to the model. ``"template"``: the chat template receives their definitions
        (`Tool.to_openai`). ``"prompt"``: a system prompt lists them and shows how to write a call. ``"auto"``: the template if it takes
        tools, otherwise the system prompt. ``"never"``: not at all; only the mask enforces them. A str prompt is completed as is.
    index : Index, optional
        An index of the same tools for the model's vocabulary.
    limits : Limits, optional
        Compile budgets.

    Returns
    -------
    ToolsGenerator
        ``value`` and ``calls`` of its results are the list of calls, each with ``name``, ``arguments`` (typed), ``result`` and
        ``span``.

    Raises
    ------
    SchemaError
        A tool cannot be lowered, two tools have the same name, or the choice names no tool.
    PatternError, LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    TypeError, ValueError
        An argument has the wrong type, or an option has no effect together with the others.
    """
    check_model(model)
    spec = tools
    if not isinstance(spec, Tools):
        spec = Tools(
            spec, format, tool_choice, parallel_tool_calls, strict, reasoning=reasoning, chat_template=model
        )  # fmt: skip
    return ToolsGenerator(
        model,
        spec,
        index,
        execute=execute,
        call_prompt=call_prompt,
        until=until,
        errors=errors,
        select=select,
        timeout=timeout,
        confirm=confirm,
        run_steered=run_steered,
        show_tools=show_tools,
        limits=limits,
    )


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, spec_or_index: Tools, *, limits: Limits | None = None
) -> ToolsGenerator: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, spec_or_index: JsonSpec[T], *, limits: Limits | None = None
) -> JsonGenerator[T]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, spec_or_index: Choice[T], *, limits: Limits | None = None
) -> Generator[T]: ...


@overload
def generator(
    model: LanguageModel, spec_or_index: Composition, *, limits: Limits | None = None
) -> CompositionGenerator: ...


@overload
def generator(
    model: LanguageModel, spec_or_index: Spec | StackSpec | Index | None, *, limits: Limits | None = None
) -> Generator[str]: ...


@suggest_keywords()
def generator(
    model: LanguageModel, spec_or_index: Spec | StackSpec | Composition | Index | None, *, limits: Limits | None = None
) -> Generator[Any]:
    """Make a generator for any spec or compiled index.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    spec_or_index : Regex, Choice, Tools, JsonSchema, composition, Index or None
        The constraint. `choice` and `tools` offer more options, such as ``select="score"``. None: unconstrained text, for comparison.
    limits : Limits, optional
        Compile budgets.

    Returns
    -------
    Generator
        ``value`` of its results is the text; for `JsonSchema`, `Choice` and `Tools`, the value that `guided.json`, `guided.choice` and
        `guided.tools` give.

    Raises
    ------
    PatternError, SchemaError, LimitError
        The spec cannot be compiled.
    VocabularyError
        The vocabulary cannot spell any text of the spec, or the index was compiled for another vocabulary.
    """
    check_model(model)
    if isinstance(spec_or_index, Composition):
        index = index_of(spec_or_index, model, None, limits)
        return CompositionGenerator(model, index, spec_or_index, limits)
    if isinstance(spec_or_index, Tools):
        return ToolsGenerator(model, spec_or_index, limits=limits)
    if spec_or_index is None or isinstance(spec_or_index, Index):
        return Generator(model, spec_or_index, limits=limits)
    if isinstance(spec_or_index, JsonSpec):
        return JsonGenerator(model, index_of(spec_or_index, model, None, limits), spec_or_index, limits)
    if isinstance(spec_or_index, Choice):
        return Generator(model, index_of(spec_or_index, model, None, limits), spec_or_index.read, limits=limits)
    return Generator(model, index_of(spec_or_index, model, None, limits), limits=limits)
