"""Classes with named fields: dataclasses, NamedTuples, TypedDicts, pydantic models.

This module lists their fields and builds their values; `guided.calls.types` lowers the types of the fields. pydantic is recognized by its
attributes and never imported. A model's own validators run when the value is built; a value that they reject is an argument error.
"""

import typing
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from guided.calls.constraints import Irregular
from guided.errors import SchemaError, without_addresses

__all__ = ["FieldShape", "RecordShape", "fields_of", "hints_of", "is_model"]


class FieldShape(NamedTuple):
    """A field: its key, annotation, further metadata, and whether it is required."""

    name: str
    annotation: Any
    metadata: Sequence[Any]
    required: bool


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The fields of a class in order, and a function to build a value.

    Attributes
    ----------
    fields : tuple of FieldShape
    build : callable
        Maps values by key to a Python value.
    """

    fields: tuple[FieldShape, ...]
    build: Callable[[dict[str, Any]], Any]


def fields_of(kind: Any, pointer: str) -> RecordShape | None:
    """Return the fields of a class; None if it is not a class with named fields.

    Raises
    ------
    SchemaError
        Its annotations cannot be resolved, or this kind of model is not supported.
    """
    if not isinstance(kind, type):
        return None
    if is_model(kind):
        return _model(kind, pointer)
    if is_dataclass(kind):
        hints = hints_of(kind, pointer)
        return RecordShape(
            tuple(
                FieldShape(item.name, hints[item.name], (), item.default is MISSING and item.default_factory is MISSING)
                for item in fields(kind)
                if item.init
            ),
            _Call(kind),
        )
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = hints_of(kind, pointer)
        defaults: dict[str, Any] = getattr(kind, "_field_defaults", {})
        names: tuple[str, ...] = kind._fields
        return RecordShape(
            tuple(FieldShape(name, hints.get(name, Any), (), name not in defaults) for name in names), _Call(kind)
        )
    if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
        hints = hints_of(kind, pointer)
        required = kind.__required_keys__
        return RecordShape(
            tuple(FieldShape(name, hint, (), _is_required(hint, name in required)) for name, hint in hints.items()),
            dict,
        )
    return None


def is_model(kind: Any) -> bool:
    """Return whether it is a pydantic model class."""
    return isinstance(kind, type) and hasattr(kind, "model_fields") and hasattr(kind, "model_validate")


@dataclass(frozen=True, slots=True)
class _Call:
    """Calls a class with keyword arguments; instances of the same class are equal, so that types are shared."""

    kind: Callable[..., Any]

    def __call__(self, values: dict[str, Any]) -> Any:
        return self.kind(**values)


def _model(kind: Any, pointer: str) -> RecordShape:
    if getattr(kind, "__pydantic_root_model__", False):
        raise Irregular("a root model has no fields", pointer, kind.__name__)
    found = []
    for name, info in kind.model_fields.items():
        alias = info.validation_alias if info.validation_alias is not None else info.alias
        if alias is not None and not isinstance(alias, str):
            raise SchemaError(
                "only aliases that are a single name are supported", f"{pointer}/{name}", "validation_alias"
            )
        metadata = (*info.metadata, *([info.description] if info.description else []))
        found.append(FieldShape(alias or name, info.annotation, metadata, info.is_required()))
    return RecordShape(tuple(found), kind.model_validate)


def hints_of(item: Any, pointer: str) -> dict[str, Any]:
    """Return the resolved annotations of a class or function.

    Raises
    ------
    SchemaError
        A name is not defined in its module.
    """
    try:
        return typing.get_type_hints(item, include_extras=True)
    except Exception as error:  # Why: annotations in strings are evaluated, which can raise anything
        name = getattr(item, "__name__", type(item).__name__)
        reason = without_addresses(str(error))
        raise SchemaError(f"annotations cannot be resolved: {reason}", pointer, name) from error


def _is_required(hint: Any, default: bool) -> bool:
    # Why: under `from __future__ import annotations` a class does not see its own markers.
    origin = typing.get_origin(hint)
    return True if origin is typing.Required else False if origin is typing.NotRequired else default
