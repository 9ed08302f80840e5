"""`read_tools`: the tools of a document of any supported kind.

Kinds are recognized by their keys: documents of OpenAPI 3 and Swagger 2 (``openapi``, ``swagger``), botocore models (``operations`` and
``shapes``), tool lists of MCP servers (``{"tools": [...]}``, bare or as the ``result`` of a response), lists of definitions in OpenAI's,
Anthropic's or MCP's form, and single definitions. Files contain such a document as JSON, optionally gzip-compressed.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from guided.calls.sources import botocore, rest
from guided.calls.tool import Entry, Tool
from guided.errors import GuidedError, LimitError, PatternError, SchemaError, listed, shown
from guided.files import gunzip, open_regular, read_open
from guided.keywords import closest, suggest_keywords
from guided.limits import Limits
from guided.schema.frontend.json_values import check_levels

__all__ = ["SOURCES", "read_tools"]

# Sources by kind, for index files.
SOURCES: Mapping[str, type[rest.Rest] | type[botocore.Service]] = {"rest": rest.Rest, "botocore": botocore.Service}
_YAML = re.compile(r"\.ya?ml$", re.IGNORECASE)
# Operations that a warning lists.
_LISTED = 20
_GZIP = b"\x1f\x8b"


@suggest_keywords()
def read_tools(
    source: str | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    select: Callable[[str, str], bool] | Iterable[str] | None = None,
    name: Callable[[str, str], str] | None = None,
    send: Callable[[rest.Request], Any] | None = None,
    check: bool = True,
) -> list[Tool]:
    """Read the tools of a document.

    Parameters
    ----------
    source : path, Mapping, iterable or object
        A JSON file or its parsed content, or an object with ``tools``, such as the tool list of an MCP SDK session.
    select : iterable of str or callable, optional
        The operations of an API that become tools: their keys (``GET /pets``, or a service's operation name) or names; or a function
        that receives key and name and returns whether to take the operation.
    name : callable, optional
        Maps key and name to another name.
    send : callable, optional
        Runs calls of REST operations: receives a `Request` and returns the result. Without it, calls are not run.
    check : bool
        Whether to lower every tool now. Otherwise each tool is lowered when it is first needed.

    Returns
    -------
    list of Tool
        In the order of the document; `Tool.original` is the key.

    Raises
    ------
    SchemaError
        The document has an unknown kind, ``select`` lists what it does not have or what cannot be lowered, or no operation can be
        lowered; with the place.
    OSError
        The file cannot be read.

    Warns
    -----
    UserWarning
        Operations that cannot be lowered are left out; the warning lists them.
    """
    content: Any
    content, digest = _content(source) if isinstance(source, str | os.PathLike) else (source, None)
    if not isinstance(content, Mapping) and isinstance(listed := getattr(content, "tools", None), list | tuple):
        content = listed
    if not isinstance(content, Mapping):
        if not isinstance(content, Iterable):
            raise TypeError(f"a document must be a path, a dict or a list, not {type(content).__name__}")
        return [Tool(item) for item in content]
    choice = _Choice(select)
    document: Any
    operations: Iterable[tuple[str, str, str] | tuple[str, SchemaError]]
    if "openapi" in content or "swagger" in content:
        check_levels(content)
        document = rest.Rest(content)
        operations = rest.operations(document)
    elif "operations" in content and "shapes" in content:
        check_levels(content)
        document = botocore.Service(content)
        operations = botocore.operations(document)
    else:
        return [Tool(item) for item in _definitions(content)]
    if digest is not None:
        # That of the file is cheaper than one of the content.
        document.fingerprint = digest
    tools: list[Tool] = []
    for operation in operations:
        if len(operation) == 2:
            choice.fail(*operation)
            continue
        key, usual, description = operation
        if not choice.has(key, usual):
            continue
        run = partial(_call, document, key, send) if send is not None and isinstance(document, rest.Rest) else None
        tool = Tool(Entry(usual if name is None else name(key, usual), description, document, key, run))
        try:
            if check:
                tool.parameters()
        except (LimitError, PatternError, SchemaError) as error:
            choice.leave_out(key, error)
        else:
            tools.append(tool)
    choice.tell(bool(tools))
    return tools


class _Choice:
    """Which operations become tools, and what is left out."""

    def __init__(self, select: Callable[[str, str], bool] | Iterable[str] | None) -> None:
        if isinstance(select, str | bytes | Mapping) or not (
            select is None or callable(select) or isinstance(select, Iterable)
        ):
            raise TypeError(
                f"select must be a list of keys and names, or a function of both, not {shown(select)}: put a single one in a list"
            )
        self._select = select if callable(select) else None
        self._listed = None if select is None or callable(select) else dict.fromkeys(select, False)
        self._left_out: dict[str, GuidedError] = {}
        self._known: list[str] = []

    def has(self, key: str, name: str) -> bool:
        """Whether an operation is chosen."""
        self._known += {key, name}
        if self._listed is None:
            return self._select is None or self._select(key, name)
        found = self._listed.keys() & {key, name}
        self._listed.update(dict.fromkeys(found, True))
        return bool(found)

    def leave_out(self, key: str, error: GuidedError) -> None:
        """Leave out an operation, or raise its error if it is listed."""
        if self._listed is not None:
            raise error
        self._left_out[key] = error

    def fail(self, key: str, error: SchemaError) -> None:
        """Leave out what cannot be read; raise its error if it is listed."""
        if self._listed is None:
            self._left_out[key] = error
        elif any(key in (one, one.partition(" ")[2]) for one in self._listed):
            raise error

    def tell(self, has_tools: bool) -> None:
        """Raise the first error if nothing is left; else warn of what is left out, and raise for unknown names."""
        if self._left_out and not has_tools:
            raise next(iter(self._left_out.values()))
        for one, is_found in (self._listed or {}).items():
            if not is_found:
                advice = closest(str(one), self._known) or f"; known are {listed(sorted(self._known), 20, 60)}"
                raise SchemaError(f"the document has no operation {shown(one)}{advice}", "", "select")
        if self._left_out:
            shown_ones = [f"{key}: {error}" for key, error in list(self._left_out.items())[:_LISTED]]
            more = len(self._left_out) - len(shown_ones)
            shown_ones += [f"and {more:,} more"] * bool(more)
            warnings.warn(
                f"left out {len(self._left_out):,} of the operations: {'; '.join(shown_ones)}",
                UserWarning,
                stacklevel=4,
            )


def _call(document: rest.Rest, key: str, send: Callable[[rest.Request], Any], /, **arguments: Any) -> Any:
    return send(document.operation(key).request(arguments))


def _definitions(content: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    inner = content.get("result", content)
    if isinstance(inner, Mapping) and isinstance(inner.get("tools"), list):
        tools: list[Mapping[str, Any]] = inner["tools"]
        return tools
    if "name" in content or "function" in content:
        return [content]
    raise SchemaError("expected an OpenAPI, Swagger or botocore document, a list of tools or a definition", "", "tools")


def _content(path: str | os.PathLike[str]) -> tuple[Any, str]:
    with open_regular(path) as file:
        is_compressed = file.peek(len(_GZIP)).startswith(_GZIP)
        data = read_open(file, Limits().file_bytes // 4 if is_compressed else None, is_text=not is_compressed)
    try:
        if is_compressed:
            data = gunzip(data)
        return json.loads(data), hashlib.sha256(data).hexdigest()
    except (ValueError, RecursionError) as error:
        hint = "; parse YAML with another package and pass the result" if _YAML.search(str(path)) else ""
        raise SchemaError(f"{path} is not valid JSON: {error}{hint}", "", "file") from error
