"""Definitions of others that have a schema within: tools, response formats, OpenAPI operations.

- a tool as OpenAI's interfaces (nested or flat), Anthropic's (``input_schema``) and MCP's (``inputSchema``) have it: the object of its
  arguments, with no undeclared ones unless the schema allows them;
- OpenAI's ``response_format`` (``json_schema``): the schema in it;
- an OpenAPI 3 operation, or a document of which one operation is named: `guided.schema.openapi`.

Told apart from schemas by keys and types that JSON Schema does not have.
"""

from collections.abc import Mapping
from typing import Any

from guided.errors import SchemaError, shown

__all__ = ["is_operation", "schema_in"]

_PARAMETERS = ("parameters", "input_schema", "inputSchema")
# A schema that says any of this says itself what else may be there.
_OTHERS = ("additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames")
_COMBINING = ("$ref", "allOf", "anyOf", "oneOf", "not", "if")


def schema_in(given: Mapping[str, Any]) -> Any:
    """The schema in a definition, or what is given where it is a schema itself.

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
        raise SchemaError(f"the parameters of a tool are a schema, not {shown(schema)}", f"/{key}", str(key))
    closed = {"type": "object", **schema}
    if not any(key in schema for key in (*_OTHERS, *_COMBINING)):
        closed["additionalProperties"] = False
    return closed


def is_operation(given: Mapping[str, Any]) -> bool:
    """Is it an operation of OpenAPI, or a document of operations?"""
    if "openapi" in given and "paths" in given:
        return True
    return "responses" in given or "requestBody" in given or isinstance(given.get("parameters"), list)


def _of_response_format(given: Mapping[str, Any]) -> Any:
    inner = given.get("json_schema", given)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("schema"), Mapping | bool):
        raise SchemaError("a response format of type json_schema has a schema", "/json_schema", "schema")
    return inner["schema"]
