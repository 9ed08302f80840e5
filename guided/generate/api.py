"""Factory functions: `tools` for generators with tool calls, `generator` for any spec."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from guided.calls.formats.detection import format_for
from guided.calls.formats.format import Format
from guided.calls.inputs import spec_of
from guided.calls.running import Confirm
from guided.calls.spec import Tools
from guided.calls.tool import AnyTool, Tool
from guided.calls.tool_prompt import ShowTools
from guided.engine.algebra import Composition
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.specs import AnySpec, Choice, TextOrMember
from guided.generate.compositions import CompositionGenerator
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.structured import JsonGenerator, JsonSpec
from guided.generate.texts import index_of
from guided.generate.tools import ToolsGenerator
from guided.generate.writing import ToolOptions
from guided.keywords import refuse_options_of, suggest_keywords
from guided.limits import Limits

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

__all__ = ["generator", "tools"]

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


@refuse_options_of(Tools, "tools", "format", "tool_choice", "parallel_tool_calls", "strict", "reasoning")
@suggest_keywords()
def tools(
    model: LanguageModel,
    tools: Tools | AnyTool | Iterable[AnyTool],
    *,
    format: "str | PathLike[str] | Format" = "auto",  # noqa: A002 - the contract's name
    tool_choice: str | Iterable[str] | Mapping[str, Any] = "auto",
    parallel_tool_calls: bool | Sequence[int | None] = False,
    strict: bool = True,
    reasoning: bool | Sequence[str] = False,
    execute: bool = True,
    call_prompt: str | Callable[[str], str] | None = None,
    until: str | None = None,
    errors: Literal["show", "raise"] = "show",
    select: Literal["greedy", "probability"] = "greedy",
    timeout: float | None = None,
    confirm: Confirm | None = None,
    run_steered: bool = False,
    concurrency: int | None = None,
    show_tools: ShowTools = "auto",
    index: Index | None = None,
    limits: Limits | None = None,
) -> ToolsGenerator:
    """Generate text that contains tool calls, run the calls, and continue from their results.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    tools : Tools, callable, Mapping, Tool or MCP tool, or iterable of these
        Tools that can be called. A `Tools` spec has its own format, choice and strictness, and these options are refused with it.
    format, tool_choice, parallel_tool_calls, strict, reasoning
        As in `Tools`; but the default ``format="auto"`` takes the format from the model's chat template, and JSON where the model has no
        template, or one that writes no tools. ``repr`` and the logger ``guided.generate`` name it.
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
    select : {"greedy", "probability"}
        How the name of a tool is chosen: token by token, or as a whole, since a name that the model prefers may begin like a wrong tool.
        ``"probability"`` takes the most probable name over all its spellings in tokens, up to an error of 0.001; with a temperature above
        0 it draws a name. It costs, in each call, one pass for each prefix of a name that may matter.
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
    concurrency : int, optional
        Maximum number of calls that run at a time, by default 8, of those between which no result is inserted: a list of calls, and all
        calls of a text that consists of calls. Coroutines run in one loop, functions in threads; results keep their order. 1: each call
        runs as soon as it is written, in the caller's thread.
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
        listed = (
            [spec] if callable(spec) or isinstance(spec, Mapping | Tool) or not isinstance(spec, Iterable) else spec
        )
        form = format_for(model) if format == "auto" else format
        spec = Tools(listed, form, tool_choice, parallel_tool_calls, strict, reasoning=reasoning)
    options = ToolOptions(
        execute, call_prompt, until, errors, select, timeout, confirm, run_steered, concurrency, show_tools
    )
    return ToolsGenerator(model, spec, index, options, limits=limits)


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: Tools, *, limits: Limits | None = None
) -> ToolsGenerator: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: JsonSpec[T], *, limits: Limits | None = None
) -> JsonGenerator[T]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: Choice[T], *, limits: Limits | None = None
) -> Generator[T]: ...


@overload
def generator(
    model: LanguageModel, constraint: Composition, *, limits: Limits | None = None
) -> CompositionGenerator: ...


@overload
def generator(model: LanguageModel, constraint: Index | Grammar, *, limits: Limits | None = None) -> Generator[Any]: ...


@overload
def generator(
    model: LanguageModel,
    constraint: "AnySpec | str | re.Pattern[str] | None",
    *,
    limits: Limits | None = None,
) -> Generator[str]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: type[E], *, limits: Limits | None = None
) -> Generator[E]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: "type[T] | TypeAdapter[T]", *, limits: Limits | None = None
) -> JsonGenerator[T]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: Sequence[TextOrMember], *, limits: Limits | None = None
) -> Generator[TextOrMember]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: Mapping[str, Any] | PathLike[str], *, limits: Limits | None = None
) -> Generator[Any]: ...


@overload
def generator(  # type: ignore[overload-overlap]
    model: LanguageModel, constraint: "TypeForm[T]", *, limits: Limits | None = None
) -> Generator[T]: ...


@overload
def generator(
    model: LanguageModel, constraint: AnyTool | Sequence[AnyTool], *, limits: Limits | None = None
) -> ToolsGenerator: ...


@suggest_keywords()
def generator(model: LanguageModel, constraint: Any, *, limits: Limits | None = None) -> Generator[Any]:
    """Make a generator for any constraint.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    constraint : type, dict, list, function, str, pattern, spec, Index or None
        A type (a pydantic model, a dataclass, ``list[int]``, ...): JSON of its values. An Enum, a ``Literal`` or a list of texts, numbers
        and Enum members: one of these. A dict: JSON of a schema or response format, or calls of a tool's definition. A function, or a
        list of functions and tools: calls of these, in the format of the model's chat template. A str: this text, letter for letter; a
        compiled pattern of ``re``: texts that it matches. A spec or a composition. An index, which reads its texts as the spec did that
        it was compiled from. None: unconstrained text. See `guided.calls.inputs`.

        `json`, `regex`, `choice`, `grammar` and `tools` make the same generators with more options.
    limits : Limits, optional
        Compile budgets.

    Returns
    -------
    Generator
        ``value`` of its results is an instance of the type, the parsed JSON, the chosen option, the list of calls, the parse tree of a
        grammar, or the text.

    Raises
    ------
    PatternError, SchemaError, GrammarError
        The constraint is malformed or cannot be enforced.
    LimitError
        A compile budget is exceeded.
    VocabularyError
        The vocabulary cannot spell any text of the constraint, or the index was compiled for another vocabulary.
    TypeError
        The constraint is none of these.
    """
    check_model(model)
    if constraint is None:
        return Generator(model, None, limits=limits)
    if isinstance(constraint, Index):
        return _reading(model, constraint, constraint.reader, limits)
    spec = spec_of(constraint, lambda items: Tools(items, format_for(model)))
    if isinstance(spec, Tools):
        return ToolsGenerator(model, spec, limits=limits)
    return _reading(model, index_of(spec, model, None, limits), spec, limits)


def _reading(model: LanguageModel, index: Index, spec: Any, limits: Limits | None) -> Generator[Any]:
    """The generator of an index, whose values are read as those of a spec."""
    if isinstance(spec, Tools):
        return ToolsGenerator(model, spec, index, limits=limits)
    if isinstance(spec, Composition):
        return CompositionGenerator(model, index, spec, limits)
    if hasattr(type(spec), "read_part"):
        return JsonGenerator(model, index, spec, limits)
    if isinstance(spec, Grammar):
        return Generator(model, index, spec.read, limits=limits)
    return Generator(model, index, getattr(spec, "read", str), limits=limits)
