"""The values of which a formula holds, where they are few: what there is for items that must differ.

Numbers and strings are counted by `guided.schema.few.numbers` and `guided.schema.few.strings`. Arrays grow item by item, and objects name
by name, each name declared being there or not; whatever has grown can be completed (`guided.schema.reading`), and two that differ stay so.
So there are at least as many values as there are beginnings, and no more are ever kept than are asked for. A value that can hold one of
its own kind has no end of them.

While questions of liveness are open, values that rest on them do not count; then only what is final is kept.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from guided.errors import LimitError
from guided.schema import arrays, objects
from guided.schema.atoms import TYPES
from guided.schema.few.items import MOST_LISTED
from guided.schema.few.numbers import few_numbers
from guided.schema.few.strings import few_strings
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import Job
from guided.schema.keywords.enumerations import ITEM, constant
from guided.schema.plain import PlainState

if TYPE_CHECKING:
    from guided.schema.reading import Reading

__all__ = ["Few", "FewValues"]

# Values within values.
_DEEPEST = 16
_WORDS = {"null": None, "true": True, "false": False}


class Few(NamedTuple):
    """How many values, and which where they are listed."""

    size: int
    values: tuple[Any, ...] | None


class FewValues:
    """The values of one schema's formulas, as far as they are few."""

    def __init__(self, reading: "Reading") -> None:
        self._reading = reading
        self._kinds = reading.kinds
        self._formulas = reading.formulas
        self._known: dict[int, Few] = {}
        # Of formulas with more values: more than how many.
        self._many: dict[int, int] = {}
        self._open: set[int] = set()

    def constants(self, few: Few) -> tuple[int, ...] | None:
        """The formulas of values that are listed: equal for equal values only."""
        if few.values is None:
            return None
        return tuple(constant(self._kinds.lowering, value, ITEM, 0) for value in few.values)

    def few(self, formula: int, most: int) -> Few | None:
        """The values of which a formula holds; None where there are more than ``most``.

        Raises
        ------
        LimitError
            Too many of them would have to be listed, or the search passes a budget.
        """
        found = self._known.get(formula)
        if found is not None:
            return found if found.size <= most else None
        if formula in self._open or self._many.get(formula, -1) >= most:
            return None
        if len(self._open) >= _DEEPEST:
            raise LimitError("depth", len(self._open) + 1, _DEEPEST, "values that must differ nest too deep")
        self._open.add(formula)
        try:
            found = self._counted(formula, most)
        finally:
            self._open.discard(formula)
        if found is None:
            self._many[formula] = max(most, self._many.get(formula, -1))
        elif not self._reading.questions.is_open and not self._open:
            self._known[formula] = found
        return found

    def _counted(self, formula: int, most: int) -> Few | None:
        count = 0
        listed: list[Any] | None = []
        for kind in TYPES:
            typed = self._kinds.typed(formula, kind)
            if typed == FALSE:
                continue
            found = self._of_type(kind, typed, most - count)
            if found is None:
                return None
            count += found.size
            listed = None if listed is None or found.values is None else [*listed, *found.values]
            if count > most:
                return None
        return Few(count, None if listed is None else tuple(listed))

    def _of_type(self, kind: str, typed: int, most: int) -> Few | None:
        if kind in _WORDS:
            return Few(1, (_WORDS[kind],)) if self._reading.can_be(kind, typed) else Few(0, ())
        if kind in ("array", "object"):
            if not self._reading.can_be(kind, typed):
                return Few(0, ())
            make = self._arrays if kind == "array" else self._objects
            values = make(typed, most)
            return None if values is None else Few(len(values), tuple(values))
        if kind == "number":
            numbers = few_numbers(self._formulas, typed, most, MOST_LISTED, self._spend)
            if numbers is None or numbers.numbers is None:
                return numbers and Few(numbers.size, None)
            return self._spelled(kind, typed, [(one, ("equals", one)) for one in numbers.numbers])
        strings = few_strings(self._formulas, typed, most, MOST_LISTED, self._kinds.limits, self._spend)
        if strings is None or strings.texts is None:
            return strings and Few(strings.size, None)
        return self._spelled(kind, typed, [(one, ("strings", (one,))) for one in strings.texts])

    def _spend(self, steps: int) -> None:
        self._reading.spend(1 + steps // 16)

    def _spelled(self, kind: str, typed: int, found: list[tuple[Any, Any]]) -> Few:
        """Those of some numbers or strings that a text can have."""
        formulas, kinds = self._formulas, self._kinds
        if not kinds.has_all_bytes or any(atom == ("integer", True) for atom in formulas.atoms(typed)):
            found = [
                (value, atom)
                for value, atom in found
                if kinds.has_leaf(kind, formulas.conjunction((typed, formulas.atom(atom))))
            ]
        values = tuple(_decimal(value) if isinstance(value, Fraction) else value for value, _ in found)
        return Few(len(values), values)

    def _arrays(self, typed: int, most: int) -> list[Any] | None:
        reading, found = self._reading, list[Any]()
        ahead: list[tuple[list[Any], tuple[int, ...]]] = [([], (typed,))]
        while ahead:
            further: list[tuple[list[Any], tuple[int, ...]]] = []
            for items, state in ahead:
                if arrays.at_close(self._formulas, state) is not None:
                    found.append(items)
                after = reading.item(state)
                if after is None:
                    continue
                assert not isinstance(after.state, objects.ObjectState)
                for value, told in self._values(after.job, after.state, most - len(found) - len(further)):
                    if value is _TOO_MANY:
                        return None
                    formula = constant(self._kinds.lowering, value, ITEM, 0)
                    onward = arrays.with_item(self._formulas, told, formula)
                    if onward == state:  # Why: then such items can come for ever
                        return None
                    further.append(([*items, value], onward))
                self._spend(16)
                if self._are_too_many(len(found) + len(further), most):
                    return None
            ahead = further
        return found

    def _are_too_many(self, count: int, most: int) -> bool:
        """Are these beginnings more than are asked for? They are kept one by one."""
        if MOST_LISTED < count <= most:
            raise _not_listed(most)
        return count > most

    def _values(self, job: Job, state: tuple[int, ...], most: int) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """The values of a job, each with the state that has been told of it; `_TOO_MANY` for more than ``most``."""
        few = self.few(job[0], max(most, 0))
        if few is not None and few.values is None:
            raise _not_listed(few.size)
        if few is None or few.values is None:
            yield _TOO_MANY, state
            return
        for value, formula in zip(few.values, self.constants(few) or (), strict=True):
            bits = 0
            for i, observed in enumerate(job[1:]):
                if self._reading.is_satisfiable(self._formulas.conjunction((formula, observed))):
                    bits |= 1 << i
            told = self._reading.told(state, job, bits)
            if told[0] != FALSE:
                yield value, told

    def _objects(self, typed: int, most: int) -> list[Any] | None:
        start = self._kinds.object_start((typed,))
        plain = self._reading.plain(start.table, typed)
        state: _State = start if plain is None else PlainState(plain[0], 0, 0)
        if any(self.names(start.table, label, most) is None for label in self._next_others(state)):
            return None
        ahead: list[tuple[dict[str, Any], _State]] = [({}, state)]
        table = self._kinds.key_table(start.table)
        labels = sorted(
            (name, label) for label, (name, _) in enumerate(table.labels) if name >= 0 and label in table.possible
        )
        for number, label in labels:
            further: list[tuple[dict[str, Any], _State]] = []
            for members, before in ahead:
                self._spend(16)
                absent = self._without(before, number, table.names[number])
                if absent is not None:
                    further.append((members, absent))
                for value, after in self._with(before, label, most - len(further)):
                    if value is _TOO_MANY:
                        return None
                    further.append(({**members, table.names[number]: value}, after))
                if self._are_too_many(len(further), most):
                    return None
            ahead = further
        for label, (name, _) in enumerate(table.labels):
            if name == objects.OTHER:
                more = self._others(ahead, start.table, label, most)
                if more is None:
                    return None
                ahead = more
        return [members for members, state in ahead if self._may_end(state)]

    def _others(
        self, ahead: "list[tuple[dict[str, Any], _State]]", table: int, label: int, most: int
    ) -> "list[tuple[dict[str, Any], _State]] | None":
        """Objects with members of names that are not declared, beside those without."""
        named = [state for _, state in ahead if label in self._next_others(state)]
        names = self.names(table, label, most) if named else ()
        if names is None:
            return None
        for name in names:
            further = list(ahead)
            for members, before in ahead:
                self._spend(16)
                for value, after in self._with(before, label, most - len(further)):
                    if value is _TOO_MANY:
                        return None
                    further.append(({**members, name: value}, self._named(after, name)))
                if self._are_too_many(len(further), most):
                    return None
            ahead = further
        return ahead

    def names(self, table: int, label: int, most: int) -> tuple[str, ...] | None:
        """The names of a label that are not declared; None where there are more than ``most``."""
        keys, formulas = self._kinds.key_table(table), self._formulas
        _, bits = keys.labels[label]
        parts = [pattern if bits >> i & 1 else formulas.negation(pattern) for i, pattern in enumerate(keys.patterns)]
        if keys.names:
            parts.append(formulas.negation(formulas.atom(("strings", tuple(sorted(keys.names))))))
        found = few_strings(formulas, formulas.conjunction(parts), most, MOST_LISTED, self._kinds.limits, self._spend)
        if found is not None and found.texts is None:
            raise _not_listed(found.size)
        return None if found is None else found.texts

    # States of objects, plain or not

    def _next_others(self, state: "_State") -> list[int]:
        """Labels of names that are not declared that may come."""
        reading = self._reading
        if isinstance(state, PlainState):
            labels = reading.plain_labels(state) & reading.plain_object(state).other_labels
            return [label for label in range(labels.bit_length()) if labels >> label & 1]
        table = self._kinds.key_table(state.table)
        return [
            label
            for label, (name, _) in enumerate(table.labels)
            if name == objects.OTHER and label in table.possible and reading.member(state, label) is not None
        ]

    def _without(self, state: "_State", number: int, name: str) -> "_State | None":
        """The state in which a declared name does not come; None where it must."""
        reading, formulas = self._reading, self._formulas
        if state.seen >> number & 1:
            return state
        seen = state.seen | 1 << number
        if isinstance(state, PlainState):
            plain = reading.plain_object(state)
            if plain.required >> number & 1:
                return None
            state = state._replace(seen=seen)
            return state if plain.is_live(state, reading.is_satisfiable) else None
        memo: dict[int, int] = {}
        without = tuple(
            formulas.rewrite(formula, lambda atom: FALSE if atom == ("required", name) else formulas.atom(atom), memo)
            for formula in state.formulas
        )
        state = state._replace(seen=seen, formulas=without)
        return state if without[0] != FALSE and reading.is_live_object(state) else None

    def _with(self, state: "_State", label: int, most: int) -> "Iterator[tuple[Any, _State]]":
        """The values of a member, each with the state after it; `_TOO_MANY` for more than ``most``."""
        reading = self._reading
        if isinstance(state, PlainState):
            if reading.plain_labels(state) >> label & 1:
                value, after = reading.after_plain(state, label)
                for found, _ in self._values((value,), (TRUE,), most):
                    yield found, after
            return
        member = reading.member(state, label)
        if member is not None:
            assert isinstance(member.state, objects.ObjectState)
            for found, told in self._values(member.job, member.state.formulas, most):
                yield found, member.state._replace(formulas=told)

    def _named(self, state: "_State", name: str) -> "_State":
        if isinstance(state, PlainState):
            return self._reading.plain_named(state, name)
        return self._reading.named(state, name)

    def _may_end(self, state: "_State") -> bool:
        if isinstance(state, PlainState):
            return self._reading.plain_may_end(state)
        return objects.at_close(self._formulas, state) is not None


_State = PlainState | objects.ObjectState
_TOO_MANY = object()


def _not_listed(count: int) -> LimitError:
    return LimitError("values", count, MOST_LISTED, "so many values that must differ are not listed")


def _decimal(number: Fraction) -> int | Decimal:
    """A number with a finite decimal expansion, exactly."""
    if number.denominator == 1:
        return int(number)
    places, scaled = 0, number
    while scaled.denominator != 1:
        places, scaled = places + 1, scaled * 10
    return Decimal((int(scaled < 0), tuple(map(int, str(abs(int(scaled))))), -places))
