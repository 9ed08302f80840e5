"""Types of single values: booleans, numbers, strings, constants.

Constructors are memoized, so equal types are the same object with the same tree (ToolDec also builds one automaton per type and
concatenates them).
"""

import json
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from guided.calls.decimals import decimal_multiples, decimals, floats, neighbor
from guided.calls.numbers import integers, multiples
from guided.calls.strings import any_text, quoted
from guided.calls.values import Decode, ValueType, automaton_of, constant, nesting
from guided.patterns.tree import Intersect, Literal, Node, alternate

__all__ = ["bare", "boolean", "choice", "integer", "null", "number", "string", "text"]

_LARGEST = Decimal(repr(sys.float_info.max))


@lru_cache(maxsize=1)
def boolean() -> ValueType:
    """The type of ``true`` and ``false``."""
    return ValueType("bool", alternate([Literal("true"), Literal("false")]), _checked(bool), schema={"type": "boolean"})


@lru_cache(maxsize=1)
def null() -> ValueType:
    """The type of ``null``."""
    return ValueType("None", Literal("null"), _checked(type(None)), schema={"type": "null"})


def integer(low: int | None = None, high: int | None = None, step: int | None = None) -> ValueType:
    """The type of integers from ``low`` to ``high`` that are multiples of ``step``.

    Raises
    ------
    ValueError
        The multiples of ``step`` are not supported.
    """
    return _integer(low, high, step)


@lru_cache(maxsize=4096)
def _integer(low: int | None, high: int | None, step: int | None) -> ValueType:
    node = integers(low, high) if step is None else multiples(step, low, high)
    if node is None:
        raise ValueError(f"multiples of {step} are not supported within these bounds")

    def decode(value: Any) -> int:
        if type(value) is not int or not _within(value, low, high) or (step is not None and value % step):
            raise ValueError(f"{value!r} is not a valid {name}")
        return value

    name = "int" + _bounds(low, high) + ("" if step is None else f" multiple of {step}")
    schema = _described("integer", minimum=low, maximum=high, multipleOf=step)
    return ValueType(name, node, decode, schema=schema)


def number(
    low: Decimal | None = None,
    high: Decimal | None = None,
    above: Decimal | None = None,
    below: Decimal | None = None,
    step: Decimal | None = None,
    max_digits: int | None = None,
) -> ValueType:
    """The type of floats.

    Without bounds and ``step``: every spelling of a finite double (`floats`). Otherwise plain decimals without exponents.

    Parameters
    ----------
    low, high : Decimal, optional
        Inclusive bounds.
    above, below : Decimal, optional
        Exclusive bounds.
    step : Decimal, optional
        Greater than 0.
    max_digits : int, optional
        Maximum number of digits of unbounded numbers, see `floats`.

    Raises
    ------
    ValueError
        The multiples of ``step`` are not supported.
    """
    return _number(low, high, above, below, step, max_digits)


@lru_cache(maxsize=4096)
def _number(
    low: Decimal | None,
    high: Decimal | None,
    above: Decimal | None,
    below: Decimal | None,
    step: Decimal | None,
    max_digits: int | None,
) -> ValueType:
    lower = [bound for bound in (low, None if above is None else neighbor(above, upward=True)) if bound is not None]
    upper = [bound for bound in (high, None if below is None else neighbor(below, upward=False)) if bound is not None]
    least, most = max(lower, default=None), min(upper, default=None)
    is_free = least is None and most is None and step is None
    node = floats(max_digits) if is_free else _plain(least, most, step)
    name = "float" + _bounds(low, high, above, below) + ("" if step is None else f" multiple of {step}")

    def decode(value: Any) -> float:
        if type(value) is not int and type(value) is not float:
            raise ValueError(f"{value!r} is not a valid {name}")
        exact = Decimal(value) if type(value) is int else Decimal(repr(value))
        if not _within(exact, least, most) or (step is not None and Fraction(exact) % Fraction(step)):
            raise ValueError(f"{value!r} is not a valid {name}")
        return float(value)

    schema = _described(
        "number", minimum=low, exclusiveMinimum=above, maximum=high, exclusiveMaximum=below, multipleOf=step
    )
    return ValueType(name, node, decode, schema=schema)


def _plain(low: Decimal | None, high: Decimal | None, step: Decimal | None) -> Node:
    # Invariant: no number overflows a double; an open side is therefore bounded 21 digits beyond the other bound.
    bounds = [bound for bound in (low, high) if bound is not None and bound]
    reach = min(_LARGEST, Decimal(10) ** (21 + max([bound.adjusted() for bound in bounds], default=0)))
    node = decimals(-reach if low is None else max(low, -_LARGEST), reach if high is None else min(high, _LARGEST))
    if step is None:
        return node
    steps = decimal_multiples(step)
    if steps is None:
        raise ValueError(f"multiples of {step} are not supported")
    return Intersect((node, steps))


def text(minimum: int = 0, maximum: int | None = None, patterns: tuple[Node, ...] = (), name: str = "str") -> ValueType:
    """The type of strings of ``minimum`` to ``maximum`` characters that all patterns match in full.

    Parameters
    ----------
    patterns : tuple of Node
        Patterns of the string's value (not of its spelling).
    name : str
        For display.
    """
    return _text(minimum, maximum, patterns, name)


# Why a second function: the cache distinguishes ways to pass the same arguments, and each type must be one object.
@lru_cache(maxsize=4096)
def _text(minimum: int, maximum: int | None, patterns: tuple[Node, ...], name: str) -> ValueType:
    schema = _described("string", minLength=minimum or None, maxLength=maximum)
    subschemas = [{"pattern": item} for item in patterns]
    schema |= subschemas[0] if len(subschemas) == 1 else {"allOf": subschemas} if subschemas else {}
    return string(_text_node(minimum, maximum, patterns), name, schema=schema)


def _text_node(minimum: int, maximum: int | None, patterns: tuple[Node, ...]) -> Node:
    if patterns and minimum == 0 and maximum is None:
        return patterns[0] if len(patterns) == 1 else Intersect(patterns)
    length = any_text(minimum, maximum)
    return Intersect((length, *patterns)) if patterns else length


def string(
    value: Node, name: str, convert: Callable[[str], Any] = str, schema: Mapping[str, Any] | None = None
) -> ValueType:
    """The type of JSON strings whose value a pattern matches in full.

    Parameters
    ----------
    value : Node
        Pattern of the value.
    name : str
        For display.
    convert : callable
        Maps the string's value to a Python value.
    schema : Mapping, optional
        JSON Schema of the values; by default that of the pattern.
    """
    if schema is None:
        schema = {"type": "string", "pattern": value}

    def decode(found: Any) -> Any:
        if type(found) is not str or not automaton_of(value).accepts(found.encode("utf-8", "surrogatepass")):
            raise ValueError(f"{found!r} is not a valid {name}")
        return convert(found)

    return ValueType(name, quoted(value), decode, is_string=True, strings=value, schema=schema)


def bare(value: Node, name: str, convert: Callable[[str], Any] = str) -> ValueType:
    """The type of unquoted text, for formats whose arguments need not be JSON.

    Parameters
    ----------
    value : Node
        Pattern of the text.
    name : str
        For display.
    convert : callable
        Maps the text to a Python value.
    """
    # Why Intersect: lookarounds must see only the text of the argument.
    schema = {"type": "string", "pattern": value}
    return ValueType(name, Intersect((value,)), convert, is_bare=True, schema=schema)


def choice(spellings: tuple[str, ...], values: tuple[Any, ...] | None = None) -> ValueType:
    """The type of a choice among JSON values.

    Parameters
    ----------
    spellings : tuple of str
        Each as `json.dumps` writes it; not empty.
    values : tuple, optional
        The hashable Python value of each; by default the JSON value.
    """
    # Why the types: members of two IntEnums can be equal, and True equals 1.
    return _choice(spellings, values, None if values is None else tuple(map(type, values)))


@lru_cache(maxsize=4096)
def _choice(
    spellings: tuple[str, ...],
    values: tuple[Any, ...] | None,
    kinds: tuple[type, ...] | None,  # noqa: ARG001 - a part of the key
) -> ValueType:
    constants = [json.loads(spelling) for spelling in spellings]
    keys = [json.dumps(value, sort_keys=True) for value in constants]
    meaning = dict(zip(reversed(keys), reversed(constants if values is None else values), strict=True))
    name = " | ".join(spellings)

    def decode(value: Any) -> Any:
        key = json.dumps(value, sort_keys=True)
        if key not in meaning:
            raise ValueError(f"{value!r} is none of {name}")
        return meaning[key] if values is not None else value

    node = alternate([constant(value) for value in constants])
    depth = max(nesting(value) for value in constants)
    texts = [Literal(value) for value in constants if type(value) is str]
    others = [constant(value) for value in constants if type(value) is not str]
    return ValueType(
        name,
        node,
        decode,
        depth,
        is_string=not others,
        strings=alternate(texts) if texts else None,
        others=alternate(others) if others else None,
        schema={"enum": constants} if others else {"type": "string", "enum": constants},
    )


def _described(kind: str, **keywords: Any) -> dict[str, Any]:
    """The JSON Schema of a type, without keywords whose value is None."""
    return {"type": kind, **{name: value for name, value in keywords.items() if value is not None}}


def _checked(kind: type) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{value!r} is not a valid {kind.__name__}")
        return value

    return decode


def _within(value: Any, low: Any, high: Any) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _bounds(low: Any, high: Any, above: Any = None, below: Any = None) -> str:
    signs = ((">=", low), ("<=", high), (">", above), ("<", below))
    found = ", ".join(f"{sign} {bound}" for sign, bound in signs if bound is not None)
    return f" {found}" if found else ""
