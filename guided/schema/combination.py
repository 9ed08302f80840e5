"""Formulas about strings -> one automaton over classes of characters, labelled by what else holds.

What must hold is mostly a conjunction of atoms and of negated ones; those are intersected first, the small ones before the large ones,
and trimmed as they are. All other atoms are *tracked*: the product keeps their states beside, dead or alive, and at its end the
formulas are evaluated for every combination of atoms that hold together.

Where a pattern or format has only texts of the lengths asked for anyway, the length is dropped. Otherwise pattern and length are a
product, of (states of the pattern) x (greatest length) states at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import BoolArray, Int32Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import distinct, minimal
from guided.automata.partition import Partition, joint
from guided.automata.product import Operation, pairs
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.languages import ANY_LENGTH, Known, complement, known, named, nothing

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
    """

    table: Int32Array
    accepting: BoolArray
    labels: Int32Array
    parts: Partition
    bits: BoolArray


def language(formulas: Formulas, wanted: Sequence[int], limits: Limits) -> Language:
    """The strings of which ``wanted[0]`` holds, labelled by which of the others hold.

    Raises
    ------
    PatternError
        A pattern is malformed.
    LimitError
        A budget is passed; the message names the atoms that are too much together.
    """
    must, *observed = wanted
    certain = {}
    others = []
    for member in formulas.members(must):
        atom, holds = _literal(formulas, member)
        if atom is None:
            others.append(member)
        else:
            certain[atom] = holds
    found = _intersection(certain, limits)
    tracked = [
        atom
        for atom in dict.fromkeys(atom for formula in (*others, *observed) for atom in formulas.atoms(formula))
        if atom not in certain
    ]
    held = _Product(found, certain)
    for atom in tracked:
        held.track(atom, limits)
    n_labels = len(held.bits)
    truths = {atom: np.full(n_labels, holds) for atom, holds in certain.items()}
    truths |= {atom: held.bits[:, i] for i, atom in enumerate(tracked)}
    rest, *seen = evaluate(formulas, (formulas.conjunction(others), *observed), truths, n_labels)
    bits, numbers = np.zeros((1, 0), np.bool_), np.zeros(n_labels, np.int64)
    if seen:
        bits, numbers = np.unique(np.array(seen, np.bool_).T, axis=0, return_inverse=True)
    accepting = held.accepting & rest[held.labels]
    labels = np.where(accepting, numbers.reshape(-1)[held.labels], 0).astype(np.int32)
    table = held.table
    if tracked or not rest.all():
        table, accepting, labels = minimal(table, accepting, labels)
    return Language(table, accepting, labels, held.parts, bits)


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
    """An automaton and, beside every state, which tracked atoms hold there; minimal after each step."""

    def __init__(self, dfa: CharDFA, certain: Mapping[Atom, bool]) -> None:
        self.table, self.accepting, self.parts = dfa.table, dfa.accepting, dfa.partition
        self.labels = np.zeros(len(self.table), np.int32)
        self.bits = np.zeros((1, 0), np.bool_)
        self.names = [named(atom) for atom in certain]

    def track(self, atom: Atom, limits: Limits) -> None:
        """Tell apart where an atom holds and where it does not."""
        dfa = known(atom, limits).dfa
        self.names.append(named(atom))
        self.parts, classes = joint(self.parts, dfa.partition)
        table, left, right = _pairs(self.table, dfa.table, classes, "minus", limits, self.names)
        accepting = self.accepting[left]
        holds = dfa.accepting[right] & (right >= 0)
        # Why from 1: 0 stands for all states that do not accept.
        met, numbers = distinct(np.where(accepting, 2 * self.labels[left].astype(np.int64) + holds + 1, 0))
        first = int(np.searchsorted(met, 1))
        labels = np.where(accepting, numbers - first, 0).astype(np.int32)
        met = met[first:] - 1
        self.bits = np.hstack([self.bits[met // 2], (met % 2 == 1)[:, None]])
        if not len(met):  # the empty language: one label all the same
            self.bits = np.zeros((1, self.bits.shape[1]), np.bool_)
        self.table, self.accepting, self.labels = minimal(table, accepting, labels)


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
