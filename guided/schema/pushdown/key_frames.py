"""Frames of keys: from a key's opening quote to the label that its closing quote produces.

A table of names is one frame, shared by all states of an object. The cell restricts the names by the labels it allows, and each control
is guarded by the labels it can still lead to. Outside the declared names all frames continue in one shared control
(`Structure.other_key`), so the mask of a key costs only the difference. A frame has an automaton of its own only if patterns classify the
keys, or if escapes give a name many spellings (`guided.schema.values.keys`).

Complexity: one row per byte of the names.
"""

from itertools import accumulate

import numpy as np

from guided.arrays import DEAD, Int32Array, Int64Array, UInt64Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import COMMON, MANY, PLAN, PushdownTables, action_entry
from guided.caching import cached_property
from guided.kernels import names as kernel
from guided.schema.formula.atoms import Arguments
from guided.schema.formula.formulas import FALSE
from guided.schema.pushdown.exclusions import Exclusions
from guided.schema.pushdown.structure import Structure
from guided.schema.values.context import SchemaContext

__all__ = ["KeyFrames"]


class KeyFrames:
    """The frames of one schema's tables of keys.

    Parameters
    ----------
    context, structure, tables
        Those of the machine.
    arguments : Arguments, optional
        How the members of the outermost object are written, if as arguments.
    """

    def __init__(
        self,
        context: SchemaContext,
        structure: Structure,
        tables: PushdownTables,
        arguments: Arguments | None = None,
    ) -> None:
        self._context = context
        self._arguments = arguments
        # Names of arguments, by table; and first control of each of their frames.
        self._of_arguments: dict[int, tuple[int, Automaton]] = {}
        self._structure = structure
        self._tables = tables
        self._starts: dict[int, int] = {}
        self._actions: list[int] = [structure.other_key_done]
        self._labels: dict[int, int] = {structure.other_key_done: 0}

    @cached_property
    def _without(self) -> Exclusions:
        return Exclusions(self._tables, is_number=False)

    @cached_property
    def _without_arguments(self) -> Exclusions:
        return Exclusions(self._tables, is_number=False)

    def label(self, action: int) -> int | None:
        """Return the label that a closing quote produces; None for any other action."""
        return self._labels.get(action)

    def start(self, table: int, others: int = FALSE, *, is_outermost: bool = False) -> int:
        """Return the control after the opening quote of a key that is none of ``others`` (`SchemaContext.with_name`).

        ``is_outermost``: it is the name of an argument.
        """
        if others:
            without = self._without_arguments if is_outermost else self._without
            base = self.start(table, is_outermost=is_outermost)
            found = without.without_chain(base, others, self._context.link_of_names)
            assert found is not None, "strings have no tails"
            return found
        if is_outermost:
            return self.argument_names(table)[0]
        found = self._starts.get(table)
        if found is None:
            automaton = self._context.key_automaton(table)
            if automaton is None:
                found = self._of_names(self._context.spellings(table))
            else:
                found = self._of_automaton(
                    automaton, len(self._context.key_table(table).labels), self._structure.after_name
                )
                self._tables.info[found : found + automaton.n_states, COMMON] = self._structure.other_key
            self._starts[table] = found
        return found

    def argument_names(self, table: int) -> tuple[int, Automaton]:
        """Return the frame of a table's keys as names of arguments: its first control, and its automaton."""
        found = self._of_arguments.get(table)
        if found is None:
            assert self._arguments is not None
            automaton = self._context.argument_names(table, self._arguments)
            n_labels = len(self._context.key_table(table).labels)
            first = self._of_automaton(automaton, n_labels, ord(self._arguments.end))
            found = self._of_arguments[table] = first, automaton
        return found

    def is_without(self, control: int) -> bool:
        """Return whether a control belongs to a frame that excludes names."""
        return control in self._without or control in self._without_arguments

    def is_outermost(self, control: int) -> bool:
        """Return whether a control is in the name of an argument."""
        return control in self._without_arguments or any(
            first <= control < first + automaton.n_states for first, automaton in self._of_arguments.values()
        )

    def end_at(self, control: int) -> int:
        """Return the byte that ends a key."""
        if self._arguments is not None and self.is_outermost(control):
            return ord(self._arguments.end)
        return self._structure.after_name

    def done(self, label: int) -> int:
        """Return the entry of the closing quote that produces a label."""
        while label >= len(self._actions):
            action = self._tables.action(label=len(self._actions))
            self._labels[action] = len(self._actions)
            self._actions.append(action)
        return action_entry(self._actions[label])

    def _of_names(self, spellings: tuple[tuple[bytes, ...], ...]) -> int:
        """Add a trie of names that falls back to the shared control for all other keys."""
        tables, other_key = self._tables, self._structure.other_key
        texts = [spelling for ways in spellings for spelling in ways]
        if not texts:
            return other_key
        labels = [label for label, ways in enumerate(spellings, 1) for _ in ways]
        ends = np.zeros(len(spellings) + 1, np.int32)
        for label in dict.fromkeys(labels):
            ends[label] = self.done(label)
        data, most = b"".join(texts), 1 + sum(map(len, texts))
        if tables.n_controls + most > tables.limit:
            most = _n_prefixes(texts)
        first = tables.make_room(most)
        words = np.zeros((most, -(-len(ends) // 64)), np.uint64)
        count = kernel.fill_names(
            np.frombuffer(data, np.uint8), np.array([0, *accumulate(map(len, texts))], np.int32), np.array(labels, np.int32), ends,
            self._structure.after_name, other_key, first, tables.rows, tables.info, tables.live, np.empty(most, np.int32), words,
        )  # fmt: skip
        tables.register(count)
        tables.guard(first, words[:count])
        return first

    def _of_automaton(self, automaton: Automaton, n_labels: int, end: int) -> int:
        """Add the frame of an automaton whose labels are those of the table; the byte ``end`` ends a key."""
        tables = self._tables
        sources, targets = _edges(automaton.table)
        tables.steps.spend(len(sources), "the names and patterns of an object have too large an automaton")
        edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
        rows = automaton.by_byte()
        first = tables.n_controls
        alive = rows >= 0
        leads_to = [0] * len(rows)
        accepting = np.flatnonzero(automaton.accepting).tolist()
        for state in accepting:
            leads_to[state] = 1 << int(automaton.labels[state])
        has_changed = True
        while has_changed:
            has_changed = False
            for source, target in edges:
                more = leads_to[source] | leads_to[target]
                if more != leads_to[source]:
                    leads_to[source], has_changed = more, True
        rows[alive] += first
        for state in accepting:
            rows[state, end] = self.done(int(automaton.labels[state]))
        tables.controls(rows)
        is_broad = (rows != DEAD).sum(axis=1) > MANY
        tables.info[first : first + len(rows), PLAN] = np.where(is_broad, np.arange(first, first + len(rows)), -1)
        tables.guard(first, _words(leads_to, n_labels))
        return first


def _edges(table: Int32Array) -> tuple[Int64Array, Int32Array]:
    """Return the different states with an edge, sources and targets, the last sources first."""
    targets = np.sort(table, axis=1)
    is_edge = (targets >= 0) & (targets != np.arange(len(table))[:, None])
    is_edge[:, 1:] &= targets[:, 1:] != targets[:, :-1]
    sources, places = np.nonzero(is_edge[::-1])
    sources = len(table) - 1 - sources
    return sources, targets[sources, places]


def _n_prefixes(texts: list[bytes]) -> int:
    """Return the number of nodes of a trie."""
    edges: dict[tuple[int, int], int] = {}
    for text in texts:
        node = 0
        for byte in text:
            node = edges.setdefault((node, byte), len(edges) + 1)
    return 1 + len(edges)


def _words(sets: list[int], n_labels: int) -> UInt64Array:
    width = -(-n_labels // 64)
    data = b"".join(labels.to_bytes(8 * width, "little") for labels in sets)
    return np.frombuffer(data, np.uint64).reshape(len(sets), width)
