"""The JSON Schema of a tool's arguments, as models are shown it: `arguments_schema`.

A tool given by a JSON definition keeps the schema of the definition. The schema of a Python function is put together from the types
of its parameters, which are the ones that calls are constrained to; so what is shown is what is accepted, with two exceptions: patterns
are written in the syntax of Python's `re`, and dates and times are shown by the names of their formats (calls also take times without an
offset).
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from guided.calls.containers import with_description
from guided.calls.parameters import Parameter
from guided.calls.schema import SchemaType
from guided.calls.values import ValueType
from guided.patterns.render import render
from guided.patterns.tree import Alternate, Literal, Node

__all__ = ["arguments_schema", "plain_json"]


def arguments_schema(parameters: Sequence[Parameter], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema of the arguments of a tool, by their names in calls.

    Parameters
    ----------
    parameters : sequence of Parameter
        Of the tool.
    given : Mapping, optional
        The schema of its JSON definition: kept, except for properties that are not among the parameters (no value satisfies them)
        or whose type was replaced (``Tool(..., types=...)``).

    Returns
    -------
    dict
        Plain JSON: dicts, lists, str, int, float, bool and None.
    """
    if [parameter.kind for parameter in parameters] == ["whole"]:
        whole = parameters[0].type
        assert isinstance(whole, SchemaType)
        return dict(plain_json(whole.document if given is None else {"type": "object", **given}))
    definitions: dict[str, Any] = {}
    declared = {} if given is None else given.get("properties", {})
    properties = {}
    for parameter in parameters:
        kept = declared.get(parameter.label)
        if kept is None or isinstance(parameter.type, ValueType):
            kept = with_description(_schema_of(parameter, definitions), parameter.description)
        properties[parameter.label] = kept
    found: dict[str, Any] = {"type": "object", **(given or {}), "properties": properties}
    if given is None:
        found["required"] = [parameter.label for parameter in parameters if parameter.required]
    found["additionalProperties"] = False
    if definitions:
        found["$defs"] = definitions
    return dict(plain_json(found))


def _schema_of(parameter: Parameter, definitions: dict[str, Any]) -> Mapping[str, Any]:
    """The schema of a parameter; its own definitions move to those of all parameters."""
    if isinstance(parameter.type, ValueType):
        schema = parameter.type.schema
    else:
        schema = plain_json(parameter.type.document)
        if not isinstance(schema, dict):
            return {} if schema else {"not": {}}
        schema = _hoisted(schema, parameter.label, definitions)
    return {"type": "array", "items": schema} if parameter.kind == "variadic" else schema


def _hoisted(schema: dict[str, Any], label: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """A schema whose ``$defs`` are among ``definitions``: under their names, or with the parameter's before them where those are taken."""
    own = schema.pop("$defs", {})
    renamed = {name: f"{label}.{name}" for name in own if name in definitions and definitions[name] != own[name]}
    if renamed:
        renamed = {name: f"{label}.{name}" for name in own}
    moved = {f"#/$defs/{_escaped(name)}": f"#/$defs/{_escaped(other)}" for name, other in renamed.items()}
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


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def plain_json(value: Any) -> Any:
    """A copy made of what `json.dumps` writes: dicts, lists, and numbers that are int or float; patterns are written as text."""
    if isinstance(value, Mapping):
        found = {key: plain_json(item) for key, item in value.items() if not isinstance(item, Node)}
        return found | _of_pattern(value["pattern"]) if isinstance(value.get("pattern"), Node) else found
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _of_pattern(node: Node) -> dict[str, Any]:
    """The keywords of JSON Schema for strings that a pattern matches from end to end; none if no pattern can be written."""
    options = node.items if isinstance(node, Alternate) else (node,)
    texts = [item.text for item in options if isinstance(item, Literal)]
    if len(texts) == len(options):
        return {"enum": texts}
    try:
        return {"pattern": f"^(?:{render(node)})$"}
    except ValueError:
        return {}
