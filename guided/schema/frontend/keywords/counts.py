"""Counts: the values of ``minLength``, ``maxItems`` and similar keywords."""

from typing import Any

from guided.schema.formula.exact import fraction, is_number
from guided.schema.formula.formulas import FALSE
from guided.schema.frontend.site import Site

__all__ = ["at_least", "at_most", "count", "count_or"]

# Larger counts mean this one, which no text reaches. Ints have hashes of their own up to here.
_LARGEST = 2**60


def count(site: Site, keyword: str, value: Any) -> int:
    """Return the value as a natural number, at most `_LARGEST`; 2.0 is one."""
    if type(value) is int and 0 <= value <= _LARGEST:
        return value
    if is_number(value):
        number = fraction(value, site.lowering.limits.digits)
        if number.denominator == 1 and number >= 0:
            return min(number.numerator, _LARGEST)
    raise site.wrong(keyword, f"{keyword} must be a non-negative integer")


def count_or(site: Site, keyword: str, default: int) -> int:
    """Return the schema's count under this keyword, or the default."""
    return count(site, keyword, site.schema[keyword]) if keyword in site.schema else default


def at_least(site: Site, formulas: list[int], keyword: str, value: Any, most: str) -> None:
    """Append the atom of a minimum count; FALSE if it exceeds the count under ``most``."""
    least = count(site, keyword, value)
    if least > count_or(site, most, least):
        formulas.append(FALSE)
    elif least:
        formulas.append(site.noted(keyword, least))


def at_most(site: Site, formulas: list[int], keyword: str, value: Any) -> None:
    """Append the atom of a maximum count."""
    formulas.append(site.formulas.atom((keyword, count(site, keyword, value))))
