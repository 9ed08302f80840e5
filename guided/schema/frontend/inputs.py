"""Conversion of every accepted input to one JSON Schema.

=====================================================  ==========================================================
given                                                  is
=====================================================  ==========================================================
dict, bool, JSON text, path to a file of JSON          a JSON Schema
a tool (OpenAI, Anthropic, MCP), a response format     the schema in it
an OpenAPI 3 operation, or a document and a name       the operation's arguments (`guided.schema.frontend.openapi`)
a type, or pydantic's TypeAdapter of one               pydantic's schema of it (`guided.schema.frontend.reader`)
a function                                             its arguments by name (`guided.schema.frontend.signatures`)
=====================================================  ==========================================================

Definitions are distinguished from schemas by keys and types that JSON Schema does not have:

- a tool of OpenAI's interfaces (nested or flat), Anthropic's (``input_schema``) or MCP's (``inputSchema``): the object of its arguments,
  closed unless the schema allows undeclared ones;
- OpenAI's ``response_format`` (``json_schema``), or what it has under ``json_schema``: the schema in it;
- an OpenAPI 3 operation, or a document with a named operation: `guided.schema.frontend.openapi`.

If a type was given, it reads the generated values (`Input.reader`). Everything else is read as plain JSON. With ``source="schema"`` only
the first row applies, without paths: no file is read, and nothing is interpreted as a tool or operation.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guided.errors import SchemaError, shown
from guided.files import read_text
from guided.limits import Limits
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.frontend.openapi import operation_schema
from guided.schema.frontend.tool_definitions import closed_definition, definition_of, is_definition, schema_in

if TYPE_CHECKING:
    from guided.schema.frontend.reader import TypeReader

__all__ = ["Input", "input_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """An input, as a JSON Schema.

    Attributes
    ----------
    schema : dict or bool
        Numbers parsed from text are int or Decimal.
    reader : TypeReader or None
        Reads values as instances of the given type; None: as plain JSON.
    unenforced : tuple of (str, str)
        JSON Pointer and keyword of each constraint of the type that the schema does not express.
    """

    schema: Any
    reader: "TypeReader | None" = None
    unenforced: tuple[tuple[str, str], ...] = ()


def input_of(given: Any, operation: str | None = None, source: str = "auto") -> Input:
    """Return the JSON Schema of any input in the table above.

    Parameters
    ----------
    given : dict, bool, str, path, type or callable
    operation : str, optional
        Which operation of an OpenAPI document.
    source : {"auto", "schema"}
        Any row of the table above, or only a JSON Schema: a dict, a bool or JSON text.

    Raises
    ------
    SchemaError
        A text or file is not JSON, or a definition or type has no schema.
    TypeError
        The input is none of these.
    LimitError
        It exceeds ``schema_depth``, ``file_bytes`` or ``digits``.
    """
    if source == "schema":
        return Input(_plain_schema(_without_operation(given, operation)))
    if isinstance(given, str | os.PathLike):
        given = _parsed(given)
        if not isinstance(given, Mapping | bool):
            raise SchemaError(f"a schema must be an object, true or false, not {shown(given)}", "", "schema")
    if not isinstance(given, (dict, type)):
        given = definition_of(given) or given
    if isinstance(given, bool):
        return Input(_without_operation(given, operation))
    if isinstance(given, Mapping):
        if _is_operation(given) or operation is not None:
            return Input(operation_schema(given, operation))
        schema = _schema_in(given)
        return Input(schema if isinstance(schema, dict | bool) else dict(schema))
    # Why here: a JSON Schema does without pydantic, whose import takes 0.07 s.
    from guided.schema.frontend.reader import schema_of_type

    return Input(*schema_of_type(_without_operation(given, operation)))


def _plain_schema(given: Any) -> Any:
    """Return an input that is a JSON Schema itself. Opens no file."""
    if isinstance(given, str):
        given = _parsed(given, advice="")
        if not isinstance(given, dict | bool):
            raise SchemaError(f"a schema must be an object, true or false, not {shown(given)}", "", "schema")
    elif not isinstance(given, Mapping | bool):
        raise TypeError(f"source='schema' needs a dict, a bool or JSON text, not {type(given).__name__}")
    return given if isinstance(given, dict | bool) else dict(given)


def _parsed(given: str | os.PathLike[str], advice: str = "; to read a file, give a pathlib.Path") -> Any:
    text = given
    if isinstance(text, os.PathLike):
        try:
            text = read_text(text)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise SchemaError(f"{os.fspath(given)} cannot be read: {reason}", "", "schema") from error
    try:
        return parse_json(text, exact_decimal, Limits.of(None).schema_depth)
    except ValueError as error:
        name = "the text"
        if isinstance(given, os.PathLike):
            name, advice = os.fspath(given), ""
        raise SchemaError(f"{name} is not valid JSON: {error}{advice}", "", "schema") from error


def _without_operation(given: Any, operation: str | None) -> Any:
    if operation is not None:
        raise TypeError("operation= is only for OpenAPI documents")
    return given


def _schema_in(given: Mapping[str, Any]) -> Any:
    """Return the schema in a definition, or the input itself if it is a schema."""
    if given.get("type") == "json_schema" or _is_inner_format(given):
        return _of_response_format(given)
    if not is_definition(given):
        return given
    schema = {} if (found := schema_in(given)) is None else found
    if not isinstance(schema, Mapping):
        raise SchemaError(f"the parameters of a tool must be a schema, not {shown(schema)}", "", "parameters")
    return {"type": "object", **closed_definition(schema, strict=True)}


def _is_operation(given: Mapping[str, Any]) -> bool:
    """Return whether the input is an OpenAPI operation or a document of operations."""
    if ("openapi" in given or "swagger" in given) and "paths" in given:
        return True
    return "responses" in given or "requestBody" in given or isinstance(given.get("parameters"), list)


def _is_inner_format(given: Mapping[str, Any]) -> bool:
    """Return whether this is what a response format has under ``json_schema``: JSON Schema has neither of these names."""
    return (
        isinstance(given.get("name"), str)
        and given.keys() <= {"name", "schema", "strict", "description"}
        and "schema" in given
    )


def _of_response_format(given: Mapping[str, Any]) -> Any:
    inner = given.get("json_schema", given)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("schema"), Mapping | bool):
        raise SchemaError("a response format of type json_schema needs a schema", "/json_schema", "schema")
    return inner["schema"]
