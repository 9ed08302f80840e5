"""Subset construction over character classes (Rabin and Scott 1959), resumable when a buffer fills up."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import row_slot
from guided.kernels.jit import kernel

__all__ = ["DONE", "MORE_BUCKETS", "MORE_MEMBERS", "MORE_STATES", "STEPS_SPENT", "determinize"]

DONE, MORE_STATES, MORE_MEMBERS, MORE_BUCKETS, STEPS_SPENT = 0, 1, 2, 3, 4


@kernel
def _hashed(s: int) -> np.uint64:
    x = np.uint64(s) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(32))


@kernel
def _close(
    k: int,
    bucket_next: Int32Array,
    bucket_target: Int32Array,
    empty_indptr: Int32Array,
    empty_target: Int32Array,
    core: BoolArray,
    lasting: BoolArray,
    accept: int,
    stamp: Int64Array,
    mark: int,
    stack: Int32Array,
    members: Int32Array,
    places: Int32Array,
    ranks: Int32Array,
    lowest: Int32Array,
) -> tuple[int, np.uint64, int]:
    """Compute the empty-edge closure of the bucket at k, reduced to core states: (size, order-free hash, states visited).

    A closure that accepts all texts is reduced to two states that do. Of the copies of one place in a counted repeat, the one of lowest
    rank stays: it accepts what the others accept.
    """
    size = visited = 0
    found = -1
    h = np.uint64(0)
    while k >= 0:
        s = bucket_target[k]
        k = bucket_next[k]
        if stamp[s] == mark:
            continue
        stamp[s] = mark
        stack[0] = s
        top = 1
        while top > 0:
            top -= 1
            s = stack[top]
            visited += 1
            if core[s]:
                members[size] = s
                size += 1
                h += _hashed(s)
                if lasting[s] and (found < 0 or s < found):
                    found = s
            for j in range(empty_indptr[s], empty_indptr[s + 1]):
                t = empty_target[j]
                if stamp[t] != mark:
                    stamp[t] = mark
                    stack[top] = t
                    top += 1
    if found >= 0 and stamp[accept] == mark:
        members[0], members[1] = found, accept
        return 2, _hashed(found) + _hashed(accept), visited
    for row in range(places.shape[0]):
        for i in range(size):
            if places[row, members[i]] >= 0:
                lowest[places[row, members[i]]] = ranks[row, members[i]]
        for i in range(size):
            s = members[i]
            if places[row, s] >= 0 and ranks[row, s] < lowest[places[row, s]]:
                lowest[places[row, s]] = ranks[row, s]
        kept = 0
        for i in range(size):
            s = members[i]
            if places[row, s] >= 0 and ranks[row, s] > lowest[places[row, s]]:
                stamp[s] = 0
                h -= _hashed(s)
            else:
                members[kept] = s
                kept += 1
        size = kept
    return size, h, visited


@kernel
def _intern(
    size: int,
    h: np.uint64,
    stamp: Int64Array,
    mark: int,
    set_indptr: Int64Array,
    pool: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
) -> int:
    """Return the number of the subset whose members are stamped with ``mark``, or -1 - slot if it is new."""
    wrap = np.int64(len(slots) - 1)
    slot = row_slot(h, len(slots))
    while slots[slot] >= 0:
        x = slots[slot]
        if hashes[x] == h and set_indptr[x + 1] - set_indptr[x] == size:
            same = True
            for k in range(set_indptr[x], set_indptr[x + 1]):
                if stamp[pool[k]] != mark:
                    same = False
                    break
            if same:
                return int(x)
        slot = (slot + 1) & wrap
    return int(-1 - slot)


@kernel
def determinize(
    accept: int,
    empty_indptr: Int32Array,
    empty_target: Int32Array,
    edge_indptr: Int32Array,
    edge_set: Int32Array,
    edge_target: Int32Array,
    class_indptr: Int32Array,
    class_of_set: Int32Array,
    core: BoolArray,
    lasting: BoolArray,
    table: Int32Array,
    accepting: BoolArray,
    set_indptr: Int64Array,
    pool: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
    stamp: Int64Array,
    stack: Int32Array,
    members: Int32Array,
    places: Int32Array,
    ranks: Int32Array,
    lowest: Int32Array,
    head: Int32Array,
    active: Int32Array,
    bucket_next: Int32Array,
    bucket_target: Int32Array,
    cursor: Int64Array,
    max_steps: int,
) -> int:
    """Expand subset states from ``cursor`` until none is left or a buffer is too small.

    ============  =====  ==================  =====================================================================
    argument      dtype  shape               meaning
    ============  =====  ==================  =====================================================================
    accept        int                        NFA state; 0 is the start
    empty_*       int32  CSR by state        empty edges
    edge_*        int32  CSR by state        edges by sets of characters
    class_*       int32  CSR by set          classes of each set
    core          bool   (n,)                states with edges, and ``accept``: they alone identify a subset
    lasting       bool   (n,)                states that every character leads back to and to ``accept``: one and ``accept`` are all texts
    table         int32  (cap, k)            out: next subset state by class, -1 for none
    accepting     bool   (cap,)              out
    set_indptr    int64  (cap + 1,)          out: members of each subset state in ``pool``
    pool          int32  (any,)              out
    hashes        uint64 (cap,)              out
    slots         int32  (2^m > 2 cap,)      open addressing table, -1 where free
    stamp         int64  (n,)                scratch, ascending marks
    stack, members int32 (n,)                scratch
    places, ranks int32  (rows, n)           of an `NFA`; without rows, subsets are not reduced by them
    lowest        int32  (n,)                scratch
    head, active  int32  (k,)                scratch; head is -1 throughout on entry
    bucket_*      int32  (any,)              scratch: targets by class as linked lists
    cursor        int64  (5,)                in and out: states expanded, states known, steps, last mark; out: entries of buckets needed
    max_steps     int                        budget of closure visits, members and bucket entries; checked after each closure
    ============  =====  ==================  =====================================================================

    Returns DONE, or which buffer to grow before calling again, or STEPS_SPENT. An interrupted row is written again, which is
    harmless because interned subsets are found again.
    Loop invariant: rows below ``cursor[0]`` are final; ``cursor[1]`` subsets are interned.
    Complexity: O(sum over rows of edges x classes + closures). Ref: DESIGN of RE2's subset cache; order-free hashing avoids sorts.
    """
    capacity = len(accepting)
    while cursor[0] < cursor[1] or cursor[1] == 0:
        q = cursor[0]
        # The first subset is the closure of the start, made as if class 0 led to it from an empty subset.
        is_start = cursor[1] == 0
        needed = np.int64(is_start)
        for i in range(set_indptr[q], set_indptr[q + 1]):
            for e in range(edge_indptr[pool[i]], edge_indptr[pool[i] + 1]):
                needed += class_indptr[edge_set[e] + 1] - class_indptr[edge_set[e]]
        if cursor[2] + needed > max_steps:
            cursor[2] += needed
            return STEPS_SPENT
        if needed > len(bucket_next):
            cursor[4] = needed
            return MORE_BUCKETS
        cursor[2] += needed
        n_active = used = 0
        if is_start:
            bucket_next[0], bucket_target[0] = -1, 0
            head[0], active[0] = 0, 0
            n_active = used = 1
        for i in range(set_indptr[q], set_indptr[q + 1]):
            for e in range(edge_indptr[pool[i]], edge_indptr[pool[i] + 1]):
                for j in range(class_indptr[edge_set[e]], class_indptr[edge_set[e] + 1]):
                    c = class_of_set[j]
                    if head[c] < 0:
                        active[n_active] = c
                        n_active += 1
                    bucket_next[used] = head[c]
                    bucket_target[used] = edge_target[e]
                    head[c] = used
                    used += 1
        status = DONE if cursor[1] + n_active <= capacity else MORE_STATES
        if status == DONE:
            for c in range(table.shape[1]):
                table[q, c] = -1
            for j in range(n_active):
                c = active[j]
                cursor[3] += 1
                mark = cursor[3]
                size, h, visited = _close(
                    head[c],
                    bucket_next,
                    bucket_target,
                    empty_indptr,
                    empty_target,
                    core,
                    lasting,
                    accept,
                    stamp,
                    mark,
                    stack,
                    members,
                    places,
                    ranks,
                    lowest,
                )
                # What is interned is compared with what was: a step for each member.
                cursor[2] += visited + size
                if cursor[2] > max_steps:
                    status = STEPS_SPENT
                    break
                if size == 0 and not is_start:
                    continue
                x = _intern(size, h, stamp, mark, set_indptr, pool, hashes, slots)
                if x < 0:
                    new = cursor[1]
                    base = set_indptr[new]
                    if base + size > len(pool):
                        status = MORE_MEMBERS
                        break
                    slots[-1 - x], hashes[new], accepting[new] = new, h, stamp[accept] == mark
                    for i in range(size):
                        pool[base + i] = members[i]
                    set_indptr[new + 1] = base + size
                    cursor[1], x = new + 1, new
                table[q, c] = x
        for j in range(n_active):
            head[active[j]] = -1
        if status != DONE:
            return status
        cursor[0] = q + (not is_start)
    return DONE
