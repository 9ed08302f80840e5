"""Locations of schemas in their documents.

A location is a linked list, ``(location of the enclosing schema, *tokens)``, converted to a JSON Pointer only on demand.
"""

from typing import Any, TypeAlias

from guided.errors import SchemaError

__all__ = ["Location", "loop", "pointer_of", "pointer_to"]

Location: TypeAlias = tuple[Any, ...]


def pointer_of(location: Location) -> str:
    """Return the JSON Pointer of a location; in another document than the schema itself, after its URI and ``#``."""
    tokens: list[str | int] = []
    while len(location) > 1:
        tokens.extend(reversed(location[1:]))
        location = location[0]
    document = location[0] if location else ""
    return (f"{document}#" if document else "") + pointer_to(*reversed(tokens))


def pointer_to(*tokens: str | int) -> str:
    """Return the JSON Pointer of names and positions."""
    return "".join([f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in tokens])


def loop(location: Location) -> SchemaError:
    """Return the error of a schema that refers to itself about the same value."""
    return SchemaError("the schema refers to itself for the same value", pointer_of(location), "$ref")
