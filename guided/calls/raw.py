"""Types in formats with raw strings: unquoted, unescaped text up to a delimiter, or between two of them.

A raw string must not contain its delimiter. All other values are JSON. If a text can be both a string and another value, it is read as the
other value: for ``str | None``, ``null`` is None. Both are read in a `Notation`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from guided.calls.formats.format import Format
from guided.calls.formats.texts import ending
from guided.calls.schema import SchemaType, in_notation
from guided.errors import SchemaError, shown
from guided.schema.formula.atoms import Notation
from guided.schema.formula.memo import Memo
from guided.schema.strings.notation import is_name

__all__ = ["no_value", "raw", "raw_apart", "refused"]

# Documents with a name that would need quotes, or None.
_documents: Memo[tuple[Any, str | None]] = Memo(256)


def raw(kind: SchemaType, form: Format, pointer: str) -> SchemaType:
    """Return a type as a format with raw strings writes it.

    Parameters
    ----------
    pointer : str
        Place of the argument, for errors.

    Raises
    ------
    SchemaError
        No value can be written.
    """
    if not form.quote and ord('"') not in kind.begins:
        return kind
    return _written(kind, _notation(form), form, pointer)


def raw_apart(kind: SchemaType, form: Format, pointer: str) -> tuple[SchemaType | None, SchemaType | None]:
    """Split a type into its other values and its strings, for formats that give strings a key of their own; None for an empty part.

    Raises
    ------
    SchemaError
        As in `raw`.
    """
    if ord('"') not in kind.begins:
        return kind, None
    notation = _notation(form)
    text = _written(kind, replace(notation, part="strings"), form, pointer)
    return None if kind.begins == b'"' else _written(kind, replace(notation, part="others"), form, pointer), text


def _notation(form: Format) -> Notation:
    return form.quotes or Notation("", ending(form.after_value)[0], form.reserved)


def _written(kind: SchemaType, notation: Notation, form: Format, pointer: str) -> SchemaType:
    found = in_notation(kind, notation=notation)
    unwritten = _unwritten(kind.document) if form.quote else None
    if unwritten is not None:
        raise refused(f"cannot write the name {shown(unwritten)} of a member", form, pointer)
    if found.scanner().is_empty:
        raise no_value(form, pointer)
    return found


def _unwritten(document: Any) -> str | None:
    """Return a name of a member that a schema declares and that would need quotes; None if there is none."""
    found = _documents.get(id(document))
    if found is None:
        name = next((name for name in _names(document) if not is_name(name)), None)
        found = _documents.put(id(document), (document, name))
    return found[1]


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


def no_value(form: Format, pointer: str) -> SchemaError:
    """Return the error of a type all of whose values have a string that a format cannot write."""
    texts = " or ".join(map(repr, (form.quote or ending(form.after_value.partition("{name}")[0])[0], *form.reserved)))
    return refused(f"cannot write any value of this type: no string there contains {texts}", form, pointer)


def refused(reason: str, form: Format, pointer: str) -> SchemaError:
    """Return the error of a type that a format cannot write."""
    return SchemaError(f"format {form.name!r} {reason}", pointer, "types")
