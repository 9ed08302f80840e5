"""Decimal numbers, with or without bounds, as pattern trees over their digits.

`decimals` are plain: an integer part without leading zeros, optionally a point and digits, optionally a minus (also ``-0``). The tree
matches a spelling if and only if its value is within the bounds. `floats` are all spellings, including exponents, that do not overflow a
double: none of them reads as infinity.

A spelling near an exclusive bound may round to the bound: ``0.99999999999999999`` reads as 1.0. `neighbor` replaces an exclusive bound by
the adjacent double, so that every matched text is within the bound after parsing.

Not handled here: exponents under bounds. The value depends on digits at any distance; that language is not regular.
"""

import math
from decimal import Decimal
from fractions import Fraction

from guided.calls.numbers import DIGIT, ENUMERATED, digit_range, digits_of, integers, multiples
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, Repeat, alternate, concat, optional, repeat

__all__ = ["FRACTION_DIGITS", "decimal_multiples", "decimals", "floats", "neighbor"]

# Maximum number of digits after the point under bounds: `repr` never gives more without an exponent.
FRACTION_DIGITS = 22
# Maximum length of the integer part of a float, as in JavaScript; `repr` switches to an exponent earlier.
_INTEGER_DIGITS = 21
_LARGEST = Decimal("1.7976931348623157")
_POINT = Literal(".")
_EXPONENT = Chars(Charset.of([(ord("e"), ord("e")), (ord("E"), ord("E"))]))
_MINUS = optional(Literal("-"))


def decimals(low: Decimal | None = None, high: Decimal | None = None, places: int | None = FRACTION_DIGITS) -> Node:
    """The plain decimals from ``low`` to ``high``, inclusive; None means no bound.

    Parameters
    ----------
    places : int or None
        Maximum number of digits after the point, at least that of the bounds; None: unlimited.
    """
    items: list[Node] = []
    zero = Decimal(0)
    if high is None or high >= 0:
        items.append(_magnitudes(zero if low is None else max(low, zero), high, places))
    if low is None or low < 0:
        least = zero if high is None else max(high.copy_negate(), zero)
        items.append(concat([Literal("-"), _magnitudes(least, None if low is None else low.copy_negate(), places)]))
    return alternate(items)


def neighbor(bound: Decimal, upward: bool) -> Decimal:
    """The least double above a bound, or the largest one below; next to 0, one unit in the last of `FRACTION_DIGITS` places.

    Raises
    ------
    OverflowError
        There is no such double.
    """
    direction = math.inf if upward else -math.inf
    if not bound:
        return Decimal(1 if upward else -1).scaleb(-FRACTION_DIGITS)
    nearest = float(bound)
    past = Decimal(repr(nearest)) > bound if upward else Decimal(repr(nearest)) < bound
    found = nearest if past else math.nextafter(nearest, direction)
    if math.isinf(found):
        raise OverflowError(f"no float lies beyond {bound}")
    return Decimal(repr(found))


def floats(max_digits: int | None = None) -> Node:
    """All spellings of finite doubles, with or without exponents.

    Parameters
    ----------
    max_digits : int, optional
        Maximum number of digits before the point (never more than 21) and after it; None means no limit after the point.
    """
    whole = _INTEGER_DIGITS if max_digits is None else min(max_digits, _INTEGER_DIGITS)
    fraction = optional(concat([_POINT, repeat(DIGIT, 1, max_digits)]))
    long = concat([alternate([Literal("0"), concat([digit_range(1, 9), Repeat(DIGIT, 0, whole - 1)])]), fraction])
    small = concat([Literal("-"), Repeat(DIGIT, 1, 3)])
    magnitude = [
        # 10**21 * 10**287 and 9.9.. * 10**307 do not overflow; with 308, the mantissa decides.
        concat([long, optional(concat([_EXPONENT, alternate([small, _exponent_to(287)])]))]),
        concat([DIGIT, fraction, _EXPONENT, _exponent_to(307)]),
        concat([_magnitudes(Decimal(0), _LARGEST, None) & concat([DIGIT, fraction]), _EXPONENT, _exponent_to(308)]),
    ]
    return concat([_MINUS, alternate(magnitude)])


def _exponent_to(largest: int) -> Node:
    """An exponent from 0 to ``largest`` (three digits), with leading zeros up to three digits, and an optional plus."""
    hundreds, rest = divmod(largest, 100)
    tens, ones = divmod(rest, 10)
    last = alternate(
        [
            concat([digit_range(0, hundreds - 1), DIGIT, DIGIT]),
            concat([digit_range(hundreds, hundreds), digit_range(0, tens - 1), DIGIT]),
            concat([digit_range(hundreds, hundreds), digit_range(tens, tens), digit_range(0, ones)]),
        ]
    )
    return concat([optional(Literal("+")), alternate([Repeat(DIGIT, 1, 2), last])])


def _magnitudes(low: Decimal, high: Decimal | None, places: int | None) -> Node:
    """The plain decimals from ``low`` >= 0 to ``high``."""
    if high is not None and low > high:
        return Chars(Charset.EMPTY)
    least, least_fraction = _split(low)
    if high is None:
        above = concat([integers(least + 1, None), _at_least((), places)])
        return alternate([concat([integers(least, least), _at_least(least_fraction, places)]), above])
    most, most_fraction = _split(high)
    if least == most:
        inside = _at_least(least_fraction, places) & _at_most(most_fraction, places)
        return concat([integers(least, least), inside])
    return alternate(
        [
            concat([integers(least, least), _at_least(least_fraction, places)]),
            concat([integers(least + 1, most - 1), _at_least((), places)]),
            concat([integers(most, most), _at_most(most_fraction, places)]),
        ]
    )


def _split(value: Decimal) -> tuple[int, tuple[int, ...]]:
    """The integer part, and the digits after the point without trailing zeros."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "bounds are finite"
    number = int(Decimal((0, digits, 0)))
    if exponent >= 0:
        return number * 10**exponent, ()
    whole, rest = divmod(number, 10**-exponent)
    padded = (*(0,) * (-exponent - len(digits_of(rest))), *digits_of(rest)) if rest else ()
    while padded and padded[-1] == 0:
        padded = padded[:-1]
    return whole, padded


def _tail(places: int | None, used: int) -> Node:
    """Any further digits after the first ``used``."""
    return repeat(DIGIT, 0, None if places is None else places - used)


def _at_least(digits: tuple[int, ...], places: int | None) -> Node:
    """Fractions (with their point, or empty) that are at least ``0.digits``."""
    if not digits:
        return optional(concat([_POINT, DIGIT, _tail(places, 1)]))
    node: Node = _tail(places, len(digits))
    for place in reversed(range(len(digits))):
        larger = concat([digit_range(digits[place] + 1, 9), _tail(places, place + 1)])
        node = alternate([larger, concat([digit_range(digits[place], digits[place]), node])])
    return concat([_POINT, node])


def _at_most(digits: tuple[int, ...], places: int | None) -> Node:
    """Fractions (with their point, or empty) that are at most ``0.digits``."""
    zeros = repeat(Literal("0"), 0, None if places is None else places - len(digits))
    if not digits:
        return optional(concat([_POINT, repeat(Literal("0"), 1, places)]))
    node: Node = zeros
    for place in reversed(range(len(digits))):
        smaller = concat([digit_range(0, digits[place] - 1), _tail(places, place + 1)])
        onward = concat([digit_range(digits[place], digits[place]), node])
        node = alternate([smaller, onward]) if place == 0 else optional(alternate([smaller, onward]))
    return optional(concat([_POINT, node]))


def decimal_multiples(step: Decimal) -> Node | None:
    """The plain decimals that are multiples of ``step`` > 0; None if they are not supported.

    Supported are steps that divide 1 (0.5, 0.01), and the integers that `multiples` supports.
    """
    exact = Fraction(step)
    zeros = optional(concat([_POINT, repeat(Literal("0"), 1)]))
    if exact.denominator == 1:
        whole = multiples(exact.numerator)
        return None if whole is None else concat([alternate([whole, Literal("-0")]), zeros])
    if exact.numerator != 1 or exact.denominator > ENUMERATED:
        return None
    count = exact.denominator
    # Why Decimal: a step with a finite decimal expansion divides a power of ten, so its multiples are exact.
    parts = [_split(step * n)[1] for n in range(1, count)]
    tails = [concat([_POINT, Literal("".join(map(str, part))), repeat(Literal("0"))]) for part in parts]
    return concat([_MINUS, integers(0, None), alternate([zeros, *tails])])
