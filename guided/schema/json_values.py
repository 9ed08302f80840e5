"""JSON texts as plain Python values, of any size that the text has."""

import json
from decimal import Decimal
from typing import Any, NoReturn

__all__ = ["parse_json"]

# Python refuses to read integers of more than 4,300 digits at once, which here come from texts whose length is bounded already.
_MOST_DIGITS = 4000


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text (RFC 8259): numbers as int or float, equal keys as the last of them.

    Raises
    ------
    ValueError
        It is no JSON; ``NaN`` and ``Infinity`` are none.
    RecursionError
        It nests deeper than Python's parser goes.
    """
    return json.loads(text, parse_int=_integer, parse_constant=_no_number)


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else int(Decimal(digits))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
