"""Automata of formats that are stored as data, in ``automata/`` beside this module: the result of their trees under the default limits.

Building them takes 1 to 150 ms and up to 11 million steps each, reading them some tenths of one. ``python -m guided.schema.formats``
rewrites the files; a test checks that they equal the result of the trees. A format without a file is built from its tree.

A file is a header (`_HEADER`), then, compressed: the table as int16, row by row; one byte per state, whether it accepts; the first code
point of each interval of characters as int32, and its class as int16; all little-endian.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from guided.automata.determinize import CharDFA
from guided.automata.partition import Partition

__all__ = ["FOLDER", "StoredAutomaton", "packed", "stored"]

FOLDER = Path(__file__).parent / "automata"
# States, classes, intervals, minimum and maximum length (-1: none).
_HEADER = struct.Struct("<IIIii")


@dataclass(frozen=True, slots=True, eq=False)
class StoredAutomaton:
    """The automaton of a format.

    Attributes
    ----------
    dfa : CharDFA
        Minimal; without edges by classes that contain no characters.
    widths : (int, int or None)
        Lower and upper bound of the length of its texts, as for trees.
    """

    dfa: CharDFA
    widths: tuple[int, int | None]


def stored(name: str) -> StoredAutomaton | None:
    """Return the stored automaton of a format, or None."""
    path = FOLDER / f"{name}.bin"
    if not path.is_file():
        return None
    data = path.read_bytes()
    n, k, n_intervals, least, most = _HEADER.unpack_from(data)
    body = zlib.decompress(data[_HEADER.size :])
    table, rest = np.frombuffer(body, "<i2", n * k), body[2 * n * k :]
    accepting = np.frombuffer(rest, np.bool_, n)
    starts = np.frombuffer(rest, "<i4", n_intervals, n)
    classes = np.frombuffer(rest, "<i2", n_intervals, n + 4 * n_intervals)
    none = np.zeros(1, np.int32)
    parts = Partition(starts.astype(np.int32), classes.astype(np.int32), k, none, none[:0])
    dfa = CharDFA(table.astype(np.int32).reshape(n, k), accepting.copy(), parts)
    return StoredAutomaton(dfa, (least, None if most < 0 else most))


def packed(found: StoredAutomaton) -> bytes:
    """Return the file content of an automaton."""
    dfa, (least, most) = found.dfa, found.widths
    starts, classes = dfa.partition.starts, dfa.partition.classes
    body = (
        dfa.table.astype("<i2").tobytes(),
        dfa.accepting.astype(np.bool_).tobytes(),
        starts.astype("<i4").tobytes(),
        classes.astype("<i2").tobytes(),
    )
    sizes = *dfa.table.shape, len(starts)
    header = _HEADER.pack(*sizes, least, -1 if most is None else most)
    return header + zlib.compress(b"".join(body), 9)
