"""Shortest byte paths to the nearest of some states of an automaton, by breadth-first search.

Invariant: the rest of a path is the path from there, so repeated queries along the way agree.

Complexity: O(states x classes) for distances to a set of states, once; O(length x classes) for a path.
"""

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.kernels import minimize as kernel

__all__ = ["ORDER", "PathsDown", "path_down", "shortest_by_label"]


def shortest_by_label(automaton: Automaton, n_labels: int) -> Int32Array:
    """Return the bytes of a shortest text with each label: int32, shape (n_labels,). O(n k).

    A label that no text has gets the greatest int32.
    """
    is_edge = automaton.table >= 0
    indptr = np.zeros(is_edge.size + 1, np.int32)
    np.cumsum(is_edge, out=indptr[1:])
    distance, queue = np.empty((2, automaton.n_states), np.int32)
    is_start = np.arange(automaton.n_states) == 0
    kernel.distances(is_start, indptr, automaton.table[is_edge], is_edge.shape[1], distance, queue)
    ends = np.flatnonzero(automaton.accepting & (distance >= 0))
    found = np.full(n_labels, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(found, automaton.labels[ends], distance[ends])
    return freeze(found)


def path_down(automaton: Automaton, distance: Int32Array, state: int) -> tuple[bytes, int]:
    """Return a shortest path from a state with a distance other than -1, and its end state."""
    found = bytearray()
    classes = automaton.classes.tolist()
    while distance[state]:
        row = automaton.table[state]
        closer = (row >= 0) & (distance[row] == distance[state] - 1)
        byte = next(byte for byte in ORDER if closer[classes[byte]])
        found.append(byte)
        state = int(row[classes[byte]])
    return bytes(found), state


class PathsDown:
    """The paths of `path_down` by one array of distances, cached for all states along short ones.

    Attributes
    ----------
    distance : ndarray[int32], shape (n_states,)
    """

    __slots__ = ("_automaton", "_known", "distance")

    def __init__(self, automaton: Automaton, distance: Int32Array) -> None:
        self._automaton = automaton
        self.distance = distance
        self._known: dict[int, tuple[bytes, int]] = {}

    def path(self, state: int) -> tuple[bytes, int]:
        """Return a shortest path from a state with a distance other than -1, and its end state."""
        found = self._known.get(state)
        if found is None:
            path, end = found = path_down(self._automaton, self.distance, state)
            if len(path) <= _SHORT:
                table, classes = self._automaton.table, self._automaton.classes
                for at, byte in enumerate(path):
                    self._known[state] = path[at:], end
                    state = table.item(state, classes.item(byte))
                self._known[state] = b"", end
        return found


# Most bytes of a path whose parts are cached.
_SHORT = 64

# Why digits and letters first: bytes forced at the end of a budget should look like text.
ORDER = (*b"0123456789", *range(0x61, 0x7B), *range(0x20, 0x30), *range(0x3A, 0x61), *range(0x7B, 0x100), *range(0x20))
