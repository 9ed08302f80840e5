"""From token functions to rows per state: grouping, transposing, interning, and filling masks."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = ["fill_mask", "fill_mask_by_rows", "group_tokens", "intern_rows", "token_distances", "transpose"]


@kernel
def group_tokens(
    node_function: Int32Array,
    token_node: Int32Array,
    number: Int32Array,
    token_function: Int32Array,
    indptr: Int64Array,
    tokens: Int32Array,
) -> int:
    """Number the functions that tokens use, in order of first use, and group tokens by function.

    ==============  =====  ==============  ============================================================
    argument        dtype  shape           meaning
    ==============  =====  ==============  ============================================================
    node_function   int32  (n_nodes,)      function of each trie node, -1 where none
    token_node      int32  (n_tokens,)     node of each token, -1 for no bytes
    number          int32  (n_functions,)  in: -1 throughout; out: new number of each function, -1 unused
    token_function  int32  (n_tokens,)     out: new number, -1 where none
    indptr          int64  (n_functions+1) out: zeros on entry; CSR by new number
    tokens          int32  (n_tokens,)     out: ids by function, ascending
    ==============  =====  ==============  ============================================================

    Returns the number of functions used. A counting sort: O(n_tokens + n_functions).
    PERF: tokens with a function are first put together without a branch, which half of the tokens would mispredict where half
    have one, and by unsigned indices (1.03 ms becomes 0.32 for an address over 128k tokens).
    """
    found = np.empty(len(token_node) + 1, np.uint32)
    count = np.uint64(0)
    for t in range(np.uint64(len(token_node))):
        node = token_node[t]
        f = node_function[np.uint32(node)] if node >= 0 else np.int32(-1)
        token_function[t] = f
        found[count] = t
        count += np.uint64(f >= 0)
    used = 0
    for j in range(count):
        t = found[j]
        f = np.uint32(token_function[t])
        if number[f] < 0:
            number[f] = used
            used += 1
        g = number[f]
        token_function[t] = g
        indptr[np.uint32(g)] += 1
    total = 0
    for g in range(used):
        size = indptr[g]
        indptr[g] = total
        total += size
    indptr[used] = total
    for j in range(count):
        t = found[j]
        g = np.uint32(token_function[t])
        tokens[np.uint64(indptr[g])] = t
        indptr[g] += 1
    # Invariant: each indptr[g] has come up to the start of the next group.
    for g in range(used, 0, -1):
        indptr[g] = indptr[g - 1]
    indptr[0] = 0
    return used


@kernel
def transpose(
    ptr: Int64Array,
    src: Int32Array,
    dst: Int32Array,
    number: Int32Array,
    live: BoolArray,
    indptr: Int64Array,
    functions: Int32Array,
    targets: Int32Array,
) -> int:
    """Pairs by function -> pairs by state, functions ascending within a state; pairs into dead states are left out.

    ==========  =====  ===============  ==================================================================
    argument    dtype  shape            meaning
    ==========  =====  ===============  ==================================================================
    ptr         int64  (n + 1,)         pairs of each function of the walk
    src, dst    int32  (n_pairs,)
    number      int32  (n,)             new number of each function, -1 for those that no token uses
    live        bool   (n_states,)      states from which acceptance is in reach
    indptr      int64  (n_states + 1,)  out: zeros on entry
    functions   int32  (n_pairs,)       out
    targets     int32  (n_pairs,)       out
    ==========  =====  ===============  ==================================================================

    Returns the number of pairs kept. ``number`` need not ascend: rows are filled by ascending new number. O(n_pairs + n).
    """
    n = len(number)
    by_number = np.full(n, -1, np.int32)
    for f in range(n):
        if number[f] >= 0:
            by_number[number[f]] = f
    for f in range(n):
        if number[f] >= 0:
            for k in range(ptr[f], ptr[f + 1]):
                if live[dst[k]]:
                    indptr[src[k] + 1] += 1
    n_states = len(indptr) - 1
    for s in range(n_states):
        indptr[s + 1] += indptr[s]
    total = indptr[n_states]
    for g in range(n - 1, -1, -1):
        f = by_number[g]
        if f >= 0:
            for k in range(ptr[f], ptr[f + 1]):
                if live[dst[k]]:
                    s = src[k]
                    indptr[s + 1] -= 1
                    functions[indptr[s + 1]] = g
                    targets[indptr[s + 1]] = dst[k]
    for s in range(n_states):
        indptr[s] = indptr[s + 1]
    indptr[n_states] = total
    return int(total)


@kernel
def token_distances(
    accepting: BoolArray,
    ptr: Int64Array,
    src: Int32Array,
    dst: Int32Array,
    number: Int32Array,
    distance: Int32Array,
    indptr: Int64Array,
    sources: Int32Array,
    queue: Int32Array,
) -> int:
    """Least number of tokens from each state to an accepting one, by breadth-first search backwards.

    ===============  =====  ===============  =====================================================
    argument         dtype  shape            meaning
    ===============  =====  ===============  =====================================================
    accepting        bool   (n_states,)
    ptr, src, dst    int64,                  pairs by function
                     int32
    number           int32  (n,)             -1 for functions that no token uses
    distance         int32  (n_states,)      out: -1 where acceptance is out of reach
    indptr           int64  (n_states + 1,)  scratch, zeros
    sources          int32  (n_pairs,)       scratch
    queue            int32  (n_states,)      scratch
    ===============  =====  ===============  =====================================================

    Returns the number of states that reach acceptance. O(n_pairs).
    """
    n_states = len(accepting)
    for f in range(len(number)):
        if number[f] >= 0:
            for k in range(ptr[f], ptr[f + 1]):
                indptr[dst[k] + 1] += 1
    for s in range(n_states):
        indptr[s + 1] += indptr[s]
    total = indptr[n_states]
    for f in range(len(number)):
        if number[f] >= 0:
            for k in range(ptr[f], ptr[f + 1]):
                t = dst[k]
                indptr[t + 1] -= 1
                sources[indptr[t + 1]] = src[k]
    for s in range(n_states):
        indptr[s] = indptr[s + 1]
    indptr[n_states] = total
    tail = 0
    for s in range(n_states):
        distance[s] = -1
        if accepting[s]:
            distance[s] = 0
            queue[tail] = s
            tail += 1
    i = 0
    while i < tail:
        t = queue[i]
        i += 1
        for k in range(indptr[t], indptr[t + 1]):
            s = sources[k]
            if distance[s] < 0:
                distance[s] = distance[t] + 1
                queue[tail] = s
                tail += 1
    return tail


@kernel
def intern_rows(
    indptr: Int64Array,
    functions: Int32Array,
    accepting: BoolArray,
    row_of: Int32Array,
    first: Int32Array,
    hashes: UInt64Array,
    slots: Int32Array,
) -> int:
    """Give states with the same set of functions and the same finality the same row number.

    ==========  ======  ===============  ======================================================
    argument    dtype   shape            meaning
    ==========  ======  ===============  ======================================================
    indptr      int64   (n + 1,)         functions of each state, ascending
    functions   int32   (n_pairs,)
    accepting   bool    (n,)
    row_of      int32   (n,)             out
    first       int32   (n,)             out: the first state of each row number
    hashes      uint64  (n,)             scratch
    slots       int32   (2^p > 2 n,)     open addressing table, -1 throughout on entry
    ==========  ======  ===============  ======================================================

    Returns the number of distinct rows. O(n_pairs) expected.
    """
    count = 0
    wrap = np.int64(len(slots) - 1)
    for s in range(len(accepting)):
        h = np.uint64(1469598103934665603) ^ np.uint64(accepting[s])
        for k in range(indptr[s], indptr[s + 1]):
            h = (h ^ np.uint64(functions[k])) * np.uint64(1099511628211)
        h ^= h >> np.uint64(29)
        slot = np.int64(h & np.uint64(0x7FFFFFFFFFFFFFFF)) & wrap
        found = -1
        size = indptr[s + 1] - indptr[s]
        while slots[slot] >= 0:
            x = slots[slot]
            r = first[x]
            if hashes[x] == h and indptr[r + 1] - indptr[r] == size and accepting[r] == accepting[s]:
                same = True
                for k in range(size):
                    if functions[indptr[r] + k] != functions[indptr[s] + k]:
                        same = False
                        break
                if same:
                    found = x
                    break
            slot = (slot + 1) & wrap
        if found < 0:
            slots[slot] = count
            hashes[count] = h
            first[count] = s
            found = count
            count += 1
        row_of[s] = found
    return count


@kernel
def fill_mask(functions: Int32Array, indptr: Int64Array, tokens: Int32Array, words: Int32Array) -> None:
    """Set the bits of all tokens of some functions: bit ``t & 31`` of ``words[t >> 5]``.

    ==========  =====  =========  ====================================
    argument    dtype  shape      meaning
    ==========  =====  =========  ====================================
    functions   int32  (any,)     functions whose tokens are allowed
    indptr      int64  CSR        tokens by function
    tokens      int32
    words       int32  (n_words)  in and out
    ==========  =====  =========  ====================================

    O(tokens set).
    """
    for i in range(len(functions)):
        f = functions[i]
        for k in range(indptr[f], indptr[f + 1]):
            t = tokens[k]
            words[t >> 5] |= np.int32(1) << np.int32(t & 31)


@kernel
def fill_mask_by_rows(
    functions: Int32Array,
    indptr: Int64Array,
    tokens: Int32Array,
    row_of: Int32Array,
    rows: Int32Array,
    words: Int32Array,
) -> None:
    """`fill_mask`, with the bits of functions that have many tokens taken from rows that were filled before.

    =================  =====  =================  ============================================
    argument           dtype  shape              meaning
    =================  =====  =================  ============================================
    functions, indptr,                           as for `fill_mask`
    tokens
    row_of             int32  (n_functions,)     row of each function, -1 for none
    rows               int32  (n_rows, n_words)  masks of single functions
    words              int32  (n_words,)         in and out
    =================  =====  =================  ============================================

    O(tokens set one by one + words for each row).
    """
    for i in range(len(functions)):
        f = functions[i]
        if row_of[f] >= 0:
            row = rows[row_of[f]]
            for w in range(len(words)):
                words[w] |= row[w]
        else:
            for k in range(np.uint64(indptr[f]), np.uint64(indptr[f + 1])):
                t = np.uint32(tokens[k])
                words[t >> np.uint32(5)] |= np.int32(1) << np.int32(t & np.uint32(31))
