"""Numbers in scientific notation: a mantissa d.ddd, then an exponent of any size.

What a mantissa makes of an exponent E is constant but for a few steps (`StepFunction`).
A bound b, of b = c * 10**e with 1 <= c < 10, is passed before, at or after E = e; an integer or a multiple is one from some exponent on. So
the bounds' mantissas cut the mantissas as bounds cut plain numbers, and the number of digits says the rest.

It does not follow other mantissas: where the value matters there is one digit before the point, not 0 unless all digits are, and, where
divisibility matters, at most `DIGITS` digits and no 0 at the end other than ``.0``. Every ``repr`` of a float is of this form.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from guided.arrays import DEAD
from guided.automata.steps import Steps
from guided.schema.number.divisor import Divisor
from guided.schema.number.line import Line, decimal_digits

__all__ = ["DIGITS", "Mantissa", "Mantissas", "StepFunction", "downward", "scientific", "upward"]

# Digits of a mantissa where divisibility matters: the longest that a double needs.
DIGITS = 17


@dataclass(frozen=True, slots=True)
class StepFunction:
    """A function of the integers that is constant but for some steps.

    Attributes
    ----------
    starts : tuple of int
        Ascending.
    values : tuple of int
        One more: ``values[i]`` is what the function is from ``starts[i - 1]`` to below ``starts[i]``.
    """

    starts: tuple[int, ...]
    values: tuple[int, ...]

    def at(self, number: int | None) -> int:
        """The value at a number; None stands for one below all starts."""
        return self.values[0 if number is None else bisect_right(self.starts, number)]


def upward(function: StepFunction) -> StepFunction:
    """The function of n >= 0 that gives the value of n; its starts are positive."""
    first = bisect_right(function.starts, 0)
    return StepFunction(function.starts[first:], function.values[first:])


def downward(function: StepFunction) -> StepFunction:
    """The function of n >= 0 that gives the value of -n; its starts are positive."""
    count = bisect_right(function.starts, 0)
    return StepFunction(tuple(1 - start for start in reversed(function.starts[:count])), function.values[count::-1])


class Mantissa(NamedTuple):
    """What is known of a mantissa.

    Attributes
    ----------
    place : int
        State among the mantissas of the bounds.
    digits : int
        Digits read, ``.0`` not counted; 0 where they do not matter.
    end : int
        0: the last digit is not 0. 1: ``.0`` was read and nothing after it. 2: the last digit is 0.
    rests : tuple of int
        Remainder of the digits by the base of each divisor, ``.0`` not counted.
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
        Magnitudes that part the numbers.
    divisors : tuple of Divisor
    longest : int
        The most digits, if there are divisors.
    steps : Steps
        What states cost is added to it.

    Attributes
    ----------
    exponents : list of int
        Of the cuts that are not 0, each once.
    """

    __slots__ = ("_divides", "_divisors", "_exponents", "_line", "_longest", "_places", "_rows", "_zero", "exponents")

    def __init__(self, cuts: list[Fraction], divisors: tuple[Divisor, ...], longest: int, steps: Steps) -> None:
        self._divisors, self._longest = divisors, longest
        self._divides = any(divisor.base != 1 for divisor in divisors)
        self._rows: dict[Mantissa, list[Mantissa | bool]] = {}
        self._zero = 1 if cuts and not cuts[0] else 0
        scaled = [scientific(cut) for cut in cuts[self._zero :]]
        mantissas = sorted({mantissa for mantissa, _ in scaled})
        self._line = Line(mantissas, range(2 * len(mantissas) + 1), steps)
        self._places = [bisect_left(mantissas, mantissa) for mantissa, _ in scaled]
        self._exponents = [exponent for _, exponent in scaled]
        self.exponents = sorted(set(self._exponents))

    def first(self, digit: int) -> Mantissa:
        """After the digit before the point, which is not 0."""
        place = self._line.fraction(self._line.digits(self._line.start())[digit])
        if not self._divisors:
            return Mantissa(place, 0, 0, ())
        return Mantissa(place, 1, 0, tuple(digit % divisor.base for divisor in self._divisors))

    def digits(self, mantissa: Mantissa) -> list[Mantissa | bool]:
        """After each of the ten digits; False if it cannot have an exponent any more."""
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
        """By divisor, the exponent from which on the number is a multiple, or None."""
        found = zip(self._divisors, mantissa.rests, strict=True)
        return tuple(divisor.least_exponent(rest, mantissa.digits) for divisor, rest in found)

    def regions(self, mantissa: Mantissa) -> StepFunction:
        """The number's region among the cuts, by exponent."""
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
            # Among the cuts of this exponent: the first that is not less than the mantissa, which may be equal.
            at = bisect_left(places, here // 2, low, high)
            equal = here & 1 and at < high and places[at] == here // 2
            starts += (exponent, exponent + 1)
            values += (2 * (at + self._zero) + bool(equal), 2 * (high + self._zero))
            low = high
        return StepFunction(tuple(starts), tuple(values))


def scientific(number: Fraction) -> tuple[Fraction, int]:
    """(c, e) of a positive number c * 10**e, 1 <= c < 10."""
    exponent = len(decimal_digits(number.numerator)) - len(decimal_digits(number.denominator))
    mantissa = number / Fraction(10) ** exponent
    return (mantissa, exponent) if mantissa >= 1 else (10 * mantissa, exponent - 1)
