"""Exact numbers: fractions with hashes that nobody can choose, and their JSON spellings.

JSON has one kind of number: 1, 1.0 and 1e0 are equal, and none of them equals true. A float denotes the decimal number of its shortest
spelling, so 0.1 is one tenth.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, gcd, isfinite, lcm

from guided.errors import LimitError
from guided.limits import Limits

__all__ = ["Number", "common_multiple", "enclosing", "fraction", "is_number", "number_bodies"]

# Why a limit: 1e1000000000 takes 12 bytes in a schema and 400 MB as a fraction.
_DIGITS = Limits().digits
_SMALLER = "write smaller numbers"


class Number(Fraction):
    """An exact number as a key: equal numbers have equal hashes, and nobody can choose numbers with equal hashes.

    Python's hash of a number is its value modulo 2**61 - 1, so a dict of multiples of that compares each with all others. This is a hash
    of a text, which Python keys with a secret.

    Invariant: keys of one dict or set are all of this class, because an equal int or Fraction has another hash. Results of arithmetic are
    Fractions.
    """

    __slots__ = ()

    # PERF: to keep it took three times as long for a number that is hashed once.
    def __hash__(self) -> int:  # type: ignore[override]  # typeshed: Complex has no hash
        return hash(f"{self.numerator:x}/{self.denominator:x}")


def is_number(value: object) -> bool:
    """Return whether the value is a JSON number: finite, and not a bool."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return value.is_finite() if isinstance(value, Decimal) else isfinite(value) if isinstance(value, float) else True


def fraction(value: int | float | Decimal, digits: int = _DIGITS) -> Number:
    """Convert a number to an exact fraction.

    Raises
    ------
    LimitError
        The number has more than ``digits`` digits.
    """
    if isinstance(value, int):
        # A lower bound, too small by at most one; str() would take quadratic time.
        needed = (value.bit_length() - 1) * 30103 // 100_000 + 1
        if needed > digits:
            raise LimitError("digits", needed, digits, _SMALLER)
        return Number(value)
    decimal = _decimal(value)
    exponent = decimal.as_tuple().exponent
    needed = max(abs(decimal.adjusted()), abs(int(exponent))) if decimal else 0
    if needed > digits:
        raise LimitError("digits", needed, digits, _SMALLER)
    return Number(decimal) if decimal else Number(0)


def enclosing(value: int | float | Decimal, places: int) -> tuple[Number | None, Number | None]:
    """Return the multiples of ``10 ** -places`` on both sides of a number: twice the number, if it is one; None beyond ``10 ** places``."""
    decimal, unit = _decimal(value), 10**places
    if decimal and decimal.adjusted() >= places:
        least, most = Number(unit), None
    else:
        # Why not always: the fraction of 1e-1000000000 takes 400 MB.
        size = abs(Fraction(decimal)) * unit if not decimal or decimal.adjusted() >= -places else Fraction(1, 2)
        least, most = Number(floor(size), unit), Number(ceil(size), unit)
    return (least, most) if decimal >= 0 else (most and Number(-most), Number(-least))


def _decimal(value: int | float | Decimal) -> Decimal:
    return Decimal(float.__repr__(value) if isinstance(value, float) else value)


def common_multiple(numbers: Sequence[Fraction]) -> Fraction:
    """Return the least positive number that is a multiple of all of these."""
    return Fraction(lcm(*(one.numerator for one in numbers)), gcd(*(one.denominator for one in numbers)))


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
