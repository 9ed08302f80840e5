"""Function signatures: the arguments of a call as a TypedDict, with descriptions from the docstring.

A parameter with a default is optional; ``*args`` is a list, ``**kwargs`` are further fields; one without annotation takes any value. What
a partial binds is left out.
"""

import inspect
import typing
from typing import Any

import pydantic
from pydantic.fields import FieldInfo

from guided.errors import SchemaError, without_addresses
from guided.schema.frontend.callables import documentation_of, names_taken, parameters_of, unwrapped
from guided.schema.frontend.readable import fields_dict

__all__ = ["arguments_of"]

_PLAIN = (bool, int, float, str, type(None))


def arguments_of(function: Any) -> Any:
    """Return the TypedDict of a function's arguments.

    Raises
    ------
    SchemaError
        There is no signature, an annotation cannot be resolved, or the function is a method without an instance.
    """
    inner = unwrapped(function)
    name = getattr(inner, "__name__", type(inner).__name__)
    try:
        parameters = parameters_of(function, "")
        # Why: a callable object has its annotations on __call__.
        described = inner if inspect.isroutine(inner) else type(inner).__call__
        hints = typing.get_type_hints(described, include_extras=True)
    except SchemaError:
        raise
    except Exception as error:  # Why: annotations in strings are evaluated, which can raise anything
        reason = without_addresses(str(error))
        raise SchemaError(f"its signature cannot be read: {reason}", "", name) from error
    descriptions = {name.lstrip("*"): text for name, text in documentation_of(inner)[1].items()}
    fields: dict[str, Any] = {}
    others: Any = typing.Never
    for parameter in parameters:
        pointer = f"/{parameter.name}"
        hint = hints.get(parameter.name, Any)
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            others = hint
            continue
        is_list = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        default = parameter.default
        if isinstance(default, FieldInfo):
            raise SchemaError("put pydantic's Field into Annotated[...] and give the plain default", pointer, "Field")
        more: dict[str, Any] = {}
        own = (getattr(item, "description", None) for item in getattr(hint, "__metadata__", ()))
        if descriptions.get(parameter.name) and not any(own):
            more["description"] = descriptions[parameter.name]
        if default is not inspect.Parameter.empty and isinstance(default, _PLAIN):
            more["json_schema_extra"] = {"default": default}
        hint = list[hint] if is_list else hint  # type: ignore[valid-type]
        hint = typing.Annotated[hint, pydantic.Field(**more)] if more else hint
        is_optional = is_list or default is not inspect.Parameter.empty
        fields[parameter.name] = typing.NotRequired[hint] if is_optional else hint
    return fields_dict(name, fields, others, names_taken(function))
