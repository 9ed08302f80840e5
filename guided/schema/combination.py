"""Formulas about strings -> one automaton over classes of characters, labelled by what else holds.

What must hold is mostly a conjunction of atoms and of negated ones; those are intersected first, the small ones before the large ones,
and trimmed as they are. All other atoms are *tracked*, one after the other: the product keeps the states of an atom beside, dead or alive,
and tells its ends apart by what the formulas come to once the truth of the atom is known. So of `(a & b) | (c & d)` no more is kept, when a
and b are read, than whether both hold, and what no text can make true any more is dropped at once.

Invariant: after each step the automaton is the minimal one of what is left of the formulas.

Where a pattern or format has only texts of the lengths asked for anyway, the length is dropped. Otherwise pattern and length are a
product, of (states of the pattern) x (greatest length) states at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import distinct, minimal
from guided.automata.partition import Partition, joint
from guided.automata.product import Operation, pairs
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.languages import ANY_LENGTH, Known, complement, known, named, nothing, steps_of

__all__ = ["Language", "below", "evaluate", "language"]


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A minimal automaton over classes of characters, with bits at its accepting states.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state, start state 0; no edge by a class without characters.
    accepting : ndarray[bool], labels : ndarray[int32], shape (n_states,)
        Where the first formula holds; which row of ``bits`` stands for the others there, 0 elsewhere.
    parts : Partition
        What the classes are.
    bits : ndarray[bool], shape (n_labels, n_observed)
        Truth of the observed formulas.
    steps : int
        What its atoms took to build.
    """

    table: Int32Array
    accepting: BoolArray
    labels: Int32Array
    parts: Partition
    bits: BoolArray
    steps: int


def language(formulas: Formulas, wanted: Sequence[int], limits: Limits) -> Language:
    """The strings of which ``wanted[0]`` holds, labelled by which of the others hold.

    Raises
    ------
    PatternError
        A pattern is malformed.
    LimitError
        A budget is passed; the message names the atoms that are too much together.
    """
    certain = {}
    for member in formulas.members(wanted[0]):
        atom, holds = _literal(formulas, member)
        if atom is not None:
            certain[atom] = holds
    held = _Product(formulas, wanted, certain, limits)
    while atom := held.next_atom():
        held.track(atom)
    order = sorted(range(len(held.left)), key=lambda label: held.left[label])
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    labels = np.where(held.accepting, numbers[held.labels], 0).astype(np.int32)
    bits = np.array([[one == TRUE for one in held.left[label][1:]] for label in order], np.bool_)
    bits = bits.reshape(len(order), len(wanted) - 1)
    return Language(
        held.table, held.accepting, labels, held.parts, bits, sum(steps_of(atom, limits) for atom in held.atoms)
    )


def evaluate(formulas: Formulas, wanted: Sequence[int], known: Mapping[Atom, BoolArray], count: int) -> list[BoolArray]:
    """The truth of formulas in ``count`` cases, given that of their atoms. O(nodes x count)."""
    truths: dict[int, BoolArray] = {FALSE: np.zeros(count, np.bool_), TRUE: np.ones(count, np.bool_)}
    for formula in below(formulas, wanted):
        node = formulas.nodes[formula]
        match node[0]:
            case "&":
                truths[formula] = np.logical_and.reduce([truths[member] for member in node[1]])
            case "|":
                truths[formula] = np.logical_or.reduce([truths[member] for member in node[1]])
            case "!":
                truths[formula] = ~truths[node[1]]
            case "1":
                truths[formula] = np.sum([truths[member] for member in node[1]], axis=0, dtype=np.int64) == 1
            case "F" | "T":
                pass
            case _:
                truths[formula] = known[node]
    return [truths[formula] for formula in wanted]


def below(formulas: Formulas, wanted: Sequence[int]) -> list[int]:
    """Formulas and all their members, members first."""
    seen, todo = set(wanted), list(wanted)
    while todo:
        node = formulas.nodes[todo.pop()]
        if node[0] not in "&|!1":
            continue
        for member in (node[1],) if node[0] == "!" else node[1]:
            if member not in seen:
                seen.add(member)
                todo.append(member)
    return sorted(seen)


class _Product:
    """An automaton whose accepting states tell what is left of the formulas there; minimal after each step.

    ``left``: of each label, the formulas once the truths of the atoms so far are put in; the first is not FALSE, but in the only
    label of the empty language.
    """

    def __init__(self, formulas: Formulas, wanted: Sequence[int], certain: Mapping[Atom, bool], limits: Limits) -> None:
        self._formulas, self._limits = formulas, limits
        self.atoms = list(certain)
        self.left = [self._with(tuple(wanted), certain)]
        dfa = nothing() if self.left[0][0] == FALSE else _intersection(certain, limits)
        self.table, self.accepting, self.parts = dfa.table, dfa.accepting, dfa.partition
        self.labels = np.zeros(len(self.table), np.int32)

    def next_atom(self) -> Atom | None:
        """An atom whose truth still decides something."""
        return next((atom for left in self.left for formula in left for atom in self._formulas.atoms(formula)), None)

    def track(self, atom: Atom) -> None:
        """Tell apart where an atom holds and where it does not."""
        dfa = known(atom, self._limits).dfa
        self.atoms.append(atom)
        self.parts, classes = joint(self.parts, dfa.partition)
        names = [named(one) for one in self.atoms]
        table, left, right = _pairs(self.table, dfa.table, classes, "minus", self._limits, names)
        numbers: dict[tuple[int, ...], int] = {}
        onward = np.full((len(self.left), 2), DEAD, np.int32)
        for label, before in enumerate(self.left):
            for holds in (0, 1):
                after = self._with(before, {atom: holds == 1})
                if after[0] != FALSE:
                    onward[label, holds] = numbers.setdefault(after, len(numbers))
        is_held = (dfa.accepting[right] & (right >= 0)).astype(np.int32)
        labels = np.where(self.accepting[left], onward[self.labels[left], is_held], DEAD).astype(np.int32)
        self.table, self.accepting, labels = minimal(table, labels != DEAD, np.maximum(labels, 0))
        # Labels that no state has are left out.
        met, found = distinct(np.where(self.accepting, labels + 1, 0).astype(np.int64))
        first = int(np.searchsorted(met, 1))
        self.labels = np.maximum(found - first, 0).astype(np.int32)
        every = list(numbers)
        self.left = [every[label - 1] for label in met[first:].tolist()] or [(FALSE,) * len(self.left[0])]

    def _with(self, left: tuple[int, ...], truths: Mapping[Atom, bool]) -> tuple[int, ...]:
        """Formulas with the truths of some atoms put in."""
        formulas = self._formulas

        def value(atom: Atom) -> int:
            return formulas.atom(atom) if atom not in truths else TRUE if truths[atom] else FALSE

        memo: dict[int, int] = {}
        return tuple(formulas.rewrite(formula, value, memo) for formula in left)


def _intersection(certain: Mapping[Atom, bool], limits: Limits) -> CharDFA:
    """The strings of which some atoms hold and others do not."""
    least, most, is_bounded = 0, ANY_LENGTH, False
    found: list[tuple[Known, str]] = []
    for atom, holds in certain.items():
        window = _window(atom, holds)
        if window is None:
            made = known(atom, limits)
            found.append((made if holds else Known(complement(made.dfa)), named(atom)))
            continue
        is_bounded = True
        least = max(least, window[0])
        most = window[1] if most == ANY_LENGTH else most if window[1] == ANY_LENGTH else min(most, window[1])
    found.sort(key=lambda each: len(each[0].dfa.table))
    if is_bounded and not any(each.has_lengths(least, most) for each, _ in found):
        if least > most != ANY_LENGTH:
            return nothing()
        found.append((known(("length", least, most), limits), named(("length", least, most))))
    if not found:
        return known(("length", 0, ANY_LENGTH), limits).dfa
    dfa, names = found[0][0].dfa, [found[0][1]]
    for other, name in found[1:]:
        names.append(name)
        parts, classes = joint(dfa.partition, other.dfa.partition)
        table, left, right = _pairs(dfa.table, other.dfa.table, classes, "and", limits, names)
        accepting = dfa.accepting[left] & other.dfa.accepting[right] & (left >= 0) & (right >= 0)
        table, accepting, _ = minimal(table, accepting, np.zeros(len(table), np.int32))
        dfa = CharDFA(table, accepting, parts)
    return dfa


def _literal(formulas: Formulas, formula: int) -> tuple[Atom | None, bool]:
    """The atom of an atom or a negated one, and whether it holds; None for any other formula."""
    node = formulas.nodes[formula]
    holds = node[0] != "!"
    if not holds:
        node = formulas.nodes[node[1]]
    return (None, holds) if node[0] in ("&", "|", "!", "1", "F", "T") else (node, holds)


def _window(atom: Atom, holds: bool) -> tuple[int, int] | None:
    """The lengths that an atom asks for, if it asks for an interval of them."""
    if atom[0] != "length":
        return None
    _, least, most = atom
    if holds:
        return least, most
    if most == ANY_LENGTH:
        return (0, least - 1) if least else (1, 0)
    return (most + 1, ANY_LENGTH) if not least else None


def _pairs(
    left: Int32Array, right: Int32Array, classes: Int32Array, operation: Operation, limits: Limits, names: list[str]
) -> tuple[Int32Array, Int32Array, Int32Array]:
    try:
        return pairs(left, right, classes, operation, limits)
    except LimitError as error:
        raise LimitError(error.what, error.given, error.limit, f"too much at once: {', '.join(names)}") from None
