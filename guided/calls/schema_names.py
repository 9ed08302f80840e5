"""Display names of schema types: ``int >= 0``, ``list[str]``, ``"a" | "b"``."""

import json
from collections.abc import Mapping
from typing import Any

from guided.errors import shown

__all__ = ["name_of"]

_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "object"}
_SIGNS = {
    "minimum": ">=",
    "maximum": "<=",
    "exclusiveMinimum": ">",
    "exclusiveMaximum": "<",
    "multipleOf": "multiple of",
}
_DEEPEST = 4


def name_of(schema: Any, depth: int = 0) -> str:
    """The name of a schema's type; types nested deeper than a few levels appear as ``Any``."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return "Any"
    for keyword in ("const", "enum"):
        if keyword in schema:
            values = [schema["const"]] if keyword == "const" else schema["enum"]
            return " | ".join(json.dumps(value, default=str) for value in values)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), list):
            return " | ".join(dict.fromkeys(name_of(option, depth + 1) for option in schema[keyword]))
    if isinstance(schema.get("$ref"), str):
        return str(schema["$ref"]).rpartition("/")[2] or "object"
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(_of_type(kind, schema, depth) for kind in kinds)
    return _of_type(kinds, schema, depth) if isinstance(kinds, str) else "Any"


def _of_type(kind: str, schema: Mapping[str, Any], depth: int) -> str:
    if kind == "array":
        if "prefixItems" in schema and not schema.get("items"):
            return f"tuple[{', '.join(name_of(part, depth + 1) for part in schema['prefixItems'])}]"
        return f"list[{name_of(schema.get('items'), depth + 1)}]"
    name = _NAMES.get(kind, "Any")
    if kind not in ("integer", "number"):
        return name
    bounds = ", ".join(f"{sign} {shown(schema[keyword])}" for keyword, sign in _SIGNS.items() if keyword in schema)
    return f"{name} {bounds}" if bounds else name
