"""Where tokens lead that stay within the rows of an automaton, without its stack."""

from guided.arrays import Int32Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["reach"]

_DEAD = -1
_COUNTS = 1


@kernel
def reach(
    byte: UInt8Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    begin: int,
    end: int,
    rows: Int32Array,
    info: Int32Array,
    control: int,
    path: Int32Array,
    ends: Int32Array,
    counts: Int32Array,
) -> None:
    """Follow the tokens of the trie's nodes ``begin`` to ``end`` from a control, as far as entries are controls.

    Parameters
    ----------
    byte, skip, token_indptr, token_ids : in
        Trie.
    begin, end : int
        A subtree's children: a range of nodes in preorder.
    rows, info : in
        Tables of the automaton.
    control : int
        Where the tokens are at node ``begin``'s parent.
    path : ndarray[int32], shape (max_depth + 2, 3), scratch
        Of each depth: control, first node after the subtree, and code points read.
    ends : ndarray[int32], shape (n_tokens,), out
        Control after each token; DEAD, or ``-2 - node`` where the entry into that trie node is an action or not known yet.
    counts : ndarray[int32], shape (n_tokens,), out
        Code points that each token reads.

    Notes
    -----
    O(nodes reached + tokens).
    """
    depth = 0
    path[0, 0], path[0, 1], path[0, 2] = control, end, 0
    i = begin
    while i < end:
        while path[depth, 1] <= i:
            depth -= 1
        here = path[depth, 0]
        entry = rows[here, byte[i]]
        if entry < 0:
            found = _DEAD if entry == _DEAD else -2 - i
            for k in range(token_indptr[i], token_indptr[skip[i]]):
                ends[token_ids[k]] = found
            i = skip[i]
            continue
        count = path[depth, 2]
        if info[here, _COUNTS] == 1:
            count += 1
        for k in range(token_indptr[i], token_indptr[i + 1]):
            ends[token_ids[k]] = entry
            counts[token_ids[k]] = count
        if skip[i] > i + 1:
            depth += 1
            path[depth, 0], path[depth, 1], path[depth, 2] = entry, skip[i], count
        i += 1
