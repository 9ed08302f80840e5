"""Types in a form that pydantic reads and describes as they are meant.

`readable` replaces within an annotation

- TypedDicts, before Python 3.12: there `typing.TypedDict` drops information that pydantic needs, so pydantic accepts only that of
  typing_extensions. The copies, also of recursive ones, have the same name, keys and annotations;
- patterns beside a type, compiled ones and trees, which pydantic ignores: by `TextPattern`;
- Enums with values that are not JSON scalars: their members are written by name;
- members of Enums in Literals: their values are read as the members;
- an Iterable, by a list: pydantic reads a string as one, also where it is another member of the union.

It looks within annotations and TypedDicts, not within classes: a dataclass or model determines its own types.
"""

import dataclasses
import enum
import operator
import re
import sys
import typing
from collections.abc import Collection, Iterable
from functools import partial
from types import GenericAlias, UnionType
from typing import Any

import pydantic
import typing_extensions

from guided.errors import SchemaError
from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.schema.frontend.type_patterns import TextPattern

__all__ = ["fields_dict", "readable"]


_FLAGS = re.A | re.I | re.M | re.S | re.X


def readable(annotation: Any) -> Any:
    """Return the type with parts that pydantic reads; the same object if nothing changes.

    Raises
    ------
    NameError
        An annotation in a TypedDict cannot be resolved.
    PatternError
        A pattern is malformed.
    SchemaError
        A compiled pattern is one of bytes.
    """
    return _readable(annotation, {})


@dataclasses.dataclass(frozen=True)
class _Others:
    """Allows a TypedDict more fields, of a type. Why not ``extra_items``: pydantic 2.11 does not know it."""

    kind: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: pydantic.GetCoreSchemaHandler) -> Any:
        made = handler(source)
        fields: Any = handler.resolve_ref_schema(made)
        fields.update(extra_behavior="allow", extras_schema=handler.generate_schema(self.kind))
        return made


def fields_dict(name: str, fields: dict[str, Any], others: Any = typing.Never, taken: Collection[str] = ()) -> Any:
    """Return a TypedDict with these fields; those in ``NotRequired`` are optional.

    ``others``: the type of other fields, if there may be any; ``taken``: names that none of these has.
    """
    if others is typing.Never:
        return typing_extensions.TypedDict(name, fields)  # type: ignore[operator, unused-ignore]
    nothing = typing.NotRequired[typing.Annotated[Any, pydantic.WithJsonSchema({"not": {}})]]
    none = {name: nothing for name in sorted(taken) if name not in fields}
    return typing.Annotated[fields_dict(name, fields | none), _Others(readable(others))]


def _readable(annotation: Any, made: dict[Any, Any]) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return annotation if all(_is_scalar(member.value) for member in annotation) else _by_name(annotation)
    if isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__required_keys__"):
        return annotation if sys.version_info >= (3, 12) else _copied(annotation, made)
    arguments, origin = typing.get_args(annotation), typing_extensions.get_origin(annotation)
    if not arguments:
        return annotation
    if origin in (typing.Literal, typing_extensions.Literal):
        return _with_members(annotation, arguments)
    if origin is typing.Annotated:
        inner = _readable(annotation.__origin__, made)
        metadata = tuple(map(_readable_metadata, annotation.__metadata__))
        is_same = inner is annotation.__origin__ and all(map(operator.is_, metadata, annotation.__metadata__))
        return annotation if is_same else typing.Annotated[(inner, *metadata)]
    within = tuple(_readable(item, made) if not isinstance(item, list) else item for item in arguments)
    if origin is Iterable:
        return GenericAlias(list, within)
    if all(map(operator.is_, within, arguments)):
        return annotation
    if isinstance(annotation, UnionType):
        return typing.Union[within]  # noqa: UP007 - as many as there are
    if isinstance(annotation, GenericAlias):
        return GenericAlias(typing.cast("type", annotation.__origin__), within)
    return annotation.copy_with(within)


def _readable_metadata(item: Any) -> Any:
    if isinstance(item, Node):
        return TextPattern(item)
    if not isinstance(item, re.Pattern):
        return item
    if isinstance(item.pattern, bytes):
        raise SchemaError("a pattern of bytes has no characters", "", "re.Pattern")
    return TextPattern(parse(item.pattern, item.flags & _FLAGS))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | type(None))


def _by_name(kind: type[enum.Enum]) -> Any:
    members = dict(kind.__members__)
    names = pydantic.WithJsonSchema({"type": "string", "enum": list(members)})
    return typing.Annotated[kind, pydantic.BeforeValidator(partial(_looked_up, members)), names]


def _with_members(annotation: Any, values: tuple[Any, ...]) -> Any:
    members = {value.value: value for value in values if isinstance(value, enum.Enum)}
    if not members:
        return annotation
    return typing.Annotated[annotation, pydantic.BeforeValidator(partial(_looked_up, members))]


def _looked_up(members: dict[Any, enum.Enum], value: Any) -> Any:
    return members.get(value, value) if _is_scalar(value) else value


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
