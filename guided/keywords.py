"""Arguments that would have no effect are refused: misspelled keywords, and options that a spec has of its own.

A TypeError names the function and the closest argument, or the options. For keywords and attributes of other libraries, the error says what
stands for them here.
"""

import difflib
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from functools import cache, wraps
from importlib.resources import files
from typing import Any, TypeVar

__all__ = [
    "attribute_elsewhere",
    "closest",
    "refuse_options_of",
    "suggest_attributes",
    "suggest_keywords",
    "suggest_keywords_of_class",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@cache
def _elsewhere() -> dict[str, Any]:
    """Return what stands for names of other libraries, from ``elsewhere.json``.

    Rows of ``keywords``: keywords, an argument of the functions for which the row holds, and the advice. Of ``attributes``, by the
    module or class that they are looked for in: attributes, and the advice.
    """
    # Why resources: the package may be in a zip file.
    found: dict[str, Any] = json.loads(files("guided").joinpath("elsewhere.json").read_text(encoding="utf-8"))
    return found


def closest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` with the most similar known name, or what stands for a name of other libraries; empty without one."""
    known = set(known)
    for names, argument, advice in _elsewhere()["keywords"]:
        if argument in known and name in names.split():
            return f"; here: {advice}"
    return _similar(name, known)


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def attribute_elsewhere(name: str, owner: str, known: Iterable[str]) -> str:
    """Return what `closest` returns, for an attribute of a module or class; private names have no advice."""
    if name.startswith("_"):
        return ""
    for names, advice in _elsewhere()["attributes"][owner]:
        if name in names.split():
            return f"; here: {advice}"
    similar = _similar(name, (one for one in known if not one.startswith("_")))
    return similar or ("; the value is result.value" if owner == "Result" else "")


def suggest_attributes(cls: C) -> C:
    """Decorate a class so that an unknown attribute of its objects is refused with a suggestion; type checkers do not see it."""

    def refuse(self: object, name: str) -> Any:
        kind = type(self)
        if hasattr(kind, name):
            # A property or a slot that raises: its own error.
            return object.__getattribute__(self, name)
        advice = attribute_elsewhere(name, cls.__name__, dir(kind))
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{advice}", name=name, obj=self)

    cls.__getattr__ = refuse  # type: ignore[attr-defined]
    return cls


def suggest_keywords(*options: type) -> Callable[[F], F]:
    """Decorate a function so that an unknown keyword argument is refused with a suggestion.

    Parameters
    ----------
    *options : TypedDict
        Keywords that the function accepts as ``**kwargs``.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        known = known.union(*(option.__annotations__ for option in options)) - {"self"}
        by_name = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        named = next(
            (name for names in (*(option.__annotations__ for option in options), by_name) for name in names), ""
        )
        example = f", such as {named}=..." if named else ""
        has_rest = bool(code.co_flags & inspect.CO_VARARGS)
        n_positional = sys.maxsize if has_rest else code.co_argcount
        public = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if len(args) > n_positional:
                listed = ", ".join(name for name in code.co_varnames[:n_positional] if name != "self")
                raise TypeError(f"{public}() takes only {listed} by position: pass options by name{example}")
            for name in kwargs:
                if name not in known:
                    advice = closest(name, known) or f"; arguments are {', '.join(sorted(known))}"
                    raise TypeError(f"{public}() got an unexpected keyword argument {name!r}{advice}")
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def refuse_options_of(kind: type, argument: str, *names: str) -> Callable[[F], F]:
    """Decorate a function so that options which a spec has of its own are refused together with such a spec, whatever their values.

    Parameters
    ----------
    kind : type
        Class of the spec.
    argument : str
        Argument that may be a spec.
    *names : str
        The options; none for all keywords that the function accepts as ``**kwargs``.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        declared = frozenset(signature.parameters)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            # Unknown keywords are left to `suggest_keywords`.
            bound = signature.bind_partial(*args, **{name: kwargs[name] for name in declared & kwargs.keys()}).arguments
            if isinstance(bound.get(argument), kind):
                given = (
                    [name for name in bound if name in names]
                    if names
                    else [name for name in kwargs if name not in declared]
                )
                if given:
                    one = kind.__name__
                    raise TypeError(
                        f"a {one} has its own {', '.join(given)}: pass options to {one}(...), or the {one} alone"
                    )
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def suggest_keywords_of_class(cls: C) -> C:
    """Decorate a class as `suggest_keywords` decorates its ``__init__``, which may be generated by dataclass."""
    cls.__init__ = suggest_keywords()(cls.__init__)  # type: ignore[misc]
    return cls
