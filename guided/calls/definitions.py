"""`arguments_schema`: the JSON Schema of a tool's arguments, as shown to models.

A tool with a JSON definition keeps the definition's schema. The schema of a Python function is assembled from those of its parameters,
which also constrain calls, so models see the accepted values, with two exceptions: patterns use the syntax of Python's `re`, and dates and
times appear as the names of their formats (calls also accept times without seconds or an offset).
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from guided.calls.parameters import Parameter
from guided.patterns.render import render
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.typed import shown_schema
from guided.schema.strings.ecma import ecma_tree

__all__ = ["arguments_schema", "plain_json"]


def arguments_schema(parameters: Sequence[Parameter], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a tool, by their names in calls.

    Parameters
    ----------
    parameters : sequence of Parameter
        Parameters of the tool.
    given : Mapping, optional
        The schema of its JSON definition: kept, except for properties that are not among the parameters (no value satisfies them) or
        whose type was replaced (``Tool(..., types=...)``).

    Returns
    -------
    dict
        Plain JSON: dicts, lists, str, int, float, bool and None.
    """
    if [parameter.kind for parameter in parameters] == ["whole"]:
        return dict(plain_json(parameters[0].type.document if given is None else {"type": "object", **given}))
    definitions: dict[str, Any] = {}
    declared = {} if given is None else given.get("properties", {})
    properties = {}
    others: Any = False
    for parameter in parameters:
        if parameter.kind == "others":
            others = _schema_of(parameter, definitions) or True
            continue
        kept = declared.get(parameter.label)
        if kept is None or parameter.type.reader is not None:
            kept = dict(_schema_of(parameter, definitions))
            if parameter.description:
                kept["description"] = parameter.description
        properties[parameter.label] = kept
    found: dict[str, Any] = {"type": "object", **(given or {}), "properties": properties}
    if given is None:
        found["required"] = [parameter.label for parameter in parameters if parameter.required]
    found["additionalProperties"] = others
    if definitions:
        found["$defs"] = definitions
    return dict(plain_json(found))


def _schema_of(parameter: Parameter, definitions: dict[str, Any]) -> Mapping[str, Any]:
    """The schema of a parameter; its definitions move to `definitions`."""
    kind = parameter.type
    if kind.reader is None:
        schema = plain_json(kind.document)
    else:
        schema = _in_python(plain_json(shown_schema(kind.reader.adapter)))
    if not isinstance(schema, dict):
        return {} if schema else {"not": {}}
    schema = _hoisted(schema, parameter.label, definitions)
    return {"type": "array", "items": schema} if parameter.kind == "variadic" else schema


def _hoisted(schema: dict[str, Any], label: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Move ``$defs`` of a schema to ``definitions``; if a name is taken, the names are prefixed with the parameter's label."""
    own = schema.pop("$defs", {})
    renamed = {name: f"{label}.{name}" for name in own if name in definitions and definitions[name] != own[name]}
    if renamed:
        renamed = {name: f"{label}.{name}" for name in own}
    moved = {"#" + pointer_to("$defs", name): "#" + pointer_to("$defs", other) for name, other in renamed.items()}
    for name, definition in own.items():
        definitions[renamed.get(name, name)] = _with_references(definition, moved)
    found: dict[str, Any] = _with_references(schema, moved)
    return found


def _with_references(value: Any, moved: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: moved.get(item, item) if key == "$ref" and isinstance(item, str) else _with_references(item, moved)
            for key, item in value.items()
        }
    return [_with_references(item, moved) for item in value] if isinstance(value, list) else value


def _in_python(value: Any) -> Any:
    """Copy a schema with whole patterns in Python's syntax."""
    if isinstance(value, dict):
        found = {name: _in_python(item) for name, item in value.items()}
        pattern = found.get("pattern")
        if isinstance(pattern, str) and pattern.startswith("^(?:") and pattern.endswith(")$"):
            found["pattern"] = f"^(?:{render(ecma_tree(pattern))})$"
        return found
    return [_in_python(item) for item in value] if isinstance(value, list) else value


def plain_json(value: Any) -> Any:
    """Copy a schema to types that `json.dumps` writes: dicts, lists, int and float."""
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
