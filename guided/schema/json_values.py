"""JSON texts as plain Python values, of any size and depth; how deep a schema may nest; schemas as text and back, decimals exact.

Python's own reader recurses, so its depth is whatever the caller has left. Where that is not enough, the text is read with a stack of
containers instead (`_flat`).

Complexity: O(text).
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from guided.errors import LimitError, SchemaError
from guided.limits import Limits

__all__ = ["MOST_LEVELS", "check_levels", "check_levels_of_text", "parse_json", "text_of", "value_of"]

# Arrays and objects within each other in a schema: six times what real ones have.
MOST_LEVELS = 200
# Values within a schema, each as often as it is written.
_MOST_PARTS = 10_000_000

# Python refuses to read integers of more than 4,300 digits at once, which here come from texts whose length is bounded already.
_MOST_DIGITS = 4000
# JSON has no decimals of its own; no schema has this key.
_DECIMAL = "\0decimal"
_CONTAINERS = (dict, list, tuple)
_SPACES = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r'"(?:[^"\\]+|\\.)*"|[^\[\]{},:"\s]+', re.DOTALL)
# Why a string need not end: else each quote of a text that is no JSON would be looked through to the end.
_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*"?|[\[\]{}]', re.DOTALL)


def parse_json(text: str | bytes, parse_float: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text (RFC 8259): numbers as int or ``parse_float``, equal keys as the last of them.

    Raises
    ------
    ValueError
        It is no JSON; ``NaN`` and ``Infinity`` are none.
    """

    def decoded(part: str | bytes) -> Any:
        return json.loads(part, parse_int=_integer, parse_float=parse_float, parse_constant=_no_number)

    try:
        return decoded(text)
    except RecursionError:
        return _flat(text if isinstance(text, str) else text.decode(), decoded)


def _flat(text: str, decoded: Callable[[str], Any]) -> Any:
    """The value of a text, its arrays and objects on a stack."""
    stack: list[list[Any] | dict[str, Any]] = []
    names: list[str] = []
    at, may_close = 0, False
    while True:
        at, value = _after_spaces(text, at), None
        is_named = bool(stack) and isinstance(stack[-1], dict)
        is_closed = may_close and text[at : at + 1] == ("}" if is_named else "]")
        if is_named and not is_closed:
            match = _SCALAR.match(text, at)
            if match is None or text[at] != '"':
                raise ValueError(f"a name is expected at character {at}")
            names.append(decoded(match.group()))
            at = _after_spaces(text, match.end())
            if text[at : at + 1] != ":":
                raise ValueError(f"':' is expected at character {at}")
            at = _after_spaces(text, at + 1)
        if is_closed:
            value, at = stack.pop(), at + 1
        elif text[at : at + 1] in ("[", "{"):
            stack.append([] if text[at] == "[" else {})
            at, may_close = at + 1, True
            continue
        else:
            match = _SCALAR.match(text, at)
            if match is None:
                raise ValueError(f"a value is expected at character {at}")
            value, at = decoded(match.group()), match.end()
        # The value is complete, and so may be those that it ends.
        while stack:
            outer = stack[-1]
            if isinstance(outer, dict):
                outer[names.pop()] = value
            else:
                outer.append(value)
            at = _after_spaces(text, at)
            mark = text[at : at + 1]
            at += 1
            if mark == ",":
                break
            if mark != ("}" if isinstance(outer, dict) else "]"):
                raise ValueError(f"',' or a bracket is expected at character {at - 1}")
            value = stack.pop()
        else:
            at = _after_spaces(text, at)
            if at < len(text):
                raise ValueError(f"more than one value: character {at}")
            return value
        may_close = False


def _after_spaces(text: str, at: int) -> int:
    match = _SPACES.match(text, at)
    assert match is not None
    return match.end()


def check_levels(schema: Any) -> None:
    """Refuse a value whose arrays and objects nest too deep, or would be written too often.

    Raises
    ------
    LimitError
    """
    # Why counted as often as they are written: one list may stand in many places, and within itself.
    levels = parts = 0
    here = [schema] if isinstance(schema, _CONTAINERS) else []
    while here:
        levels += 1
        parts += sum(map(len, here))
        _check(levels)
        if parts > _MOST_PARTS:
            raise LimitError("values", parts, _MOST_PARTS, "the same parts stand in too many places of the schema")
        here = [
            part
            for value in here
            for part in (value.values() if isinstance(value, dict) else value)
            if isinstance(part, _CONTAINERS)
        ]


def check_levels_of_text(text: str) -> None:
    """The same for a JSON text, which may be none, before it is read.

    Raises
    ------
    LimitError
    """
    level = 0
    for match in _BRACKET.finditer(text):
        if match.group() in ("[", "{"):
            level += 1
            _check(level)
        elif match.group() in ("]", "}"):
            level -= 1


def _check(levels: int) -> None:
    if levels > MOST_LEVELS:
        raise LimitError("depth", levels, MOST_LEVELS, "the schema nests too deep")


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else int(Decimal(digits))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def text_of(value: Any) -> str:
    """JSON values, Decimals among them, as text.

    Raises
    ------
    SchemaError
        There are others among them.
    """
    try:
        return json.dumps(value, default=_written)
    except ValueError as error:
        raise SchemaError(f"a number of the schema has too many digits: {error}", "", "schema") from error
    except (TypeError, RecursionError) as error:
        raise SchemaError(f"a schema is made of JSON values: {error}", "", "schema") from error


def value_of(data: str, limits: Limits | None = None) -> Any:
    """What `text_of` gave the text of.

    Raises
    ------
    ValueError, InvalidOperation
        It is none; or it has more than `Limits.file_bytes` characters, or more values than 1 for 16 of these.
    """
    # Why values: each takes 50 bytes and more in memory, however short it is written.
    most, n_values = (limits or Limits()).file_bytes, sum(map(data.count, ",[{"))
    if len(data) > most or n_values > most // 16:
        raise ValueError(
            f"the spec has {len(data):,} characters and {n_values:,} values, more than Limits.file_bytes allows"
        )
    return json.loads(data, object_hook=_read_back)


def _read_back(content: dict[str, Any]) -> Any:
    return Decimal(content[_DECIMAL]) if content.keys() == {_DECIMAL} else content


def _written(value: object) -> object:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    raise TypeError(f"{type(value).__name__} is no type of JSON")
