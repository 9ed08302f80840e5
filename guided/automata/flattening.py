"""`flattened`: a pushdown automaton whose texts need finitely many configurations, as a finite automaton.

Its states are the configurations that texts reach: control, stack, registers, and the bytes read on top of recording cells. Recursion
without a bound, and a counter for each length up to a large one, are what makes them too many.

Bytes with the same entry in a control's row have the same successor, unless an action or a recording cell looks at the byte itself; so a
configuration costs as many steps as its row has different entries.

Complexity: O(configurations x different entries), bounded by ``most`` and by the steps of a few calls (`PushdownTables.steps`).
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import ACTION, KEPT, PENDING, Pushdown
from guided.automata.stacks import Stacks, TextConfiguration
from guided.automata.steps import Steps

__all__ = ["flattened"]

_BYTES = [bytes([byte]) for byte in range(256)]
# All configurations together may take the steps of this many calls.
_CALLS = 2
# Steps of reading a byte: it takes as long as so many others.
_READ = 8


def flattened(automaton: Pushdown, most: int) -> Automaton | None:
    """Return the finite automaton of the same texts; None if it needs more than ``most`` configurations.

    Raises
    ------
    LimitError
        A budget of the automaton is exceeded.
    """
    stacks = Stacks(automaton)
    start: TextConfiguration = (automaton.start, 0, *KEPT), ()
    numbers, found = {start: 0}, [start]
    groups: dict[int, list[list[int]]] = {}
    rows: list[Int32Array] = []
    accepting: list[bool] = []
    steps = automaton.tables.steps
    together = Steps(_CALLS * steps.limit, "call_steps")
    reason = "the finite automaton takes too many steps"
    for at in found:
        together.spend(steps.spent, reason)
        steps.begin()
        row: Int32Array = np.full(256, DEAD, np.int32)
        control = at[0][0]
        if control not in groups:
            groups[control] = _groups(automaton, control)
        cell = stacks.top(at[0][1])[0]
        if automaton.tables.cell_allow.item(cell) == PENDING:
            automaton.compute_allowed(cell)
        for group in groups[control]:
            # A recording cell keeps the byte, so each byte of a group then has a successor of its own.
            for byte in group if at[1] else group[:1]:
                together.spend(_READ, reason)
                texts = list(at[1])
                configuration = stacks.read(at[0], _BYTES[byte], texts)
                if configuration is None:
                    continue
                after = configuration, tuple(texts)
                number = numbers.get(after)
                if number is None:
                    if len(found) == most:
                        return None
                    number = numbers[after] = len(found)
                    found.append(after)
                row[byte if at[1] else group] = number
        rows.append(row)
        accepting.append(stacks.is_end(at[0]))
    return Automaton.from_table(np.array(rows), np.arange(256, dtype=np.uint8), np.array(accepting))


def _groups(automaton: Pushdown, control: int) -> list[list[int]]:
    """Return the live bytes of a control, those with the same successors together."""
    if control == automaton.end:
        return []
    tables = automaton.tables
    for byte in np.flatnonzero(tables.rows[control] == UNKNOWN).tolist():
        automaton.fill(control, byte)
    row = tables.rows[control]
    groups: list[list[int]] = []
    for entry in np.unique(row[row != DEAD]).tolist():
        those = np.flatnonzero(row == entry).tolist()
        # After an action that leaves its byte, the byte itself decides.
        is_own = entry <= ACTION and tables.actions.item(ACTION - entry, 1)
        groups += [[byte] for byte in those] if is_own else [those]
    return groups
