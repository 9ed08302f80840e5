"""The functions that make generators: `regex`, `choice`, `tools`, `generator`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from guided.calls.formats import Format
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex, Spec, StackSpec
from guided.errors import IndexFormatError, shown
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.scoring import ScoredChoice
from guided.generate.structured import JsonGenerator, JsonSpec
from guided.generate.tools import ToolsGenerator
from guided.limits import Limits

__all__ = ["choice", "generator", "index_of", "regex", "tools"]


def regex(
    model: LanguageModel, pattern: str | Regex, *, index: Index | None = None, limits: Limits | None = None
) -> Generator:
    """Texts that a regular expression matches from end to end.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    pattern : str or Regex
        Python's ``re`` syntax.
    index : Index, optional
        Of the same pattern for the model's vocabulary, compiled before.
    limits : Limits, optional
        Budgets of the compile.

    Returns
    -------
    Generator
        Its results' ``value`` is the text.

    Raises
    ------
    PatternError
        The pattern is malformed, or asks for what no automaton can do.
    LimitError
        A budget of the compile is passed.
    VocabularyError
        The vocabulary can not spell any matching text, or the index was compiled for another vocabulary.
    IndexFormatError
        The index is of another pattern.
    """
    spec = pattern if isinstance(pattern, Regex) else Regex(pattern)
    return Generator(model, index_of(spec, model, index, limits))


def choice(
    model: LanguageModel,
    options: Iterable[str] | Choice,
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator:
    """Exactly one of some texts.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    options : iterable of str, or Choice
        At least one, none twice.
    select : {"greedy", "score"}
        ``"greedy"`` chooses token by token, as every generator does; that is myopic, since the best first token may lead
        to a bad option. ``"score"`` takes the option with the highest mean log-probability per token; it costs one
        forward pass for each prefix that an option goes on from (`guided.generate.scoring`).
    index, limits
        As in `regex`.

    Returns
    -------
    Generator
        Its results' ``value`` is the option.

    Raises
    ------
    SchemaError
        There is no option, or one stands twice.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    """
    if select not in ("greedy", "score"):
        raise ValueError(f"select is 'greedy' or 'score', not {shown(select)}")
    spec = options if isinstance(options, Choice) else Choice(options)
    if select == "score":
        return ScoredChoice(model, index_of(spec, model, index, limits), spec.options)
    return Generator(model, index_of(spec, model, index, limits))


def tools(
    model: LanguageModel,
    tools: Tools | Iterable[Tool | Callable[..., Any] | Mapping[str, Any]],
    *,
    format: str | Format = "json",  # noqa: A002 - the contract's name
    tool_choice: str | Iterable[str] | Mapping[str, Any] = "auto",
    parallel_tool_calls: bool = False,
    strict: bool = True,
    execute: bool = True,
    call_prompt: str | Callable[[str], str] | None = None,
    errors: Literal["show", "raise"] = "show",
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> ToolsGenerator:
    """Texts with calls of tools in them; the calls are run, and the model goes on from their results.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    tools : Tools, or iterable of callable, Mapping or Tool
        What can be called. A `Tools` spec brings its own format, choice and strictness.
    format, tool_choice, parallel_tool_calls, strict
        As in `Tools`.
    execute : bool
        Are calls run? If not, or where a tool has nothing to run, a text ends with its first call.
    call_prompt : str or callable, optional
        A prompt of its own for calls, injected when one begins and taken away when it is complete; a callable is given the
        text so far.
    errors : {"show", "raise"}
        What a tool raises is shown to the model as its result, or raised.
    select : {"greedy", "score"}
        How the name of a tool is chosen: token by token, or by the scores of whole names, as in `choice`.
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
    spec = tools if isinstance(tools, Tools) else Tools(tools, format, tool_choice, parallel_tool_calls, strict)
    return ToolsGenerator(
        model, spec, index, execute=execute, call_prompt=call_prompt, errors=errors, select=select, limits=limits
    )


def generator(
    model: LanguageModel, spec_or_index: Spec | StackSpec | Index | None, *, limits: Limits | None = None
) -> Generator:
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
        Its results' ``value`` is the text; of a `JsonSchema` what `guided.json` gives.

    Raises
    ------
    PatternError, SchemaError, LimitError
        The spec can not be compiled.
    VocabularyError
        The vocabulary can not spell any text of the spec, or the index was compiled for another vocabulary.
    """
    if isinstance(spec_or_index, Tools):
        return ToolsGenerator(model, spec_or_index, limits=limits)
    if spec_or_index is None or isinstance(spec_or_index, Index):
        return Generator(model, spec_or_index)
    if isinstance(spec_or_index, JsonSpec):
        return JsonGenerator(model, index_of(spec_or_index, model, None, limits), spec_or_index)
    return Generator(model, index_of(spec_or_index, model, None, limits))


def index_of(spec: Spec | StackSpec, model: LanguageModel, index: Index | None, limits: Limits | None) -> Index:
    """The given index, checked against the spec, or one compiled now; raises as `regex`."""
    check_model(model)
    if index is None:
        return compile(spec, model.vocabulary, limits)
    if not isinstance(index, Index):
        raise TypeError(f"index must be an Index, as guided.compile returns it, not {type(index).__name__}")
    if index.spec_fingerprint != spec.fingerprint:
        raise IndexFormatError(
            f"the index was compiled from another spec ({index.spec_fingerprint[:12]}) than the one given "
            f"({spec.fingerprint[:12]})"
        )
    return index
