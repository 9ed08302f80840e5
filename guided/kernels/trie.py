"""Trie of sorted tokens as preorder arrays. `guided.vocabulary.trie` describes the arrays."""

from guided.arrays import Int32Array, Int64Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["build_trie"]


@kernel
def build_trie(
    data: UInt8Array,
    offsets: Int64Array,
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_node: Int32Array,
    path: Int32Array,
) -> int:
    """Build the trie of ``n`` nonempty byte strings in ascending order, with duplicates, and return its number of nodes.

    ==============  =====  ===============  ========  ===================================================
    argument        dtype  shape            in / out  meaning
    ==============  =====  ===============  ========  ===================================================
    ``data``        u1     (total,)         in        the concatenated strings
    ``offsets``     i8     (n + 1,)         in        string t is ``data[offsets[t]:offsets[t + 1]]``
    ``byte``        u1     (total,)         out       label of the edge into a node
    ``depth``       i4     (total,)         out       offset of that byte in the strings through the node
    ``skip``        i4     (total,)         out       first node after the node's subtree
    ``token_node``  i4     (n,)             out       last node of string t
    ``path``        i4     (longest,)       scratch   nodes of the previous string, from the first byte on
    ==============  =====  ===============  ========  ===================================================

    Invariant: before string t, ``path[:length]`` are the nodes of string t - 1, and exactly these have no ``skip`` yet.
    Sorted order makes the nodes of t new from its first difference to t - 1 on, so nodes are numbered in preorder.

    Complexity: O(total) time; no more nodes than bytes, so ``total`` entries always suffice.
    """
    count = previous = length = 0
    for t in range(len(offsets) - 1):
        start, size = offsets[t], offsets[t + 1] - offsets[t]
        common = 0
        while common < size and common < length and data[start + common] == data[previous + common]:
            common += 1
        for d in range(common, length):
            skip[path[d]] = count
        for d in range(common, size):
            byte[count] = data[start + d]
            depth[count] = d
            path[d] = count
            count += 1
        token_node[t] = path[size - 1]
        previous, length = start, size
    for d in range(length):
        skip[path[d]] = count
    return count
