"""The strings of a formula, if there are few: counted along the automaton of their characters.

For several formulas, one automaton has labels for all of them, and each label is counted separately.

Complexity: O(edges) to count, unless more states end strings than strings are asked for. States reachable through a cycle have infinitely
many strings.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from guided.arrays import Int32Array, Int64Array
from guided.automata.determinize import CharDFA
from guided.automata.partition import INVALID, Partition
from guided.caching import cached_property
from guided.limits import Limits
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.strings.automaton import judged_texts, numbers_of
from guided.schema.strings.combination import Language, known_within, language
from guided.schema.strings.languages import ANY_LENGTH, final_states, has_lengths
from guided.schema.strings.lengths import by_length, truths_by_length

__all__ = ["StringSet", "at_least", "enumerate_by_truths", "enumerate_strings", "has_plain_text"]

# Number of characters that are not surrogates.
_CHARACTERS = 0x110000 - 0x800
# Counts saturate here.
_SATURATED = 1 << 62
# Edges followed in one step, and most of those that a search for one text follows.
_EDGES, _EDGES_TRIED = 64, 4096
# Cells of a product for one step of a call.
_CELLS = 16
# Most members of a disjunction whose strings are counted by themselves.
_MEMBERS_TRIED = 4
# Characters that all JSON strings can hold, the likely ones first.
_PLAIN = "a0A/-.:@_" + "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "a0A/-.:@_\"'\\")


class StringSet(NamedTuple):
    """The number of strings, and the strings themselves if they were requested."""

    size: int
    texts: "tuple[str, ...] | None"


def enumerate_strings(
    formulas: Formulas, formula: int, most: int, listed: int, limits: Limits, spend: Callable[[int], None] | None = None
) -> StringSet | None:
    """Return all strings that satisfy a formula; None if there are more than ``most``.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of strings.
    most : int
    listed : int
        Up to this many strings are listed.
    limits : Limits
        Budgets of the automaton.
    spend : callable, optional
        Receives the number of edges visited.
    """
    texts, bits, (rest,) = judged_texts(formulas, (formula,), (), limits)
    held = [text for text, holds in zip(texts, bits, strict=True) if holds]
    if len(held) > most:
        return None
    if rest == FALSE:
        return StringSet(len(held), tuple(held))
    if _at_least(formulas, rest, most + len(texts), limits) > most + len(texts):
        return None
    return _Words(language(formulas, (rest,), limits), texts, spend).enumerate_label(0, held, most, listed)


def enumerate_by_truths(
    formulas: Formulas, observed: Sequence[int], besides: Sequence[str], most: int, listed: int, limits: Limits
) -> list[StringSet]:
    """Group all strings except ``besides`` by the formulas they satisfy; return the groups of at most ``most`` strings.

    Parameters
    ----------
    formulas : Formulas
    observed : sequence of int
        Over the atoms of strings.
    besides : sequence of str
    most, listed, limits
        As for `enumerate_strings`; fewer than there are characters.
    """
    texts, bits, rest = judged_texts(formulas, observed, besides, limits)
    held: dict[int, list[str]] = {}
    apart = frozenset(besides)
    for text, number in zip(texts, bits, strict=True):
        if text not in apart:
            held.setdefault(number, []).append(text)
    by_length = truths_by_length(formulas, (TRUE, *rest))
    if by_length is not None:
        # Why: for any length except 0 there are more strings than ``most``.
        many, empty = _longer(by_length), by_length[0][1]
        if empty not in many and "" not in texts:
            held.setdefault(empty, []).append("")
        return [
            StringSet(len(own), tuple(own))
            for number, own in sorted(held.items())
            if number not in many and len(own) <= most
        ]
    found = language(formulas, (TRUE, *rest), limits)
    label_of = {number: label for label, number in enumerate(numbers_of(found.bits))}
    words = _Words(found, texts, None)
    groups = [
        words.enumerate_label(label_of[number], held.get(number, []), most, listed)
        if number in label_of
        else StringSet(len(held[number]), tuple(held[number]))
        for number in sorted({*label_of, *held})
    ]
    return [one for one in groups if one is not None and 0 < one.size <= most]


def _longer(by_length: Sequence[tuple[int, int]]) -> set[int]:
    """Return the truths of lengths greater than 0."""
    return {bits for (_, bits), (end, _) in zip(by_length, (*by_length[1:], (2, 0)), strict=True) if end > 1}


def at_least(formulas: Formulas, formula: int, most: int, limits: Limits) -> int:
    """Return a number of strings that surely satisfy a formula, up to ``most`` + 1. There may be more."""
    texts, bits, (rest,) = judged_texts(formulas, (formula,), (), limits)
    others = _at_least(formulas, rest, most + len(texts), limits) - len(texts)
    return min(sum(bits) + max(others, 0), most + 1)


def _at_least(formulas: Formulas, formula: int, most: int, limits: Limits) -> int:
    """`at_least` for a formula that lists no strings, without an automaton that counts characters.

    Complexity: O(edges x (least length + states)) for each interval between two lengths.
    """
    kind, *members = formulas.nodes[formula]
    # PERF: one pattern of many often has enough strings by itself (`python -m benchmarks.maskbench`).
    for member in members[0][:_MEMBERS_TRIED] if kind == "|" else ():
        if (found := _at_least(formulas, member, most, limits)) > most:
            return found
    found = 0
    intervals = by_length(formulas, (formula,))
    ends = [interval.start - 1 for interval in intervals[1:]]
    for (start, (one,)), longest in zip(intervals, [*ends, ANY_LENGTH], strict=True):
        if one == FALSE:
            continue
        if one == TRUE and (longest == ANY_LENGTH or (longest and most < _CHARACTERS)):
            return most + 1
        words = language(formulas, (one,), limits)
        sources, targets, ways = _ways(words.table, _sizes(words.parts))
        n_states = len(words.table)
        last = start + n_states if longest == ANY_LENGTH else min(longest, start + n_states)
        n_words = np.zeros(n_states)
        n_words[0] = 1
        for length in range(last + 1):
            formulas.spend(1 + len(sources) // _EDGES)
            found += int(n_words[words.accepting].sum()) if length >= start else 0
            if found > most:
                return most + 1
            n_words = np.minimum(np.bincount(targets, n_words[sources] * ways, n_states), _SATURATED)
            if not n_words.any():
                break
        else:
            if longest == ANY_LENGTH:
                # Why: all states are live, and a word with more characters than there are states contains a cycle.
                return most + 1
    return found


def has_plain_text(formulas: Formulas, formula: int, limits: Limits) -> bool:
    """Return whether a short text of printable ASCII is found that satisfies a formula. False proves nothing.

    None is sought where the automaton might take more than the steps of a call: that is said when a schema is compiled.
    """
    atoms = list(formulas.atoms(formula))
    others = [atom for atom in atoms if atom[0] not in ("length", "strings")]
    lengths = [atom for atom in atoms if atom[0] == "length"]
    # A register counts the lengths of a conjunction if the other atoms imply the least one.
    is_counted = all(formulas.nodes[member] in atoms for member in formulas.members[formula]) and all(
        not atom[1] or any(has_lengths(one, atom[1], ANY_LENGTH, limits) for one in others) for atom in lengths
    )
    found = [known_within(formulas, atom, limits)[0] for atom in others]
    n_states = prod(len(dfa.table) for dfa in found)
    n_lengths = 1 if is_counted else max((2 + max(atom[1:]) for atom in lengths), default=1)
    if n_states * n_lengths * sum(dfa.table.shape[1] for dfa in found) > _CELLS * limits.call_steps:
        return False
    least = max((atom[1] for atom in lengths), default=0)
    texts = {text for dfa in found if (text := _plain_text(dfa, least)) is not None}
    tried, holds, _ = judged_texts(formulas, (formula,), tuple(texts), limits)
    return any(held and text in texts for text, held in zip(tried, holds, strict=True))


def _plain_text(dfa: CharDFA, least: int) -> str | None:
    """Return a shortest text of at least so many plain characters; None if there is none, or finding it takes long."""
    parts = dfa.partition
    points = np.searchsorted(parts.starts, np.frombuffer(_PLAIN.encode("utf-32-le"), np.uint32), side="right") - 1
    by_class = dict(zip(parts.classes[points].tolist()[::-1], _PLAIN[::-1], strict=True))
    layer, left = {0: ""}, _EDGES_TRIED
    while layer and left > 0:
        onward = dict[int, str]()
        for state, text in layer.items():
            if len(text) >= least and dfa.accepting.item(state):
                return text
            row = dfa.table[state].tolist()
            left -= len(by_class)
            for number, character in by_class.items():
                if row[number] >= 0:
                    onward.setdefault(row[number], text + character)
        layer = onward
    return None


class _Words:
    """The words of an automaton over classes of characters, by label, apart from some texts."""

    def __init__(self, found: Language, texts: Sequence[str], spend: Callable[[int], None] | None) -> None:
        self._found, self._texts = found, texts
        self._sizes = _sizes(found.parts)
        self._labels = np.where(found.accepting, found.labels, -1)
        self._n_ends = np.bincount(self._labels + 1)[1:]
        self._n_texts = Counter[int]()
        if texts:
            states = final_states(found.table, found.parts, texts)
            self._n_texts.update(self._labels[states[states >= 0]].tolist())
        if spend is not None:
            spend(1 + len(found.table))

    @cached_property
    def _edges(self) -> list[list[tuple[int, int]]]:
        """Class and target of each edge with characters, by state. Invariant: every state of a minimal automaton is live."""
        found = self._found
        edges: list[list[tuple[int, int]]] = [[] for _ in found.table]
        sources, reads = np.nonzero((found.table >= 0) & (np.array(self._sizes) > 0))
        targets = found.table[sources, reads]
        for source, number, target in zip(sources.tolist(), reads.tolist(), targets.tolist(), strict=True):
            edges[source].append((number, target))
        return edges

    @cached_property
    def _counts(self) -> dict[int, int]:
        """Number of words of each label; -1 for infinitely many, behind a cycle."""
        counts: dict[int, int] = {}
        for count, label in zip(_counted(self._found.table, self._sizes), self._labels.tolist(), strict=True):
            before = counts.get(label, 0)
            counts[label] = -1 if min(before, count) < 0 else before + count
        return counts

    def enumerate_label(self, label: int, held: Sequence[str], most: int, listed: int) -> StringSet | None:
        """Return the words of a label except the texts, plus ``held``; None if there are more than ``most``."""
        most_words = most + len(self._texts)
        # Why the states first: there is at least one word for each, and counting the words visits all edges.
        if label < len(self._n_ends) and self._n_ends.item(label) > most_words:
            return None
        count = self._counts.get(label, 0)
        if not 0 <= count <= most_words:
            return None
        count += len(held) - self._n_texts[label]
        if count > most:
            return None
        if count > listed:
            return StringSet(count, None)
        known = frozenset(self._texts)
        return StringSet(
            count, tuple(dict.fromkeys((*held, *(word for word in self._listed(label) if word not in known))))
        )

    def _listed(self, label: int) -> list[str]:
        """Return all words of a label; the caller ensures there are few."""
        characters: dict[int, list[str]] = {}
        for first, end, number in _intervals(self._found.parts):
            if self._sizes[number] < _CHARACTERS // 2:
                characters.setdefault(number, []).extend(map(chr, range(first, end)))
        leads, labels = self._leading_to(label), self._labels.tolist()
        found: list[str] = []
        ahead = [(0, "")] if leads[0] else []
        for state, text in ahead:  # grows during iteration
            if labels[state] == label:
                found.append(text)
            ahead += [
                (target, text + character)
                for read, target in self._edges[state]
                if leads[target]
                for character in characters[read]
            ]
        return found

    def _leading_to(self, label: int) -> list[bool]:
        """Return for each state whether a word of a label can end from there."""
        before: list[list[int]] = [[] for _ in self._edges]
        for state, row in enumerate(self._edges):
            for _, target in row:
                before[target].append(state)
        leads: list[bool] = (self._labels == label).tolist()
        todo = [state for state, is_end in enumerate(leads) if is_end]
        for state in todo:  # grows during iteration
            for source in before[state]:
                if not leads[source]:
                    leads[source] = True
                    todo.append(source)
        return leads


def _intervals(parts: Partition) -> list[tuple[int, int, int]]:
    """Return the intervals of characters that have a class: first character, end, class."""
    ends = np.append(parts.starts[1:], 0x110000)
    return [
        (first, end, number)
        for first, end, number in zip(parts.starts.tolist(), ends.tolist(), parts.classes.tolist(), strict=True)
        if number != INVALID
    ]


def _sizes(parts: Partition) -> list[int]:
    """Return the number of characters of each class."""
    sizes = [0] * parts.n_classes
    for first, end, number in _intervals(parts):
        sizes[number] += end - first
    return sizes


def _ways(table: Int32Array, sizes: list[int]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the pairs of states that characters connect, sources ascending, and how many characters connect each."""
    n_states = len(table)
    sources, reads = np.nonzero(table >= 0)
    pairs = sources * n_states + table[sources, reads]
    order = np.argsort(pairs, kind="stable")
    first = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    ways = np.add.reduceat(np.array(sizes, np.int64)[reads[order]], first) if len(first) else first
    sources, targets = np.divmod(pairs[order][first], n_states)
    return sources[ways > 0], targets[ways > 0], ways[ways > 0]


def _counted(table: Int32Array, sizes: list[int]) -> list[int]:
    """Return the number of words from the first state to each; -1 behind a cycle. All states are reachable from the first."""
    n_states = len(table)
    sources, targets, ways = _ways(table, sizes)
    begins = np.searchsorted(sources, np.arange(n_states + 1)).tolist()
    before = np.bincount(targets, minlength=n_states).tolist()
    edges = list(zip(targets.tolist(), ways.tolist(), strict=True))
    counts = [0] * n_states
    counts[0] = 1
    ordered = [0] if not before[0] else []
    for state in ordered:  # grows during iteration
        for target, n_ways in edges[begins[state] : begins[state + 1]]:
            counts[target] = min(counts[target] + counts[state] * n_ways, _SATURATED)
            before[target] -= 1
            if not before[target]:
                ordered.append(target)
    return [count if not left else -1 for count, left in zip(counts, before, strict=True)]
