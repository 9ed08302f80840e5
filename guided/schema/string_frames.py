"""Frames of strings: the controls of a string's automaton, from its opening quote to the action of its closing one.

Where nothing but any string can follow any more, a frame runs on in a common one: `Structure.string`, or a copy of it whose quote reports
something else. So the values of an enum, or of constants that are observed, have controls of their own only along their bytes, and masks
there cost the difference to the common ones.

Why not the states within an escape too: a short completion of the text may go on from there by another byte than one that began before.

Complexity: O(states x 256), by one kernel.
"""

import numpy as np

from guided.arrays import Int32Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import COUNTS, LIKE, LIVE, MANY, NEEDS, PLAN, PushdownTables
from guided.kernels import frames as kernel
from guided.schema.measure import Measure
from guided.schema.structure import QUOTE, Structure

__all__ = ["StringFrames"]

# A byte that every string may go on with.
_LETTER = 0x61
# Different ends that are looked for.
_MOST_ENDS = 4


class StringFrames:
    """The frames of one schema's strings."""

    def __init__(self, structure: Structure, tables: PushdownTables, done: int) -> None:
        self._structure = structure
        self._tables = tables
        # Common frames by the entry of their closing quote.
        self._common: dict[int, int] = {done: structure.string}

    def frame(self, automaton: Automaton, ends: Int32Array, name: object | None, measure: Measure | None) -> int:
        """A new frame; its first control.

        Parameters
        ----------
        automaton : Automaton
        ends : ndarray[int32], shape (n_states,)
            Entry of each accepting state for the closing quote, 0 for the others.
        name : hashable, optional
            Of its plans, if they are common to all schemas.
        measure : Measure, optional
            With it, characters count.
        """
        tables, n = self._tables, automaton.n_states
        common = {} if measure is not None else self._universal(automaton, ends)
        first = tables.reserve(n)
        control_of: Int32Array = np.arange(first, first + n, dtype=np.int32)
        for state, control in common.items():
            control_of[state] = control
        base = next(iter(common.values()), -1)
        kernel.fill_rows(
            automaton.table,
            automaton.classes,
            ends,
            QUOTE,
            first,
            control_of,
            base,
            tables.rows,
            tables.info,
            tables.live,
        )
        info = tables.info[first : first + n]
        info[:, LIKE] = self._structure.string
        if name is not None:
            own = np.flatnonzero(info[:, PLAN] == np.arange(first, first + n)).tolist()
            tables.plan_keys.update((first + i, (name, i, measure is not None)) for i in own)
        if measure is not None:
            info[:, COUNTS] = measure.phases
            info[:, NEEDS] = measure.needs
        return first

    def is_common(self, control: int) -> bool:
        """Is a control in a common frame, where any string may follow?"""
        n = self._structure.body.n_states
        return any(first <= control < first + n for first in self._common.values())

    def _universal(self, automaton: Automaton, ends: Int32Array) -> dict[int, int]:
        """States after which any string may follow, and the common controls that stand for them."""
        body = self._structure.body
        n = automaton.n_states
        loops = automaton.table[:, automaton.classes[_LETTER]] == np.arange(n)
        found: dict[int, int] = {}
        twin, todo = np.full(n, -1, np.int32), np.empty(body.n_states, np.int32)
        for state in np.flatnonzero(loops & automaton.accepting)[:_MOST_ENDS].tolist():
            count = kernel.universal(
                automaton.table, automaton.classes, ends, body.table, body.classes, body.accepting.astype(np.int32), state, twin, todo
            )  # fmt: skip
            if count:
                first = self._ending(int(ends[state]))
                met = todo[:count].tolist()
                found |= {
                    one: first + int(twin[one]) for one in met if one == state or self._is_continued(int(twin[one]))
                }
                twin[met] = -1
        return found

    def _is_continued(self, state: int) -> bool:
        """Do only bytes within a character of UTF-8 follow a state of any string?"""
        row = self._tables.rows[self._structure.string + state]
        return bool((row[:0x80] < 0).all())

    def _ending(self, done: int) -> int:
        """The first control of the common frame whose closing quote has this entry."""
        found = self._common.get(done)
        if found is None:
            tables, string, n = self._tables, self._structure.string, self._structure.body.n_states
            rows = tables.rows[string : string + n].copy()
            found = tables.n_controls
            rows[rows >= 0] += found - string
            rows[self._structure.body.accepting, QUOTE] = done
            tables.controls(rows)
            info = tables.info[found : found + n]
            info[:, PLAN] = np.where(info[:, LIVE] > MANY, np.arange(found, found + n), -1)
            info[:, LIKE] = string + np.arange(n)
            self._common[done] = found
        return found
