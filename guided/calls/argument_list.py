"""`ArgumentList`: the arguments that calls of a tool may have in a format, and their order.

`ArgumentList.steps` defines the order. `guided.calls.lowering` makes the tree of a call from it, and `guided.calls.arguments` reads calls
by it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from guided.calls.schema import SchemaType

__all__ = ["ArgumentList", "ArgumentPosition", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument of a call.

    Attributes
    ----------
    label : str
        Name of the argument in calls.
    type : SchemaType
        Type of the written value.
    required : bool
        Whether every call has it.
    text : SchemaType or None
        Type of its strings, if the format gives strings a key of their own; the same object as ``type`` if all values are strings.
    """

    label: str
    type: SchemaType
    required: bool
    text: SchemaType | None = None

    @property
    def kinds(self) -> "tuple[Slot, ...]":
        """The alternatives for the value, each with its own key."""
        if self.text is None or self.text is self.type:
            return (self,)
        return replace(self, text=None), replace(self, type=self.text)

    @property
    def is_text(self) -> bool:
        """Return whether it follows the key for strings."""
        return self.text is not None and self.text is self.type


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """The arguments of a tool in a format, and their order.

    Attributes
    ----------
    positional : tuple of Slot
        Arguments without keys; no required one follows an optional one.
    variadic : Slot or None
        Any number of further values without keys, after all positional ones.
    keyed : tuple of Slot
        Arguments with keys.
    whole : SchemaType or None
        Type of the JSON object of all arguments, which then replaces the other fields.
    """

    positional: tuple[Slot, ...]
    variadic: Slot | None
    keyed: tuple[Slot, ...]
    whole: SchemaType | None = None

    @property
    def start(self) -> "ArgumentPosition":
        """The position before the first argument."""
        return ArgumentPosition(0, True)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All arguments in order."""
        return (*self.positional, *([] if self.variadic is None else [self.variadic]), *self.keyed)

    @property
    def first_key(self) -> int:
        """Number of the first argument with a key in `slots`."""
        return len(self.positional) + (self.variadic is not None)

    def steps(self, position: "ArgumentPosition") -> list[tuple[Slot | None, "ArgumentPosition"]]:
        """Return the ways on from a position: to read the next argument, or to skip it (None) if it may be missing; none at the end.

        An argument without a key is missing only if all later ones without a key are. O(1).
        """
        number, first_key = position.at, self.first_key
        if number == first_key + len(self.keyed):
            return []
        is_keyed = number >= first_key
        slot = self.keyed[number - first_key] if is_keyed else self._without_key(number)
        found: list[tuple[Slot | None, ArgumentPosition]] = [
            (slot, ArgumentPosition(number + (slot is not self.variadic), False))
        ]
        if not slot.required:
            found.append((None, ArgumentPosition(number + 1 if is_keyed else first_key, position.is_first)))
        return found

    def _without_key(self, number: int) -> Slot:
        if number < len(self.positional):
            return self.positional[number]
        assert self.variadic is not None, "it counts only if there is one"
        return self.variadic

    def choices(
        self, position: "ArgumentPosition"
    ) -> tuple[list[tuple[Slot, "ArgumentPosition"]], list[tuple[Slot, "ArgumentPosition"]], bool]:
        """Return the arguments that may come next, with the places behind them, and whether the call may close instead.

        Returns
        -------
        without, keyed : list of (Slot, ArgumentPosition)
            At most one without a key, and those with keys.
        may_close : bool
        """
        found: tuple[list[tuple[Slot, ArgumentPosition]], list[tuple[Slot, ArgumentPosition]]] = [], []
        at = position
        while ways := self.steps(at):
            slot, after = ways[0]
            assert slot is not None, "the first way reads"
            found[at.at >= self.first_key].append((slot, after))
            if len(ways) == 1:
                return *found, False
            at = ways[1][1]
        return *found, True


class ArgumentPosition(NamedTuple):
    """A position between the arguments of a call.

    Attributes
    ----------
    at : int
        Number of the next argument in `ArgumentList.slots`.
    is_first : bool
        Whether no argument has come, so that none needs a separator before it.
    """

    at: int
    is_first: bool
