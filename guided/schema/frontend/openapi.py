"""Operations of OpenAPI 3 and Swagger 2: the object of an operation's parameters, with its request body as ``body``.

Properties have the names of the parameters, whether these are in path, query, headers or cookies. What they refer to in the document is
bundled with them (`guided.schema.frontend.bundling`), which translates schemas of version 3.0. Schemas of 3.1 are JSON Schemas.

Complexity: linear in the document; iterative. Nothing is fetched.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guided.errors import SchemaError, shown
from guided.schema.frontend.bundling import bundled, follow
from guided.schema.frontend.location import pointer_to

__all__ = ["BODY", "METHODS", "Argument", "arguments_of", "operation_schema", "resolved", "schema_of"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODY = "body"
_LONGEST_CHAIN = 100
_IN_PATH = re.compile(r"\{([^{}]+)\}")
# Keywords of a Swagger 2 parameter that are not part of its schema.
_NOT_SCHEMA = frozenset({"name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema"})
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
        The operation does not exist, a parameter is malformed, or a reference has no target.
    """
    pointer, shared, chosen = ("", None, given) if "paths" not in given else _chosen(given, operation)
    return schema_of(arguments_of(given, pointer, shared, chosen), given, pointer)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operation.

    Attributes
    ----------
    label : str
        Name in calls.
    name, where : str
        Name in the document, and its place: path, query, header, cookie, formData or body.
    schema : Any
    required : bool
    description : str
    media : str
        Media type of a body.
    """

    label: str
    name: str
    where: str
    schema: Any
    required: bool
    description: str
    media: str = ""


def arguments_of(
    document: Mapping[str, Any], pointer: str, shared: Any, operation: Mapping[str, Any], path: str = ""
) -> tuple[Argument, ...]:
    """Return the arguments of an operation: parameters in order, then the body.

    ``shared``: the parameters of the operation's path, if any. Of two arguments with one name the second is distinguished by its place.

    Raises
    ------
    SchemaError
        A parameter is malformed.
    """
    is_swagger = "swagger" in document and "openapi" not in document
    found: list[Argument] = []
    labels: set[str] = set()
    for place, parameter in _parameters_of(document, pointer, shared, operation):
        name, where = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not isinstance(where, str):
            raise SchemaError("a parameter needs name and in", place, "name")
        label = _label(name, where, labels)
        required = parameter.get("required") is True or where == "path"
        media = FORMS[0] if where == "formData" else ""
        schema = _schema_of(parameter, place, is_swagger)
        found.append(Argument(label, name, where, schema, required, _text(parameter), media))
    declared = {argument.name for argument in found if argument.where == "path"}
    for name in _IN_PATH.findall(path):
        if name not in declared:
            raise SchemaError(f"the path has {{{name}}}, but no path parameter has this name", pointer, "parameters")
    if not is_swagger and operation.get("requestBody") is not None:
        body = resolved(document, operation["requestBody"], f"{pointer}/requestBody")
        media, schema = _content_of(body) or ("", True)
        label = _label(BODY, BODY, labels)
        found.append(Argument(label, BODY, BODY, schema, body.get("required") is True, _text(body), media))
    return tuple(found)


def _label(name: str, where: str, labels: set[str]) -> str:
    """Return a name that is not among some labels, and add it to them."""
    while name in labels:
        name = f"{name}_in_{where}"
    labels.add(name)
    return name


def schema_of(arguments: Sequence[Argument], document: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """Return the schema of an operation's arguments, including everything that it refers to.

    Raises
    ------
    SchemaError
        A reference has no target.
    """
    properties = {argument.label: argument.schema for argument in arguments}
    raw: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [argument.label for argument in arguments if argument.required]:
        raw["required"] = required
    # OpenAPI 3.1 is the first version whose schemas are JSON Schemas.
    version = str(document.get("openapi", document.get("swagger", "3.1")))
    found = bundled(raw, document, pointer, is_older=version.split(".")[:2] < ["3", "1"])
    for argument in arguments:
        inner = found["properties"][argument.label]
        if argument.description and isinstance(inner, dict) and "$ref" not in inner:
            inner["description"] = argument.description
    return found


def _chosen(document: Mapping[str, Any], wanted: str | None) -> tuple[str, Any, Mapping[str, Any]]:
    """Return the pointer, the path's parameters, and the object of an operation."""
    paths = document["paths"]
    found: dict[str, tuple[str, Any, Mapping[str, Any]]] = {}
    names: list[str] = []
    for path, given in paths.items() if isinstance(paths, Mapping) else ():
        try:
            item = resolved(document, given, pointer_to("paths", path))
        except SchemaError:
            if wanted is not None and wanted.partition(" ")[2] == path:
                raise
            continue
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, Mapping):
                entry = (pointer_to("paths", path, method), item.get("parameters"), operation)
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


def _parameters_of(
    document: Mapping[str, Any], pointer: str, shared: Any, operation: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield location and object of each parameter; those of the operation override those of its path.

    Raises
    ------
    SchemaError
        A parameter is malformed.
    """
    found: dict[tuple[Any, Any], tuple[str, Mapping[str, Any]]] = {}
    above = pointer.rpartition("/")[0]
    for where, parameters in ((above, shared), (pointer, operation.get("parameters"))):
        if not isinstance(parameters, list | tuple | None):
            raise SchemaError(f"parameters must be a list, not {shown(parameters)}", where, "parameters")
        for place, parameter in enumerate(parameters or ()):
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


def _schema_of(parameter: Mapping[str, Any], place: str, is_swagger: bool) -> Any:
    if "schema" in parameter:
        return parameter["schema"]
    if is_swagger:
        own = {keyword: value for keyword, value in parameter.items() if keyword not in _NOT_SCHEMA}
        return {**own, "type": "string"} if own.get("type") == "file" else own
    content = _content_of(parameter)
    if content is None:
        raise SchemaError("it has neither a schema nor content", place, "content")
    return content[1]


def _text(holder: Mapping[str, Any]) -> str:
    text = holder.get("description")
    return text if isinstance(text, str) else ""


def _content_of(holder: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return media type and schema of a parameter or body: JSON if there is any, then forms, then the first one; None if there is none."""
    content = holder.get("content")
    best: tuple[int, tuple[str, Any]] | None = None
    for kind, media in content.items() if isinstance(content, Mapping) else ():
        name = kind.partition(";")[0].strip().lower()
        is_json = name == "application/json" or name.endswith("+json")
        rank = 0 if is_json else 1 + FORMS.index(name) if name in FORMS else 1 + len(FORMS)
        if isinstance(media, Mapping) and (best is None or rank < best[0]):
            best = rank, (kind, media.get("schema", True))
    return None if best is None else best[1]
