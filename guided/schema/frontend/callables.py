"""The parameters of a callable that a model may give: without those that `functools.partial` binds, and without its `Context`.

Programs bind with ``partial`` what a model must not choose, such as the user in whose name a tool acts. `inspect.signature` removes what is
bound by position; what is bound by keyword becomes a default, which a call could replace. What differs from call to call is a `Context`.
"""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeAlias, TypeVar

import docstring_parser

from guided.errors import SchemaError

__all__ = [
    "Context",
    "context_names",
    "documentation_of",
    "function_of",
    "names_taken",
    "parameters_of",
    "unwrapped",
]

_T = TypeVar("_T")


class _Marker:
    """Marks a parameter that the program gives."""

    def __repr__(self) -> str:
        return "Context"


_MARKER = _Marker()
_ANYTHING = [
    (kind, inspect.Parameter.empty) for kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
]
Context: TypeAlias = Annotated[_T, _MARKER]
"""``Context[T]``, of a tool's parameter: a T that the program gives with ``context=``, such as a user or a connection. The model sees and
writes no such argument."""


def unwrapped(function: Any) -> Any:
    """Return the function of a partial, of any depth; another callable itself."""
    while isinstance(function, partial):
        function = function.func
    return function


def function_of(function: Any) -> Any:
    """Return the function that a callable runs: that of a partial, ``__init__`` of a class, ``__call__`` of another object."""
    inner = unwrapped(function)
    if inspect.isclass(inner):
        return inner.__init__
    return inner if inspect.isroutine(inner) else type(inner).__call__


def documentation_of(function: Any) -> tuple[str, dict[str, str]]:
    """Return the first sentence or paragraph of a docstring in any common style, and the descriptions of parameters by name."""
    doc = inspect.getdoc(unwrapped(function)) or ""
    try:
        parsed = docstring_parser.parse(doc)
    except docstring_parser.ParseError:
        return doc.strip().partition("\n\n")[0], {}
    return parsed.short_description or "", {item.arg_name: item.description or "" for item in parsed.params}


def context_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a callable's parameters that are a `Context`."""
    inner = function_of(function)
    given = getattr(inner, "__annotations__", {})
    # PERF: resolving annotations takes longer than the rest; those of most callables name no context.
    if not any("Context" in hint if isinstance(hint, str) else _is_context(hint) for hint in given.values()):
        return ()
    try:
        hints = typing.get_type_hints(inner, include_extras=True)
    except Exception:  # a name that is not defined here; the annotations are resolved, and refused, later
        return ()
    return tuple(name for name, hint in hints.items() if _is_context(hint))


def names_taken(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names that ``**kwargs`` of a callable cannot get: those of its parameters, also of bound ones, and what a partial adds."""
    inner = function_of(function)
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(getattr(inner, "__func__", inner)).parameters.values()
    return frozenset(_bound(function) | {parameter.name for parameter in parameters if parameter.kind in kinds})


def _bound(function: Any) -> set[str]:
    """Return the names that a partial binds by keyword."""
    found = set[str]()
    while isinstance(function, partial):
        found |= function.keywords.keys()
        function = function.func
    return found


def _is_context(hint: object) -> bool:
    # Why not its repr: an annotation may nest too deeply for one.
    return _MARKER in getattr(hint, "__metadata__", ())


def parameters_of(function: Callable[..., Any], pointer: str) -> list[inspect.Parameter]:
    """Return the parameters that a caller may give, in order.

    Parameters
    ----------
    function : callable
    pointer : str
        JSON Pointer of the callable, for errors.

    Raises
    ------
    ValueError, TypeError
        The signature cannot be read.
    SchemaError
        The callable is a method of a class without an instance, or its signature is that of any function.
    """
    parameters = list(inspect.signature(function).parameters.values())
    inner = unwrapped(function)
    # A partial may give ``**kwargs`` an argument of that name.
    bound = _bound(function) - {one.name for one in parameters if one.kind is one.VAR_KEYWORD}
    bound |= {*context_names(function)}
    offered = [parameter for parameter in parameters if parameter.name not in bound]
    owner = getattr(inner, "__qualname__", "").rpartition(".")[0]
    if offered and inspect.isfunction(inner) and owner and not owner.endswith("<locals>"):
        first = offered[0]
        if first.name in ("self", "cls") and first.annotation is inspect.Parameter.empty:
            raise SchemaError(
                f"{inner.__qualname__} is a method without its {first.name}: pass the method of an instance",
                f"{pointer}/{first.name}",
                first.name,
            )
    if [(one.kind, one.annotation) for one in parameters] == _ANYTHING:
        reason = (
            "(*args, **kwargs) does not describe the arguments: use functools.wraps in a decorator, or annotate kwargs"
        )
        raise SchemaError(reason, pointer, "signature")
    return offered
