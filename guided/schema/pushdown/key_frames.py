"""Frames of keys: from a key's opening quote to the label that its closing quote produces.

A table of names is one frame, shared by all states of an object. The cell restricts the names by the labels it allows, and each control
is guarded by the labels it can still lead to. Outside the declared names all frames continue in one shared control
(`Quoted.other_key`), so the mask of a key costs only the difference. A frame has an automaton of its own only if patterns classify the
keys, or if escapes give a name many spellings (`guided.schema.values.keys`).

Complexity: one row per byte of the names.
"""

from functools import partial
from itertools import accumulate

import numpy as np

from guided.arrays import DEAD, Int32Array, Int64Array, UInt64Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import ACTION, MANY, PLAN, PushdownTables, action_entry
from guided.caching import cached_property
from guided.fixpoint.worklist import post_order
from guided.kernels import names as kernel
from guided.schema.formula.atoms import Arguments, QuoteMark
from guided.schema.formula.formulas import FALSE
from guided.schema.pushdown.exclusions import Exclusions
from guided.schema.pushdown.structure import Structure
from guided.schema.values.key_table import KeyTable, KeyTables

__all__ = ["KeyFrames", "edges", "labels_ahead"]

# Measured: edges of an automaton of names that are added in the time of a step.
_EDGES_PER_STEP = 4
_TOO_LARGE = "the names and patterns of an object have too large an automaton"


class KeyFrames:
    """The frames of one schema's tables of keys.

    Parameters
    ----------
    key_tables, structure, tables
        Those of the machine.
    arguments : Arguments, optional
        How the members of the outermost object are written, if as arguments.
    """

    def __init__(
        self,
        key_tables: KeyTables,
        structure: Structure,
        tables: PushdownTables,
        arguments: Arguments | None = None,
    ) -> None:
        self._key_tables = key_tables
        self._arguments = arguments
        # Names of arguments, by table; and first control of each of their frames.
        self._of_arguments: dict[KeyTable, tuple[int, Automaton]] = {}
        self._structure = structure
        self._tables = tables
        # By table and quote.
        self._starts: dict[tuple[KeyTable, int], int] = {}
        # Controls of names between other quotes than the first: first, last, and the number of the quote.
        self._others = [
            (quoted.other_key, quoted.other_key + quoted.body.n_states, at)
            for at, quoted in enumerate(structure.quoted)
            if at
        ]
        self._actions: list[int] = [structure.other_key_done]
        self._labels: dict[int, int] = {structure.other_key_done: 0}

    @cached_property
    def _without(self) -> list[Exclusions]:
        """The frames that exclude names, by quote."""
        return [Exclusions(self._tables, is_number=False) for _ in self._structure.quoted]

    @cached_property
    def _without_arguments(self) -> Exclusions:
        return Exclusions(self._tables, is_number=False)

    def label(self, action: int) -> int | None:
        """Return the label that a closing quote produces; None for any other action."""
        return self._labels.get(action)

    def start(self, table: KeyTable, others: int = FALSE, at: int = 0, *, is_outermost: bool = False) -> int:
        """Return the control after the opening quote of a key that is none of ``others`` (`KeyTables.with_name`).

        ``at``: the number of the quote. ``is_outermost``: it is the name of an argument.
        """
        if others:
            without = self._without_arguments if is_outermost else self._without[at]
            base = self.start(table, at=at, is_outermost=is_outermost)
            found = without.without_chain(base, others, partial(self._key_tables.link_of_names, quote=self.quote(at)))
            assert found is not None, "strings have no tails"
            return found
        if is_outermost:
            return self.argument_names(table)[0]
        found = self._starts.get((table, at))
        if found is None:
            (automaton, spellings), begin = table.between(self.quote(at)), self._tables.n_controls
            if automaton is None:
                found = self._of_names(spellings, at)
            else:
                found = self._of_automaton(automaton, len(table.labels), self._end(at))
            if at:
                self._others.append((begin, self._tables.n_controls, at))
            self._starts[table, at] = found
        return found

    def quote_at(self, control: int) -> int:
        """Return the number of the quotes around a name."""
        # PERF: JSON has one kind, and each completion of a name asks (`python -m benchmarks.soak`).
        if len(self._structure.quoted) == 1:
            return 0
        return next(
            (at for first, last, at in self._others if first <= control < last),
            next((at for at, without in enumerate(self._without) if control in without), 0),
        )

    def quote(self, at: int) -> QuoteMark:
        """Return the quote of a number."""
        return "'" if at else '"'

    def _end(self, at: int) -> int:
        return self._structure.quoted[at].quote if at else self._structure.after_name

    def argument_names(self, table: KeyTable) -> tuple[int, Automaton]:
        """Return the frame of a table's keys as names of arguments: its first control, and its automaton."""
        found = self._of_arguments.get(table)
        if found is None:
            assert self._arguments is not None
            automaton = table.argument_names(self._arguments)
            n_labels = len(table.labels)
            first = self._of_automaton(automaton, n_labels, ord(self._arguments.end))
            found = self._of_arguments[table] = first, automaton
        return found

    def is_without(self, control: int) -> bool:
        """Return whether a control belongs to a frame that excludes names."""
        return control in self._without_arguments or any(control in without for without in self._without)

    def is_outermost(self, control: int) -> bool:
        """Return whether a control is in the name of an argument."""
        return control in self._without_arguments or any(
            first <= control < first + automaton.n_states for first, automaton in self._of_arguments.values()
        )

    def end_at(self, control: int) -> int:
        """Return the byte that ends a key."""
        if self._arguments is not None and self.is_outermost(control):
            return ord(self._arguments.end)
        return self._end(self.quote_at(control))

    def done(self, label: int) -> int:
        """Return the entry of the closing quote that produces a label."""
        self._add_actions(label + 1)
        return action_entry(self._actions[label])

    def _add_actions(self, n_labels: int) -> None:
        labels = range(len(self._actions), n_labels)
        if labels:
            first = self._tables.n_actions
            self._tables.add_actions(labels)
            added = range(first, self._tables.n_actions)
            self._labels.update(zip(added, labels, strict=True))
            self._actions += added

    def _of_names(self, spellings: tuple[tuple[bytes, ...], ...], at: int) -> int:
        """Add a trie of names that falls back to the shared control for all other keys."""
        tables, other_key = self._tables, self._structure.quoted[at].other_key
        texts = [spelling for ways in spellings for spelling in ways]
        if not texts:
            return other_key
        labels = [label for label, ways in enumerate(spellings, 1) for _ in ways]
        self._add_actions(1 + len(spellings))
        ends = ACTION - np.array(self._actions[: len(spellings) + 1], np.int32)
        data, most = b"".join(texts), 1 + sum(map(len, texts))
        first = tables.make_room(most)
        words = np.zeros((most, -(-len(ends) // 64)), np.uint64)
        count = kernel.fill_names(
            np.frombuffer(data, np.uint8), np.array([0, *accumulate(map(len, texts))], np.int32), np.array(labels, np.int32), ends,
            self._end(at), other_key, first, tables.rows, tables.info, tables.live, np.empty(most, np.int32), words,
        )  # fmt: skip
        tables.register(words[:count])
        return first

    def _of_automaton(self, automaton: Automaton, n_labels: int, end: int) -> int:
        """Add the frame of an automaton whose labels are those of the table; the byte ``end`` ends a key."""
        tables = self._tables
        sources, targets = edges(automaton.table)
        tables.steps.spend(len(sources) // _EDGES_PER_STEP, _TOO_LARGE)
        rows = automaton.by_byte()
        first = tables.n_controls
        alive = rows >= 0
        accepting = np.flatnonzero(automaton.accepting).tolist()
        leads_to = labels_ahead(automaton, sources.tolist(), targets.tolist())
        rows[alive] += first
        for state in accepting:
            rows[state, end] = self.done(int(automaton.labels[state]))
        tables.controls(rows)
        is_broad = (rows != DEAD).sum(axis=1) > MANY
        tables.info[first : first + len(rows), PLAN] = np.where(is_broad, np.arange(first, first + len(rows)), -1)
        tables.guard(first, _words(leads_to, n_labels))
        return first


def labels_ahead(automaton: Automaton, sources: list[int], targets: list[int]) -> list[int]:
    """Return, for each state, the set of the labels that it can still lead to, by edges between different states. O(edges).

    States that lead to each other have the same set. They are found by Kosaraju's two searches, those that lead to others first.
    """
    n_states = len(automaton.table)
    onward: list[list[int]] = [[] for _ in range(n_states)]
    back: list[list[int]] = [[] for _ in range(n_states)]
    for source, target in zip(sources, targets, strict=True):
        onward[source].append(target)
        back[target].append(source)
    members: list[list[int]] = []
    component_of = [-1] * n_states
    for root in reversed(post_order(range(n_states), onward.__getitem__)):
        if component_of[root] >= 0:
            continue
        found = [root]
        component_of[root] = len(members)
        for state in found:
            new = {source for source in back[state] if component_of[source] < 0}
            for source in new:
                component_of[source] = len(members)
            found += new
        members.append(found)
    labels = [0] * len(members)
    for state in np.flatnonzero(automaton.accepting).tolist():
        labels[component_of[state]] |= 1 << int(automaton.labels[state])
    for component in reversed(range(len(members))):
        ahead = {component_of[target] for state in members[component] for target in onward[state]}
        for other in ahead:
            labels[component] |= labels[other]
    return [labels[component] for component in component_of]


def edges(table: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Return the different states with an edge, sources and targets, the last sources first."""
    targets = np.sort(table, axis=1)
    is_edge = (targets >= 0) & (targets != np.arange(len(table))[:, None])
    is_edge[:, 1:] &= targets[:, 1:] != targets[:, :-1]
    sources, places = np.nonzero(is_edge[::-1])
    sources = len(table) - 1 - sources
    return sources, targets[sources, places]


def _words(sets: list[int], n_labels: int) -> UInt64Array:
    width = -(-n_labels // 64)
    data = b"".join(labels.to_bytes(8 * width, "little") for labels in sets)
    return np.frombuffer(data, np.uint64).reshape(len(sets), width)
