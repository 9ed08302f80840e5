"""TypedDicts in a form that pydantic can read.

Before Python 3.12 `typing.TypedDict` drops information that pydantic needs, so pydantic accepts only the TypedDict of typing_extensions.
`readable` replaces each TypedDict, including recursive ones, by such a copy with the same name, keys and annotations. It looks within
annotations and TypedDicts, not within classes: a dataclass or model determines its own TypedDicts.
"""

import sys
import typing
from types import GenericAlias, UnionType
from typing import Any

import typing_extensions

__all__ = ["fields_dict", "readable"]


def readable(annotation: Any) -> Any:
    """Return the type with TypedDicts that pydantic accepts.

    Raises
    ------
    NameError
        An annotation in a TypedDict cannot be resolved.
    """
    return annotation if sys.version_info >= (3, 12) else _readable(annotation, {})


def fields_dict(name: str, fields: dict[str, Any]) -> Any:
    """Return a TypedDict with these fields; those in ``NotRequired`` are optional."""
    return typing_extensions.TypedDict(name, fields)  # type: ignore[operator, unused-ignore]


def _readable(annotation: Any, made: dict[Any, Any]) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__required_keys__"):
        return _copied(annotation, made)
    arguments = typing.get_args(annotation)
    if not arguments or typing_extensions.get_origin(annotation) in (typing.Literal, typing_extensions.Literal):
        return annotation
    if isinstance(annotation, UnionType):
        return typing.Union[tuple(_readable(item, made) for item in arguments)]  # noqa: UP007 - as many as there are
    if typing.get_origin(annotation) is typing.Annotated:
        inner = _readable(annotation.__origin__, made)
        return annotation if inner is annotation.__origin__ else typing.Annotated[(inner, *annotation.__metadata__)]
    within = tuple(_readable(item, made) if not isinstance(item, list) else item for item in arguments)
    if all(new is old for new, old in zip(within, arguments, strict=True)):
        return annotation
    if isinstance(annotation, GenericAlias):
        return GenericAlias(typing.cast("type", annotation.__origin__), within)
    return annotation.copy_with(within)


def _copied(kind: Any, made: dict[Any, Any]) -> Any:
    if kind in made:
        return made[kind]
    if kind.__module__ == typing_extensions.__name__ or type(kind).__module__ == typing_extensions.__name__:
        return kind
    copy = made[kind] = fields_dict(kind.__name__, {})
    copy.__doc__, copy.__module__, copy.__qualname__ = kind.__doc__, kind.__module__, kind.__qualname__
    if hasattr(kind, "__pydantic_config__"):
        copy.__pydantic_config__ = kind.__pydantic_config__
    hints = typing.get_type_hints(kind, include_extras=True)
    required = set(kind.__required_keys__)
    for name, hint in hints.items():
        origin = typing.get_origin(hint)
        if origin in (typing.Required, typing.NotRequired):
            # Why: under `from __future__ import annotations` a class does not evaluate its own markers.
            (required.add if origin is typing.Required else required.discard)(name)
            (hint,) = typing.get_args(hint)
        marker = typing.Required if name in required else typing.NotRequired
        copy.__annotations__[name] = marker[_readable(hint, made)]
    copy.__required_keys__, copy.__optional_keys__ = frozenset(required), frozenset(hints) - required
    return copy
