"""Python annotations -> value types.

bool, int, float, str, None, date, time, datetime, UUID, Enum, Literal, Optional and unions, Annotated with bounds, lengths and
patterns, list, tuple, set, frozenset, dict and their abstract base classes, TypedDict, NamedTuple, dataclasses, pydantic models, Any. Any
other annotation is an error with its place; nothing is approximated silently.

The languages: ``int`` has any number of digits and no leading zeros, ``float`` is every finite double, ``str`` is any text (bound them with
``Annotated``, or set default bounds with `Caps`); dates, times and UUIDs are strings as in RFC 3339 and RFC 4122; ``Any`` is JSON up to the
remaining nesting depth. Enum members are written as their values, or as their names if one of the values is not a JSON scalar.
`guided.calls.records` handles records.
"""

import collections.abc as abc
import datetime
import enum
import inspect
import json
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from guided.calls import dates
from guided.calls.constraints import (
    Caps,
    Constraints,
    Irregular,
    Unsatisfiable,
    bounded_float,
    bounded_int,
    constrained_text,
)
from guided.calls.containers import MAX_NESTING, Field, anything, array, fixed, mapping, record, union
from guided.calls.metadata import collect
from guided.calls.records import fields_of
from guided.calls.scalars import boolean, choice, null, string
from guided.calls.values import ValueType
from guided.errors import SchemaError, annotation_text
from guided.patterns.tree import Node
from guided.schema.formats.pointers import uuid as uuid_text

__all__ = ["AnnotationContext", "type_of"]

_ABSTRACT: dict[Any, type] = {
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Collection: list,
    abc.Iterable: list,
    abc.Set: set,
    abc.MutableSet: set,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}
_MARKERS = (typing.Required, typing.NotRequired)
# Unions are flat, except through named aliases, which may refer to themselves.
_DEEPEST_UNION = 20
# Aliases, NewType and Annotated around one type.
_MAX_ALIASES = 100


@dataclass(frozen=True, slots=True)
class AnnotationContext:
    """Position of an annotation, with the bounds that apply there.

    Attributes
    ----------
    pointer : str
        JSON Pointer, ``/tool/parameter/...``.
    caps : Caps
        Default bounds for unbounded values.
    level : int
        Number of arrays and objects around it.
    unions : int
        Number of unions around it.
    never : list of str
        Collects the places of optional fields that no value satisfies; they are left out.
    """

    pointer: str
    caps: Caps = field(default_factory=Caps)
    level: int = 0
    unions: int = 0
    never: list[str] = field(default_factory=list, compare=False)

    def inside(self, name: str) -> "AnnotationContext":
        """Return the context within an array or object here."""
        return replace(self, pointer=f"{self.pointer}/{name}", level=self.level + 1)

    def refuse(self, reason: str, annotation: Any) -> SchemaError:
        """Return the error for an unsupported annotation."""
        return SchemaError(reason, self.pointer, _name(annotation))

    def irregular(self, reason: str, annotation: Any) -> Irregular:
        """Return the error for an annotation that needs a stack."""
        return Irregular(reason, self.pointer, _name(annotation))


def type_of(annotation: Any, context: AnnotationContext, beside: Sequence[Any] = ()) -> ValueType:
    """Lower an annotation to a value type.

    Parameters
    ----------
    beside : sequence
        Further metadata, in addition to that in the annotation.

    Raises
    ------
    SchemaError
        The annotation is not supported, or no value satisfies it.
    PatternError
        A pattern in it is malformed.
    """
    metadata = list(beside)
    annotation = _unwrapped(annotation, metadata, context)
    return _constrained(annotation, collect(metadata, context.pointer), context)


def _unwrapped(annotation: Any, metadata: list[Any], context: AnnotationContext) -> Any:
    """The annotation without Annotated, NewType, Required and aliases; their metadata is collected in `metadata`."""
    for _ in range(_MAX_ALIASES):
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            metadata[:0] = annotation.__metadata__
            annotation = annotation.__origin__
        elif origin in _MARKERS:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__") and hasattr(annotation, "__type_params__"):
            annotation = annotation.__value__
        else:
            return annotation
    raise context.irregular(f"more than {_MAX_ALIASES} aliases of aliases, or an alias of itself", annotation)


def _constrained(annotation: Any, constraints: Constraints, context: AnnotationContext) -> ValueType:
    """The type of an annotation without wrappers, under the constraints of its metadata."""
    try:
        hash(annotation)
    except TypeError:
        raise context.refuse("not a type", annotation) from None
    origin = typing.get_origin(annotation)
    if annotation is int:
        return bounded_int(constraints, context.caps, context.pointer)
    if annotation is float:
        return bounded_float(constraints, context.caps, context.pointer)
    if annotation is str:
        return constrained_text(constraints, context.caps, context.pointer)
    if origin is typing.Union or origin is types.UnionType:
        return _union(typing.get_args(annotation), constraints, context)
    container = _ABSTRACT.get(origin or annotation, origin or annotation)
    if container in (list, tuple, set, frozenset, dict):
        constraints.only(("length",), _name(annotation), context.pointer)
        return _container(container, annotation, constraints, context)
    constraints.only((), _name(annotation), context.pointer)
    if annotation is Any or annotation is object or annotation is inspect.Parameter.empty:
        return anything(max(MAX_NESTING - context.level, 0))
    simple = _SIMPLE.get(annotation) if isinstance(annotation, type) or annotation is None else None
    if simple is not None:
        return simple()
    if getattr(origin, "_name", None) == "Literal":
        return _literal(typing.get_args(annotation), context)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enum(annotation, context)
    if isinstance(annotation, str | typing.ForwardRef):
        raise context.refuse("this name cannot be resolved where the function is defined", annotation)
    return _record(annotation, context)


def _union(members: Sequence[Any], constraints: Constraints, context: AnnotationContext) -> ValueType:
    if context.unions > _DEEPEST_UNION:
        raise context.irregular("a union within itself", members[0])
    context = replace(context, unions=context.unions + 1)
    found: dict[ValueType, None] = {}
    refused: list[Unsatisfiable] = []
    for member in members:
        metadata: list[Any] = []
        inner = _unwrapped(member, metadata, context)
        own = collect(metadata, context.pointer)
        if metadata and constraints.keywords:
            raise SchemaError(
                "bounds inside and outside of a union cannot be combined",
                context.pointer,
                ", ".join(constraints.keywords),
            )
        is_none = inner is None or inner is type(None)
        try:
            found[_constrained(inner, constraints if constraints.keywords and not is_none else own, context)] = None
        except Unsatisfiable as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return next(iter(found)) if len(found) == 1 else union(tuple(found))


def _container(kind: type, annotation: Any, constraints: Constraints, context: AnnotationContext) -> ValueType:
    if context.level >= MAX_NESTING:
        raise context.irregular(f"arrays and objects nest more than {MAX_NESTING} deep, or without end", annotation)
    arguments = typing.get_args(annotation)
    least, most = constraints.min_length, constraints.max_length
    if most is not None and least > most:
        raise Unsatisfiable(
            "no value satisfies all of these constraints", context.pointer, ", ".join(constraints.keywords)
        )
    if kind in (set, frozenset, dict) and least > 1:
        reason = "an automaton cannot check that items or keys are distinct, which a minimum length above 1 needs"
        raise Irregular(reason, context.pointer, "MinLen")
    if kind is dict:
        key, value = arguments or (str, Any)
        try:
            return mapping(_key(key, context), type_of(value, context.inside("*")), least, most)
        except Unsatisfiable:
            if least:
                raise
            return record((), dict, _name(annotation))
    if kind is tuple and annotation not in (tuple, typing.Tuple) and arguments[1:] != (...,):  # noqa: UP006
        if not least <= len(arguments) <= (len(arguments) if most is None else most):
            raise Unsatisfiable(
                "no value satisfies all of these constraints", context.pointer, ", ".join(constraints.keywords)
            )
        items = tuple(type_of(item, context.inside(str(i))) for i, item in enumerate(arguments))
        return fixed(items, tuple, f"tuple[{', '.join(item.name for item in items)}]")
    try:
        item = type_of(arguments[0] if arguments else Any, context.inside("items"))
    except Unsatisfiable:
        if least:
            raise
        return fixed((), kind, _name(annotation))
    if kind in (set, frozenset) and item.depth:
        raise context.refuse("items of a set are hashable: no lists and objects", annotation)
    return array(item, least, most, kind, f"{kind.__name__}[{item.name}{', ...' if kind is tuple else ''}]")


def _key(annotation: Any, context: AnnotationContext) -> ValueType:
    key = type_of(annotation, AnnotationContext(f"{context.pointer}/keys", context.caps, MAX_NESTING))
    if key.is_string:
        return key
    if _unwrapped(annotation, [], context) is int:
        return _quoted_key(key)
    raise context.refuse("keys are strings or integers", annotation)


@lru_cache(maxsize=4096)
def _quoted_key(key: ValueType) -> ValueType:
    """A number as the key of an object, in quotes."""
    return string(key.node, key.name, key.read, {"type": "string", "pattern": key.node})


def _literal(values: Sequence[Any], context: AnnotationContext) -> ValueType:
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    for value in plain:
        if not isinstance(value, str | int | type(None)):
            raise context.refuse("a Literal of a value that is not a JSON scalar", value)
    return choice(tuple(map(json.dumps, plain)), tuple(values))


def _enum(kind: type[enum.Enum], context: AnnotationContext) -> ValueType:
    members = tuple(kind)
    if not members:
        raise context.refuse("an Enum without members", kind)
    by_value = all(isinstance(member.value, str | int | float | type(None)) for member in members)
    values = [member.value if by_value else member.name for member in members]
    if any(value in (float("inf"), -float("inf")) or value != value for value in values):
        raise context.refuse("JSON has no infinity and no NaN", kind)
    return choice(tuple(map(json.dumps, values)), members)


def _record(annotation: Any, context: AnnotationContext) -> ValueType:
    found = fields_of(annotation, context.pointer)
    if found is None:
        raise context.irregular("values of this type cannot be written as JSON", annotation)
    if context.level >= MAX_NESTING:
        raise context.irregular(f"arrays and objects nest more than {MAX_NESTING} deep, or without end", annotation)
    fields = []
    for name, inner, metadata, required in found.fields:
        inside = context.inside(name)
        try:
            kind = type_of(inner, inside, metadata)
        except Unsatisfiable:
            if required:
                raise
            context.never.append(inside.pointer)
            continue
        described = collect((*getattr(inner, "__metadata__", ()), *metadata), inside.pointer)
        fields.append(Field(name, kind, required, described.description))
    return record(tuple(fields), found.build, _name(annotation))


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else annotation_text(annotation).removeprefix("typing.")


def _date() -> ValueType:
    return _string_of(dates.date, "date", datetime.date.fromisoformat, "date")


def _time() -> ValueType:
    return _string_of(dates.time, "time", datetime.time.fromisoformat, "time")


def _date_time() -> ValueType:
    return _string_of(dates.date_time, "datetime", datetime.datetime.fromisoformat, "date-time")


def _uuid() -> ValueType:
    return _string_of(uuid_text, "UUID", uuid.UUID, "uuid")


@lru_cache(maxsize=4096)
def _string_of(node: Callable[[], Node], name: str, convert: Callable[[str], Any], format_name: str) -> ValueType:
    return string(node(), name, convert, {"type": "string", "format": format_name})


_SIMPLE: dict[Any, Callable[[], ValueType]] = {
    None: null,
    type(None): null,
    bool: boolean,
    datetime.date: _date,
    datetime.time: _time,
    datetime.datetime: _date_time,
    uuid.UUID: _uuid,
}
