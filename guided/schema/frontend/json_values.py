"""The one reader of JSON texts that strangers and models write; nesting checks of schemas, and schemas as text with exact decimals.

`parse_json` asks sizes before it does the work that they lead to: the text's length and values before it reads, the digits of a number
before it converts them, which takes quadratic time. Python's own reader recurses, so its depth depends on the caller's stack. If it runs
out, the text is read with an explicit stack (`_flat`), and Python's reader reads only its strings, numbers and literals.

Files that an operator names, and texts that this package wrote, are read by `json.loads`: it is linear too, and refuses more levels than
Python's stack has and integers of more than 4,300 digits.

Complexity: O(text). No regular expression here can try a character twice.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cache
from math import log10
from typing import Any, NoReturn

from guided.errors import LimitError, SchemaError, brief
from guided.limits import Limits

__all__ = ["check_levels", "exact_decimal", "members_of", "parse_json", "text_of", "token_value", "value_of"]

# Python refuses to convert integers of more than 4,300 digits. Here the length of the text is bounded already.
_INT_DIGITS = 4000
# Fewer bits than 4,300 digits have.
_INTEGER_BITS = 13_000
# An exponent that a Decimal can hold, and that is beyond every limit.
_HUGE_EXPONENT = 10**17
# Key of an encoded Decimal, which JSON lacks; no schema has this key.
_DECIMAL = "\0decimal"
_DEEP = "nested arrays and objects in a schema"
_CONTAINERS = (dict, list, tuple)
_VALUES = (str, int, float, Decimal, type(None))
_PLAIN = frozenset((str, bool, float, type(None)))
_STRING = frozenset((str,))
_LIMITS = Limits()
_FEW = min(_LIMITS.digits, _INT_DIGITS)
_SPACES = re.compile(r"[ \t\n\r]*")
# The text before the value of a member.
_NAME = re.compile(r'[ \t\n\r]*[{,][ \t\n\r]*("(?:[^"\\]|\\.)*+")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)


def _decoder(parse_float: Callable[[str], Any], limits: Limits, size: int) -> json.JSONDecoder:
    """Return a decoder of texts of some characters."""
    few = min(limits.digits, _INT_DIGITS)

    def integer(digits: str) -> int:
        if len(digits) <= few:
            return int(digits)
        _check_digits(len(digits), limits)
        return int(Decimal(digits))

    # PERF: a call for each integer takes as long as the rest of a small schema (`python -m benchmarks.serving_masks`).
    parse_int = int if size <= few else integer
    return json.JSONDecoder(parse_int=parse_int, parse_float=parse_float, parse_constant=_no_number)


@cache
def _usual(parse_float: Callable[[str], Any], is_short: bool) -> json.JSONDecoder:
    return _decoder(parse_float, _LIMITS, 0 if is_short else _LIMITS.file_bytes)


def parse_json(
    text: str | bytes, parse_float: Callable[[str], Any] = float, levels: int | None = None, limits: Limits = _LIMITS
) -> Any:
    """Return the value of a JSON text (RFC 8259): numbers as int or ``parse_float``, the last of equal keys.

    Parameters
    ----------
    text : str or bytes
    parse_float : callable
        Converts numbers with a fraction or an exponent.
    levels : int, optional
        Maximum nesting of arrays and objects. Of a text within Python's recursion limit, `check_levels` has to check the value.
    limits : Limits
        ``file_bytes`` bounds characters, and a sixteenth of it values; ``digits`` bounds integers.

    Raises
    ------
    ValueError
        The text is not JSON; ``NaN`` and ``Infinity`` are not.
    LimitError
        ``file_bytes``, ``digits`` or ``levels`` is exceeded.
    """
    _check_size(text, limits)
    # PERF: to make a decoder takes longer than to read a short text.
    size = len(text)
    decoder = _usual(parse_float, size <= _FEW) if limits is _LIMITS else _decoder(parse_float, limits, size)
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    value, end = _value_at(text, _after_spaces(text, 0), decoder, levels)
    end = _after_spaces(text, end)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def members_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each member of a JSON object, and the span of its value in characters. The text is valid."""
    decoder, end = _usual(float, len(text) <= _FEW), 0
    while found := _NAME.match(text, end):
        end = _value_at(text, found.end(), decoder)[1]
        yield decoder.decode(found[1]), found.end(), end


def token_value(text: str) -> Any:
    """Return the value of a JSON string, number or literal, as `parse_json` does; PERF: in half the time.

    Raises
    ------
    ValueError
        It is none, or more than one.
    LimitError
        ``file_bytes`` or ``digits`` is exceeded.
    """
    if len(text) > _LIMITS.file_bytes:
        _check_size(text, _LIMITS)
    value, end = _usual(float, len(text) <= _FEW).raw_decode(text)
    if end < len(text):
        raise ValueError(f"more than one value: character {end}")
    return value


def _check_size(text: str | bytes, limits: Limits) -> None:
    # Why count values: each takes at least 50 bytes of memory, however short its text.
    signs: Any = ",[{" if isinstance(text, str) else (b",", b"[", b"{")
    size = max(len(text), 16 * sum(map(text.count, signs)))
    if size > limits.file_bytes:
        raise LimitError("file_bytes", size, limits.file_bytes, "a JSON text is too long or has too many values")


def _check_digits(count: int, limits: Limits) -> None:
    if count > limits.digits:
        raise LimitError("digits", count, limits.digits, "write smaller numbers; for a model, bound them with maximum")


def exact_decimal(text: str) -> Decimal:
    """Return the exact value of a JSON number with a fraction or exponent; for `parse_json`. A larger exponent than 1e17 counts as that.

    Raises
    ------
    LimitError
        The number has too many digits.
    """
    _check_digits(len(text.lower().partition("e")[0].lstrip("-").replace(".", "")), _LIMITS)
    try:
        return Decimal(text)
    except InvalidOperation:
        mantissa, _, exponent = text.lower().partition("e")
        return Decimal(f"{mantissa}e{'-' * exponent.startswith('-')}{_HUGE_EXPONENT}")


def _value_at(text: str, at: int, decoder: json.JSONDecoder, levels: int | None = None) -> tuple[Any, int]:
    """Return the value that begins at a place of a text, and its end."""
    try:
        return decoder.raw_decode(text, at)
    except RecursionError:
        return _flat(text, at, decoder, levels)


def _flat(text: str, at: int, decoder: json.JSONDecoder, levels: int | None) -> tuple[Any, int]:
    """Like `_value_at`, with open arrays and objects on an explicit stack."""
    stack: list[list[Any] | dict[str, Any]] = []
    names: list[str] = []
    may_close = False
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
                if levels is not None and len(stack) > levels:
                    raise LimitError("schema_depth", len(stack), levels, _DEEP)
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
            return value, at
        at, may_close = _after_spaces(text, at), False


def _after_spaces(text: str, at: int) -> int:
    match = _SPACES.match(text, at)
    assert match is not None
    return match.end()


def check_levels(schema: Any, limits: Limits = _LIMITS) -> None:
    """Check the nesting depth of a value's arrays and objects, their number, and that all parts are JSON values or Decimals.

    Raises
    ------
    SchemaError
        A part has another type.
    LimitError
        ``schema_depth``, ``schema_parts`` or ``digits`` is exceeded.
    """
    if isinstance(schema, _CONTAINERS):
        _measured(schema, 1, {}, limits)
    else:
        _check_value(schema)


def _measured(part: Any, level: int, known: dict[int, tuple[Any, int, int]], limits: Limits) -> tuple[Any, int, int]:
    """Check a container at a level; return it, its levels, and its parts, each as often as it occurs. Each container is read once."""
    if level > limits.schema_depth:
        raise LimitError("schema_depth", level, limits.schema_depth, _DEEP)
    values, levels, parts = part, 0, len(part)
    if isinstance(part, dict):
        values = part.values()
        if not _STRING.issuperset(map(type, part)):
            for name in part:
                _check_value(name)
    for value in [value for value in values if type(value) not in _PLAIN]:
        if not isinstance(value, _CONTAINERS):
            _check_value(value)
            continue
        _, below, within = known.get(id(value)) or _measured(value, level + 1, known, limits)
        if level + below > limits.schema_depth:
            raise LimitError("schema_depth", level + below, limits.schema_depth, _DEEP)
        parts += within
        levels = below if below > levels else levels
    if parts > limits.schema_parts:
        raise LimitError("schema_parts", parts, limits.schema_parts, "the same part occurs in too many places")
    # Why with the container: while it lives, no other has its id.
    found = known[id(part)] = part, levels + 1, parts
    return found


def _check_value(given: Any) -> None:
    """Check that a part without parts is a JSON value or Decimal."""
    if not isinstance(given, _VALUES):
        raise SchemaError(f"a schema must consist of JSON values, not {brief(given)}", "", "schema")
    if isinstance(given, int) and given.bit_length() > _INTEGER_BITS:
        _check_digits(int(given.bit_length() * log10(2)), _LIMITS)


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
            _check_digits(int(value.bit_length() * log10(2)), _LIMITS)
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
    try:
        return json.loads(data, object_hook=_read_back)
    except RecursionError:
        raise ValueError("the spec is nested too deeply") from None


def _read_back(content: dict[str, Any]) -> Any:
    return Decimal(content[_DECIMAL]) if content.keys() == {_DECIMAL} else content


def _written(value: object) -> object:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    raise TypeError(f"{type(value).__name__} is not a JSON type")


# PERF: json.dumps makes an encoder for each call.
_ENCODER = json.JSONEncoder(default=_written)
