"""JSON Pointers (RFC 6901), relative ones, and UUIDs (RFC 4122)."""

from functools import cache

from guided.patterns.tree import Node
from guided.schema.formats.syntax import pattern

__all__ = ["json_pointer", "relative_json_pointer", "uuid"]

_POINTER = "(?:/(?:[^/~]|~[01])*)*"


@cache
def json_pointer() -> Node:
    """A JSON Pointer in its string form (RFC 6901)."""
    return pattern(_POINTER)


@cache
def relative_json_pointer() -> Node:
    """A relative JSON Pointer (draft-bhutton-relative-json-pointer-00), with its steps between items: ``0-1/a``."""
    return pattern(f"(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|{_POINTER})")


@cache
def uuid() -> Node:
    """RFC 4122: hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12; any version and variant."""
    return pattern("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
