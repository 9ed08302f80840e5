"""Implicit trie of a sorted list of byte strings: a node is an interval of strings with a common prefix, and the length of the prefix.

Strings are CSR: ``data`` and ``indptr``. They are distinct, so at most one string of an interval ends at its prefix, and it comes first.
"""

from guided.arrays import DEAD, UNKNOWN, BoolArray, Int32Array, Int64Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["meet", "next_bytes", "within"]


@kernel
def _first_from(data: UInt8Array, indptr: Int64Array, low: int, high: int, depth: int, byte: int) -> int:
    """Return the first string of an interval, none of which ends here, whose next byte is at least a given byte."""
    while low < high:
        middle = (low + high) >> 1
        if data[indptr[middle] + depth] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _is_ended(indptr: Int64Array, low: int, depth: int) -> bool:
    return bool(indptr[low + 1] - indptr[low] == depth)


@kernel
def within(data: UInt8Array, indptr: Int64Array, low: int, high: int, depth: int, byte: int, out: Int64Array) -> None:
    """Find the strings of an interval whose next byte is a given one.

    Parameters
    ----------
    data, indptr : in
        Strings.
    low, high, depth : int
        The nonempty interval, and the length of its prefix.
    out : ndarray[int64], shape (2,), out
        The interval found; empty if there is none.
    """
    if _is_ended(indptr, low, depth):
        low += 1
    out[0] = _first_from(data, indptr, low, high, depth, byte)
    out[1] = _first_from(data, indptr, out[0], high, depth, byte + 1)


@kernel
def next_bytes(
    data: UInt8Array,
    indptr: Int64Array,
    low: Int64Array,
    high: Int64Array,
    depth: Int64Array,
    rows: Int32Array,
    ends: BoolArray,
) -> None:
    """Find the next bytes at some nodes.

    Parameters
    ----------
    data, indptr : in
        Strings.
    low, high, depth : ndarray[int64], shape (n,), in
    rows : ndarray[int32], shape (n, 256), out
        UNKNOWN for the next byte of each string, DEAD for other bytes.
    ends : ndarray[bool], shape (n,), out
        Whether a string ends there.
    """
    for i in range(len(low)):
        rows[i] = DEAD
        at = low[i]
        ends[i] = _is_ended(indptr, at, depth[i])
        if ends[i]:
            at += 1
        while at < high[i]:
            byte = data[indptr[at] + depth[i]]
            rows[i, byte] = UNKNOWN
            at = _first_from(data, indptr, at, high[i], depth[i], byte + 1)


@kernel
def meet(
    data: UInt8Array,
    indptr: Int64Array,
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    begin: int,
    end: int,
    path: Int32Array,
    low: Int64Array,
    high: Int64Array,
    read: Int64Array,
    parent: Int32Array,
    label: UInt8Array,
) -> int:
    """Find the nodes that the paths of a trie lead to from one node, and return their number, itself included.

    Parameters
    ----------
    data, indptr : in
        Strings.
    byte, depth, skip : in
        Trie.
    begin, end : int
        A range of trie nodes: all children of one node, or of the root, and their subtrees.
    path : ndarray[int32], shape (longest path + 1,), scratch
        Node at each depth.
    low, high, read : ndarray[int64], shape (end - begin + 1,), in and out
        Intervals and prefix lengths of the nodes; the first is given.
    parent : ndarray[int32], label : ndarray[uint8], shape (end - begin + 1,), out
        Parent of each node, and the byte from there.

    Notes
    -----
    O(trie nodes visited x log of the interval).
    """
    count = 1
    path[0] = 0
    i: int = begin
    while i < end:
        d = depth[i] - depth[begin]
        above = path[d]
        at = low[above]
        if _is_ended(indptr, at, read[above]):
            at += 1
        at = _first_from(data, indptr, at, high[above], read[above], byte[i])
        if at == high[above] or data[indptr[at] + read[above]] != byte[i]:
            i = skip[i]
            continue
        low[count], high[count] = at, _first_from(data, indptr, at, high[above], read[above], byte[i] + 1)
        read[count], parent[count], label[count] = read[above] + 1, above, byte[i]
        path[d + 1] = count
        count += 1
        i += 1
    return count
