"""The parameters of a callable that a model may give: without those that `functools.partial` binds.

Programs bind with ``partial`` what a model must not choose, such as the user in whose name a tool acts. `inspect.signature` removes what is
bound by position; what is bound by keyword becomes a default, which a call could replace.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from guided.errors import SchemaError

__all__ = ["parameters_of", "unwrapped"]


def unwrapped(function: Any) -> Any:
    """Return the function of a partial, of any depth; another callable itself."""
    while isinstance(function, partial):
        function = function.func
    return function


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
        The callable is a method of a class without an instance.
    """
    parameters = list(inspect.signature(function).parameters.values())
    bound, inner = set[str](), function
    while isinstance(inner, partial):
        bound |= inner.keywords.keys()
        inner = inner.func
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
    return offered
