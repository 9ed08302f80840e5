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
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import distinct, minimal
from guided.automata.partition import Partition, joint
from guided.automata.product import Operation, pairs
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.languages import ANY_LENGTH, complement, has_lengths, known, named, nothing, steps_of

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
    for atom in dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)):
        if held.turns_on(atom):
            held.track(atom)
    bits, numbers = held.observed()
    labels = np.where(held.accepting, numbers[held.labels], 0).astype(np.int32)
    steps = sum(steps_of(atom, limits) for atom in held.atoms)
    return Language(held.table, held.accepting, labels, held.parts, bits, steps)


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

    An observed formula that is an atom, or a negated one, is a column of bits. Of all others ``left`` has what they come to once the truths
    of the atoms so far are put in, with what must hold as the first, which is never FALSE. A label is one of these and a row of bits.
    """

    def __init__(self, formulas: Formulas, wanted: Sequence[int], certain: Mapping[Atom, bool], limits: Limits) -> None:
        self._formulas, self._limits = formulas, limits
        self.atoms = list(certain)
        known_so_far = self._with(tuple(wanted), certain, {})
        # Of each observed formula, its atom and whether that holds where it does, or its place in what is left.
        self._kinds: list[tuple[Atom, bool] | int] = []
        left = [known_so_far[0]]
        for formula in known_so_far[1:]:
            atom, holds = _literal(formulas, formula)
            self._kinds.append(len(left) if atom is None else (atom, holds))
            if atom is None:
                left.append(formula)
        self._columns: dict[Atom, int] = {}
        self._own = {kind[0] for kind in self._kinds if not isinstance(kind, int)}
        self._left, self._bits = [tuple(left)], np.zeros((1, 0), np.bool_)
        # Of each label, what is left and the row of bits.
        self._of_label = np.zeros((1, 2), np.int64)
        dfa = nothing() if left[0] == FALSE else _intersection(certain, limits)
        self.table, self.accepting, self.parts = dfa.table, dfa.accepting, dfa.partition
        self.labels = np.zeros(len(self.table), np.int32)

    def turns_on(self, atom: Atom) -> bool:
        """Does anything still depend on an atom?"""
        return atom in self._own or any(atom in self._formulas.atoms(one) for left in self._left for one in left)

    def track(self, atom: Atom) -> None:
        """Tell apart where an atom holds and where it does not."""
        dfa = known(atom, self._limits).dfa
        self.atoms.append(atom)
        self.parts, classes = joint(self.parts, dfa.partition)
        names = [named(one) for one in self.atoms]
        table, left, right = _pairs(self.table, dfa.table, classes, "minus", self._limits, names)
        holds = (dfa.accepting[right] & (right >= 0)).astype(np.int64)
        before = self._of_label[self.labels[left]]
        rest = self._onward(atom)[before[:, 0], holds]
        row, n_rows = before[:, 1], len(self._bits)
        if atom in self._own:
            self._columns[atom] = self._bits.shape[1]
            self._bits = np.hstack([np.repeat(self._bits, 2, axis=0), np.tile([[False], [True]], (n_rows, 1))])
            row, n_rows = 2 * row + holds, 2 * n_rows
        accepting = self.accepting[left] & (rest >= 0)
        # Why from 1: 0 stands for all states that do not accept.
        met, numbers = distinct(np.where(accepting, rest * n_rows + row + 1, 0))
        first = int(np.searchsorted(met, 1))
        self.table, self.accepting, self.labels = minimal(
            table, accepting, np.where(accepting, numbers - first, 0).astype(np.int32)
        )
        rests, rows = np.divmod(met[first:] - 1, n_rows)
        rows_met, rows = np.unique(rows, return_inverse=True)
        self._bits = self._bits[rows_met]
        self._of_label = np.stack([rests, rows.reshape(-1)], axis=1)
        if not len(met[first:]):  # the empty language: one label all the same
            self._bits, self._of_label = np.zeros((1, self._bits.shape[1]), np.bool_), np.zeros((1, 2), np.int64)
            self._left = [(FALSE,) * len(self._left[0])]

    def observed(self) -> tuple[BoolArray, npt.NDArray[np.int64]]:
        """The truths of the observed formulas, each row once, and the row of each label."""
        truths = np.array([[one == TRUE for one in left] for left in self._left], np.bool_)[self._of_label[:, 0]]
        own = self._bits[self._of_label[:, 1]]
        columns = [
            truths[:, kind]
            if isinstance(kind, int)
            else own[:, self._columns[kind[0]]] == kind[1]
            if kind[0] in self._columns
            else np.zeros(len(own), np.bool_)
            for kind in self._kinds
        ]
        if not columns:
            return np.zeros((1, 0), np.bool_), np.zeros(len(own), np.int64)
        if len(own) == 1:
            return np.stack(columns, axis=1), np.zeros(1, np.int64)
        bits, numbers = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return bits, numbers.reshape(-1)

    def _onward(self, atom: Atom) -> npt.NDArray[np.int64]:
        """What is left where an atom does not hold, and where it does: the number of each; `DEAD` where nothing can hold any more."""
        numbers: dict[tuple[int, ...], int] = {}
        onward = np.full((len(self._left), 2), DEAD, np.int64)
        # PERF: what is left has most of its parts in common (`python -m benchmarks.maskbench`).
        memos: tuple[dict[int, int], dict[int, int]] = {}, {}
        for i, left in enumerate(self._left):
            for holds in (0, 1):
                after = self._with(left, {atom: holds == 1}, memos[holds])
                if after[0] != FALSE:
                    onward[i, holds] = numbers.setdefault(after, len(numbers))
        self._left = list(numbers) or [(FALSE,) * len(self._left[0])]
        return onward

    def _with(self, left: tuple[int, ...], truths: Mapping[Atom, bool], memo: dict[int, int]) -> tuple[int, ...]:
        """Formulas with the truths of some atoms put in; ``memo`` is filled, one for each ``truths``."""
        formulas = self._formulas

        def value(atom: Atom) -> int:
            return formulas.atom(atom) if atom not in truths else TRUE if truths[atom] else FALSE

        return tuple(formulas.rewrite(formula, value, memo) for formula in left)


def _intersection(certain: Mapping[Atom, bool], limits: Limits) -> CharDFA:
    """The strings of which some atoms hold and others do not."""
    least, most, is_bounded = 0, ANY_LENGTH, False
    found: list[tuple[CharDFA, str]] = []
    whole: list[Atom] = []
    for atom, holds in certain.items():
        window = _window(atom, holds)
        if window is None:
            dfa = known(atom, limits).dfa
            found.append((dfa if holds else complement(dfa), named(atom)))
            if holds:
                whole.append(atom)
            continue
        is_bounded = True
        least = max(least, window[0])
        most = window[1] if most == ANY_LENGTH else most if window[1] == ANY_LENGTH else min(most, window[1])
    found.sort(key=lambda each: len(each[0].table))
    if is_bounded and not any(atom[0] != "length" and has_lengths(atom, least, most, limits) for atom in whole):
        if least > most != ANY_LENGTH:
            return nothing()
        found.append((known(("length", least, most), limits).dfa, named(("length", least, most))))
    if not found:
        return known(("length", 0, ANY_LENGTH), limits).dfa
    dfa, names = found[0][0], [found[0][1]]
    for other, name in found[1:]:
        names.append(name)
        parts, classes = joint(dfa.partition, other.partition)
        table, left, right = _pairs(dfa.table, other.table, classes, "and", limits, names)
        accepting = dfa.accepting[left] & other.accepting[right] & (left >= 0) & (right >= 0)
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
