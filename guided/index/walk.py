"""Automaton x trie -> transition functions of all tokens: buffers and budgets of the kernel.

`guided.kernels.walk` describes the algorithm. The result is Outlines' Algorithms 3 and 4 for every state at once: the graph of the function
of token v is the set of (state, next state) pairs that reading v's bytes gives.
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import UNKNOWN, Int32Array, Int64Array, freeze
from guided.automata.automaton import Automaton
from guided.errors import LimitError
from guided.kernels import walk as kernel
from guided.kernels.hashing import refill
from guided.limits import Limits
from guided.vocabulary.trie import TokenTrie

__all__ = ["TokenFunctions", "token_functions"]

_LARGE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class TokenFunctions:
    """Distinct transition functions found by a walk of the trie; function 0 is the identity.

    Attributes
    ----------
    node_function : ndarray[int32], shape (n_nodes,)
        Function of each trie node at or below a root, -1 if it is undefined everywhere. Entries of other nodes have no meaning.
    roots : ndarray[int32], shape (n_roots,)
        Nodes of first bytes that have a function, ascending.
    indptr : ndarray[int64], shape (n_functions + 1,)
        Pairs of each function.
    source, target : ndarray[int32], shape (n_pairs,)
        The pairs, sources ascending within a function.
    """

    node_function: Int32Array
    roots: Int32Array
    indptr: Int64Array
    source: Int32Array
    target: Int32Array


def token_functions(automaton: Automaton, trie: TokenTrie, limits: Limits) -> TokenFunctions:
    """Compute the functions of all trie nodes over an automaton's states.

    Raises
    ------
    LimitError
        The pairs of all functions, two cells each, exceed ``transitions`` of ``limits``.

    Notes
    -----
    O(nodes) look-ups and O(states) for each distinct (function, class of bytes).
    """
    n_states, k = automaton.table.shape
    # Why so many pairs: untouched memory costs nothing, but growing costs a copy.
    capacity, n_pairs = 256, max(1 << 16, min(64 * n_states, 1 << 22), 2 * n_states)
    memo = np.full((capacity, k), UNKNOWN, np.int32)
    ptr = np.zeros(capacity + 1, np.int64)
    src, dst = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    src[:n_states] = dst[:n_states] = np.arange(n_states, dtype=np.int32)
    ptr[1] = n_states
    hashes = np.zeros(capacity, np.uint64)
    slots = np.full(2 * capacity, -1, np.int32)
    node_function, roots = np.empty(trie.n_nodes, np.int32), np.empty(256, np.int32)
    stack = np.zeros(trie.max_depth + 1, np.int32)
    cursor = np.array([0, 1, 0], np.int64)
    # The identity is not in the hash table (no byte is empty): an equal function may be interned twice, which is harmless.
    while status := kernel.walk(
        trie.byte, trie.depth, trie.skip, automaton.classes, automaton.table, memo, ptr, src, dst, hashes, slots,
        node_function, roots, stack, cursor,
    ):  # fmt: skip
        count = int(cursor[1])
        if status == kernel.MORE_PAIRS:
            used = int(ptr[count])
            _check(2 * used, limits.transitions)
            n_pairs *= 2
            src, dst = _grown(src, n_pairs, used), _grown(dst, n_pairs, used)
        else:
            capacity *= 4 if capacity < _LARGE else 2
            if capacity > _LARGE:
                _check(capacity * k // 4, limits.transitions)
            wider = np.full((capacity, k), UNKNOWN, np.int32)
            wider[: len(memo)] = memo
            memo = wider
            longer, hashed = np.zeros(capacity + 1, np.int64), np.zeros(capacity, np.uint64)
            longer[: count + 1], hashed[:count] = ptr[: count + 1], hashes[:count]
            ptr, hashes = longer, hashed
            slots = np.full(2 * capacity, -1, np.int32)
            refill(hashes, 0, count, slots)
    count = int(cursor[1])
    used = int(ptr[count])
    _check(2 * used, limits.transitions)
    return TokenFunctions(freeze(node_function), roots[: cursor[2]], ptr[: count + 1], src[:used], dst[:used])


def _check(given: int, limit: int) -> None:
    if given > limit:
        raise LimitError("transitions", given, limit, "too many states for this vocabulary")


def _grown(array: Int32Array, length: int, used: int) -> Int32Array:
    grown = np.empty(length, np.int32)
    grown[:used] = array[:used]
    return grown
