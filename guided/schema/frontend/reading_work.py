"""The work of pydantic to read a value: it tries all choices of a union, at each level of the value again.

Reading takes time exponential in the depth of the value where choices of a union that are both objects, or both arrays, have the union
again in the same place: ``class Not: of: "Not | Maybe"`` beside ``class Maybe: of: "Not | Maybe"``. A discriminator decides instead.

Complexity: O(values x types) look-ups, only for types with such unions.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import pydantic

from guided.errors import LimitError
from guided.fixpoint.worklist import post_order
from guided.limits import Limits
from guided.schema.frontend.json_values import parse_json

__all__ = ["check_work"]

# Trials of a type that take as long as a step of a call.
_TRIALS_PER_STEP = 4
_OBJECTS = frozenset({"model", "model-fields", "dataclass", "dataclass-args", "typed-dict", "dict"})
_ARRAYS = frozenset({"list", "set", "frozenset", "tuple", "generator"})
_INNER = ("schema", "json_schema", "lax_schema")


def check_work(adapter: "pydantic.TypeAdapter[Any]", text: str | bytes) -> None:
    """Check that a type takes bounded work to read a text; one that is not JSON is left to pydantic.

    Raises
    ------
    LimitError
        ``call_steps`` is exceeded.
    """
    types = _types_of(adapter)
    if not types.can_explode:
        return
    try:
        value = parse_json(text)
    except ValueError:
        return
    work, limit = types.trials(value) // _TRIALS_PER_STEP, Limits().call_steps
    if work > limit:
        advice = "the unions of the type overlap at too many levels of the value: tell their choices apart by pydantic's discriminator="
        raise LimitError("call_steps", work, limit, advice)


@lru_cache(maxsize=256)
def _types_of(adapter: "pydantic.TypeAdapter[Any]") -> "_Types":
    return _Types(adapter.core_schema)


class _Types:
    """The types within one, as pydantic describes them."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._named: dict[str, Any] = {}
        found = list(_within(root))
        for one in found:
            self._named.update((each["ref"], each) for each in one.get("definitions", ()))
        is_recursive = any(one.get("type") == "definition-ref" for one in found)
        self.can_explode = is_recursive and any(self._overlaps(one) for one in found)

    def trials(self, value: Any) -> int:
        """Return how often a type is tried with a part of a value."""
        parts: dict[tuple[int, int], tuple[Any, Any]] = {}

        def keys(value: Any, kind: Any) -> list[tuple[int, int]]:
            found = []
            for part, inner in self._tried(value, kind):
                if isinstance(part, dict | list):
                    key = id(part), id(inner)
                    parts[key] = part, inner
                    found.append(key)
            return found

        first = id(value), id(self._root)
        parts[first] = value, self._root
        counts: dict[tuple[int, int], int] = {}
        for key in post_order([first], lambda key: keys(*parts[key])):
            below = [counts.get(one, 0) for one in keys(*parts[key])]
            is_one = parts[key][1].get("type") == "tagged-union"
            counts[key] = 1 + (max(below, default=0) if is_one else sum(below))
        return counts[first]

    def _tried(self, value: Any, kind: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the parts of a value that a type reads, each with the type that reads it."""
        match kind.get("type"):
            case "definition-ref":
                yield value, self._named.get(kind["schema_ref"], {})
            case "union":
                yield from ((value, one) for one in _choices(kind))
            case "tagged-union":
                name, choices = kind["discriminator"], kind["choices"]
                tag = value.get(name) if isinstance(name, str) and isinstance(value, dict) else None
                known = [choices[tag]] if isinstance(tag, str | int) and tag in choices else choices.values()
                yield from ((value, one) for one in known)
            case "model-fields" | "typed-dict" | "dataclass-args" if isinstance(value, dict):
                fields = kind["fields"]
                named = fields.items() if isinstance(fields, Mapping) else ((one["name"], one) for one in fields)
                for name, field in named:
                    alias = field.get("validation_alias")
                    name = alias if isinstance(alias, str) and alias in value else name
                    if name in value:
                        yield value[name], field["schema"]
            case "dict" if isinstance(value, dict) and "values_schema" in kind:
                yield from ((one, kind["values_schema"]) for one in value.values())
            case "tuple" if isinstance(value, list) and kind["items_schema"]:
                items, rest = kind["items_schema"], kind.get("variadic_item_index", len(kind["items_schema"]) - 1)
                yield from ((one, items[min(place, rest)]) for place, one in enumerate(value))
            case "list" | "set" | "frozenset" | "generator" if isinstance(value, list) and "items_schema" in kind:
                yield from ((one, kind["items_schema"]) for one in value)
            case _:
                yield from ((value, kind[name]) for name in _INNER if isinstance(kind.get(name), Mapping))

    def _overlaps(self, kind: Any) -> bool:
        """Return whether several choices of a union may read the same object or array."""
        if kind.get("type") != "union":
            return False
        forms = [self._forms(one) for one in _choices(kind)]
        return any(sum(form in each for each in forms) > 1 for form in ("object", "array"))

    def _forms(self, kind: Any) -> set[str]:
        found, seen, work = set[str](), set[int](), [kind]
        while work:
            one = work.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            name = one.get("type")
            if name in _OBJECTS:
                found.add("object")
            elif name in _ARRAYS:
                found.add("array")
            elif name == "definition-ref":
                work.append(self._named.get(one["schema_ref"], {}))
            elif name in ("union", "tagged-union"):
                work += _choices(one)
            else:
                work += [one[inner] for inner in _INNER if isinstance(one.get(inner), Mapping)]
        return found


def _choices(kind: Any) -> list[Any]:
    """Return the choices of a union, which may be pairs of a choice and its label."""
    choices = kind["choices"]
    if isinstance(choices, Mapping):
        return list(choices.values())
    return [one[0] if isinstance(one, tuple) else one for one in choices]


def _within(root: Any) -> Iterator[Any]:
    """Yield the descriptions of types within one."""
    work, seen = [root], set[int]()
    while work:
        one = work.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Mapping):
            yield one
            work += one.values()
        elif isinstance(one, list | tuple):
            work += one
