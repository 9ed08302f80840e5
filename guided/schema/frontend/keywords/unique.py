"""``uniqueItems``: an atom of its own, or, for grammars, "at most once" for each value if the items come from a finite set.

The set may contain more values than the items can have, never fewer. So ``allOf`` may use any one member's set, and ``anyOf`` the union.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from guided.errors import LimitError
from guided.schema.formula.exact import canonical, fraction, is_number
from guided.schema.frontend.keywords.enumerations import constant
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.resources import Context
from guided.schema.frontend.site import Site

__all__ = ["distinct"]

_FEW_VALUES = 200
# Why so few: counting each value costs more than comparing with earlier items, and longer arrays are rare.
_FEW_INTEGERS = 16
_FEW_SCHEMAS = 40


def distinct(site: Site) -> None:
    """Append that no two items are equal.

    Raises
    ------
    LimitError
        ``minItems`` asks for more values than `Limits.listed_values`: else a text could meet the limit in its middle.
    """
    least: Any = site.schema.get("minItems")
    most = site.lowering.limits.listed_values
    if is_number(least) and fraction(least, site.lowering.limits.digits) > most:
        place = pointer_of((site.location, "minItems"))
        raise LimitError("listed_values", least, most, f"so many items that must differ, at {place}")
    values = _values_of_items(site) if site.lowering.lists_items else None
    if values is None:
        site.arrays.append(site.noted("uniqueItems"))
        return
    for value in values:
        formula = constant(site.lowering, value, (site.location, "items"), 0)
        site.arrays.append(site.atom("contains", formula, 0, 1))


def _values_of_items(site: Site) -> list[Any] | None:
    schema = site.schema
    if "items" not in site.context.dialect.handlers:
        return None
    items = schema.get("items", True)
    prefix = schema.get("prefixItems", []) if site.context.dialect.year >= 2020 else []
    rest = "items"
    if isinstance(items, list):
        prefix, items, rest = items, schema.get("additionalItems", True), "additionalItems"
    most = schema.get("maxItems", len(prefix) + 1)
    sources: list[tuple[Any, Location]] = [
        (member, ("prefixItems" if rest == "items" else "items", i)) for i, member in enumerate(prefix)
    ]
    if most > len(prefix):
        sources.append((items, (rest,)))
    values: dict[Any, Any] = {}
    for member, tokens in sources:
        found = _values(site, member, site.context, (site.location, *tokens), [_FEW_SCHEMAS])
        if found is None:
            return None
        values.update((canonical(value), value) for value in found)
        if len(values) > _FEW_VALUES:
            return None
    return list(values.values())


def _values(site: Site, schema: Any, context: Context, location: Location, budget: list[int]) -> list[Any] | None:
    """Return a superset of the schema's values; None if it is too large or hard to determine."""
    budget[0] -= 1
    if schema is False:
        return []
    if not isinstance(schema, dict) or budget[0] < 0:
        return None
    context = site.lowering.references.entered(schema, context, location)
    handlers = context.dialect.handlers
    if isinstance(schema.get("$ref"), str):
        target = site.lowering.references.resolve("$ref", schema["$ref"], context, location)
        found = _values(site, target.schema, target.context, target.location, budget)
        if found is not None or context.dialect.reference_stands_alone:
            return found
    if "const" in schema and "const" in handlers:
        return [schema["const"]] if _is_small(schema["const"]) else None
    listed = schema.get("enum")
    if isinstance(listed, list) and "enum" in handlers and len(listed) <= _FEW_VALUES:
        return listed if all(map(_is_small, listed)) else None
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(names, list) and names and "type" in handlers:
        of_types = [_values_of_type(name, schema) for name in names]
        if None not in of_types:
            return [value for values in of_types for value in values or ()]
    return _values_of_branches(site, schema, context, location, budget)


def _values_of_type(name: Any, schema: dict[str, Any]) -> Sequence[Any] | None:
    """Return a superset of the values of a type that the schema allows; None if there are too many."""
    if name == "string":
        return [""] if schema.get("maxLength") == 0 else None
    if name == "integer":
        low: Any = schema.get("minimum")
        high: Any = schema.get("maximum")
        if is_number(low) and is_number(high):
            first, last = ceil(fraction(low)), floor(fraction(high))
            return range(first, last + 1) if last - first < _FEW_INTEGERS else None
    if name == "null":
        return [None]
    return [True, False] if name == "boolean" else None


def _values_of_branches(
    site: Site, schema: Any, context: Context, location: Location, budget: list[int]
) -> list[Any] | None:
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword)
        if not isinstance(branches, list) or keyword not in context.dialect.handlers:
            continue
        found = [_values(site, branch, context, (location, keyword, i), budget) for i, branch in enumerate(branches)]
        known = [values for values in found if values is not None]
        if keyword == "allOf" and known:
            return known[0]
        if keyword != "allOf" and len(known) == len(found):
            return [value for values in known for value in values]
    return None


def _is_small(value: Any, depth: int = 3) -> bool:
    if isinstance(value, list):
        return depth > 0 and len(value) <= 20 and all(_is_small(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return depth > 0 and len(value) <= 20 and all(_is_small(item, depth - 1) for item in value.values())
    return True
