"""Operations of AWS services as tools, from botocore's service models (``service-2.json``).

A shape becomes a schema: structures are objects with exactly the declared members, in the order of the model; a union has exactly one
member; blobs and timestamps are strings. Shapes may be recursive. A tool's name consists of the service and the operation:
``sqs.SendMessage``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from guided.caching import cached_property
from guided.encoding import fingerprint_of
from guided.errors import SchemaError
from guided.schema.frontend.json_values import text_of

__all__ = ["Service", "operations"]

_TYPES: Mapping[str, dict[str, Any]] = {
    "blob": {"type": "string"}, "boolean": {"type": "boolean"}, "character": {"type": "string", "minLength": 1, "maxLength": 1},
    "double": {"type": "number"}, "float": {"type": "number"}, "integer": {"type": "integer"}, "long": {"type": "integer"},
    "string": {"type": "string"}, "timestamp": {"type": "string"},
}  # fmt: skip
# Bounds of a shape, by its type: in the model, and in JSON Schema.
_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "map": ("minProperties", "maxProperties"),
}
_NUMBERS = ("integer", "long", "float", "double")


class Service:
    """The model of one service.

    Attributes
    ----------
    content : Mapping
        The parsed document.

    Raises
    ------
    SchemaError
        The document is not a service model.
    """

    kind = "botocore"

    def __init__(self, content: Mapping[str, Any]) -> None:
        for key in ("metadata", "operations", "shapes"):
            if not isinstance(content.get(key), Mapping):
                raise SchemaError("a service model must have metadata, operations and shapes", f"/{key}", key)
        self.content = content

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the document."""
        return fingerprint_of(self.kind, text_of(self.content))

    @property
    def data(self) -> dict[str, Any]:
        """The part of the document that determines the schemas."""
        operations = {
            name: {"input": item["input"]} for name, item in self.content["operations"].items() if "input" in item
        }
        shapes = {name: _unsaid(shape) for name, shape in self.content["shapes"].items()}
        return {"metadata": {}, "operations": operations, "shapes": shapes}

    def schema(self, key: str) -> dict[str, Any]:
        """Return the schema of an operation's arguments, by the operation's name.

        Raises
        ------
        SchemaError
            A shape is missing or has an unknown type.
        """
        operation = self.content["operations"].get(key, {})
        if "input" not in operation:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        found: dict[str, Any] = {}
        first = operation["input"]["shape"]
        work = [first]
        while work:
            name = work.pop()
            if name not in found:
                found[name] = _schema(self.content["shapes"], name, work, f"/operations/{key}")
        schema: dict[str, Any] = found.pop(first)
        reference = {"$ref": f"#/definitions/{first}"}
        for item in (schema, *found.values()):
            if reference in (*item.get("properties", {}).values(), item.get("items"), item.get("additionalProperties")):
                found[first] = dict(schema)
                break
        members = self.content["shapes"][first].get("members", {})
        for name, inner in schema.get("properties", {}).items():
            text = members[name].get("documentation")
            if isinstance(text, str):
                inner["description"] = text
        return {**schema, "definitions": dict(sorted(found.items()))} if found else schema


def _unsaid(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Remove documentation from a shape."""
    found = {key: value for key, value in shape.items() if key != "documentation"}
    if "members" in found:
        found["members"] = {label: {"shape": member["shape"]} for label, member in found["members"].items()}
    return found


def operations(service: Service) -> Iterator[tuple[str, str, str]]:
    """Yield key, name and description of each operation, in the order of the model."""
    metadata = service.content["metadata"]
    given = metadata.get("serviceId") or metadata.get("endpointPrefix") or "service"
    prefix = "".join(character for character in given if character.isalnum()).lower()
    for key, item in service.content["operations"].items():
        text = item.get("documentation")
        yield key, f"{prefix}.{key}", text if isinstance(text, str) else ""


def _schema(shapes: Mapping[str, Any], name: str, work: list[str], place: str) -> dict[str, Any]:
    """The schema of a shape; appends the shapes it refers to to ``work``."""
    shape = shapes.get(name)
    if not isinstance(shape, Mapping):
        raise SchemaError(f"unknown shape {name!r}", place, "shape")
    kind = shape.get("type")

    def reference(member: Mapping[str, Any]) -> dict[str, Any]:
        target = member["shape"]
        plain = shapes.get(target, {})
        if plain.get("type") in _TYPES:
            return _scalar(plain)
        work.append(target)
        return {"$ref": f"#/definitions/{target}"}

    match kind:
        case "structure":
            members = shape.get("members", {})
            found: dict[str, Any] = {
                "type": "object",
                "properties": {label: reference(member) for label, member in members.items()},
                "required": [label for label in shape.get("required", ()) if label in members],
                "additionalProperties": False,
            }
            return {**found, "minProperties": 1, "maxProperties": 1} if shape.get("union") else found
        case "list":
            return {"type": "array", "items": reference(shape["member"]), **_bounds(shape)}
        case "map":
            found = {"type": "object", "additionalProperties": reference(shape["value"]), **_bounds(shape)}
            keys = shapes.get(shape["key"]["shape"], {}).get("enum")
            return {**found, "propertyNames": {"enum": list(keys)}} if keys else found
        case _ if kind in _TYPES:
            return _scalar(shape)
    raise SchemaError(f"the type {kind!r} of shape {name!r} is unknown", place, "type")


def _scalar(shape: Mapping[str, Any]) -> dict[str, Any]:
    kind = shape["type"]
    if "enum" in shape:
        return {"type": "string", "enum": list(shape["enum"])}
    return {**_TYPES[kind], **_bounds(shape)}


def _bounds(shape: Mapping[str, Any]) -> dict[str, Any]:
    kind = shape["type"]
    names = ("minimum", "maximum") if kind in _NUMBERS else _BOUNDS.get(kind)
    if names is None:
        return {}
    return {name: shape[key] for name, key in zip(names, ("min", "max"), strict=True) if key in shape}
