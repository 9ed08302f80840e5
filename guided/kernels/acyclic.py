"""Minimal automaton of a finite set of strings, from its trie."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, UInt8Array, UInt64Array
from guided.kernels.hashing import OFFSET, PRIME, row_slot
from guided.kernels.jit import kernel

__all__ = ["child_table", "merge_suffixes"]


@kernel
def merge_suffixes(
    byte: UInt8Array,
    skip: Int32Array,
    final: BoolArray,
    block: Int32Array,
    representative: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
) -> int:
    """Give equal subtrees of a trie the same number, children before parents.

    ==============  ======  ============  ============================================================
    argument        dtype   shape         meaning
    ==============  ======  ============  ============================================================
    byte, skip      uint8,  (n,)          preorder trie: edge into each node, first node after its subtree
                    int32
    final           bool    (n,)          a string ends here
    block           int32   (n,)          out: number of each node's subtree
    representative  int32   (n,)          out: one node of each number
    hashes          uint64  (n,)          scratch
    slots           int32   (2^p > 2 n,)  open addressing table, -1 throughout on entry
    ==============  ======  ============  ============================================================

    Returns the number of distinct subtrees. Invariant: when node i is visited, all nodes after i in preorder have their numbers.
    Complexity: O(n) expected. Ref: Revuz 1992 (minimization of acyclic automata by height), by hashing.
    """
    n = len(byte)
    count = 0
    wrap = np.int64(len(slots) - 1)
    for i in range(n - 1, -1, -1):
        h = OFFSET ^ np.uint64(final[i])
        j = i + 1
        while j < skip[i]:
            h = (h ^ np.uint64(byte[j])) * PRIME
            h = (h ^ np.uint64(block[j])) * PRIME
            h ^= h >> np.uint64(29)
            j = skip[j]
        slot = row_slot(h, len(slots))
        found = -1
        while slots[slot] >= 0:
            x = slots[slot]
            r = representative[x]
            if hashes[x] == h and final[r] == final[i]:
                a, b = i + 1, r + 1
                while a < skip[i] and b < skip[r] and byte[a] == byte[b] and block[a] == block[b]:
                    a, b = skip[a], skip[b]
                if a >= skip[i] and b >= skip[r]:
                    found = x
                    break
            slot = (slot + 1) & wrap
        if found < 0:
            slots[slot] = count
            hashes[count] = h
            representative[count] = i
            found = count
            count += 1
        block[i] = found
    return count


@kernel
def child_table(
    byte: UInt8Array,
    skip: Int32Array,
    block: Int32Array,
    representative: Int32Array,
    count: int,
    column: Int32Array,
    table: Int32Array,
) -> None:
    """Build the transition table of the subtrees that `merge_suffixes` numbered.

    =====================  ======  ==========  ==========================================
    argument               dtype   shape       meaning
    =====================  ======  ==========  ==========================================
    byte, skip             uint8,  (n,)        preorder trie
                           int32
    block, representative  int32   (n,)        as `merge_suffixes` left them
    count                  int                 distinct subtrees
    column                 int32   (256,)      column of each byte
    table                  int32   (count, k)  in and out: -1 throughout on entry
    =====================  ======  ==========  ==========================================

    O(edges).
    """
    for x in range(count):
        r = representative[x]
        i = r + 1
        while i < skip[r]:
            table[x, column[byte[i]]] = block[i]
            i = skip[i]
