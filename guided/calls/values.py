"""`ValueType`: the type of one argument, as the pattern of its JSON spelling and a decoder to Python values.

Invariants:

- ``node`` matches compact JSON with at most one space after each ``,`` and ``:`` (bare types: any text);
- ``decode`` takes the result of `parse_json` for a spelling that ``node`` matches, and raises `ValueError` for values of other
  types, so that a union finds the matching member;
- text is parsed by `parse_json` only; nothing is evaluated.

Types are built by `guided.calls.scalars` and `guided.calls.containers`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.strings import spell_text
from guided.limits import Limits
from guided.patterns.tree import Literal, Node, concat, optional
from guided.schema.frontend.json_values import parse_json

__all__ = ["COLON", "COMMA", "Decode", "ValueType", "automaton_of", "constant", "joined", "nesting"]

Decode: TypeAlias = Callable[[Any], Any]
COMMA = concat([Literal(","), optional(Literal(" "))])
COLON = concat([Literal(":"), optional(Literal(" "))])


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """The lowered type of an argument.

    Attributes
    ----------
    name : str
        For display: ``int``, ``list[str]``, ``"a" | "b"``.
    node : Node
        Pattern of its spellings.
    decode : callable
        JSON value -> Python value; `ValueError` for a JSON value of another type.
    depth : int
        Nesting depth of arrays and objects; 0 for scalars.
    is_string : bool
        Whether all spellings are JSON strings. Then the type may be the key of an object.
    is_bare : bool
        Whether the spelling is plain text instead of JSON, and decoded as such.
    strings : Node or None
        Values of its strings, if it has any.
    others : Node or None
        Spellings of its other values, if it has strings and other values.
    schema : Mapping
        JSON Schema of the values, for models and people; empty if unknown. A ``pattern`` may be a tree, which
        `guided.calls.definitions.plain_json` converts.
    """

    name: str
    node: Node
    decode: Decode
    depth: int = 0
    is_string: bool = False
    is_bare: bool = False
    strings: Node | None = None
    others: Node | None = None
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def read(self, spelling: str) -> Any:
        """Decode a spelling to a Python value.

        Raises
        ------
        ValueError
            The value has another type.
        LimitError
            An integer has more than ``digits`` digits.
        """
        return self.decode(spelling if self.is_bare else parse_json(spelling))

    def __repr__(self) -> str:
        return f"<ValueType {self.name}>"


@lru_cache(maxsize=1024)
def automaton_of(node: Node) -> Automaton:
    """Return the automaton of a type's tree, memoized."""
    return from_tree(node, Limits())


def constant(value: Any) -> Node:
    """The pattern of all spellings of one JSON value, with object keys in the given order."""
    if isinstance(value, str):
        return concat([Literal('"'), spell_text(value), Literal('"')])
    if isinstance(value, list):
        return concat([Literal("["), joined([constant(item) for item in value]), Literal("]")])
    if isinstance(value, dict):
        pairs = [concat([constant(key), COLON, constant(item)]) for key, item in value.items()]
        return concat([Literal("{"), joined(pairs), Literal("}")])
    return Literal(json.dumps(value, allow_nan=False))


def joined(items: list[Node]) -> Node:
    """Concatenate items with commas between them."""
    return concat([part for item in items for part in (COMMA, item)][1:])


def nesting(value: Any, limit: int = 100) -> int:
    """Nesting depth of arrays and objects in a JSON value; above ``limit``, any number above it."""
    depth, layer = 0, [value]
    while depth <= limit:
        inside = [item for item in layer if isinstance(item, list | tuple | dict)]
        if not inside:
            break
        depth += 1
        layer = [part for item in inside for part in (item.values() if isinstance(item, dict) else item)]
    return depth
