"""The strings of which a formula holds, where they are few: counted along the automaton of their characters.

Where strings are told apart by several formulas, one automaton has labels for all of them, and each label is counted by itself. So the
truths that formulas have together on other strings than those they list are told without spelling any.

Complexity: O(edges) to count; of a state that a cycle leads to there is no end.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from guided.automata.determinize import CharDFA
from guided.automata.partition import INVALID
from guided.limits import Limits
from guided.schema import strings
from guided.schema.atoms import JsonOptions
from guided.schema.combination import Language, language
from guided.schema.formula import FALSE, TRUE, Formulas
from guided.schema.languages import ANY_LENGTH, truth
from guided.schema.strings import judged_texts, truths_by_length

__all__ = ["FewStrings", "few_by_truths", "few_strings", "truths_together"]

# Characters that are no surrogates.
_CHARACTERS = 0x110000 - 0x800
# More words than these are as many.
_MOST_COUNTED = 1 << 62


class FewStrings(NamedTuple):
    """How many strings, and which where that was asked for."""

    size: int
    texts: "tuple[str, ...] | None"


def few_strings(
    formulas: Formulas, formula: int, most: int, listed: int, limits: Limits, spend: Callable[[int], None] | None = None
) -> FewStrings | None:
    """All strings of which a formula holds; None where there are more than ``most``.

    Parameters
    ----------
    formulas : Formulas
    formula : int
        Over the atoms of strings.
    most : int
    listed : int
        Up to so many are listed.
    limits : Limits
        Budgets of the automaton.
    spend : callable, optional
        Told how many edges were looked at.
    """
    texts, bits, (rest,) = judged_texts(formulas, (formula,), (), limits)
    held = [text for text, holds in zip(texts, bits, strict=True) if holds]
    if len(held) > most:
        return None
    if rest == FALSE:
        return FewStrings(len(held), tuple(held))
    window = _only_lengths(formulas, rest)
    if window is not None:
        least, longest = window
        if longest == ANY_LENGTH or (longest >= max(least, 1) and most + len(texts) < _CHARACTERS):
            return None
    words = _Words(language(formulas, (rest,), limits), spend)
    return words.few(0, texts, held, most, listed)


def few_by_truths(
    formulas: Formulas, observed: Sequence[int], besides: Sequence[str], most: int, listed: int, limits: Limits
) -> list[FewStrings]:
    """Of all strings but ``besides``, those of which the same formulas hold, wherever they are no more than ``most``.

    Parameters
    ----------
    formulas : Formulas
    observed : sequence of int
        Over the atoms of strings.
    besides : sequence of str
    most, listed, limits
        As for `few_strings`; fewer than there are characters.
    """
    texts, bits, rest = judged_texts(formulas, observed, besides, limits)
    held: dict[int, list[str]] = {}
    apart = frozenset(besides)
    for text, number in zip(texts, bits, strict=True):
        if text not in apart:
            held.setdefault(number, []).append(text)
    by_length = truths_by_length(formulas, rest)
    if by_length is not None:
        # Why: of any length but 0 there are more strings than are asked for.
        empty, *others = by_length
        many = set(others)
        if empty not in many and "" not in texts:
            held.setdefault(empty, []).append("")
        return [
            FewStrings(len(own), tuple(own))
            for number, own in sorted(held.items())
            if number not in many and len(own) <= most
        ]
    found = language(formulas, (TRUE, *rest), limits)
    label_of = {
        sum(1 << i for i, holds in enumerate(row) if holds): label for label, row in enumerate(found.bits.tolist())
    }
    words = _Words(found, None)
    few = [
        words.few(label_of[number], texts, held.get(number, []), most, listed)
        if number in label_of
        else FewStrings(len(held[number]), tuple(held[number]))
        for number in sorted({*label_of, *held})
    ]
    return [one for one in few if one is not None and 0 < one.size <= most]


def truths_together(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> tuple[int, ...]:
    """`guided.schema.strings.truths_together` without an automaton of the strings that formulas list."""
    texts, bits, rest = judged_texts(formulas, wanted, (), limits)
    if not texts or len(texts) >= _CHARACTERS:
        return strings.truths_together(formulas, wanted, options, limits)
    found = {truths >> 1 for truths in bits if truths & 1}
    by_length = truths_by_length(formulas, rest)
    if by_length is not None:
        # Why not of length 0: of any other there are more strings than are listed.
        empty, *others = by_length
        found.update(truths >> 1 for truths in others if truths & 1)
        if empty & 1 and "" not in texts:
            found.add(empty >> 1)
        return tuple(sorted(found))
    told = language(formulas, rest, limits)
    words = None
    for label in np.unique(told.labels[told.accepting]).tolist():
        truths = sum(1 << i for i, holds in enumerate(told.bits[label].tolist()) if holds)
        if truths not in found:
            words = words or _Words(told, None)
            if words.few(label, texts, (), 0, 0) is None:
                found.add(truths)
    return tuple(sorted(found))


def _only_lengths(formulas: Formulas, formula: int) -> tuple[int, int] | None:
    """The lengths of the strings of a formula that says no more; None of any other."""
    if formula == TRUE:
        return 0, ANY_LENGTH
    node = formulas.nodes[formula]
    return (node[1], node[2]) if node[0] == "length" else None


class _Words:
    """The words of an automaton over classes of characters, by label."""

    def __init__(self, found: Language, spend: Callable[[int], None] | None) -> None:
        self._found = found
        starts, classes = found.parts.starts, found.parts.classes
        ends = np.append(starts[1:], 0x110000)
        self._intervals = [
            (first, end, number)
            for first, end, number in zip(starts.tolist(), ends.tolist(), classes.tolist(), strict=True)
            if number != INVALID
        ]
        sizes = [0] * found.table.shape[1]
        for first, end, number in self._intervals:
            sizes[number] += end - first
        self._sizes = sizes
        self._labels = np.where(found.accepting, found.labels, -1).tolist()
        # Invariant: minimal automata have no state from which nothing is accepted.
        self._edges = [
            [(number, target) for number, target in enumerate(row) if target >= 0 and sizes[number]]
            for row in found.table.tolist()
        ]
        # How many words lead to each state; -1 of those that a cycle leads to, which have no end of them.
        self._counts = _counted(self._edges, sizes)
        if spend is not None:
            spend(1 + len(self._edges))

    def few(self, label: int, texts: Sequence[str], held: Sequence[str], most: int, listed: int) -> FewStrings | None:
        """The words of a label but for some texts, and those that are held; None where they are more than ``most``."""
        counts = [count for count, one in zip(self._counts, self._labels, strict=True) if one == label]
        if min(counts, default=0) < 0 or (count := sum(counts)) > most + len(texts):
            return None
        found = self._found
        if texts:
            of_label = found.accepting & (found.labels == label)
            count += len(held) - int(truth(CharDFA(found.table, of_label, found.parts), texts).sum())
        if count > most:
            return None
        if count > listed:
            return FewStrings(count, None)
        known = frozenset(texts)
        return FewStrings(
            count, tuple(dict.fromkeys((*held, *(word for word in self._listed(label) if word not in known))))
        )

    def _listed(self, label: int) -> list[str]:
        """All words of a label; there are few."""
        characters: dict[int, list[str]] = {}
        for first, end, number in self._intervals:
            if self._sizes[number] < _CHARACTERS // 2:
                characters.setdefault(number, []).extend(map(chr, range(first, end)))
        leads = self._leading_to(label)
        found: list[str] = []
        ahead = [(0, "")] if leads[0] else []
        for state, text in ahead:  # grows on the way
            if self._labels[state] == label:
                found.append(text)
            ahead += [
                (target, text + character)
                for read, target in self._edges[state]
                if leads[target]
                for character in characters[read]
            ]
        return found

    def _leading_to(self, label: int) -> list[bool]:
        """The states from which a word of a label can end."""
        before: list[list[int]] = [[] for _ in self._edges]
        for state, row in enumerate(self._edges):
            for _, target in row:
                before[target].append(state)
        leads = [one == label for one in self._labels]
        todo = [state for state, is_end in enumerate(leads) if is_end]
        for state in todo:  # grows on the way
            for source in before[state]:
                if not leads[source]:
                    leads[source] = True
                    todo.append(source)
        return leads


def _counted(edges: list[list[tuple[int, int]]], sizes: list[int]) -> list[int]:
    """How many words lead from the first state to each; -1 where a cycle does. All are reached from the first."""
    before = [0] * len(edges)
    for row in edges:
        for _, target in row:
            before[target] += 1
    counts = [0] * len(edges)
    counts[0] = 1
    order = [0] if not before[0] else []
    for state in order:  # grows on the way
        for read, target in edges[state]:
            counts[target] = min(counts[target] + counts[state] * sizes[read], _MOST_COUNTED)
            before[target] -= 1
            if not before[target]:
                order.append(target)
    return [count if not left else -1 for count, left in zip(counts, before, strict=True)]
