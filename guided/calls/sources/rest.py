"""Operations of OpenAPI 3 and Swagger 2 documents as tools.

The arguments of a tool are the operation's parameters (path, query, headers, cookies and forms) and its body. Two parameters with the same
name in different places are distinguished by the place: ``id`` and ``id_in_query``. The tool's name is the ``operationId``, or is derived
from method and path: ``GET /movie/{movie_id}/credits`` becomes ``get_movie_by_movie_id_credits``.

`Operation.request` converts the arguments of a call to the request to send. This module sends nothing.

References may point anywhere in the document. Schemas are lowered on demand: reading a document is O(operations).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from guided.caching import cached_property
from guided.encoding import fingerprint_of
from guided.errors import SchemaError, shown
from guided.schema.frontend.json_values import text_of
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.openapi import BODY, METHODS, Argument, arguments_of, resolved, schema_of

__all__ = ["Operation", "Request", "Rest", "operations"]

_WORDS = re.compile(r"[^\w.\-/:]+")
# Keys of a document and of an operation that determine the schemas.
_KEPT = frozenset({"openapi", "swagger", "components", "definitions", "parameters", "requestBodies", "$defs"})
_REQUEST_KEYS = frozenset({"parameters", "requestBody", "$ref"})


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a call.

    Attributes
    ----------
    method : str
        In upper case.
    path : str
        With parameters filled in and escaped.
    query, headers, cookies : dict
        The values that the call gives.
    form : dict
        Fields of a Swagger 2 form.
    body : Any
        None if there is no body.
    media : str
        Media type of the body or form; empty if there is none.
    """

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    cookies: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    media: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of a document.

    Attributes
    ----------
    document : Rest
    method, path : str
        As in ``GET /movie/{movie_id}``.
    pointer : str
        JSON Pointer of the operation.
    """

    document: "Rest"
    method: str
    path: str
    pointer: str

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments: parameters in order, then the body.

        Raises
        ------
        SchemaError
            A parameter is malformed.
        """
        document = self.document.content
        item = resolved(document, document["paths"][self.path], self.pointer.rpartition("/")[0])
        return arguments_of(document, self.pointer, item.get("parameters"), item[self.method], self.path)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, including everything that it refers to.

        Raises
        ------
        SchemaError
            An argument is malformed, or a reference has no target.
        """
        return schema_of(self.arguments, self.document.content, self.pointer)

    def request(self, arguments: Mapping[str, Any]) -> Request:
        """Return the request of a call with these arguments."""
        path, media, body = self.path, "", None
        groups: dict[str, dict[str, Any]] = {"query": {}, "header": {}, "cookie": {}, "formData": {}}
        for argument in self.arguments:
            if argument.label not in arguments:
                continue
            value = arguments[argument.label]
            media = argument.media or media
            if argument.where == "path":
                path = path.replace("{" + argument.name + "}", quote(_shown(value), safe=""))
            elif argument.where == BODY:
                body = value
            else:
                groups.setdefault(argument.where, {})[argument.name] = value
        query, headers, cookies, form = (groups[where] for where in ("query", "header", "cookie", "formData"))
        return Request(self.method.upper(), path, query, headers, cookies, form, body, media)


class Rest:
    """A document of OpenAPI 3 or Swagger 2.

    Attributes
    ----------
    content : Mapping
        The parsed document.

    Raises
    ------
    SchemaError
        The document has another kind or an unknown version.
    """

    kind = "rest"

    def __init__(self, content: Mapping[str, Any]) -> None:
        version = content.get("openapi", content.get("swagger"))
        if str(version).partition(".")[0] not in ("2", "3"):
            raise SchemaError(f"only OpenAPI 3 and Swagger 2 are supported, not {version!r}", "", "openapi")
        if not isinstance(content.get("paths", {}), Mapping):
            raise SchemaError("paths must map paths to operations", "/paths", "paths")
        self.content = content

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the document."""
        return fingerprint_of(self.kind, text_of(self.content))

    @property
    def data(self) -> dict[str, Any]:
        """The part of the document that determines the schemas, without descriptions and responses."""
        return _without_answers(self.content)

    def schema(self, key: str) -> dict[str, Any]:
        """Return the schema of an operation by its key, ``GET /movie``. Raises as `Operation.schema`."""
        return self.operation(key).schema

    def operation(self, key: str) -> Operation:
        """Return an operation by its key, ``GET /movie``."""
        method, _, path = key.partition(" ")
        return Operation(self, method.lower(), path, pointer_to("paths", path, method.lower()))


def operations(document: Rest) -> Iterator[tuple[str, str, str | SchemaError]]:
    """Yield key, name and description of each operation, in the order of the document; of a malformed one key or path, twice, and error."""
    for path, given in document.content.get("paths", {}).items():
        if path.startswith("x-"):
            continue
        try:
            item = resolved(document.content, given, pointer_to("paths", path))
        except SchemaError as error:
            yield path, path, error
            continue
        for method in METHODS:
            operation, key = item.get(method), f"{method.upper()} {path}"
            if isinstance(operation, Mapping):
                summary = operation.get("summary") or operation.get("description")
                yield key, _name(operation, method, path), summary if isinstance(summary, str) else ""
            elif operation is not None:
                reason = f"an operation must be an object, not {shown(operation)}"
                yield key, key, SchemaError(reason, pointer_to("paths", path), method)


def _name(operation: Mapping[str, Any], method: str, path: str) -> str:
    given = operation.get("operationId")
    if isinstance(given, str) and (name := _WORDS.sub("_", given).strip("_")):
        return name
    words = [method]
    for part in path.strip("/").split("/"):
        whole = part.startswith("{") and part.endswith("}") and part.count("{") == 1
        words.append(f"by_{part[1:-1]}" if whole else part)
    return re.sub("__+", "_", _WORDS.sub("_", "_".join(filter(None, words)))).strip("_")


def _shown(value: Any) -> str:
    """A value in a path, in OpenAPI's style "simple"."""
    if isinstance(value, list | tuple):
        return ",".join(map(_shown, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _without_answers(content: Mapping[str, Any]) -> dict[str, Any]:
    """The document without responses, unless references point into paths."""
    paths = content.get("paths", {})
    if '"#/paths/' in text_of(paths):
        return dict(content)
    kept = {key: value for key, value in content.items() if key in _KEPT}
    kept["paths"] = {path: _request_parts(item) if isinstance(item, Mapping) else item for path, item in paths.items()}
    return kept


def _request_parts(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {name: value for name, value in part.items() if name in _REQUEST_KEYS}
        if isinstance(part, Mapping)
        else part
        for key, part in item.items()
        if key in METHODS or key in ("parameters", "$ref")
    }
