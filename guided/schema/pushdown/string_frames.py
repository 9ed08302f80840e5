"""Frames of strings: the controls of a string's automaton, from its opening quote to the action of its closing quote.

In states after which any string may follow, a frame continues in a shared one: that of `Quoted`, or a copy of it whose quote has
another valuation. So the values of an enum, or observed constants, have controls of their own only along their bytes, and masks there cost
only the difference from the shared ones.

Why not share the states within an escape: a short completion could continue there with another byte than one that began earlier.

Complexity: O(states x 256), in one kernel.
"""

from collections.abc import Hashable

import numpy as np

from guided.arrays import Int32Array
from guided.automata.automaton import Automaton
from guided.automata.pushdown import COUNTS, LIVE, MANY, NEEDS, PLAN, PushdownTables
from guided.kernels import frames as kernel
from guided.schema.pushdown.structure import Quoted
from guided.schema.strings.counted import CountedStrings

__all__ = ["StringFrames"]

# A byte that may follow in any string.
_LETTER = 0x61
# Most end states from which shared states are searched.
_ENDS_TRIED = 4


class StringFrames:
    """The frames of one schema's strings between two quotes."""

    def __init__(self, quoted: Quoted, tables: PushdownTables, done: int) -> None:
        self._quoted = quoted
        self._tables = tables
        # Shared frames by the entry of their closing quote.
        self._common: dict[int, int] = {done: quoted.first}

    def frame(
        self,
        automaton: Automaton,
        ends: Int32Array,
        name: Hashable | None,
        counted: CountedStrings | None,
        end: int,
    ) -> int:
        """Add a frame; return its first control.

        Parameters
        ----------
        automaton : Automaton
        ends : ndarray[int32], shape (n_states,)
            Entry of each accepting state for the closing quote, 0 for the others.
        name : hashable, optional
            Key of its plans beside ``end``, if all schemas share them.
        counted : CountedStrings, optional
            If given, characters are counted.
        end : int
            The byte that ends a string: the quote, or that of a notation.
        """
        tables, n, is_quoted = self._tables, automaton.n_states, end == self._quoted.quote
        common = {} if counted is not None or not is_quoted else self._universal(automaton, ends)
        first = tables.reserve(n)
        control_of: Int32Array = np.arange(first, first + n, dtype=np.int32)
        for state, control in common.items():
            control_of[state] = control
        base = next(iter(common.values()), -1 if is_quoted or counted is not None else first)
        kernel.fill_rows(
            automaton.table,
            automaton.classes,
            ends,
            end,
            first,
            control_of,
            base,
            tables.rows,
            tables.info,
            tables.live,
        )
        info = tables.info[first : first + n]
        if name is not None:
            allowed = None if counted is None else counted.allowed.tobytes()
            tables.same_plans.append((first, first + n, (name, end, allowed)))
        if counted is not None:
            info[:, COUNTS] = counted.measure.phases
            info[:, NEEDS] = counted.allowed
        return first

    def is_common(self, control: int) -> bool:
        """Return whether a control belongs to a shared frame, where any string may follow."""
        n = self._quoted.body.n_states
        return any(first <= control < first + n for first in self._common.values())

    def _universal(self, automaton: Automaton, ends: Int32Array) -> dict[int, int]:
        """Return the states after which any string may follow, with their shared controls."""
        body = self._quoted.body
        n = automaton.n_states
        loops = automaton.table[:, automaton.classes[_LETTER]] == np.arange(n)
        found: dict[int, int] = {}
        twin, todo = np.full(n, -1, np.int32), np.empty(body.n_states, np.int32)
        for state in np.flatnonzero(loops & automaton.accepting)[:_ENDS_TRIED].tolist():
            count = kernel.universal(
                automaton.table, automaton.classes, ends, body.table, body.classes, body.accepting.astype(np.int32), state, twin, todo
            )  # fmt: skip
            if count:
                first = self.ending(int(ends[state]))
                met = todo[:count].tolist()
                found |= {
                    one: first + int(twin[one]) for one in met if one == state or self._is_continued(int(twin[one]))
                }
                twin[met] = -1
        return found

    def _is_continued(self, state: int) -> bool:
        """Return whether a state of any string is within a UTF-8 character."""
        row = self._tables.rows[self._quoted.first + state]
        return bool((row[:0x80] < 0).all())

    def ending(self, done: int) -> int:
        """Return the first control of the shared frame whose closing quote has this entry."""
        found = self._common.get(done)
        if found is None:
            tables, string, n = self._tables, self._quoted.first, self._quoted.body.n_states
            rows = tables.rows[string : string + n].copy()
            found = tables.n_controls
            rows[rows >= 0] += found - string
            rows[self._quoted.body.accepting, self._quoted.quote] = done
            tables.controls(rows)
            info = tables.info[found : found + n]
            info[:, PLAN] = np.where(info[:, LIVE] > MANY, np.arange(found, found + n), -1)
            info[:, COUNTS] = tables.info[string : string + n, COUNTS]
            self._common[done] = found
        return found
