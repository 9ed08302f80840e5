"""The values of a schema, the states of their objects and arrays, and the possible next members and items.

This is the automaton of a schema (`guided.schema.pushdown.machine`), fully expanded: a *value* per query, a *state* for the remaining
members or items of an object or array, and an *edge* per next member or item and valuation. Valuations that a state cannot end with, or
that a value cannot make, are absent. `guided.export.exploring` fills the graph.

If a conjunctive object has ordered names, the declared names from some name on are a state of their own, and states that may continue
with them link to it. So n optional names have O(n) edges.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from guided.schema.containers.opening import Container
from guided.schema.formula.queries import ValueQuery
from guided.schema.values.key_table import KeyTable

__all__ = ["ARRAY", "CHAIN", "ITEMS", "OBJECT", "Edge", "Graph", "Key", "Leaf", "Pending", "State", "Value"]

# Kinds of states: an object, the declared names of a conjunctive object from some name on, an array, and an array with unique items
# after its first item.
OBJECT, CHAIN, ARRAY, ITEMS = "object", "chain", "array", "items"
Key: TypeAlias = tuple[str, Container]


class Pending(NamedTuple):
    """A member or an item of a state that waits for the valuation of its value, with the observed formulas."""

    source: int
    label: tuple[KeyTable, int] | None
    observed: tuple[int, ...]
    after: Key


class Leaf(NamedTuple):
    """A form of a value without members."""

    kind: str
    # The required and the observed formulas, over the atoms of the type.
    wanted: ValueQuery
    bits: int


class Edge(NamedTuple):
    """A member or an item that may come next."""

    # Table and label of the key; None for an item.
    label: tuple[KeyTable, int] | None
    # Number of its value.
    value: int
    # Valuation of the value.
    bits: int
    # Number of the next state.
    state: int


@dataclass(slots=True, eq=False)
class Value:
    """A value and its possible forms."""

    # Queries that are equal for each type share the value.
    query: ValueQuery
    # Location of its first occurrence in the schema, or the path from there.
    place: str
    leaves: list[Leaf] = field(default_factory=list)
    # Numbers of the first states of its objects and arrays.
    opens: list[int] = field(default_factory=list)
    valuations: set[int] = field(default_factory=set)
    waiting: "list[Pending]" = field(default_factory=list)


@dataclass(slots=True, eq=False)
class State:
    """The remaining members or items of an object or array."""

    kind: str
    # Number of the value in which it was first found.
    owner: int
    # Valuation of the value if it ends here; -1 if it cannot.
    close: int = -1
    edges: list[Edge] = field(default_factory=list)
    # A state whose edges apply here too; -1 for none.
    link: int = -1
    # Possible valuations of the value from here on.
    valuations: set[int] = field(default_factory=set)
    before: list[tuple[bool, int]] = field(default_factory=list)


class Graph(NamedTuple):
    """All values and states; value 0 is the whole text."""

    values: list[Value]
    states: list[State]
