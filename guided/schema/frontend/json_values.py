"""JSON texts as Python values of any size and depth, nesting checks of schemas, and schemas as text with exact decimals.

Python's own reader recurses, so its depth depends on the caller's stack. If it runs out, the text is read with an explicit stack
(`_flat`), and Python's reader reads only its strings, numbers and literals.

Complexity: O(text). No regular expression here can try a character twice.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from math import log10
from typing import Any, NoReturn

from guided.errors import LimitError, SchemaError
from guided.limits import Limits

__all__ = ["check_levels", "check_levels_of_text", "exact_decimal", "parse_json", "text_of", "value_of"]

# Python refuses to convert integers of more than 4,300 digits. Here the length of the text is bounded already.
_INT_DIGITS = 4000
# Fewer bits than 4,300 digits have.
_INTEGER_BITS = 13_000
# Exponents from here on may be more than a Decimal can hold.
_HUGE_EXPONENT = 10**18
# Key of an encoded Decimal, which JSON lacks; no schema has this key.
_DECIMAL = "\0decimal"
_CONTAINERS = (dict, list, tuple)
_LIMITS = Limits()
_SPACES = re.compile(r"[ \t\n\r]*")
# Why the closing quote is optional: otherwise each unmatched quote would scan the rest of a malformed text.
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def parse_json(text: str | bytes, parse_float: Callable[[str], Any] = float) -> Any:
    """Return the value of a JSON text (RFC 8259): numbers as int or ``parse_float``, the last of equal keys.

    Raises
    ------
    ValueError
        The text is not JSON; ``NaN`` and ``Infinity`` are not.
    """
    decoder = json.JSONDecoder(parse_int=_integer, parse_float=parse_float, parse_constant=_no_number)
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return decoder.decode(text)
    except RecursionError:
        return _flat(text, decoder)


def exact_decimal(text: str) -> Decimal:
    """Return the exact value of a JSON number with a fraction or exponent; for `parse_json`.

    Raises
    ------
    LimitError
        The exponent has 19 digits or more.
    """
    try:
        return Decimal(text)
    except InvalidOperation:
        mantissa = text.lower().partition("e")[0]
        if not mantissa.strip("-0."):
            return Decimal(0)
        raise LimitError("digits", _HUGE_EXPONENT, _LIMITS.digits, "use a smaller exponent") from None


def _flat(text: str, decoder: json.JSONDecoder) -> Any:
    """Return the value of a text, with open arrays and objects on an explicit stack."""
    stack: list[list[Any] | dict[str, Any]] = []
    names: list[str] = []
    at, may_close = _after_spaces(text, 0), False
    while True:
        is_named = bool(stack) and isinstance(stack[-1], dict)
        value: Any
        if may_close and text[at : at + 1] == ("}" if is_named else "]"):
            value, at = stack.pop(), at + 1
        else:
            if is_named:
                if text[at : at + 1] != '"':
                    raise ValueError(f"a name is expected at character {at}")
                name, at = decoder.raw_decode(text, at)
                names.append(name)
                at = _after_spaces(text, at)
                if text[at : at + 1] != ":":
                    raise ValueError(f"':' is expected at character {at}")
                at = _after_spaces(text, at + 1)
            if text[at : at + 1] in ("[", "{"):
                stack.append([] if text[at] == "[" else {})
                at, may_close = _after_spaces(text, at + 1), True
                continue
            value, at = decoder.raw_decode(text, at)
        # The value is complete; close the containers that end with it.
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
        at, may_close = _after_spaces(text, at), False


def _after_spaces(text: str, at: int) -> int:
    match = _SPACES.match(text, at)
    assert match is not None
    return match.end()


def check_levels(schema: Any, limits: Limits = _LIMITS) -> None:
    """Check the nesting depth of a value's arrays and objects, and their number.

    Raises
    ------
    LimitError
        ``schema_depth`` or ``schema_parts`` is exceeded.
    """
    # Why count every occurrence: one list may occur in many places, even within itself.
    levels = parts = 0
    here = [schema] if isinstance(schema, _CONTAINERS) else []
    while here:
        levels += 1
        parts += sum(map(len, here))
        _check(levels, limits)
        if parts > limits.schema_parts:
            raise LimitError("schema_parts", parts, limits.schema_parts, "the same part occurs in too many places")
        here = [
            part
            for value in here
            for part in (value.values() if isinstance(value, dict) else value)
            if isinstance(part, _CONTAINERS)
        ]


def check_levels_of_text(text: str) -> None:
    """Check the nesting of a JSON text, possibly malformed, before it is parsed.

    Raises
    ------
    LimitError
        ``schema_depth`` is exceeded.
    """
    level = 0
    for match in _BRACKET.finditer(text):
        if match.group() in ("[", "{"):
            level += 1
            _check(level, _LIMITS)
        elif match.group() in ("]", "}"):
            level -= 1


def _check(levels: int, limits: Limits) -> None:
    if levels > limits.schema_depth:
        raise LimitError("schema_depth", levels, limits.schema_depth, "nested arrays and objects in a schema")


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _INT_DIGITS else int(Decimal(digits))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def text_of(value: Any) -> str:
    """Return JSON values, including Decimals, as text. `check_levels` has bounded their nesting.

    Raises
    ------
    SchemaError
        A value is not of a JSON type.
    LimitError
        An integer has more than ``digits`` digits.
    """
    try:
        try:
            return _ENCODER.encode(value)
        except ValueError:  # Python refuses to write integers of more than 4,300 digits
            return _ENCODER.encode(_with_decimals(value))
    except (TypeError, RecursionError) as error:
        raise SchemaError(f"a schema must consist of JSON values: {error}", "", "schema") from error


def _with_decimals(value: Any) -> Any:
    """Return a JSON value with Decimals for long integers."""
    match value:
        case dict():
            return {key: _with_decimals(item) for key, item in value.items()}
        case list() | tuple():
            return [_with_decimals(item) for item in value]
        case int() if value.bit_length() > _INTEGER_BITS:
            n_digits = int(value.bit_length() * log10(2))
            if n_digits > _LIMITS.digits:
                raise LimitError("digits", n_digits, _LIMITS.digits, "write smaller numbers in the schema")
            return Decimal(value)
        case _:
            return value


def value_of(data: str, limits: Limits | None = None) -> Any:
    """Return the value that `text_of` wrote.

    Raises
    ------
    ValueError, InvalidOperation
        The text is malformed, or has more than `Limits.file_bytes` characters or a sixteenth as many values.
    """
    # Why limit values: each takes at least 50 bytes of memory, however short its text.
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
    raise TypeError(f"{type(value).__name__} is not a JSON type")


# PERF: json.dumps makes an encoder for each call.
_ENCODER = json.JSONEncoder(default=_written)
