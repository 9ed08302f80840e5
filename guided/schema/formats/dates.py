"""Dates, times and durations of RFC 3339, exact to the day and to the leap second.

Days fit their month, and 29 February its year. A second 60 is one that UTC inserts at the end of a day: ``23:59:60`` in UTC, and the same
moment at any offset that is a multiple of a quarter of an hour, like all offsets in use since leap seconds exist. Days with and without a
leap second are not distinguished, since future ones are unknown.
"""

from functools import cache

from guided.patterns.parse import parse
from guided.patterns.tree import Literal, Node, alternate, concat

__all__ = ["CLOCK", "DATE", "date", "date_time", "duration", "time"]

# Regular expressions of a date, and of hours and minutes.
DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]+)?"
_LAST_MINUTE, _MINUTES_OF_DAY, _QUARTER = 23 * 60 + 59, 24 * 60, 15


@cache
def date() -> Node:
    """``full-date`` of RFC 3339; only days that exist."""
    return parse(DATE)


@cache
def time() -> Node:
    """``full-time`` of RFC 3339, with an offset; second 60 only where UTC inserts it."""
    usual = parse(f"{CLOCK}:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-]{CLOCK})")
    fraction = parse(_FRACTION)
    leap: list[Node] = []
    for offset in range(0, _MINUTES_OF_DAY, _QUARTER):
        ends = [f"+{_clock(offset)}", f"-{_clock(-offset)}", *(() if offset else "Zz")]
        local = Literal(f"{_clock(_LAST_MINUTE + offset)}:60")
        leap.append(concat([local, fraction, alternate(map(Literal, ends))]))
    return alternate([usual, *leap])


@cache
def date_time() -> Node:
    """``date-time`` of RFC 3339: a date, ``T`` in either case, and a time."""
    return concat([date(), parse("[Tt]"), time()])


@cache
def duration() -> Node:
    """``duration`` of RFC 3339, appendix A: no fractions, no gaps between units, weeks only by themselves."""
    second = "[0-9]+S"
    minute = f"[0-9]+M(?:{second})?"
    hour = f"[0-9]+H(?:{minute})?"
    clock = f"T(?:{hour}|{minute}|{second})"
    day = "[0-9]+D"
    month = f"[0-9]+M(?:{day})?"
    year = f"[0-9]+Y(?:{month})?"
    return parse(f"P(?:(?:{day}|{month}|{year})(?:{clock})?|{clock}|[0-9]+W)")


def _clock(minutes: int) -> str:
    hours, rest = divmod(minutes % _MINUTES_OF_DAY, 60)
    return f"{hours:02}:{rest:02}"
