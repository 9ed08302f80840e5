"""Compositions as JSON or YAML, for ``--spec``.

A composition is a text (a literal), a list (a sequence), or an object with one of the keys of `_FORMS`, optionally a ``name`` under
which its value is captured, and the options of a spec. An object with the keys of a structural tag is one.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from guided.cli.boundary import UsageError
from guided.cli.output import type_name
from guided.engine.algebra import Alternatives, Concatenation, FreeText, Maybe, Named, Repeat
from guided.errors import ROOT
from guided.files import read_text

__all__ = ["ENDINGS", "Build", "composition", "read_composition"]

# Builds a spec of another kind from its kind, plain data, options, and the base folder of relative paths.
Build: TypeAlias = Callable[[str, Any, Mapping[str, Any], Path], Any]

ENDINGS = (".json", ".yaml", ".yml")
_STRUCTURAL_TAG = {"format", "structures"}
# Nesting of a composition, which is read by recursion.
_LEVELS = 200


def read_composition(file: Path, build: Build) -> Any:
    """Return the composition or structural tag in a file.

    Raises
    ------
    UsageError
        The file is not JSON or YAML, or does not describe a composition; with the place.
    OSError
        The file cannot be read.
    """
    text = read_text(file)
    if file.suffix == ".json":
        try:
            return composition(json.loads(text), file.parent, build)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file} is not valid JSON: {error}") from error
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError(f"{file}: YAML needs the package PyYAML: run pip install pyyaml, or write JSON") from error
    try:
        return composition(yaml.safe_load(text), file.parent, build)
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{file} is not valid YAML: {error}") from error


def composition(given: Any, folder: Path, build: Build) -> Any:
    """Return the composition or structural tag that plain data describes.

    ``folder``: of the paths in it. ``build``: `guided.cli.kinds.build_spec`.

    Raises
    ------
    UsageError
        It does not describe one; with the place as a JSON Pointer.
    """
    if isinstance(given, Mapping) and _STRUCTURAL_TAG & set(given) and not {*_FORMS} & set(given):
        from guided.engine.structural_tags import StructuralTag

        return StructuralTag(given)
    found = _Reader(folder, build).part(given, "", 1)
    return Concatenation((found,)) if isinstance(found, str) else found


class _Reader:
    """Reads one composition."""

    def __init__(self, folder: Path, build: Build) -> None:
        self._folder, self._build = folder, build

    def part(self, given: Any, at: str, level: int) -> Any:
        """Return the part at a JSON Pointer."""
        if level > _LEVELS:
            raise UsageError(f"the composition nests deeper than {_LEVELS} levels")
        if isinstance(given, str):
            return given
        if isinstance(given, list):
            return Concatenation(self.parts(given, at, level + 1))
        if not isinstance(given, Mapping):
            raise _wrong(at, f"expected a text, a list or an object, not {_named(given)}")
        kinds = [key for key in given if key in _FORMS]
        options = {key: value for key, value in given.items() if key not in _FORMS and key != "name"}
        if len(kinds) != 1 or (options and kinds[0] not in _SPECS):
            known = ", ".join(_FORMS)
            found = f"found {', '.join(map(str, given)) or 'nothing'}"
            tag = "" if at else "; a structural tag has 'format'"
            raise _wrong(
                at,
                f"expected exactly one of the keys {known}, optionally name, and the options of a spec; {found}{tag}",
            )
        kind = kinds[0]
        try:
            if kind in _SPECS:
                try:
                    found = self._build(_SPECS[kind], given[kind], options, self._folder)
                except UsageError as error:
                    raise _wrong(f"{at}/{kind}", str(error)) from error
            else:
                found = _NODES[kind](self, given[kind], f"{at}/{kind}", level + 1)
            return Named((found,), given["name"]) if "name" in given else found
        except (TypeError, ValueError) as error:
            raise _wrong(f"{at}/{kind}", str(error)) from error

    def repeat(self, given: Any, at: str, level: int) -> Repeat:
        options = _options(given, at, "part", "min", "max", "separator")
        if "part" not in options:
            raise _wrong(at, "'part' is missing")
        for key in options.keys() & {"part", "separator"}:
            options[key] = self.part(options[key], f"{at}/{key}", level)
        return Repeat(**options)

    def parts(self, given: Any, at: str, level: int) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise _wrong(at, f"expected a list, not {_named(given)}")
        return tuple(self.part(each, f"{at}/{i}", level) for i, each in enumerate(given))


# How each key is read.
_NODES: dict[str, Callable[[_Reader, Any, str, int], Any]] = {
    "sequence": lambda reader, given, at, level: Concatenation(reader.parts(given, at, level)),
    "or": lambda reader, given, at, level: Alternatives(reader.parts(given, at, level)),
    "optional": lambda reader, given, at, level: Maybe(reader.part(given, at, level)),
    "repeat": _Reader.repeat,
    "text": lambda _reader, given, at, _level: FreeText(**_options(given, at, "stop", "excludes", "max_tokens")),
}
# The other keys, each with the kind of a spec, whose options stand beside it.
_SPECS = {
    "regex": "regex",
    "choice": "choice",
    "schema": "json_schema",
    "grammar": "grammar",
    "tools": "tools",
    "spec": "spec",
}
_FORMS = (*_NODES, *_SPECS)


def _options(given: Any, at: str, *names: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise _wrong(at, f"expected an object with {', '.join(names)}, not {_named(given)}")
    if unknown := [str(key) for key in given if key not in names]:
        raise _wrong(at, f"unknown key {unknown[0]!r}: known keys are {', '.join(names)}")
    return dict(given)


def _wrong(at: str, reason: str) -> UsageError:
    return UsageError(f"composition at {at or ROOT}: {reason}")


def _named(value: Any) -> str:
    return {dict: "an object", type(None): "null"}.get(type(value)) or type_name(value)
