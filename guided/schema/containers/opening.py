"""Entry point of the package: opens the objects and arrays of one schema, and wires satisfiability, pending values and enumeration.

`OpenContainer` is the stack symbol of the schema's pushdown automaton: an open object or array with its state.
"""

from typing import Literal, NamedTuple, TypeAlias

from guided.caching import cached_property
from guided.schema.cardinality.values import ValueEnumerator
from guided.schema.containers.conjunctive import ConjunctiveState
from guided.schema.containers.general import ArrayState, ObjectState, SharedContext
from guided.schema.containers.pending import PendingValues
from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.values.context import SchemaContext
from guided.schema.values.key_table import KeyTable

__all__ = ["CANNOT_BE_EMPTY", "HAS_BEGUN", "Container", "Containers", "GeneralState", "OpenContainer"]

GeneralState: TypeAlias = ObjectState | ArrayState
Container: TypeAlias = ConjunctiveState | GeneralState
# Values of `OpenContainer.empty` without a valuation: the array must not be empty, or an item has come.
CANNOT_BE_EMPTY, HAS_BEGUN = -1, -2


class OpenContainer(NamedTuple):
    """An open object or array. If a value is pending, it waits for the valuation on ``observed``.

    Attributes
    ----------
    state : Container
    observed : tuple of int
    empty : int
        The valuation of an array that ends before its first item, as bits; `CANNOT_BE_EMPTY` or `HAS_BEGUN` otherwise.
    is_known : bool
        Whether all past items that the next one must differ from are known. If not, no item may end.
    is_named : bool
        Whether all past names that must not count again toward the number of members are known.
    is_outermost : bool
        Whether it is an outermost object whose members are written as arguments (`guided.schema.formula.atoms.Arguments`).
    is_inner : bool
        Whether it is within such an object, and its members or items are written so, too.
    name : str
        The name of the pending member, if the text after its value repeats it (`Arguments.element`); empty if it is not known yet.
    begun : str
        The beginning of the first name, if it has been read before the object was known to be one.
    begins : int
        The entry at which a pending item begins that later ones must differ from, if its text alone does not tell the value; else 0.
    """

    state: Container
    observed: tuple[int, ...] = ()
    empty: int = HAS_BEGUN
    is_known: bool = True
    is_named: bool = True
    is_outermost: bool = False
    is_inner: bool = False
    name: str = ""
    begun: str = ""
    begins: int = 0

    @property
    def is_apart(self) -> bool:
        """Whether its members or items are written one by one, not in JSON."""
        return self.is_outermost or self.is_inner


class Containers:
    """Opens the objects and arrays of one schema.

    Parameters
    ----------
    context : SchemaContext

    Attributes
    ----------
    context : SchemaContext
    formulas : Formulas
    satisfiability : Satisfiability
    """

    def __init__(self, context: SchemaContext) -> None:
        self.context = context
        self.formulas = context.formulas
        self.satisfiability = Satisfiability(context, lambda formula, most: self.values.constants_up_to(formula, most))

    @cached_property
    def shared(self) -> SharedContext:
        """Context and caches of the general states."""
        return SharedContext(PendingValues(self.satisfiability))

    @cached_property
    def values(self) -> ValueEnumerator:
        """The values of formulas, where there are few."""
        return ValueEnumerator(self.satisfiability, self._open_listed, self.open_array)

    def release(self) -> None:
        """Break the reference cycles, so that reference counts free all states. Nothing may use the containers afterwards."""
        made = vars(self)
        for part in (made[name] for name in ("satisfiability", "shared", "values") if name in made):
            vars(part).clear()

    def open(self, kind: Literal["object", "array"], wanted: tuple[int, ...]) -> Container:
        """Return the state before the first member or item; ``wanted``: over the type's atoms, the required formula, then the observed."""
        return self.open_object(wanted) if kind == "object" else self.open_array(wanted)

    def open_object(self, wanted: tuple[int, ...], *, any_order: bool = False) -> ConjunctiveState | ObjectState:
        """Return the state before the first member. ``any_order``: declared members need not be in the order of the schema."""
        keys = self.context.table_of(wanted)
        return self._object(keys.unordered() if any_order else keys, wanted)

    def _open_listed(self, formula: int, most: int) -> ConjunctiveState | ObjectState:
        """Return the state of an object whose names all come in one order, also those of patterns with at most ``most`` names."""
        return self._object(self.context.table_of((formula,)).listing(most), (formula,))

    def _object(self, keys: KeyTable, wanted: tuple[int, ...]) -> ConjunctiveState | ObjectState:
        return self.satisfiability.conjunctive_state(keys, 0, wanted) or ObjectState(self.shared, keys, 0, wanted)

    def open_array(self, wanted: tuple[int, ...]) -> ArrayState:
        """Return the state before the first item."""
        return ArrayState(self.shared, wanted)
