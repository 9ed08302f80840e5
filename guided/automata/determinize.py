"""NFA without assertions -> deterministic automaton over character classes: buffers and budgets of the kernel."""

from dataclasses import dataclass

import numpy as np

from guided.arrays import BoolArray, Int32Array
from guided.automata.growth import grown
from guided.automata.nfa import NFA, rows_by_source
from guided.automata.partition import Partition
from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.kernels import determinize as kernel
from guided.kernels.hashing import refill
from guided.limits import Limits

__all__ = ["CharDFA", "determinize", "lasting_states"]

_TOO_AMBIGUOUS = "the pattern is too ambiguous: use fewer .* and alternatives that begin alike, and lower counts"
_TOO_MANY = (
    "the pattern needs too many states for so many different characters and sets: lower counts, or use fewer sets"
)


@dataclass(frozen=True, slots=True, eq=False)
class CharDFA:
    """A deterministic automaton over classes of characters; state 0 is the start.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state, or ``DEAD``.
    accepting : ndarray[bool], shape (n_states,)
        Final states.
    partition : Partition
        Meaning of the classes.
    """

    table: Int32Array
    accepting: BoolArray
    partition: Partition


def determinize(nfa: NFA, parts: Partition, limits: Limits, steps: Steps | None = None) -> CharDFA:
    """Run the subset construction; its cost is added to ``steps``.

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded. The construction is exponential in the worst case.
    """
    steps = steps or Steps(limits.steps)
    n = nfa.n_states
    empty_indptr, empty = rows_by_source(nfa.empty, n)
    edge_indptr, edges = rows_by_source(nfa.edges, n)
    edge_set, edge_target = np.ascontiguousarray(edges[:, 1]), np.ascontiguousarray(edges[:, 2])
    empty_target = np.ascontiguousarray(empty[:, 1])
    core = np.diff(edge_indptr) > 0
    core[nfa.accept] = True
    lasting = lasting_states(nfa, parts, empty_indptr, empty_target)
    n_classes = parts.n_classes
    capacity, pool_size, buckets = 256, 4 * n + 1024, 1024
    table = np.empty((capacity, n_classes), np.int32)
    accepting = np.zeros(capacity, np.bool_)
    set_indptr = np.zeros(capacity + 1, np.int64)
    pool = np.empty(pool_size, np.int32)
    hashes = np.empty(capacity, np.uint64)
    slots = np.full(4 * capacity, -1, np.int32)
    stamp = np.zeros(n, np.int64)
    stack, members, lowest = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    head = np.full(n_classes, -1, np.int32)
    active = np.empty(n_classes, np.int32)
    bucket_next, bucket_target = np.empty(buckets, np.int32), np.empty(buckets, np.int32)
    cursor = np.zeros(5, np.int64)
    while True:
        status = kernel.determinize(
            nfa.accept, empty_indptr, empty_target, edge_indptr, edge_set, edge_target, parts.set_indptr,
            parts.set_classes, core, lasting, table, accepting, set_indptr, pool, hashes, slots, stamp, stack, members,
            nfa.places, nfa.ranks, lowest, head, active, bucket_next, bucket_target, cursor, steps.left,
        )  # fmt: skip
        count = int(cursor[1])
        if count > limits.states:
            reason = "the language is too large or too ambiguous for a deterministic automaton: lower counts; no .* before long counts"
            raise LimitError("states", count, limits.states, reason)
        match status:
            case kernel.DONE:
                break
            case kernel.MORE_STATES:
                # Why so many more: the kernel needs room for all successors of one state.
                needed, most = count + n_classes, limits.transitions // n_classes
                if needed > most:
                    raise LimitError("transitions", needed * n_classes, limits.transitions, _TOO_MANY)
                capacity = min(max(2 * capacity, needed), most)
                table = grown(table, capacity)
                accepting, hashes = grown(accepting, capacity), grown(hashes, capacity)
                set_indptr = grown(set_indptr, capacity + 1)
                slots = np.full(1 << (4 * capacity - 1).bit_length(), -1, np.int32)
                refill(hashes, 0, count, slots)
            case kernel.MORE_MEMBERS:
                # Finding memory takes as long as visiting the members that it is for.
                cursor[2] += len(pool)
                pool = grown(pool, 2 * len(pool) + n)
                if len(pool) > limits.transitions:
                    raise LimitError("transitions", len(pool), limits.transitions, _TOO_AMBIGUOUS)
            case kernel.MORE_BUCKETS:
                if cursor[4] > limits.transitions:
                    raise LimitError("transitions", int(cursor[4]), limits.transitions, _TOO_AMBIGUOUS)
                buckets = max(2 * buckets, int(cursor[4]))
                # As for members: two for each.
                cursor[2] += 2 * buckets
                bucket_next, bucket_target = np.empty(buckets, np.int32), np.empty(buckets, np.int32)
            case _:
                steps.spend(int(cursor[2]), _TOO_AMBIGUOUS)
    steps.spend(int(cursor[2]), _TOO_AMBIGUOUS)
    if count * n_classes > limits.transitions:
        raise LimitError("transitions", count * n_classes, limits.transitions, _TOO_MANY)
    return CharDFA(table[:count], accepting[:count], parts)


def lasting_states(nfa: NFA, parts: Partition, empty_indptr: Int32Array, empty_target: Int32Array) -> BoolArray:
    """Find states from which every character leads back to the state and to acceptance: with acceptance, they accept all texts.

    PERF: for searches such as ``.*[a-z]{1,40}[0-9].*``, subsets would otherwise keep members that no longer matter
    (`[a-z0-9][.a-z0-9-]{1,61}[a-z0-9]` exceeded a million states). Some states may be missed, because the number of followed empty edges
    is limited.
    """
    found = np.zeros(nfa.n_states, np.bool_)
    if parts.symbols:
        # All texts of characters are not all texts if some have calls.
        return found
    is_there = np.zeros(parts.n_classes, np.bool_)
    is_there[parts.classes[parts.classes >= 0]] = True
    n_there, indptr = np.count_nonzero(is_there), parts.set_indptr
    is_full = np.diff(indptr) >= n_there
    for number in np.flatnonzero(is_full).tolist():
        held = is_there[parts.set_classes[indptr[number] : indptr[number + 1]]]
        is_full[number] = np.count_nonzero(held) == n_there
    if not is_full.any():
        return found
    left = 4 * nfa.n_states
    for source, _, target in nfa.edges[is_full[nfa.edges[:, 1]]].tolist():
        reached, queue = {target}, [target]
        for state in queue:
            left -= 1
            for onward in empty_target[empty_indptr[state] : empty_indptr[state + 1]].tolist():
                if onward not in reached:
                    reached.add(onward)
                    queue.append(onward)
        found[source] = source in reached and nfa.accept in reached
        if left < 0:
            break
    return found
