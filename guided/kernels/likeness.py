"""Frames that go on wherever a common one does: strings and keys that differ from it only in how they end.

Controls of a frame are paired with those of the common one (*twins*). A control is *like* its twin where both go on by the same bytes, to
pairs that are alike again, so the tokens that stay in the one stay in the other.
"""

from guided.arrays import Int32Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["arrive", "is_like", "pair"]

_DEAD, _UNKNOWN, _ACTION = -1, -2, -16
_GUARD, _WIDTH = 2, 3


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
    """Do two controls go on by the same bytes, and end by no others?"""
    for b in range(256):
        entry, common = rows[here, b], rows[there, b]
        if entry == _UNKNOWN or common == _UNKNOWN or (entry >= 0) != (common >= 0):
            return False
        if entry < 0:
            # What the common one does not read, or ends with, may end the other, but not without a cell that says so.
            if entry <= _ACTION and (common > _ACTION or actions[_ACTION - entry, 0] >= 0):
                return False
            continue
        guard = info[entry, _GUARD]
        if guard >= 0 and allow >= 0:
            is_open = False
            for k in range(info[entry, _WIDTH]):
                is_open |= guards[guard + k] & allows[allow + k] != 0
            if not is_open:
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
    """Is a control like a common one, and everything that it leads to?

    Parameters
    ----------
    rows, info, actions, guards, allows : in
        Tables of the automaton; a row that is not known is like no other.
    allow : int
        Offset of the labels that are allowed; -1: all.
    control, common : int
    twin : ndarray[int32], shape (n_controls,), scratch
        Twin of each control met; -1 everywhere, before and after.
    todo : ndarray[int32], scratch
        Controls met. Where there are more than it holds, the answer is no.

    Notes
    -----
    Invariant: controls in ``todo`` have twins, and those before ``i`` go on as these do. O(controls met x 256).
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
    """Write which control is that of each of the common ones that a common control leads to; False where there is not one of each.

    Parameters
    ----------
    rows : ndarray[int32], shape (capacity, 256), in
    control, common : int
    own : ndarray[int32], shape (n_common,), in and out
        Own control of each common one; -1 everywhere, before.
    todo : ndarray[int32], shape (n_common,), scratch
        Common controls met.

    Notes
    -----
    Invariant: common controls in ``todo`` have an own one, and those before ``i`` go on as these do. O(controls met x 256).
    """
    own[common], todo[0] = control, common
    count, i = 1, 0
    while i < count:
        there = todo[i]
        here = own[there]
        i += 1
        for b in range(256):
            entry, onward = rows[here, b], rows[there, b]
            if (entry >= 0) != (onward >= 0) or (entry < 0 and entry > _ACTION and entry != _DEAD):
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
    """The entry for the last byte of each text from a control; DEAD where the text leaves the rows before.

    Parameters
    ----------
    rows : ndarray[int32], shape (capacity, 256), in
    control : int
    data, indptr : in
        CSR: the texts, of at least one byte.
    entries : ndarray[int32], shape (n_texts,), out
    """
    for i in range(len(entries)):
        entry = control
        for k in range(indptr[i], indptr[i + 1]):
            entry = rows[entry, data[k]] if entry >= 0 else _DEAD
        entries[i] = entry
