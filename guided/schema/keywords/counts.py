"""Counts: the values of ``minLength``, ``maxItems`` and their like."""

from typing import Any

from guided.schema.exact import fraction, is_number
from guided.schema.formula import FALSE
from guided.schema.site import Site

__all__ = ["at_least", "at_most", "count", "count_or"]


def count(site: Site, keyword: str, value: Any) -> int:
    """The value as a natural number; 2.0 is one."""
    if is_number(value):
        number = fraction(value)
        if number.denominator == 1 and number >= 0:
            return number.numerator
    raise site.wrong(keyword, f"{keyword} is a whole number, not negative")


def count_or(site: Site, keyword: str, default: int) -> int:
    """The count that the schema has under this keyword, or the default."""
    return count(site, keyword, site.schema[keyword]) if keyword in site.schema else default


def at_least(site: Site, formulas: list[int], keyword: str, value: Any, most: str) -> None:
    """Append the atom of a least count; nothing meets one that is above the count under ``most``."""
    least = count(site, keyword, value)
    if least > count_or(site, most, least):
        formulas.append(FALSE)
    elif least:
        formulas.append(site.noted(keyword, least))


def at_most(site: Site, formulas: list[int], keyword: str, value: Any) -> None:
    """Append the atom of a greatest count."""
    formulas.append(site.atom(keyword, count(site, keyword, value)))
