"""Frames of keys: from the opening quote of a key to the label that its closing quote gives.

A table of names is one frame, shared by all states of an object: which names may still come is the cell's business (the
labels it allows), and each
control is guarded by the labels that it can still lead to. Outside the declared names all frames run on in one common control
(`Structure.other_key`), so the mask of a key costs the difference between the two. Only where patterns tell keys apart, or escapes may
spell a name in many ways, is a frame an automaton of its own (`guided.schema.keys`).

Complexity: a row for each byte of the names.
"""

from itertools import accumulate

import numpy as np

from guided.arrays import DEAD, UInt64Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import LIKE, MANY, PLAN, PushdownTables, action_entry
from guided.kernels import names as kernel
from guided.schema.kinds import Kinds
from guided.schema.layout import expanded
from guided.schema.structure import QUOTE, Structure

__all__ = ["KeyFrames"]


class KeyFrames:
    """The frames of one schema's tables of keys."""

    def __init__(self, kinds: Kinds, structure: Structure, tables: PushdownTables) -> None:
        self._kinds = kinds
        self._structure = structure
        self._tables = tables
        self._starts: dict[int, int] = {}
        self._actions: list[int] = [structure.other_key_done]
        self._labels: dict[int, int] = {structure.other_key_done: 0}

    def label(self, action: int) -> int | None:
        """The label that a key's closing quote gives; None where the action is no such quote."""
        return self._labels.get(action)

    def start(self, table: int) -> int:
        """The control after the opening quote of a key."""
        found = self._starts.get(table)
        if found is None:
            automaton = self._kinds.key_automaton(table)
            if automaton is None:
                found = self._of_names(self._kinds.spellings(table))
            else:
                found = self._of_automaton(automaton, len(self._kinds.key_table(table).labels))
            self._starts[table] = found
        return found

    def _done(self, label: int) -> int:
        while label >= len(self._actions):
            action = self._tables.action(label=len(self._actions))
            self._labels[action] = len(self._actions)
            self._actions.append(action)
        return action_entry(self._actions[label])

    def _of_names(self, spellings: tuple[tuple[bytes, ...], ...]) -> int:
        """A trie of names, beside the common control of all others."""
        tables, other_key = self._tables, self._structure.other_key
        texts = [spelling for ways in spellings for spelling in ways]
        if not texts:
            return other_key
        labels = [label for label, ways in enumerate(spellings, 1) for _ in ways]
        ends = np.zeros(len(spellings) + 1, np.int32)
        for label in dict.fromkeys(labels):
            ends[label] = self._done(label)
        data, most = b"".join(texts), 1 + sum(map(len, texts))
        if tables.n_controls + most > tables.limit:
            most = _n_prefixes(texts)
        first = tables.room(most)
        words = np.zeros((most, -(-len(ends) // 64)), np.uint64)
        count = kernel.fill_names(
            np.frombuffer(data, np.uint8), np.array([0, *accumulate(map(len, texts))], np.int32), np.array(labels, np.int32), ends,
            QUOTE, other_key, first, tables.rows, tables.info, tables.live, np.empty(most, np.int32), words,
        )  # fmt: skip
        tables.made(count)
        tables.guard(first, words[:count])
        return first

    def _of_automaton(self, automaton: Automaton, n_labels: int) -> int:
        """The frame of an automaton whose labels are those of the table."""
        tables = self._tables
        rows = expanded(automaton)
        first = tables.n_controls
        alive = rows >= 0
        leads_to = [0] * len(rows)
        accepting = np.flatnonzero(automaton.accepting).tolist()
        for state in accepting:
            leads_to[state] = 1 << int(automaton.labels[state])
        edges = [(state, {*targets} - {DEAD, state}) for state, targets in enumerate(automaton.table.tolist())]
        has_changed = True
        while has_changed:
            has_changed = False
            for source, targets in reversed(edges):
                more = leads_to[source]
                for target in targets:
                    more |= leads_to[target]
                if more != leads_to[source]:
                    leads_to[source], has_changed = more, True
        rows[alive] += first
        for state in accepting:
            rows[state, QUOTE] = self._done(int(automaton.labels[state]))
        tables.controls(rows)
        is_broad = (rows != DEAD).sum(axis=1) > MANY
        tables.info[first : first + len(rows), PLAN] = np.where(is_broad, np.arange(first, first + len(rows)), -1)
        tables.info[first : first + len(rows), LIKE] = self._structure.other_key
        tables.guard(first, _words(leads_to, n_labels))
        return first


def _n_prefixes(texts: list[bytes]) -> int:
    """How many nodes a trie has."""
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
