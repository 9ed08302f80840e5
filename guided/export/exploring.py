"""From a schema to the graph of its values and states: the least fixpoint of their valuations.

Values and states are visited in order of discovery. The valuations of a value are found one by one. Each new valuation adds an edge to
every member or item that waits for it, possibly to a new state. Each valuation of a state propagates to its predecessors, and to the value
that contains it.

Complexity: O(values + states + edges), up to a budget (LimitError). Constraints that require remembering the bytes of a part are not
context-free and raise an error that names the keyword.
"""

from collections import deque
from collections.abc import Iterator

from guided.errors import LimitError, SchemaError
from guided.export.graph import ARRAY, CHAIN, ITEMS, OBJECT, Edge, Graph, Key, Leaf, Pending, State, Value
from guided.schema.containers.conjunctive import ConjunctiveState, ones
from guided.schema.containers.general import ITEM, ArrayState
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import TYPES
from guided.schema.formula.formulas import FALSE, Atom
from guided.schema.formula.queries import ValueQuery
from guided.schema.frontend.location import pointer_of
from guided.schema.pushdown.value_starts import bits_of
from guided.schema.values.key_table import KeyTable
from guided.schema.values.keys import OTHER

__all__ = ["explored"]

_COUNTING = "check that undeclared names are distinct: declare or require the names, or leave the keyword out"
_DIFFERING = "check that all items are distinct: list the items (enum), or leave the keyword out"
# With at most so many values, each item that must differ from the others is one of them.
_FEW_VALUES = 200


def explored(containers: Containers, most: int) -> Graph:
    """Return the values and states of a schema.

    ``most``: the largest number of states and edges.

    Raises
    ------
    SchemaError
        The schema is not a context-free language.
    LimitError
        There are too many states and edges, or a search exceeds its budget.
    """
    explorer = _Explorer(containers, most)
    explorer.run()
    return Graph(explorer.values, explorer.states)


class _Explorer:
    def __init__(self, containers: Containers, most: int) -> None:
        self.containers = containers
        self.satisfiability = containers.satisfiability
        self.context = containers.context
        self.formulas = containers.formulas
        self.values: list[Value] = []
        self.states: list[State] = []
        self._numbers: dict[ValueQuery | tuple[ValueQuery, ...], int] = {}
        self._keys: list[Key] = []
        self._state_numbers: dict[Key, int] = {}
        self._due: deque[tuple[bool, int]] = deque()
        self._news: list[tuple[bool, int, int]] = []
        self._most = most
        self._size = 0

    def run(self) -> None:
        """Visit values and states in order of discovery."""
        self._value((self.context.lowering.root,), "value")
        while self._due:
            is_value, number = self._due.popleft()
            self.formulas.steps.begin()
            if is_value:
                self._look_at_value(number)
            else:
                self._look_at_state(number)
            while self._news:
                self._spread(*self._news.pop())

    def _spend(self, place: str) -> None:
        self._size += 1
        if self._size > self._most:
            raise LimitError("rules", self._size, self._most, f"the grammar grows too large, at {place}")

    # Values

    def _value(self, query: ValueQuery, place: str) -> int:
        found = self._numbers.get(query)
        if found is None:
            meaning = tuple(tuple(self.context.typed(formula, kind) for formula in query) for kind in TYPES)
            found = self._numbers.get(meaning)
            if found is None:
                found = self._numbers[meaning] = len(self.values)
                node = self.formulas.nodes[query[0]]
                pointer = self.context.lowering.pointer(node[1]) if node[0] == "schema" else ""
                self.values.append(Value(query, pointer or place))
                self._due.append((True, found))
            self._numbers[query] = found
        return found

    def _look_at_value(self, number: int) -> None:
        value = self.values[number]
        for kind in TYPES:
            wanted = tuple(self.context.typed(formula, kind) for formula in value.query)
            if wanted[0] == FALSE or not self.satisfiability.can_be(kind, wanted[0]):
                continue
            if kind == "object":
                self._open(number, (OBJECT, self.containers.open_object(wanted)))
            elif kind == "array":
                self._open(number, (ARRAY, self.containers.open_array(wanted)))
            else:
                for bits in self.satisfiability.valuations_of(kind, wanted) if len(wanted) > 1 else (0,):
                    value.leaves.append(Leaf(kind, wanted, bits))
                    self._news.append((True, number, bits))

    def _open(self, number: int, key: Key) -> None:
        state = self._state(key, number)
        self.values[number].opens.append(state)
        self._connect(state, (True, number))

    # States

    def _state(self, key: Key, owner: int) -> int:
        found = self._state_numbers.get(key)
        if found is None:
            found = self._state_numbers[key] = len(self.states)
            self.states.append(State(key[0], owner))
            self._keys.append(key)
            self._due.append((False, found))
            self._spend(self.values[owner].place)
        return found

    def _connect(self, state: int, before: tuple[bool, int]) -> None:
        """Propagate the valuations of a state to its predecessor."""
        self.states[state].before.append(before)
        self._news += [(*before, bits) for bits in sorted(self.states[state].valuations)]

    def _spread(self, is_value: bool, number: int, bits: int) -> None:
        """Add a valuation to a value or state, and propagate it."""
        one = self.values[number] if is_value else self.states[number]
        if bits in one.valuations:
            return
        one.valuations.add(bits)
        if isinstance(one, State):
            self._news += [(*before, bits) for before in one.before]
        else:
            for pending in one.waiting:
                self._edge(pending, number, bits)

    def _look_at_state(self, number: int) -> None:
        state, (kind, content) = self.states[number], self._keys[number]
        ended = None if kind == CHAIN else content.at_close()
        state.close = -1 if ended is None else bits_of(ended)
        if state.close >= 0:
            self._news.append((False, number, state.close))
        for label, query, after in self._members(number):
            value = self._value(query, self._place(state.owner, label))
            pending = Pending(number, label, query[1:], after)
            self.values[value].waiting.append(pending)
            for bits in sorted(self.values[value].valuations):
                self._edge(pending, value, bits)

    def _place(self, owner: int, label: tuple[KeyTable, int] | None) -> str:
        around = self.values[owner].place
        if label is None:
            return f"{around}/items"
        table = label[0]
        name = table.labels[label[1]][0]
        return f"{around}/others" if name == OTHER else f"{around}/{table.names[name]}"

    def _edge(self, pending: Pending, value: int, bits: int) -> None:
        source, label, observed, (kind, content) = pending
        reported = content.with_valuation(observed, bits)
        if reported is None:
            return
        owner = self.states[source].owner
        self._spend(self.values[owner].place)
        target = self._state((kind, reported), owner)
        self.states[source].edges.append(Edge(label, value, bits, target))
        self._connect(target, (False, source))

    def _members(self, number: int) -> "Iterator[tuple[tuple[KeyTable, int] | None, ValueQuery, Key]]":
        """Yield what may come next: the key, the query of the value, and the state in which it is pending."""
        kind, content = self._keys[number]
        if isinstance(content, ArrayState):
            item = content.after(ITEM)
            if item is None:
                return
            query, rest = item
            values = self.containers.values.constants_up_to(query[0], _FEW_VALUES) if rest.remembers() else None
            if values is not None:
                for value in values:
                    one = self.formulas.conjunction((query[0], value))
                    yield None, (one, *query[1:]), (ARRAY, self._with_item(rest, value))
            elif kind == ITEMS:
                raise self._refusal(number, "uniqueItems", _DIFFERING)
            else:
                yield None, query, (ITEMS if rest.remembers() else ARRAY, rest)
            return
        table = content.keys
        first, n_chained = -1, 0
        if isinstance(content, ConjunctiveState):
            first, n_chained = self._first_name(content, table.n_ordered), table.n_ordered
        for label in ones(content.labels()):
            name = table.labels[label][0]
            if name != first if kind == CHAIN else 0 <= name < n_chained:
                continue
            after = content.after(label)
            assert after is not None
            if name == OTHER and after[1].remembers():
                raise self._refusal(number, "minProperties", _COUNTING)
            yield (table, label), after[0], (OBJECT, after[1])
        if first < 0 or not isinstance(content, ConjunctiveState):
            return
        if kind == CHAIN:
            if content.rules.required >> first & 1:
                return
            content = content._replace(seen=content.seen | 1 << first)
        if self._first_name(content, table.n_ordered) >= 0:
            state = self.states[number]
            state.link = self._state((CHAIN, content), state.owner)
            self._connect(state.link, (False, number))

    def _with_item(self, state: ArrayState, value: int) -> ArrayState:
        """Return the state that knows one more item, a constant. Why sorted: arrays of the same items in any order share a state."""
        formulas = self.formulas

        def known(atom: Atom) -> int:
            return formulas.atom(("uniqueItems", *sorted({*atom[1:], value})) if atom[0] == "uniqueItems" else atom)

        memo: dict[int, int] = {}
        return state._replace(formulas=tuple(formulas.rewrite(one, known, memo) for one in state.formulas))

    def _first_name(self, state: ConjunctiveState, n_ordered: int) -> int:
        """Return the first declared name that may still come, if names are ordered; -1 for none."""
        return next((i for i in range(n_ordered) if not state.seen >> i & 1), -1)

    # Refusals

    def _refusal(self, number: int, keyword: str, reason: str) -> SchemaError:
        """Return the error of a keyword that no context-free grammar expresses, with its location in the schema."""
        owner = self.values[self.states[number].owner]
        typed = (self.context.typed(formula, kind) for formula in owner.query for kind in ("object", "array"))
        atoms = (atom for formula in typed for atom in self.formulas.atoms(formula) if atom[0] == keyword)
        origins = self.context.lowering.origins
        known = (origins[found] for atom in atoms if (found := self.formulas.atom(atom)) in origins)
        return SchemaError(f"a context-free grammar cannot {reason}", pointer_of(next(known, ())), keyword)
