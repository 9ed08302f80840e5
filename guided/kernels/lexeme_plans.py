"""Storage of lexer plans: the effects of a token group within one lexeme, as found by `guided.kernels.plans`.

`guided.kernels.lexemes` evaluates them on a stack.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import OFFSET, PRIME, row_slot
from guided.kernels.jit import kernel
from guided.kernels.masks import add_tokens

__all__ = ["DONE", "MISSING_ROOM", "keep"]

DONE, MISSING_ROOM = 0, 2


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
    group_hashes: UInt64Array,
    group_slots: Int32Array,
    counts: Int64Array,
    n_dense: int,
    is_made: bool,
) -> int:
    """Store a plan: its tokens, and an edge with a group of nodes for each action by which tokens leave; DONE or MISSING_ROOM.

    Parameters
    ----------
    skip : in
        Trie.
    actions : in
        Tables.
    found_tokens, escapes : in
        Result of `guided.kernels.plans.within`.
    kinds : ndarray[int32], shape (n_escapes, 3), scratch
        For each kind of escape: the kind, and first and end of its nodes.
    kind_of : ndarray[int32], shape (2 * n_actions,), scratch
        -1 on entry and on return.
    plans, tokens, dense, edges, groups, group_nodes : out
        As `guided.kernels.lexemes.evaluate` takes them.
    group_hashes : ndarray[uint64], out
        Hash of each group's content.
    group_slots : ndarray[int32], shape (power of two,), in and out
        Open addressing by that hash: a group, or -1.
    counts : ndarray[int64], shape (7,), in and out
        Numbers in use of plans, tokens, rows of ``dense``, edges, groups, their nodes, and keys of plans, which this leaves.
    n_dense : int
        Plans with more tokens have a row of ``dense``.
    is_made : bool
        Whether the next row of ``dense`` already has other tokens of the plan.

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
        add_tokens(found_tokens, 0, n, dense[row])
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
        h = OFFSET ^ np.uint64(is_again)
        is_leaf = 1
        for place in range(begin, end):
            node = group_nodes[place]
            h = (h ^ np.uint64(node)) * PRIME
            is_leaf &= skip[node] == node + 1
        h ^= h >> np.uint64(29)
        slot = row_slot(h, len(group_slots))
        group = -1
        while group_slots[slot] >= 0:
            other = group_slots[slot]
            if group_hashes[other] == h and groups[other, 1] - groups[other, 0] == end - begin:
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
            group_hashes[group] = h
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
