"""Numbers of a grammar: a regular expression if a short one exists, otherwise an automaton for rules.

Complexity: linear in the automaton, plus `guided.export.elimination`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from guided.automata.automaton import Automaton
from guided.export.elimination import expression
from guided.fixpoint.worklist import post_order
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Look, Node, concat

__all__ = ["Number"]

# Most states of an automaton, and sets of characters in its expression.
_STATES_ELIMINATED, _SETS_WRITTEN = 120, 400
_SIGNS = b"+-.0123456789Ee"
# A number ends before a character that cannot continue one, whichever end of its expression a matcher tries first.
_NO_NUMBER = Look(Chars(Charset.of((sign, sign) for sign in _SIGNS)), behind=False, negative=True)


class Number(NamedTuple):
    """The numbers with one valuation: edges by characters, and the states in which they may end."""

    n_states: int
    edges: list[tuple[int, Charset, int]]
    ends: list[int]

    @classmethod
    def of(cls, automaton: Automaton, bits_of: Callable[[int], int], wanted: int) -> "Number":
        """Return the numbers of an automaton with some of its labels; every edge leads to an end, and none to the start."""
        labels = automaton.labels.tolist()
        ends = [state for state in np.flatnonzero(automaton.accepting).tolist() if bits_of(labels[state]) == wanted]
        rows = automaton.table[:, automaton.classes[list(_SIGNS)]].tolist()
        sources: dict[int, list[int]] = {}
        for source, row in enumerate(rows):
            for target in set(row):
                sources.setdefault(target, []).append(source)
        alive = set(post_order(ends, lambda state: sources.get(state, ())))
        edges: list[tuple[int, Charset, int]] = []
        for source, row in enumerate(rows):
            letters: dict[int, list[tuple[int, int]]] = {}
            for sign, target in zip(_SIGNS, row, strict=True):
                if target in alive:
                    letters.setdefault(target, []).append((sign, sign))
            edges += [(source, Charset.of(pairs), target) for target, pairs in letters.items()]
        return cls(len(rows), edges, ends)

    def expression(self) -> Node | None:
        """Return the tree of the numbers, each up to its end; None if it would be large."""
        if self.n_states > _STATES_ELIMINATED:
            return None
        tree = expression(self.edges, self.ends, _SETS_WRITTEN)
        return None if tree is None else concat([tree, _NO_NUMBER])
