"""Misspelled keyword arguments: a TypeError that names the public function and the closest argument."""

import difflib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["closest", "suggest_keywords", "suggest_keywords_of_class"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def closest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` with the known name that is most similar; empty where none is."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def suggest_keywords(*options: type) -> Callable[[F], F]:
    """Decorate a function so that an unknown keyword argument is refused with a suggestion.

    Parameters
    ----------
    *options : TypedDict
        What ``**kwargs`` of the function stands for.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        known = known.union(*(option.__annotations__ for option in options)) - {"self"}
        public = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in known:
                    advice = closest(name, known) or f"; arguments are {', '.join(sorted(known))}"
                    raise TypeError(f"{public}() got an unexpected keyword argument {name!r}{advice}")
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def suggest_keywords_of_class(cls: C) -> C:
    """Decorate a class as `suggest_keywords` decorates its ``__init__``, which may be a dataclass's."""
    cls.__init__ = suggest_keywords()(cls.__init__)  # type: ignore[misc]
    return cls
