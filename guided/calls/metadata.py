"""Constraints from the metadata of annotations.

Metadata of annotated-types, pydantic (`Field`, `StringConstraints`) and this package is enforced or rejected. A string or `Doc` is a
description; other metadata belongs to other libraries and is ignored (PEP 593). pydantic is recognized by its attributes and never
imported.
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import annotated_types

from guided.calls.constraints import Constraints
from guided.calls.searching import found_in
from guided.engine.specs import Choice, Regex
from guided.errors import SchemaError
from guided.patterns.parse import parse
from guided.patterns.tree import Literal, Node, alternate

__all__ = ["alias_of", "collect", "pattern_of"]

# pydantic's options that every value of the language satisfies.
_SATISFIED = {"allow_inf_nan", "coerce_numbers_to_str", "fail_fast", "regex_engine", "strict", "union_mode"}
_PATTERN_FLAGS = re.A | re.I | re.M | re.S | re.X
_NUMBER_SIDES = (
    (annotated_types.Ge, "ge", "low"),
    (annotated_types.Gt, "gt", "above"),
    (annotated_types.Le, "le", "high"),
    (annotated_types.Lt, "lt", "below"),
)


def collect(metadata: Sequence[Any], pointer: str) -> Constraints:
    """Collect the constraints in metadata.

    Raises
    ------
    SchemaError
        Metadata cannot be enforced.
    PatternError
        A pattern is malformed, or uses a construct that no automaton can express.
    """
    found = Constraints()
    for item in metadata:
        _add(found, item, pointer)
    return found


def pattern_of(item: Any, pointer: str) -> Node | None:
    """Return the pattern of a Regex, a Choice, a compiled pattern or a tree; None for other objects.

    Raises
    ------
    SchemaError
        A compiled pattern of bytes, or a Regex with another builder.
    PatternError
        The pattern is malformed, or uses a construct that no automaton can express.
    """
    match item:
        case Node():
            return item
        case Regex():
            if item.builder != "guided":
                raise SchemaError(
                    f"builder {item.builder!r} does not build a syntax tree; leave builder out", pointer, "Regex"
                )
            return _parsed(item.pattern, item.flags)
        case Choice():
            return _options(item)
        case re.Pattern():
            if isinstance(item.pattern, bytes):
                raise SchemaError("a pattern of bytes has no characters", pointer, "re.Pattern")
            return _parsed(item.pattern, item.flags & _PATTERN_FLAGS)
        case _:
            return None


def alias_of(metadata: Iterable[Any]) -> str | None:
    """Return the name in pydantic's ``Field(alias=...)``."""
    aliases = (getattr(item, "alias", None) for item in metadata if _is_field(item))
    return next((alias for alias in aliases if isinstance(alias, str)), None)


def _add(found: Constraints, item: Any, pointer: str) -> None:
    for kind, attribute, side in _NUMBER_SIDES:
        if isinstance(item, kind):
            found.bound(side, getattr(item, attribute), pointer, kind.__name__)
            return
    pattern = pattern_of(item, pointer)
    if pattern is not None:
        found.pattern(pattern, type(item).__name__)
    elif isinstance(item, annotated_types.MultipleOf):
        found.multiple(item.multiple_of, pointer, "MultipleOf")
    elif isinstance(item, annotated_types.MinLen):
        found.length("min", item.min_length, pointer, "MinLen")
    elif isinstance(item, annotated_types.MaxLen):
        found.length("max", item.max_length, pointer, "MaxLen")
    elif isinstance(item, str):
        found.description = item
    elif isinstance(getattr(item, "documentation", None), str):
        found.description = item.documentation
    elif _is_field(item):
        found.description = getattr(item, "description", None) or found.description
        for part in item.metadata:
            _add(found, part, pointer)
    elif isinstance(item, annotated_types.Unit):
        pass
    elif isinstance(item, annotated_types.GroupedMetadata):
        for part in item:
            _add(found, part, pointer)
    elif isinstance(item, annotated_types.Predicate) and item.func is math.isfinite:
        pass
    elif isinstance(item, annotated_types.BaseMetadata) and not _is_pydantic(item):
        raise SchemaError("cannot be enforced by an automaton", pointer, type(item).__name__)
    elif _is_pydantic(item):
        _add_pydantic(found, item, pointer)


def _add_pydantic(found: Constraints, item: Any, pointer: str) -> None:
    options = getattr(item, "__dict__", None)
    if not isinstance(item, annotated_types.BaseMetadata) or options is None:
        raise SchemaError("cannot be enforced by an automaton", pointer, type(item).__name__)
    for name, value in options.items():
        if value is None or value is False or name in _SATISFIED:
            continue
        if name != "pattern":
            raise SchemaError("cannot be enforced by an automaton", pointer, name)
        if isinstance(value, re.Pattern):
            found.pattern(found_in(value.pattern, value.flags & _PATTERN_FLAGS), "pattern")
        else:
            found.pattern(found_in(value), "pattern")


def _is_field(item: Any) -> bool:
    """Return whether it is a pydantic FieldInfo."""
    return _is_pydantic(item) and hasattr(item, "metadata") and hasattr(item, "is_required")


def _is_pydantic(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] == "pydantic"


@lru_cache(maxsize=4096)
def _parsed(pattern: str, flags: int) -> Node:
    return parse(pattern, flags)


@lru_cache(maxsize=4096)
def _options(item: Choice[Any]) -> Node:
    return alternate(Literal(option) for option in item.options)
