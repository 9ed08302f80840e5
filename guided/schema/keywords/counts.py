"""Counts: the values of ``minLength``, ``maxItems`` and their like."""

from typing import Any

from guided.schema.exact import fraction, is_number
from guided.schema.site import Site

__all__ = ["count", "count_or"]


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
