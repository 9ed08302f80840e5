"""Walk of the token trie: the transition function of every token, hash-consed.

A token is a partial function from states to states, the composition of its bytes' functions. The walk computes the function of each
node; the child by byte b is "f, then the class of b". Functions are interned by content and compositions memoized by
(function, class), so nearly every node costs one look-up.
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.hashing import OFFSET, PRIME, row_slot
from guided.kernels.jit import kernel

__all__ = ["DONE", "MORE_FUNCTIONS", "MORE_PAIRS", "walk"]

DONE, MORE_FUNCTIONS, MORE_PAIRS = 0, 1, 2

_ONE, _NEXT = np.uint64(1), np.uint32(1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _compose(
    f: int,
    c: int,
    table: Int32Array,
    count: int,
    ptr: Int64Array,
    src: Int32Array,
    dst: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
) -> int:
    """Return the number of "f, then class c": -1 if undefined everywhere, ``count`` if new (its pairs are written, not interned).

    PERF: a pair is mixed into one word before it enters the hash, so that pairs wait for one multiplication each, not two.
    """
    base = m = ptr[count]
    h = OFFSET
    for k in range(np.uint64(ptr[f]), np.uint64(ptr[f + 1])):
        s, r = src[k], table[np.uint32(dst[k]), c]
        if r >= 0:
            src[m], dst[m] = s, r
            h = (h ^ (np.uint64(s) * _SPREAD + np.uint64(r))) * PRIME
            m += 1
    if m == base:
        return -1
    h ^= h >> np.uint64(29)
    wrap = np.int64(len(slots) - 1)
    slot = row_slot(h, len(slots))
    while slots[slot] >= 0:
        x = slots[slot]
        if hashes[x] == h and ptr[x + 1] - ptr[x] == m - base:
            same = True
            for k in range(m - base):
                if src[ptr[x] + k] != src[base + k] or dst[ptr[x] + k] != dst[base + k]:
                    same = False
                    break
            if same:
                return int(x)
        slot = (slot + 1) & wrap
    slots[slot], hashes[count], ptr[count + 1] = count, h, m
    return count


@kernel
def walk(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    classes: UInt8Array,
    table: Int32Array,
    memo: Int32Array,
    ptr: Int64Array,
    src: Int32Array,
    dst: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
    node_function: Int32Array,
    roots: Int32Array,
    stack: Int32Array,
    cursor: Int64Array,
) -> int:
    """Walk the trie from ``cursor`` to its end, or to the first composition that needs a larger buffer.

    =============  ======  ===================  =======================================================================
    argument       dtype   shape                meaning
    =============  ======  ===================  =======================================================================
    byte, depth,   uint8,  (n_nodes,)           the trie in preorder
    skip           int32
    classes        uint8   (256,)               class of each byte
    table          int32   (n_states, k)        the automaton
    memo           int32   (cap, k)             in and out: "f, then c", -1 dead, -2 unknown
    ptr            int64   (cap + 1,)           in and out: pairs of function f are ptr[f]..ptr[f + 1]; function 0 is the identity
    src, dst       int32   (any,)               in and out: source states (ascending) and targets
    hashes         uint64  (cap,)               in and out
    slots          int32   (2^p >= 2 cap,)      in and out: open addressing table
    node_function  int32   (n_nodes,)           out: function of each node at or below a root, -1 for none
    roots          int32   (256,)               out: nodes of depth 0 that have a function
    stack          int32   (max_depth + 1,)     in and out: stack[d] is the function of the first d bytes of the path
    cursor         int64   (3,)                 in and out: next node, functions so far, roots so far
    =============  ======  ===================  =======================================================================

    Returns DONE, MORE_FUNCTIONS or MORE_PAIRS. Invariant: ``stack[depth[i]]`` is the function of node i's parent.
    Complexity: O(n_nodes) look-ups, and O(pairs) for each new (function, class).
    PERF: composing inside the kernel saves a call from Python (3 us) per memo miss; arrays are never reassigned here, which would
    cost a reference count per node (15 ms instead of 1 ms on 128k tokens). Indices are unsigned: for signed ones numba checks whether
    they count from the end, and every node waits for it (0.85 ms instead of 0.40). Nothing is written outside of the roots' subtrees,
    so that a pattern with few first bytes does not touch the memory of all nodes.
    """
    i, count, n_roots = np.uint64(cursor[0]), cursor[1], cursor[2]
    n_nodes, capacity = np.uint64(len(byte)), len(hashes)
    while i < n_nodes:
        d = np.uint32(depth[i])
        f = np.uint32(stack[d])
        c = classes[byte[i]]
        g = memo[f, c]
        if g == UNKNOWN:
            status = DONE
            if count >= capacity:
                status = MORE_FUNCTIONS
            elif ptr[count] + (ptr[f + 1] - ptr[f]) > len(src):
                status = MORE_PAIRS
            if status != DONE:
                cursor[0], cursor[1], cursor[2] = i, count, n_roots
                return status
            g = _compose(int(f), c, table, count, ptr, src, dst, hashes, slots)
            memo[f, c] = g
            if g == count:
                count += 1
        if g < 0:
            i = np.uint64(skip[i])
        else:
            if d == 0:
                roots[n_roots] = i
                n_roots += 1
                for j in range(i, np.uint64(skip[i])):
                    node_function[j] = DEAD
            node_function[i] = g
            stack[d + _NEXT] = g
            i += _ONE
    cursor[0], cursor[1], cursor[2] = i, count, n_roots
    return DONE
