"""Enumerate the values of a formula up to a limit: the candidates for items that must differ.

`guided.schema.numbers.counting` and `guided.schema.strings.counting` enumerate numbers and strings. Values of arrays and objects are not
listed: each prefix of one is live (`guided.schema.containers`) and different prefixes have different completions, so the prefixes along one
path bound their number from below. That mostly proves that there are more than the limit; if it does not, the schema is refused.

While liveness goals are open, they count as false, so values that depend on them are missing. Results are cached only when no goal is open.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from guided.errors import SchemaError
from guided.schema.cardinality.items import ConstantSet
from guided.schema.containers.conjunctive import ConjunctiveState, lowest
from guided.schema.containers.general import ITEM, ArrayState, ObjectState
from guided.schema.containers.satisfiability import Satisfiability
from guided.schema.formula.atoms import TYPES
from guided.schema.formula.exact import Number
from guided.schema.formula.formulas import FALSE
from guided.schema.frontend.keywords import enumerations
from guided.schema.numbers.counting import enumerate_numbers
from guided.schema.strings.counting import enumerate_strings

__all__ = ["ValueEnumerator", "ValueSet"]

_Container: TypeAlias = ConjunctiveState | ObjectState | ArrayState

_WORDS = {"null": None, "true": True, "false": False}
# Nesting of arrays and objects whose values are counted.
_DEEPEST = 8


class ValueSet(NamedTuple):
    """The number of values, and the values themselves if they are listed."""

    size: int
    values: tuple[Any, ...] | None


class ValueEnumerator:
    """Enumerates the values of one schema's formulas, up to a limit."""

    def __init__(
        self,
        satisfiability: Satisfiability,
        open_object: Callable[[tuple[int, ...]], ConjunctiveState | ObjectState],
        open_array: Callable[[tuple[int, ...]], ArrayState],
    ) -> None:
        self._satisfiability = satisfiability
        self._open_object, self._open_array = open_object, open_array
        self._context = satisfiability.context
        self._formulas = satisfiability.formulas
        self._known: dict[int, ValueSet] = {}
        # By formula: a number that its number of values exceeds.
        self._many: dict[int, int] = {}
        self._listed = satisfiability.context.limits.listed_values

    def constants_up_to(self, formula: int, most: int) -> ConstantSet | None:
        """Return the values of a formula, as constants if they are listed; None if there are more than ``most``."""
        found = self.enumerate_up_to(formula, most)
        if found is None or found.values is None:
            return None if found is None else ConstantSet(found.size, None, self._listed)
        lowering = self._context.lowering
        constants = (enumerations.constant(lowering, value, enumerations.ITEM, 0) for value in found.values)
        return ConstantSet(found.size, tuple(constants), self._listed)

    def enumerate_up_to(self, formula: int, most: int) -> ValueSet | None:
        """Return the values of a formula; None if there are more than ``most``.

        Raises
        ------
        SchemaError
            Arrays or objects may have as few values.
        LimitError
            The search exceeds a budget.
        """
        found = self._known.get(formula)
        if found is not None:
            return found if found.size <= most else None
        if self._many.get(formula, -1) >= most:
            return None
        found = self._counted(formula, most)
        if found is None:
            self._many[formula] = max(most, self._many.get(formula, -1))
        elif not self._satisfiability.goals.is_open:
            self._known[formula] = found
        return found

    def _counted(self, formula: int, most: int) -> ValueSet | None:
        count, listed = 0, list[Any]()
        is_listed, typed = True, {kind: self._context.typed(formula, kind) for kind in TYPES}
        for kind in TYPES:
            if typed[kind] == FALSE or kind in ("array", "object"):
                continue
            found = self._of_type(kind, typed[kind], most - count)
            if found is None or count + found.size > most:
                return None
            count += found.size
            is_listed = is_listed and found.values is not None
            listed += found.values or ()
        if self._n_containers(formula, most - count, 0) > most - count:
            return None
        if any(self._satisfiability.can_be(kind, typed[kind]) for kind in ("array", "object")):
            reason = "arrays or objects that must differ may have too few values; drop uniqueItems or lower minItems"
            raise SchemaError(reason, "", "uniqueItems")
        return ValueSet(count, tuple(listed) if is_listed else None)

    def _of_type(self, kind: str, typed: int, most: int) -> ValueSet | None:
        if kind in _WORDS:
            return ValueSet(1, (_WORDS[kind],)) if self._satisfiability.can_be(kind, typed) else ValueSet(0, ())
        if kind == "number":
            numbers = enumerate_numbers(self._formulas, typed, most, self._listed, self._spend)
            if numbers is None or numbers.numbers is None:
                return numbers and ValueSet(numbers.size, None)
            return self._spelled(kind, typed, [(one, ("equals", Number(one))) for one in numbers.numbers])
        strings = enumerate_strings(self._formulas, typed, most, self._listed, self._context.limits, self._spend)
        if strings is None or strings.texts is None:
            return strings and ValueSet(strings.size, None)
        return self._spelled(kind, typed, [(one, ("strings", (one,))) for one in strings.texts])

    def _spend(self, steps: int) -> None:
        self._satisfiability.spend(1 + steps // 16)

    def _spelled(self, kind: str, typed: int, found: list[tuple[Any, Any]]) -> ValueSet:
        """Return those numbers or strings that the language can spell."""
        formulas, context = self._formulas, self._context
        if not context.has_all_bytes or any(atom == ("integer", True) for atom in formulas.atoms(typed)):
            found = [
                (value, atom)
                for value, atom in found
                if context.has_leaf(kind, formulas.conjunction((typed, formulas.atom(atom))))
            ]
        values = tuple(_decimal(value) if isinstance(value, Fraction) else value for value, _ in found)
        return ValueSet(len(values), values)

    # Lower bounds

    def _n_values(self, formula: int, most: int, depth: int) -> int:
        """Return a lower bound of the number of values of a formula that some value satisfies; more than ``most`` is enough."""
        count = 0
        for kind in TYPES:
            typed = self._context.typed(formula, kind)
            if typed != FALSE and kind not in ("array", "object"):
                found = self._of_type(kind, typed, most - count)
                count += most + 1 - count if found is None else found.size
            if count > most:
                return count
        return max(count + self._n_containers(formula, most - count, depth), 1)

    def _n_containers(self, formula: int, most: int, depth: int) -> int:
        """Return the same for arrays and objects; 0 if there are none."""
        count = 0
        kinds: tuple[tuple[str, Callable[[tuple[int, ...]], _Container]], ...] = (
            ("array", self._open_array),
            ("object", self._open_object),
        )
        for kind, opened in kinds:
            typed = self._context.typed(formula, kind)
            if self._satisfiability.can_be(kind, typed):
                count += self._n_along(opened((typed,)), most, depth)
        return count

    def _n_along(self, state: _Container, most: int, depth: int) -> int:
        """Return the number of values with the members that may come first, as long as one state follows all values of each."""
        n_ended, n_prefixes = 0, 1
        while n_ended + n_prefixes <= most and depth < _DEEPEST:
            self._spend(16)
            labels, others = 1 << ITEM, 0
            if not isinstance(state, ArrayState):
                keys = self._context.key_table(state.table)
                labels, others = state.labels(), keys.other_labels
                if labels & others and not keys.patterns:
                    return most + 1
            after = state.after(lowest(labels & ~others or labels)) if labels else None
            if after is None:
                break
            query, onward = after
            n_ended += n_prefixes * (state.at_close() is not None)
            n_prefixes *= self._n_values(query[0], most, depth + 1)
            if query[1:] or (onward.remembers() if isinstance(state, ArrayState) else not labels & ~others):
                break
            if onward == state:
                return most + 1
            state = onward
        return n_ended + n_prefixes


def _decimal(number: Fraction) -> int | Decimal:
    """Convert a number with a finite decimal expansion exactly."""
    if number.denominator == 1:
        return int(number)
    places, scaled = 0, number
    while scaled.denominator != 1:
        places, scaled = places + 1, scaled * 10
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(int(scaled))))), -places))
