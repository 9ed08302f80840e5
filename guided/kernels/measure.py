"""Character counts in automata of strings: which states are between characters, and how many must still begin before an end."""

from guided.arrays import BoolArray, Int32Array, UInt8Array
from guided.kernels.jit import kernel

__all__ = ["needs", "phases"]


@kernel
def phases(
    table: Int32Array, indptr: Int32Array, steps: Int32Array, seen: UInt8Array, todo: Int32Array, found: Int32Array
) -> bool:
    """Find the phase of each reachable state: 1 between two characters, 2 within one. Returns False if a state is in both.

    ========  =====  ================  ====================================================================
    argument  dtype  shape             meaning
    ========  =====  ================  ====================================================================
    table     int32  (n, k)            next state by class, negative for none
    indptr    int32  (n_places + 1,)   steps of each place within a character; place 0 is between two
    steps     int32  (n_steps, 2)      class of bytes, and the place that it leads to
    seen      uint8  (n, n_places)     scratch, zeros
    todo      int32  (n n_places, 2)   scratch
    found     int32  (n,)              out; zeros on entry
    ========  =====  ================  ====================================================================

    Complexity: O(n n_steps).
    """
    seen[0, 0] = 1
    todo[0, 0], todo[0, 1] = 0, 0
    found[0] = 1
    n_todo = 1
    while n_todo > 0:
        n_todo -= 1
        state, place = todo[n_todo, 0], todo[n_todo, 1]
        for i in range(indptr[place], indptr[place + 1]):
            target, onward = table[state, steps[i, 0]], steps[i, 1]
            if target < 0 or seen[target, onward]:
                continue
            phase = 1 if onward == 0 else 2
            if found[target] == 3 - phase:
                return False
            found[target] = phase
            seen[target, onward] = 1
            todo[n_todo, 0], todo[n_todo, 1] = target, onward
            n_todo += 1
    return True


@kernel
def needs(
    accepting: BoolArray,
    phase: Int32Array,
    indptr: Int32Array,
    source: Int32Array,
    k: int,
    todo: Int32Array,
    found: Int32Array,
) -> None:
    """Find the least number of characters that must begin from each state to an accepting one, by backward search.

    ==============  =====  =========  ====================================================================
    argument        dtype  shape      meaning
    ==============  =====  =========  ====================================================================
    accepting       bool   (n,)
    phase           int32  (n,)       1 where an edge begins a character
    indptr, source  int32  CSR        inverse edges, rows (target, class)
    k               int               classes
    todo            int32  (2, n)     scratch: states of this number of characters, and of one more
    found           int32  (n,)       out; -1 if acceptance is unreachable
    ==============  =====  =========  ====================================================================

    Why the first number of a state is its minimum: states are visited in order of their numbers, and a state's cost depends only on itself.
    Complexity: O(n + edges).
    """
    n = len(accepting)
    here, there = 0, 0
    for s in range(n):
        found[s] = -1
        if accepting[s]:
            found[s] = 0
            todo[0, here] = s
            here += 1
    now, count = 0, 0
    while here > 0:
        i = 0
        while i < here:
            t = todo[now, i]
            i += 1
            for e in range(indptr[t * k], indptr[t * k + k]):
                s = source[e]
                if phase[s] == 1:
                    if found[s] < 0:
                        found[s] = count + 1
                        todo[1 - now, there] = s
                        there += 1
                elif found[s] < 0:
                    found[s] = count
                    todo[now, here] = s
                    here += 1
        now, here, there, count = 1 - now, there, 0, count + 1
