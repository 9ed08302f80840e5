"""Bytes read below each node of a token trie; they depend on the vocabulary alone.

The bytes that lead a control back to itself are stored in the same bits, so one comparison tells whether a control loops over everything
below a node, as a string does over letters. Walks take the tokens there without visiting them.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.jit import kernel
from guided.kernels.tables import COUNTS, NEEDS

__all__ = ["BEYOND_ASCII", "LOOPS", "bytes_below", "stays"]

# Characters past ASCII: first bytes, second bytes, and how many more follow. Apart where characters stand that patterns tell from others.
_LEADS: Int64Array = np.array(
    [
        (0xC2, 0xC2, 0x80, 0xBF, 0), (0xC3, 0xDF, 0x80, 0xBF, 0), (0xE0, 0xE0, 0xA0, 0xBF, 1), (0xE1, 0xE1, 0x80, 0xBF, 1),
        (0xE2, 0xE2, 0x80, 0xBF, 1), (0xE3, 0xE3, 0x80, 0xBF, 1), (0xE4, 0xEC, 0x80, 0xBF, 1), (0xED, 0xED, 0x80, 0x9F, 1),
        (0xEE, 0xEE, 0x80, 0xBF, 1), (0xEF, 0xEF, 0x80, 0xBF, 1), (0xF0, 0xF0, 0x90, 0xBF, 2), (0xF1, 0xF3, 0x80, 0xBF, 2),
        (0xF4, 0xF4, 0x80, 0x8F, 2),
    ],
    np.int64,
)  # fmt: skip
_WITHIN = 14
# Bits of the bytes before the space: tab, line feed, carriage return, and all others.
_TAB, _LINE_FEED, _RETURN, _OTHER = 15, 16, 17, 18
# The bits of all bytes that are not ASCII.
BEYOND_ASCII = (1 << _TAB) - 1
# Controls whose loops a walk keeps; a power of two.
LOOPS = 256


@kernel
def _utf8(before: int, b: int) -> int:
    """Return the UTF-8 state after a byte, 0 between characters; -1 if the byte is invalid."""
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
def _bit_before_space(b: int) -> int:
    """Return the bit of a byte less than 32."""
    return _TAB if b == 9 else _LINE_FEED if b == 10 else _RETURN if b == 13 else _OTHER


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
    """Compute the bytes read below each node of a trie. O(nodes).

    Parameters
    ----------
    byte, depth, skip : in
        The trie.
    path : ndarray[int32], shape (max_depth + 1, 2), scratch
        UTF-8 state after each byte of the path, and code points begun.
    own : ndarray[uint64], shape (n_nodes, 2), scratch
        Bytes read by each node itself, as ``below``.
    below : ndarray[uint64], shape (n_nodes, 2), out
        As bits: bytes from 32 to 127; from bit 1, characters past ASCII by the index of their first byte in `_LEADS`, and `_WITHIN` for
        their other bytes; from `_TAB`, bytes less than 32; bit 0: any byte that is not UTF-8.
    chars : ndarray[int32], shape (n_nodes,), out
        Number of code points that begin on the path to each node, including its own byte.
    deepest : ndarray[int32], shape (n_nodes,), out
        Maximum of ``chars`` at a node or below it.
    """
    path[0, 0], path[0, 1] = 0, 0
    for i in range(len(byte)):
        b, d = byte[i], depth[i]
        state = _utf8(path[d, 0], b)
        path[d + 1, 0] = max(state, 0)
        chars[i] = path[d + 1, 1] = path[d, 1] + (b < 0x80 or b >= 0xC0)
        own[i, 0], own[i, 1] = 0, 0
        if b >= 0x80 and state >= 0:
            bit = _WITHIN
            if path[d, 0] == 0:
                bit = 1
                while b > _LEADS[bit - 1, 1]:
                    bit += 1
            own[i, 0] = np.uint64(1) << np.uint64(bit)
        elif state < 0:
            own[i, 0] = np.uint64(1)
        elif b < 32:
            own[i, 0] = np.uint64(1) << np.uint64(_bit_before_space(b))
        else:
            own[i, b >> 6] = np.uint64(1) << np.uint64(b & 63)
    for i in range(len(byte) - 1, -1, -1):
        low, high, most = np.uint64(0), np.uint64(0), chars[i]
        j = i + 1
        while j < skip[i]:
            low |= below[j, 0] | own[j, 0]
            high |= below[j, 1] | own[j, 1]
            most = max(most, deepest[j])
            j = skip[j]
        below[i, 0], below[i, 1], deepest[i] = low, high, most


@kernel
def _only(control: int, first: int, last: int, rows: Int32Array) -> int:
    """Return the control that all of these bytes lead to; -1 if there is no single one."""
    if control < 0:
        return -1
    target = rows[control, first]
    for b in range(first + 1, last + 1):
        if rows[control, b] != target:
            return -1
    return int(max(target, -1))


@kernel
def _reads_characters(control: int, lead: int, rows: Int32Array, info: Int32Array) -> bool:
    """Return whether all characters of an entry of `_LEADS` lead back to a control, with no further counting."""
    first, last, low, high, more = _LEADS[lead]
    within = _only(control, first, last, rows)
    for k in range(more + 1):
        if within < 0 or info[within, COUNTS] == 1 or info[within, NEEDS] != info[control, NEEDS]:
            return False
        within = _only(within, 0x80 if k else low, 0xBF if k else high, rows)
    return bool(within == control)


@kernel
def _find_loops(control: int, allow: int, rows: Int32Array, info: Int32Array, loops: UInt64Array) -> None:
    """Find the bytes that lead from a control to itself, as bits of `bytes_below`."""
    low, high = np.uint64(15) << np.uint64(_TAB), np.uint64(0)
    for b in range(32):
        if rows[control, b] != control:
            low &= ~(np.uint64(1) << np.uint64(_bit_before_space(b)))
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
    slot = control & (len(loops) - 1)
    loops[slot, 0], loops[slot, 1], loops[slot, 2] = control + 1, low, high


@kernel
def stays(
    node: int,
    control: int,
    allow: int,
    below: UInt64Array,
    rows: Int32Array,
    info: Int32Array,
    loops: UInt64Array,
) -> bool:
    """Return whether everything below a node leads a control back to itself, tokens that end within a character apart.

    Parameters
    ----------
    node, control : int
    allow : int
        -1 if every control that this one leads to within a character may be entered; otherwise only ASCII is a loop.
    below : ndarray[uint64], shape (n_nodes, 2), in
        As `bytes_below` computes it.
    rows, info : in
        Tables of the automaton.
    loops : ndarray[uint64], shape (power of two, 3), in and out
        Zeros at first. For some controls: their number plus 1, and the bytes that lead back to them.
    """
    slot = control & (len(loops) - 1)
    if loops[slot, 0] != np.uint64(control + 1):
        _find_loops(control, allow, rows, info, loops)
    return not (below[node, 0] & ~loops[slot, 1] or below[node, 1] & ~loops[slot, 2])
