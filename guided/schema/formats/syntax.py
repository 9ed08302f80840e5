"""Productions of specifications, written as regular expressions, to trees."""

from guided.patterns.parse import parse
from guided.patterns.tree import Node

__all__ = ["pattern"]


def pattern(source: str) -> Node:
    """Return the tree of a regular expression in the syntax of `re`, matched against the whole text."""
    return parse(source)
