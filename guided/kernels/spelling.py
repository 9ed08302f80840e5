"""Merging of equal columns of a decision tree over bytes."""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["narrow"]


@kernel
def narrow(
    root: Int32Array,
    inner: Int32Array,
    byte: Int32Array,
    hashes: Int64Array,
    firsts: Int32Array,
    kept: Int32Array,
    further: Int32Array,
    pairs: Int32Array,
    classes: UInt8Array,
    columns: Int32Array,
    counts: Int32Array,
) -> None:
    """Number the bytes by their effect as first byte of a character and inside one.

    ========  =====  ================  ========================================================================
    argument  dtype  shape             meaning
    ========  =====  ================  ========================================================================
    root      int32  (256,)            value by first byte (`guided.kernels.utf8`)
    inner     int32  (n_nodes, w)      values of inner nodes by column
    byte      int32  (w,)              the byte of each column, all different
    hashes    int64  (w,)              scratch
    firsts    int32  (256,)            out: distinct values of ``root``
    kept      int32  (w,)              out: one column of each kind, without columns that have no values
    further   int32  (256,)            scratch
    pairs     int32  (256 * (w + 1),)  scratch
    classes   uint8  (256,)            out: class of each byte
    columns   int32  (256, 2)          out: for each class its number in ``firsts``, and len(firsts) + that in ``kept``, 0 for none
    counts    int32  (3,)              out: number of firsts, kept and classes
    ========  =====  ================  ========================================================================

    O(n_nodes w + 256 x distinct values).
    """
    n, w = inner.shape
    n_kept = 0
    for b in range(256):
        further[b] = -1
    for i in range(w):
        h, some = np.int64(17), False
        for j in range(n):
            v = inner[j, i]
            some = some or v != -1
            h = (h ^ np.int64(v)) * np.int64(1099511628211)
            h ^= h >> np.int64(29)
        if not some:
            continue
        found = -1
        for k in range(n_kept):
            if hashes[k] == h:
                same = True
                for j in range(n):
                    if inner[j, i] != inner[j, kept[k]]:
                        same = False
                        break
                if same:
                    found = k
                    break
        if found < 0:
            found = n_kept
            hashes[found], kept[found] = h, i
            n_kept += 1
        further[byte[i]] = found
    n_firsts = n_classes = 0
    for i in range(256 * (n_kept + 1)):
        pairs[i] = -1
    for b in range(256):
        first = -1
        for k in range(n_firsts):
            if firsts[k] == root[b]:
                first = k
                break
        if first < 0:
            first = n_firsts
            firsts[first] = root[b]
            n_firsts += 1
        pair = first * (n_kept + 1) + further[b] + 1
        if pairs[pair] < 0:
            pairs[pair] = n_classes
            columns[n_classes, 0], columns[n_classes, 1] = first, further[b]
            n_classes += 1
        classes[b] = pairs[pair]
    for i in range(n_classes):
        columns[i, 1] = n_firsts + columns[i, 1] if columns[i, 1] >= 0 else 0
    counts[0], counts[1], counts[2] = n_firsts, n_kept, n_classes
