"""The alphabet of numbers as columns, and the canonical automaton of a table over them.

Small tables, which most conditions give, are minimized here by Moore's refinement in plain Python: calling a kernel costs more. Large
ones go to `guided.automata.minimize.canonical`, with the same result. All states must be reachable from the first.

Complexity: O(n² k) for n states and k columns at worst, for n up to `SMALL`; otherwise O(n k log n).
"""

import numpy as np

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical

__all__ = ["MINUS", "N_COLUMNS", "PLUS", "POINT", "REJECTED", "SMALL", "E", "automaton_of"]

# The outcome of a text that is not accepted.
REJECTED = -1
# Most states for which plain Python is faster.
SMALL = 24

# Columns: the ten digits, then these; _OTHER is for all other bytes.
POINT, MINUS, E, PLUS, _OTHER = range(10, 15)
N_COLUMNS = 15
_CLASSES = np.full(256, _OTHER, np.uint8)
_CLASSES[48:58] = range(10)
_CLASSES[[*b".-eE+"]] = [POINT, MINUS, E, E, PLUS]
# Columns in order of their least byte.
_IN_ORDER = (_OTHER, PLUS, MINUS, POINT, *range(10), E)


def automaton_of(rows: list[list[int]], outcomes: list[int]) -> Automaton:
    """Return the canonical automaton.

    Parameters
    ----------
    rows : list of list of int
        Next state by column, `DEAD` for none; the first row is the start.
    outcomes : list of int
        `REJECTED`, or the label of an accepting state.
    """
    if len(rows) <= SMALL:
        return _small(rows, outcomes)
    labels = np.array(outcomes, np.int32)
    return Automaton.from_canonical(
        *canonical(np.array(rows, np.int32), _CLASSES, labels != REJECTED, np.maximum(labels, 0))
    )


def _small(rows: list[list[int]], outcomes: list[int]) -> Automaton:
    # One extra entry, because DEAD is used as an index.
    block = [*_blocks_by_outcome(rows, outcomes), DEAD]
    if block[0] == DEAD:
        return Automaton.from_canonical(
            np.full((1, 1), DEAD, np.int32), np.zeros(256, np.uint8), np.zeros(1, np.bool_), np.zeros(1, np.int32)
        )
    narrow = list(zip(*dict.fromkeys(zip(*rows, strict=True)), strict=True))
    live = [state for state in range(len(rows)) if block[state] != DEAD]
    count = 0
    while True:
        seen: dict[tuple[int, ...], int] = {}
        fresh = [seen.setdefault((block[s], *map(block.__getitem__, narrow[s])), len(seen)) for s in live]
        for state, number in zip(live, fresh, strict=True):
            block[state] = number
        if len(seen) == count:
            break
        count = len(seen)
    member = dict(zip(reversed(fresh), reversed(live), strict=True))
    merged = [[block[target] for target in rows[member[number]]] for number in range(count)]
    columns: dict[tuple[int, ...], int] = {}
    class_of = [0] * N_COLUMNS
    by_column = list(zip(*merged, strict=True))
    for column in _IN_ORDER:
        class_of[column] = columns.setdefault(by_column[column], len(columns))
    by_state = list(zip(*columns, strict=True))
    order, number_of = [block[0]], {DEAD: DEAD, block[0]: 0}
    for found in order:  # grows during iteration
        for target in by_state[found]:
            if target not in number_of:
                number_of[target] = len(order)
                order.append(target)
    labels = np.array([outcomes[member[found]] for found in order], np.int32)
    return Automaton.from_canonical(
        np.array([[number_of[target] for target in by_state[found]] for found in order], np.int32),
        np.array(class_of, np.uint8)[_CLASSES],
        labels != REJECTED,
        np.maximum(labels, 0),
    )


def _blocks_by_outcome(rows: list[list[int]], outcomes: list[int]) -> list[int]:
    """Return a number per outcome; `DEAD` for states that do not reach acceptance."""
    sources: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in {*row}:
            if target >= 0:
                sources[target].append(state)
    numbers: dict[int, int] = {}
    blocks = [DEAD] * len(rows)
    todo = [state for state, outcome in enumerate(outcomes) if outcome != REJECTED]
    for state in todo:
        blocks[state] = 0
    for state in todo:  # grows during iteration
        blocks[state] = numbers.setdefault(outcomes[state], len(numbers))
        for source in sources[state]:
            if blocks[source] == DEAD:
                blocks[source] = 0
                todo.append(source)
    return blocks
