"""Plans: the walk of a whole token trie within one frame, on no stack.

Where a control reads again and again whatever is below a node, as a string does letters, the tokens there are taken without a walk: which
bytes are below a node is a matter of the vocabulary alone (`bytes_below`).

Tables are those of `guided.automata.pushdown` (whose constants are repeated here, since numba freezes globals).
"""

import numpy as np

from guided.arrays import Int32Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["LOOPS", "bytes_below", "walk_frame"]

_DEAD, _UNKNOWN, _ACTION = -1, -2, -16
_COUNTS, _GUARD, _WIDTH, _NEEDS = 1, 2, 3, 6
# Controls whose loops are kept; a power of two.
LOOPS = 1024
# Characters past ASCII: first bytes, second bytes, and how many more follow. Apart where characters stand that patterns tell from others.
_LEADS = np.array(
    [
        (0xC2, 0xC2, 0x80, 0xBF, 0), (0xC3, 0xDF, 0x80, 0xBF, 0), (0xE0, 0xE0, 0xA0, 0xBF, 1), (0xE1, 0xE1, 0x80, 0xBF, 1),
        (0xE2, 0xE2, 0x80, 0xBF, 1), (0xE3, 0xE3, 0x80, 0xBF, 1), (0xE4, 0xEC, 0x80, 0xBF, 1), (0xED, 0xED, 0x80, 0x9F, 1),
        (0xEE, 0xEE, 0x80, 0xBF, 1), (0xEF, 0xEF, 0x80, 0xBF, 1), (0xF0, 0xF0, 0x90, 0xBF, 2), (0xF1, 0xF3, 0x80, 0xBF, 2),
        (0xF4, 0xF4, 0x80, 0x8F, 2),
    ],
    np.int64,
)  # fmt: skip
_WITHIN = 14


@kernel
def _utf8(before: int, b: int) -> int:
    """The state of UTF-8 after a byte, 0 between characters; -1 where it is none."""
    if before == 0:
        if b < 0x80:
            return 0
        if b < 0xC2 or b > 0xF4:
            return -1
        if b < 0xE0:
            return 1
        if b < 0xF0:
            return 3 if b == 0xE0 else 4 if b == 0xED else 2
        return 6 if b == 0xF0 else 7 if b == 0xF4 else 5
    low = 0xA0 if before == 3 else 0x90 if before == 6 else 0x80
    high = 0x9F if before == 4 else 0x8F if before == 7 else 0xBF
    if b < low or b > high:
        return -1
    return 0 if before == 1 else 1 if before <= 4 else 2


@kernel
def bytes_below(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    path: Int32Array,
    own: UInt64Array,
    below: UInt64Array,
    chars: Int32Array,
    deepest: Int32Array,
) -> None:
    """What the nodes below each node of a trie read. O(nodes).

    Parameters
    ----------
    byte, depth, skip : in
        The trie.
    path : ndarray[int32], shape (max_depth + 1,), scratch
        State of UTF-8 after each byte of the path.
    own : ndarray[uint64], shape (n_nodes, 2), scratch
        What each node reads itself, as ``below``.
    below : ndarray[uint64], shape (n_nodes, 2), out
        As bits: bytes from 32 to 127; from 1 on characters past ASCII, by where their first byte is in ``_LEADS``, and `_WITHIN` the
        other bytes of these; 0: any other byte.
    chars : ndarray[int32], shape (n_nodes,), out
        Code points that begin on the path to each node, its own byte among them.
    deepest : ndarray[int32], shape (n_nodes,), out
        The most of these at a node or below it.
    """
    path[0] = 0
    for i in range(len(byte)):
        b, d = byte[i], depth[i]
        state = _utf8(path[d], b)
        path[d + 1] = max(state, 0)
        own[i, 0], own[i, 1] = 0, 0
        if b >= 0x80 and state >= 0:
            bit = _WITHIN
            if path[d] == 0:
                bit = 1
                while b > _LEADS[bit - 1, 1]:
                    bit += 1
            own[i, 0] = np.uint64(1) << np.uint64(bit)
        elif b < 32 or state < 0:
            own[i, 0] = np.uint64(1)
        else:
            own[i, b >> 6] = np.uint64(1) << np.uint64(b & 63)
    for i in range(len(byte) - 1, -1, -1):
        low = high = np.uint64(0)
        j = i + 1
        while j < skip[i]:
            low |= below[j, 0] | own[j, 0]
            high |= below[j, 1] | own[j, 1]
            j = skip[j]
        below[i, 0], below[i, 1] = low, high
    for i in range(len(byte)):
        d = depth[i]
        path[d] = (path[d - 1] if d else 0) + (1 if byte[i] < 0x80 or byte[i] >= 0xC0 else 0)
        chars[i] = path[d]
    for i in range(len(byte) - 1, -1, -1):
        most = chars[i]
        j = i + 1
        while j < skip[i]:
            most = max(most, deepest[j])
            j = skip[j]
        deepest[i] = most


@kernel
def _only(control: int, first: int, last: int, rows: Int32Array) -> int:
    """Where all of these bytes lead from a control; -1 where this is not one control."""
    if control < 0:
        return -1
    target = rows[control, first]
    for b in range(first + 1, last + 1):
        if rows[control, b] != target:
            return -1
    return int(max(target, -1))


@kernel
def _reads_characters(control: int, lead: int, rows: Int32Array, info: Int32Array) -> bool:
    """Do all characters that begin as one of ``_LEADS`` says lead back to a control, by controls that count no more?"""
    first, last, low, high, more = _LEADS[lead]
    within = _only(control, first, last, rows)
    for k in range(more + 1):
        if within < 0 or info[within, _COUNTS] == 1 or info[within, _NEEDS] != info[control, _NEEDS]:
            return False
        within = _only(within, 0x80 if k else low, 0xBF if k else high, rows)
    return bool(within == control)


@kernel
def _find_loops(control: int, allow: int, rows: Int32Array, info: Int32Array, loops: UInt64Array) -> None:
    """What leads from a control to itself, as in `bytes_below`."""
    low = high = np.uint64(0)
    for b in range(32, 128):
        if rows[control, b] == control:
            if b < 64:
                low |= np.uint64(1) << np.uint64(b)
            else:
                high |= np.uint64(1) << np.uint64(b - 64)
    if allow < 0:
        for lead in range(len(_LEADS)):
            if _reads_characters(control, lead, rows, info):
                low |= np.uint64(1) << np.uint64(lead + 1) | np.uint64(1) << np.uint64(_WITHIN)
    slot = control % LOOPS
    loops[slot, 0], loops[slot, 1], loops[slot, 2] = control + 1, low, high


@kernel
def _meets(guard: int, width: int, allow: int, guards: UInt64Array, allows: UInt64Array) -> bool:
    for k in range(width):
        if guards[guard + k] & allows[allow + k]:
            return True
    return False


@kernel
def walk_frame(
    byte: UInt8Array,
    depth: Int32Array,
    skip: Int32Array,
    token_indptr: Int32Array,
    token_ids: Int32Array,
    below: UInt64Array,
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
    """The walk from a control within its frame, on no stack: every action is an escape. The number of them, or -1: use `walk`.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids : in
        Trie, whole; ``depth`` is the offset of each node's byte.
    below, chars, deepest : ndarray[uint64], shape (n_nodes, 2), and ndarray[int32], shape (n_nodes,), in
        As of `bytes_below`.
    token_chars : ndarray[int32], shape (n_tokens_with_bytes,), in
        ``chars`` of the node at which each of ``token_ids`` ends.
    rows, info, actions, guards, allows : in
        Tables; rows that are met must be known, and actions not direct.
    allow : int
        Offset of the labels that are allowed; -1: all.
    start : int
        Control.
    path : ndarray[int32], shape (max_depth + 1, 2), scratch
        Control, and code points read, after each byte of the path.
    loops : ndarray[uint64], shape (LOOPS, 3), scratch
        Zeros at the start: of some controls, their number and 1, and the bytes that lead back to them.
    mask, count, escapes : out
        As in `guided.kernels.pushdown.walk`; without ``count``, tokens are not counted one by one.
    most : ndarray[int32], shape (1,), out
        The most code points that any token in ``mask`` reads or needs after it.

    Notes
    -----
    Invariant: before node i, ``path[depth[i]]`` holds what the bytes before it lead to.
    O(nodes at which the control changes or a byte is not read + tokens).
    """
    path[0, 0], path[0, 1] = start, 0
    n_escapes, top = 0, 0
    i = 0
    while i < len(byte):
        d = depth[i]
        control = path[d, 0]
        entry = rows[control, byte[i]]
        if entry >= 0 and allow >= 0 and info[entry, _GUARD] >= 0:
            if not _meets(info[entry, _GUARD], info[entry, _WIDTH], allow, guards, allows):
                entry = _DEAD
        if entry >= 0:
            read = path[d, 1] + (1 if info[control, _COUNTS] == 1 else 0)
            path[d + 1, 0], path[d + 1, 1] = entry, read
            for k in range(token_indptr[i], token_indptr[i + 1]):
                token = token_ids[k]
                mask[token >> 5] |= np.int32(1) << np.int32(token & 31)
                if len(count):
                    count[token] = read + info[entry, _NEEDS]
            if token_indptr[i] < token_indptr[i + 1]:
                top = max(top, read + info[entry, _NEEDS])
            i += 1
            if skip[i - 1] == i:
                continue
            slot = entry % LOOPS
            if loops[slot, 0] != np.uint64(entry + 1):
                _find_loops(entry, allow, rows, info, loops)
            if below[i - 1, 0] & ~loops[slot, 1] or below[i - 1, 1] & ~loops[slot, 2]:
                continue
            end = skip[i - 1]
            for k in range(token_indptr[i], token_indptr[end]):
                token = token_ids[k]
                mask[token >> 5] |= np.int32(1) << np.int32(token & 31)
            step = 1 if info[entry, _COUNTS] == 1 else 0
            before = read + info[entry, _NEEDS] - step * chars[i - 1]
            top = max(top, before + step * deepest[i - 1])
            if len(count):
                for k in range(token_indptr[i], token_indptr[end]):
                    count[token_ids[k]] = before + step * token_chars[k]
            i = end
            continue
        if entry != _DEAD:
            action: int = _ACTION - entry
            if entry == _UNKNOWN or actions[action, 0] >= 0:
                return -1
            escapes[n_escapes, 0], escapes[n_escapes, 1] = action, i
            escapes[n_escapes, 2], escapes[n_escapes, 3] = path[d, 1], actions[action, 1]
            n_escapes += 1
        i = skip[i]
    most[0] = top
    return n_escapes
