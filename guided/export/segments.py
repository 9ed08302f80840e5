"""A byte automaton with holes as pieces of text between chosen states, each a regular expression: the lexemes of its grammar.

Some states are *cuts*. A piece leads from a cut to the next cut on the text. So every text determines where the piece ends, and in
whatever order a lexer tries the pieces of a cut, at most one matches. There are two exceptions, both pieces of single characters:

- a cut that leads back to itself by one character has a piece that takes all consecutive such characters;
- behind a hole every character is a piece, from sets that are disjoint for all holes, as a parser may not know yet which hole it is in.

Cuts are the start, accepting states, both sides of a hole, and as many more states as keep expressions short: first states outside loops
where paths meet, then those where paths split, then all.

Complexity: a few eliminations (`guided.export.elimination`) per pair of consecutive cuts, of at most `_STATES_ELIMINATED` states each;
otherwise O(states).
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from guided.errors import LimitError
from guided.export.characters import Characters
from guided.export.elimination import expression
from guided.export.strings import written
from guided.fixpoint.worklist import post_order
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.patterns.tree import Chars, Repeat
from guided.schema.pushdown.frames import Frame

__all__ = ["Piece", "Segments", "segments"]

# Most states between cuts, and sets of characters in an expression between cuts.
_STATES_ELIMINATED, _SETS_WRITTEN = 250, 300
# Most states visited in the search for cuts.
_STATES_VISITED = 20_000


class Piece(NamedTuple):
    """The texts between two cuts."""

    source: int
    target: int
    # A regular expression.
    pattern: str


class Segments(NamedTuple):
    """A frame divided into pieces."""

    # Grouped by source, the start first.
    pieces: list[Piece]
    # Number of the value and the cut behind it, by cut.
    holes: dict[int, tuple[int, int]]
    # Cuts where a text may end.
    ends: list[int]


def segments(frame: Frame, most: int) -> Segments:
    """Return the pieces of a frame's valid UTF-8 texts.

    ``most``: the largest number of pieces.

    Raises
    ------
    LimitError
        There are more.
    """
    return _Cutting(frame, most).found()


class _Cutting:
    def __init__(self, frame: Frame, most: int) -> None:
        self._most = most
        characters = Characters(frame.automaton.targets)
        holes = {source: (value, behind) for source, value, behind in frame.holes.tolist()}
        accepting = set(np.flatnonzero(frame.automaton.accepting).tolist())
        self._edges: dict[int, dict[int, Charset]] = {}
        todo = [0]
        while todo:
            state = todo.pop()
            if state not in self._edges:
                self._edges[state] = characters.edges(state)
                todo += self._edges[state]
                todo += [holes[state][1]] if state in holes else []
        alive = self._alive(holes, accepting)
        self._edges = {
            state: {target: charset for target, charset in edges.items() if target in alive}
            for state, edges in self._edges.items()
            if state in alive
        }
        self._holes = {state: hole for state, hole in holes.items() if state in self._edges and hole[1] in alive}
        self._ends = sorted(accepting & self._edges.keys())
        self._behind = {behind for _, behind in self._holes.values()}
        self._cuts = {0, *self._ends, *self._holes, *self._behind}
        self._minterms = self._compute_minterms()

    def _alive(self, holes: dict[int, tuple[int, int]], accepting: set[int]) -> set[int]:
        """Return the states from which characters and values lead to an end."""
        sources: dict[int, list[int]] = {}
        for state, edges in self._edges.items():
            for target in (*edges, *(holes[state][1:] if state in holes else ())):
                sources.setdefault(target, []).append(state)
        return set(post_order(accepting & self._edges.keys(), lambda state: sources.get(state, ())))

    def _compute_minterms(self) -> list[Charset]:
        """Return disjoint sets whose unions give all sets of characters behind holes."""
        found: list[Charset] = []
        for state in sorted(self._behind):
            for charset in self._edges[state].values():
                pieces, rest = [], charset
                for known in found:
                    pieces += [part for part in (known & charset, known - charset) if part]
                    rest = rest - known
                found = [*pieces, rest] if rest else pieces
        return found

    def found(self) -> Segments:
        """Return all pieces, adding cuts as needed."""
        made: dict[int, list[Piece]] = {}
        todo, count = [0], 0
        while todo:
            cut = todo.pop()
            if cut in made:
                continue
            found = self._from(cut)
            while found is None:
                found = self._from(cut)
            made[cut] = found
            count += len(found)
            if count > self._most:
                raise LimitError("rules", count, self._most, "the text around values has too many pieces")
            todo += [piece.target for piece in reversed(found)]
            todo += [self._holes[cut][1]] if cut in self._holes else []
        return Segments(
            [piece for pieces in made.values() for piece in pieces],
            {cut: self._holes[cut] for cut in made if cut in self._holes},
            [end for end in self._ends if end in made],
        )

    def _from(self, cut: int) -> list[Piece] | None:
        """Return the pieces that begin at a cut; None if cuts were added, which make them shorter."""
        if cut in self._behind:
            self._cuts.update(self._edges[cut])
            return [
                Piece(cut, target, render(Chars(sign)))
                for target, charset in self._edges[cut].items()
                for sign in self._minterms
                if sign & charset
            ]
        loop = self._edges[cut].get(cut)
        pieces = [] if loop is None else [Piece(cut, cut, render(Repeat(Chars(loop), 1, None)))]
        inner = self._inner(cut)
        if len(inner) > _STATES_ELIMINATED:
            self._cut(cut, inner)
            return None
        for target, states in self._exits(cut, inner).items():
            pattern = _pattern(self._numbered(cut, target, states), len(states) + 1)
            if pattern is None:
                self._cut(cut, inner)
                return None
            pieces.append(Piece(cut, target, pattern))
        return pieces

    def _numbered(self, cut: int, target: int, states: list[int]) -> list[tuple[int, Charset, int]]:
        """Return the edges from a cut (0) to another (the last number), through some states."""
        number = {state: place for place, state in enumerate(states, 1)}
        found = []
        for state in (cut, *states):
            for onward, charset in self._edges[state].items():
                if onward in number:
                    found.append((number.get(state, 0), charset, number[onward]))
                elif onward == target and (state, onward) != (cut, cut):
                    found.append((number.get(state, 0), charset, len(states) + 1))
        return found

    def _inner(self, cut: int) -> list[int]:
        """Return the states between a cut and the next ones; stops when there are too many."""
        found: dict[int, None] = {}
        todo = list(self._edges[cut])
        while todo and len(found) <= _STATES_VISITED:
            state = todo.pop()
            if state not in self._cuts and state not in found:
                found[state] = None
                todo += self._edges[state]
        return sorted(found)

    def _exits(self, cut: int, inner: list[int]) -> dict[int, list[int]]:
        """Return the cuts that follow a cut, each with the states in between."""
        sources: dict[int, list[int]] = {}
        for state in (cut, *inner):
            for target in self._edges[state]:
                if (state, target) != (cut, cut):
                    sources.setdefault(target, []).append(state)
        found = {}
        for target in sorted(sources.keys() & self._cuts):
            before = post_order(
                [target], lambda state: [one for one in sources.get(state, ()) if one not in self._cuts]
            )
            found[target] = sorted(set(before) - {target})
        return found

    def _cut(self, cut: int, inner: list[int]) -> None:
        """Add cuts between a cut and the next ones."""
        into: dict[int, int] = {}
        for state in (cut, *inner):
            for target in self._edges[state]:
                into[target] = into.get(target, 0) + 1
        loops = _on_loops({state: self._edges[state] for state in inner})
        straight = [state for state in inner if state not in loops]
        meeting = [state for state in straight if into.get(state, 0) > 1]
        parting = [state for state in straight if len(self._edges[state]) > 1]
        self._cuts.update(meeting or parting or straight or inner)


def _pattern(edges: list[tuple[int, Charset, int]], last: int) -> str | None:
    """Return the regular expression of the paths to the last state; None if it would be large or deep."""
    tree = expression(edges, [last], _SETS_WRITTEN)
    try:
        return None if tree is None else written(tree, "")
    except LimitError:
        return None


def _on_loops(edges: Mapping[int, Collection[int]]) -> set[int]:
    """Return the states on cycles. Kosaraju's algorithm."""
    sources: dict[int, list[int]] = {state: [] for state in edges}
    for state, targets in edges.items():
        for target in sources.keys() & set(targets):
            sources[target].append(state)
    found = {state for state, targets in edges.items() if state in targets}
    seen: set[int] = set()
    for root in reversed(post_order(edges, lambda state: sources.keys() & set(edges[state]))):
        # What leads to a state, apart from what leads to those before it, is all on cycles with it.
        members = post_order({root} - seen, lambda state: [one for one in sources[state] if one not in seen])
        seen.update(members)
        found.update(members if len(members) > 1 else ())
    return found
