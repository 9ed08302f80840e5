"""Detect formulas with so many values that excluding a few makes no difference, and value prefixes with so many completions.

Suppose items must differ and the walk does not know the last item. It may then enter the next item only if no possible past item could
leave that one without a value (`guided.schema.pushdown.machine`). Three sufficient tests decide this, on formulas that ignore past items:

- `Inexhaustible.is_inexhaustible`: the formula has more values than any text has items.
- `Inexhaustible.every_prefix_is_inexhaustible`: every prefix of a value of a type has that many completions, as long as none of the value's
  own members has ended. In such a walk the members of the item do not end, but values nested inside a member may.
- ``Inexhaustible._has_endless_prefixes``: every prefix of a value has that many completions.

False never proves the contrary.

Complexity: each formula once for each test and nesting level; there are three levels.
"""

from collections.abc import Callable
from itertools import islice

from guided.schema.containers.conjunctive import ConjunctiveObject, ConjunctiveState, ones
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import BEGINS
from guided.schema.formula.formulas import FALSE, TRUE, Atom

__all__ = ["Inexhaustible"]

# Most alternatives of an object formula.
_ALTERNATIVES_TRIED = 32
_DEEPEST = 3
# There are more strings of this many characters than items in any text.
_ENOUGH_CHARACTERS = 3


class Inexhaustible:
    """The tests for one schema, with cached answers."""

    def __init__(self, containers: Containers) -> None:
        self._satisfiability = containers.satisfiability
        self._context = containers.context
        self._formulas = containers.formulas
        self._typed = containers.context.typed
        self._answers: dict[tuple[str, int, int], bool] = {}

    def is_inexhaustible(self, formula: int, depth: int = _DEEPEST) -> bool:
        """Return whether a formula surely has more values than any text has items."""
        return self._kept(
            "values", formula, depth, lambda: any(self._is_inexhaustible_kind(kind, formula, depth) for kind in BEGINS)
        )

    def every_prefix_is_inexhaustible(self, kind: str, formula: int) -> bool:
        """Return whether every prefix of a value of a type surely has that many completions, while none of its members has ended.

        ``formula`` is over the atoms of the type.
        """
        if kind == "string":
            return self._is_endless_string(formula)
        if kind == "object":
            return self._of_objects(formula, lambda rules: self._every_prefix_of_object(rules, _DEEPEST - 1))
        if kind == "array":
            value = self._items(formula)
            return value is not None and (
                self._is_endless_array(formula) or (value != FALSE and self._has_endless_prefixes(value, _DEEPEST - 1))
            )
        return False

    def _kept(self, question: str, formula: int, depth: int, answer: Callable[[], bool]) -> bool:
        key = question, formula, depth
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = depth > 0 and answer()
        return found

    # Number of values

    def _is_inexhaustible_kind(self, kind: str, value: int, depth: int) -> bool:
        formula = self._typed(value, kind)
        if formula == FALSE or not self._satisfiability.can_be(kind, formula):
            return False
        if kind == "string":
            atoms = self._atoms(formula)
            lengths = [atom for atom in atoms if atom[0] == "length"]
            return self._is_endless_string(formula) or (
                len(lengths) == 1
                and max(lengths[0][1], _ENOUGH_CHARACTERS) <= lengths[0][2]
                and all(atom in lengths or atom[0] == "without" or self._is_no(atom, "strings") for atom in atoms)
            )
        if kind == "number":
            atoms = self._atoms(formula)
            bounds = {atom[0] for atom in atoms if atom[0] in ("minimum", "maximum")}
            return len(bounds) <= 1 and all(
                atom[0] in bounds or atom[0] in ("T", "integer") or self._is_no(atom, "equals") for atom in atoms
            )
        if kind == "object":
            return any(
                self._is_endless_object(rules)
                or (rules.most < 0 and any(self.is_inexhaustible(one, depth - 1) for one in _values(rules)))
                for rules in self._alternatives(formula) or ()
            )
        if kind == "array":
            item = self._items(formula)
            return item is not None and (self._is_endless_array(formula) or self.is_inexhaustible(item, depth - 1))
        return False

    # Number of completions of every prefix

    def _has_endless_prefixes(self, value: int, depth: int) -> bool:
        """Return whether every prefix of a value surely has more completions than any text has items."""
        return self._kept("endless", value, depth, lambda: all(self._is_endless_kind(kind, value) for kind in BEGINS))

    def _is_endless_kind(self, kind: str, value: int) -> bool:
        formula = self._typed(value, kind)
        if formula == FALSE:
            return True
        if kind == "string":
            return self._is_endless_string(formula)
        if kind == "number":
            # Why: with exponents, every number that begins with "0e" is zero.
            return self._context.options.numbers == "plain" and all(
                atom[0] == "T" or self._is_no(atom, "equals") for atom in self._atoms(formula)
            )
        if kind == "object":
            return self._of_objects(formula, self._is_endless_object)
        return kind == "array" and self._is_endless_array(formula)

    def _is_endless_string(self, formula: int) -> bool:
        """Return whether a string formula has only minimum lengths and excluded constants."""
        return all(
            atom[0] in ("T", "without") or (atom[0] == "length" and atom[2] < 0) or self._is_no(atom, "strings")
            for atom in self._atoms(formula)
        )

    def _is_endless_object(self, rules: ConjunctiveObject) -> bool:
        """Return whether members with undeclared names can always come."""
        if rules.most >= 0 or rules.keys.patterns:
            return False
        return any(self._satisfiability.is_satisfiable(rules.value(label)) for label in ones(rules.keys.other_labels))

    def _every_prefix_of_object(self, rules: ConjunctiveObject, depth: int) -> bool:
        """Return whether undeclared members can always come, or any member that has begun, or a later one, has many completions."""
        if self._is_endless_object(rules):
            return True
        values = _values(rules)
        has_any_order = self._context.options.property_order == "any"
        if has_any_order and rules.most < 0 and any(self._has_endless_prefixes(value, depth) for value in values):
            return True
        return bool(values) and all(self._has_endless_prefixes(value, depth) for value in values)

    def _is_endless_array(self, formula: int) -> bool:
        """Return whether further items can always come."""
        item = self._items(formula)
        is_bounded = any(atom[0] in ("maxItems", "uniqueItems") for atom in self._atoms(formula))
        return item is not None and not is_bounded and self._satisfiability.is_satisfiable(item)

    # Structure of formulas

    def _atoms(self, formula: int) -> list[Atom]:
        nodes = self._formulas.nodes
        return [nodes[member] for member in self._formulas.members(formula)]

    def _is_no(self, atom: Atom, kind: str) -> bool:
        return atom[0] == "!" and bool(self._formulas.nodes[atom[1]][0] == kind)

    def _items(self, formula: int) -> int | None:
        """Return the one formula of all items; None if positions differ, or if more than item counts is restricted."""
        items: list[int] = []
        for atom in self._atoms(formula):
            if atom[0] == "items" and not atom[1]:
                items.append(atom[2])
            elif atom == ("maxItems", 0):
                items.append(FALSE)
            elif atom[0] not in ("T", "minItems", "maxItems") and atom != ("uniqueItems",):
                return None
        return self._formulas.conjunction(items) if items else TRUE

    def _of_objects(self, formula: int, holds: Callable[[ConjunctiveObject], bool]) -> bool:
        found = self._alternatives(formula)
        return found is not None and all(map(holds, found))

    def _alternatives(self, formula: int) -> list[ConjunctiveObject] | None:
        """Return the live conjunctive alternatives of an object formula; None if others exist or there are too many."""
        table, conjunctive = self._context.table_of((formula,)), self._satisfiability.conjunctive
        terms = list(islice(self._satisfiability.implicants(formula), _ALTERNATIVES_TRIED + 1))
        found = [conjunctive(table, self._formulas.conjunction(term)) for term in terms]
        if len(found) > _ALTERNATIVES_TRIED or None in found:
            return None
        return [rules for rules in found if rules is not None and ConjunctiveState(rules).is_live()]


def _values(rules: ConjunctiveObject) -> list[int]:
    return [value for value in map(rules.value, range(len(rules.values))) if value != FALSE]
