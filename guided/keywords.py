"""Arguments that would have no effect are refused: misspelled keywords, and options that a spec has of its own.

A TypeError names the function and the closest argument, or the options.
"""

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["closest", "refuse_options_of", "suggest_keywords", "suggest_keywords_of_class"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


# Names that other libraries use, and what stands for them here.
_ELSEWHERE = {
    "do_sample": ("temperature", "temperature=1 samples, 0 does not"),
    "max_length": ("max_tokens", "max_tokens counts the generated tokens"),
    "method": ("search", "search='smc', 'rejection' or 'beam'"),
    "n": ("max_tokens", "generator.sample(prompt, n) draws several texts"),
    "num_beams": ("search", "search=guided.Beam(width=...)"),
    "num_return_sequences": ("max_tokens", "generator.sample(prompt, n) draws several texts"),
    "partial": ("max_tokens", "partial=True is for stream and stream_async of generators of JSON"),
    "particles": ("search", "search=guided.Smc(particles=...)"),
    "stop_strings": ("stop", "stop"),
    "any_whitespace": ("whitespace", "whitespace='flexible' or 'compact'"),
    "ensure_ascii": ("escapes", "escapes='dumps' allows both spellings"),
    "indent": ("whitespace", "whitespace='pretty(2)'"),
    "max_whitespace": ("whitespace", "whitespace=4 allows up to 4 characters"),
    "max_whitespace_cnt": ("whitespace", "whitespace=4 allows up to 4 characters"),
    "separators": ("whitespace", "whitespace=(', ', ': ')"),
    "whitespace_pattern": ("whitespace", "whitespace=pattern"),
    "attempts": ("search", "search=guided.Rejection(attempts=...)"),
    "resample": ("search", "search=guided.Smc(resample=...)"),
    "top_logprobs": ("logprobs", "logprobs"),
}


def closest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` with the most similar known name, or what stands for a name of other libraries; empty without one."""
    known = set(known)
    option, advice = _ELSEWHERE.get(name, ("", ""))
    if option in known:
        return f"; here: {advice}"
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


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
