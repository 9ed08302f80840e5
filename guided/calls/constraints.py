"""Bounds, lengths and patterns, from wherever they are written, and the types that they make.

Python's annotations (`guided.calls.metadata`) and JSON Schema (`guided.calls.schema`) both fill in `Constraints`; the
functions here turn them into types of one kind, or say which of them does not fit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from guided.calls.scalars import integer, number, text
from guided.calls.values import ValueType, automaton_of
from guided.errors import SchemaError, shown
from guided.patterns.tree import Node

__all__ = [
    "MOST_DIGITS",
    "Caps",
    "Constraints",
    "Irregular",
    "Unsatisfiable",
    "bounded_float",
    "bounded_int",
    "constrained_text",
    "exact_number",
]

_Ordered = TypeVar("_Ordered", Decimal, int)
# Python writes no numbers of more than 4,300 digits, and no schema needs one of more than 4,000, or one with as many zeros.
MOST_DIGITS = 4_000
_BITS = 13_287


class Irregular(SchemaError):
    """No pattern has the values of a type, or none of a reasonable size: its schema may say what they are."""


class Unsatisfiable(SchemaError):
    """No value satisfies a type. What is optional is then never written; anything else is refused with this error."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds for values that have none of their own; None leaves them unbounded.

    Attributes
    ----------
    max_length : int or None
        Characters of a string.
    max_digits : int or None
        Digits of an integer, and of a float before and after its point.
    """

    max_length: int | None = None
    max_digits: int | None = None


@dataclass(slots=True)
class Constraints:
    """What was asked for.

    Attributes
    ----------
    low, high : Decimal or None
        Inclusive bounds.
    above, below : Decimal or None
        Exclusive bounds.
    step : Fraction or None
        The value is a multiple of it.
    min_length : int
        Least length.
    max_length : int or None
        Greatest length.
    patterns : list of Node
        Patterns of the value.
    keywords : dict of str to str
        What was asked for, by name; the value is "number", "length" or "pattern".
    description : str
        For people.
    """

    low: Decimal | None = None
    high: Decimal | None = None
    above: Decimal | None = None
    below: Decimal | None = None
    step: Fraction | None = None
    min_length: int = 0
    max_length: int | None = None
    patterns: list[Node] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)
    description: str = ""

    def bound(self, side: str, value: Any, pointer: str, keyword: str) -> None:
        """Add a bound.

        Parameters
        ----------
        side : {"low", "high", "above", "below"}
            The attribute; the tighter bound stays.
        """
        self.keywords[keyword] = "number"
        if isinstance(value, float) and math.isinf(value):
            if (value > 0) == (side in ("low", "above")):
                raise Unsatisfiable("no number is beyond infinity", pointer, keyword)
            return
        tightest: Callable[[Decimal, Decimal], Decimal] = max if side in ("low", "above") else min
        setattr(self, side, _tightest(tightest, getattr(self, side), exact_number(value, pointer, keyword)))

    def multiple(self, value: Any, pointer: str, keyword: str) -> None:
        """Ask for multiples of a number; for those of all the numbers asked for."""
        self.keywords[keyword] = "number"
        step = Fraction(exact_number(value, pointer, keyword))
        if step <= 0:
            raise SchemaError(f"{shown(value)} is not greater than 0", pointer, keyword)
        if self.step is not None:
            step = Fraction(
                math.lcm(step.numerator, self.step.numerator), math.gcd(step.denominator, self.step.denominator)
            )
        self.step = step

    def length(self, side: str, value: Any, pointer: str, keyword: str) -> None:
        """Add a least (``side="min"``) or greatest ("max") length."""
        self.keywords[keyword] = "length"
        if value is None:
            return
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise SchemaError(f"a length is a number >= 0, not {shown(value)}", pointer, keyword)
        if side == "min":
            self.min_length = max(self.min_length, value)
        else:
            self.max_length = _tightest(min, self.max_length, value)

    def pattern(self, node: Node, keyword: str) -> None:
        """Add a pattern of the value."""
        self.keywords[keyword] = "pattern"
        self.patterns.append(node)

    def only(self, kinds: tuple[str, ...], what: str, pointer: str) -> None:
        """Refuse what was asked for beyond some kinds of keywords."""
        for keyword, kind in self.keywords.items():
            if kind not in kinds:
                raise SchemaError(f"does not apply to {what}", pointer, keyword)


def bounded_int(asked: Constraints, caps: Caps, pointer: str) -> ValueType:
    """The integers that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none, or their multiples are not supported.
    """
    asked.only(("number",), "an int", pointer)
    low = _tightest(max, _optional(math.ceil, asked.low), _optional(lambda b: math.floor(b) + 1, asked.above))
    high = _tightest(min, _optional(math.floor, asked.high), _optional(lambda b: math.ceil(b) - 1, asked.below))
    if caps.max_digits is not None:
        largest = 10**caps.max_digits - 1
        low, high = (-largest if low is None else low), (largest if high is None else high)
    # A multiple of p/q in lowest terms, if it is an integer, is one of p.
    step = None if asked.step is None or asked.step.numerator == 1 else asked.step.numerator
    return _inhabited(lambda: integer(low, high, step), asked, pointer)


def bounded_float(asked: Constraints, caps: Caps, pointer: str) -> ValueType:
    """The floats that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none, or their multiples are not supported.
    """
    asked.only(("number",), "a float", pointer)
    step = None if asked.step is None else Decimal(asked.step.numerator) / Decimal(asked.step.denominator)
    try:
        return _inhabited(
            lambda: number(asked.low, asked.high, asked.above, asked.below, step, caps.max_digits), asked, pointer
        )
    except OverflowError as error:
        raise SchemaError("a bound is too large for a float", pointer, next(iter(asked.keywords))) from error


def constrained_text(asked: Constraints, caps: Caps, pointer: str) -> ValueType:
    """The strings that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none.
    """
    asked.only(("length", "pattern"), "a str", pointer)
    is_free = asked.max_length is None and not asked.patterns
    maximum = caps.max_length if is_free else asked.max_length
    maximum = max(maximum, asked.min_length) if is_free and maximum is not None else maximum
    return _inhabited(lambda: text(asked.min_length, maximum, tuple(asked.patterns)), asked, pointer)


def exact_number(value: Any, pointer: str, keyword: str) -> Decimal:
    """A number as it is written: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise SchemaError(f"a number is expected, not {shown(value)}", pointer, keyword)
    is_long = value.bit_length() > _BITS if isinstance(value, int) else False
    if isinstance(value, Decimal) and value.is_finite():
        is_long = abs(value.adjusted()) > MOST_DIGITS or len(value.as_tuple().digits) > MOST_DIGITS
    if is_long:
        raise SchemaError(f"a number has no more than {MOST_DIGITS:,} digits", pointer, keyword)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise SchemaError(f"{shown(value)} is no finite number", pointer, keyword)
    return exact


def _inhabited(build: Callable[[], ValueType], asked: Constraints, pointer: str) -> ValueType:
    """The type, if it has a value."""
    keyword = ", ".join(asked.keywords)
    try:
        found = build()
    except ValueError as error:
        raise Irregular(str(error), pointer, keyword) from error
    if asked.keywords and automaton_of(found.node).is_empty():
        raise Unsatisfiable("no value satisfies all of this", pointer, keyword)
    return found


def _tightest(
    choose: Callable[[_Ordered, _Ordered], _Ordered], one: _Ordered | None, two: _Ordered | None
) -> _Ordered | None:
    if one is None or two is None:
        return two if one is None else one
    return choose(one, two)


def _optional(function: Callable[[Decimal], int], value: Decimal | None) -> int | None:
    return None if value is None else function(value)
