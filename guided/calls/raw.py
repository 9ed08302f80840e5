"""Types in formats with raw strings: unquoted, unescaped text up to a delimiter, or between two of them.

A raw string must not contain its delimiter. All other values are JSON. If a text can be both a string and another value, it is read as the
other value: for ``str | None``, ``null`` is None. The strings of a schema are read in a `Notation`; those of an annotation are part of its
pattern.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from guided.automata.build import as_operand
from guided.calls.formats.format import Format
from guided.calls.formats.texts import ending
from guided.calls.schema import SchemaType
from guided.calls.strings import any_text
from guided.calls.values import ValueType, automaton_of
from guided.errors import LimitError, SchemaError, shown
from guided.patterns.tree import Complement, Intersect, Literal, Node, alternate, concat
from guided.patterns.width import max_width
from guided.schema.formula.atoms import Notation
from guided.schema.strings.notation import is_name

__all__ = ["is_better_by_schema", "raw", "raw_apart"]

# Longest strings of annotations whose pattern is part of the automaton around the values.
_LONG = 256


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
        No value can be written; or, of an annotation, strings cannot be distinguished from arrays and objects, or are within them in a
        format with quotes.
    """
    notation = _notation(label, form)
    if isinstance(kind, SchemaType):
        if not form.quote and ord('"') not in kind.begins:
            return kind
        return _written(kind, notation, form, pointer)
    if form.quote and _nests_strings(kind):
        raise _refused("cannot write arrays or objects that contain strings", form, pointer)
    if kind.strings is None:
        return kind
    if kind.depth:
        raise _refused("cannot tell a string from an array or object: declare one of them", form, pointer)
    return _raw(kind, notation)


def raw_apart(
    kind: ValueType | SchemaType, label: str, form: Format, pointer: str
) -> tuple[ValueType | SchemaType | None, ValueType | SchemaType | None]:
    """Split a type into its other values and its strings, for formats that give strings a key of their own; None for an empty part.

    Raises
    ------
    SchemaError
        As in `raw`.
    """
    notation = _notation(label, form)
    if isinstance(kind, SchemaType):
        if ord('"') not in kind.begins:
            return kind, None
        text = _written(kind, replace(notation, part="strings"), form, pointer)
        return None if kind.begins == b'"' else _written(kind, replace(notation, part="others"), form, pointer), text
    if kind.strings is None:
        return kind, None
    if kind.depth:
        reason = "cannot write a value that may be a string, an array or an object: declare one of them"
        raise _refused(reason, form, pointer)
    return _apart(kind, notation)


def is_better_by_schema(kind: ValueType, form: Format) -> bool:
    """Return whether the strings of an annotation need its schema: they are long, or are beside or within arrays and objects."""
    if form.quote and _nests_strings(kind):
        return True
    if kind.strings is None:
        return False
    longest = max_width(kind.strings)
    return kind.depth > 0 or (longest is not None and longest > _LONG)


def _nests_strings(kind: ValueType) -> bool:
    """Return whether arrays or objects of an annotation may hold strings."""
    if not kind.depth:
        return False
    try:
        automaton = automaton_of(kind.node)
    except LimitError:
        return True
    return bool((automaton.table[:, automaton.classes[ord('"')]] >= 0).any())


def _notation(label: str, form: Format) -> Notation:
    return form.quotes or Notation("", ending(form.after_value.replace("{name}", label))[0], form.reserved)


def _written(kind: SchemaType, notation: Notation, form: Format, pointer: str) -> SchemaType:
    found = _in_notation(kind, notation)
    unwritten = next((name for name in _names(kind.document) if not is_name(name)), None) if form.quote else None
    if unwritten is not None:
        raise _refused(f"cannot write the name {shown(unwritten)} of a member", form, pointer)
    if found.scanner().is_empty:
        raise _refused("cannot write any value of this type", form, pointer)
    return found


@lru_cache(maxsize=4096)
def _in_notation(kind: SchemaType, notation: Notation) -> SchemaType:
    return replace(kind, notation=notation, plain=kind)


def _names(document: Any) -> Iterator[str]:
    """Yield the names of members that a schema declares."""
    work = [document]
    for item in work:  # grows during iteration
        if isinstance(item, Mapping):
            declared = item.get("properties")
            yield from declared if isinstance(declared, Mapping) else ()
            work.extend(item.values())
        elif isinstance(item, list | tuple):
            work.extend(item)


def _refused(reason: str, form: Format, pointer: str) -> SchemaError:
    return SchemaError(f"format {form.name!r} {reason}", pointer, "types")


@lru_cache(maxsize=4096)
def _raw(kind: ValueType, notation: Notation) -> ValueType:
    others, quote = kind.others, notation.opening
    exclude = [] if others is None or quote else [others]
    assert kind.strings is not None
    text = Intersect((kind.strings, *map(Complement, [_held(notation), *exclude])))
    node = concat([Literal(quote), text, Literal(quote)]) if quote else text

    def decode(found: str) -> Any:
        if others is not None and automaton_of(others).accepts(found.encode()):
            return kind.read(found)
        return kind.read(json.dumps(found[len(quote) : len(found) - len(quote)]))

    node = as_operand(node if others is None else alternate([node, others]))
    return ValueType(kind.name, node, decode, is_bare=True)


@lru_cache(maxsize=4096)
def _apart(kind: ValueType, notation: Notation) -> tuple[ValueType | None, ValueType]:
    def decode(found: str) -> Any:
        return kind.read(json.dumps(found))

    assert kind.strings is not None
    text = as_operand(Intersect((kind.strings, Complement(_held(notation)))))
    others = None if kind.others is None else ValueType(kind.name, as_operand(kind.others), kind.read, is_bare=True)
    return others, ValueType(kind.name, text, decode, is_bare=True)


def _held(notation: Notation) -> Node:
    """Texts that no string may contain."""
    anything = any_text()
    return concat([anything, alternate(map(Literal, (notation.closing, *notation.reserved))), anything])
