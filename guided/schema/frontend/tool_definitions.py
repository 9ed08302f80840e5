"""Definitions of tools: OpenAI's, nested or flat, Anthropic's and MCP's; and the schema of their arguments."""

from collections.abc import Mapping
from typing import Any

__all__ = ["closed_definition", "definition_of", "is_definition", "schema_in"]

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
# If one of these declares properties, closing the object around it would exclude them.
_COMBINING = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "unevaluatedProperties", "propertyNames"}
)


def is_definition(given: Mapping[str, Any]) -> bool:
    """Return whether a dict is the definition of a tool."""
    if given.get("type") == "function":
        return "function" in given or "name" in given
    return isinstance(given.get("name"), str) and any(map(given.__contains__, _SCHEMAS))


def definition_of(item: Any) -> dict[str, Any] | None:
    """The definition of an object with ``name`` and ``inputSchema`` (or ``input_schema``); None for other objects."""
    if isinstance(item, type | Mapping) or not isinstance(getattr(item, "name", None), str):
        return None
    schema = next((found for key in _SCHEMAS[1:] if (found := getattr(item, key, None)) is not None), None)
    if schema is None:
        return None
    return {"name": item.name, "description": getattr(item, "description", None), "inputSchema": schema}


def schema_in(definition: Mapping[str, Any]) -> Any:
    """The schema of the arguments; None if there is none."""
    inner = definition.get("function", definition)
    inner = inner if isinstance(inner, Mapping) else definition
    return next((inner[key] for key in _SCHEMAS if key in inner), None)


def closed_definition(schema: Mapping[str, Any] | None, strict: bool) -> Mapping[str, Any]:
    """The schema of a definition's arguments; with ``strict``, additional ones are forbidden unless the schema mentions them."""
    if schema is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if "additionalProperties" in schema or not strict or schema.keys() & _COMBINING:
        return schema
    return {**schema, "additionalProperties": False}
