"""Types as formats with raw strings write them: text that stands as it is, up to what ends it.

A raw string is its value, without quotes and escapes; so it must not hold what ends it. Everything else is JSON. A value that is a
string or something else is read as the latter where it may be: of ``str | None``, ``null`` is None. What a type's strings are is told by
the type (`ValueType.strings`), or by the formulas of its schema.
"""

import json
from functools import lru_cache
from typing import Any

from guided.automata.build import as_operand
from guided.calls.formats.format import Format
from guided.calls.formats.texts import least
from guided.calls.parts import parts_of
from guided.calls.schema import SchemaType
from guided.calls.strings import any_text
from guided.calls.values import ValueType, automaton_of
from guided.errors import SchemaError
from guided.patterns.tree import Complement, Intersect, Literal, alternate, concat

__all__ = ["raw"]


def raw(kind: ValueType | SchemaType, label: str, form: Format, pointer: str) -> ValueType | SchemaType:
    """A type as a format with raw strings writes it.

    Parameters
    ----------
    kind : ValueType or SchemaType
        Not bare.
    label : str
        The argument's name in calls.
    pointer : str
        Its place, for errors.

    Raises
    ------
    SchemaError
        A value may be a string or something that nests, and nothing tells them apart; or there are strings within what nests, which
        the format would write in a way of its own.
    """
    end = form.quote or least(form.after_value.replace("{name}", label))
    try:
        return _raw(kind, form.quote, (end, *form.reserved))
    except SchemaError as error:
        raise SchemaError(f"format {form.name!r} {error.reason}", pointer, error.keyword) from error


@lru_cache(maxsize=4096)
def _raw(kind: ValueType | SchemaType, quote: str, reserved: tuple[str, ...]) -> ValueType | SchemaType:
    parts = parts_of(kind)
    strings, others = parts.strings, parts.others
    if quote and parts.nests and _may_hold_strings(kind):
        raise SchemaError("writes no arrays and objects with strings in them", "", "types")
    if strings is None:
        return kind
    if parts.nests:
        raise SchemaError("cannot tell a string from an array or object: declare one of them", "", "types")
    anything = any_text()
    held = concat([anything, alternate(map(Literal, reserved)), anything])
    exclude = [held] if others is None or quote else [held, others]
    text = Intersect((strings, *map(Complement, exclude)))
    node = concat([Literal(quote), text, Literal(quote)]) if quote else text

    def decode(found: str) -> Any:
        if others is not None and automaton_of(others).accepts(found.encode()):
            return kind.read(found)
        return kind.read(json.dumps(found[len(quote) : len(found) - len(quote)]))

    node = as_operand(node if others is None else alternate([node, others]))
    return ValueType(kind.name, node, decode, is_bare=True)


def _may_hold_strings(kind: ValueType | SchemaType) -> bool:
    """Might there be strings within arrays and objects of a type?"""
    if isinstance(kind, SchemaType):
        return True
    automaton = automaton_of(kind.node)
    return bool((automaton.table[:, automaton.classes[ord('"')]] >= 0).any())
