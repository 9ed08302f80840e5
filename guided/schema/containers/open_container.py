"""The stack symbols of a schema's pushdown automaton: open objects and arrays with their states."""

from typing import NamedTuple

from guided.schema.containers.opening import Container

__all__ = ["CANNOT_BE_EMPTY", "HAS_BEGUN", "OpenContainer"]

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
