"""Numbers of a grammar: an expression where there is a short one, and an automaton for rules where there is not.

Complexity: linear in the automaton, and what `guided.schema.grammar.elimination` may take.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from guided.automata.automaton import Automaton
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Look, Node, concat
from guided.schema.grammar.elimination import expression

__all__ = ["Number"]

# States of an automaton, and sets of characters in its expression.
_MOST_STATES, _MOST_SETS = 120, 400
_SIGNS = b"+-.0123456789Ee"
# A number ends where what follows is no part of one, whichever end of its expression a matcher tries first.
_NO_NUMBER = Look(Chars(Charset.of((sign, sign) for sign in _SIGNS)), behind=False, negative=True)


class Number(NamedTuple):
    """The numbers that make a report: characters and target of the edges of each state, and in which states they may end."""

    edges: list[list[tuple[Charset, int]]]
    ends: list[int]

    @classmethod
    def of(cls, automaton: Automaton, bits_of: Callable[[int], int], wanted: int) -> "Number":
        """Those of an automaton with some of its labels; every edge leads to an end, and none to the start."""
        labels = automaton.labels.tolist()
        ends = [state for state in np.flatnonzero(automaton.accepting).tolist() if bits_of(labels[state]) == wanted]
        rows = automaton.table[:, automaton.classes[list(_SIGNS)]].tolist()
        sources: dict[int, list[int]] = {}
        for source, row in enumerate(rows):
            for target in set(row):
                sources.setdefault(target, []).append(source)
        alive, todo = set(ends), list(ends)
        while todo:
            for source in sources.get(todo.pop(), ()):
                if source not in alive:
                    alive.add(source)
                    todo.append(source)
        edges: list[list[tuple[Charset, int]]] = []
        for row in rows:
            letters: dict[int, list[tuple[int, int]]] = {}
            for sign, target in zip(_SIGNS, row, strict=True):
                if target in alive:
                    letters.setdefault(target, []).append((sign, sign))
            edges.append([(Charset.of(pairs), target) for target, pairs in letters.items()])
        return cls(edges, ends)

    def expression(self) -> Node | None:
        """The tree of the numbers, each up to its end; None where it would be large."""
        if len(self.edges) > _MOST_STATES:
            return None
        edges = ((source, charset, target) for source, (charset, target) in self.all_edges())
        tree = expression(edges, self.ends, _MOST_SETS)
        return None if tree is None else concat([tree, _NO_NUMBER])

    def all_edges(self) -> Iterator[tuple[int, tuple[Charset, int]]]:
        """Each edge with its source."""
        return ((source, edge) for source, edges in enumerate(self.edges) for edge in edges)
