"""Frames of keys: the names of a table as a trie of controls beside the common control of all other names.

A node of the trie is a control. Its row is that of the common control reached by the same bytes, except for the bytes that continue a name
and the quote after a name. Its live bytes are the common control's, because names continue only as other names may.
"""

import numpy as np

from guided.arrays import Int32Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel
from guided.kernels.tables import PLAN

__all__ = ["fill_names"]


@kernel
def _put(node: int, common: int, rows: Int32Array, info: Int32Array, live: UInt8Array) -> None:
    """Write a control as a copy of a common one."""
    for b in range(rows.shape[1]):
        rows[node, b] = rows[common, b]
    for k in range(live.shape[1]):
        live[node, k] = live[common, k]
    for k in range(info.shape[1]):
        info[node, k] = info[common, k]
    info[node, PLAN] = common


@kernel
def fill_names(
    data: UInt8Array,
    indptr: Int32Array,
    labels: Int32Array,
    ends: Int32Array,
    quote: int,
    other: int,
    first: int,
    rows: Int32Array,
    info: Int32Array,
    live: UInt8Array,
    before: Int32Array,
    words: UInt64Array,
) -> int:
    """Write the controls of the names from ``first`` on, in order of first use, and return their number.

    Parameters
    ----------
    data : ndarray[uint8], indptr : ndarray[int32], shape (n_texts + 1,), in
        CSR: spellings of the names.
    labels : ndarray[int32], shape (n_texts,), in
        Label of each name.
    ends : ndarray[int32], shape (n_labels,), in
        Entry for the quote after a name with each label.
    quote : int
        The byte that ends a name.
    other : int
        The common control after the opening quote; it and all controls that it leads to are below ``first``.
    first : int
    rows, info, live : in and out
        Tables with room for one control per byte of the names, and one more. The caller sets the guards of the controls.
    before : ndarray[int32], shape (n_bytes + 1,), out
        Parent of each node.
    words : ndarray[uint64], shape (n_bytes + 1, n_words), in and out
        Zeros on entry; the labels that each node can still lead to, including label 0.

    Notes
    -----
    Invariant: entries from ``first`` on lead to nodes, all others to common controls. O(bytes x 256).
    """
    _put(first, other, rows, info, live)
    words[0, 0] = 1
    count = 1
    for i in range(len(labels)):
        node: int = 0
        for k in range(indptr[i], indptr[i + 1]):
            b = data[k]
            after = rows[first + node, b] - first
            if after < 0:
                _put(first + count, rows[info[first + node, PLAN], b], rows, info, live)
                rows[first + node, b] = first + count
                before[count] = node
                words[count, 0] = 1
                after = count
                count += 1
            node = after
        rows[first + node, quote] = ends[labels[i]]
        words[node, labels[i] >> 6] |= np.uint64(1) << np.uint64(labels[i] & 63)
    for node in range(count - 1, 0, -1):
        for k in range(words.shape[1]):
            words[before[node], k] |= words[node, k]
    return count
