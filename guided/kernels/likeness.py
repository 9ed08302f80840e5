"""Comparison of frames with a common one: strings and keys that differ from it only in how they end.

Controls of a frame are paired with those of the common one (*twins*). A control is *like* its twin if both continue by the same bytes to
pairs that are alike again; then the tokens that stay in one stay in the other.
"""

from guided.arrays import DEAD, UNKNOWN, Int32Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel
from guided.kernels.tables import ACTION, is_open

__all__ = ["arrive", "is_like", "pair"]


@kernel
def _is_pair(
    here: int,
    there: int,
    rows: Int32Array,
    info: Int32Array,
    actions: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    allow: int,
) -> bool:
    """Return whether a control continues by the same bytes as a common one, and ends only by bytes that end that one."""
    for b in range(256):
        entry, common = rows[here, b], rows[there, b]
        if entry == UNKNOWN or common == UNKNOWN or (entry >= 0) != (common >= 0):
            return False
        if entry < 0:
            # What the common one does not read, or ends with, may end the other, but not without a cell that says so.
            if entry <= ACTION and (common > ACTION or actions[ACTION - entry, 0] >= 0):
                return False
            continue
        if not is_open(entry, allow, info, guards, allows):
            return False
    return True


@kernel
def is_like(
    rows: Int32Array,
    info: Int32Array,
    actions: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    allow: int,
    control: int,
    common: int,
    twin: Int32Array,
    todo: Int32Array,
) -> bool:
    """Return whether a control, and every control that it leads to, is like a common one.

    Parameters
    ----------
    rows, info, actions, guards, allows : in
        Tables of the automaton; an unknown row is not like any other.
    allow : int
        Offset of the allowed labels; -1: all.
    control, common : int
    twin : ndarray[int32], shape (n_controls,), scratch
        Twin of each control visited; all -1 on entry and on return.
    todo : ndarray[int32], scratch
        Controls visited. If there is no room for all, the result is False.

    Notes
    -----
    Invariant: controls in ``todo`` have twins, and those before ``i`` are like their twins. O(controls visited x 256).
    """
    twin[control], todo[0] = common, control
    count, i, answer = 1, 0, True
    while i < count and answer:
        here, there = todo[i], twin[todo[i]]
        i += 1
        answer = _is_pair(here, there, rows, info, actions, guards, allows, allow)
        b = 0
        while b < 256 and answer:
            entry = rows[here, b]
            if entry >= 0 and twin[entry] < 0:
                if count == len(todo):
                    answer = False
                else:
                    twin[entry], todo[count] = rows[there, b], entry
                    count += 1
            answer = answer and (entry < 0 or twin[entry] == rows[there, b])
            b += 1
    for k in range(count):
        twin[todo[k]] = -1
    return answer


@kernel
def pair(
    rows: Int32Array,
    control: int,
    common: int,
    own: Int32Array,
    todo: Int32Array,
) -> bool:
    """Map each common control reachable from a common one to its counterpart; return False if there is no such mapping.

    Parameters
    ----------
    rows : ndarray[int32], shape (capacity, 256), in
    control, common : int
    own : ndarray[int32], shape (n_common,), in and out
        Counterpart of each common control; all -1 on entry.
    todo : ndarray[int32], shape (n_common,), scratch
        Common controls visited.

    Notes
    -----
    Invariant: common controls in ``todo`` have a counterpart, and those before ``i`` are like theirs. O(controls visited x 256).
    """
    own[common], todo[0] = control, common
    count, i = 1, 0
    while i < count:
        there = todo[i]
        here = own[there]
        i += 1
        for b in range(256):
            entry, onward = rows[here, b], rows[there, b]
            if (entry >= 0) != (onward >= 0) or (entry < 0 and entry > ACTION and entry != DEAD):
                return False
            if onward < 0:
                continue
            if onward >= len(own):
                return False
            if own[onward] < 0:
                own[onward], todo[count] = entry, onward
                count += 1
            elif own[onward] != entry:
                return False
    return True


@kernel
def arrive(rows: Int32Array, control: int, data: UInt8Array, indptr: Int32Array, entries: Int32Array) -> None:
    """Find the entry for the last byte of each text from a control; DEAD if the text leaves the rows before.

    Parameters
    ----------
    rows : ndarray[int32], shape (capacity, 256), in
    control : int
    data, indptr : in
        CSR: the texts, each of at least one byte.
    entries : ndarray[int32], shape (n_texts,), out
    """
    for i in range(len(entries)):
        entry = control
        for k in range(indptr[i], indptr[i + 1]):
            entry = rows[entry, data[k]] if entry >= 0 else DEAD
        entries[i] = entry
