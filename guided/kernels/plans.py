"""Plans: walk of a token trie within one frame or one lexeme, without a stack.

If a control loops over everything below a node, the tokens there are taken without a walk (`guided.kernels.below`).

Tables are those of `guided.automata.pushdown`.
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.below import stays
from guided.kernels.jit import kernel
from guided.kernels.tables import ACTION, COUNTS, GUARD, NEEDS, WIDTH, meets

__all__ = ["DONE", "MISSING_ENTRY", "like", "walk_frame", "within"]

DONE, MISSING_ENTRY = 0, 1


@kernel
def walk_frame(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    below: UInt64Array,
    leads: Int64Array,
    chars: Int32Array,
    deepest: Int32Array,
    token_chars: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    actions: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    allow: int,
    start: int,
    path: Int32Array,
    loops: UInt64Array,
    mask: Int32Array,
    count: Int32Array,
    most: Int32Array,
    escapes: Int32Array,
) -> int:
    """Walk from a control within its frame, without a stack: every action is an escape. Returns their number, or -1: use `walk`.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids : in
        Trie, whole; ``depth`` is the offset of each node's byte.
    below, chars, deepest : ndarray[uint64], shape (n_nodes, 2), and ndarray[int32], shape (n_nodes,), in
        As from `guided.kernels.below.bytes_below`.
    leads : ndarray[int64], shape (n, 5), in
        `guided.kernels.below.LEADS`.
    token_chars : ndarray[int32], shape (n_tokens_with_bytes,), in
        ``chars`` of the node at which each of ``token_ids`` ends.
    rows, info, actions, guards, allows : in
        Tables; visited rows must be known, and actions not direct.
    allow : int
        Offset of the allowed labels; -1: all.
    start : int
        Control.
    path : ndarray[int32], shape (max_depth + 1, 2), scratch
        Control, and code points read, after each byte of the path.
    loops : ndarray[uint64], shape (power of two, 3), scratch
        As `guided.kernels.below.stays` takes it; zeros on entry.
    mask, count, escapes : out
        As in `guided.kernels.pushdown.walk`; without ``count``, tokens are not counted one by one.
    most : ndarray[int32], shape (1,), out
        Maximum over the tokens in ``mask`` of the code points read, plus those needed after the token.

    Notes
    -----
    Invariant: before node i, ``path[depth[i]]`` holds the control and count after the bytes before it.
    O(nodes at which the control changes or a byte is not read + tokens).
    """
    path[0, 0], path[0, 1] = start, 0
    n_escapes, top = 0, 0
    i = 0
    while i < len(byte):
        d = depth[i]
        control = path[d, 0]
        entry = rows[control, byte[i]]
        if entry >= 0 and allow >= 0 and info[entry, GUARD] >= 0:
            if not meets(info[entry, GUARD], info[entry, WIDTH], allow, guards, allows):
                entry = DEAD
        if entry >= 0:
            read = path[d, 1] + (1 if info[control, COUNTS] == 1 else 0)
            path[d + 1, 0], path[d + 1, 1] = entry, read
            for k in range(token_indptr[i], token_indptr[i + 1]):
                token = token_ids[k]
                mask[token >> 5] |= np.int32(1) << np.int32(token & 31)
                if len(count):
                    count[token] = read + info[entry, NEEDS]
            if token_indptr[i] < token_indptr[i + 1]:
                top = max(top, read + info[entry, NEEDS])
            i += 1
            if skip[i - 1] == i:
                continue
            if not stays(i - 1, entry, allow, below, leads, rows, info, loops):
                continue
            end = skip[i - 1]
            for k in range(token_indptr[i], token_indptr[end]):
                token = token_ids[k]
                mask[token >> 5] |= np.int32(1) << np.int32(token & 31)
            step = 1 if info[entry, COUNTS] == 1 else 0
            before = read + info[entry, NEEDS] - step * chars[i - 1]
            top = max(top, before + step * deepest[i - 1])
            if len(count):
                for k in range(token_indptr[i], token_indptr[end]):
                    count[token_ids[k]] = before + step * token_chars[k]
            i = end
            continue
        if entry != DEAD:
            action: int = ACTION - entry
            if entry == UNKNOWN or actions[action, 0] >= 0:
                return -1
            escapes[n_escapes, 0], escapes[n_escapes, 1] = action, i
            escapes[n_escapes, 2], escapes[n_escapes, 3] = path[d, 1], actions[action, 1]
            n_escapes += 1
        i = skip[i]
    most[0] = top
    return n_escapes


@kernel
def within(
    byte: UInt8Array, depth: Int32Array, skip: Int32Array, token_indptr: Int32Array, token_ids: Int32Array,
    below: UInt64Array, leads: Int64Array, rows: Int32Array, info: Int32Array, guards: UInt64Array,
    allows: UInt64Array, group: Int32Array, is_again: bool, start: int, allow: int, path: Int32Array,
    loops: UInt64Array, tokens: Int32Array, escapes: Int32Array, out: Int64Array,
) -> int:  # fmt: skip
    """Find the tokens of a group that end within the lexeme of a control, and where others leave it; DONE or MISSING_ENTRY.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids, below, leads : in
        Trie, as `walk_frame` takes it.
    rows, info, guards, allows : in
        Tables.
    group : ndarray[int32], shape (n,), in
        Nodes of the trie, none within another's subtree.
    is_again : bool
        Whether the byte of these nodes is read from the control, or has already been read.
    start : int
        Control.
    allow : int
        Offset of the labels that the cell allows.
    path : ndarray[int32], shape (max_depth + 2,), scratch
    loops : as in `walk_frame`
    tokens : ndarray[int32], shape (n_tokens,), out
    escapes : ndarray[int32], shape (n_nodes, 2), out
        Twice the action, plus one if the node is in the group and its own byte leaves; and the trie node.
    out : ndarray[int64], shape (6,), in and out
        [0] number of tokens, [1] of escapes; [2] control and [3] byte of a missing entry; [4] position in the group and [5] in the
        trie (-1: not begun) of the walk. Zeros and -1 at first.

    Notes
    -----
    O(live prefixes x their children, and tokens).
    """
    n_tokens, n_escapes, i = out[0], out[1], out[5]
    loops[:, 0] = 0
    for g in range(out[4], len(group)):
        end = skip[group[g]]
        if i < 0:
            i = np.int64(group[g])
            if is_again:
                path[depth[i]] = start
            else:
                path[depth[i] + 1] = start
                for k in range(token_indptr[i], token_indptr[i + 1]):
                    tokens[n_tokens] = token_ids[k]
                    n_tokens += 1
                i += 1
        while i < end:
            entry = rows[path[depth[i]], byte[i]]
            if entry >= 0 and info[entry, GUARD] >= 0:
                if not meets(info[entry, GUARD], info[entry, WIDTH], allow, guards, allows):
                    entry = DEAD
            if entry >= 0:
                path[depth[i] + 1] = entry
                after = np.int64(skip[i] if stays(i, entry, -1, below, leads, rows, info, loops) else i + 1)
                for k in range(token_indptr[i], token_indptr[after]):
                    tokens[n_tokens] = token_ids[k]
                    n_tokens += 1
                i = after
                continue
            if entry == UNKNOWN:
                out[0], out[1], out[2], out[3], out[4], out[5] = n_tokens, n_escapes, path[depth[i]], byte[i], g, i
                return MISSING_ENTRY
            if entry != DEAD:
                escapes[n_escapes, 0], escapes[n_escapes, 1] = 2 * (ACTION - entry) + (is_again and i == group[g]), i
                n_escapes += 1
            i = np.int64(skip[i])
        i = np.int64(-1)
    out[0], out[1] = n_tokens, n_escapes
    return DONE


@kernel
def _is_same(guard: int, width: int, allow: int, base_allow: int, guards: UInt64Array, allows: UInt64Array) -> bool:
    """Return whether two sets of labels agree on a control, and so on all controls that it leads to within the lexeme."""
    for k in range(width):
        differ = allows[allow + k] ^ allows[base_allow + k]
        if (differ & guards[guard + k] if guard >= 0 else differ) != 0:
            return False
    return True


@kernel
def like(
    byte: UInt8Array, depth: Int32Array, skip: Int32Array, token_indptr: Int32Array, token_ids: Int32Array,
    below: UInt64Array, leads: Int64Array, rows: Int32Array, info: Int32Array, guards: UInt64Array,
    allows: UInt64Array, n_words: int, group: Int32Array, is_again: bool, start: int, allow: int, base_start: int,
    base_allow: int, base_escapes: Int32Array, path: Int32Array, loops: UInt64Array, mask: Int32Array,
    escapes: Int32Array, out: Int64Array,
) -> int:  # fmt: skip
    """Derive the result of `within` from its result for the same group from another control, walking only where the two differ.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids, below, leads, rows, info, guards, allows, group, is_again, start, allow, loops, escapes
        As in `within`.
    n_words : int
        Words of a set of labels.
    base_start, base_allow, base_escapes : in
        The other control, its allowed labels, and its escapes.
    path : ndarray[int32], shape (2, max_depth + 2), scratch
        Controls of this walk and of the other; DEAD if the other had ended.
    mask : ndarray[int32], shape (words,), in and out
        Bits of the other's tokens on entry, of these tokens on return.
    out : ndarray[int64], shape (7,), in and out
        As in `within`, except [0], which is unused; [6] position in ``base_escapes``.

    Notes
    -----
    From a control that both reach, both continue equally if the allowed labels agree on those that it can lead to.
    O(nodes where they differ, and escapes).
    """
    n_escapes, i, e = out[1], out[5], out[6]
    loops[:, 0] = 0
    for g in range(out[4], len(group)):
        end = skip[group[g]]
        if i < 0:
            i = np.int64(group[g])
            if is_again:
                path[0, depth[i]], path[1, depth[i]] = start, base_start
            else:
                path[0, depth[i] + 1], path[1, depth[i] + 1] = start, base_start
                i += 1
        while i < end:
            entry, other = rows[path[0, depth[i]], byte[i]], DEAD
            if entry == UNKNOWN:
                out[1], out[2], out[3], out[4], out[5], out[6] = n_escapes, path[0, depth[i]], byte[i], g, i, e
                return MISSING_ENTRY
            before = path[1, depth[i]]
            if before >= 0:
                other = rows[before, byte[i]]
            after = np.int64(skip[i])
            if before >= 0 and other == entry:
                guard, width = (info[entry, GUARD], info[entry, WIDTH]) if entry >= 0 else (-1, 0)
                if guard < 0:
                    width = n_words
                if entry < 0 or _is_same(guard, width, allow, base_allow, guards, allows):
                    while e < len(base_escapes) and base_escapes[e, 1] < i:
                        e += 1
                    while e < len(base_escapes) and base_escapes[e, 1] < after:
                        escapes[n_escapes, 0], escapes[n_escapes, 1] = base_escapes[e, 0], base_escapes[e, 1]
                        n_escapes += 1
                        e += 1
                    i = after
                    continue
            if entry >= 0 and info[entry, GUARD] >= 0:
                if not meets(info[entry, GUARD], info[entry, WIDTH], allow, guards, allows):
                    entry = DEAD
            if other >= 0 and info[other, GUARD] >= 0:
                if not meets(info[other, GUARD], info[other, WIDTH], base_allow, guards, allows):
                    other = DEAD
            if entry >= 0:
                path[0, depth[i] + 1], path[1, depth[i] + 1] = entry, max(other, DEAD)
                after = np.int64(skip[i] if stays(i, entry, -1, below, leads, rows, info, loops) else i + 1)
                for k in range(token_indptr[i], token_indptr[after]):
                    mask[token_ids[k] >> 5] |= np.int32(1) << np.int32(token_ids[k] & 31)
                i = after
                continue
            if other >= 0:
                for k in range(token_indptr[i], token_indptr[after]):
                    mask[token_ids[k] >> 5] &= ~(np.int32(1) << np.int32(token_ids[k] & 31))
            if entry != DEAD:
                escapes[n_escapes, 0], escapes[n_escapes, 1] = 2 * (ACTION - entry) + (is_again and i == group[g]), i
                n_escapes += 1
            i = after
        i = np.int64(-1)
    out[1] = n_escapes
    return DONE
