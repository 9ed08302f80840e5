"""From a schema to the graph of its values and states: the least fixpoint of what each can report.

Values and states are looked at in the order in which they are met. What a value can report comes to light bit by bit, and every member or
item that waits for it then has a further edge, to a state that may be new; what a state can report, every state before it can report as
well, and the value in which it all began.

Complexity: O(values + states + edges), of at most so many as allowed (LimitError). What needs the bytes of a part to be remembered, and so
is no context-free language, is refused by name.
"""

from collections import deque
from collections.abc import Iterator

from guided.errors import LimitError, SchemaError
from guided.schema import arrays, objects
from guided.schema.atoms import TYPES
from guided.schema.formula import FALSE, TRUE
from guided.schema.grammar.graph import (
    ARRAY,
    CHAIN,
    ITEMS,
    OBJECT,
    PLAIN,
    Content,
    Edge,
    Graph,
    Key,
    Leaf,
    Pending,
    State,
    Value,
)  # fmt: skip
from guided.schema.jobs import Job
from guided.schema.objects import OTHER, ObjectState
from guided.schema.places import bits_of, item_state
from guided.schema.plain import PlainState
from guided.schema.reading import Reading
from guided.schema.site import pointer_of

__all__ = ["explored"]

_COUNTING = "can tell that no undeclared name counts twice: declare or require the names, or leave the keyword out"
_DIFFERING = "can tell that any number of items differ: list the items (enum), or leave the keyword out"


def explored(reading: Reading, most: int) -> Graph:
    """The values and states of a schema.

    Parameters
    ----------
    reading : Reading
    most : int
        Largest number of states and edges.

    Raises
    ------
    SchemaError
        What the schema asks for is no context-free language, or no value satisfies it.
    LimitError
        There are too many states and edges, or a search passes its budget.
    """
    explorer = _Explorer(reading, most)
    explorer.run()
    if not explorer.values[0].reports:
        raise SchemaError("no value satisfies the schema", "", "schema")
    return Graph(explorer.values, explorer.states)


class _Explorer:
    def __init__(self, reading: Reading, most: int) -> None:
        self.reading = reading
        self.kinds = reading.kinds
        self.formulas = reading.formulas
        self.values: list[Value] = []
        self.states: list[State] = []
        self._is_ordered = self.kinds.options.property_order == "schema"
        self._numbers: dict[Job | tuple[Job, ...], int] = {}
        self._keys: list[Key] = []
        self._state_numbers: dict[Key, int] = {}
        self._due: deque[tuple[bool, int]] = deque()
        self._news: list[tuple[bool, int, int]] = []
        self._most = most
        self._size = 0

    def run(self) -> None:
        """Look at values and states in the order in which they are met."""
        self._value((self.kinds.lowering.root,), "value")
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

    def _value(self, job: Job, place: str) -> int:
        found = self._numbers.get(job)
        if found is None:
            meaning = tuple(tuple(self.kinds.typed(formula, kind) for formula in job) for kind in TYPES)
            found = self._numbers.get(meaning)
            if found is None:
                found = self._numbers[meaning] = len(self.values)
                node = self.formulas.nodes[job[0]]
                pointer = self.kinds.lowering.pointer(node[1]) if node[0] == "schema" else ""
                self.values.append(Value(job, pointer or place))
                self._due.append((True, found))
            self._numbers[job] = found
        return found

    def _look_at_value(self, number: int) -> None:
        value = self.values[number]
        for kind in TYPES:
            wanted = tuple(self.kinds.typed(formula, kind) for formula in value.job)
            if wanted[0] == FALSE or not self.reading.can_be(kind, wanted[0]):
                continue
            if kind == "object":
                state = self.kinds.object_start(wanted)
                plain = self.reading.plain(state.table, wanted[0]) if len(wanted) == 1 else None
                self._open(number, (OBJECT, state) if plain is None else (PLAIN, PlainState(plain[0], 0, 0)))
            elif kind == "array":
                self._open(number, (ARRAY, wanted))
            else:
                for bits in self.reading.reports_of(kind, wanted) if len(wanted) > 1 else (0,):
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
        """What a state can report, what comes before it can as well."""
        self.states[state].before.append(before)
        self._news += [(*before, bits) for bits in sorted(self.states[state].reports)]

    def _spread(self, is_value: bool, number: int, bits: int) -> None:
        """Make known that a value or a state can report this."""
        one = self.values[number] if is_value else self.states[number]
        if bits in one.reports:
            return
        one.reports.add(bits)
        if isinstance(one, State):
            self._news += [(*before, bits) for before in one.before]
        else:
            for pending in one.waiting:
                self._edge(pending, number, bits)

    def _look_at_state(self, number: int) -> None:
        state, (kind, content) = self.states[number], self._keys[number]
        state.close = self._closing(kind, content)
        if state.close >= 0:
            self._news.append((False, number, state.close))
        for label, job, after in self._members(number):
            value = self._value(job, self._place(state.owner, label))
            pending = Pending(number, label, job[1:], after)
            self.values[value].waiting.append(pending)
            for bits in sorted(self.values[value].reports):
                self._edge(pending, value, bits)

    def _place(self, owner: int, label: tuple[int, int] | None) -> str:
        around = self.values[owner].place
        if label is None:
            return f"{around}/items"
        table = self.kinds.key_table(label[0])
        name = table.labels[label[1]][0]
        return f"{around}/others" if name == OTHER else f"{around}/{table.names[name]}"

    def _closing(self, kind: str, content: Content) -> int:
        if kind == CHAIN:
            return -1
        if isinstance(content, PlainState):
            return 0 if self.reading.plain_may_end(content) else -1
        module = objects if isinstance(content, ObjectState) else arrays
        ended = module.at_close(self.formulas, content)
        return -1 if ended is None else bits_of(ended)

    def _edge(self, pending: Pending, value: int, bits: int) -> None:
        source, label, observed, (kind, content) = pending
        if observed and not isinstance(content, PlainState):
            job = (TRUE, *observed)
            if isinstance(content, ObjectState):
                content = content._replace(formulas=self.reading.told(content.formulas, job, bits))
            else:
                content = self.reading.told(content, job, bits)
            if (content.formulas if isinstance(content, ObjectState) else content)[0] == FALSE:
                return
        owner = self.states[source].owner
        self._spend(self.values[owner].place)
        target = self._state((kind, content), owner)
        self.states[source].edges.append(Edge(label, value, bits, target))
        self._connect(target, (False, source))

    def _members(self, number: int) -> "Iterator[tuple[tuple[int, int] | None, Job, Key]]":
        """What may come next: the key, the job of the value, and the state in which it is pending."""
        kind, content = self._keys[number]
        if isinstance(content, PlainState):
            yield from self._plain_members(number, kind, content)
        elif isinstance(content, ObjectState):
            table = self.kinds.key_table(content.table)
            for label in range(len(table.labels)):
                after = self.reading.member(content, label)
                if after is not None:
                    assert isinstance(after.state, ObjectState)
                    if table.labels[label][0] == OTHER and self.reading.counts(after.state):
                        raise self._refusal(number, "minProperties", _COUNTING)
                    yield (content.table, label), after.job, (OBJECT, after.state)
        else:
            item = self.reading.item(content)
            if item is not None:
                if kind == ITEMS:
                    raise self._refusal(number, "uniqueItems", _DIFFERING)
                after_item = item_state(item)
                is_unique = arrays.is_unique(self.formulas, after_item)
                yield None, item.job, (ITEMS if is_unique else ARRAY, after_item)

    def _plain_members(self, number: int, kind: str, state: PlainState) -> "Iterator[tuple[tuple[int, int], Job, Key]]":
        plain = self.reading.plain_object(state)
        table = self.kinds.key_table(plain.table)
        allowed = self.reading.plain_labels(state)
        first = self._first_name(state, table.n_ordered)
        for label, (name, _) in enumerate(table.labels):
            if not allowed >> label & 1 or (kind == CHAIN and name != first):
                continue
            if kind == PLAIN and self._is_ordered and 0 <= name < table.n_ordered:
                continue
            value, after = self.reading.after_plain(state, label)
            if name == OTHER and self.reading.plain_counts(after):
                raise self._refusal(number, "minProperties", _COUNTING)
            yield (plain.table, label), (value,), (PLAIN, after)
        if kind == CHAIN and not plain.required >> first & 1:
            state = state._replace(seen=state.seen | 1 << first)
        elif kind == CHAIN:
            return
        if self._first_name(state, table.n_ordered) >= 0:
            self._link(number, state)

    def _first_name(self, state: PlainState, n_ordered: int) -> int:
        """The first declared name that may still come, where they come in order; -1 for none."""
        return next((i for i in range(n_ordered) if not state.seen >> i & 1), -1) if self._is_ordered else -1

    def _link(self, number: int, state: PlainState) -> None:
        found = self._state((CHAIN, state), self.states[number].owner)
        self.states[number].link = found
        self._connect(found, (False, number))

    # Refusals

    def _refusal(self, number: int, keyword: str, reason: str) -> SchemaError:
        """The error of a keyword that no context-free grammar says, with its place in the schema."""
        owner = self.values[self.states[number].owner]
        typed = (self.kinds.typed(formula, kind) for formula in owner.job for kind in ("object", "array"))
        atoms = (atom for formula in typed for atom in self.formulas.atoms(formula) if atom[0] == keyword)
        origins = self.kinds.lowering.origins
        known = (origins[found] for atom in atoms if (found := self.formulas.atom(atom)) in origins)
        return SchemaError(f"no context-free grammar {reason}", pointer_of(next(known, ())), keyword)
