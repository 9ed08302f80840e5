"""Formats from TOML files, whose keys are the attributes of `Format`.

The bundled formats are in this folder, and are read on first use.
"""

import tomllib
from dataclasses import fields
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from guided.calls.formats.format import Format
from guided.errors import SchemaError, shown
from guided.files import read_text
from guided.keywords import closest

__all__ = ["format_named", "format_names", "read_format"]

_SUFFIX = ".toml"
_KEYS = {item.name for item in fields(Format)} - {"name"}


def format_named(item: "str | PathLike[str] | Format") -> Format:
    """Return a format by its name, from a file, or unchanged.

    Raises
    ------
    SchemaError
        Unknown name, or a malformed file: ``/file`` and the key.
    OSError
        The file cannot be read.
    """
    if isinstance(item, Format):
        return item
    if isinstance(item, PathLike):
        return read_format(read_text(item), Path(item).name.removesuffix(_SUFFIX))
    if not isinstance(item, str):
        raise TypeError(f"format must be a name, a path or a Format, not {type(item).__name__}")
    if item not in format_names():
        meant = closest(item, format_names()) or ";"
        raise SchemaError(
            f"unknown format {shown(item)}{meant} known formats are {', '.join(format_names())}", "", "format"
        )
    return _bundled(item)


@lru_cache(maxsize=1)
def format_names() -> tuple[str, ...]:
    """Return the names of the bundled formats, sorted."""
    found = [entry.name for entry in files(__package__).iterdir() if entry.name.endswith(_SUFFIX)]
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found))


@lru_cache(maxsize=64)
def _bundled(name: str) -> Format:
    return read_format((files(__package__) / f"{name}{_SUFFIX}").read_text(encoding="utf-8"), name)


def read_format(text: str, name: str) -> Format:
    """Parse a format from the text of its file.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        Name of the format, which is that of its file.

    Raises
    ------
    SchemaError
        The text is not TOML, a key is unknown or missing, a value has the wrong type, or the texts are ambiguous.
    """
    place = f"/{name}{_SUFFIX}"
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"is not valid TOML: {error}", place, "toml") from error
    for key in values:
        if key not in _KEYS:
            raise SchemaError(f"unknown key of a format; known keys are {', '.join(sorted(_KEYS))}", place, key)
    if values.get("several") == []:
        values["several"] = None
    for item in fields(Format):
        if item.name in _REQUIRED and item.name not in values:
            raise SchemaError("missing key: every format needs it", place, item.name)
    try:
        return Format(name=name, **values)
    except (TypeError, ValueError) as error:
        raise SchemaError(str(error), place, str(error).partition(" ")[0]) from error
    except SchemaError as error:
        raise SchemaError(error.reason, place, error.keyword) from error


_REQUIRED = ("trigger", "before_name", "after_name", "key", "separator", "close", "terminator", "result", "several")
