"""Whole parts past all bounds, in bulk: only their remainders by the divisors still matter.

Where further digits lead back to the same place among the bounds, states differ only in remainders. Such a place is a *block*; its
members are found, extended and evaluated by arrays, with the same result as one by one in `guided.schema.numbers.explore`.

Complexity: O(members x 10 x divisors), in a few passes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.schema.numbers.line import Line
from guided.schema.numbers.remainders import Remainders, combinations, distinct_rows
from guided.schema.numbers.table import N_COLUMNS, POINT, REJECTED
from guided.schema.numbers.verdicts import Verdicts

__all__ = ["Blocks"]

# Combinations of remainders up to which states are found one by one, and beyond which arrays would need too much memory.
_FEW, _MANY = 64, 1 << 20
# State numbers from here on belong to blocks; each block reserves this many.
_BLOCK = 1 << 16


@dataclass(slots=True, eq=False)
class _Block:
    """The whole parts of one sign past all bounds.

    Attributes
    ----------
    side, place : int
    begin : int
        State number of its first member.
    members : Remainders
    rows : list of ndarray[int32], shape (n, N_COLUMNS)
        Rows of the members found so far.
    outcomes : list of int
    """

    side: int
    place: int
    begin: int
    members: Remainders
    rows: list[Int32Array] = field(default_factory=list)
    outcomes: list[int] = field(default_factory=list)


class Blocks:
    """The blocks of one exploration.

    Parameters
    ----------
    lines : sequence of Line
        One per sign.
    verdicts : Verdicts
    pointed : callable
        Returns the state after the point, given sign, place in the fraction, and states of the divisors.
    check : callable
        Checks the number of states against the limits after some were found.
    most : int
        Most members of a block, capped below `_BLOCK`.

    Attributes
    ----------
    count : int
        Total members of all blocks.
    """

    __slots__ = ("_blocks", "_check", "_has_blocks", "_lines", "_most", "_pointed", "_verdicts", "count")

    def __init__(
        self,
        lines: Sequence[Line],
        verdicts: Verdicts,
        pointed: Callable[[int, int, tuple[int, ...]], int],
        check: Callable[[], None],
        most: int,
    ) -> None:
        self._lines, self._verdicts, self._pointed, self._check = lines, verdicts, pointed, check
        self._most = min(most, _BLOCK - 1)
        self._has_blocks = bool(verdicts.divisors) and _FEW < combinations(verdicts.divisors) <= _MANY
        self._blocks: dict[tuple[int, int], _Block] = {}
        self.count = 0

    def number(self, side: int, place: int, rests: tuple[int, ...]) -> int:
        """Return the state of a whole part that no exponent can follow; DEAD if it belongs to no block."""
        if not self._has_blocks or self._lines[side].digits(place) != [place] * 10:
            return DEAD
        block = self._blocks.get((side, place))
        if block is None:
            members = Remainders(self._verdicts.divisors, self._most)
            block = self._blocks[side, place] = _Block(side, place, _BLOCK * (1 + len(self._blocks)), members)
        number, before = block.members.number(rests), len(block.outcomes)
        if block.members.count > before:
            self.count += block.members.count - before
            self._check()
            self._read(block, before)
        return block.begin + number

    def _read(self, block: _Block, before: int) -> None:
        """Compute the rows and outcomes of a block's members from index ``before`` on."""
        side, members = block.side, block.members
        rows: Int32Array = np.full((members.count - before, N_COLUMNS), DEAD, np.int32)
        rows[:, :10] = block.begin + members.onward(before)
        block.rows.append(rows)
        part, fractions = self._lines[side].fraction(block.place), members.fractions(before)
        if part >= 0 and self._verdicts.with_fraction_or_exponent[side]:
            different, which = distinct_rows(fractions)
            rows[:, POINT] = np.array([self._pointed(side, part, rests) for rests in different])[which]
        region = self._lines[side].region(part) if part >= 0 else DEAD
        if region < 0:
            block.outcomes += [REJECTED] * len(rows)
            return
        divisors = self._verdicts.divisors
        truths, which = distinct_rows(
            [divisor.all_hold(rests) for divisor, rests in zip(divisors, fractions, strict=True)]
        )
        outcomes = [self._verdicts.outcome(side, region, tuple(map(bool, truth)), whole=True) for truth in truths]
        block.outcomes += np.array(outcomes)[which].tolist()

    def joined(self, rows: list[list[int]], outcomes: list[int]) -> tuple[Int32Array, list[int]]:
        """Return the table and outcomes of all other states followed by the members of blocks."""
        blocks = list(self._blocks.values())
        table = np.concatenate([np.array(rows, np.int32), *(part for block in blocks for part in block.rows)])
        first = len(rows)
        for block in blocks:
            mine = (table >= block.begin) & (table < block.begin + _BLOCK)
            table[mine] += first - block.begin
            first += len(block.outcomes)
            outcomes = outcomes + block.outcomes
        return table, outcomes
