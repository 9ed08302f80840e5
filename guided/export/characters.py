"""A byte automaton read by characters: the characters that lead from each state to each other.

Invalid UTF-8 leads nowhere. States between characters are states of the automaton; states within a character have no edges here.

Complexity: per state, O(64 states that read a character's last bytes); successors of a lead byte are computed once.
"""

from collections.abc import Callable

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.nfa import Operand
from guided.patterns.charset import Charset

__all__ = ["Characters", "operand_of"]

# Range of lead bytes with the first and last code point they spell, by the number of continuation bytes.
_LEADS = ((0xC0, 0xE0, 0x80, 0x7FF), (0xE0, 0xF0, 0x800, 0xFFFF), (0xF0, 0xF8, 0x10000, 0x10FFFF))
_ASCII, _CONTINUATION = 0x80, 0x80
_Ranges = dict[int, list[tuple[int, int]]]


class Characters:
    """The edges of an automaton by characters.

    ``targets`` returns the next state of a state by byte, negative for none: `Automaton.targets`.
    """

    def __init__(self, targets: Callable[[int], list[int]]) -> None:
        self._targets = targets
        self._rests: dict[tuple[int, int], _Ranges] = {}

    def edges(self, state: int) -> dict[int, Charset]:
        """Return the successors of a state, with the characters that lead to each."""
        row = self._targets(state)
        found: _Ranges = {}
        for point in range(_ASCII):
            if row[point] >= 0:
                found.setdefault(row[point], []).append((point, point))
        for count, (begin, end, first, last) in enumerate(_LEADS, 1):
            for lead in range(begin, end):
                base = (lead - begin) << 6 * count
                if row[lead] < 0 or base > last:
                    continue
                for target, ranges in self._rest(row[lead], count).items():
                    spelled = ((max(base + low, first), min(base + high, last)) for low, high in ranges)
                    found.setdefault(target, []).extend(pair for pair in spelled if pair[0] <= pair[1])
        charsets = ((target, Charset.of(ranges)) for target, ranges in found.items())
        return {target: charset for target, charset in charsets if charset}

    def _rest(self, state: int, count: int) -> _Ranges:
        """Return where ``count`` continuation bytes lead, by the number that they spell."""
        if count == 0:
            return {state: [(0, 0)]}
        found = self._rests.get((state, count))
        if found is None:
            found = self._rests[state, count] = {}
            row = self._targets(state)[_CONTINUATION : _CONTINUATION + 64]
            size = 1 << 6 * (count - 1)
            for digit, onward in enumerate(row):
                if onward < 0:
                    continue
                for target, ranges in self._rest(onward, count - 1).items():
                    merged = found.setdefault(target, [])
                    for low, high in ranges:
                        if merged and merged[-1][1] + 1 == digit * size + low:
                            merged[-1] = (merged[-1][0], digit * size + high)
                        else:
                            merged.append((digit * size + low, digit * size + high))
        return found


def operand_of(automaton: Automaton) -> Operand:
    """Return the tree of an automaton's texts."""
    characters = Characters(automaton.targets)
    edges: list[tuple[int, Charset, int]] = []
    # States within a character have no edges.
    todo, seen = [0], {0}
    for state in todo:
        for target, charset in characters.edges(state).items():
            edges.append((state, charset, target))
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return Operand(tuple(edges), tuple(np.flatnonzero(automaton.accepting).tolist()), automaton.n_states)
