"""The values that a schema asks for, the states of their objects and arrays, and what may come next in each.

It is the automaton of a schema (`guided.schema.machine`) all at once: a *value* for each job, a *state* for what may still come of an
object or array, and an *edge* for each member or item that may come next, with each report that it may make. A report that a state can not
end with, or a value not make, is not there. `guided.schema.grammar.exploring` fills it.

Where a plain object has its names in order, what may come of the declared names from one of them on is a state of its own, and states
that may go on with it are linked to it, so that n optional names have O(n) edges.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from guided.schema.jobs import Job
from guided.schema.objects import ObjectState
from guided.schema.plain import PlainState

__all__ = [
    "ARRAY", "CHAIN", "ITEMS", "OBJECT", "PLAIN", "Content", "Edge", "Graph", "Key", "Leaf", "Pending", "State", "Value",
]  # fmt: skip

# What a state is of: an object by its formulas, a plain one, the declared names of a plain one from some name on, an array, and an array
# whose items must differ and of which one has been.
OBJECT, PLAIN, CHAIN, ARRAY, ITEMS = "object", "plain", "chain", "array", "items"
Content: TypeAlias = "ObjectState | PlainState | tuple[int, ...]"
Key: TypeAlias = tuple[str, Content]


class Pending(NamedTuple):
    """A member or an item, from its state, that waits for what its value reports; with what the report is about."""

    source: int
    label: tuple[int, int] | None
    observed: tuple[int, ...]
    after: Key


class Leaf(NamedTuple):
    """A way to be a value without members.

    Attributes
    ----------
    kind : str
        A type of JSON.
    wanted : tuple of int
        What must hold and what is observed, over the atoms of the type.
    bits : int
        The report.
    """

    kind: str
    wanted: Job
    bits: int


class Edge(NamedTuple):
    """A member or an item that may come next.

    Attributes
    ----------
    label : (int, int) or None
        Table and label of the key; None of an item.
    value : int
        Number of its value.
    bits : int
        What the value reports.
    state : int
        Number of the state after it.
    """

    label: tuple[int, int] | None
    value: int
    bits: int
    state: int


@dataclass(slots=True, eq=False)
class Value:
    """What a value is read for.

    Attributes
    ----------
    job : tuple of int
        Others that say the same of each type share the value.
    place : str
        Where in the schema it was first met, or how it was reached from there.
    leaves : list of Leaf
    opens : list of int
        Numbers of the states that it begins with if it is an object or an array.
    reports : set of int
        What it can report.
    """

    job: Job
    place: str
    leaves: list[Leaf] = field(default_factory=list)
    opens: list[int] = field(default_factory=list)
    reports: set[int] = field(default_factory=set)
    waiting: "list[Pending]" = field(default_factory=list)


@dataclass(slots=True, eq=False)
class State:
    """What may still come of an object or array.

    Attributes
    ----------
    kind : str
    owner : int
        Number of the value that it was first met in.
    close : int
        What the value reports if it ends here; -1 where it can not.
    edges : list of Edge
    link : int
        A state whose edges may come as well; -1 for none.
    reports : set of int
        What the value can report in the end.
    """

    kind: str
    owner: int
    close: int = -1
    edges: list[Edge] = field(default_factory=list)
    link: int = -1
    reports: set[int] = field(default_factory=set)
    before: list[tuple[bool, int]] = field(default_factory=list)


class Graph(NamedTuple):
    """All that was found; the whole text is value 0."""

    values: list[Value]
    states: list[State]
