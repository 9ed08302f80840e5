"""Bounds, lengths and patterns of values, and the types that result from them.

Python annotations (`guided.calls.metadata`) and JSON Schema (`guided.calls.schema`) both fill in `Constraints`; the functions here turn
them into value types, or report which constraint does not apply.
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
    "LONGEST_NUMBER",
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
# Python writes no integers of more than 4,300 digits, and no schema needs a number of more than 4,000 digits or as many zeros.
LONGEST_NUMBER = 4_000
_BITS = 13_287


class Irregular(SchemaError):
    """No pattern of reasonable size has the values of a type; its schema may describe them."""


class Unsatisfiable(SchemaError):
    """No value satisfies a type. Optional parameters and fields of such a type are left out; elsewhere this error is raised."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Default bounds for unbounded values; None means no bound.

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
    """The constraints of one value.

    Attributes
    ----------
    low, high : Decimal or None
        Inclusive bounds.
    above, below : Decimal or None
        Exclusive bounds.
    step : Fraction or None
        The value must be a multiple of it.
    min_length : int
        Minimum length.
    max_length : int or None
        Maximum length.
    patterns : list of Node
        Patterns that the value must match.
    keywords : dict of str to str
        Names of the given constraints -> "number", "length" or "pattern".
    description : str
        Text for models and people.
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
            The attribute; the tighter bound is kept.
        """
        self.keywords[keyword] = "number"
        if isinstance(value, float) and math.isinf(value):
            if (value > 0) == (side in ("low", "above")):
                raise Unsatisfiable("the bound is infinite, so no number satisfies it", pointer, keyword)
            return
        tightest: Callable[[Decimal, Decimal], Decimal] = max if side in ("low", "above") else min
        setattr(self, side, _tightest(tightest, getattr(self, side), exact_number(value, pointer, keyword)))

    def multiple(self, value: Any, pointer: str, keyword: str) -> None:
        """Require multiples of a number; repeated calls combine."""
        self.keywords[keyword] = "number"
        step = Fraction(exact_number(value, pointer, keyword))
        if step <= 0:
            raise SchemaError(f"{shown(value)} must be greater than 0", pointer, keyword)
        if self.step is not None:
            step = Fraction(
                math.lcm(step.numerator, self.step.numerator), math.gcd(step.denominator, self.step.denominator)
            )
        self.step = step

    def length(self, side: str, value: Any, pointer: str, keyword: str) -> None:
        """Add a minimum (``side="min"``) or maximum ("max") length."""
        self.keywords[keyword] = "length"
        if value is None:
            return
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise SchemaError(f"a length must be an integer >= 0, not {shown(value)}", pointer, keyword)
        if side == "min":
            self.min_length = max(self.min_length, value)
        else:
            self.max_length = _tightest(min, self.max_length, value)

    def pattern(self, node: Node, keyword: str) -> None:
        """Add a pattern that the value must match."""
        self.keywords[keyword] = "pattern"
        self.patterns.append(node)

    def only(self, kinds: tuple[str, ...], what: str, pointer: str) -> None:
        """Raise SchemaError if there are constraints of other kinds."""
        for keyword, kind in self.keywords.items():
            if kind not in kinds:
                raise SchemaError(f"does not apply to {what}", pointer, keyword)


def bounded_int(constraints: Constraints, caps: Caps, pointer: str) -> ValueType:
    """Return the type of the integers that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none, or these multiples are not supported.
    """
    constraints.only(("number",), "an int", pointer)
    low = _tightest(
        max, _optional(math.ceil, constraints.low), _optional(lambda b: math.floor(b) + 1, constraints.above)
    )
    high = _tightest(
        min, _optional(math.floor, constraints.high), _optional(lambda b: math.ceil(b) - 1, constraints.below)
    )
    if caps.max_digits is not None:
        largest = 10**caps.max_digits - 1
        low, high = (-largest if low is None else low), (largest if high is None else high)
    # An integer multiple of p/q in lowest terms is a multiple of p.
    step = None if constraints.step is None or constraints.step.numerator == 1 else constraints.step.numerator
    return _inhabited(lambda: integer(low, high, step), constraints, pointer)


def bounded_float(constraints: Constraints, caps: Caps, pointer: str) -> ValueType:
    """Return the type of the floats that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none, or these multiples are not supported.
    """
    constraints.only(("number",), "a float", pointer)
    step = (
        None
        if constraints.step is None
        else Decimal(constraints.step.numerator) / Decimal(constraints.step.denominator)
    )
    try:
        return _inhabited(
            lambda: number(
                constraints.low, constraints.high, constraints.above, constraints.below, step, caps.max_digits
            ),
            constraints,
            pointer,
        )
    except OverflowError as error:
        raise SchemaError("the bound is too large for a float", pointer, next(iter(constraints.keywords))) from error


def constrained_text(constraints: Constraints, caps: Caps, pointer: str) -> ValueType:
    """Return the type of the strings that satisfy constraints.

    Raises
    ------
    SchemaError
        There are none.
    """
    constraints.only(("length", "pattern"), "a str", pointer)
    is_free = constraints.max_length is None and not constraints.patterns
    maximum = caps.max_length if is_free else constraints.max_length
    maximum = max(maximum, constraints.min_length) if is_free and maximum is not None else maximum
    return _inhabited(lambda: text(constraints.min_length, maximum, tuple(constraints.patterns)), constraints, pointer)


def exact_number(value: Any, pointer: str, keyword: str) -> Decimal:
    """The exact decimal of a number as written: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise SchemaError(f"expected a number, not {shown(value)}", pointer, keyword)
    is_long = value.bit_length() > _BITS if isinstance(value, int) else False
    if isinstance(value, Decimal) and value.is_finite():
        is_long = abs(value.adjusted()) > LONGEST_NUMBER or len(value.as_tuple().digits) > LONGEST_NUMBER
    if is_long:
        raise SchemaError(f"a number may have at most {LONGEST_NUMBER:,} digits", pointer, keyword)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise SchemaError(f"{shown(value)} is not a finite number", pointer, keyword)
    return exact


def _inhabited(build: Callable[[], ValueType], constraints: Constraints, pointer: str) -> ValueType:
    """Build a type and check that it has a value."""
    keyword = ", ".join(constraints.keywords)
    try:
        found = build()
    except ValueError as error:
        raise Irregular(str(error), pointer, keyword) from error
    if constraints.keywords and automaton_of(found.node).is_empty():
        raise Unsatisfiable("no value satisfies all of these constraints", pointer, keyword)
    return found


def _tightest(
    choose: Callable[[_Ordered, _Ordered], _Ordered], one: _Ordered | None, two: _Ordered | None
) -> _Ordered | None:
    if one is None or two is None:
        return two if one is None else one
    return choose(one, two)


def _optional(function: Callable[[Decimal], int], value: Decimal | None) -> int | None:
    return None if value is None else function(value)
