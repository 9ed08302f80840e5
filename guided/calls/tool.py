"""`Tool`: a name, typed parameters, and a function to run.

A tool is made from any callable (function, method, partial, class, object with ``__call__``) or from a JSON definition: OpenAI's (nested
or flat), Anthropic's ``input_schema``, MCP's ``inputSchema``. The constructor lowers the parameters, so it rejects a tool that cannot be
lowered. The parameters of an `Entry`, one of many tools of a document, are lowered when they are first needed.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol, TypeAlias, cast

from guided.automata.build import in_one_budget
from guided.calls.definitions import arguments_schema
from guided.calls.parameters import (
    Lowered,
    Parameter,
    of_definition,
    of_signature,
    together,
    whole_of,
)
from guided.errors import LimitError, SchemaError, brief, placed, shown
from guided.keywords import suggest_keywords
from guided.schema.formula.atoms import NO_CAPS, Caps
from guided.schema.frontend.callables import documentation_of, unwrapped
from guided.schema.frontend.json_values import check_levels
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.tool_definitions import closed_definition, definition_of, schema_in

__all__ = [
    "NAME",
    "AnyTool",
    "Definition",
    "Entry",
    "Example",
    "Source",
    "Tool",
    "as_example",
    "as_tool",
    "checked_name",
]

# Characters of a name. Blanks, quotes, brackets, commas and equals signs are excluded: they end a name in call formats.
NAME = re.compile(r"[\w.\-/:]+")


@dataclass(frozen=True, slots=True, repr=False)
class Example:
    """A question with the call that answers it, or with an answer alone.

    Attributes
    ----------
    question : str
        The user's question.
    answer : str
        The answer, after the call's result.
    call : Mapping or None
        Arguments by label; None if no call is needed.
    result : Any
        Return value of the tool.
    """

    question: str
    answer: str
    call: Mapping[str, Any] | None = None
    result: Any = None

    def __repr__(self) -> str:
        return f"Example({shown(self.question)}, {shown(self.answer)}, call={brief(self.call, 60)}, result={brief(self.result, 60)})"


class Source(Protocol):
    """A document that holds the schemas of many tools.

    Attributes
    ----------
    kind : str
    fingerprint : str
        SHA-256 in hex of the document.
    """

    kind: str
    fingerprint: str

    @property
    def data(self) -> Mapping[str, Any]:
        """The document as JSON; a source built from it gives the same schemas."""

    def schema(self, key: str) -> Mapping[str, Any]:
        """The schema of a tool's arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One tool of a document.

    Attributes
    ----------
    name : str
    description : str
    source : Source
    key : str
        Identifier of the tool in the source.
    run : callable or None
        Function to call with the arguments by name.
    """

    name: str
    description: str
    source: Source
    key: str
    run: Callable[..., Any] | None = None


class _Function(Protocol):
    """Any function, for type checkers: mypy infers a non-callable element type for a list of functions with different signatures."""

    @property
    def __code__(self) -> CodeType: ...


class Definition(Protocol):
    """An object with ``name``, ``description`` and ``inputSchema`` (or ``input_schema``), such as ``mcp.types.Tool``."""

    @property
    def name(self) -> str:
        """The tool's name."""


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Tool:
    """A tool that a model can call.

    Parameters
    ----------
    definition : callable, Mapping, object or Entry
        A callable; a JSON definition; an object with ``name``, ``description`` and ``inputSchema``, as in the MCP SDK; or an entry of a
        document.
    name : str, optional
        Name in calls; by default that of the callable or definition.
    types : Mapping, optional
        Parameter -> type of its values, which overrides the annotation: a `Regex`, a `Choice`, a compiled pattern or a pattern tree (a
        string that it matches in full), or any annotation.
    examples : iterable of Example, optional
        Few-shot examples, each a question that this tool answers; a dict with the fields of `Example` is accepted.
    description : str, optional
        Description for the model; by default the docstring's summary.
    run : callable, optional
        For a JSON definition: the function to call with the arguments by name. Without it, calls of the tool are not run.

    Raises
    ------
    SchemaError
        The name is invalid, or a parameter cannot be lowered; the error points at ``/tool/parameter``.
    PatternError
        A pattern is malformed.
    TypeError
        ``definition`` is none of these.

    Attributes
    ----------
    original : str
        Name in the source: the definition's name, or the operation of a document.

    Examples
    --------
    >>> def get_weather(city: str, day: Literal["today", "tomorrow"]) -> str: ...
    >>> Tool(get_weather).signature
    'get_weather(city: str, day: "today" | "tomorrow")'
    """

    name: str
    description: str
    examples: tuple[Example, ...]
    run: Callable[..., Any] | None
    types: Mapping[str, Any] = field(repr=False)
    schema: Any = field(repr=False)
    is_definition: bool = field(repr=False)
    original: str = field(repr=False)

    @suggest_keywords()
    def __init__(
        self,
        definition: Callable[..., Any] | Mapping[str, Any] | Definition | Entry,
        name: str | None = None,
        types: Mapping[str, Any] | None = None,
        examples: Iterable[Example | Mapping[str, Any]] = (),
        description: str | None = None,
        run: Callable[..., Any] | None = None,
    ) -> None:
        if (found := definition_of(definition)) is not None:
            definition = found
        is_definition = isinstance(definition, Mapping | Entry)
        if isinstance(definition, Entry):
            own, summary, schema = definition.name, definition.description, definition
            run = definition.run if run is None else run
        elif isinstance(definition, Mapping):
            own, summary, schema = _parts(definition)
        elif callable(definition):
            if run is not None:
                raise TypeError("run= is only for JSON definitions; this tool is a callable already")
            inner = unwrapped(definition)
            own, schema = getattr(inner, "__name__", type(inner).__name__), None
            if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
                raise SchemaError("a generator has no result to show: return a list", pointer_to(own), "yield")
            summary, _ = documentation_of(definition)
            run = definition
        else:
            raise TypeError(f"a tool must be a callable or a dict, not {type(definition).__name__}")
        values = {
            "name": checked_name(own if name is None else name),
            "description": summary if description is None else description,
            "examples": tuple(map(as_example, examples)),
            "run": run,
            "types": dict(types or {}),
            "schema": schema,
            "is_definition": is_definition,
            "original": definition.key if isinstance(definition, Entry) else str(own),
        }
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        if not isinstance(definition, Entry):
            # PERF: a context manager for the place would take a tenth of the time (`python -m benchmarks.inventory --definitions 100000`).
            try:
                in_one_budget(self.parameters)
            except LimitError:
                with placed(pointer_to(self.name)):
                    raise

    def __repr__(self) -> str:
        return f"<Tool {self.name[:60]}: {shown(self.description, 80)}>"

    def parameters(self, caps: Caps = NO_CAPS, strict: bool = True) -> tuple[Parameter, ...]:
        """Return the lowered parameters.

        Parameters
        ----------
        caps : Caps
            Bounds for values that have none of their own.
        strict : bool
            Whether a JSON definition that does not mention additional arguments allows none.
        """
        return tuple(_lowered(self, caps, strict).parameters)

    def together(self, caps: Caps, strict: bool) -> tuple[Parameter, ...]:
        """Return one parameter that stands for all arguments, which may come in any order.

        Raises
        ------
        SchemaError
            A JSON definition has other types (``types=``).
        """
        return (_together(self, caps, strict),)

    def never_written(self, caps: Caps = NO_CAPS, strict: bool = True) -> tuple[str, ...]:
        """Optional parameters that no value satisfies, so that no call has them. Fields within arguments are not listed.

        The arguments are those of `parameters`.

        Returns
        -------
        tuple of str
            JSON Pointers, ``/tool/parameter/...``.
        """
        return tuple(dict.fromkeys(_lowered(self, caps, strict).never))

    def to_openai(self, strict: bool = True) -> dict[str, Any]:
        """The tool in the format of OpenAI's API and of chat templates.

        Parameters
        ----------
        strict : bool
            Whether a JSON definition that does not mention additional arguments allows none, as in `Tools`.

        Returns
        -------
        dict
            ``{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}`` of plain JSON values;
            ``parameters`` is the JSON Schema of the arguments that calls can have. It omits optional parameters that no value
            satisfies.

        Raises
        ------
        SchemaError
            A parameter cannot be lowered (tools of documents are lowered when they are first needed).
        LimitError
            The schema exceeds the nesting limit.

        Examples
        --------
        >>> def add(a: int, b: int = 0) -> int: "Add two numbers."
        >>> Tool(add).to_openai()["function"]["parameters"]["properties"]
        {'a': {'type': 'integer'}, 'b': {'type': 'integer'}}
        """
        given = None
        if self.is_definition:
            schema = _schema_of(self)
            check_levels(schema)
            given = closed_definition(schema, strict)
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": arguments_schema(self.parameters(strict=strict), given),
        }
        return {"type": "function", "function": function}

    @property
    def signature(self) -> str:
        """The tool as a readable function signature."""
        shown = []
        for parameter in self.parameters():
            star = "*" if parameter.kind == "variadic" else ""
            tail = "" if parameter.required or star or parameter.kind == "others" else " = ..."
            shown.append(f"{star}{parameter.label}: {parameter.type.name}{tail}")
        return f"{self.name}({', '.join(shown)})"


# Everything that `as_tool` accepts.
AnyTool: TypeAlias = Tool | Callable[..., Any] | Mapping[str, Any] | Definition | _Function


def as_tool(item: AnyTool) -> Tool:
    """Return a `Tool` unchanged, or make one. Raises as `Tool` does."""
    return item if isinstance(item, Tool) else Tool(cast("Callable[..., Any]", item))


def as_example(item: Any) -> Example:
    """Make an example from a dict of its fields, or from a pair of question and answer.

    Raises
    ------
    TypeError
        The item is neither, or a field is unknown.
    """
    match item:
        case Example():
            return item
        case Mapping():
            return Example(**item)
        case (str() as question, str() as answer):
            return Example(question, answer)
        case _:
            raise TypeError(f"an example must be an Example, a dict or a pair of str, not {type(item).__name__}")


@lru_cache(maxsize=4096)
def _lowered(tool: Tool, caps: Caps, strict: bool) -> Lowered:
    if tool.is_definition:
        return of_definition(_schema_of(tool), tool.name, tool.types, strict, caps)
    assert tool.run is not None
    return of_signature(tool.run, tool.name, tool.types, documentation_of(tool.run)[1], caps)


@lru_cache(maxsize=4096)
def _together(tool: Tool, caps: Caps, strict: bool) -> Parameter:
    if not tool.is_definition:
        return together(tool.parameters(caps, strict), tool.name, caps)
    if tool.types:
        reason = "with other types, its arguments come one by one in the declared order: leave out types=, or give another format or order"
        raise SchemaError(reason, pointer_to(tool.name), "argument_order")
    return whole_of(_schema_of(tool), tool.name, strict, caps)


def _schema_of(tool: Tool) -> Any:
    """The JSON Schema of a definition's arguments."""
    if not isinstance(tool.schema, Entry):
        return tool.schema
    try:
        return tool.schema.source.schema(tool.schema.key)
    except SchemaError as error:
        raise SchemaError(error.reason, pointer_to(tool.name) + error.pointer, error.keyword) from error


def _parts(definition: Mapping[str, Any]) -> tuple[Any, str, Any]:
    """Name, description and schema of a definition."""
    inner = definition.get("function", definition)
    if not isinstance(inner, Mapping) or "name" not in inner:
        raise SchemaError("a definition needs a name", "", "name")
    description = inner.get("description")
    return inner["name"], description if isinstance(description, str) else "", schema_in(definition)


def checked_name(name: Any) -> str:
    """Return the name of a tool, or raise SchemaError or TypeError."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a tool must be a str, not {type(name).__name__}")
    if not NAME.fullmatch(name):
        reason = "a tool name must consist of letters, digits and _ . - / :, at least one character; give another with Tool(..., name=...)"
        raise SchemaError(reason, pointer_to(name), "name")
    return name
