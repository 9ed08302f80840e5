"""Unfolding of assertions: an NFA with look edges -> one without, over pairs (state, context), for the compiled subset construction.

A *context* is the status of the assertions after the text so far:

- *obligations*: for each undecided lookahead, the state of the deterministic automaton of its body;
- *behind*: for each lookbehind, the states of the automata of its body begun at every position. It holds where one of them accepts.

An edge by a set of characters is split by the contexts that its characters lead to. A pattern without assertions unfolds to itself, and
one with word boundaries to at most three copies. The end of a text is one more class of characters, after the last: it decides
obligations of a body itself, such as a ``$``.

Bodies are unfolded recursively, each for the contexts of the lookbehinds inside it where it begins. A lookahead inside a lookbehind
is not unfolded: an assertion that already holds would still have obligations (`guided.automata.lookaround` handles it).

Complexity: states times contexts that occur together; in the worst case contexts are exponential in the lookaheads open at once.
Invariant: the state of an obligation's automaton can still accept and does not accept yet.
"""

from array import array
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.determinize import CharDFA, determinize
from guided.automata.minimize import minimal
from guided.automata.nfa import NFA, Adjacency, columns
from guided.automata.partition import Partition
from guided.automata.steps import Steps
from guided.limits import Limits

__all__ = ["determinize_unfolded", "is_unfoldable"]

# Cost of a state or an edge here, and of a member of a set, in steps of the compiled construction (1 us and 100 ns against 8 ns).
_STEP_COST, _MEMBER_COST = 125, 12
# Likewise of an automaton of a body besides its states, and of an edge of the pattern.
_BODY_COST, _EDGE_COST = 40_000, 32
_TOO_MANY = "too many assertions at once"
_CELL_COST = 4
_ALL = -1

# (negative, number of a body, its state)
Obligations: TypeAlias = frozenset[tuple[bool, int, int]]
_NOTHING: Obligations = frozenset()
# For each lookbehind: (number of a body, its state) of each start position that may still match.
Behind: TypeAlias = tuple[frozenset[tuple[int, int]], ...]
Context: TypeAlias = tuple[Obligations, Behind]


def is_unfoldable(nfa: NFA) -> bool:
    """Return whether no lookahead is inside a lookbehind."""
    inside = _assertions_inside(nfa)
    return all(
        nfa.assertions[inner].behind for i, found in enumerate(inside) if nfa.assertions[i].behind for inner in found
    )


def determinize_unfolded(nfa: NFA, parts: Partition, limits: Limits, steps: Steps | None = None) -> CharDFA:
    """Return the deterministic automaton of an NFA with look edges; its cost is added to ``steps``.

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded.
    """
    bodies = _Bodies(nfa, parts, limits, steps or Steps(limits.steps))
    return replace(bodies.whole(), partition=parts)


@dataclass(frozen=True, slots=True)
class _Body:
    """Minimal automaton of an assertion's body. ``start`` is 0, or ``DEAD`` if nothing matches the body."""

    table: Int32Array
    accepting: BoolArray
    start: int


class _Bodies:
    """Automata of the bodies of a pattern's assertions, by the contexts in which they begin, built on demand."""

    def __init__(self, nfa: NFA, parts: Partition, limits: Limits, steps: Steps) -> None:
        self.nfa, self.parts, self.limits, self.steps = nfa, parts, limits, steps
        self.found: list[_Body] = []
        inside = _assertions_inside(nfa)
        # Invariant: inner ones first, which have higher numbers.
        self.behind = [
            tuple(inner for inner in sorted(held, reverse=True) if nfa.assertions[inner].behind)
            for held in (*inside, range(len(nfa.assertions)))
        ]
        self._numbers: dict[tuple[int, Behind], int] = {}
        steps.spend(_EDGE_COST * (len(nfa.empty) + len(nfa.edges) + len(nfa.looks)), _TOO_MANY)
        self.empty, self.edges, self.looks = (
            Adjacency(edges, nfa.n_states) for edges in (nfa.empty, nfa.edges, nfa.looks)
        )
        self.classes = [
            parts.set_classes[first:end].tolist()
            for first, end in zip(parts.set_indptr[:-1], parts.set_indptr[1:], strict=True)
        ]

    def whole(self) -> CharDFA:
        """Return the automaton of the main language."""
        return _Unfolding(self, self.behind[-1]).determinized(0, self.nfa.accept, None)

    def number(self, assertion: int, behind: Behind) -> int:
        """Return the number of the automaton of an assertion's body; ``behind``: context of the lookbehinds inside it at its beginning."""
        key = assertion, behind
        found = self._numbers.get(key)
        if found is None:
            made = self.nfa.assertions[assertion]
            self.steps.spend(_BODY_COST, _TOO_MANY)
            unfolding = _Unfolding(self, self.behind[assertion])
            dfa = unfolding.determinized(made.start, made.end, behind)
            if not made.behind:
                # A lookahead is decided once its body has matched.
                dfa.table[dfa.accepting] = DEAD
            table, accepting, _ = minimal(dfa.table, dfa.accepting)
            self.steps.spend(_CELL_COST * table.size, _TOO_MANY)
            # Why assigned here: nested bodies have been numbered meanwhile.
            found = self._numbers[key] = len(self.found)
            self.found.append(_Body(table, accepting, 0 if len(table) > 1 or accepting[0] else DEAD))
        return found


@dataclass(slots=True)
class _Unfolding:
    """Unfolding of the main language or of a body: reachable pairs (state, context) as states of a plain NFA."""

    bodies: _Bodies
    lookbehinds: tuple[int, ...]
    contexts: list[Context] = field(default_factory=list)
    _contexts: dict[Context, int] = field(default_factory=dict)
    _steps: dict[tuple[int, int], int | None] = field(default_factory=dict)
    _splits: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)
    _sets: dict[tuple[int, ...], int] = field(default_factory=dict)

    def determinized(self, start: int, end: int, behind: Behind | None) -> CharDFA:
        """Return the automaton from ``start`` to ``end``: of whole texts, or of a body (``behind``: its lookbehinds at its beginning).

        The automaton of a body accepts where the body has matched whatever follows, and reads the end of the text as one more class.
        """
        bodies = self.bodies
        n_classes = bodies.parts.n_classes
        is_body = behind is not None
        first = self._context(
            (frozenset(), self._begun([frozenset()] * len(self.lookbehinds)) if behind is None else behind)
        )
        numbers, work = {(start, first): 0}, [(start, first)]
        empty, edges = array("i"), array("i")
        # States where the text may end, and states where a body has matched if the text ends.
        ends: list[int] = []
        ends_with_text: list[int] = []

        def number(state: int, context: int) -> int:
            found = numbers.setdefault((state, context), len(work))
            if found == len(work):
                work.append((state, context))
            return found

        source = 0
        while source < len(work):
            state, context = work[source]
            looks = bodies.looks[state]
            bodies.steps.spend(_STEP_COST * (3 + len(bodies.empty[state]) + 2 * len(looks)), _TOO_MANY)
            if state == end:
                obligations = self.contexts[context][0]
                if not obligations or (not is_body and self._holds_at_end(obligations)):
                    ends.append(source)
                elif is_body:
                    # The text after the body decides.
                    for split, after in self._split(context, _ALL):
                        edges.extend((source, split, number(state, after)))
                    if self._holds_at_end(obligations):
                        ends_with_text.append(source)
            for (target,) in bodies.empty[state]:
                empty.extend((source, number(target, context)))
            for assertion, target in looks:
                made = self._asserted(assertion, context)
                if made is not None:
                    empty.extend((source, number(target, made)))
            for charset, target in bodies.edges[state]:
                found = self._split(context, charset)
                bodies.steps.spend(_STEP_COST * len(found), _TOO_MANY)
                for split, after in found:
                    edges.extend((source, split, number(target, after)))
            source += 1
        for source in ends:
            empty.extend((source, len(work)))
        for source in ends_with_text:
            edges.extend((source, self._set((n_classes,)), len(work)))
        indptr = np.cumsum([0, *map(len, self._sets)], dtype=np.int32)
        members = np.fromiter(chain.from_iterable(self._sets), np.int32, int(indptr[-1]))
        parts = replace(bodies.parts, n_classes=n_classes + is_body, set_indptr=indptr, set_classes=members)
        places, ranks = self._copies(work)
        no_looks = np.empty((0, 3), np.int32)
        plain = NFA(len(work) + 1, len(work), columns(empty, 2), columns(edges, 3), no_looks, (), (), (), places, ranks)
        return determinize(plain, parts, bodies.limits, bodies.steps)

    def _copies(self, work: list[tuple[int, int]]) -> tuple[Int32Array, Int32Array]:
        """Return the places and ranks of the pairs and of the accepting state: the copies of a place compare within one context."""
        nfa = self.bodies.nfa
        states, contexts = np.array(work, np.int64).T
        shape = len(nfa.places), len(work) + 1
        places, ranks = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
        for row in range(len(nfa.places)):
            place = nfa.places[row, states]
            _, number = np.unique(contexts * nfa.n_states + place, return_inverse=True)
            places[row, :-1], ranks[row, :-1] = np.where(place < 0, -1, number), nfa.ranks[row, states]
        return places, ranks

    def _set(self, classes: tuple[int, ...]) -> int:
        return self._sets.setdefault(classes, len(self._sets))

    def _context(self, context: Context) -> int:
        found = self._contexts.get(context)
        if found is None:
            self.bodies.steps.spend(4 * _STEP_COST, _TOO_MANY)
            found = self._contexts[context] = len(self.contexts)
            self.contexts.append(context)
        return found

    def _begun(self, going: list[frozenset[tuple[int, int]]]) -> Behind:
        """Restart each lookbehind, as at every position, inner ones first."""
        at: dict[int, frozenset[tuple[int, int]]] = {}
        for assertion, before in zip(self.lookbehinds, going, strict=True):
            inner = tuple(at[i] for i in self.bodies.behind[assertion])
            number = self.bodies.number(assertion, inner)
            start = self.bodies.found[number].start
            at[assertion] = before if start == DEAD else before | {(number, start)}
        return tuple(at.values())

    def _asserted(self, assertion: int, context: int) -> int | None:
        """Return the context after an assertion made in ``context``; None if it fails at once."""
        obligations, behind = self.contexts[context]
        bodies = self.bodies
        bodies.steps.spend(_MEMBER_COST * (len(obligations) + sum(map(len, behind))), _TOO_MANY)
        made = bodies.nfa.assertions[assertion]
        if made.behind:
            at = behind[self.lookbehinds.index(assertion)]
            holds = any(bodies.found[body].accepting[state] for body, state in at)
            return context if holds != made.negative else None
        number = bodies.number(assertion, tuple(behind[self.lookbehinds.index(i)] for i in bodies.behind[assertion]))
        more = self._judged(made.negative, number, bodies.found[number].start)
        return None if more is None else self._context((obligations | more, behind))

    def _judged(self, negative: bool, body: int, state: int) -> Obligations | None:
        """Return the obligation of a lookahead's automaton in a state: empty once it holds, None once it fails."""
        if state == DEAD:
            return _NOTHING if negative else None
        if self.bodies.found[body].accepting[state]:
            return None if negative else _NOTHING
        return frozenset([(negative, body, state)])

    def _split(self, context: int, charset: int) -> list[tuple[int, int]]:
        """Split the characters of a set by the context they lead to."""
        key = context, charset
        found = self._splits.get(key)
        if found is None:
            classes = range(self.bodies.parts.n_classes) if charset == _ALL else self.bodies.classes[charset]
            by_context: dict[int, list[int]] = {}
            for c in classes:
                if (context, c) not in self._steps:
                    self._steps[context, c] = self._step(context, c)
                after = self._steps[context, c]
                if after is not None:
                    by_context.setdefault(after, []).append(c)
            found = self._splits[key] = [(self._set(tuple(held)), after) for after, held in by_context.items()]
        return found

    def _step(self, context: int, c: int) -> int | None:
        """Return the context after a character of class c; None if an obligation failed."""
        obligations, behind = self.contexts[context]
        found = self.bodies.found
        # Each lookbehind is restarted after the character.
        n_moved = len(obligations) + sum(map(len, behind)) + 2 * len(behind)
        self.bodies.steps.spend(_STEP_COST * (1 + n_moved), _TOO_MANY)
        left: set[tuple[bool, int, int]] = set()
        for negative, body, state in obligations:
            more = self._judged(negative, body, found[body].table.item(state, c))
            if more is None:
                return None
            left |= more
        going = []
        for at in behind:
            moved = ((body, found[body].table.item(state, c)) for body, state in at)
            going.append(frozenset((body, state) for body, state in moved if state != DEAD))
        return self._context((frozenset(left), self._begun(going)))

    def _holds_at_end(self, obligations: Obligations) -> bool:
        """Return whether all obligations hold if the text ends here."""
        end = self.bodies.parts.n_classes
        for negative, body, state in obligations:
            found = self.bodies.found[body]
            target = found.table.item(state, end)
            if negative == (target != DEAD and bool(found.accepting[target])):
                return False
        return True


def _assertions_inside(nfa: NFA) -> list[set[int]]:
    """Return for each assertion those inside its body, at any depth."""
    # Invariant: bodies are blocks of states after the main language, in the order of their numbers.
    starts = np.array([assertion.start for assertion in nfa.assertions], np.int32)
    owner = np.searchsorted(starts, nfa.looks[:, 0], side="right") - 1
    inside: list[set[int]] = [set() for _ in nfa.assertions]
    for body, inner in sorted({*zip(owner.tolist(), nfa.looks[:, 1].tolist(), strict=True)}, reverse=True):
        if body >= 0:
            inside[body] |= {inner} | inside[inner]
    return inside
