"""OpenAPI 3 operations: the object of an operation's parameters, with its request body as ``body``.

Properties have the names of the parameters, whether these are in path, query, headers or cookies. What they refer to in the document is
bundled with them (`guided.schema.frontend.bundling`), which translates schemas of version 3.0. Schemas of 3.1 are JSON Schemas.

Complexity: linear in the document; iterative. Nothing is fetched.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guided.errors import SchemaError, shown
from guided.schema.frontend.bundling import bundled, follow
from guided.schema.frontend.location import pointer_to

__all__ = ["FORMS", "METHODS", "Content", "content_of", "operation_schema", "parameters_of", "resolved"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_LONGEST_CHAIN = 100
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def operation_schema(given: Mapping[str, Any], operation: str | None) -> dict[str, Any]:
    """Return the schema of an operation's arguments.

    Parameters
    ----------
    given : Mapping
        An operation object (with ``components`` beside its own keys, if it refers to them), or a document.
    operation : str, optional
        Which operation of a document: its ``operationId``, or method and path (``"POST /pets"``). Optional if the document has only one.

    Raises
    ------
    SchemaError
        The operation does not exist, a parameter is malformed, two have the same name, or a reference has no target.
    """
    pointer, shared, chosen = ("", [], given) if "paths" not in given else _chosen(given, operation)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for place, parameter in parameters_of(given, pointer, shared, chosen):
        name = parameter.get("name")
        if not isinstance(name, str):
            raise SchemaError("a parameter needs a name", place, "name")
        if name in properties:
            raise SchemaError(f"duplicate parameter {name!r}", place, "name")
        properties[name] = _schema_of(parameter, place)
        if parameter.get("required") or parameter.get("in") == "path":
            required.append(name)
    if chosen.get("requestBody") is not None:
        body = resolved(given, chosen["requestBody"], f"{pointer}/requestBody")
        if "body" in properties:
            raise SchemaError("the parameter name 'body' is reserved for the request body", pointer, "requestBody")
        properties["body"] = _schema_of(body, f"{pointer}/requestBody")
        if body.get("required"):
            required.append("body")
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return bundled(schema, given, pointer, is_older=str(given.get("openapi", "3.1")).startswith("3.0"))


def _chosen(document: Mapping[str, Any], wanted: str | None) -> tuple[str, list[Any], Mapping[str, Any]]:
    """Return the pointer, the path's parameters, and the object of an operation."""
    paths = document["paths"]
    found: dict[str, tuple[str, list[Any], Mapping[str, Any]]] = {}
    names: list[str] = []
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        for method in METHODS:
            operation = item.get(method) if isinstance(item, Mapping) else None
            if isinstance(operation, Mapping):
                pointer = pointer_to("paths", path, method)
                entry = (pointer, list(item.get("parameters", ())), operation)
                name = operation.get("operationId")
                found[f"{method.upper()} {path}"] = entry
                names.append(name if isinstance(name, str) else f"{method.upper()} {path}")
                found[names[-1]] = entry
    if wanted is None and len(names) == 1:
        return found[names[0]]
    if wanted not in found:
        what = "name one of its operations" if wanted is None else f"unknown operation {wanted!r}"
        raise SchemaError(f"{what}: {', '.join(names[:20]) or 'it has none'}", "/paths", "operation")
    return found[wanted]


def parameters_of(
    document: Mapping[str, Any], pointer: str, shared: list[Any], operation: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield location and object of each parameter; those of the operation override those of its path.

    Raises
    ------
    SchemaError
        A parameter is malformed.
    """
    found: dict[tuple[Any, Any], tuple[str, Mapping[str, Any]]] = {}
    own = operation.get("parameters", ())
    above = pointer.rpartition("/")[0]
    for where, parameters in ((above, shared), (pointer, own)):
        if not isinstance(parameters, list | tuple):
            raise SchemaError(f"parameters must be a list, not {shown(parameters)}", where, "parameters")
        for place, parameter in enumerate(parameters):
            at = f"{where}/parameters/{place}"
            inner = resolved(document, parameter, at)
            found[str(inner.get("name")), str(inner.get("in"))] = at, inner
    yield from found.values()


def resolved(document: Mapping[str, Any], given: Any, pointer: str) -> Mapping[str, Any]:
    """Return the object at a place of a document, following references.

    Raises
    ------
    SchemaError
        A reference has no target, leaves the document or refers to itself, or the target is not an object.
    """
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(given, Mapping):
            raise SchemaError(f"expected an object, not {shown(given)}", pointer, "$ref")
        if "$ref" not in given:
            return given
        given = follow(document, given["$ref"], pointer)
    raise SchemaError("the references form a cycle", pointer, "$ref")


def _schema_of(holder: Mapping[str, Any], pointer: str) -> Any:
    """Return the schema of a parameter or body: its own, or that of its content, JSON or a form."""
    if "schema" in holder:
        return holder["schema"]
    found = content_of(holder)
    if found is None or not found.is_structured:
        raise SchemaError("it has neither a schema nor content of JSON or a form", pointer, "content")
    return found.schema


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a parameter or body in one media type.

    Attributes
    ----------
    media : str
        The media type.
    schema : dict or bool
    is_structured : bool
        Whether it is JSON or a form, whose schema describes the values.
    """

    media: str
    schema: Any
    is_structured: bool


def content_of(holder: Mapping[str, Any]) -> Content | None:
    """Return the content of a parameter or body: JSON if there is any, then forms, then the first one; None if there is none."""
    content = holder.get("content")
    best: tuple[int, Content] | None = None
    for kind, media in content.items() if isinstance(content, Mapping) else ():
        name = kind.partition(";")[0].strip().lower()
        is_json = name == "application/json" or name.endswith("+json")
        rank = 0 if is_json else 1 + FORMS.index(name) if name in FORMS else 1 + len(FORMS)
        if isinstance(media, Mapping) and (best is None or rank < best[0]):
            best = rank, Content(kind, media.get("schema", True), rank <= len(FORMS))
    return None if best is None else best[1]
