"""`read_tools`: the tools of a document of any supported kind.

Kinds are recognized by their keys: documents of OpenAPI 3 and Swagger 2 (``openapi``, ``swagger``), botocore models (``operations`` and
``shapes``), tool lists of MCP servers (``{"tools": [...]}``, bare or as the ``result`` of a response), lists of definitions in OpenAI's,
Anthropic's or MCP's form, and single definitions. Files contain such a document as JSON, optionally gzip-compressed.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from guided.calls.sources import botocore, rest
from guided.calls.tool import Entry, Tool
from guided.errors import SchemaError
from guided.files import gunzip, open_regular, read_open
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.schema.frontend.json_values import check_levels

__all__ = ["SOURCES", "read_tools"]

# Sources by kind, for index files.
SOURCES: Mapping[str, type[rest.Rest] | type[botocore.Service]] = {"rest": rest.Rest, "botocore": botocore.Service}
_YAML = re.compile(r"\.ya?ml$", re.IGNORECASE)
_GZIP = b"\x1f\x8b"


@suggest_keywords()
def read_tools(
    source: str | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    select: Callable[[str, str], bool] | None = None,
    name: Callable[[str, str], str] | None = None,
    send: Callable[[rest.Request], Any] | None = None,
    check: bool = True,
) -> list[Tool]:
    """Read the tools of a document.

    Parameters
    ----------
    source : path, Mapping, iterable or object
        A JSON file or its parsed content, or an object with ``tools``, such as the tool list of an MCP SDK session.
    select : callable, optional
        Selects the operations of an API that become tools; receives the key (``GET /pets``, or a service's operation name) and the
        name.
    name : callable, optional
        Maps key and name to another name.
    send : callable, optional
        Runs calls of REST operations: receives a `Request` and returns the result. Without it, calls are not run.
    check : bool
        Whether to lower every tool now, so that errors are raised here. Otherwise each tool is lowered when it is first needed.

    Returns
    -------
    list of Tool
        In the order of the document; `Tool.original` is the key.

    Raises
    ------
    SchemaError
        The document has an unknown kind, or a part of it cannot be lowered; with its place.
    OSError
        The file cannot be read.
    """
    content: Any
    content, digest = _content(source) if isinstance(source, str | os.PathLike) else (source, None)
    if not isinstance(content, Mapping) and isinstance(listed := getattr(content, "tools", None), list | tuple):
        content = listed
    if not isinstance(content, Mapping):
        if not isinstance(content, Iterable):
            raise TypeError(f"a document must be a path, a dict or a list, not {type(content).__name__}")
        return [Tool(item) for item in content]
    check_levels(content)
    if "openapi" in content or "swagger" in content:
        document = rest.Rest(content)
        _named(document, digest)
        runs = {} if send is None else {"send": send}
        found = _entries(document, rest.operations(document), select, name, runs)
    elif "operations" in content and "shapes" in content:
        service = botocore.Service(content)
        _named(service, digest)
        found = _entries(service, botocore.operations(service), select, name, {})
    else:
        return [Tool(item) for item in _definitions(content)]
    tools = [Tool(entry) for entry in found]
    if check:
        for tool in tools:
            tool.parameters()
    return tools


def _named(source: Any, digest: str | None) -> None:
    """Use the digest of the file as the source's fingerprint, which is cheaper than computing one."""
    if digest is not None:
        source.fingerprint = digest


def _entries(
    source: Any,
    operations: Iterable[tuple[str, str, str]],
    select: Callable[[str, str], bool] | None,
    name: Callable[[str, str], str] | None,
    runs: Mapping[str, Any],
) -> list[Entry]:
    found = []
    for key, usual, description in operations:
        if select is None or select(key, usual):
            run = partial(_call, source, key, runs["send"]) if runs else None
            found.append(Entry(usual if name is None else name(key, usual), description, source, key, run))
    return found


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
