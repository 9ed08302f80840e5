"""The functions that make generators of calls, `tools`, and of anything, `generator`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar, overload

from guided.calls.formats.format import Format
from guided.calls.running import Confirm
from guided.calls.spec import Tools
from guided.calls.tool import AnyTool
from guided.calls.tool_prompt import ShowTools
from guided.engine.index import Index
from guided.engine.specs import Choice, Spec, StackSpec
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.structured import JsonGenerator, JsonSpec
from guided.generate.texts import index_of
from guided.generate.tools import ToolsGenerator
from guided.keywords import suggest_keywords
from guided.limits import Limits

__all__ = ["generator", "tools"]

T = TypeVar("T")


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
    select: Literal["greedy", "score"] = "greedy",
    timeout: float | None = None,
    confirm: Confirm | None = None,
    show_tools: ShowTools = "auto",
    index: Index | None = None,
    limits: Limits | None = None,
) -> ToolsGenerator:
    """Texts with calls of tools in them; the calls are run, and the model goes on from their results.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    tools : Tools, or iterable of callable, Mapping, Tool or MCP tool
        What can be called. A `Tools` spec brings its own format, choice and strictness.
    format, tool_choice, parallel_tool_calls, strict, reasoning
        As in `Tools`; ``format="auto"`` is what the model's chat template says.
    execute : bool
        Are calls run? If not (a dry run), or where a tool has nothing to run, a text ends with its first call; with
        ``parallel_tool_calls`` it goes on, without results. Either way ``finish_reason`` is ``"tool_calls"``.
    call_prompt : str or callable, optional
        A prompt of its own for calls, injected when one begins and taken away when it is complete; a callable is given the
        text so far.
    until : str, optional
        A tool, such as a planner's ``Finish``: calls follow each other, each answered, until this one is called without an error, and
        the text ends there. The budget is kept: what is left last is enough for that call.
    errors : {"show", "raise"}
        What a tool raises, a timeout included, is shown to the model as its result, or raised. StopIteration and
        StopAsyncIteration are raised as a `CallError` from them, since they would end the caller's loop.
    select : {"greedy", "score"}
        How the name of a tool is chosen: token by token, or by the scores of whole names, as in `choice`; that costs one
        forward pass for each prefix that a name goes on from, in each call.
    timeout : float, optional
        Seconds that a call may take to run; ``math.inf`` is no limit, as is None. A function that is too late is left to
        itself in its thread; a coroutine is cancelled.
    confirm : callable, optional
        Given each `Call` before it is run, says whether it may be: True, False, or a text that says why not. A refused call has
        the refusal as its result, for the model to see. It may be a coroutine function; what it raises is raised.
    show_tools : {"auto", "template", "prompt", "never"}
        How a prompt of messages tells the model of the tools that it can call. ``"template"``: the chat template is given their
        definitions (`Tool.to_openai`). ``"prompt"``: a system prompt lists them and shows how a call is written. ``"auto"``: by
        the template if it takes tools, else by the system prompt. ``"never"``: not at all, only the mask knows them. A str is
        completed as it stands.
    index : Index, optional
        Of the same tools for the model's vocabulary, compiled before.
    limits : Limits, optional
        Budgets of the compile.

    Returns
    -------
    ToolsGenerator
        Its results' ``value`` is the list of calls; ``calls`` has them, too, each with ``name``, ``arguments`` (typed),
        ``result`` and ``span``.

    Raises
    ------
    SchemaError
        A tool cannot be lowered, two have one name, or the choice names none.
    PatternError, LimitError, VocabularyError, IndexFormatError
        As in `regex`.
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
    model: LanguageModel, spec_or_index: Spec | StackSpec | Index | None, *, limits: Limits | None = None
) -> Generator[str]: ...


@suggest_keywords()
def generator(
    model: LanguageModel, spec_or_index: Spec | StackSpec | Index | None, *, limits: Limits | None = None
) -> Generator[Any]:
    """Texts of any spec, or of an index compiled before.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    spec_or_index : Regex, Choice, Tools, JsonSchema, Index or None
        What may be said; `choice` and `tools` have more options for theirs, such as ``select="score"``. None: anything, the
        model's own text without a guide, for comparison.
    limits : Limits, optional
        Budgets of the compile.

    Returns
    -------
    Generator
        Its results' ``value`` is the text; of `JsonSchema`, `Choice` and `Tools` the value that `guided.json`, `guided.choice` and
        `guided.tools` give.

    Raises
    ------
    PatternError, SchemaError, LimitError
        The spec can not be compiled.
    VocabularyError
        The vocabulary can not spell any text of the spec, or the index was compiled for another vocabulary.
    """
    check_model(model)
    if isinstance(spec_or_index, Tools):
        return ToolsGenerator(model, spec_or_index, limits=limits)
    if spec_or_index is None or isinstance(spec_or_index, Index):
        return Generator(model, spec_or_index)
    if isinstance(spec_or_index, JsonSpec):
        return JsonGenerator(model, index_of(spec_or_index, model, None, limits), spec_or_index)
    if isinstance(spec_or_index, Choice):
        return Generator(model, index_of(spec_or_index, model, None, limits), spec_or_index.read)
    return Generator(model, index_of(spec_or_index, model, None, limits))
