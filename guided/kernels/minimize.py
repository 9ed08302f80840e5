"""Minimal automata: inverse edges, distances to acceptance, Hopcroft's partition refinement, canonical order, equal columns."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import PRIME
from guided.kernels.jit import kernel

__all__ = ["breadth_first", "distances", "equal_columns", "invert", "refine", "renumber"]


@kernel
def invert(table: Int32Array, indptr: Int32Array, source: Int32Array) -> None:
    """Compute the inverse edges of a table, as a CSR by (target, class).

    ========  =====  ============  ==========================================================
    argument  dtype  shape         meaning
    ========  =====  ============  ==========================================================
    table     int32  (n, k)        next state by class, negative for none
    indptr    int32  (n k + 1,)    out; zeros on entry
    source    int32  (n_edges,)    out: sources of the edges into (target, class), ascending
    ========  =====  ============  ==========================================================

    A counting sort: O(n k).
    """
    n, k = table.shape
    for s in range(n):
        for c in range(k):
            t = table[s, c]
            if t >= 0:
                indptr[t * k + c + 1] += 1
    for i in range(n * k):
        indptr[i + 1] += indptr[i]
    for s in range(n - 1, -1, -1):
        for c in range(k):
            t = table[s, c]
            if t >= 0:
                # Invariant: indptr[i + 1] is the end of row i's free part; filled backwards it ends up as row i's start.
                indptr[t * k + c + 1] -= 1
                source[indptr[t * k + c + 1]] = s
    for i in range(n * k):
        indptr[i] = indptr[i + 1]
    indptr[n * k] = len(source)


@kernel
def distances(
    accepting: BoolArray,
    indptr: Int32Array | Int64Array,
    source: Int32Array,
    k: int,
    distance: Int32Array,
    queue: Int32Array,
) -> int:
    """Find the least number of edges from each state to an accepting one, by backward breadth-first search.

    ==============  =====  ========  =============================================
    argument        dtype  shape     meaning
    ==============  =====  ========  =============================================
    accepting       bool   (n,)
    indptr, source  int32  CSR       inverse edges, rows (target, class); ``indptr`` may be int64
    k               int              classes
    distance        int32  (n,)      out; -1 if acceptance is unreachable
    queue           int32  (n,)      scratch
    ==============  =====  ========  =============================================

    Returns the number of states that reach acceptance. O(n + edges).
    """
    n = len(accepting)
    tail = 0
    for s in range(n):
        distance[s] = -1
        if accepting[s]:
            distance[s] = 0
            queue[tail] = s
            tail += 1
    i = 0
    while i < tail:
        t = queue[i]
        i += 1
        for e in range(indptr[t * k], indptr[t * k + k]):
            s = source[e]
            if distance[s] < 0:
                distance[s] = distance[t] + 1
                queue[tail] = s
                tail += 1
    return tail


@kernel
def refine(
    n_blocks: int,
    k: int,
    indptr: Int32Array,
    source: Int32Array,
    block_of: Int32Array,
    elements: Int32Array,
    place: Int32Array,
    begin: Int32Array,
    end: Int32Array,
    marked: Int32Array,
    work: Int32Array,
    scratch: Int32Array,
    touched: Int32Array,
) -> int:
    """Compute the coarsest refinement of a partition under which all members of a block go to the same block, by each class.

    ==============  =====  ========  ===================================================================
    argument        dtype  shape     meaning
    ==============  =====  ========  ===================================================================
    n_blocks, k     int              initial blocks, classes
    indptr, source  int32  CSR       inverse edges, rows (target, class)
    block_of        int32  (n,)      in and out: block of each state
    elements        int32  (n,)      in and out: states grouped by block
    place           int32  (n,)      in and out: inverse of ``elements``
    begin, end      int32  (n,)      in and out: slice of each block in ``elements``
    marked          int32  (n,)      scratch, zeros
    work            int32  (n,)      scratch: blocks still to be used as splitters
    scratch         int32  (n,)      scratch: members of the splitter
    touched         int32  (n,)      scratch: blocks with marked members
    ==============  =====  ========  ===================================================================

    Returns the number of blocks. Invariant: every block is stable under every splitter that is not in ``work``. The smaller half of a split
    is the new block and goes to ``work``, whether or not the old one is in it; missing edges need no sink state, because all members of a
    stable block have an edge into a splitter or none has. A block enters ``work`` once, when it is created.
    Complexity: O(k n log n). Ref: Hopcroft 1971; arrays as in Valmari and Lehtinen 2008.
    """
    for b in range(n_blocks):
        work[b] = b
    n_work = n_blocks
    while n_work > 0:
        n_work -= 1
        splitter = work[n_work]
        size = end[splitter] - begin[splitter]
        for i in range(size):
            # Why the copy: the splitter may be split by itself, and the rest of its classes must see it whole.
            scratch[i] = elements[begin[splitter] + i]
        for c in range(k):
            n_touched = 0
            for i in range(size):
                row = scratch[i] * k + c
                for e in range(indptr[row], indptr[row + 1]):
                    s = source[e]
                    b = block_of[s]
                    if marked[b] == 0:
                        touched[n_touched] = b
                        n_touched += 1
                    target = begin[b] + marked[b]
                    other = elements[target]
                    elements[place[s]], place[other] = other, place[s]
                    elements[target], place[s] = s, target
                    marked[b] += 1
            for i in range(n_touched):
                b = touched[i]
                m = marked[b]
                marked[b] = 0
                if m == end[b] - begin[b]:
                    continue
                new = n_blocks
                n_blocks += 1
                if 2 * m <= end[b] - begin[b]:
                    begin[new], end[new] = begin[b], begin[b] + m
                    begin[b] += m
                else:
                    begin[new], end[new] = begin[b] + m, end[b]
                    end[b] = begin[b] + m
                for j in range(begin[new], end[new]):
                    block_of[elements[j]] = new
                work[n_work] = new
                n_work += 1
    return n_blocks


@kernel
def breadth_first(table: Int32Array, columns: Int32Array, start: int, order: Int32Array, number: Int32Array) -> int:
    """Number the states in order of discovery, following edges by some columns in order.

    ========  =====  =======  ======================================
    argument  dtype  shape    meaning
    ========  =====  =======  ======================================
    table     int32  (n, k)   next state, negative for none
    columns   int32  (m,)     columns in the order they are taken
    start     int             first state
    order     int32  (n,)     out: states in their new order
    number    int32  (n,)     out; -1 throughout on entry
    ========  =====  =======  ======================================

    Returns the number of states reached. O(n m).
    """
    order[0] = start
    number[start] = 0
    count = 1
    i = 0
    while i < count:
        s = order[i]
        i += 1
        for c in columns:
            t = table[s, c]
            if t >= 0 and number[t] < 0:
                number[t] = count
                order[count] = t
                count += 1
    return count


@kernel
def renumber(table: Int32Array, states: Int32Array, columns: Int32Array, number: Int32Array, out: Int32Array) -> None:
    """Copy some rows and columns of a table, with states renumbered.

    ========  =====  =======  =============================================
    argument  dtype  shape    meaning
    ========  =====  =======  =============================================
    table     int32  (n, k)   next state, negative for none
    states    int32  (p,)     rows
    columns   int32  (q,)     columns
    number    int32  (n,)     new number of each state, negative for none
    out       int32  (p, q)   out: next state, -1 for none
    ========  =====  =======  =============================================

    O(p q).
    """
    for i in range(len(states)):
        s = states[i]
        for j in range(len(columns)):
            t = table[s, columns[j]]
            out[i, j] = -1 if t < 0 else max(number[t], -1)


@kernel
def equal_columns(
    table: Int32Array, order: Int32Array, first: Int32Array, merged: Int32Array, hashes: UInt64Array
) -> int:
    """Number the distinct columns of a table by their first position in an order.

    ========  ======  =======  ==============================================================================
    argument  dtype   shape    meaning
    ========  ======  =======  ==============================================================================
    table     int32   (n, k)
    order     int32   (any,)   columns to compare; one may occur more than once
    first     int32   (k,)     out: the first column of each number
    merged    int32   (k,)     -1 throughout on entry; out: number of each column that is in ``order``
    hashes    uint64  (k,)     scratch, zeros
    ========  ======  =======  ==============================================================================

    Returns the number of distinct columns. O(n k), and O(n) for each column equal to an earlier one.
    """
    n, k = table.shape
    for s in range(n):
        for c in range(k):
            hashes[c] = (hashes[c] ^ np.uint64(np.uint32(table[s, c]))) * PRIME
    count = 0
    for c in order:
        if merged[c] >= 0:
            continue
        found = -1
        for other in range(count):
            if hashes[first[other]] == hashes[c]:
                same = True
                for s in range(n):
                    if table[s, first[other]] != table[s, c]:
                        same = False
                        break
                if same:
                    found = other
                    break
        if found < 0:
            first[count] = c
            found = count
            count += 1
        merged[c] = found
    return count
