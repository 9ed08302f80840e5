"""Bounds on ignored text: the scanner of a grammar whose runs of ignored characters have a maximum length.

A *run* is a maximal sequence of ignored lexemes: before the first token, between two tokens, or after the last one. The bounded language
contains the texts of the grammar whose runs all have at most ``limit`` characters. Lexing does not change: a run that is too long is an
error and is never read as something else.

The bound is part of the automaton. Scanner states that can still lead to ignored text are multiplied by the number of characters of the
current run, and so are the left classes, which carry that number from one lexeme to the next. An ignored lexeme that makes its run too long
ends with a label of its own, which no parser state expects. Lexer, liveness and masks therefore need no knowledge of bounds.

Complexity: O(states that lead to ignored text x limit).
"""

from dataclasses import replace

import numpy as np

from guided.arrays import DEAD, Int32Array, IntegerArray, freeze
from guided.errors import LimitError
from guided.lalr.scanner import NOTHING, Scanner
from guided.limits import Limits

__all__ = ["bounded_scanner"]

# Step cost of a state, most of it spent later by queries on the scanner.
_STATE_COST = 15_000


def bounded_scanner(scanner: Scanner, limit: int, limits: Limits) -> Scanner:
    """Return the scanner with a bound.

    Parameters
    ----------
    scanner : Scanner
    limit : int
        Maximum number of ignored characters in a run.

    Raises
    ------
    LimitError
        The states exceed the budget ``steps`` of ``limits``.
    """
    leads = np.array([labels >> scanner.ignored & 1 for labels in scanner.labels], np.int64)
    # Without a start that leads to ignored text the bound has no effect.
    limit = limit if leads[scanner.starts[scanner.starts >= 0]].any() else 0
    n_runs = limit + 1
    matches = np.concatenate([scanner.events, scanner.ends])
    # Run lengths saturate here: the run is too long even if its last lexeme ends some characters earlier.
    most = n_runs + int(matches[matches[:, 0] == scanner.ignored, 1].max(initial=0))
    steps = _STATE_COST * (len(leads) + most * int(leads.sum()))
    if steps > limits.steps:
        raise LimitError("steps", steps, limits.steps, "max_ignored is too large for this grammar")
    # A state that leads to ignored text becomes one for each length of the run, from `first` on.
    copies = 1 + most * leads
    first = np.cumsum(copies) - copies
    state = np.repeat(np.arange(len(leads)), copies)
    run = np.arange(len(state)) - first[state]
    # By column: 1 if its bytes begin a character.
    counts = np.ones(scanner.table.shape[1], np.int64)
    counts[scanner.classes[0x80:0xC0]] = 0
    table = _paired(scanner.table[state], np.minimum(run[:, None] + counts, most), first, leads)
    starts = _paired(scanner.starts[:, :, None], np.arange(n_runs), first, leads)
    return replace(
        scanner,
        table=freeze(table),
        events=freeze(_bounded(scanner.events[state], run, scanner.ignored, limit)),
        ends=freeze(_bounded(scanner.ends[state], run, scanner.ignored, limit)),
        starts=freeze(starts.reshape(len(starts), -1)),
        first_left=scanner.first_left * n_runs,
        n_runs=n_runs,
    )


def _paired(states: Int32Array, runs: IntegerArray, first: IntegerArray, leads: IntegerArray) -> Int32Array:
    """Return the numbers of pairs of a state, or DEAD, and the length of a run."""
    return np.where(states >= 0, first[states] + leads[states] * runs, DEAD).astype(np.int32)


def _bounded(matches: Int32Array, runs: IntegerArray, ignored: int, limit: int) -> Int32Array:
    """Return matches under the bound: their labels, and the left classes after them."""
    label, back, left = matches.T
    is_ignored, run = label == ignored, runs - back
    is_long = is_ignored & (run > limit)
    left = np.where(label == NOTHING, left, left * (limit + 1) + np.where(is_ignored & ~is_long, run, 0))
    return np.stack([label + is_long, back, left], axis=1).astype(np.int32)
