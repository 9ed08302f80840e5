"""Python types: their schemas, and generated texts as their instances, the whole value and each part.

All that imports pydantic is below this module, and is imported on first use.

The type of a part is found by walking down from the type of the whole: fields of models, dataclasses, TypedDicts and NamedTuples, items
of lists, sets and tuples, values of dicts. Below a union of several types, or any other type, it is unknown, and values are plain JSON.

Complexity: a part costs its own text, and one look-up per step of its path.
"""

import collections
import collections.abc as abc
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import pydantic

from guided.errors import LimitError, PatternError, SchemaError, annotation_text, without_addresses
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.readable import readable
from guided.schema.frontend.reading_work import check_work
from guided.schema.frontend.signatures import arguments_of
from guided.schema.frontend.typed import adapter_of, schema_of

__all__ = ["TypeReader", "hint_of_field", "schema_of_type"]

# The type of a part whose type is unknown.
_UNKNOWN = object()

_LISTS = frozenset({
    list, set, frozenset, collections.deque,
    abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable, abc.Set, abc.MutableSet,
})  # fmt: skip
_DICTS = frozenset({dict, collections.OrderedDict, collections.defaultdict, abc.Mapping, abc.MutableMapping})
_MARKERS = (typing.Required, typing.NotRequired)
_WRAPPERS_FOLLOWED = 100
# Types of pydantic's errors that validators raise.
_OF_VALIDATORS = ("value_error", "assertion_error")
# Most digits of a number that pydantic reads.
_INT_DIGITS = 4_300


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """A type, its reader, and the types of its parts: by name or position, and of all others."""

    annotation: Any
    adapter: "pydantic.TypeAdapter[Any] | None"
    named: Mapping[str | int, Any]
    others: Any


class TypeReader:
    """Reads texts as values of a type. Readers of equal types are equal.

    Parameters
    ----------
    given : type, pydantic.TypeAdapter or callable
        Any type that pydantic knows, or a function.
    is_function : bool
        Whether the values are the arguments of a function.

    Attributes
    ----------
    given : type or pydantic.TypeAdapter
        The type of the values.
    adapter : pydantic.TypeAdapter
        Reader of the whole value.

    Raises
    ------
    SchemaError
        Pydantic does not know the type, or the signature cannot be read.
    """

    __slots__ = ("_annotation", "_function", "_shapes", "adapter", "given")

    def __init__(self, given: Any, is_function: bool = False) -> None:
        self._function = given if is_function else None
        self.given = given = arguments_of(given) if is_function else given
        if isinstance(given, pydantic.TypeAdapter):
            self._annotation, self.adapter = _UNKNOWN, given
        else:
            try:
                self._annotation = readable(given)
            except (PatternError, SchemaError):
                raise
            except Exception as error:  # Why: annotations in strings are evaluated, which can raise anything
                if isinstance(error, RecursionError):
                    raise SchemaError(
                        "resolving the type exceeds Python's recursion limit (sys.setrecursionlimit)",
                        "",
                        annotation_text(given),
                    ) from error
                reason = without_addresses(str(error))
                raise SchemaError(f"annotations cannot be resolved: {reason}", "", annotation_text(given)) from error
            self.adapter = adapter_of(self._annotation)
        self._shapes: dict[int, _Shape] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeReader) and bool(self.__reduce__() == other.__reduce__())

    def __hash__(self) -> int:
        # Why: not all types are hashable, and a schema has its own hash.
        return hash(TypeReader)

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: the type made for a function cannot be pickled, so it is made again.
        return TypeReader, ((self.given, False) if self._function is None else (self._function, True))

    def read(self, text: str | bytes) -> Any:
        """Return the value of a whole text.

        Raises
        ------
        SchemaError
            The type rejects it; the error holds the location and the reason.
        LimitError
            The type's unions overlap at too many levels of the value, or a number has more than 4,300 digits.
        """
        return _validated(self.adapter, text, ())

    def read_part(self, path: Sequence[str | int], text: str, parsed: Any) -> Any:
        """See `guided.engine.json_schema.JsonSchema.read_part`."""
        annotation = self._annotation
        for step in path:
            shape = self._shape(annotation)
            annotation = shape.named.get(step, shape.others)
        adapter = self._shape(annotation).adapter if path else self.adapter
        return parsed if adapter is None else _validated(adapter, text, path)

    def _shape(self, annotation: Any) -> _Shape:
        # Why by identity: not all types are hashable. The shape keeps its type alive.
        found = self._shapes.get(id(annotation))
        if found is None:
            named, others = _parts_of(annotation)
            found = self._shapes[id(annotation)] = _Shape(annotation, _adapter_or_none(annotation), named, others)
        return found


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


def _validated(adapter: "pydantic.TypeAdapter[Any]", text: str | bytes, path: Sequence[str | int]) -> Any:
    check_work(adapter, text)
    try:
        value = adapter.validate_json(text)
        return _with_items(value) if _has_iterators(adapter) else value
    except pydantic.ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        # Of a union's errors, those that validators wrote are of the branch that the text fits.
        first = min(errors, key=lambda each: each["type"] not in _OF_VALIDATORS)
        if first["type"] == "json_invalid" and "number out of range" in first["msg"]:
            count = max(map(len, re.findall(r"\d+", text if isinstance(text, str) else text.decode())))
            raise LimitError("digits", count, _INT_DIGITS, "bound the integer with le= and ge=") from error
        raise SchemaError(
            f"the value is invalid: {first['msg']}", pointer_of(("", *path, *first["loc"])), first["type"]
        ) from error
    except Exception as error:  # Why: the type's own code may raise anything
        reason = f"a validator failed: {type(error).__name__}: {error}"
        raise SchemaError(reason, pointer_of(("", *path)), "validator") from error


@lru_cache(maxsize=256)
def _has_iterators(adapter: "pydantic.TypeAdapter[Any]") -> bool:
    """Return whether values may hold an `Iterable`, whose items pydantic validates as they are read."""
    work: list[Any] = [adapter.core_schema]
    for item in work:  # grows during iteration
        if isinstance(item, dict):
            if item.get("type") == "generator":
                return True
            work.extend(item.values())
        elif isinstance(item, list | tuple):
            work.extend(item)
    return False


def _with_items(value: Any) -> Any:
    """Return a value with a list for each `Iterable` in it."""
    kind = type(value)
    if kind.__name__ == "ValidatorIterator":
        return [_with_items(item) for item in value]
    if isinstance(value, list | collections.deque):
        for place, item in enumerate(value):
            value[place] = _with_items(item)
    elif isinstance(value, dict):
        value.update({name: _with_items(item) for name, item in value.items()})
    elif isinstance(value, tuple):
        return kind(*map(_with_items, value)) if hasattr(kind, "_fields") else kind(map(_with_items, value))
    elif isinstance(value, pydantic.BaseModel):
        for members in (vars(value), value.__pydantic_extra__):
            _with_items(members)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            # A field that no constructor takes may have no value.
            if hasattr(value, field.name):
                # Why so: it may be frozen.
                object.__setattr__(value, field.name, _with_items(getattr(value, field.name)))
    return value


def _adapter_or_none(annotation: Any) -> "pydantic.TypeAdapter[Any] | None":
    if annotation is _UNKNOWN:
        return None
    try:
        return adapter_of(annotation)
    except SchemaError:
        return None


def _parts_of(annotation: Any) -> tuple[Mapping[str | int, Any], Any]:
    """Return the types of a type's parts: by name or position, and of all others."""
    kind = _without_wrappers(annotation)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and hasattr(kind, "model_fields") and hasattr(kind, "model_validate"):
        return _fields_of_model(kind), _UNKNOWN
    try:
        if dataclasses.is_dataclass(kind) or (isinstance(kind, type) and hasattr(kind, "__required_keys__")):
            hints = typing.get_type_hints(kind, include_extras=True)
            return {name: _unmarked(hint) for name, hint in hints.items()}, _UNKNOWN
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            hints = typing.get_type_hints(kind, include_extras=True)
            return {place: hints.get(name, Any) for place, name in enumerate(kind._fields)}, _UNKNOWN
    except (
        Exception
    ):  # Why: annotations in strings are evaluated, which can raise anything; pydantic may know more names
        return {}, _UNKNOWN
    if origin is tuple:
        return ({}, arguments[0]) if arguments[1:] == (...,) else (dict(enumerate(arguments)), _UNKNOWN)
    if origin in _LISTS and arguments:
        return {}, arguments[0]
    if origin in _DICTS and len(arguments) == 2:
        return {}, arguments[1]
    return {}, _UNKNOWN


def _fields_of_model(kind: Any) -> dict[str | int, Any]:
    found: dict[str | int, Any] = {}
    for name, info in kind.model_fields.items():
        hint = hint_of_field(info)
        alias = info.validation_alias if isinstance(info.validation_alias, str) else info.alias
        found[alias or name] = hint
        found.setdefault(name, hint)
    return found


def hint_of_field(info: Any) -> Any:
    """Return the type of a field of a pydantic model."""
    hint = typing.Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
    if info.discriminator is not None:
        hint = typing.Annotated[hint, pydantic.Field(discriminator=info.discriminator)]
    return hint


def _unmarked(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in _MARKERS else hint


def _without_wrappers(annotation: Any) -> Any:
    """Return the type within Annotated, NewType, aliases, and unions with None only."""
    for _ in range(_WRAPPERS_FOLLOWED):
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__") and hasattr(annotation, "__type_params__"):
            annotation = annotation.__value__
        elif origin in (typing.Union, types.UnionType):
            members = [item for item in typing.get_args(annotation) if item is not type(None)]
            if len(members) != 1:
                return annotation
            (annotation,) = members
        else:
            return annotation
    return annotation
