"""`ValueType`: what one argument may be, as the pattern of its JSON spelling and the way back to a Python value.

Invariants:

- ``node`` matches compact JSON with at most one space after each ``,`` and ``:`` (bare types: any text);
- ``decode`` takes what `load_json` makes of a spelling that ``node`` matches, and raises `ValueError` for values of other
  types, so that a union finds the member that a value belongs to;
- text is read by `json.loads` only; nothing is evaluated.

Types are built by `guided.calls.scalars` and `guided.calls.containers`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.strings import spell_text
from guided.limits import Limits
from guided.patterns.tree import Literal, Node, concat, optional

__all__ = ["COLON", "COMMA", "Decode", "ValueType", "automaton_of", "constant", "joined", "load_json", "nesting"]

Decode: TypeAlias = Callable[[Any], Any]
COMMA = concat([Literal(","), optional(Literal(" "))])
COLON = concat([Literal(":"), optional(Literal(" "))])


@dataclass(frozen=True, slots=True, eq=False)
class ValueType:
    """The type of an argument, lowered.

    Attributes
    ----------
    name : str
        For people: ``int``, ``list[str]``, ``"a" | "b"``.
    node : Node
        The pattern of its spellings.
    decode : callable
        JSON value -> Python value; `ValueError` for a JSON value of another type.
    depth : int
        How deep arrays and objects nest; 0 for scalars.
    is_string : bool
        Are all spellings JSON strings? Then the type may be the key of an object.
    is_bare : bool
        Is the spelling no JSON, and decoded from its text?
    strings : Node or None
        The values of its strings, where it has some.
    others : Node or None
        Then the spellings of what is none, where there is something.
    schema : Mapping
        JSON Schema of the values, for models and people; empty where nothing is known of them. A ``pattern`` is a tree, which
        `guided.calls.definitions.plain_json` writes.
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
        """The Python value of a spelling.

        Raises
        ------
        ValueError
            The value is of another type.
        """
        return self.decode(spelling if self.is_bare else load_json(spelling))

    def __repr__(self) -> str:
        return f"<ValueType {self.name}>"


def load_json(spelling: str) -> Any:
    """`json.loads` without NaN and infinity, and with integers of any size."""
    return json.loads(spelling, parse_int=_integer, parse_constant=_refuse)


def _integer(digits: str) -> int:
    # Why Decimal: `int` refuses to read more than 4,300 digits.
    return int(digits) if len(digits) < 4000 else int(Decimal(digits))


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@lru_cache(maxsize=1024)
def automaton_of(node: Node) -> Automaton:
    """The automaton of a type's tree, built once."""
    return from_tree(node, Limits())


def constant(value: Any) -> Node:
    """All spellings of one JSON value, objects in their order of keys."""
    if isinstance(value, str):
        return concat([Literal('"'), spell_text(value), Literal('"')])
    if isinstance(value, list):
        return concat([Literal("["), joined([constant(item) for item in value]), Literal("]")])
    if isinstance(value, dict):
        pairs = [concat([constant(key), COLON, constant(item)]) for key, item in value.items()]
        return concat([Literal("{"), joined(pairs), Literal("}")])
    return Literal(json.dumps(value, allow_nan=False))


def joined(items: list[Node]) -> Node:
    """The items with commas between them."""
    return concat([part for item in items for part in (COMMA, item)][1:])


def nesting(value: Any, limit: int = 100) -> int:
    """How deep arrays and objects nest in a JSON value; above ``limit``, some number above it."""
    depth, layer = 0, [value]
    while depth <= limit:
        inside = [item for item in layer if isinstance(item, list | tuple | dict)]
        if not inside:
            break
        depth += 1
        layer = [part for item in inside for part in (item.values() if isinstance(item, dict) else item)]
    return depth
