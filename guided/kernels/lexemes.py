"""Masks of a lexer with a parser: a tree of lexemes, and its evaluation on a stack.

What tokens do within one lexeme hangs on the lexer's control and the labels that its cell allows, not on the rest of the stack; so it is
found once (`within`) and kept as a *plan*: tokens that end within the lexeme, and *edges*: an action that ends it, with the *group* of trie
nodes that reach it. On a stack, the action of an edge leads to another control; the plan of the group from there is the next node of the
tree (`evaluate`). Groups that are small are walked on the stack at once.

Tables are those of `guided.automata.pushdown`, whose constants are repeated here (numba freezes globals). A stack is a node: its top cell
and the node below; nodes from ``SCRATCH`` on are pushes of the evaluation and live in ``pushed``.

Ref: the subterminal trees of DOMINO (Beurer-Kellner et al. 2024), with the parser's stack in place of its lookahead.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["DONE", "MISSING_ENTRY", "MISSING_PLAN", "MISSING_REACTION", "MISSING_ROOM", "evaluate", "within"]

DONE, MISSING_ENTRY, MISSING_REACTION, MISSING_ROOM, MISSING_PLAN = 0, 1, 2, 3, 4
SCRATCH = 1 << 29

_DEAD, _UNKNOWN, _ACTION = -1, -2, -16
_GUARD, _WIDTH = 2, 3
# Room that one byte's pushes may need.
_MARGIN = 64


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
        Action and trie node.
    out : ndarray[int64], shape (4,), out
        [0] number of tokens, [1] of escapes; or [2] control and [3] byte of the entry that is missing.

    Notes
    -----
    O(live prefixes x their children).
    """
    n_tokens, n_escapes = 0, 0
    for g in range(len(group)):
        i = group[g]
        end = skip[i]
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
                out[2], out[3] = path[depth[i]], byte[i]
                return MISSING_ENTRY
            if entry != _DEAD:
                escapes[n_escapes, 0], escapes[n_escapes, 1] = _ACTION - entry, i
                n_escapes += 1
            i = skip[i]
    out[0], out[1] = n_tokens, n_escapes
    return DONE


@kernel
def _chain(
    entry: int,
    node: int,
    used: int,
    actions: Int32Array,
    results: Int32Array,
    keys: Int64Array,
    values: Int32Array,
    nodes: Int32Array,
    pushed: Int32Array,
) -> tuple[int, int, int, int]:
    """Follow reactions from an entry: (control, node, used); control DEAD, or UNKNOWN with the action and cell in their place."""
    wrap = np.int64(len(keys) - 1)
    while entry <= _ACTION:
        action: int = _ACTION - entry
        result: int = actions[action, 0]
        if result < 0:
            cell: int = nodes[node, 0] if node < SCRATCH else pushed[node - SCRATCH, 0]
            key = np.int64(action) << 32 | np.int64(cell)
            slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & wrap
            result = _UNKNOWN
            while keys[slot] >= 0:
                if keys[slot] == key:
                    result = values[slot]
                    break
                slot = (slot + 1) & wrap
            if result == _UNKNOWN:
                return _UNKNOWN, action, cell, used
            if result < 0:
                return _DEAD, 0, 0, used
        for _ in range(results[result, 0]):
            node = nodes[node, 1] if node < SCRATCH else pushed[node - SCRATCH, 1]
        if results[result, 1] >= 0:
            if used >= len(pushed):
                return _UNKNOWN, -1, 0, used
            pushed[used, 0], pushed[used, 1] = results[result, 1], node
            node = SCRATCH + used
            used += 1
        entry = results[result, 2]
    return entry, node, 0, used


@kernel
def _is_open(
    control: int,
    node: int,
    info: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    cell_allow: Int32Array,
    nodes: Int32Array,
    pushed: Int32Array,
) -> bool:
    guard = info[control, _GUARD]
    if guard < 0:
        return True
    cell = nodes[node, 0] if node < SCRATCH else pushed[node - SCRATCH, 0]
    return _meets(guard, info[control, _WIDTH], cell_allow[cell], guards, allows)


@kernel
def _walk(
    first: int,
    is_again: bool,
    control: int,
    node: int,
    used: int,
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    actions: Int32Array,
    results: Int32Array,
    keys: Int64Array,
    values: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    cell_allow: Int32Array,
    nodes: Int32Array,
    pushed: Int32Array,
    path: Int32Array,
    mask: Int32Array,
    out: Int64Array,
) -> int:
    """Set the bits of the tokens below one node of the trie that may follow a control on a stack; DONE or what is missing."""
    i: int = first
    d = depth[i] if is_again else depth[i] + 1
    path[d, 0], path[d, 1], path[d, 2] = control, node, used
    if not is_again:
        for k in range(token_indptr[i], token_indptr[i + 1]):
            mask[token_ids[k] >> 5] |= np.int32(1) << np.int32(token_ids[k] & 31)
        i += 1
    while i < skip[first]:
        d = depth[i]
        control, node, used = path[d, 0], path[d, 1], path[d, 2]
        entry: int = rows[control, byte[i]]
        while entry <= _ACTION:
            again = actions[_ACTION - entry, 1] != 0
            control, node, cell, used = _chain(entry, node, used, actions, results, keys, values, nodes, pushed)
            if control == _UNKNOWN:
                if node < 0:
                    return MISSING_ROOM
                out[1], out[2] = node, cell
                return MISSING_REACTION
            entry = control
            if control < 0:
                break
            if not _is_open(control, node, info, guards, allows, cell_allow, nodes, pushed):
                entry = _DEAD
                break
            if not again:
                break
            entry = rows[control, byte[i]]
        if entry == _UNKNOWN:
            out[1], out[2] = control, byte[i]
            return MISSING_ENTRY
        if entry < 0 or not _is_open(entry, node, info, guards, allows, cell_allow, nodes, pushed):
            i = skip[i]
            continue
        path[d + 1, 0], path[d + 1, 1], path[d + 1, 2] = entry, node, used
        for k in range(token_indptr[i], token_indptr[i + 1]):
            mask[token_ids[k] >> 5] |= np.int32(1) << np.int32(token_ids[k] & 31)
        i += 1
    return DONE


@kernel
def evaluate(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    actions: Int32Array,
    results: Int32Array,
    keys: Int64Array,
    values: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    cell_allow: Int32Array,
    nodes: Int32Array,
    pushed: Int32Array,
    plans: Int32Array,
    plan_keys: Int64Array,
    plan_values: Int32Array,
    tokens: Int32Array,
    dense: Int32Array,
    edges: Int32Array,
    groups: Int32Array,
    group_nodes: Int32Array,
    few: int,
    path: Int32Array,
    jobs: Int32Array,
    mask: Int32Array,
    out: Int64Array,
) -> int:
    """Set the bits of all tokens that may follow a plan on a stack; DONE, or what is missing: call again when it is known.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids : in
        Trie.
    rows, info, actions, results, keys, values, guards, allows, cell_allow : in
        Tables of the automaton.
    nodes : ndarray[int32], shape (n, 3), in
        The caller's stacks.
    pushed : ndarray[int32], shape (n, 2), out
        Stacks of the evaluation.
    plans : ndarray[int32], shape (n_plans, 5), in
        First and end of its tokens, row in ``dense`` (-1: none), first and end of its edges.
    plan_keys, plan_values : in
        Open addressing: ``group << 44 | control << 22 | allow`` (-1: free) to plan.
    tokens, dense, edges, groups, group_nodes : in
        Tokens of plans; masks of those with many, shape (n, words); action and group of each edge, shape (n, 2); first and end in
        ``group_nodes``, whether the byte is read again, and nodes of the trie below, shape (n, 4).
    few : int
        Groups with so many nodes of the trie are walked.
    path : ndarray[int32], shape (max_depth + 2, 3), scratch
    jobs : ndarray[int32], shape (n, 3), in and out
        Plan, stack and next edge (-1: not begun) of what is under way.
    mask : ndarray[int32], shape (words,), in and out
    out : ndarray[int64], shape (6,), in and out
        [0] number of jobs; [1], [2], [3] what is missing; [4] pushes in use.

    Notes
    -----
    O(tokens and edges of the plans met, and words of their masks).
    """
    n: int = out[0]
    wrap = np.int64(len(plan_keys) - 1)
    while n > 0:
        plan, node, edge = jobs[n - 1, 0], jobs[n - 1, 1], jobs[n - 1, 2]
        if edge < 0:
            if plans[plan, 2] >= 0:
                row = plans[plan, 2]
                for w in range(len(mask)):
                    mask[w] |= dense[row, w]
            for k in range(plans[plan, 0], plans[plan, 1]):
                mask[tokens[k] >> 5] |= np.int32(1) << np.int32(tokens[k] & 31)
            edge = plans[plan, 3]
            jobs[n - 1, 2] = edge
        if edge >= plans[plan, 4]:
            n -= 1
            continue
        used: int = out[4]
        if used + _MARGIN >= len(pushed) or n >= len(jobs):
            out[0] = n
            return MISSING_ROOM
        group = edges[edge, 1]
        control, after, cell, used = _chain(
            _ACTION - edges[edge, 0], node, used, actions, results, keys, values, nodes, pushed
        )
        if control == _UNKNOWN:
            out[0], out[1], out[2] = n, after, cell
            return MISSING_REACTION if after >= 0 else MISSING_ROOM
        if control < 0 or not _is_open(control, after, info, guards, allows, cell_allow, nodes, pushed):
            jobs[n - 1, 2] = edge + 1
            continue
        if groups[group, 3] <= few:
            for g in range(groups[group, 0], groups[group, 1]):
                status = _walk(
                    group_nodes[g], groups[group, 2] != 0, control, after, used, byte, depth, skip, token_indptr, token_ids, rows,
                    info, actions, results, keys, values, guards, allows, cell_allow, nodes, pushed, path, mask, out,
                )  # fmt: skip
                if status != DONE:
                    out[0] = n
                    return status
            jobs[n - 1, 2] = edge + 1
            continue
        top = nodes[after, 0] if after < SCRATCH else pushed[after - SCRATCH, 0]
        allow = cell_allow[top]
        key = np.int64(group) << 44 | np.int64(control) << 22 | np.int64(allow)
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & wrap
        found = _UNKNOWN
        while plan_keys[slot] >= 0:
            if plan_keys[slot] == key:
                found = plan_values[slot]
                break
            slot = (slot + 1) & wrap
        if found == _UNKNOWN:
            out[0], out[1], out[2], out[3] = n, group, control, allow
            return MISSING_PLAN
        jobs[n - 1, 2] = edge + 1
        jobs[n, 0], jobs[n, 1], jobs[n, 2] = found, after, -1
        out[4] = used
        n += 1
    out[0] = 0
    return DONE
