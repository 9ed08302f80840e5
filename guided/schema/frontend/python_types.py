"""JSON Schemas of Python types and functions, by pydantic: all that imports it is below this module, and is imported on first use."""

import inspect
import typing
from functools import partial
from typing import Any

import pydantic

from guided.schema.frontend.reader import TypeReader
from guided.schema.frontend.typed import schema_of

__all__ = ["schema_of_type"]


def schema_of_type(given: Any) -> tuple[Any, TypeReader, tuple[tuple[str, str], ...]]:
    """Return the schema of a type or function, a reader of its values, and the constraints that the schema does not express.

    Parameters
    ----------
    given : type, pydantic.TypeAdapter or callable

    Returns
    -------
    schema : dict or bool
    reader : TypeReader
    unenforced : tuple of (str, str)
        JSON Pointer and keyword of each.

    Raises
    ------
    SchemaError
        A type has no schema, or a signature cannot be read.
    TypeError
        The input is none of these.
    """
    reader = TypeReader(given, _is_function(given))
    schema, unenforced = schema_of(reader.adapter, reader.given)
    return schema, reader, unenforced


def _is_function(given: Any) -> bool:
    """Return whether values are the arguments of a callable, rather than of a type."""
    if isinstance(given, type | pydantic.TypeAdapter | typing.NewType) or typing.get_origin(given) is not None:
        return False
    if type(given).__module__ in ("typing", "typing_extensions") or (
        hasattr(given, "__type_params__") and hasattr(given, "__value__")
    ):
        return False
    if inspect.isroutine(given) or isinstance(given, partial):
        return True
    if isinstance(given, pydantic.BaseModel):
        raise TypeError(f"pass the model's class, not an instance: this is an instance of {type(given).__name__}")
    if callable(given):
        return True
    raise TypeError(
        f"a schema must be a dict, a bool, JSON text, a path, a type or a function, not {'None' if given is None else type(given).__name__}"
    )
