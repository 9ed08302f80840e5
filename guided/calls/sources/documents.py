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
    if not isinstance(content, Mapping) and isinstance(within := getattr(content, "tools", None), list | tuple):
        content = within
    if not isinstance(content, Mapping):
        if not isinstance(content, Iterable):
            raise TypeError(f"a document must be a path, a dict or a list, not {type(content).__name__}")
        return [Tool(item) for item in content]
    if isinstance(select, str | bytes | Mapping) or not (
        select is None or callable(select) or isinstance(select, Iterable)
    ):
        raise TypeError(
            f"select must be a list of keys and names, or a function of both, not {shown(select)}: put a single one in a list"
        )
    names = None if select is None or callable(select) else dict.fromkeys(select)
    document: Any
    operations: Iterable[tuple[str, str, str | SchemaError]]
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
    left_out: dict[str, GuidedError] = {}
    known = set[str]()
    for key, usual, about in operations:
        error: GuidedError | None = about if isinstance(about, SchemaError) else None
        known |= {key, usual} if error is None else set()
        if names is None:
            is_chosen = error is not None or select is None or (callable(select) and select(key, usual))
        else:
            # Of a path that cannot be read, any of its operations.
            is_chosen = not names.keys().isdisjoint((key, usual)) or (
                error is not None and any(key == one.partition(" ")[2] for one in names)
            )
        if not is_chosen:
            continue
        if not isinstance(about, SchemaError):
            run = partial(_call, document, key, send) if send is not None and isinstance(document, rest.Rest) else None
            tool = Tool(Entry(usual if name is None else name(key, usual), about, document, key, run))
            error = _error_of(tool) if check else None
        if error is None:
            tools.append(tool)
        elif names is not None:
            raise error
        else:
            left_out[key] = error
    if left_out and not tools:
        raise next(iter(left_out.values()))
    for one in names or ():
        if one not in known:
            advice = closest(str(one), known) or f"; known are {listed(sorted(known), 20, 60)}"
            raise SchemaError(f"the document has no operation {shown(one)}{advice}", "", "select")
    if left_out:
        shown_ones = [f"{key}: {error}" for key, error in list(left_out.items())[:_LISTED]]
        shown_ones += [f"and {len(left_out) - _LISTED:,} more"] * (len(left_out) > _LISTED)
        reason = f"left out {len(left_out):,} of the operations: {'; '.join(shown_ones)}"
        warnings.warn(reason, UserWarning, stacklevel=3)
    return tools


def _error_of(tool: Tool) -> GuidedError | None:
    """Return the error of a tool that cannot be lowered."""
    try:
        tool.parameters()
    except (LimitError, PatternError, SchemaError) as error:
        return error
    return None


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
