"""Productions of specifications, as text of regular expressions, to trees."""

from guided.patterns.parse import parse
from guided.patterns.tree import Node

__all__ = ["pattern"]


def pattern(source: str) -> Node:
    """The tree of a regular expression in the syntax of `re`, matched from end to end."""
    return parse(source)
