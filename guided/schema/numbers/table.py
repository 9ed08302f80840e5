"""The alphabet of numbers as columns, and the canonical automaton of a table over them.

All states must be reachable from the first. Complexity: O(n k log n) for n states and k columns.
"""

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical

__all__ = ["MINUS", "N_COLUMNS", "PLUS", "POINT", "REJECTED", "E", "automaton_of"]

# The outcome of a text that is not accepted.
REJECTED = -1

# Columns: the ten digits, then these; _OTHER is for all other bytes.
POINT, MINUS, E, PLUS, _OTHER = range(10, 15)
N_COLUMNS = 15
_CLASSES = np.full(256, _OTHER, np.uint8)
_CLASSES[48:58] = range(10)
_CLASSES[[*b".-eE+"]] = [POINT, MINUS, E, E, PLUS]


def automaton_of(rows: list[list[int]], outcomes: list[int]) -> Automaton:
    """Return the canonical automaton.

    Parameters
    ----------
    rows : list of list of int
        Next state by column, `DEAD` for none; the first row is the start.
    outcomes : list of int
        `REJECTED`, or the label of an accepting state.
    """
    labels = np.array(outcomes, np.int32)
    return Automaton(*canonical(np.array(rows, np.int32), _CLASSES, labels != REJECTED, np.maximum(labels, 0)))
