"""JSON spellings of single numbers."""

from decimal import Decimal
from fractions import Fraction

__all__ = ["number_bodies"]


def number_bodies(value: Fraction) -> list[bytes]:
    """Return the shortest spellings of a number without exponent: one, for zero two; none if its decimals are infinite."""
    if value == 0:
        return [b"0", b"-0"]
    denominator, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator //= prime
            count += 1
        places = max(places, count)
    if denominator != 1:
        return []
    # Why a Decimal: Python refuses to convert an int of more than 4,300 digits.
    digits = str(Decimal(abs(value.numerator) * 10**places // value.denominator)).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    return [("-" * (value < 0) + whole + ("." + fraction if fraction else "")).encode()]
