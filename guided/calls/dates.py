"""Dates and times as Python reads them, beside those of RFC 3339 (`guided.schema.formats.dates`).

Years range from 0001 to 9999. Seconds and the offset may be missing, as in the output of ``isoformat``; a fraction has at most six digits,
and second 60 is excluded, because no Python type represents more.
"""

from functools import cache

from guided.patterns.tree import Node
from guided.schema.formats.dates import CLOCK, DATE
from guided.schema.formats.syntax import pattern

__all__ = ["date", "date_time", "time"]

_DATE = f"(?!0000){DATE}"
_TIME = rf"{CLOCK}(?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?(?:Z|[+-]{CLOCK})?"


@cache
def date() -> Node:
    """``YYYY-MM-DD``, exactly the days from 0001-01-01 to 9999-12-31."""
    return pattern(_DATE)


@cache
def time() -> Node:
    """``HH:MM``, optionally ``:SS``, a fraction of it, and an offset or ``Z``."""
    return pattern(_TIME)


@cache
def date_time() -> Node:
    """A `date`, ``T``, a `time`."""
    return pattern(f"{_DATE}T{_TIME}")
