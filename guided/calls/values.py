"""`ValueType`: the type of an argument as a pattern of texts and a decoder; and the automata of patterns.

Other types are given by a schema (`guided.calls.schema.SchemaType`). Nothing is evaluated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.limits import Limits
from guided.patterns.tree import Intersect, Node

__all__ = ["ValueType", "automaton_of", "bare"]


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """A type whose texts match a pattern.

    Attributes
    ----------
    name : str
        For display.
    node : Node
        Pattern of its texts.
    read : callable
        Text -> Python value.
    """

    name: str
    node: Node
    read: Callable[[str], Any]

    def __repr__(self) -> str:
        return f"<ValueType {self.name}>"


@lru_cache(maxsize=1024)
def automaton_of(node: Node) -> Automaton:
    """Return the automaton of a type's tree, memoized."""
    return from_tree(node, Limits())


def bare(value: Node, name: str, convert: Callable[[str], Any] = str) -> ValueType:
    """Return the type of unquoted text, for formats whose arguments need not be JSON; elsewhere it is a string.

    Parameters
    ----------
    value : Node
        Pattern of the text.
    name : str
        For display.
    convert : callable
        Maps the text to a Python value; may raise ValueError.
    """
    # Why Intersect: lookarounds must see only the text of the argument.
    return ValueType(name, Intersect((value,)), convert)
