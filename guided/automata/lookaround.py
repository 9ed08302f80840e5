"""Determinization with assertions: threads of the NFA carry undischarged obligations.

A state of the result is a set of *threads* of the main language and of every lookbehind. A thread is (NFA state, obligations): all of its
obligations must hold for the rest of the text. An obligation is (negative, set of threads): some thread of it reaches the end of
its assertion, whatever follows. The end of an assertion with open obligations is a thread at ``ENDED``.

- A lookahead opens an obligation at its position. The obligation is stepped with every character; it is discharged or fatal as soon as it
  reaches its end without open obligations, and otherwise decided when the text ends.
- A lookbehind runs a thread set from every position of the text. The assertion holds at a position if a thread has just reached its end.
  Exact whatever the width.

Assertions of any nesting are therefore Boolean formulas over NFA states, kept in a disjunctive form hash-consed by Python's frozensets.
Exponential in the worst case, so the budgets count states and threads. This construction serves lookaheads inside lookbehinds, and
assertions for other matchers (`Machine`); all other patterns are unfolded for the compiled construction (`guided.automata.unfolding`).
Ref: alternating automata (Chandra, Kozen and Stockmeyer 1981).
"""

from typing import Any, TypeAlias

import numpy as np

from guided.arrays import DEAD
from guided.automata.determinize import CharDFA
from guided.automata.nfa import NFA, Adjacency
from guided.automata.partition import Partition
from guided.automata.steps import Steps, check_size
from guided.limits import Limits

__all__ = ["Machine", "Obligation", "Threads", "Trackers", "determinize_with_assertions", "holds_at_end"]

ENDED = -1
_TOO_MANY = "too many assertions at once"

# A thread is (state, obligations) and an obligation is (negative, threads); the recursion ends in ``Any`` for the type checker.
Thread: TypeAlias = tuple[int, frozenset[Any]]
Threads: TypeAlias = frozenset[Thread]
Obligation: TypeAlias = tuple[bool, Threads]
# Threads of each lookbehind at a position, inner ones first.
Trackers: TypeAlias = tuple[Threads, ...]
State: TypeAlias = tuple[Threads, Trackers]

# Cost of a step and of a comparison here, in steps of the compiled construction (2 us against 8 ns).
_STEP_COST, _COMPARE_COST = 250, 8

_NONE: frozenset[Any] = frozenset()
_HIT: Thread = (ENDED, _NONE)


def determinize_with_assertions(nfa: NFA, parts: Partition, limits: Limits, steps: Steps | None = None) -> CharDFA:
    """Return the deterministic automaton of an NFA with look edges; its cost is added to ``steps``.

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded.
    """
    machine = Machine(nfa, parts, steps or Steps(limits.steps))
    start = machine.start()
    numbers, work = {start: 0}, [start]
    rows: list[list[int]] = []
    while len(rows) < len(work):
        row = []
        for c in range(parts.n_classes):
            target = machine.step(work[len(rows)], c)
            if not target[0]:
                row.append(DEAD)
                continue
            number = numbers.setdefault(target, len(numbers))
            if number == len(work):
                work.append(target)
                check_size(number + 1, parts.n_classes, limits, _TOO_MANY)
            row.append(number)
        rows.append(row)
    accepting = np.array([any(_accepts_at_end(thread) for thread in threads) for threads, _ in work], np.bool_)
    return CharDFA(np.array(rows, np.int32).reshape(len(rows), parts.n_classes), accepting, parts)


class Machine:
    """Steps of states and of assertions, all at one position of the text; trackers are the threads of the lookbehinds there."""

    def __init__(self, nfa: NFA, parts: Partition, steps: Steps) -> None:
        self.steps = steps
        self.assertions = nfa.assertions
        # Inner assertions first: they have higher numbers.
        self.behind = [i for i in reversed(range(len(nfa.assertions))) if nfa.assertions[i].behind]
        self.ends = frozenset([nfa.accept, *(assertion.end for assertion in nfa.assertions)])
        self.empty = Adjacency(nfa.empty, nfa.n_states)
        self.edges = Adjacency(nfa.edges, nfa.n_states)
        self.looks = Adjacency(nfa.looks, nfa.n_states)
        classes, indptr = parts.set_classes, parts.set_indptr
        self.members = [frozenset(classes[indptr[i] : indptr[i + 1]].tolist()) for i in range(len(indptr) - 1)]

    def start(self) -> State:
        """Return the state at the beginning of a text."""
        trackers = self.first_trackers()
        return self._close({(0, _NONE)}, self._named(trackers)), trackers

    def first_trackers(self) -> Trackers:
        """Return the trackers at the beginning of a text."""
        trackers: dict[int, Threads] = {}
        for i in self.behind:
            trackers[i] = self._close({(self.assertions[i].start, _NONE)}, trackers)
        return tuple(trackers.values())

    def step(self, state: State, c: int) -> State:
        """Return the state after one more character, of class c."""
        main, old = state
        stepped: dict[Obligation, Obligation | bool] = {}
        trackers = self.next_trackers(old, c, stepped)
        named = self._named(trackers)
        # Obligations stepped for a lookbehind saw only the trackers inside it, which are all that they can name.
        moved = self._move(main, c, named, stepped, keep_ended=False)
        return self._close(moved, named), trackers

    def next_trackers(self, old: Trackers, c: int, stepped: dict[Obligation, Obligation | bool]) -> Trackers:
        """Return the trackers after one more character; ``stepped`` caches the results of obligations."""
        trackers: dict[int, Threads] = {}
        # Invariant: lookbehinds inside another advance before it does.
        for i, threads in zip(self.behind, old, strict=True):
            moved = self._move(threads, c, trackers, stepped, keep_ended=False)
            moved.add((self.assertions[i].start, _NONE))
            trackers[i] = self._close(moved, trackers)
        return tuple(trackers.values())

    def obligations_after(
        self, obligations: frozenset[Any], c: int, trackers: Trackers, stepped: dict[Obligation, Obligation | bool]
    ) -> frozenset[Any] | None:
        """Return the open obligations after a character, or None if one failed; ``trackers`` are those after the character."""
        return self._step_obligations(obligations, c, self._named(trackers), stepped)

    def reads(self, obligations: frozenset[Any]) -> int:
        """Return, as bits, the numbers of all character sets that obligations test."""
        found, work, seen = 0, list(obligations), set(obligations)
        while work:
            for state, inner in work.pop()[1]:
                if state != ENDED:
                    for number, _ in self.edges[state]:
                        found |= 1 << number
                work += inner - seen
                seen |= inner
        return found

    def asserted(self, number: int, trackers: Trackers) -> list[frozenset[Any]]:
        """Return the alternative obligations of an assertion: none if it fails at once, [nothing] if it holds at once."""
        return self._assert(number, self._named(trackers))

    def _named(self, trackers: Trackers) -> dict[int, Threads]:
        return dict(zip(self.behind, trackers, strict=True))

    def _move(
        self,
        threads: Threads,
        c: int,
        trackers: dict[int, Threads],
        stepped: dict[Obligation, Obligation | bool],
        *,
        keep_ended: bool,
    ) -> set[Thread]:
        """Return threads after a character, not yet closed. ``keep_ended``: keep ended assertions, which only lookaheads do."""
        moved: set[Thread] = set()
        for state, obligations in threads:
            if state == ENDED and not keep_ended:
                continue
            targets = [ENDED] if state == ENDED else [t for number, t in self.edges[state] if c in self.members[number]]
            self._spend(1 + len(targets))
            if targets and (rest := self._step_obligations(obligations, c, trackers, stepped)) is not None:
                moved.update((target, rest) for target in targets)
        return moved

    def _step_obligations(
        self,
        obligations: frozenset[Any],
        c: int,
        trackers: dict[int, Threads],
        stepped: dict[Obligation, Obligation | bool],
    ) -> frozenset[Any] | None:
        """Return the open obligations after a character, or None if one failed."""
        rest = set()
        for obligation in obligations:
            result = stepped.get(obligation)
            if result is None:
                negative, threads = obligation
                closed = self._close(self._move(threads, c, trackers, stepped, keep_ended=True), trackers)
                result = stepped[obligation] = _judge(negative, closed)
            if result is False:
                return None
            if result is not True:
                rest.add(result)
        return frozenset(rest)

    def _close(self, threads: set[Thread], trackers: dict[int, Threads]) -> Threads:
        """Follow empty edges and assertions; keep threads that read a character or have ended."""
        if not threads:
            return _NONE
        seen, stack = set(threads), list(threads)
        closed: set[Thread] = set()
        while stack:
            thread = stack.pop()
            state, obligations = thread
            self._spend(1)
            if state == ENDED:
                closed.add(thread)
                continue
            if state in self.ends:
                closed.add((ENDED, obligations))
            if self.edges[state]:
                closed.add(thread)
            onward: list[Thread] = [(target, obligations) for (target,) in self.empty[state]]
            for number, target in self.looks[state]:
                onward.extend((target, obligations | more) for more in self._assert(number, trackers))
            for new in onward:
                if new not in seen:
                    seen.add(new)
                    stack.append(new)
        return self._without_subsumed(closed)

    def _assert(self, number: int, trackers: dict[int, Threads]) -> list[frozenset[Any]]:
        assertion = self.assertions[number]
        if assertion.behind:
            found = frozenset(thread for thread in trackers.get(number, _NONE) if thread[0] == ENDED)
            if not assertion.negative:
                return [obligations for _, obligations in found]
        else:
            found = self._close({(assertion.start, _NONE)}, trackers)
        result = _judge(assertion.negative, found)
        if result is True:
            return [_NONE]
        return [] if result is False else [frozenset([result])]

    def _without_subsumed(self, threads: set[Thread]) -> Threads:
        """Drop a thread if one at the same state has strictly fewer obligations."""
        by_state: dict[int, list[frozenset[Any]]] = {}
        for state, obligations in threads:
            by_state.setdefault(state, []).append(obligations)
        # PERF: mostly each thread has a state of its own (grammars/sql.lark).
        if len(by_state) == len(threads):
            return frozenset(threads)
        dropped: set[Thread] = set()
        for state, found in by_state.items():
            # Only a smaller set can be a strict subset.
            least = min(map(len, found))
            longer = [obligations for obligations in found if len(obligations) > least]
            self.steps.spend(_COMPARE_COST * len(longer) * len(found), _TOO_MANY)
            dropped.update((state, obligations) for obligations in longer if any(less < obligations for less in found))
        return frozenset(threads - dropped)

    def _spend(self, count: int) -> None:
        self.steps.spend(_STEP_COST * count, _TOO_MANY)


def _judge(negative: bool, threads: Threads) -> Obligation | bool:
    """Return the obligation over these threads, or its value if it is decided."""
    if _HIT in threads:
        return not negative
    return (negative, threads) if threads else negative


def holds_at_end(obligations: frozenset[Any]) -> bool:
    """Return whether all obligations hold if the text ends here."""
    return all(negative != any(map(_accepts_at_end, threads)) for negative, threads in obligations)


def _accepts_at_end(thread: Thread) -> bool:
    state, obligations = thread
    return state == ENDED and holds_at_end(obligations)
