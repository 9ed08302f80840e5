"""ECMA-262 regular expressions."""

from functools import cache
from guided.patterns.tree import Node
from guided.schema.formats.syntax import pattern

__all__ = ["regex"]


@cache
def regex() -> Node:
    return pattern("[a-z]*")
