"""Remainders digit by digit: whether a decimal is a multiple of a rational.

A decimal is a multiple of p/q exactly if it is a multiple of p/q', where q' keeps only the factors 2 and 5 of q: the others divide no
power of ten. So a divisor is Q * 10**w, with Q not a multiple of ten. For w < 0, the state of a whole part is its remainder by Q, without
the factors that later digits supply anyway. For w >= 0 it is the number of zeros at the end, up to w, and the remainder by Q of the
digits before them.

In scientific notation, D * 10**(E - n + 1) with n digits D, the last of them not 0, is a multiple exactly if E is large enough, or never.

States are ints, DEAD if no continuation is a multiple. At most Q * (|w| + 1) states.
"""

from fractions import Fraction
from math import gcd

from guided.arrays import DEAD

__all__ = ["Divisor"]


class Divisor:
    """The states of one divisor.

    Parameters
    ----------
    divisor : Fraction
        Positive.
    is_tight : bool
        Whether a multiple is written without more digits behind the point than ``places``.

    Attributes
    ----------
    base : int
        Q.
    places : int
        Most digits after the point of a multiple: ``max(-w, 0)``.
    zeros : int
        Zeros at the end of every multiple: ``max(w, 0)``.
    """

    __slots__ = ("_factor", "_fractions", "_least", "_moduli", "_wholes", "base", "is_tight", "places", "zeros")

    def __init__(self, divisor: Fraction, *, is_tight: bool = False) -> None:
        self.is_tight = is_tight
        rest, twos, fives = divisor.denominator, 0, 0
        while not rest & 1:
            rest, twos = rest >> 1, twos + 1
        while not rest % 5:
            rest, fives = rest // 5, fives + 1
        places = max(twos, fives)
        base: int = divisor.numerator * 2 ** (places - twos) * 5 ** (places - fives)
        while not base % 10:
            base, places = base // 10, places - 1
        self.base: int = base
        self.places, self.zeros = max(places, 0), max(-places, 0)
        # By digits read after the point: the base without the factors that later digits supply.
        self._factor = 5 if base & 1 else 2
        self._moduli: list[int] = [base]
        for _ in range(self.places):
            supplied = not self._moduli[-1] % self._factor
            self._moduli.append(self._moduli[-1] // self._factor if supplied else self._moduli[-1])
        self._moduli.reverse()
        self._least: dict[int, int | None] = {}
        self._wholes: dict[int, tuple[int, ...]] = {}
        self._fractions: dict[int, tuple[int, ...]] = {}

    def first(self, digit: int) -> int:
        """Return the state after the first digit of the whole part."""
        if not self.zeros:
            return digit % self._moduli[0]
        return digit % self.base if digit else self.zeros * self.base

    def whole(self, state: int, digit: int) -> int:
        """Return the state after a further digit of the whole part."""
        if not self.zeros:
            return (10 * state + digit) % self._moduli[0]
        seen, rest = divmod(state, self.base)
        if digit:
            scale: int = 10 ** (seen + 1)
            return (rest * scale + digit) % self.base
        return (seen + 1) * self.base + rest if seen < self.zeros else seen * self.base + 10 * rest % self.base

    def wholes(self, state: int) -> tuple[int, ...]:
        """Return `whole` for every digit."""
        # PERF: joint states of several divisors far outnumber the states of each (`python -m benchmarks.first_mask`).
        found = self._wholes.get(state)
        if found is None:
            found = self._wholes[state] = tuple([self.whole(state, digit) for digit in range(10)])
        return found

    def fraction_digits(self, state: int) -> tuple[int, ...]:
        """Return `fraction_digit` for every digit."""
        found = self._fractions.get(state)
        if found is None:
            found = self._fractions[state] = tuple([self.fraction_digit(state, digit) for digit in range(10)])
        return found

    def fraction(self, state: int) -> int:
        """Return the state before the first digit of the fraction, given that of the whole part."""
        if self.places:
            return state
        return 0 if state == self.zeros * self.base else DEAD

    def fraction_digit(self, state: int, digit: int) -> int:
        """Return the state after a digit of the fraction."""
        if state < 0:
            return DEAD
        read, rest = divmod(state, self.base)
        if read == self.places:
            return state if not digit and not self.is_tight else DEAD
        rest = (10 * rest + digit) % self._moduli[read + 1]
        if rest and read + 1 == self.places:
            return DEAD
        return (read + 1) * self.base + rest

    def holds(self, state: int) -> bool:
        """Return whether a number that ends in this state of the fraction is a multiple."""
        return state >= 0 and not state % self.base

    def least_exponent(self, rest: int, count: int) -> int | None:
        """Return the least E for which D * 10**(E - count + 1) is a multiple, or None.

        Parameters
        ----------
        rest : int
            D modulo ``base``; D is not 0 and not a multiple of ten.
        count : int
            Digits of D.
        """
        if rest not in self._least:
            missing, power = self.base // gcd(self.base, rest), 0
            while not missing % self._factor:
                missing, power = missing // self._factor, power + 1
            self._least[rest] = power if missing == 1 else None
        least = self._least[rest]
        return None if least is None else least + count - 1 + self.zeros - self.places
