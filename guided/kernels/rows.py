"""From token functions to rows per state: numbering, grouping, transposing, interning, and filling masks."""

import numpy as np

from guided.arrays import BoolArray, Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import OFFSET, PRIME, row_slot
from guided.kernels.jit import kernel
from guided.kernels.masks import add_tokens
from guided.kernels.minimize import distances

__all__ = [
    "fill_mask",
    "intern_rows",
    "list_tokens",
    "number_functions",
    "spread_tokens",
    "token_distances",
    "transpose",
]

_QUARTER, _ONE = np.uint64(3), np.uint32(1)
_WORD, _BIT = np.uint32(5), np.uint32(31)
# The exponent of a power of two, by the highest five bits of its product with a de Bruijn sequence.
_DE_BRUIJN = np.uint32(0x077CB531)
_EXPONENT = np.zeros(32, np.uint32)
_EXPONENT[[(0x077CB531 << bit & 0xFFFFFFFF) >> 27 for bit in range(32)]] = range(32)


@kernel
def number_functions(
    node_function: Int32Array,
    ends: Int32Array,
    begin: Int32Array,
    end: Int32Array,
    large: int,
    counts: Int64Array,
    number: Int32Array,
    size: Int32Array,
    indptr: Int64Array,
    row_of: Int32Array,
) -> int:
    """Number the functions used by tokens, ascending, and count their tokens.

    =============  =====  =====================  ===================================================================
    argument       dtype  shape                  meaning
    =============  =====  =====================  ===================================================================
    node_function  int32  (n_nodes,)             function of each trie node, -1 for none
    ends           int32  (n_places,)            node of each token, by the token's place in the trie's order
    begin, end     int32  (n_ranges,)            ranges of places to read; tokens elsewhere have no function
    large          int                           number of tokens from which a function has a row
    counts         int64  (4, n_functions + 1)   scratch, zeros
    number         int32  (n_functions + 1,)     out: new number of function f at f + 1, -1 if no token has it; -1 at 0
    size           int32  (n_functions,)         out: tokens of each function, by new number
    indptr         int64  (n_functions + 1,)     zeros on entry; out: CSR of the tokens without a row, by new number
    row_of         int32  (n_functions + 1,)     out: row of new number g at g + 1: 1 without one, else from 2; 0 at 0
    =============  =====  =====================  ===================================================================

    Returns the number of functions used. O(places + n_functions).
    PERF: four counters in turn, because most tokens share a function, and an increment waits for the one before it.
    """
    for r in range(len(begin)):
        for p in range(np.uint64(begin[r]), np.uint64(end[r])):
            counts[p & _QUARTER, np.uint32(node_function[np.uint32(ends[p])] + 1)] += 1
    number[0], row_of[0] = -1, 0
    used, next_row = 0, 2
    for f in range(1, len(number)):
        count = counts[0, f] + counts[1, f] + counts[2, f] + counts[3, f]
        number[f] = -1
        if count > 0:
            number[f], size[used] = used, count
            used += 1
            indptr[used], row_of[used] = indptr[used - 1] + count, 1
            if count >= large:
                indptr[used], row_of[used] = indptr[used - 1], next_row
                next_row += 1
    return used


@kernel
def spread_tokens(
    node_function: Int32Array,
    ends: Int32Array,
    begin: Int32Array,
    end: Int32Array,
    token_ids: Int32Array,
    number: Int32Array,
    row_of: Int32Array,
    token_function: Int32Array,
    rows: Int32Array,
) -> None:
    """Write the function of each token by its id, and the masks of functions.

    ==============  =====  ==================  ====================================================
    argument        dtype  shape               meaning
    ==============  =====  ==================  ====================================================
    node_function,                             as for `number_functions`
    ends, begin,
    end
    token_ids       int32  (n_places,)         token at each place
    number, row_of  int32                      as `number_functions` leaves them
    token_function  int32  (n_tokens,)         -1 throughout on entry; out: new number
    rows            int32  (n_rows, n_words)   zeros on entry; out: the tokens of each row
    ==============  =====  ==================  ====================================================

    O(places). PERF: tokens without a function are written too, to row 0, because a branch would be mispredicted.
    """
    for r in range(len(begin)):
        for p in range(np.uint64(begin[r]), np.uint64(end[r])):
            t = np.uint32(token_ids[p])
            g = number[np.uint32(node_function[np.uint32(ends[p])] + 1)]
            token_function[t] = g
            rows[np.uint32(row_of[np.uint32(g + 1)]), t >> _WORD] |= np.int32(1) << np.int32(t & _BIT)


@kernel
def list_tokens(rows: Int32Array, token_function: Int32Array, places: Int64Array, tokens: Int32Array) -> None:
    """List the tokens of functions without a row, by function, ascending.

    ==============  =====  =================  ==================================
    argument        dtype  shape              meaning
    ==============  =====  =================  ==================================
    rows            int32  (n_rows, n_words)  as `spread_tokens` leaves them
    token_function  int32  (n_tokens,)
    places          int64  (n_functions,)     first place in ``tokens`` of each function on entry, the next one on exit
    tokens          int32  (n_listed,)        out
    ==============  =====  =================  ==================================

    O(n_words + n_listed): row 1 has the bits of exactly these tokens, and yields them in order without a sort.
    """
    for w in range(rows.shape[1]):
        word = np.uint32(rows[1, w])
        while word != 0:
            t = np.uint32(w) << _WORD
            low = word & (~word + _ONE)
            t |= _EXPONENT[np.uint32(low * _DE_BRUIJN) >> np.uint32(27)]
            g = np.uint32(token_function[t])
            tokens[np.uint64(places[g])] = t
            places[g] += 1
            word ^= low


@kernel
def transpose(
    ptr: Int64Array,
    src: Int32Array,
    dst: Int32Array,
    number: Int32Array,
    live: BoolArray,
    by_number: Int32Array,
    indptr: Int64Array,
    functions: Int32Array,
    targets: Int32Array,
) -> int:
    """Pairs by function -> pairs by state, functions ascending within a state; pairs into dead states are dropped.

    ==========  =====  ===============  ==================================================================
    argument    dtype  shape            meaning
    ==========  =====  ===============  ==================================================================
    ptr         int64  (n + 1,)         pairs of each function of the walk
    src, dst    int32  (n_pairs,)
    number      int32  (n,)             new number of each function, -1 for those that no token uses
    live        bool   (n_states,)      states from which acceptance is reachable
    by_number   int32  (n,)             scratch: -1 on entry
    indptr      int64  (n_states + 1,)  out: zeros on entry
    functions   int32  (n_pairs,)       out
    targets     int32  (n_pairs,)       out
    ==========  =====  ===============  ==================================================================

    Returns the number of pairs kept. ``number`` need not ascend: rows are filled by ascending new number. O(n_pairs + n).
    """
    n = len(number)
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
    """Find the least number of tokens from each state to an accepting one, by backward breadth-first search.

    ===============  =====  ===============  =====================================================
    argument         dtype  shape            meaning
    ===============  =====  ===============  =====================================================
    accepting        bool   (n_states,)
    ptr, src, dst    int64,                  pairs by function
                     int32
    number           int32  (n,)             -1 for functions that no token uses
    distance         int32  (n_states,)      out: -1 if acceptance is unreachable
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
    return distances(accepting, indptr, sources, 1, distance, queue)


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
    """Give states with equal functions and finality the same row number.

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
        h = OFFSET ^ np.uint64(accepting[s])
        for k in range(indptr[s], indptr[s + 1]):
            h = (h ^ np.uint64(functions[k])) * PRIME
        h ^= h >> np.uint64(29)
        slot = row_slot(h, len(slots))
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
def fill_mask(
    functions: Int32Array,
    indptr: Int64Array,
    tokens: Int32Array,
    row_of: Int32Array,
    rows: Int32Array,
    words: Int32Array,
) -> None:
    """Set the bits of all tokens of some functions: bit ``t & 31`` of ``words[t >> 5]``.

    ==========  =====  =================  ==========================================================
    argument    dtype  shape              meaning
    ==========  =====  =================  ==========================================================
    functions   int32  (any,)             functions whose tokens are allowed
    indptr      int64  CSR                tokens of functions without a row
    tokens      int32
    row_of      int32  (n_functions,)     row of each function; 1 for none
    rows        int32  (n_rows, n_words)  masks of single functions
    words       int32  (n_words,)         in and out
    ==========  =====  =================  ==========================================================

    O(tokens set one by one + words for each row).
    """
    for i in range(len(functions)):
        f = functions[i]
        if row_of[f] > 1:
            row = rows[row_of[f]]
            for w in range(len(words)):
                words[w] |= row[w]
        else:
            add_tokens(tokens, indptr[f], indptr[f + 1], words)
