"""Product reachability of two lexemes: whether one can end while the other, which must not match, continues or dies."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["can_outlive"]


@kernel
def can_outlive(
    rows: Int32Array,
    columns: Int32Array,
    has_match: BoolArray,
    has_end: BoolArray,
    state: int,
    watcher: int,
    seen: UInt8Array,
    work: Int32Array,
) -> int:
    """Return whether a lexeme in ``state`` can end, or outlive one in ``watcher``, before that one matches: 1, 0, or -1 (``work`` full).

    Parameters
    ----------
    rows : ndarray[int32], shape (n, n_columns), in
        Next state by column of bytes, or DEAD (-1).
    columns : ndarray[int32], in
        The columns of bytes that can come.
    has_match, has_end : ndarray[bool], shape (n,), in
        Whether a state has a match, and whether it has one at the end of the text.
    seen : ndarray[uint8], shape (n * n / 8 + 1,), scratch
        Zeros on entry and on return.
    work : ndarray[int32], shape (m, 2), scratch

    Notes
    -----
    O(pairs visited x columns).
    """
    n = np.int64(len(rows))
    pair = state * n + watcher
    seen[pair >> 3] |= np.uint8(1 << (pair & 7))
    work[0, 0], work[0, 1] = state, watcher
    count, done, found = 1, 0, 0
    while done < count and found == 0:
        own, other = work[done, 0], work[done, 1]
        done += 1
        if has_match[own] or (has_end[own] and not has_end[other]):
            found = 1
            break
        for k in range(len(columns)):
            after, watched = rows[own, columns[k]], rows[other, columns[k]]
            if after < 0 or (watched >= 0 and has_match[watched]):
                continue
            if watched < 0:
                found = 1
                break
            pair = after * n + watched
            bit = np.uint8(1 << (pair & 7))
            if seen[pair >> 3] & bit:
                continue
            if count == len(work):
                found = -1
                break
            seen[pair >> 3] |= bit
            work[count, 0], work[count, 1] = after, watched
            count += 1
    for k in range(count):
        seen[(work[k, 0] * n + work[k, 1]) >> 3] = 0
    return found
