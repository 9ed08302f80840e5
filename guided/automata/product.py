"""Products of automata: intersection, union and difference, over bytes and over characters."""

import operator
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import minimal
from guided.automata.partition import joint
from guided.automata.steps import Steps, check_size
from guided.kernels import product as kernel
from guided.limits import Limits

__all__ = ["PER_CELL", "Operation", "char_intersection", "complement", "minimized", "pairs", "product"]

Operation: TypeAlias = Literal["and", "or", "minus"]
Spend: TypeAlias = Callable[[int], None]
_TOO_LARGE = "the product of two automata is too large"
# Steps of a cell, with its minimization.
PER_CELL = 4

_ACCEPT: dict[str, Callable[[BoolArray, BoolArray], BoolArray]] = {
    "and": operator.and_,
    "or": operator.or_,
    "minus": lambda left, right: left & ~right,
}


def product(
    left: tuple[Int32Array, BoolArray],
    right: tuple[Int32Array, BoolArray],
    classes: Int32Array,
    operation: Operation,
    limits: Limits,
    spend: Spend = lambda _: None,
) -> tuple[Int32Array, BoolArray]:
    """Return the reachable product: (table over joint classes, accepting), start state 0.

    Parameters
    ----------
    left, right : (ndarray[int32], ndarray[bool])
        Table and final states of each side, start state 0.
    classes : ndarray[int32], shape (n_joint, 2)
        Class of each side for every joint class.
    spend : callable
        Receives the number of cells of the table, before there are many more.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` was exceeded.
    """
    table, a, b = pairs(left[0], right[0], classes, operation, limits, spend)
    return table, _ACCEPT[operation](left[1][a] & (a >= 0), right[1][b] & (b >= 0))


def pairs(
    left: Int32Array,
    right: Int32Array,
    classes: Int32Array,
    operation: Operation,
    limits: Limits,
    spend: Spend = lambda _: None,
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the reachable product without final states: (table over joint classes, left state, right state), -1 for a dead side.

    ``operation`` decides which pairs are live: both sides live ("and"), the left one ("minus"), or either ("or").

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` was exceeded.
    """
    q = len(classes)
    left_class, right_class = np.ascontiguousarray(classes[:, 0]), np.ascontiguousarray(classes[:, 1])
    capacity = 2 * (len(left) + len(right)) + q + 64
    known, table, slots = _buffers(capacity, q)
    known[0] = 0
    cursor = np.array([0, 1], np.int64)
    kernel.refill(known, 1, slots)
    keep_left, keep_right, spent = operation != "and", operation == "or", 0
    while kernel.product(left, right, left_class, right_class, keep_left, keep_right, known, table, slots, cursor):
        count = int(cursor[1])
        check_size(count, q, limits, _TOO_LARGE)
        spend((count - spent) * q)
        spent = count
        capacity = 2 * capacity + q
        old = known[:count], table[:count]
        known, table, slots = _buffers(capacity, q)
        known[:count], table[:count] = old
        kernel.refill(known, count, slots)
    count = int(cursor[1])
    check_size(count, q, limits, _TOO_LARGE)
    spend((count - spent) * q)
    return table[:count].copy(), known[:count, 0].copy(), known[:count, 1].copy()


def char_intersection(left: CharDFA, right: CharDFA, limits: Limits, steps: Steps) -> CharDFA:
    """Return the automaton of the texts that both automata over characters accept; its cost is added to ``steps``."""
    parts, classes = joint(left.partition, right.partition)

    def spend(cells: int) -> None:
        steps.spend(PER_CELL * cells, "too many or too large intersections")

    table, accepting = product(
        (left.table, left.accepting), (right.table, right.accepting), classes, "and", limits, spend
    )
    # Its minimization takes as long as the product.
    spend(table.size)
    return minimized(CharDFA(table, accepting, parts))


def complement(dfa: CharDFA) -> CharDFA:
    """Return the minimal automaton of the texts that an automaton over characters does not accept."""
    n, k = dfa.table.shape
    table = np.full((n + 1, k), n, np.int32)
    table[:n] = np.where(dfa.table >= 0, dfa.table, n)
    # Why: an edge without characters would keep unreachable states alive.
    has_members = np.bincount(dfa.partition.classes[dfa.partition.classes >= 0], minlength=k) > 0
    table[:, ~has_members] = DEAD
    return minimized(CharDFA(table, np.append(~dfa.accepting, True), dfa.partition))


def minimized(dfa: CharDFA) -> CharDFA:
    """Return the minimal automaton of the same texts, over the same classes."""
    table, accepting, _ = minimal(dfa.table, dfa.accepting)
    return CharDFA(table, accepting, dfa.partition)


def _buffers(capacity: int, width: int) -> tuple[Int32Array, Int32Array, Int32Array]:
    slots = np.full(1 << (4 * capacity).bit_length(), -1, np.int32)
    return np.empty((capacity, 2), np.int32), np.empty((capacity, width), np.int32), slots
