"""Room: values of which there are so many that some more or less make no difference, and beginnings that go on in as many ways.

Where items must differ and the last one is not known, a walk goes on to the next item only where no item that has been could leave that
without a value (`guided.schema.machine`). So there are three questions, each about formulas that say nothing of the items that have been:

- `Room.has_room`: are there more values than any text has items?
- `Room.is_roomy`: does every beginning of a value of a type, none of whose members has ended, go on in as many ways? In that walk the
  members of the item itself do not end, but what is nested in one may.
- ``Room._is_endless``: the same of every beginning of a value.

No is never a proof of the contrary. Complexity: each formula once for each question and level, of which there are three.
"""

from collections.abc import Callable
from itertools import islice

from guided.schema.formula import FALSE, TRUE, Atom
from guided.schema.objects import OTHER
from guided.schema.places import BEGINS
from guided.schema.plain import PlainObject, PlainState
from guided.schema.reading import Reading

__all__ = ["Room"]

# Of the objects that a value may be.
_MOST_ALTERNATIVES = 32
_DEEPEST = 3
# Of so many characters there are more strings than items in any text.
_ENOUGH_CHARACTERS = 3


class Room:
    """The questions about one schema, and their answers so far."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._typed = reading.kinds.typed
        self._answers: dict[tuple[str, int, int], bool] = {}

    def has_room(self, formula: int, depth: int = _DEEPEST) -> bool:
        """Are there more values of a formula than any text has items?"""
        return self._kept("room", formula, depth, lambda: any(self._has_room(kind, formula, depth) for kind in BEGINS))

    def is_roomy(self, kind: str, formula: int) -> bool:
        """Does every beginning of a value of a type, none of whose members has ended, go on in as many ways?

        ``formula`` is over the atoms of the type.
        """
        if kind == "string":
            return self._is_endless_string(formula)
        if kind == "object":
            return self._of_objects(formula, lambda plain: self._is_roomy_object(plain, _DEEPEST - 1))
        if kind == "array":
            value = self._items(formula)
            return value is not None and (
                self._is_endless_array(formula) or (value != FALSE and self._is_endless(value, _DEEPEST - 1))
            )
        return False

    def _kept(self, question: str, formula: int, depth: int, answer: Callable[[], bool]) -> bool:
        key = question, formula, depth
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = depth > 0 and answer()
        return found

    # Are there many values?

    def _has_room(self, kind: str, value: int, depth: int) -> bool:
        formula = self._typed(value, kind)
        if formula == FALSE or not self._reading.can_be(kind, formula):
            return False
        if kind == "string":
            atoms = self._atoms(formula)
            lengths = [atom for atom in atoms if atom[0] == "length"]
            return self._is_endless_string(formula) or (
                len(lengths) == 1
                and max(lengths[0][1], _ENOUGH_CHARACTERS) <= lengths[0][2]
                and all(atom in lengths or self._is_no(atom, "strings") for atom in atoms)
            )
        if kind == "number":
            atoms = self._atoms(formula)
            bounds = {atom[0] for atom in atoms if atom[0] in ("minimum", "maximum")}
            return len(bounds) <= 1 and all(
                atom[0] in bounds or atom[0] in ("T", "integer") or self._is_no(atom, "equals") for atom in atoms
            )
        if kind == "object":
            return any(
                self._is_endless_object(plain)
                or (plain.most < 0 and any(self.has_room(one, depth - 1) for one in _values(plain)))
                for plain in self._alternatives(formula) or ()
            )
        if kind == "array":
            item = self._items(formula)
            return item is not None and (self._is_endless_array(formula) or self.has_room(item, depth - 1))
        return False

    # Does every beginning go on in many ways?

    def _is_endless(self, value: int, depth: int) -> bool:
        """Does every beginning of a value go on in more ways than any text has items?"""
        return self._kept("endless", value, depth, lambda: all(self._is_endless_kind(kind, value) for kind in BEGINS))

    def _is_endless_kind(self, kind: str, value: int) -> bool:
        formula = self._typed(value, kind)
        if formula == FALSE:
            return True
        if kind == "string":
            return self._is_endless_string(formula)
        if kind == "number":
            # Why: with exponents, whatever begins with "0e" is zero.
            return self._reading.kinds.options.numbers == "plain" and all(
                atom[0] == "T" or self._is_no(atom, "equals") for atom in self._atoms(formula)
            )
        if kind == "object":
            return self._of_objects(formula, self._is_endless_object)
        return kind == "array" and self._is_endless_array(formula)

    def _is_endless_string(self, formula: int) -> bool:
        """Has a string no largest length, and is nothing else said of it but which few it is not?"""
        return all(
            atom[0] == "T" or (atom[0] == "length" and atom[2] < 0) or self._is_no(atom, "strings")
            for atom in self._atoms(formula)
        )

    def _is_endless_object(self, plain: PlainObject) -> bool:
        """Can members always come whose names are not declared?"""
        if plain.most >= 0 or self._reading.kinds.key_table(plain.table).patterns:
            return False
        return any(self._reading.is_satisfiable(plain.value(label)) for label in _others(plain))

    def _is_roomy_object(self, plain: PlainObject, depth: int) -> bool:
        """The same; or whatever member has begun, can it, or another after it, go on in many ways?"""
        if self._is_endless_object(plain):
            return True
        values = _values(plain)
        has_any_order = self._reading.kinds.options.property_order == "any"
        if has_any_order and plain.most < 0 and any(self._is_endless(value, depth) for value in values):
            return True
        return bool(values) and all(self._is_endless(value, depth) for value in values)

    def _is_endless_array(self, formula: int) -> bool:
        """Can items always come?"""
        item = self._items(formula)
        is_bounded = any(atom[0] in ("maxItems", "uniqueItems") for atom in self._atoms(formula))
        return item is not None and not is_bounded and self._reading.is_satisfiable(item)

    # What formulas say

    def _atoms(self, formula: int) -> list[Atom]:
        nodes = self._reading.formulas.nodes
        return [nodes[member] for member in self._reading.formulas.members(formula)]

    def _is_no(self, atom: Atom, kind: str) -> bool:
        return atom[0] == "!" and bool(self._reading.formulas.nodes[atom[1]][0] == kind)

    def _items(self, formula: int) -> int | None:
        """The formula of all items of an array that are alike; None where they are not, or more is said than how many there are."""
        items: list[int] = []
        for atom in self._atoms(formula):
            if atom[0] == "items" and not atom[1]:
                items.append(atom[2])
            elif atom == ("maxItems", 0):
                items.append(FALSE)
            elif atom[0] not in ("T", "minItems", "maxItems") and atom != ("uniqueItems",):
                return None
        return self._reading.formulas.conjunction(items) if items else TRUE

    def _of_objects(self, formula: int, holds: Callable[[PlainObject], bool]) -> bool:
        found = self._alternatives(formula)
        return found is not None and all(map(holds, found))

    def _alternatives(self, formula: int) -> list[PlainObject] | None:
        """The plain objects that an object may be; None where there are others."""
        reading = self._reading
        table = reading.kinds.object_start((formula,)).table
        terms = list(islice(reading.terms(formula), _MOST_ALTERNATIVES + 1))
        plain = [reading.plain(table, reading.formulas.conjunction(term)) for term in terms]
        if len(plain) > _MOST_ALTERNATIVES or None in plain:
            return None
        return [
            one for number, one in filter(None, plain) if one.is_live(PlainState(number, 0, 0), reading.is_satisfiable)
        ]


def _values(plain: PlainObject) -> list[int]:
    return [value for value in map(plain.value, range(len(plain.values))) if value != FALSE]


def _others(plain: PlainObject) -> list[int]:
    labels = plain.kinds.key_table(plain.table).labels
    return [label for label, (name, _) in enumerate(labels) if name == OTHER]
