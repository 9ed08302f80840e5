"""Plans of a lexer: what the tokens of a group do within one lexeme (`guided.kernels.lexemes` evaluates them on a stack).

Tables are those of `guided.automata.pushdown`, whose constants are repeated here (numba freezes globals).
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["DONE", "MISSING_ENTRY", "MISSING_ROOM", "find_slots", "keep", "like", "within"]

DONE, MISSING_ENTRY, MISSING_ROOM = 0, 1, 2

_DEAD, _UNKNOWN, _ACTION = -1, -2, -16
_GUARD, _WIDTH = 2, 3


@kernel
def _meets(guard: int, width: int, allow: int, guards: UInt64Array, allows: UInt64Array) -> bool:
    for k in range(width):
        if guards[guard + k] & allows[allow + k]:
            return True
    return False


@kernel
def within(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    group: Int32Array,
    is_again: bool,
    start: int,
    allow: int,
    path: Int32Array,
    tokens: Int32Array,
    escapes: Int32Array,
    out: Int64Array,
) -> int:
    """The tokens of a group that end within the lexeme that a control stands in, and where others leave it; DONE or MISSING_ENTRY.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids : in
        Trie; ``depth`` is the offset of each node's byte.
    rows, info, guards, allows : in
        Tables.
    group : ndarray[int32], shape (n,), in
        Nodes of the trie, none within another's subtree.
    is_again : bool
        Is the byte of these nodes read from the control, or has it been read?
    start : int
        Control.
    allow : int
        Offset of the labels that the cell allows.
    path : ndarray[int32], shape (max_depth + 2,), scratch
    tokens : ndarray[int32], shape (n_tokens,), out
    escapes : ndarray[int32], shape (n_nodes, 2), out
        Twice the action, one more where the node is one of the group's and its byte the one that leaves; and the trie node.
    out : ndarray[int64], shape (6,), in and out
        [0] number of tokens, [1] of escapes; [2] control and [3] byte of an entry that is missing; [4] place in the group and [5] in the
        trie (-1: not begun) where the walk stands. Zeros and -1 at first.

    Notes
    -----
    O(live prefixes x their children).
    """
    n_tokens, n_escapes, i = out[0], out[1], out[5]
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
            if entry >= 0 and info[entry, _GUARD] >= 0:
                if not _meets(info[entry, _GUARD], info[entry, _WIDTH], allow, guards, allows):
                    entry = _DEAD
            if entry >= 0:
                path[depth[i] + 1] = entry
                for k in range(token_indptr[i], token_indptr[i + 1]):
                    tokens[n_tokens] = token_ids[k]
                    n_tokens += 1
                i += 1
                continue
            if entry == _UNKNOWN:
                out[0], out[1], out[2], out[3], out[4], out[5] = n_tokens, n_escapes, path[depth[i]], byte[i], g, i
                return MISSING_ENTRY
            if entry != _DEAD:
                escapes[n_escapes, 0], escapes[n_escapes, 1] = 2 * (_ACTION - entry) + (is_again and i == group[g]), i
                n_escapes += 1
            i = np.int64(skip[i])
        i = np.int64(-1)
    out[0], out[1] = n_tokens, n_escapes
    return DONE


@kernel
def _is_same(guard: int, width: int, allow: int, base_allow: int, guards: UInt64Array, allows: UInt64Array) -> bool:
    """Do two sets of labels let the same of a control through, and so of all that it leads to within the lexeme?"""
    for k in range(width):
        differ = allows[allow + k] ^ allows[base_allow + k]
        if (differ & guards[guard + k] if guard >= 0 else differ) != 0:
            return False
    return True


@kernel
def like(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    n_words: int,
    group: Int32Array,
    is_again: bool,
    start: int,
    allow: int,
    base_start: int,
    base_allow: int,
    base_escapes: Int32Array,
    path: Int32Array,
    mask: Int32Array,
    escapes: Int32Array,
    out: Int64Array,
) -> int:
    """What `within` finds, made of what it found for the same group from another control: only where the two differ is walked.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids, rows, info, guards, allows, group, is_again, start, allow, escapes : as in `within`
    n_words : int
        Words of a set of labels.
    base_start, base_allow, base_escapes : in
        The other control, the labels allowed there, and where tokens left its lexeme.
    path : ndarray[int32], shape (2, max_depth + 2), scratch
        Controls of this walk and of the other; DEAD where the other had ended.
    mask : ndarray[int32], shape (words,), in and out
        Bits of the other's tokens; then of these.
    out : ndarray[int64], shape (7,), in and out
        As in `within`, but for [0], which is not used; [6] place in ``base_escapes``.

    Notes
    -----
    A control that both come to leads both to the same, as far as the same labels are allowed of those that it can lead to.
    O(nodes where they differ, and escapes).
    """
    n_escapes, i, e = out[1], out[5], out[6]
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
            entry, other = rows[path[0, depth[i]], byte[i]], _DEAD
            if entry == _UNKNOWN:
                out[1], out[2], out[3], out[4], out[5], out[6] = n_escapes, path[0, depth[i]], byte[i], g, i, e
                return MISSING_ENTRY
            before = path[1, depth[i]]
            if before >= 0:
                other = rows[before, byte[i]]
            after = np.int64(skip[i])
            if before >= 0 and other == entry:
                guard, width = (info[entry, _GUARD], info[entry, _WIDTH]) if entry >= 0 else (-1, 0)
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
            if entry >= 0 and info[entry, _GUARD] >= 0:
                if not _meets(info[entry, _GUARD], info[entry, _WIDTH], allow, guards, allows):
                    entry = _DEAD
            if other >= 0 and info[other, _GUARD] >= 0:
                if not _meets(info[other, _GUARD], info[other, _WIDTH], base_allow, guards, allows):
                    other = _DEAD
            if entry >= 0:
                path[0, depth[i] + 1], path[1, depth[i] + 1] = entry, max(other, _DEAD)
                for k in range(token_indptr[i], token_indptr[i + 1]):
                    mask[token_ids[k] >> 5] |= np.int32(1) << np.int32(token_ids[k] & 31)
                i += 1
                continue
            if other >= 0:
                for k in range(token_indptr[i], token_indptr[after]):
                    mask[token_ids[k] >> 5] &= ~(np.int32(1) << np.int32(token_ids[k] & 31))
            if entry != _DEAD:
                escapes[n_escapes, 0], escapes[n_escapes, 1] = 2 * (_ACTION - entry) + (is_again and i == group[g]), i
                n_escapes += 1
            i = after
        i = np.int64(-1)
    out[1] = n_escapes
    return DONE


@kernel
def keep(
    skip: Int32Array,
    actions: Int32Array,
    found_tokens: Int32Array,
    escapes: Int32Array,
    kinds: Int32Array,
    kind_of: Int32Array,
    plans: Int32Array,
    tokens: Int32Array,
    dense: Int32Array,
    edges: Int32Array,
    groups: Int32Array,
    group_nodes: Int32Array,
    group_hashes: Int64Array,
    group_slots: Int32Array,
    counts: Int64Array,
    n_dense: int,
    is_made: bool,
) -> int:
    """Store a plan: its tokens, and an edge for each action by which some leave, with the group of the nodes that do; DONE or MISSING_ROOM.

    Parameters
    ----------
    skip : in
        Trie.
    actions : in
        Tables.
    found_tokens, escapes : in
        As `within` gave them.
    kinds : ndarray[int32], shape (n_escapes, 3), scratch
        Of each kind of escape: the kind, and first and end of its nodes.
    kind_of : ndarray[int32], shape (2 * n_actions,), scratch
        -1, and -1 again afterwards.
    plans, tokens, dense, edges, groups, group_nodes : out
        As `guided.kernels.lexemes.evaluate` takes them.
    group_hashes : ndarray[int64], out
        Of each group, a hash of its content.
    group_slots : ndarray[int32], shape (power of two,), in and out
        Open addressing by that hash: a group, or -1.
    counts : ndarray[int64], shape (6,), in and out
        Plans, tokens, rows of ``dense``, edges, groups and their nodes in use.
    n_dense : int
        Plans with more tokens have a row of ``dense``.
    is_made : bool
        Is the next row of ``dense`` made already, in place of ``found_tokens``?

    Notes
    -----
    O(tokens + escapes).
    """
    n, n_escapes = len(found_tokens), len(escapes)
    n_groups, n_nodes = counts[4], counts[5]
    is_dense = is_made or n > n_dense
    if (
        counts[0] >= len(plans)
        or (is_dense and counts[2] >= len(dense))
        or (not is_dense and counts[1] + n > len(tokens))
        or counts[3] + n_escapes > len(edges)
        or n_groups + n_escapes > len(groups)
        or n_nodes + n_escapes > len(group_nodes)
        or 2 * (n_groups + n_escapes) > len(group_slots)
    ):
        return MISSING_ROOM
    plan = counts[0]
    plans[plan, 0], plans[plan, 2], plans[plan, 3] = counts[1], -1, counts[3]
    if is_dense:
        row = counts[2]
        plans[plan, 2] = row
        if not is_made:
            dense[row, :] = 0
        for k in range(n):
            dense[row, found_tokens[k] >> 5] |= np.int32(1) << np.int32(found_tokens[k] & 31)
        counts[2] = row + 1
    else:
        for k in range(n):
            tokens[counts[1] + k] = found_tokens[k]
        counts[1] += n
    n_kinds = 0
    for e in range(n_escapes):
        kind = escapes[e, 0]
        if kind_of[kind] < 0:
            kind_of[kind] = n_kinds
            kinds[n_kinds, 0], kinds[n_kinds, 2] = kind, 0
            n_kinds += 1
        kinds[kind_of[kind], 2] += 1
    first = n_nodes
    for k in range(n_kinds):
        kinds[k, 1] = first
        first += kinds[k, 2]
        kinds[k, 2] = kinds[k, 1]
    for e in range(n_escapes):
        k = kind_of[escapes[e, 0]]
        group_nodes[kinds[k, 2]] = escapes[e, 1]
        kinds[k, 2] += 1
    wrap = np.int64(len(group_slots) - 1)
    for k in range(n_kinds):
        kind_of[kinds[k, 0]] = -1
        action, begin, end = kinds[k, 0] >> 1, kinds[k, 1], kinds[k, 2]
        is_again = actions[action, 1]
        word = np.uint64(1469598103934665603 + is_again)
        is_leaf = 1
        for place in range(begin, end):
            node = group_nodes[place]
            word = (word ^ np.uint64(node)) * np.uint64(1099511628211)
            is_leaf &= skip[node] == node + 1
        # Why: the upper bits are the slot's, and of few nodes they would be nearly the same.
        word = (word ^ (word >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        content = np.int64(word >> np.uint64(1))
        slot = np.int64(content >> 20) & wrap
        group = -1
        while group_slots[slot] >= 0:
            other = group_slots[slot]
            if group_hashes[other] == content and groups[other, 1] - groups[other, 0] == end - begin:
                is_equal = groups[other, 2] == is_again
                for offset in range(end - begin):
                    is_equal = is_equal and group_nodes[groups[other, 0] + offset] == group_nodes[begin + offset]
                if is_equal:
                    group = other
                    break
            slot = (slot + 1) & wrap
        if group < 0:
            group = n_groups
            group_slots[slot] = group
            group_hashes[group] = content
            # The nodes move down to where those of known groups were.
            for offset in range(end - begin):
                group_nodes[n_nodes + offset] = group_nodes[begin + offset]
            groups[group, 0], groups[group, 1], groups[group, 2] = n_nodes, n_nodes + end - begin, is_again
            groups[group, 3] = is_leaf if not is_again else 0
            n_nodes += end - begin
            n_groups += 1
        edges[counts[3], 0], edges[counts[3], 1] = action, group
        counts[3] += 1
    plans[plan, 1], plans[plan, 4] = counts[1], counts[3]
    counts[0], counts[4], counts[5] = plan + 1, n_groups, n_nodes
    return DONE


@kernel
def find_slots(hashes: Int64Array, slots: Int32Array) -> None:
    """Enter all groups into a new table of slots."""
    wrap = np.int64(len(slots) - 1)
    for group in range(len(hashes)):
        slot = np.int64(hashes[group] >> 20) & wrap
        while slots[slot] >= 0:
            slot = (slot + 1) & wrap
        slots[slot] = group
