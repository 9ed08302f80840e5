"""Numbers of a schema as exact fractions, and JSON values as hashable data that is equal exactly when the values are.

JSON has one kind of number: 1, 1.0 and 1e0 are equal, and none of them is true. A float stands for the decimal that its shortest
spelling writes, so 0.1 is one tenth.
"""

from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from guided.errors import LimitError

__all__ = ["canonical", "fraction", "is_number"]

# Why: 1e1000000000 is eleven bytes of schema and 400 MB as a fraction.
DIGITS = 10_000


def is_number(value: object) -> bool:
    """Is the value what JSON calls a number?"""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return value.is_finite() if isinstance(value, Decimal) else isfinite(value) if isinstance(value, float) else True


def fraction(value: int | float | Decimal) -> Fraction:
    """The number itself.

    Raises
    ------
    LimitError
        It has more than 10,000 digits.
    """
    if isinstance(value, int):
        if value.bit_length() > 4 * DIGITS:
            raise LimitError("digits", value.bit_length() // 4, DIGITS, "write smaller numbers in the schema")
        return Fraction(value)
    decimal = value if isinstance(value, Decimal) else Decimal(repr(value))
    exponent = decimal.as_tuple().exponent
    needed = max(abs(decimal.adjusted()), abs(int(exponent))) if decimal else 0
    if needed > DIGITS:
        raise LimitError("digits", needed, DIGITS, "write smaller numbers in the schema")
    return Fraction(decimal) if decimal else Fraction(0)


def canonical(value: Any) -> Any:
    """Hashable data, equal for equal JSON values only. For shallow values: it recurses."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("constant", repr(value))
    if isinstance(value, list):
        return ("array", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((name, canonical(item)) for name, item in value.items()))
    return fraction(value)
