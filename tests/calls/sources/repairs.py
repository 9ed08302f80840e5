"""Repair of common mistakes in published API documents, so that tests can read them; each repair is recorded.

Tools reject a schema that is malformed or that no value satisfies. Published documents contain such schemas: bounds as text (``"maximum":
"50"``), words for booleans (``"additionalProperties": "true"``), ``"required": true`` within a property (draft 3), and a type that excludes
all values of ``enum``. The intent of each is clear; nothing else is changed.

Iterative and linear in the size of the document; returns a copy.
"""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["repair_document"]

_NUMBERS = frozenset({
    "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
    "minProperties", "minimum", "multipleOf",
})  # fmt: skip
_TRUTHS = frozenset({"additionalItems", "additionalProperties", "nullable", "readOnly", "uniqueItems"})
_WORDS = {"true": True, "false": False}
# The values of these keywords are data.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
# Why at most 400 digits: Python refuses to convert thousands, and no bound has so many.
_DECIMAL = re.compile(r"-?\d{1,400}(\.\d{1,400})?")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,), "object": (dict,),
}  # fmt: skip


def repair_document(document: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Repair a copy of a document, and list the repairs.

    Returns
    -------
    dict
    tuple of (str, str)
        JSON Pointer and keyword of each repair, in the order of the document.
    """
    holder: dict[str, Any] = {}
    found: list[tuple[str, str]] = []
    work: list[tuple[Any, Any, Any, str]] = [(document, holder, "", "")]
    while work:
        item, into, key, pointer = work.pop()
        if isinstance(item, Mapping):
            repairs = _repairs(item)
            found.extend((pointer, keyword) for keyword in repairs)
            mine: Any = {
                name: repairs.get(name, value) for name, value in item.items() if repairs.get(name, value) is not _GONE
            }
            into[key] = mine
            below: list[tuple[Any, Any]] = [(name, value) for name, value in mine.items() if name not in _DATA]
        elif isinstance(item, list):
            into[key] = mine = list(item)
            below = list(enumerate(mine))
        else:
            continue
        for name, value in reversed(below):
            if isinstance(value, Mapping | list):
                escaped = str(name).replace("~", "~0").replace("/", "~1")
                work.append((value, mine, name, f"{pointer}/{escaped}"))
    return holder[""], tuple(found)


_GONE: Any = object()


def _repairs(item: Mapping[str, Any]) -> dict[str, Any]:
    """Repairs of an object: the keywords and their intended values."""
    found: dict[str, Any] = {}
    for name, value in item.items():
        if isinstance(value, str) and name in _NUMBERS and _DECIMAL.fullmatch(value):
            found[name] = float(value) if "." in value else int(value)
        elif isinstance(value, str) and name in _TRUTHS and value.lower() in _WORDS:
            found[name] = _WORDS[value.lower()]
    if isinstance(item.get("required"), bool) and "in" not in item and "content" not in item and "type" in item:
        found["required"] = _GONE
    values, kinds = item.get("enum"), _TYPES.get(item["type"]) if isinstance(item.get("type"), str) else None
    if isinstance(values, list) and values and kinds and not any(_is_of(value, kinds) for value in values):
        found["type"] = _GONE
    return found


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
