"""What follows a key or a comma in an object or array that is read for a schema.

`Reading.member` and `Reading.item` give the job of the value that comes, the state after it, and only those reports that leave the object
or array able to end. So a state that cannot end is never made, and a key whose value cannot be is never begun (liveness at creation;
`guided.schema.liveness` answers what is asked).
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from guided.schema import array_terms, arrays, objects
from guided.schema.few.items import Values
from guided.schema.few.values import FewValues
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import Job, split, told, weakest
from guided.schema.key_layout import KeyLayout
from guided.schema.kinds import Kinds
from guided.schema.liveness import CHEAP_FIRST, Liveness, State
from guided.schema.marks import VALUE
from guided.schema.plain import PlainObject, PlainState, lowest
from guided.schema.terms import Literals, terms

__all__ = ["Next", "Reading"]

# Sets of literals that are compared in a step.
_SETS = 64
# Formulas of a value whose truths are looked at one by one.
_FEW_OBSERVED = 2
# So many alternatives are looked at one by one.
_MANY_OPTIONS = 4


class Next(NamedTuple):
    """A value that may come.

    Attributes
    ----------
    job : tuple of int
        What it is read for.
    state : ObjectState or tuple of int
        The object or array after it, waiting for its report.
    """

    job: Job
    state: State


class Reading(Liveness):
    """What may come next, and the answers so far."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__(kinds)
        self._is_ordered = kinds.options.property_order == "schema"
        self._alive: dict[int, int] = {}
        self._extended: dict[tuple[int, str], int] = {}
        self._counting: dict[tuple[int, ...], bool] = {}
        self._members: dict[tuple[objects.ObjectState, int | tuple[int, int]], Next | None] = {}
        self._labels: dict[objects.ObjectState, int] = {}
        # By table and formulas, the names of which it makes a difference whether they have been, as bits.
        self._relevant_names: dict[tuple[int, tuple[int, ...]], int] = {}
        self._spoken: dict[tuple[int, tuple[int, ...]], list[int] | None] = {}
        self._layouts: dict[int, KeyLayout] = {}
        self._items: dict[tuple[int, ...], Next | None] = {}
        self._few = FewValues(self)

    def few(self, formula: int, most: int) -> Values | None:
        """See `Liveness.few`."""
        found = self._few.few(formula, most)
        return None if found is None else Values(found.size, self._few.constants(found))

    def _next(self, after: State) -> Next | None:
        """The value that comes and the state after it, given the state in which it is pending."""
        is_object = isinstance(after, objects.ObjectState)
        parts = split(self.formulas, after.formulas if isinstance(after, objects.ObjectState) else after)
        if parts is None:
            return None
        (must, *observed), rest = parts
        if not is_object and (not arrays.must_differ(self.formulas, rest[:1]) or self._may_lack_values(rest)):
            must = self.formulas.conjunction((must, self.formulas.disjunction(self._ways(after, rest[0], must))))
            if not self.is_satisfiable(must):
                return None
        elif not observed:
            if not self.is_satisfiable(must) or not self.is_live(after, rest[:1]):
                return None
        else:
            must = self._allowed(after, must, observed, rest)
            if not self.is_satisfiable(must):
                return None
        state = after._replace(formulas=rest) if isinstance(after, objects.ObjectState) and is_object else rest
        return Next((must, *observed), state)

    def _may_lack_values(self, rest: tuple[int, ...]) -> bool:
        """May an item take a value that later ones need, since all must differ?"""
        formulas = self.formulas
        return arrays.is_unique(formulas, rest[:1]) and arrays.at_close(formulas, rest[:1]) is None

    def _allowed(self, after: State, must: int, observed: list[int], rest: tuple[int, ...]) -> int:
        """What must hold of a value, where some of its reports would leave no way to end."""
        formulas = self.formulas
        if not formulas.marks.of(rest[0]) & VALUE:
            return must if self.is_live(after, rest[:1]) else FALSE
        least = weakest(formulas, rest[0]) if len(observed) > _FEW_OBSERVED else None
        if least is not None and least != FALSE and self.is_live(after, (least,)):
            return must
        if all(self._is_told_by_type(kind, must, observed) for kind in ("array", "object")):
            return self._allowed_reports(after, must, observed, rest)
        return formulas.conjunction((must, formulas.disjunction(self._ways(after, rest[0], must))))

    def _ways(self, after: State, rest: int, must: int) -> list[int]:
        """What a pending value may be so that the object or array can end: each way a conjunction, none that says more than another."""
        formulas = self.formulas
        ways: dict[Literals, int] = {}
        others_ways: dict[int, None] = {}
        dead: list[Literals] = []

        def is_excluded(literals: Literals) -> bool:
            return any(way <= literals for way in ways) or any(one <= literals for one in dead)

        for term in terms(formulas, rest, self.spend, is_excluded):
            self.spend(1 + (len(ways) + len(dead)) // _SETS)
            value, others = self.parted(term)
            if self.is_live(after, (formulas.conjunction(others),)):
                way = frozenset(term).difference(others)
                needed = self._needed(others)
                if needed:
                    others_ways[formulas.conjunction((value, *map(formulas.negation, needed)))] = None
                    continue
                if not way:
                    return [TRUE]
                ways[way] = value
                continue
            once_more = self._repeated(others, formulas.conjunction((must, value)))
            if once_more is None:
                dead.append(self.contradiction(after, tuple(others)))
            else:
                others_ways.update(dict.fromkeys(once_more))
        return [*ways.values(), *others_ways]

    def _needed(self, term: list[int]) -> list[int]:
        """Of an array whose items must differ, the values that items still to come need."""
        if not any(self.formulas.nodes[one][0] == "uniqueItems" for one in term):
            return []
        spend = self.spend
        return sorted(array_terms.critical(self.formulas, term, self.is_satisfiable, self.few, spend) or ())

    def _repeated(self, term: list[int], value: int) -> list[int] | None:
        """What of a pending item's value a later item can repeat, in an array whose items must not all differ; None in any other."""
        formulas, nodes = self.formulas, self.formulas.nodes
        differ = [one for one in term if nodes[one][0] == "!" and nodes[nodes[one][1]][0] == "uniqueItems"]
        if not differ:
            return None
        others = [one for one in term if one not in differ]
        later = array_terms.later_values(formulas, others, self.is_satisfiable, self.few, self.spend)
        return [formulas.conjunction((value, one)) for one in later]

    def _is_told_by_type(self, kind: str, must: int, observed: list[int]) -> bool:
        """Does the type alone tell the truth of all that is observed, or can the value not be of it?"""
        typed = self.kinds.typed
        return typed(must, kind) == FALSE or all(typed(formula, kind) <= TRUE for formula in observed)

    def _allowed_reports(self, after: State, must: int, observed: list[int], rest: tuple[int, ...]) -> int:
        """The same for values without members, whose automaton knows all reports."""
        job = (must, *observed)
        possible = self.reports(job)
        allowed = [bits for bits in possible if self.is_live(after, self.told(rest[:1], job, bits))]
        if len(allowed) == len(possible):
            return must
        formulas = self.formulas
        cases = (
            formulas.conjunction(
                formula if bits >> i & 1 else formulas.negation(formula) for i, formula in enumerate(observed)
            )
            for bits in allowed
        )
        return formulas.conjunction((must, formulas.disjunction(cases)))

    def reports(self, job: Job) -> tuple[int, ...]:
        """The truths that the observed formulas can have together, as bits; of arrays and objects the type must tell them."""
        must, *observed = job
        found: set[int] = set()
        for kind in CHEAP_FIRST:
            if len(found) == 1 << len(observed):
                break
            first = self.kinds.typed(must, kind)
            if first != FALSE and self.can_be(kind, first):
                found.update(self.reports_of(kind, (first, *(self.kinds.typed(one, kind) for one in observed))))
        return tuple(sorted(found))

    def reports_of(self, kind: str, wanted: Job) -> tuple[int, ...]:
        """The same of values of one type, for formulas over its atoms."""
        must, *observed = wanted
        certain = sum(1 << i for i, formula in enumerate(observed) if formula == TRUE)
        places: dict[int, int] = {}
        for i, formula in enumerate(observed):
            if formula > TRUE:
                places[formula] = places.get(formula, 0) | 1 << i
        if kind not in ("string", "number"):
            return (certain,)
        found = self.kinds.truths_together(kind, (must, *places))
        return tuple(certain | sum(at for j, at in enumerate(places.values()) if bits >> j & 1) for bits in found)

    def member(self, state: objects.ObjectState, label: int) -> Next | None:
        """What comes after a key of this label; None where it cannot come."""
        table = self.kinds.key_table(state.table)
        name = table.labels[label][0]
        if name >= 0 and state.seen >> name & 1:
            return None
        found = self._member(self._relevant(state), label)
        if found is None:
            return None
        seen = state.seen if name < 0 else state.seen | table.closed_by(name, self._is_ordered)
        assert isinstance(found.state, objects.ObjectState)
        return found if found.state.seen == seen else Next(found.job, found.state._replace(seen=seen))

    def _member(self, state: objects.ObjectState, label: int) -> Next | None:
        """The same for a state in which only names count that make a difference; which names are past is for others to say."""
        key = (state, self._alike(state, label))
        if key in self._members:
            return self._members[key]
        after = self.kinds.after_key(state, label, self._is_ordered)
        answer = None if after is None else self._next(after)
        if not self.questions.is_open:
            self._members[key] = answer
        return answer

    def _alike(self, state: objects.ObjectState, label: int) -> int | tuple[int, int]:
        """What labels have in common after which a state of an object, but for the names past, is the same: the label itself, of most.

        A name of which the state's formulas say nothing is as good as one that is not declared. In the order of the schema it makes a
        difference between which two of the names that they do speak of it stands.
        """
        table = self.kinds.key_table(state.table)
        spoken_of = self._spoken_of(state)
        index, bits = table.labels[label]
        if spoken_of is None or label not in table.possible:
            return label
        at = bisect_left(spoken_of, index)
        if at < len(spoken_of) and spoken_of[at] == index:
            return label
        return bits, at if self._is_ordered and index < table.n_ordered else 0

    def _spoken_of(self, state: objects.ObjectState) -> list[int] | None:
        """The places of the names that the formulas of a state speak of, ascending; None where any name makes a difference."""
        key = (state.table, state.formulas)
        if key not in self._spoken:
            places = self.kinds.key_table(state.table).places
            found = None
            if None not in map(self.useful, state.formulas):
                names = set(objects.required_names(self.formulas, state.formulas))
                for formula in state.formulas:
                    for atom in self.formulas.atoms(formula):
                        if atom[0] == "properties":
                            names.update(name for name, _ in atom[1])
                found = sorted(places[name] for name in names if name in places)
            self._spoken[key] = found
        return self._spoken[key]

    def _groups(self, state: objects.ObjectState) -> Iterator[int]:
        """The labels of keys that are possible at all, as bits, those together of which all may come or none."""
        table = self.kinds.key_table(state.table)
        spoken_of = self._spoken_of(state)
        if spoken_of is None:
            yield from (1 << label for label in range(len(table.labels)))
            return
        found = self._layouts.get(state.table)
        if found is None:
            found = self._layouts[state.table] = KeyLayout.of(table)
        yield from found.groups(spoken_of, is_ordered=self._is_ordered)

    def labels(self, state: objects.ObjectState) -> int:
        """Labels of keys that may come in an object, as bits."""
        relevant = self._relevant(state)
        found = self._labels.get(relevant)
        if found is None:
            found = 0
            options = self._options(relevant)
            if options is not None:
                for option in options:
                    found |= self.labels(option)
            else:
                for labels in self._groups(relevant):
                    if self.member(relevant, lowest(labels)) is not None:
                        found |= labels
            if not self.questions.is_open:
                self._labels[relevant] = found
        return found if state.seen == relevant.seen else found & ~self._past(state)

    def _past(self, state: objects.ObjectState) -> int:
        return self.kinds.key_table(state.table).labels_of(state.seen)

    def may_come(self, state: objects.ObjectState, labels: int) -> bool:
        """May a key of one of these labels, given as bits, come in an object? Without asking more of them than it takes."""
        relevant = self._relevant(state)
        if relevant in self._labels or self._options(relevant) is not None:
            return bool(labels & self.labels(state))
        if state.seen != relevant.seen:
            labels &= ~self._past(state)
        return any(
            self.member(state, lowest(some)) is not None for alike in self._groups(relevant) if (some := alike & labels)
        )

    def _options(self, state: objects.ObjectState) -> list[objects.ObjectState] | None:
        """The objects of which one must be, where they are many: what may come in any of them may come.

        Why not always: what is observed besides has to be rewritten for each key, and of many alternatives most say nothing of most keys.
        """
        node = self.formulas.nodes[state.formulas[0]]
        if node[0] != "|" or len(node[1]) < _MANY_OPTIONS:
            return None
        return [state._replace(formulas=(member,)) for member in node[1]]

    def _relevant(self, state: objects.ObjectState) -> objects.ObjectState:
        """The state in which only those names have been that make a difference to what may come beside them."""
        key = (state.table, state.formulas)
        relevant = self._relevant_names.get(key)
        if relevant is None:
            useful = [self.useful(formula) for formula in state.formulas]
            places = self.kinds.key_table(state.table).places
            relevant = 0 if None not in useful else -1
            for name in set().union(*(names for names in useful if names)):
                relevant |= 1 << places[name] if name in places else 0
            self._relevant_names[key] = relevant
        return state if state.seen & relevant == state.seen else state._replace(seen=state.seen & relevant)

    def item(self, state: tuple[int, ...]) -> Next | None:
        """What comes with one more item; None where none can."""
        if state in self._items:
            return self._items[state]
        after = arrays.after_item(self.formulas, state)
        answer = None if after is None else self._next(after)
        if not self.questions.is_open:
            self._items[state] = answer
        return answer

    def told(self, rest: tuple[int, ...], job: Job, bits: int) -> tuple[int, ...]:
        """The state after the value has reported."""
        return told(
            self.formulas, rest, {formula: TRUE if bits >> i & 1 else FALSE for i, formula in enumerate(job[1:])}
        )

    def plain_labels(self, state: PlainState) -> int:
        """Labels of keys that may come in a plain object, as bits."""
        plain = self.plains[state.number]
        alive = self._alive.get(state.number)
        if alive is None:
            alive = sum(1 << i for i in range(len(plain.values)) if self.is_satisfiable(plain.value(i)))
            if not self.questions.is_open:
                self._alive[state.number] = alive
        return plain.allowed(state, alive, self._is_ordered)

    def after_plain(self, state: PlainState, label: int) -> tuple[int, PlainState]:
        """The formula of the value of a key, and the state of a plain object after it."""
        plain = self.plains[state.number]
        return plain.value(label), plain.after(state, label, self._is_ordered)

    def named(self, state: objects.ObjectState, name: str) -> objects.ObjectState:
        """The state of an object after a key that is not declared, and is ``name``: it cannot come again."""
        kinds = self.kinds
        return state._replace(
            table=kinds.extended(state.table, name), seen=state.seen | 1 << len(kinds.key_table(state.table).names)
        )

    def counts(self, state: objects.ObjectState) -> bool:
        """Does it matter to an object that no name comes twice, even if it is not declared?"""
        found = self._counting.get(state.formulas)
        if found is None:
            found = self._counting[state.formulas] = any(
                objects.counts_names(self.formulas, formula, is_observed=place > 0)
                for place, formula in enumerate(state.formulas)
            )
        return found

    def plain_named(self, state: PlainState, name: str) -> PlainState:
        """The state of a plain object after a key that is not declared, and is ``name``: it cannot come again."""
        plain = self.plains[state.number]
        number = self._extended.get((state.number, name))
        if number is None:
            number = self._extended[state.number, name] = len(self.plains)
            self.plains.append(plain.extended(self.kinds.extended(plain.table, name)))
        return state._replace(number=number, seen=state.seen | 1 << len(self.kinds.key_table(plain.table).names))

    def plain_counts(self, state: PlainState) -> bool:
        """Does it matter to a plain object that no name comes twice, even if it is not declared?"""
        return state.members < self.plains[state.number].least

    def plain_may_end(self, state: PlainState) -> bool:
        """May a plain object end here?"""
        return self.plains[state.number].may_end(state)

    def plain_table(self, state: PlainState) -> int:
        """The table of keys of a plain object."""
        return self.plains[state.number].table

    def plain_object(self, state: PlainState) -> PlainObject:
        """The plain object that a state is of."""
        return self.plains[state.number]
