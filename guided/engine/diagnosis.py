"""Why a schema rejects a text: another order or spelling of a valid value, or a value or name that the schema refuses, with its place.

The text may be cut anywhere. What it ends with is then a whole value (``"ab"``, ``}``), which the schema judges, or the beginning of one
(``30``, ``"a``), for which the error names the keywords of its place, or the name of a member or its beginning.

Complexity: a compile and a walk of the text for each option that is tried; the search of `guided.schema.report.contradictions`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from json import dumps
from typing import Any, NamedTuple

from guided.automata.pushdown import Pushdown
from guided.errors import GuidedError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.frontend.json_reader import JsonReader
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.report.contradictions import refusal
from guided.vocabulary.vocabulary import single_bytes

__all__ = ["diagnosis"]

# The options that allow the most texts of a value, in the order in which an error names them.
_WIDEST = {"property_order": "any", "whitespace": "flexible", "numbers": "any", "escapes": "any"}
_LITERALS = ("true", "false", "null")
_BEGINNINGS = frozenset("-+.eE")
_BLANKS = " \t\n\r"


def diagnosis(
    data: bytes,
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any],
    automaton_of: Callable[[JsonOptions], Pushdown],
) -> str:
    """Return why a schema rejects a text or the beginning of one; empty if that is not known.

    ``data``: the text up to what is rejected, included. ``automaton_of`` returns the automaton of the texts under other options.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    try:
        try:
            value, end = parse_json(text, exact_decimal, limits.schema_depth, limits), None
        except ValueError:
            end = _end_of(text, limits)
            value = end.value
        dumps(value, ensure_ascii=False, default=str).encode()
        if end is None:
            refused = refusal(value, schema, options, limits, registry)
            if refused is not None:
                return str(refused)
        changes = _changes(data, options, limits, automaton_of, may_continue=end is not None)
        if changes:
            listed = " and ".join(f"{name}={value!r}" for name, value in changes.items())
            return f"the value is valid, but in another order or spelling: {listed} allows it"
        if end is None:
            return "the value is valid, but no option allows the text"
        if end.path is None:
            return ""
        refused = refusal(value, schema, options, limits, registry, end.path, end.is_whole, end.name)
        return "" if refused is None else str(refused)
    except UnicodeEncodeError as error:
        return f"{error.object[error.start]!a} is half of a surrogate pair, not a character"
    except (GuidedError, ValueError, RecursionError):
        return ""


def _changes(
    data: bytes,
    options: JsonOptions,
    limits: Limits,
    automaton_of: Callable[[JsonOptions], Pushdown],
    *,
    may_continue: bool,
) -> dict[str, str]:
    """Return the fewest options, with their values, under which the text is accepted or can be continued; empty if there are none."""

    def reads(changes: dict[str, str]) -> bool:
        index = PushdownIndex(automaton_of(replace(options, **changes)), single_bytes(), limits)  # type: ignore[arg-type]
        state, count = index.trace(0, data)
        return count == len(data) and (may_continue or index.is_accepting(state))

    if may_continue and reads({}):
        return {}
    changes = {name: value for name, value in _WIDEST.items() if getattr(options, name) != value}
    if not changes or not reads(changes):
        return {}
    for name in tuple(changes):
        fewer = {other: value for other, value in changes.items() if other != name}
        if fewer and reads(fewer):
            changes = fewer
    return changes


class _End(NamedTuple):
    """The beginning of a JSON text, as a value."""

    # The text with everything closed that is open.
    value: Any
    # Names and positions that lead to the part that the text ends with, or to the object of the name that it ends with; None if it
    # ends before a value or name.
    path: tuple[str | int, ...] | None
    # Whether that part or name has ended.
    is_whole: bool
    # The name of a member, or its beginning, that the text ends with.
    name: str | None = None


def _end_of(text: str, limits: Limits) -> _End:
    """Return what the beginning of a JSON text ends with.

    Raises
    ------
    ValueError
        It does not begin a JSON text.
    """
    reader, stripped = JsonReader(), text.rstrip(_BLANKS)
    reader.feed(stripped)
    if reader.is_in_string:
        reader.feed(text[len(stripped) :])
    last = stripped[-1:]
    name = reader.name or (("", False) if last == "," and reader.closing.startswith("}") else None)
    if name is not None or reader.is_before_value:
        cut = (text[: reader.begin] if reader.name or last == ":" else stripped).rstrip(_BLANKS + ",")
        value = parse_json((cut or "null") + reader.closing, exact_decimal, None, limits)
        if name is None:
            return _End(value, None, False)
        return _End(value, tuple(_steps_to(value, reader.depth - 1)), name[1], name[0])
    if reader.is_in_string:
        ends = [text[: reader.begin] + dumps(reader.open_string)]
    elif last.isalpha() and last not in "eE":
        word = stripped[len(stripped.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
        ends = [stripped.removesuffix(word) + literal for literal in _LITERALS if literal.startswith(word)]
    else:
        ends = [stripped + "0"] if last in _BEGINNINGS else [stripped]
    value = _first_value(ends, reader.closing, limits)
    return _End(value, tuple(_steps_to(value, reader.depth)), not reader.is_in_string and last in '"}]el')


def _first_value(ends: list[str], closing: str, limits: Limits) -> Any:
    for end in ends:
        try:
            return parse_json(end + closing, exact_decimal, None, limits)
        except ValueError:
            continue
    raise ValueError("it does not begin a JSON text")


def _steps_to(value: Any, levels: int) -> Iterator[str | int]:
    """Yield the names and positions that lead to the last part of a value some levels down."""
    for _ in range(levels):
        step = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        yield step
        value = value[step]
