"""Plans: walk of a token trie within one frame or one lexeme, without a stack.

If a control loops over everything below a node, the tokens there are taken without a walk (`guided.kernels.below`).

Tables are those of `guided.automata.pushdown`.
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.below import stays
from guided.kernels.jit import kernel
from guided.kernels.masks import remove_tokens
from guided.kernels.tables import ACTION, GUARD, WIDTH, is_open

__all__ = ["DONE", "MISSING_ENTRY", "within"]

DONE, MISSING_ENTRY = 0, 1


@kernel
def _is_same(
    control: int, allow: int, base_allow: int, n_words: int, info: Int32Array, guards: UInt64Array, allows: UInt64Array
) -> bool:
    """Return whether two sets of labels agree on a control, and so on all controls that it leads to within the lexeme."""
    guard = info[control, GUARD]
    for k in range(n_words if guard < 0 else info[control, WIDTH]):
        differ = allows[allow + k] ^ allows[base_allow + k]
        if (differ & guards[guard + k] if guard >= 0 else differ) != 0:
            return False
    return True


@kernel
def within(
    byte: UInt8Array, depth: Int32Array, skip: Int32Array, token_indptr: Int32Array, token_ids: Int32Array, below: UInt64Array,
    rows: Int32Array, info: Int32Array, guards: UInt64Array, allows: UInt64Array, n_words: int, group: Int32Array, is_again: bool,
    start: int, allow: int, base_start: int, base_allow: int, base_escapes: Int32Array, path: Int32Array, loops: UInt64Array,
    mask: Int32Array, tokens: Int32Array, escapes: Int32Array, out: Int64Array,
) -> int:  # fmt: skip
    """Find the tokens of a group that end within the lexeme of a control, and where others leave it; DONE or MISSING_ENTRY.

    The result for the same group from another control, a *base*, may be given: then only nodes where the two differ are visited. From a
    control that both reach, both continue equally if the allowed labels agree on those that it can lead to.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids, below : in
        Trie, whole; ``depth`` is the offset of each node's byte, and ``below`` as `guided.kernels.below.bytes_below` computes it.
    rows, info, guards, allows : in
        Tables.
    n_words : int
        Words of a set of labels.
    group : ndarray[int32], shape (n,), in
        Nodes of the trie, none within another's subtree.
    is_again : bool
        Whether the byte of these nodes is read from the control, or has already been read.
    start : int
        Control.
    allow : int
        Offset of the labels that the cell allows.
    base_start, base_allow, base_escapes : in
        The base's control (DEAD: no base), its allowed labels, and its escapes.
    path : ndarray[int32], shape (2, max_depth + 2), scratch
        Controls of this walk and of the base; DEAD where the base has ended.
    loops : ndarray[uint64], shape (power of two, 3), scratch
        As `guided.kernels.below.stays` takes it.
    mask : ndarray[int32], shape (words,), in and out
        Bits of the base's tokens on entry; without those that do not end within the lexeme here on return. Empty without a base.
    tokens : ndarray[int32], shape (n_tokens,), out
        The tokens; with a base, at least those that the base lacks.
    escapes : ndarray[int32], shape (n_nodes, 2), out
        Twice the action, plus one if the node is in the group and its own byte leaves; and the trie node.
    out : ndarray[int64], shape (7,), in and out
        [0] number of tokens, [1] of escapes; [2] control and [3] byte of a missing entry; [4] position in the group, [5] in the trie
        (-1: not begun) and [6] in ``base_escapes`` of the walk. Zeros, and -1 in [5], at first.

    Notes
    -----
    O(live prefixes x their children, and tokens); with a base, O(nodes where they differ, and escapes).
    """
    n_tokens, n_escapes, i, e = out[0], out[1], out[5], out[6]
    loops[:, 0] = 0
    for g in range(out[4], len(group)):
        end = skip[group[g]]
        if i < 0:
            i = np.int64(group[g])
            d = depth[i] if is_again else depth[i] + 1
            path[0, d], path[1, d] = start, base_start
            if not is_again:
                for k in range(np.uint64(token_indptr[i]), np.uint64(token_indptr[i + 1])):
                    tokens[n_tokens] = token_ids[k]
                    n_tokens += 1
                i += 1
        while i < end:
            d, b = depth[i], byte[i]
            entry, other, base = rows[path[0, d], b], DEAD, path[1, d]
            if entry == UNKNOWN:
                out[0], out[1], out[2], out[3], out[4], out[5], out[6] = n_tokens, n_escapes, path[0, d], b, g, i, e
                return MISSING_ENTRY
            after = np.int64(skip[i])
            if base >= 0:
                other = rows[base, b]
                if other == entry and (entry < 0 or _is_same(entry, allow, base_allow, n_words, info, guards, allows)):
                    while e < len(base_escapes) and base_escapes[e, 1] < i:
                        e += 1
                    while e < len(base_escapes) and base_escapes[e, 1] < after:
                        escapes[n_escapes, 0], escapes[n_escapes, 1] = base_escapes[e, 0], base_escapes[e, 1]
                        n_escapes += 1
                        e += 1
                    i = after
                    continue
                if other >= 0 and not is_open(other, base_allow, info, guards, allows):
                    other = DEAD
            if entry >= 0 and not is_open(entry, allow, info, guards, allows):
                entry = DEAD
            if entry >= 0:
                path[0, d + 1], path[1, d + 1] = entry, max(other, DEAD)
                if after > i + 1 and not stays(i, entry, -1, below, rows, info, loops):
                    after = i + 1
                for k in range(np.uint64(token_indptr[i]), np.uint64(token_indptr[after])):
                    tokens[n_tokens] = token_ids[k]
                    n_tokens += 1
            else:
                if other >= 0:
                    remove_tokens(token_ids, token_indptr[i], token_indptr[after], mask)
                if entry != DEAD:
                    escapes[n_escapes, 0], escapes[n_escapes, 1] = (
                        2 * (ACTION - entry) + (is_again and i == group[g]),
                        i,
                    )
                    n_escapes += 1
            i = after
        i = np.int64(-1)
    out[0], out[1] = n_tokens, n_escapes
    return DONE
