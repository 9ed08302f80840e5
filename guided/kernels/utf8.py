"""Edges by character classes -> edges by bytes: the decision tree of UTF-8 over a partition, and its expansion per state.

Values in the tree: a class c >= 0; -1 for invalid bytes; -2 - j for inner node j. Inner nodes have a column for each
continuation byte 0x80..0xBF; children have lower numbers than their parents.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import OFFSET, PRIME, row_slot
from guided.kernels.jit import kernel

__all__ = ["CELLS_SPENT", "DONE", "MORE_STATES", "expand", "utf8_tree"]

DONE, MORE_STATES, CELLS_SPENT = 0, 1, 2


@kernel
def _class_if_uniform(starts: Int32Array, classes: Int32Array, low: int, span: int) -> int:
    """Return the class of low..low + span - 1 if it is uniform, -1 if it is not text, -2 if it is mixed."""
    if low > 0x10FFFF:
        return -1
    # Why not np.searchsorted: numba before 0.60 makes an array for it, which a kernel without reference counts cannot.
    i, end = 0, len(starts)
    while end - i > 1:
        middle = (i + end) // 2
        if starts[middle] <= low:
            i = middle
        else:
            end = middle
    if i + 1 < len(starts) and starts[i + 1] < low + span:
        return -2
    return int(classes[i])


@kernel
def _uniform(c: int, level: int, uniform: Int32Array, tree: Int32Array, count: int) -> tuple[int, int]:
    """Return the node whose leaves, ``level`` bytes below, are all class c: (value, nodes so far)."""
    value = c
    for depth in range(level):
        if uniform[depth, c] == -1:
            for b in range(64):
                tree[count, b] = value
            uniform[depth, c] = -2 - count
            count += 1
        value = uniform[depth, c]
    return value, count


@kernel
def utf8_tree(
    starts: Int32Array,
    classes: Int32Array,
    uniform: Int32Array,
    scratch: Int32Array,
    root: Int32Array,
    tree: Int32Array,
) -> int:
    """Build the decision tree of a partition of the code points.

    ========  =====  ==================  ====================================================================
    argument  dtype  shape               meaning
    ========  =====  ==================  ====================================================================
    starts    int32  (n,)                first code points of the intervals, from 0
    classes   int32  (n,)                their classes, -1 for surrogates
    uniform   int32  (3, n_classes)      scratch, -1 throughout: nodes whose leaves are all of one class
    scratch   int32  (3, 64)             scratch
    root      int32  (256,)              out: value by first byte
    tree      int32  (cap, 64)           out: inner nodes; cap >= 6 n + 3 n_classes + 64
    ========  =====  ==================  ====================================================================

    Returns the number of inner nodes. Overlong spellings, surrogates and values above 0x10FFFF have no path (RFC 3629).
    Complexity: O(64 (n + n_classes)): only blocks that contain an interval's end get nodes of their own.
    """
    count = 0
    row1, row2, row3 = scratch[0], scratch[1], scratch[2]
    for b in range(256):
        root[b] = -1
    for b in range(0x80):
        root[b] = _class_if_uniform(starts, classes, b, 1)
    for lead in range(0xC2, 0xF5):
        if lead < 0xE0:
            levels, low, floor = 1, (lead & 0x1F) << 6, 0x80
        elif lead < 0xF0:
            levels, low, floor = 2, (lead & 0x0F) << 12, 0x800
        else:
            levels, low, floor = 3, (lead & 0x07) << 18, 0x10000
        span3 = 1 << (6 * levels)
        c = _class_if_uniform(starts, classes, low, span3)
        if low >= floor and c != -2 and low + span3 - 1 <= 0x10FFFF:
            if c >= 0:
                root[lead], count = _uniform(c, levels, uniform, tree, count)
            continue
        # Odometer over at most three levels of continuation bytes, children before parents.
        n3 = 64 if levels == 3 else 1
        any3 = False
        for i in range(n3):
            low3 = low + (i << 12) if levels == 3 else low
            span2 = 1 << (6 * min(levels, 2))
            value3 = -1
            if low3 + span2 - 1 >= floor and low3 <= 0x10FFFF:
                c = _class_if_uniform(starts, classes, low3, span2)
                if low3 >= floor and c != -2:
                    if c >= 0:
                        value3, count = _uniform(c, min(levels, 2), uniform, tree, count)
                else:
                    n2 = 64 if levels >= 2 else 1
                    any2 = False
                    for j in range(n2):
                        low2 = low3 + (j << 6) if levels >= 2 else low3
                        value2 = -1
                        if low2 >= floor:
                            c = _class_if_uniform(starts, classes, low2, 64)
                            if c >= 0:
                                value2, count = _uniform(c, 1, uniform, tree, count)
                            elif c == -2:
                                any1 = False
                                for k in range(64):
                                    row1[k] = _class_if_uniform(starts, classes, low2 + k, 1)
                                    any1 = any1 or row1[k] >= 0
                                if any1:
                                    for k in range(64):
                                        tree[count, k] = row1[k]
                                    value2 = -2 - count
                                    count += 1
                        row2[j] = value2
                        any2 = any2 or value2 != -1
                    if levels == 1:
                        value3 = row2[0]
                    elif any2:
                        for k in range(64):
                            tree[count, k] = row2[k]
                        value3 = -2 - count
                        count += 1
            row3[i] = value3
            any3 = any3 or value3 != -1
        if levels < 3:
            root[lead] = row3[0]
        elif any3:
            for k in range(64):
                tree[count, k] = row3[k]
            root[lead] = -2 - count
            count += 1
    return count


@kernel
def _same_wide_row(s: int, table: Int32Array, wide: Int32Array, row_slots: Int32Array) -> int:
    """Return an earlier state with the same targets by all classes of ``wide``, or insert s and return -1."""
    h = OFFSET
    for i in range(len(wide)):
        h = (h ^ np.uint64(table[s, wide[i]] + 2)) * PRIME
        h ^= h >> np.uint64(31)
    wrap = np.int64(len(row_slots) - 1)
    slot = row_slot(h, len(row_slots))
    while row_slots[slot] >= 0:
        x = row_slots[slot]
        same = True
        for i in range(len(wide)):
            if table[x, wide[i]] != table[s, wide[i]]:
                same = False
                break
        if same:
            return int(x)
        slot = (slot + 1) & wrap
    row_slots[slot] = s
    return -1


@kernel
def expand(
    table: Int32Array,
    wide: Int32Array,
    root: Int32Array,
    tree: Int32Array,
    out: Int32Array,
    slots: Int32Array,
    hashes: UInt64Array,
    mapped: Int32Array,
    row_slots: Int32Array,
    cursor: Int64Array,
    max_cells: int,
) -> int:
    """Expand the edges of states from ``cursor`` on into bytes; equal intermediate states are merged.

    =========  ======  ===================  ==============================================================================
    argument   dtype   shape                meaning
    =========  ======  ===================  ==============================================================================
    table      int32   (n, n_classes)       next state by class of characters
    wide       int32   (n_wide,)            classes that hold characters of more than one byte
    root       int32   (r,)                 tree value by class of first bytes
    tree       int32   (n_nodes, m)         tree value by class of continuation bytes
    out        int32   (cap, r + m)         out: rows 0..n-1 are the states of ``table``, -1 throughout on entry
    slots      int32   (2^p > 2 cap,)       open addressing table of intermediate states, -1 where free
    hashes     uint64  (cap,)               hash of each intermediate state's row
    mapped     int32   (n_nodes,)           scratch: target of each node for the current state
    row_slots  int32   (2^p > 2 n,)         open addressing table of states by their wide classes, -1 where free
    cursor     int64   (3,)                 in and out: first state not done, states so far (n at first), cells computed
    max_cells  int                          budget of cells of intermediate rows computed
    =========  ======  ===================  ==============================================================================

    Returns DONE; MORE_STATES: call again with more room; or CELLS_SPENT.
    Invariant: intermediate states are interned by their rows, so they are distinct languages if the states of ``table`` are.
    Complexity: O(n (r + n_wide)), and O(n_nodes m) for each distinct row over the wide classes.
    """
    n, r = table.shape[0], len(root)
    n_nodes, m = tree.shape
    wrap = np.int64(len(slots) - 1)
    count = cursor[1]
    for s in range(cursor[0], n):
        cursor[0], cursor[1] = s, count
        if count + n_nodes > len(out):
            return MORE_STATES
        live = False
        for i in range(len(wide)):
            if table[s, wide[i]] >= 0:
                live = True
                break
        twin = _same_wide_row(s, table, wide, row_slots) if live else -1
        if live and twin < 0:
            cursor[2] += n_nodes * m
            if cursor[2] > max_cells:
                return CELLS_SPENT
            for j in range(n_nodes):
                mapped[j] = -1
                h = OFFSET
                some = False
                for c in range(m):
                    v = tree[j, c]
                    t = -1
                    if v >= 0:
                        t = table[s, v]
                    elif v < -1:
                        t = mapped[-2 - v]
                    out[count, r + c] = t
                    some = some or t >= 0
                    h = (h ^ np.uint64(t + 2)) * PRIME
                    h ^= h >> np.uint64(31)
                if not some:
                    continue
                slot = row_slot(h, len(slots))
                found = -1
                while slots[slot] >= 0:
                    x = slots[slot]
                    if hashes[x] == h:
                        same = True
                        for c in range(m):
                            if out[x, r + c] != out[count, r + c]:
                                same = False
                                break
                        if same:
                            found = x
                            break
                    slot = (slot + 1) & wrap
                if found < 0:
                    slots[slot] = count
                    hashes[count] = h
                    for c in range(r):
                        out[count, c] = -1
                    found = count
                    count += 1
                mapped[j] = found
        for c in range(r):
            v = root[c]
            if v >= 0:
                out[s, c] = table[s, v]
            elif v < -1 and twin >= 0:
                out[s, c] = out[twin, c]
            elif v < -1 and live:
                out[s, c] = mapped[-2 - v]
    cursor[0], cursor[1] = n, count
    return DONE
