"""Formulas about strings -> one automaton over classes of characters, labeled by which observed formulas hold.

The required formula is mostly a conjunction of literals. Those are intersected first, small automata before large ones, and trimmed on
the way. All other atoms are *tracked*, one after the other: the product keeps the atom's state, dead or alive, and distinguishes end
states by the formulas that remain once the atom's truth is known. For `(a & b) | (c & d)`, once a and b are read, only whether both hold
is kept, and states from which nothing can hold are dropped at once.

Invariant: after each step the automaton is minimal for the remaining formulas.

A length is dropped if a pattern or format implies it. Otherwise pattern and length form a product of at most (states of the pattern) x
(maximum length) states.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import distinct, minimal
from guided.automata.partition import Partition, joint
from guided.automata.product import Operation, complement, minimized, pairs
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.strings.languages import ANY_LENGTH, has_lengths, known, named, nothing, steps_of

__all__ = ["Language", "evaluate", "known_within", "language"]

# Steps of a call: of an atom with a small automaton. Cells of a product, truths that are copied, and steps of a compile, for one step.
_PER_ATOM, _CELLS, _BITS, _STEPS = 100, 16, 2_560, 320
# Atoms that a message names.
_NAMED = 9


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A minimal automaton over classes of characters, with truth bits at its accepting states.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state, start state 0; no edge by a class without characters.
    accepting : ndarray[bool], labels : ndarray[int32], shape (n_states,)
        Whether the first formula holds; the row of ``bits`` for the others there, 0 elsewhere.
    parts : Partition
        The character classes.
    bits : ndarray[bool], shape (n_labels, n_observed)
        Truth of the observed formulas.
    steps : int
        Steps that building its atoms took.
    cost : int
        Steps of a call that this and the products of the atoms took.
    """

    table: Int32Array
    accepting: BoolArray
    labels: Int32Array
    parts: Partition
    bits: BoolArray
    steps: int
    cost: int


def language(formulas: Formulas, wanted: Sequence[int], limits: Limits) -> Language:
    """Return the strings that satisfy ``wanted[0]``, labeled by which of the others hold; its cost is spent.

    Raises
    ------
    PatternError
        A pattern is malformed.
    LimitError
        A budget is exceeded; the message names the atoms that are too large together.

    Notes
    -----
    `Limits.call_steps` bounds the cells of all products together: many small patterns take time quadratic or cubic in their number.
    """
    certain = {}
    for member in formulas.members[wanted[0]]:
        atom, holds = _literal(formulas, member)
        if atom is not None:
            certain[atom] = holds
    held = _Product(formulas, wanted, certain, limits)
    call, least = formulas.steps, _PER_ATOM * len(held.own)
    if least > call.left:
        raise LimitError("call_steps", call.spent + least, call.limit, _too_many(list(held.own)))
    for atom in dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)):
        if held.turns_on(atom):
            held.track(atom)
    bits, numbers = held.observed()
    labels = np.where(held.accepting, numbers[held.labels], 0).astype(np.int32)
    steps = sum(steps_of(atom, limits) for atom in held.atoms)
    return Language(held.table, held.accepting, labels, held.parts, bits, steps, held.cost)


def evaluate(formulas: Formulas, wanted: Sequence[int], known: Mapping[Atom, BoolArray], count: int) -> list[BoolArray]:
    """Return the truth of formulas in ``count`` cases, given that of their atoms. O(nodes x count)."""
    truths: dict[int, BoolArray] = {FALSE: np.zeros(count, np.bool_), TRUE: np.ones(count, np.bool_)}
    for formula in formulas.below(wanted):
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


class _Product:
    """An automaton whose accepting states determine the remaining formulas; minimal after each step. ``own``: the atoms observed as such.

    An observed formula that is a literal is a column of bits. ``left`` holds the remainders of all others once the truths of the atoms so
    far are substituted; the required formula comes first and is never FALSE. A label is a remainder and a row of bits.
    """

    def __init__(self, formulas: Formulas, wanted: Sequence[int], certain: Mapping[Atom, bool], limits: Limits) -> None:
        self._formulas, self._limits = formulas, limits
        self.atoms, self.cost = list(certain), 0
        known_so_far = self._with(tuple(wanted), certain, {})
        # Per observed formula: its atom and polarity, or its index in the remainder.
        self._kinds: list[tuple[Atom, bool] | int] = []
        left = [known_so_far[0]]
        for formula in known_so_far[1:]:
            atom, holds = _literal(formulas, formula)
            self._kinds.append(len(left) if atom is None else (atom, holds))
            if atom is None:
                left.append(formula)
        self._columns: dict[Atom, int] = {}
        self.own = dict.fromkeys(kind[0] for kind in self._kinds if not isinstance(kind, int))
        self._left, self._bits = [tuple(left)], np.zeros((1, 0), np.bool_)
        # Per label: the remainder and the row of bits.
        self._of_label = np.zeros((1, 2), np.int64)
        dfa = nothing() if left[0] == FALSE else self._intersection(certain)
        self.table, self.accepting, self.parts = dfa.table, dfa.accepting, dfa.partition
        self.labels = np.zeros(len(self.table), np.int32)

    def turns_on(self, atom: Atom) -> bool:
        """Return whether anything still depends on an atom."""
        return atom in self.own or any(atom in self._formulas.atoms(one) for left in self._left for one in left)

    def track(self, atom: Atom) -> None:
        """Distinguish the texts for which an atom holds."""
        dfa = self._known(atom)
        self.atoms.append(atom)
        self.parts, classes = joint(self.parts, dfa.partition)
        table, left, right = self._pairs(self.table, dfa.table, classes, "minus", self.atoms)
        self._spend(self._bits.size // _BITS)
        holds = (dfa.accepting[right] & (right >= 0)).astype(np.int64)
        before = self._of_label[self.labels[left]]
        rest = self._onward(atom)[before[:, 0], holds]
        row, n_rows = before[:, 1], len(self._bits)
        if atom in self.own:
            self._columns[atom] = self._bits.shape[1]
            self._bits = np.hstack([np.repeat(self._bits, 2, axis=0), np.tile([[False], [True]], (n_rows, 1))])
            row, n_rows = 2 * row + holds, 2 * n_rows
        accepting = self.accepting[left] & (rest >= 0)
        # Why from 1: 0 stands for all non-accepting states.
        met, numbers = distinct(np.where(accepting, rest * n_rows + row + 1, 0))
        first = int(np.searchsorted(met, 1))
        self.table, self.accepting, self.labels = minimal(
            table, accepting, np.where(accepting, numbers - first, 0).astype(np.int32)
        )
        rests, rows = np.divmod(met[first:] - 1, n_rows)
        rows_met, rows = np.unique(rows, return_inverse=True)
        self._bits = self._bits[rows_met]
        self._of_label = np.stack([rests, rows.reshape(-1)], axis=1)
        if not len(met[first:]):  # the empty language still has one label
            self._bits, self._of_label = np.zeros((1, self._bits.shape[1]), np.bool_), np.zeros((1, 2), np.int64)
            self._left = [(FALSE,) * len(self._left[0])]

    def observed(self) -> tuple[BoolArray, npt.NDArray[np.int64]]:
        """Return the distinct rows of truths of the observed formulas, and the row of each label."""
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
        """Return the number of the remainder if an atom fails and if it holds; `DEAD` if nothing can hold any more."""
        numbers: dict[tuple[int, ...], int] = {}
        onward = np.full((len(self._left), 2), DEAD, np.int64)
        # PERF: remainders share most of their parts (`python -m benchmarks.maskbench`).
        memos: tuple[dict[int, int], dict[int, int]] = {}, {}
        for i, left in enumerate(self._left):
            for holds in (0, 1):
                after = self._with(left, {atom: holds == 1}, memos[holds])
                if after[0] != FALSE:
                    onward[i, holds] = numbers.setdefault(after, len(numbers))
        self._left = list(numbers) or [(FALSE,) * len(self._left[0])]
        return onward

    def _with(self, left: tuple[int, ...], truths: Mapping[Atom, bool], memo: dict[int, int]) -> tuple[int, ...]:
        """Substitute the truths of some atoms into formulas; ``memo`` is filled, one per ``truths``."""
        formulas = self._formulas

        def value(atom: Atom) -> int:
            return formulas.atom(atom) if atom not in truths else TRUE if truths[atom] else FALSE

        return tuple(formulas.rewrite(formula, value, memo) for formula in left)

    def _intersection(self, certain: Mapping[Atom, bool]) -> CharDFA:
        """Return the strings for which some atoms hold and others do not."""
        least, most, is_bounded = 0, ANY_LENGTH, False
        found: list[tuple[CharDFA, Atom]] = []
        whole: list[Atom] = []
        for atom, holds in certain.items():
            window = _window(atom, holds)
            if window is None:
                dfa = self._known(atom)
                found.append((dfa if holds else complement(dfa), atom))
                if holds:
                    whole.append(atom)
                continue
            is_bounded = True
            least = max(least, window[0])
            most = window[1] if most == ANY_LENGTH else most if window[1] == ANY_LENGTH else min(most, window[1])
        found.sort(key=lambda each: len(each[0].table))
        limits = self._limits
        if is_bounded and not any(atom[0] != "length" and has_lengths(atom, least, most, limits) for atom in whole):
            if least > most != ANY_LENGTH:
                return nothing()
            length: Atom = ("length", least, most)
            found.append((self._known(length), length))
        if not found:
            return self._known(("length", 0, ANY_LENGTH))
        dfa, atoms = found[0][0], [found[0][1]]
        for other, atom in found[1:]:
            atoms.append(atom)
            parts, classes = joint(dfa.partition, other.partition)
            table, left, right = self._pairs(dfa.table, other.table, classes, "and", atoms)
            accepting = dfa.accepting[left] & other.accepting[right] & (left >= 0) & (right >= 0)
            dfa = minimized(CharDFA(table, accepting, parts))
        return dfa

    def _known(self, atom: Atom) -> CharDFA:
        dfa, cost = known_within(self._formulas, atom, self._limits)
        self.cost += cost
        return dfa

    def _pairs(
        self, left: Int32Array, right: Int32Array, classes: Int32Array, operation: Operation, atoms: list[Atom]
    ) -> tuple[Int32Array, Int32Array, Int32Array]:
        try:
            return pairs(left, right, classes, operation, self._limits, lambda cells: self._spend(cells // _CELLS))
        except LimitError as error:
            raise LimitError(error.what, error.given, error.limit, _too_many(atoms)) from None

    def _spend(self, count: int) -> None:
        self.cost += count
        self._formulas.spend(count)


def _too_many(atoms: list[Atom]) -> str:
    more = f" and {len(atoms) - _NAMED:,} more" if len(atoms) > _NAMED else ""
    return f"too many string constraints at once: {', '.join(map(named, atoms[:_NAMED]))}{more}"


def known_within(formulas: Formulas, atom: Atom, limits: Limits) -> tuple[CharDFA, int]:
    """Return the automaton of an atom, made within the steps that are left of a call, and those that were spent."""
    left = formulas.steps.left
    try:
        found = known(atom, limits, max(0, left) * _STEPS)
    except LimitError as error:
        if error.what == "steps" and error.limit < limits.steps:
            formulas.spend(left + 1)
        raise
    cost = _PER_ATOM + found.steps // _STEPS
    formulas.spend(cost)
    return found.dfa, cost


def _literal(formulas: Formulas, formula: int) -> tuple[Atom | None, bool]:
    """Return the atom of a literal and whether it is positive; None for any other formula."""
    node = formulas.nodes[formula]
    holds = node[0] != "!"
    if not holds:
        node = formulas.nodes[node[1]]
    return (None, holds) if node[0] in ("&", "|", "!", "1", "F", "T") else (node, holds)


def _window(atom: Atom, holds: bool) -> tuple[int, int] | None:
    """Return the lengths that an atom allows if they form an interval, else None."""
    if atom[0] != "length":
        return None
    _, least, most = atom
    if holds:
        return least, most
    if most == ANY_LENGTH:
        return (0, least - 1) if least else (1, 0)
    return (most + 1, ANY_LENGTH) if not least else None
