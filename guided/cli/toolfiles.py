"""Loads tools: functions of a Python file or module, or definitions in a JSON file.

The syntax is ``SOURCE`` or ``SOURCE:name,name``. A source that ends in ``.py`` is a file, one that ends in ``.json`` a file of definitions
(a list, or an object with a list ``tools``); any other is a module, which may be in the current folder. A name refers to a function, a
`Tool`, or a list of them. Without names, the tools are those in the module's ``__all__``, or otherwise the module's own definitions: its
public functions, with `Tool` objects in place of the functions they run.
"""

import inspect
import json
import pkgutil
import re
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain, count
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from guided.cli.boundary import UsageError
from guided.files import read_text

__all__ = ["load_named", "load_tools", "split_names"]

_EXPECTED = {
    "type": "a JSON file (schema.json), a type (models.py:Name), or - (standard input)",
    "spec": "a spec in Python (agent.py:spec), or a composition or structural tag (spec.json, spec.yaml)",
}
_NAMED = re.compile(r"(?s)(?P<source>.+?)(:(?P<names>[^\W\d]\w*(,[^\W\d]\w*)*))?")


def split_names(given: str) -> tuple[str, tuple[str, ...]]:
    """Split ``SOURCE:name,name`` into source and names."""
    match = _NAMED.fullmatch(given)
    if match is None:
        raise UsageError("--tools: the source is empty")
    return match["source"], tuple(match["names"].split(",")) if match["names"] else ()


def load_tools(given: str, folder: Path | None = None) -> list[Any]:
    """Load callables, `Tool` objects and definitions for `guided.calls.spec.Tools`.

    ``given``: ``SOURCE`` or ``SOURCE:name,name``. ``folder``: of relative paths, by default the current one.

    Raises
    ------
    UsageError
        The source does not exist, fails to load, or lacks one of the names.
    """
    source, names = split_names(given)
    if folder is not None and source.endswith((".py", ".json")):
        source = str(folder / source)
    if source.endswith(".json"):
        if names:
            raise UsageError(f"{given!r}: names cannot be selected from a JSON file")
        return _definitions(Path(source))
    module = _module(source)
    if names:
        return [tool for name in names for tool in _named(module, name, source)]
    found = _public(module)
    if not found:
        raise UsageError(f"{source} defines no public functions; name the ones to use: {source}:name")
    return found


def load_named(given: str, folder: Path | None = None, what: str = "type") -> Any:
    """Load the object ``SOURCE:name`` of a Python file or module: a type, or a spec.

    Raises
    ------
    UsageError
        The source does not exist, fails to load, or lacks the name.
    """
    source, names = split_names(given)
    if len(names) != 1:
        if Path(given).exists() and not Path(given).is_file():
            raise UsageError(f"{given!r} is not a regular file: write its content to standard input, and pass -")
        reason = f"does not name a {what}" if Path(source).suffix == ".py" else f"is neither a file nor names a {what}"
        raise UsageError(f"{given!r} {reason}: pass {_EXPECTED[what]}")
    if folder is not None and source.endswith(".py"):
        source = str(folder / source)
    module = _module(source)
    if not hasattr(module, names[0]):
        raise UsageError(f"{source} has no {names[0]!r}")
    return getattr(module, names[0])


def _module(source: str) -> ModuleType:
    """Import the module of a file or a dotted name; its exceptions are reported to the user."""
    if source.endswith(".py") and not Path(source).is_file():
        raise UsageError(f"no such file: {source}")
    if not source.endswith(".py") and not all(part.isidentifier() for part in source.split(".")):
        raise UsageError(f"{source!r} is neither a .py or .json file nor a module name")
    try:
        return _from_file(Path(source)) if source.endswith(".py") else _from_name(source)
    except ModuleNotFoundError as error:
        if error.name == source:
            raise UsageError(f"no module named {source} (to read a file, pass its path with .py)") from error
        raise _failed(source, error) from error
    except (Exception, SystemExit) as error:  # the module's code may raise anything
        raise _failed(source, error) from error


class _SourceLoader(SourceFileLoader):
    """Compiles a file each time: Python's cache misses an edit within the same second that keeps the file size."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the name of the method it replaces
        return self.source_to_code(self.get_data(self.path), self.path)


def _from_file(path: Path) -> ModuleType:
    # Why a unique name: one process may read files of the same name in several folders.
    candidates = chain([path.stem], (f"{path.stem}_{number}" for number in count(2)))
    name = next(name for name in candidates if name not in sys.modules)
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    assert spec is not None, path
    assert spec.loader is not None, path
    module = module_from_spec(spec)
    # Why: annotations are resolved through the module's name, and files may import their neighbors.
    sys.modules[name] = module
    # Absolute: Python caches import data of a folder by its path, even if the current folder changes.
    sys.path.insert(0, str(path.parent.absolute()))
    spec.loader.exec_module(module)
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, "")
    found = pkgutil.resolve_name(name)
    if not isinstance(found, ModuleType):
        raise UsageError(f"{name} is not a module: separate a name in a module with a colon, module:name")
    return found


def _failed(source: str, error: BaseException) -> UsageError:
    """The error of a module, with its last line in the traceback."""
    traceback, line = error.__traceback__, ""
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if Path(path).stem == source.removesuffix(".py").rpartition("/")[2].rpartition(".")[2]:
            line = f" in line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    if isinstance(error, UsageError):
        return error
    return UsageError(f"{source} fails{line}: {type(error).__name__}: {error}")


def _named(module: ModuleType, name: str, source: str) -> list[Any]:
    """The tools under a name of a module: one or several."""
    value = getattr(module, name, None)
    if value is None:
        known = ", ".join(getattr(tool, "name", None) or tool.__name__ for tool in _public(module))
        raise UsageError(f"{source} has no {name!r}" + (f"; it has {known}" if known else ""))
    found = list(value) if isinstance(value, list | tuple) else [value]
    if not found or not all(_is_tool(item) for item in found):
        raise UsageError(f"{name!r} in {source} is a {type(value).__name__}, not a function or a tool")
    return found


def _public(module: ModuleType) -> list[Any]:
    """The tools that a module exports, in order."""
    from guided.calls.tool import Tool

    listed = getattr(module, "__all__", None)
    if listed is not None:
        values = [getattr(module, name, None) for name in listed]
        items = [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]
        return [item for item in items if isinstance(item, Tool) or inspect.isfunction(item)]
    values = [value for name, value in vars(module).items() if not name.startswith("_")]
    tools = [value for value in values if isinstance(value, Tool)]
    wrapped = [tool.run for tool in tools]
    own = [value for value in values if inspect.isfunction(value) and value.__module__ == module.__name__]
    return [*tools, *(function for function in own if function not in wrapped)]


def _is_tool(value: Any) -> bool:
    from guided.calls.tool import Tool

    return isinstance(value, Tool | dict) or (callable(value) and not isinstance(value, type))


def _definitions(path: Path) -> list[Any]:
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON: {error}") from error
    found = document.get("tools") if isinstance(document, dict) else document
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise UsageError(f"{path} does not hold a list of tool definitions; for a JSON Schema, give --json-schema")
    return found
