"""Schemas inside other definitions: tools, response formats, OpenAPI operations.

- a tool of OpenAI's interfaces (nested or flat), Anthropic's (``input_schema``) or MCP's (``inputSchema``): the object of its arguments,
  closed unless the schema allows undeclared ones;
- OpenAI's ``response_format`` (``json_schema``): the schema in it;
- an OpenAPI 3 operation, or a document with a named operation: `guided.schema.frontend.openapi`.

They are distinguished from schemas by keys and types that JSON Schema does not have.
"""

from collections.abc import Mapping
from typing import Any

from guided.errors import SchemaError, shown

__all__ = ["is_operation", "schema_in"]

_PARAMETERS = ("parameters", "input_schema", "inputSchema")
# A schema with any of these keywords constrains undeclared arguments itself.
_OTHERS = ("additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames")
_COMBINING = ("$ref", "allOf", "anyOf", "oneOf", "not", "if")


def schema_in(given: Mapping[str, Any]) -> Any:
    """Return the schema in a definition, or the input itself if it is a schema.

    Raises
    ------
    SchemaError
        It is a definition without a schema.
    """
    if given.get("type") == "json_schema":
        return _of_response_format(given)
    inner = given.get("function") if given.get("type") == "function" else None
    tool = inner if isinstance(inner, Mapping) else given
    if given.get("type") != "function" and not (
        isinstance(given.get("name"), str) and any(map(given.__contains__, _PARAMETERS))
    ):
        return given
    key = next((key for key in _PARAMETERS if key in tool), None)
    schema = {} if key is None or tool[key] is None else tool[key]
    if not isinstance(schema, Mapping):
        raise SchemaError(f"the parameters of a tool must be a schema, not {shown(schema)}", f"/{key}", str(key))
    closed = {"type": "object", **schema}
    if not any(key in schema for key in (*_OTHERS, *_COMBINING)):
        closed["additionalProperties"] = False
    return closed


def is_operation(given: Mapping[str, Any]) -> bool:
    """Return whether the input is an OpenAPI operation or a document of operations."""
    if "openapi" in given and "paths" in given:
        return True
    return "responses" in given or "requestBody" in given or isinstance(given.get("parameters"), list)


def _of_response_format(given: Mapping[str, Any]) -> Any:
    inner = given.get("json_schema", given)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("schema"), Mapping | bool):
        raise SchemaError("a response format of type json_schema needs a schema", "/json_schema", "schema")
    return inner["schema"]
