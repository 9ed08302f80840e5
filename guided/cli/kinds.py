"""The kinds of constraints of the command line: one table, `KINDS`.

A spec is given as plain data (a text, a list, some named options), from command options or from a file, and is built here. A new kind of
spec is one more entry of the table; spec files and ``guided compile`` then support it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guided.cli.boundary import UsageError, text_input
from guided.cli.output import TYPE_NAMES, type_name
from guided.schema.formula.atoms import CAPS

if TYPE_CHECKING:
    from guided.engine.specs import AnySpec, Spec, StackSpec

__all__ = ["KINDS", "Kind", "build_spec"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of constraint."""

    # Builds the spec from a value, the options, and the base folder of relative paths.
    build: Callable[[Any, Mapping[str, Any], Path], "AnySpec"]
    # Description of the value, for messages.
    value: str
    # Returns whether a value has the right type.
    fits: Callable[[Any], bool]
    # Names of the options and the types of their values.
    options: Mapping[str, tuple[type, ...]] = field(default_factory=dict)


def build_spec(kind: str, value: Any, options: Mapping[str, Any], folder: Path | None = None) -> "AnySpec":
    """Build a spec from plain data.

    ``folder``: of the file with the data; None on the command line, where a schema or grammar ``-`` is standard input.

    Raises
    ------
    UsageError
        The value or an option has the wrong type, an option is unknown, or tools or a type cannot be loaded.
    SchemaError, PatternError
        The data is not a valid spec. Errors in patterns are raised when the spec is lowered.
    """
    entry = KINDS[kind]
    if not entry.fits(value):
        raise UsageError(f"{kind} must be {entry.value}, not {type_name(value)}")
    if folder is not None and value == "-" and kind in ("json_schema", "grammar"):
        raise UsageError("- is standard input on the command line only: give a file or a text")
    for name, given in options.items():
        types = entry.options.get(name)
        if types is None:
            known = ", ".join(entry.options) or "none"
            raise UsageError(f"unknown option {name!r} of {kind}: known options are {known}")
        # Why by class: in Python booleans are integers.
        if type(given) not in types:
            wanted = " or ".join(TYPE_NAMES[kind] for kind in types)
            raise UsageError(f"{name} must be {wanted}, not {type_name(given)}")
    try:
        return entry.build(value, options, folder or Path())
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def _regex(value: str, options: Mapping[str, Any], _: Path) -> "Spec":
    from guided.engine.specs import Regex

    return Regex(value, **options)


def _choice(value: list[str], _: Mapping[str, Any], __: Path) -> "Spec":
    from guided.engine.specs import Choice

    return Choice(value)


def _tools(value: Any, options: Mapping[str, Any], folder: Path) -> "Spec":
    from guided.calls.spec import Tools
    from guided.cli.toolfiles import load_tools

    return Tools(load_tools(value, folder) if isinstance(value, str) else value, **options)


def _json_schema(value: Any, options: Mapping[str, Any], folder: Path) -> "StackSpec":
    from guided.cli.toolfiles import load_named
    from guided.engine.json_schema import JsonSchema

    if isinstance(value, str):
        is_file = value.endswith(".json") or (not value.endswith(".py") and (folder / value).is_file())
        value = text_input() if value == "-" else folder / value if is_file else load_named(value, folder)
    return JsonSchema(value, **options)


def _grammar(value: str, options: Mapping[str, Any], folder: Path) -> "StackSpec":
    from guided.engine.grammar import Grammar

    is_file = "\n" not in value and (value.endswith((".lark", ".gbnf")) or (folder / value).is_file())
    if "/" in value and not is_file and not any(char in value for char in "\n:"):
        raise UsageError(f"no such file: {value} (a grammar from another program: - reads standard input)")
    source = text_input() if value == "-" else folder / value if is_file else value
    return Grammar(source, **options)


def _spec(value: Any, _: Mapping[str, Any], folder: Path) -> Any:
    from guided.calls.inputs import spec_of
    from guided.cli.compositions import ENDINGS, composition, read_composition
    from guided.cli.toolfiles import load_named

    if not isinstance(value, str):
        return composition(value, folder, build_spec)
    if value.endswith(ENDINGS):
        return read_composition(folder / value, build_spec)
    try:
        return spec_of(load_named(value, folder, "spec"))
    except TypeError as error:
        raise UsageError(f"{value}: {error}") from error


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value)


KINDS = {
    "regex": Kind(_regex, "a text", lambda value: isinstance(value, str), {"builder": (str,), "ascii": (bool,)}),
    "choice": Kind(_choice, "a list of texts", _is_list_of(str)),
    "tools": Kind(
        _tools,
        "a source (tools.py:name, package.module, tools.json) or a list of definitions",
        lambda value: isinstance(value, str) or _is_list_of(dict)(value),
        {
            "format": (str,),
            "tool_choice": (str, list),
            "parallel_tool_calls": (bool, list),
            "reasoning": (bool, list),
            **dict.fromkeys(("argument_order", "duplicates", "unsupported"), (str,)),
            "strict": (bool,),
            **dict.fromkeys(CAPS, (int,)),
        },
    ),
    "json_schema": Kind(
        _json_schema,
        "a source (schema.json, models.py:Person, package.models:Person) or a schema",
        lambda value: isinstance(value, str | dict),
        {
            "whitespace": (str, int, list),
            "escapes": (str, list),
            **dict.fromkeys(
                ("property_order", "numbers", "format", "unsupported", "operation", "source"),
                (str,),
            ),
            "strict_keywords": (bool,),
            "additional_properties": (bool,),
            **dict.fromkeys(CAPS, (int,)),
            "eager": (bool, str),
        },
    ),
    "grammar": Kind(
        _grammar,
        "a grammar's file (calc.lark, calc.gbnf), its name (json, sql, python, ...) or its text",
        lambda value: isinstance(value, str),
        {"start": (str,), "lexer": (str,), "max_ignored": (int,), "ascii": (bool,), "dialect": (str,)},
    ),
    "spec": Kind(
        _spec,
        "a constraint in Python (agent.py:spec, package.module:Person), or a composition or structural tag (spec.json, spec.yaml)",
        lambda value: isinstance(value, str | dict | list),
    ),
}
