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

from guided.arrays import DEAD, freeze
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
    return _Product(scanner, limit, limits).made()


class _Product:
    """Pairs of a state and the number of characters in the current run, numbered in order of discovery."""

    def __init__(self, scanner: Scanner, limit: int, limits: Limits) -> None:
        self.scanner, self.limits, self.ignored = scanner, limits, scanner.ignored
        self.rows: list[list[int]] = scanner.table.tolist()
        # Whether each state can still lead to ignored text.
        self.leads_to_ignored = [labels >> self.ignored & 1 for labels in scanner.labels]
        begun = sum(self.leads_to_ignored[state] for state in np.unique(scanner.starts).tolist() if state >= 0)
        # Each start that leads to ignored text has a state for each run length; without such a start the bound has no effect.
        self.limit = limit if begun else 0
        self.n_runs = self.limit + 1
        self._check(begun * self.n_runs)
        matches = np.concatenate([scanner.events, scanner.ends])
        back = matches[matches[:, 0] == self.ignored, 1]
        # Run lengths saturate here: the run is too long even if its last lexeme ends `back` characters earlier.
        self.most = self.limit + 1 + int(back.max(initial=0))
        self.counts = self._counts()
        self.numbers: dict[tuple[int, int], int] = {}
        self.pairs: list[tuple[int, int]] = []

    def made(self) -> Scanner:
        scanner, n_runs = self.scanner, self.n_runs
        n_contexts, n_lefts = scanner.starts.shape
        starts = np.full((n_contexts, n_lefts * n_runs), DEAD, np.int32)
        for context in range(n_contexts):
            for left in range(n_lefts):
                for run in range(n_runs):
                    starts[context, left * n_runs + run] = self._number(int(scanner.starts[context, left]), run)
        table: list[list[int]] = []
        for state, run in self.pairs:
            table.append([
                self._number(target, min(run + count, self.most))
                for target, count in zip(self.rows[state], self.counts, strict=True)
            ])  # fmt: skip
        events: list[list[int]] = scanner.events.tolist()
        ends: list[list[int]] = scanner.ends.tolist()
        width = scanner.table.shape[1]
        return replace(
            scanner,
            table=freeze(np.array(table, np.int32).reshape(-1, width)),
            events=freeze(
                np.array([self._bounded_match(events[state], run) for state, run in self.pairs], np.int32).reshape(
                    -1, 3
                )
            ),
            ends=freeze(
                np.array([self._bounded_match(ends[state], run) for state, run in self.pairs], np.int32).reshape(-1, 3)
            ),
            starts=freeze(starts),
            first_left=scanner.first_left * n_runs,
            n_runs=n_runs,
        )

    def _number(self, state: int, run: int) -> int:
        if state < 0:
            return DEAD
        pair = state, run if self.leads_to_ignored[state] else 0
        found = self.numbers.setdefault(pair, len(self.pairs))
        if found == len(self.pairs):
            self.pairs.append(pair)
            self._check(found)
        return found

    def _check(self, n_states: int) -> None:
        steps = _STATE_COST * n_states
        if steps > self.limits.steps:
            raise LimitError("steps", steps, self.limits.steps, "max_ignored is too large for this grammar")

    def _bounded_match(self, match: list[int], run: int) -> tuple[int, int, int]:
        """Return a match under the bound: its label, and the left class after it."""
        label, back, left = match
        if label == NOTHING:
            return NOTHING, back, left
        if label != self.ignored:
            return label, back, left * self.n_runs
        if run - back > self.limit:
            return self.ignored + 1, back, left * self.n_runs
        return self.ignored, back, left * self.n_runs + run - back

    def _counts(self) -> list[int]:
        """Return, per column, 1 if its bytes start a character, else 0."""
        found = [1] * self.scanner.table.shape[1]
        for byte in range(0x80, 0xC0):
            found[int(self.scanner.classes[byte])] = 0
        return found
