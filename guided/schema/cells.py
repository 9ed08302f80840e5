"""The cells of a schema's automaton: objects and arrays that are open, with what must still come of them."""

from typing import NamedTuple, TypeAlias

from guided.schema.objects import ObjectState
from guided.schema.plain import PlainState

__all__ = ["Cell", "OpenArray", "OpenObject", "OpenPlain"]


class OpenObject(NamedTuple):
    """An object that is open, waiting for a report on ``observed`` if a value is pending.

    ``is_known``: see `OpenArray`; where it is not, none of its members may end. ``is_named``: are all names known that have been and
    that a count of members may not count again?
    """

    state: ObjectState
    observed: tuple[int, ...]
    is_known: bool = True
    is_named: bool = True


class OpenPlain(NamedTuple):
    """A plain object that is open; nothing in it is observed.

    ``is_named``: are all names known that have been and that a count of members may not count again?
    """

    state: PlainState
    observed: tuple[int, ...] = ()
    is_known: bool = True
    is_named: bool = True


class OpenArray(NamedTuple):
    """An array that is open.

    ``empty``: what it reports if it ends before its first item (-1: it cannot, -2: it has begun). ``is_known``: are all items
    known that the next must differ from?
    """

    state: tuple[int, ...]
    observed: tuple[int, ...]
    empty: int
    is_known: bool = True


Cell: TypeAlias = OpenObject | OpenPlain | OpenArray
