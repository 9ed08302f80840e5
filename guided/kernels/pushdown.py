"""Walk of a token trie over a pushdown automaton: which tokens are allowed at a control on a stack.

One depth-first pass over a trie, with control, stack and registers of each prefix. It returns to its caller at an unknown entry or
reaction, and resumes there when it is called again: the frames hold its position.

Tables and stacks are those of `guided.kernels.tables`. The walk's own pushes are hash-consed.

On request the walk also records the end of each token: control, stack, and code points still needed. Tokens with equal ends are of one
*class*.

Children of a node are either scanned in the order of the trie or, if the control has few live bytes and the trie a table of
children, looked up byte by byte. Tokens below a node that only lead the control back to itself are taken without a visit
(`guided.kernels.below`).

PERF: with the look-up a structural position of a JSON document (6 live bytes) costs 10 visits instead of 500
(`python -m benchmarks.maskbench`); with the loops the first mask of text around calls takes 0.7 ms instead of 6
(`python -m benchmarks.compositions`).
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.below import BEYOND_ASCII, stays
from guided.kernels.jit import inlined, kernel
from guided.kernels.masks import add_tokens, remove_tokens
from guided.kernels.tables import (
    ACTION,
    BEYOND,
    COUNTS,
    DEFERRED,
    DEPENDS_ON_BYTES,
    GUARD,
    LIVE,
    MANY,
    NEEDS,
    NOWHERE,
    PENDING,
    PER_CELL,
    SCRATCH,
    UNLIMITED,
    is_open,
    popped,
    reaction,
    top_cell,
)  # fmt: skip

__all__ = [
    "DONE",
    "HAS_REGISTERS",
    "MISSING_ENTRY",
    "MISSING_LABELS",
    "MISSING_REACTION",
    "MISSING_ROOM",
    "NOT_READ",
    "enter_all",
    "read",
    "walk",
]

DONE, MISSING_ENTRY, MISSING_REACTION, MISSING_ROOM, MISSING_LABELS = 0, 1, 2, 3, 4
# Status of a byte that is not read, or whose reaction is recorded as an escape.
_DIED = -1
# Result of `read` for a token that is not allowed, or for which something is missing; and a flag of other results.
NOT_READ, HAS_REGISTERS = -1, 1 << 62

# A byte that every loop worth taking reads.
_LETTER = 97

# Columns of a frame.
_CONTROL, _NODE, _NEEDED, _ALLOWED, _CURSOR, _END, _ROW, _BASE = range(8)


@kernel
def _depth_of(node: int, nodes: Int32Array, pushed: Int32Array) -> int:
    """Return the number of cells above the lowest; for an unknown stack, of those that are known."""
    if node == NOWHERE:
        return 0
    return int(nodes[node, 2] if node < SCRATCH else pushed[node - SCRATCH, 2])


@kernel
def _enter(first: int, second: int, third: int, rows: Int32Array, slots: Int32Array, n: int) -> int:
    """Return the number of a row among the first ``n``; ``n`` if it is new and was inserted; -1 if it is new and there is no room."""
    # Why as signed numbers first: Python converts no negative int to an unsigned one.
    key = np.uint64(np.int64(first)) * np.uint64(0x9E3779B97F4A7C15)
    key += np.uint64(np.int64(second)) * np.uint64(0xC2B2AE3D27D4EB4F)
    key = (key + np.uint64(np.int64(third))) * np.uint64(0x9E3779B97F4A7C15)
    wrap = np.int64(len(slots) - 1)
    slot = np.int64(key >> np.uint64(33)) & wrap
    while slots[slot] >= 0:
        row = slots[slot]
        if rows[row, 0] == first and rows[row, 1] == second and rows[row, 2] == third:
            return int(row)
        slot = (slot + 1) & wrap
    if n == len(rows):
        return -1
    rows[n, 0], rows[n, 1], rows[n, 2] = first, second, third
    slots[slot] = n
    return n


@kernel
def enter_all(rows: Int32Array, slots: Int32Array, n: int) -> None:
    """Clear the table, then insert the first ``n`` rows."""
    for slot in range(len(slots)):
        slots[slot] = -1
    for k in range(n):
        _enter(rows[k, 0], rows[k, 1], rows[k, 2], rows, slots, k)


@kernel
def _stay(frames: Int32Array, depth: int, i: int) -> None:
    """Visit node ``i`` once more."""
    if frames[depth, _ROW] >= 0:
        frames[depth, _CURSOR] -= 1
    else:
        frames[depth, _CURSOR] = i


@inlined
def _read(
    b: int, entry: int, i: int, control: int, node: int, needed: int, allowed: int, is_recording: bool, rows: Int32Array,
    info: Int32Array, actions: Int32Array, results: Int32Array, keys: Int64Array, values: Int32Array, guards: UInt64Array,
    allows: UInt64Array, cell_allow: Int32Array, nodes: Int32Array, pushed: Int32Array, pushed_slots: Int32Array, escapes: Int32Array,
    out: Int64Array,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """Read a byte, and return (status, control, node, needed, allowed). The rest is valid only if the status is DONE.

    ``entry``: that of the control for the byte ``b``. ``i``: the trie node, for escapes. ``is_recording``: whether ends are requested.
    """
    # Every pass of the loop is one action.
    while True:
        is_again = False
        if entry >= 0:
            if info[control, COUNTS] == 1:
                if allowed == 0:
                    return _DIED, control, node, needed, allowed
                allowed -= 1
                if needed > 0:
                    needed -= 1
            if allowed < info[entry, NEEDS]:
                return _DIED, control, node, needed, allowed
        elif entry == UNKNOWN:
            out[1], out[2] = control, b
            return MISSING_ENTRY, control, node, needed, allowed
        elif entry == DEAD:
            return _DIED, control, node, needed, allowed
        else:
            taken: int = ACTION - entry
            while needed > actions[taken, 3]:
                taken = actions[taken, 4]
                if taken < 0:
                    return _DIED, control, node, needed, allowed
            entry = ACTION - taken
            is_again = actions[taken, 1] != 0
        while entry <= ACTION:
            action: int = ACTION - entry
            result: int = actions[action, 0]
            if result < 0:
                if node == NOWHERE:
                    k = out[3]
                    escapes[k, 0], escapes[k, 1] = action, i
                    escapes[k, 2], escapes[k, 3] = UNLIMITED - allowed, is_again
                    out[3] = k + 1
                    return _DIED, control, node, needed, allowed
                cell = top_cell(node, nodes, pushed)
                label: int = actions[action, 2]
                if label >= 0:
                    allow: int = cell_allow[cell]
                    if allow == PENDING:
                        out[1] = cell
                        return MISSING_LABELS, control, node, needed, allowed
                    if allow >= 0 and not (allows[allow + (label >> 6)] >> np.uint64(label & 63)) & np.uint64(1):
                        return _DIED, control, node, needed, allowed
                result = reaction(action, cell, keys, values)
                if result >= DEPENDS_ON_BYTES:
                    result = DEFERRED if is_recording else result - DEPENDS_ON_BYTES
                if result == UNKNOWN:
                    out[1], out[2] = action, cell
                    return MISSING_REACTION, control, node, needed, allowed
                if result == DEFERRED:
                    escapes[out[3], 0], escapes[out[3], 1] = action, i
                    out[3] += 1
                if result < 0:
                    return _DIED, control, node, needed, allowed
            node = popped(node, results[result, 0], nodes, pushed)
            if results[result, 1] >= 0:
                above = 1 + _depth_of(node, nodes, pushed)
                push = _enter(results[result, 1], node, above, pushed, pushed_slots, out[6])
                if push < 0:
                    return MISSING_ROOM, control, node, needed, allowed
                out[6] = max(out[6], push + 1)
                node = SCRATCH + push
            entry = results[result, 2]
            needed, allowed = results[result, 3], results[result, 4]
            if allowed <= PER_CELL:
                needed *= _depth_of(node, nodes, pushed) + allowed - PER_CELL
                allowed = needed
        control = entry
        if info[control, GUARD] >= 0:
            allow = out[5]
            if node != NOWHERE:
                cell = top_cell(node, nodes, pushed)
                allow = cell_allow[cell]
                if allow == PENDING:
                    out[1] = cell
                    return MISSING_LABELS, control, node, needed, allowed
            if not is_open(control, allow, info, guards, allows):
                return _DIED, control, node, needed, allowed
        if not is_again:
            return DONE, control, node, needed, allowed
        entry = rows[control, b]


@kernel
def read(
    token: int, data: UInt8Array, offsets: Int64Array, control: int, node: int, needed: int, allowed: int, rows: Int32Array,
    info: Int32Array, actions: Int32Array, results: Int32Array, keys: Int64Array, values: Int32Array, guards: UInt64Array,
    allows: UInt64Array, cell_allow: Int32Array, nodes: Int32Array, pushed: Int32Array, pushed_slots: Int32Array, escapes: Int32Array,
    out: Int64Array,
) -> int:  # fmt: skip
    """Read the bytes of a token, where the tables have all that this needs and no reaction depends on the bytes read.

    ``data[offsets[token]:offsets[token + 1]]`` are the bytes; ``escapes`` has room for one; the rest is as for `walk`.

    Returns
    -------
    int
        ``stack << 32 | control``, with HAS_REGISTERS if these are in ``out[1]`` and ``out[2]``; or NOT_READ.
    """
    out[6] = 0
    pushed_slots[:] = -1
    for place in range(offsets[token], offsets[token + 1]):
        b = data[place]
        status, control, node, needed, allowed = _read(
            b, rows[control, b], 0, control, node, needed, allowed, True, rows, info, actions, results, keys, values, guards, allows,
            cell_allow, nodes, pushed, pushed_slots, escapes, out,
        )  # fmt: skip
        if status != DONE:
            return NOT_READ
        # What has no maximum is not counted. Maxima end well below BEYOND.
        if allowed == UNLIMITED - 1 or allowed == BEYOND - 1:
            allowed += 1
    found = int(np.int64(node) << 32 | control)
    if needed == 0 and allowed == UNLIMITED:
        return found
    out[1], out[2] = needed, allowed
    return found | HAS_REGISTERS


@kernel
def _loops_below(
    i: int, control: int, room: int, is_exact: bool, below: UInt64Array, chars: Int32Array, deepest: Int32Array, rows: Int32Array,
    info: Int32Array, loops: UInt64Array,
) -> bool:  # fmt: skip
    """Return whether all tokens below a node lead a control to itself, and do not read more than ``room`` code points if it counts them.

    ``is_exact``: they must also end in the control itself, not within a character, with its registers as they are.
    """
    if len(below) == 0 or info[control, LIVE] <= MANY:
        return False
    if info[control, COUNTS] == 1 and (is_exact or deepest[i] - chars[i] > room):
        return False
    if is_exact and below[i, 0] & np.uint64(BEYOND_ASCII):
        return False
    return bool(stays(i, control, info[control, GUARD], below, rows, info, loops))


@kernel
def walk(
    byte: UInt8Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    child: Int32Array,
    below_nodes: UInt64Array,
    chars: Int32Array,
    deepest: Int32Array,
    token_chars: Int32Array,
    rows: Int32Array,
    info: Int32Array,
    live: UInt8Array,
    actions: Int32Array,
    results: Int32Array,
    keys: Int64Array,
    values: Int32Array,
    guards: UInt64Array,
    allows: UInt64Array,
    cell_allow: Int32Array,
    nodes: Int32Array,
    frames: Int32Array,
    loops: UInt64Array,
    pushed: Int32Array,
    pushed_slots: Int32Array,
    mask: Int32Array,
    count: Int32Array,
    escapes: Int32Array,
    ends: Int32Array,
    classes: Int32Array,
    class_slots: Int32Array,
    out: Int64Array,
) -> int:
    """Set the bits of all allowed tokens; return DONE, or what is missing: an entry, a reaction, room, or the labels of a cell.

    Parameters
    ----------
    byte : ndarray[uint8], shape (n_nodes,), in
        Trie: label of the edge into each node, in preorder.
    skip : ndarray[int32], shape (n_nodes,), in
        Trie: first node after each subtree.
    token_indptr, token_ids : ndarray[int32], in
        Trie: tokens that end at each node.
    child : ndarray[int32], shape (n, 256), in
        Row 0: the children of the root; row b + 1, if present: those of the root's child by byte b. -1: none.
    below_nodes : ndarray[uint64], shape (n_nodes, 2) or (0, 2), in
    chars, deepest : ndarray[int32], shape (n_nodes,) or (0,), in
        Bytes below each node, and code points, as `guided.kernels.below.bytes_below` computes them; empty: every node is visited.
    token_chars : ndarray[int32], shape (n_tokens_with_bytes,) or (0,), in
        ``chars`` of the node at which each of ``token_ids`` ends.
    rows, info, live, actions, results, keys, values, guards, allows, cell_allow : in
        Tables of the automaton.
    nodes : ndarray[int32], shape (n, 3), in
        The caller's stacks: cell, node below (-1: none), and number of cells above the lowest.
    frames : ndarray[int32], shape (max_depth + 2, 8), in and out
        Frame 0 holds control, stack, registers and base (a control whose tokens are already in ``mask``, or -1) at the start.
    loops : ndarray[uint64], shape (power of two, 3), scratch
        As `guided.kernels.below.stays` takes it.
    pushed : ndarray[int32], shape (n, 3), in and out
        Stacks of the walk, as ``nodes``.
    pushed_slots : ndarray[int32], shape (power of two, at least 2 n,), in and out
        Open addressing: numbers of ``pushed``; -1: free.
    mask : ndarray[int32], shape (words,), in and out
        Bits of tokens.
    count : ndarray[int32], shape (n_tokens,) or (0,), out
        Code points that each token reads in the string where the walk began, plus those that the string needs after it; not written if
        empty.
    escapes : ndarray[int32], shape (n, 4), out
        If the stack is NOWHERE, for each action that needs a cell: action, trie node, code points read, and whether the byte
        is read again. Otherwise, for each deferred reaction, or text-dependent one if ends are requested: action and trie node.
    ends : ndarray[int32], shape (n_tokens,) or (0,), in and out
        Class of each allowed token; not written for others, nor for the base's tokens, nor if empty.
    classes : ndarray[int32], shape (n, 3), in and out
        Control, stack and code points needed of each class.
    class_slots : ndarray[int32], shape (power of two, at least 2 n,), in and out
        As ``pushed_slots``.
    out : ndarray[int64], shape (10,), in and out
        [0] depth at which to resume (-1: begin), [1] and [2] what is missing, [3] number of escapes (in and out), [4] nodes visited,
        [5] offset of the allowed labels if the stack is NOWHERE (-1: all), [6] and [7] numbers of ``pushed`` and ``classes``
        (in and out), [8] number of the first class in ``ends``, [9] maximum of what ``count`` would say (in and out).

    Notes
    -----
    Invariant: frame d holds the state after d bytes of the trie's path, and ``_CURSOR`` is the next child to visit (a node, or a
    position in the control's live bytes).
    O(live prefixes of tokens x their children, without those below a loop, and tokens).
    """
    loops[:, 0] = 0
    depth: int = out[0]
    if depth < 0:
        depth = 0
        frames[0, _CURSOR], frames[0, _END] = 0, len(byte)
        frames[0, _ROW] = 0 if info[frames[0, _CONTROL], LIVE] <= MANY and frames[0, _BASE] < 0 else -1
    while depth >= 0:
        control = frames[depth, _CONTROL]
        if frames[depth, _ROW] >= 0:
            position = frames[depth, _CURSOR]
            if position >= info[control, LIVE]:
                depth -= 1
                continue
            frames[depth, _CURSOR] = position + 1
            i = child[frames[depth, _ROW], live[control, position]]
            if i < 0:
                continue
        else:
            i = frames[depth, _CURSOR]
            if i >= frames[depth, _END]:
                depth -= 1
                continue
            frames[depth, _CURSOR] = skip[i]
        b = byte[i]
        out[4] += 1
        node, needed, allowed = frames[depth, _NODE], frames[depth, _NEEDED], frames[depth, _ALLOWED]
        base = frames[depth, _BASE]
        entry = rows[control, b]
        if base >= 0:
            base_entry = rows[base, b]
            if base_entry == entry and entry != UNKNOWN:
                continue
            if base_entry == UNKNOWN:
                frames[depth, _CURSOR] = i
                out[0], out[1], out[2] = depth, base, b
                return MISSING_ENTRY
            if entry < 0 or base_entry < 0:
                base = -1
                if entry != UNKNOWN:
                    remove_tokens(token_ids, token_indptr[i], token_indptr[skip[i]], mask)
            else:
                base = base_entry
        status, control, node, needed, allowed = _read(
            b, entry, i, control, node, needed, allowed, len(ends) > 0, rows, info, actions, results, keys, values, guards, allows,
            cell_allow, nodes, pushed, pushed_slots, escapes, out,
        )  # fmt: skip
        if status == _DIED:
            if base >= 0:
                remove_tokens(token_ids, token_indptr[i], token_indptr[skip[i]], mask)
            continue
        if status != DONE:
            _stay(frames, depth, i)
            out[0] = depth
            return status
        # Tokens from here to `after` end in this configuration.
        after = np.int64(i + 1)
        if (
            base < 0
            and skip[i] > after
            # PERF: a call costs 30 ns for its arrays, and most controls, such as those within a key, have no loops.
            and rows[control, _LETTER] == control
            and _loops_below(
                i,
                control,
                allowed - info[control, NEEDS],
                len(ends) > 0,
                below_nodes,
                chars,
                deepest,
                rows,
                info,
                loops,
            )
        ):
            after = np.int64(skip[i])
        if len(ends) and token_indptr[i] < token_indptr[after]:
            found = _enter(control, node, needed, classes, class_slots, out[7])
            if found < 0:
                _stay(frames, depth, i)
                out[0] = depth
                return MISSING_ROOM
            out[7] = max(out[7], found + 1)
            for k in range(token_indptr[i], token_indptr[after]):
                ends[token_ids[k]] = out[8] + found
        add_tokens(token_ids, token_indptr[i], token_indptr[after], mask)
        most = UNLIMITED - allowed + info[control, NEEDS]
        is_counting = after > i + 1 and info[control, COUNTS] == 1
        if len(count):
            before = most - (chars[i] if is_counting else 0)
            for k in range(token_indptr[i], token_indptr[after]):
                count[token_ids[k]] = before + (token_chars[k] if is_counting else 0)
        if token_indptr[i] < token_indptr[after] and len(ends) == 0:
            out[9] = max(out[9], most + (deepest[i] - chars[i] if is_counting else 0))
        if skip[i] > after:
            deeper = depth + 1
            frames[deeper, _CONTROL], frames[deeper, _NODE] = control, node
            frames[deeper, _NEEDED], frames[deeper, _ALLOWED] = needed, allowed
            frames[deeper, _BASE] = base
            frames[deeper, _CURSOR], frames[deeper, _END], frames[deeper, _ROW] = i + 1, skip[i], -1
            if depth == 0 and base < 0 and len(child) > 1 and info[control, LIVE] <= MANY:
                frames[deeper, _CURSOR], frames[deeper, _ROW] = 0, int(b) + 1
            depth += 1
    return DONE
