"""Why a schema rejects a text: another order or spelling of a valid value, or a value that the schema refuses, with its place.

The text may be cut anywhere. What it ends with is then a whole value (``"ab"``, ``}``), which the schema judges, or the beginning of one
(``30``, ``"a``), for which the error names the keywords of its place.

Complexity: a compile and a walk of the text for each option that is tried; the search of `guided.schema.report.contradictions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from guided.automata.pushdown import Pushdown
from guided.errors import GuidedError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.report.contradictions import refusal
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["diagnosis"]

# The options that allow the most texts of a value, in the order in which an error names them.
_WIDEST = {"property_order": "any", "whitespace": "flexible", "numbers": "any", "escapes": "any"}
_CLOSES = {"{": "}", "[": "]"}
_LITERALS = ("true", "false", "null")
_BEGINNINGS = frozenset("-+.eE")
_LONGEST_ESCAPE = 6


def diagnosis(
    data: bytes,
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any],
    automaton_of: Callable[[JsonOptions], Pushdown],
) -> str:
    """Return why a schema rejects a text or the beginning of one; empty if that is not known.

    Parameters
    ----------
    data : bytes
        The text up to what is rejected, included.
    schema, options, limits, registry
        Those of the spec.
    automaton_of : callable
        Returns the automaton of the schema's texts under other options.
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
        refused = (
            None if end.path is None else refusal(value, schema, options, limits, registry, end.path, end.is_whole)
        )
        return "" if refused is None else str(refused)
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
        index = PushdownIndex(automaton_of(replace(options, **changes)), _bytes(), limits)  # type: ignore[arg-type]
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


def _bytes() -> Vocabulary:
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)


class _End(NamedTuple):
    """The beginning of a JSON text, as a value.

    Attributes
    ----------
    value : object
        The text with everything closed that is open.
    path : tuple of str and int, or None
        Names and positions that lead to the part that the text ends with; None if it ends before a value.
    is_whole : bool
        Whether that part has ended.
    """

    value: Any
    path: tuple[str | int, ...] | None
    is_whole: bool


def _end_of(text: str, limits: Limits) -> _End:
    """Return what the beginning of a JSON text ends with.

    Raises
    ------
    ValueError
        It does not begin a JSON text.
    """
    text = text.rstrip(" \t\n\r")
    stack: list[str] = []
    # Where the current member or item begins, at each level, and whether a name comes next.
    begins: list[int] = []
    expects_name = in_string = is_name = False
    at = 0
    while at < len(text):
        character = text[at]
        if in_string:
            at += character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string, is_name = True, expects_name
            expects_name = False
        elif character in _CLOSES:
            stack.append(character)
            begins.append(at + 1)
            expects_name = character == "{"
        elif character in "}]" and stack:
            stack.pop()
            begins.pop()
            is_name = expects_name = False
        elif character == "," and stack:
            begins[-1] = at
            expects_name = stack[-1] == "{"
        elif character == ":":
            is_name = False
        at += 1
    closing = "".join(_CLOSES[each] for each in reversed(stack))
    last = text[-1:]
    if expects_name or is_name or last in ("", ",", ":", "["):
        if (stack and stack[-1] == "{") or last == ",":
            text = text[: begins[-1]]
        return _End(parse_json(text + ("null" if not text else "") + closing, exact_decimal, None, limits), None, False)
    if in_string:
        ends = [text[: len(text) - cut] + '"' for cut in range(_LONGEST_ESCAPE)]
    elif last.isalpha() and last not in "eE":
        word = text[len(text.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
        ends = [text[: len(text) - len(word)] + literal for literal in _LITERALS if literal.startswith(word)]
    else:
        ends = [text + "0"] if last in _BEGINNINGS else [text]
    for end in ends:
        try:
            value = parse_json(end + closing, exact_decimal, None, limits)
        except ValueError:
            continue
        path: list[str | int] = []
        part = value
        for _ in stack:
            path.append(next(reversed(part)) if isinstance(part, dict) else len(part) - 1)
            part = part[path[-1]]
        return _End(value, tuple(path), not in_string and last in '"}]el')
    raise ValueError("it does not begin a JSON text")
