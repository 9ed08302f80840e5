"""Simultaneous walk of a trie and an automaton over the same bytes."""

from guided.arrays import Int32Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["follow"]


@kernel
def follow(
    byte: UInt8Array,
    depth: Int32Array,
    table: Int32Array,
    classes: UInt8Array,
    path: Int32Array,
    parent: Int32Array,
    shadow: Int32Array,
) -> None:
    """Find the parent of each node, and the automaton's state after the node's bytes.

    ============  ============  =============  ====================================================
    argument      dtype         shape          meaning
    ============  ============  =============  ====================================================
    byte, depth   uint8, int32  (n,)           preorder trie without its root (`guided.kernels.trie`)
    table         int32         (q, k)         automaton, -1 for none; state 0 is the start
    classes       uint8         (256,)         column of each byte
    path          int32         (longest,)     scratch: nodes from the root to the current one
    parent        int32         (n,)           out: node, -1 for the root
    shadow        int32         (n,)           out: state, -1 if the automaton has died
    ============  ============  =============  ====================================================

    Invariant: in preorder the parent of a node of depth d is the last visited node of depth d - 1. O(n).
    """
    for i in range(len(byte)):
        d = depth[i]
        above = path[d - 1] if d > 0 else -1
        state = shadow[above] if above >= 0 else 0
        parent[i] = above
        shadow[i] = table[state, classes[byte[i]]] if state >= 0 else -1
        path[d] = i
