"""Types in formats with raw strings: unquoted, unescaped text up to a delimiter.

A raw string must not contain its delimiter. All other values are JSON. If a text can be both a string and another value, it is read as the
other value: for ``str | None``, ``null`` is None. The strings of a type come from the type (`ValueType.strings`) or from the formulas of
its schema.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from guided.automata.build import as_operand
from guided.calls.formats.format import Format
from guided.calls.formats.texts import ending
from guided.calls.parts import parts_of
from guided.calls.schema import SchemaType
from guided.calls.strings import any_text
from guided.calls.values import ValueType, automaton_of
from guided.errors import SchemaError
from guided.patterns import tree
from guided.patterns.tree import Complement, Intersect, Node, alternate, concat
from guided.schema.strings.notation import Notation

__all__ = ["raw", "raw_apart"]

_Made = TypeVar("_Made")


def raw(kind: ValueType | SchemaType, label: str, form: Format, pointer: str) -> ValueType | SchemaType:
    """Return a type as a format with raw strings writes it.

    Parameters
    ----------
    kind : ValueType or SchemaType
        Not a bare type.
    label : str
        Name of the argument in calls.
    pointer : str
        Place of the argument, for errors.

    Raises
    ------
    SchemaError
        Strings cannot be distinguished from arrays and objects of the type; or arrays and objects contain strings, which the format
        would write differently.
    """
    if isinstance(kind, SchemaType) and not form.quote:
        return _in_notation(kind, _ends(label, form))
    return _with_format_in_errors(partial(_raw, kind, form.quote, _ends(label, form)), form, pointer)


def raw_apart(
    kind: ValueType | SchemaType, label: str, form: Format, pointer: str
) -> tuple[ValueType | SchemaType | None, ValueType | SchemaType | None]:
    """Split a type into its other values and its strings, for formats that give strings a key of their own; None for an empty part.

    Raises
    ------
    SchemaError
        As in `raw`.
    """
    if isinstance(kind, SchemaType):
        text = _in_notation(kind, _ends(label, form), "strings")
        if text is kind:
            return kind, None
        others = None if kind.begins == b'"' else _in_notation(kind, _ends(label, form), "others")
        return others, text
    return _with_format_in_errors(partial(_apart, kind, _ends(label, form)), form, pointer)


@lru_cache(maxsize=4096)
def _in_notation(
    kind: SchemaType, ends: tuple[str, ...], part: Literal["all", "strings", "others"] = "all"
) -> SchemaType:
    """Return a type whose strings are raw; the same if it has none."""
    if ord('"') not in kind.begins:
        return kind
    return replace(kind, notation=Notation("", ends[0], ends[1:], part), plain=kind)


def _ends(label: str, form: Format) -> tuple[str, ...]:
    """Texts that a raw string must not contain; the first one ends it."""
    return form.quote or ending(form.after_value.replace("{name}", label))[0], *form.reserved


def _with_format_in_errors(make: Callable[[], _Made], form: Format, pointer: str) -> _Made:
    try:
        return make()
    except SchemaError as error:
        raise SchemaError(f"format {form.name!r} {error.reason}", pointer, error.keyword) from error


@lru_cache(maxsize=4096)
def _raw(kind: ValueType | SchemaType, quote: str, reserved: tuple[str, ...]) -> ValueType | SchemaType:
    parts = parts_of(kind)
    strings, others = parts.strings, parts.others
    if quote and parts.nests and _may_hold_strings(kind):
        raise SchemaError("cannot write arrays or objects that contain strings", "", "types")
    if strings is None:
        return kind
    if parts.nests:
        raise SchemaError("cannot tell a string from an array or object: declare one of them", "", "types")
    exclude = [_held(reserved)] if others is None or quote else [_held(reserved), others]
    text = Intersect((strings, *map(Complement, exclude)))
    node = concat([tree.Literal(quote), text, tree.Literal(quote)]) if quote else text

    def decode(found: str) -> Any:
        if others is not None and automaton_of(others).accepts(found.encode()):
            return kind.read(found)
        return kind.read(json.dumps(found[len(quote) : len(found) - len(quote)]))

    node = as_operand(node if others is None else alternate([node, others]))
    return ValueType(kind.name, node, decode, is_bare=True)


@lru_cache(maxsize=4096)
def _apart(
    kind: ValueType | SchemaType, reserved: tuple[str, ...]
) -> tuple[ValueType | SchemaType | None, ValueType | None]:
    parts = parts_of(kind)
    if parts.strings is None:
        return kind, None
    if parts.nests:
        raise SchemaError(
            "cannot write a value that may be a string, an array or an object: declare one of them", "", "types"
        )

    def decode(found: str) -> Any:
        return kind.read(json.dumps(found))

    text = as_operand(Intersect((parts.strings, Complement(_held(reserved)))))
    others = None if parts.others is None else ValueType(kind.name, as_operand(parts.others), kind.read, is_bare=True)
    return others, ValueType(kind.name, text, decode, is_bare=True)


def _held(reserved: tuple[str, ...]) -> Node:
    """Texts that contain one of `reserved`."""
    anything = any_text()
    return concat([anything, alternate(map(tree.Literal, reserved)), anything])


def _may_hold_strings(kind: ValueType | SchemaType) -> bool:
    """Return whether arrays and objects of a type may contain strings."""
    if isinstance(kind, SchemaType):
        return True
    automaton = automaton_of(kind.node)
    return bool((automaton.table[:, automaton.classes[ord('"')]] >= 0).any())
