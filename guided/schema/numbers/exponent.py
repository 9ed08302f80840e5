"""Numbers in scientific notation: a mantissa d.ddd, then an exponent of any size.

For a given mantissa, the outcome is a step function of the exponent E (`StepFunction`). A bound b = c * 10**e with 1 <= c < 10 is crossed
before, at or after E = e; being an integer or a multiple holds from some exponent on. So the mantissas of the bounds divide the mantissas
as bounds divide plain numbers, and the number of digits determines the rest.

Other mantissas are excluded: where the value matters there is one digit before the point, not 0 unless all digits are; where
divisibility matters there are at most `DIGITS` digits and no 0 at the end other than ``.0``. Every ``repr`` of a float has this form.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from guided.arrays import DEAD
from guided.automata.steps import Steps
from guided.schema.formula.exact import Number
from guided.schema.numbers.divisor import Divisor
from guided.schema.numbers.line import Line, decimal_digits

__all__ = ["DIGITS", "Mantissa", "Mantissas", "StepFunction", "downward", "scientific", "upward"]

# Most digits of a mantissa where divisibility matters: as many as a double needs.
DIGITS = 17


@dataclass(frozen=True, slots=True)
class StepFunction:
    """A piecewise constant function of the integers.

    Attributes
    ----------
    starts : tuple of int
        Ascending.
    values : tuple of int
        One more than ``starts``: ``values[i]`` is the value from ``starts[i - 1]`` to below ``starts[i]``.
    """

    starts: tuple[int, ...]
    values: tuple[int, ...]

    def at(self, number: int | None) -> int:
        """Return the value at a number; None means below all starts."""
        return self.values[0 if number is None else bisect_right(self.starts, number)]


def upward(function: StepFunction) -> StepFunction:
    """Return n -> function(n) for n >= 0; its starts are positive."""
    first = bisect_right(function.starts, 0)
    return StepFunction(function.starts[first:], function.values[first:])


def downward(function: StepFunction) -> StepFunction:
    """Return n -> function(-n) for n >= 0; its starts are positive."""
    count = bisect_right(function.starts, 0)
    return StepFunction(tuple(1 - start for start in reversed(function.starts[:count])), function.values[count::-1])


class Mantissa(NamedTuple):
    """The tracked state of a mantissa.

    Attributes
    ----------
    place : int
        Position among the mantissas of the bounds.
    digits : int
        Digits read, without ``.0``; 0 if they do not matter.
    end : int
        0: the last digit is not 0. 1: the fraction so far is ``.0``. 2: the last digit is 0.
    rests : tuple of int
        Remainder of the digits by the base of each divisor, without ``.0``.
    """

    place: int
    digits: int
    end: int
    rests: tuple[int, ...]


class Mantissas:
    """The mantissas of the numbers of one sign.

    Parameters
    ----------
    cuts : list of Fraction
        Magnitudes that divide the numbers.
    divisors : tuple of Divisor
    longest : int
        Most digits, if there are divisors.
    steps : Steps
        Receives the cost of states.

    Attributes
    ----------
    exponents : list of int
        Distinct exponents of the nonzero cuts.
    """

    __slots__ = ("_divides", "_divisors", "_exponents", "_line", "_longest", "_places", "_rows", "_zero", "exponents")

    def __init__(self, cuts: list[Fraction], divisors: tuple[Divisor, ...], longest: int, steps: Steps) -> None:
        self._divisors, self._longest = divisors, longest
        self._divides = any(divisor.base != 1 for divisor in divisors)
        self._rows: dict[Mantissa, list[Mantissa | bool]] = {}
        self._zero = 1 if cuts and not cuts[0] else 0
        scaled = [scientific(cut) for cut in cuts[self._zero :]]
        mantissas = sorted({Number(mantissa) for mantissa, _ in scaled})
        self._line = Line(mantissas, range(2 * len(mantissas) + 1), steps)
        self._places = [bisect_left(mantissas, mantissa) for mantissa, _ in scaled]
        self._exponents = [exponent for _, exponent in scaled]
        self.exponents = sorted(set(self._exponents))

    def first(self, digit: int) -> Mantissa:
        """Return the mantissa after the digit before the point, which is not 0."""
        place = self._line.fraction(self._line.digits(self._line.start())[digit])
        if not self._divisors:
            return Mantissa(place, 0, 0, ())
        return Mantissa(place, 1, 0, tuple(digit % divisor.base for divisor in self._divisors))

    def digits(self, mantissa: Mantissa) -> list[Mantissa | bool]:
        """Return the mantissa after each of the ten digits; False if no exponent can follow any more."""
        row = self._rows.get(mantissa)
        if row is None:
            row = []
            before = DEAD
            for digit, place in enumerate(self._line.fraction_digits(mantissa.place)):
                if digit < 2 or self._divides or place != before:
                    row.append(self._digit(mantissa, place, digit))
                else:
                    row.append(row[-1])
                before = place
            self._rows[mantissa] = row
        return row

    def _digit(self, mantissa: Mantissa, place: int, digit: int) -> Mantissa | bool:
        count, end, rests = mantissa[1:]
        if not count:
            return Mantissa(place, 0, 0, ())
        if count == 1 and not end and not digit:
            return Mantissa(place, 1, 1, rests)
        scale = 100 if end == 1 else 10
        count += 2 if end == 1 else 1
        if count > self._longest:
            return False
        pairs = zip(self._divisors, rests, strict=True)
        rests = tuple((scale * rest + digit) % divisor.base for divisor, rest in pairs)
        return Mantissa(place, count, 0 if digit else 2, rests)

    def least_exponents(self, mantissa: Mantissa) -> tuple[int | None, ...]:
        """Return for each divisor the exponent from which on the number is a multiple, or None."""
        found = zip(self._divisors, mantissa.rests, strict=True)
        return tuple(divisor.least_exponent(rest, mantissa.digits) for divisor, rest in found)

    def regions(self, mantissa: Mantissa) -> StepFunction:
        """Return the number's region among the cuts, by exponent."""
        here = self._line.region(mantissa.place)
        exponents, places = self._exponents, self._places
        starts: list[int] = []
        values = [2 * self._zero]
        low = 0
        while low < len(exponents):
            exponent = exponents[low]
            high = bisect_right(exponents, exponent, low)
            if starts and starts[-1] == exponent:
                starts.pop()
                values.pop()
            # The first cut of this exponent that is not less than the mantissa; it may be equal.
            at = bisect_left(places, here // 2, low, high)
            equal = here & 1 and at < high and places[at] == here // 2
            starts += (exponent, exponent + 1)
            values += (2 * (at + self._zero) + bool(equal), 2 * (high + self._zero))
            low = high
        return StepFunction(tuple(starts), tuple(values))


def scientific(number: Fraction) -> tuple[Fraction, int]:
    """Return (c, e) of a positive number c * 10**e with 1 <= c < 10."""
    exponent = len(decimal_digits(number.numerator)) - len(decimal_digits(number.denominator))
    mantissa = number / Fraction(10) ** exponent
    return (mantissa, exponent) if mantissa >= 1 else (10 * mantissa, exponent - 1)
