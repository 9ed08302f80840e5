"""Character counting in string automata: which states are between two characters, and the characters to the nearest end.

Lengths need no product with the automaton: a register counts characters (`guided.schema.strings.counted`).

Complexity: one pass over the pairs of state and position within a character, and one breadth-first search (`guided.kernels.measure`).
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.minimize import distances, inverse_edges
from guided.kernels import measure as kernel

__all__ = ["Measure", "distances_by_characters", "measure_of"]

# Positions within a character's spelling: between two, after a backslash, in its hexadecimal digits, before continuation bytes.
_BETWEEN, _ESCAPE = 0, 1
_HEXADECIMAL, _CONTINUED = {4: 2, 3: 3, 2: 4, 1: 5}, {3: 6, 2: 7, 1: 8}
# After ``\\uD``; then the rest of a surrogate pair: two hexadecimal digits, then the second escape.
_AFTER_D, _HIGH, _LOW = 9, {2: 10, 1: 11}, {4: 12, 3: 13, 2: 14, 1: 15}
_N_PLACES = 16
_HEX, _HEX_D = b"0123456789abcdefABCDEF", b"dD"
# Successors by group of bytes, for positions that continue in the same way in all spellings.
_FIXED: dict[int, list[tuple[int, bytes]]] = {
    _ESCAPE: [(_BETWEEN, b"\"'\\/bfnrt"), (_HEXADECIMAL[4], b"u")],
    _HEXADECIMAL[4]: [(_HEXADECIMAL[3], bytes(set(_HEX) - set(_HEX_D))), (_AFTER_D, _HEX_D)],
    _HEXADECIMAL[3]: [(_HEXADECIMAL[2], _HEX)],
    _HEXADECIMAL[2]: [(_HEXADECIMAL[1], _HEX)],
    _HEXADECIMAL[1]: [(_BETWEEN, _HEX)],
    _AFTER_D: [(_HEXADECIMAL[2], b"01234567"), (_HIGH[2], b"89abAB")],
    _HIGH[2]: [(_HIGH[1], _HEX)],
    _HIGH[1]: [(_LOW[4], _HEX)],
    _LOW[4]: [(_LOW[3], b"\\")],
    _LOW[3]: [(_LOW[2], b"u")],
    _LOW[2]: [(_LOW[1], _HEX_D)],
    _LOW[1]: [(_HEXADECIMAL[2], b"cdefCDEF")],
}


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """Character counts of a string's automaton.

    Attributes
    ----------
    phases : ndarray[int32], shape (n_states,)
        1 between two characters, 2 within one.
    needs : ndarray[int32], shape (n_states,)
        Minimum number of characters that must still begin.
    """

    phases: Int32Array
    needs: Int32Array


def measure_of(automaton: Automaton, *, has_escapes: bool = True) -> Measure | None:
    """Return the measure of an automaton of bodies; None if it is empty, or a state is both between and within characters.

    ``has_escapes``: whether characters are spelled as in JSON; else all are themselves.
    """
    if automaton.is_empty():
        return None
    table, n = automaton.table, automaton.n_states
    steps: list[tuple[int, int]] = []
    indptr = [0]
    for group in _PLACES if has_escapes else _RAW_PLACES:
        for onward, letters in group:
            steps += [(column, onward) for column in np.unique(automaton.classes[letters]).tolist()]
        indptr.append(len(steps))
    phases: Int32Array = np.zeros(n, np.int32)
    is_unambiguous = kernel.phases(
        table, np.array(indptr, np.int32), np.array(steps, np.int32), np.zeros((n, _N_PLACES), np.uint8),
        np.empty((n * _N_PLACES, 2), np.int32), phases,
    )  # fmt: skip
    if not is_unambiguous:
        return None
    needs: Int32Array = np.empty(n, np.int32)
    kernel.needs(automaton.accepting, phases, *inverse_edges(table), table.shape[1], np.empty((2, n), np.int32), needs)
    return Measure(freeze(phases), freeze(needs))


def distances_by_characters(automaton: Automaton, measure: Measure) -> Int32Array:
    """Return the distances to accepting states along paths with the fewest characters."""
    table = automaton.table
    left = measure.needs - (measure.phases == 1)
    is_direct = (table >= 0) & (measure.needs[table] == left[:, None])
    return freeze(distances(np.where(is_direct, table, np.int32(DEAD)), automaton.accepting))


def _onward(place: int) -> list[tuple[int, bytes]]:
    """Return the successors of a position, with the bytes that lead there."""
    if place == _BETWEEN:
        # The quotes around a string are in no automaton without an escape.
        plain = bytes(byte for byte in range(0x20, 0x80) if byte != ord("\\"))
        return [
            (_BETWEEN, plain),
            (_ESCAPE, b"\\"),
            (_CONTINUED[1], bytes(range(0xC2, 0xE0))),
            (_CONTINUED[2], bytes(range(0xE0, 0xF0))),
            (_CONTINUED[3], bytes(range(0xF0, 0xF5))),
        ]
    if place in _FIXED:
        return _FIXED[place]
    left = next(n for n, one in _CONTINUED.items() if one == place)
    return [(_CONTINUED.get(left - 1, _BETWEEN), bytes(range(0x80, 0xC0)))]


_PLACES = [
    [(onward, np.frombuffer(letters, np.uint8)) for onward, letters in _onward(place)] for place in range(_N_PLACES)
]
_RAW_PLACES = [[(_BETWEEN, np.arange(0x80, dtype=np.uint8)), *_PLACES[_BETWEEN][2:]], *_PLACES[1:]]
