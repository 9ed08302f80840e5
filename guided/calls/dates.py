"""Dates, times and UUIDs: the spellings of RFC 3339 and RFC 4122, with valid dates only.

Days fit their month, and 29 February requires a leap year: its last two digits are a positive multiple of 4, or are ``00`` after a multiple
of 4. All of this is regular. Years range from 0001 to 9999, as in Python. Second 60 is excluded: no Python type represents it.

`date`, `time`, `date_time` and `uuid` are the *values* of JSON strings, without quotes. There are two profiles: the formats of JSON Schema
follow RFC 3339 (offset and seconds required); Python types also accept the output of ``isoformat``, in which both may be missing.
"""

from functools import cache

from guided.calls.numbers import DIGIT, digit_range
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, Repeat, alternate, concat, optional

__all__ = ["date", "date_time", "time", "uuid"]


@cache
def date() -> Node:
    """``YYYY-MM-DD``, exactly the days from 0001-01-01 to 9999-12-31."""
    zero = Literal("00")
    nonzero = _two(1, 99)
    year = alternate([concat([nonzero, _two(0, 99)]), concat([zero, nonzero])])
    fours = alternate(Literal(f"{n:02}") for n in range(4, 100, 4))
    leap_year = alternate([concat([_two(0, 99), fours]), concat([fours, zero])])
    days = alternate(
        [
            concat([_months(1, 3, 5, 7, 8, 10, 12), _two(1, 31)]),
            concat([_months(4, 6, 9, 11), _two(1, 30)]),
            concat([_months(2), _two(1, 28)]),
        ]
    )
    return alternate([concat([year, Literal("-"), days]), concat([leap_year, Literal("-02-29")])])


@cache
def time(strict: bool) -> Node:
    """``HH:MM:SS``, optionally a fraction, and an offset.

    Parameters
    ----------
    strict : bool
        RFC 3339: seconds and offset are required. Otherwise both are optional, and a fraction has at most six digits.
    """
    fraction = optional(concat([Literal("."), Repeat(DIGIT, 1, None if strict else 6)]))
    seconds = concat([Literal(":"), _two(0, 59), fraction])
    clock = concat([_two(0, 23), Literal(":"), _two(0, 59)])
    offset = alternate([_letter("Z", strict), concat([_letter("+-", False), _two(0, 23), Literal(":"), _two(0, 59)])])
    return concat([clock, seconds, offset]) if strict else concat([clock, optional(seconds), optional(offset)])


@cache
def date_time(strict: bool) -> Node:
    """A `date`, ``T``, a `time`; ``strict`` as in `time`."""
    return concat([date(), _letter("T", strict), time(strict)])


@cache
def uuid() -> Node:
    """Hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12."""
    digit = Chars(Charset.of([(48, 57), (65, 70), (97, 102)]))
    return concat(
        [
            Repeat(digit, 8, 8),
            Repeat(concat([Literal("-"), Repeat(digit, 4, 4)]), 3, 3),
            Literal("-"),
            Repeat(digit, 12, 12),
        ]
    )


def _letter(letters: str, either_case: bool) -> Node:
    found = letters + letters.lower() if either_case else letters
    return Chars(Charset.of([(ord(letter), ord(letter)) for letter in found]))


def _months(*months: int) -> Node:
    return concat([alternate(Literal(f"{month:02}") for month in months), Literal("-")])


def _two(low: int, high: int) -> Node:
    """The numbers from ``low`` to ``high`` < 100 in two digits."""
    (first, start), (last, end) = divmod(low, 10), divmod(high, 10)
    if first == last:
        return concat([digit_range(first, first), digit_range(start, end)])
    return alternate(
        [
            concat([digit_range(first, first), digit_range(start, 9)]),
            concat([digit_range(first + 1, last - 1), DIGIT]),
            concat([digit_range(last, last), digit_range(0, end)]),
        ]
    )
