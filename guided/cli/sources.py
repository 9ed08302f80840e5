"""Named specs as plain data, from the arguments of ``guided compile``.

=============  =====================================================================
a file ends    holds
=============  =====================================================================
``.toml``      tables, each a spec: ``[name]`` with one key of ``guided.cli.kinds.KINDS``, and options of that kind
``.jsonl``     the same as JSON, an object for each line, with a key ``name``
``.regex``     one pattern; a newline at the end is dropped
``.choice``    one text for each line
``.py``        functions to call; ``file.py:name,name`` takes some of them
``.json``      definitions of functions: a list, or an object with a list ``tools``; any other object is a JSON Schema
=============  =====================================================================

A file with one spec gives it its own name, without the ending.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guided.cli.boundary import UsageError
from guided.cli.kinds import KINDS, build_spec
from guided.cli.specs import options_of_kinds
from guided.cli.toolfiles import split_names
from guided.files import read_text
from guided.keywords import closest

if TYPE_CHECKING:
    from guided.engine.specs import AnySpec

__all__ = ["ENDINGS", "Source", "check_names", "given_sources", "read_sources", "with_options"]

_NAME = re.compile(r"\w[\w.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Source:
    """A named spec as plain data."""

    # Name of the spec and of its index file.
    name: str
    # A key of `guided.cli.kinds.KINDS`.
    kind: str
    # The constraint.
    value: Any
    # Where it was given, for messages.
    place: str
    # Further arguments of the spec.
    options: Mapping[str, Any] = field(default_factory=dict)
    # Base folder of relative paths; None on the command line.
    folder: str | None = None

    def build(self) -> "AnySpec":
        """Build the spec. Raises as `build_spec`."""
        folder = None if self.folder is None else Path(self.folder)
        return build_spec(self.kind, self.value, self.options, folder)


def given_sources(
    regex: Sequence[str] | None,
    choice: Sequence[str] | None,
    tools: Sequence[str] | None,
    json_schema: Sequence[str] | None,
    grammar: Sequence[str] | None,
    spec: Sequence[str] | None,
    tool_options: Mapping[str, Any],
) -> list[Source]:
    """Return the specs of the options: one for each pattern, source of tools, schema, grammar and spec, and one of all choices."""
    found = [
        Source("regex" if number == 1 else f"regex-{number}", "regex", pattern, "--regex")
        for number, pattern in enumerate(regex or (), start=1)
    ]
    if choice:
        found.append(Source("choice", "choice", list(choice), "--choice"))
    found += [_tools(given, tool_options, "--tools") for given in tools or ()]
    found += [Source(_name_of(given), "json_schema", given, "--json-schema") for given in json_schema or ()]
    found += [_grammar(given, "--grammar") for given in grammar or ()]
    return [*found, *(Source(_name_of(given), "spec", given, "--spec") for given in spec or ())]


def with_options(sources: Iterable[Source], given: Sequence[str] | None) -> list[Source]:
    """Return the sources with the values of ``--option`` that apply to their kinds, unless a source has its own.

    Raises
    ------
    UsageError
        No source is of the kind of an option.
    """
    found = list(sources)
    options = options_of_kinds(given, {source.kind for source in found})
    return [replace(source, options={**options.get(source.kind, {}), **source.options}) for source in found]


def read_sources(given: str, tool_options: Mapping[str, Any]) -> list[Source]:
    """Read the specs in a file.

    Behind the path of a Python file, ``:name,name`` may follow. ``tool_options``: those of a file of tools.

    Raises
    ------
    UsageError
        The kind of file is unknown, or its content does not match.
    OSError
        The file cannot be read.
    """
    ending = Path(split_names(given)[0] if given else given).suffix
    if ending not in ENDINGS:
        raise UsageError(f"unknown file type {given!r}: expected a name that ends in {', '.join(ENDINGS)}")
    return list(ENDINGS[ending](given, tool_options))


def check_names(sources: Iterable[Source]) -> None:
    """Raise UsageError for names that are not valid file names, and for duplicates (ignoring case).

    Raises
    ------
    UsageError
    """
    places: dict[str, Source] = {}
    for source in sources:
        if not _NAME.fullmatch(source.name):
            raise UsageError(
                f"{source.place}: {source.name!r} cannot be a file name: use up to 100 letters, digits, _, . and -"
            )
        other = places.setdefault(source.name.casefold(), source)
        if other is not source:
            raise UsageError(
                f"two constraints are named {source.name!r} ({other.place}, {source.place}): give them different names in a .toml file"
            )


def _from_toml(given: str, _: Mapping[str, Any]) -> Iterator[Source]:
    try:
        document = tomllib.loads(_text(given))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{given} is not valid TOML: {error}") from error
    for name, table in document.items():
        if not isinstance(table, dict):
            raise UsageError(f"{given}: {name!r} is not a table: write each constraint as a table, [{name}]")
        yield _source(name, table, Path(given).parent, f"{given} [{name}]")


def _from_lines(given: str, _: Mapping[str, Any]) -> Iterator[Source]:
    for number, line in enumerate(_text(given).split("\n"), start=1):
        place = f"{given}, line {number}"
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place} is not valid JSON: {error}") from error
        if not isinstance(document, dict) or not isinstance(document.get("name"), str):
            raise UsageError(f"{place} is not an object with a name")
        yield _source(document.pop("name"), document, Path(given).parent, place)


def _source(name: str, table: Mapping[str, Any], folder: Path, place: str) -> Source:
    """Convert a table with one kind of spec, and its options."""
    kinds = [key for key in table if key in KINDS]
    if len(kinds) != 1:
        which = " and ".join(kinds or map(str, table)) or "none"
        advice = closest(next(iter(table)), KINDS) if table and not kinds else ""
        raise UsageError(f"{place}: expected exactly one of the keys {', '.join(KINDS)}, found {which}{advice}")
    options = {key: value for key, value in table.items() if key != kinds[0]}
    return Source(name, kinds[0], table[kinds[0]], place, options, str(folder))


def _from_pattern(given: str, _: Mapping[str, Any]) -> Iterator[Source]:
    yield Source(Path(given).stem, "regex", _text(given).removesuffix("\n").removesuffix("\r"), given)


def _from_choices(given: str, _: Mapping[str, Any]) -> Iterator[Source]:
    texts = [line.removesuffix("\r") for line in _text(given).removesuffix("\n").split("\n")]
    if "" in texts:
        advice = 'remove it; the empty text is choice = ["", ...] in a .toml file'
        raise UsageError(f"{given}, line {texts.index('') + 1} is empty: {advice}")
    yield Source(Path(given).stem, "choice", texts, given)


def _from_json(given: str, options: Mapping[str, Any]) -> Iterator[Source]:
    try:
        document = json.loads(read_text(given))
    except (OSError, ValueError, RecursionError):
        # The error is reported with the spec, so that the others are compiled.
        document = None
    is_schema = isinstance(document, bool) or (isinstance(document, dict) and "tools" not in document)
    yield Source(_name_of(given), "json_schema", given, given) if is_schema else _tools(given, options, given)


def _tools(given: str, options: Mapping[str, Any], place: str) -> Source:
    source, _ = split_names(given)
    is_file = source.endswith((".py", ".json"))
    return Source(Path(source).stem if is_file else source.rpartition(".")[2], "tools", given, place, options)


def _name_of(given: str) -> str:
    """A file gives the spec its name, and so does the name of a Python object."""
    is_file = given.endswith((".json", ".yaml", ".yml"))
    return Path(given).stem if is_file else given.rpartition(":")[2].rpartition(".")[2]


def _grammar(given: str, place: str) -> Source:
    """A grammar file gives the spec its name, and so does a bundled grammar; a grammar text has no name."""
    name = "grammar" if "\n" in given or ":" in given else Path(given).stem
    return Source(name, "grammar", given, place)


ENDINGS: dict[str, Callable[[str, Mapping[str, Any]], Iterable[Source]]] = {
    ".toml": _from_toml,
    ".jsonl": _from_lines,
    ".regex": _from_pattern,
    ".choice": _from_choices,
    ".lark": lambda given, _: [_grammar(given, given)],
    ".gbnf": lambda given, _: [_grammar(given, given)],
    ".py": lambda given, options: [_tools(given, options, given)],
    ".json": _from_json,
}


def _text(path: str) -> str:
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8, at byte {error.start}") from error
