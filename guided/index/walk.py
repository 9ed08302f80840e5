"""Automaton x trie -> transition functions of all tokens, and tokens by function, in the two forms that masks are built from.

`guided.kernels.walk` describes the algorithm. The result is Outlines' Algorithms 3 and 4 for every state at once: the graph of the function
of token v is the set of (state, next state) pairs that reading v's bytes gives.

The tokens of a frequent function form a row, a bit mask that the mask of a state ORs in word by word. The tokens of other functions
are lists. The form depends only on the function's number of tokens, and groups follow from the functions of the tokens, so index files do
not store them. Which states allow a function is not stored here.
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import UNKNOWN, Int32Array, Int64Array, freeze, mask_words
from guided.automata.automaton import Automaton
from guided.automata.growth import grown
from guided.errors import LimitError
from guided.kernels import rows as row_kernels
from guided.kernels import walk as kernel
from guided.kernels.hashing import refill
from guided.limits import Limits
from guided.vocabulary.trie import TokenTrie

__all__ = ["TOO_MANY_STATES", "FunctionGroups", "TokenFunctions", "groups_of", "number_and_group", "token_functions"]

# Advice of LimitErrors.
TOO_MANY_STATES = (
    r"too many states for this vocabulary: lower the counts of repeats, above all of large sets such as \w"
)
_LARGE = 1 << 16
# Functions of more tokens than this form a row.
_FREQUENT = 512


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
    node_function, roots = np.empty(len(trie.byte), np.int32), np.empty(256, np.int32)
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
            n_pairs = min(8 * n_pairs, limits.transitions // 2 + n_states + 1)
            src, dst = grown(src[:used], n_pairs), grown(dst[:used], n_pairs)
        else:
            capacity *= 4 if capacity < _LARGE else 2
            if capacity > _LARGE:
                _check(capacity * k // 4, limits.transitions)
            memo, hashes = grown(memo, capacity, UNKNOWN), grown(hashes, capacity, 0)
            ptr = grown(ptr, capacity + 1, 0)
            slots = np.full(2 * capacity, -1, np.int32)
            refill(hashes, 0, count, slots)
    count = int(cursor[1])
    used = int(ptr[count])
    _check(2 * used, limits.transitions)
    return TokenFunctions(freeze(node_function), roots[: cursor[2]], ptr[: count + 1], src[:used], dst[:used])


def _check(given: int, limit: int) -> None:
    if given > limit:
        raise LimitError("transitions", given, limit, TOO_MANY_STATES)


@dataclass(frozen=True, slots=True, eq=False)
class FunctionGroups:
    """Tokens by function; all arrays are read-only.

    Attributes
    ----------
    size : ndarray[int32], shape (n_functions,)
        Number of tokens of each function.
    indptr : ndarray[int64], shape (n_functions + 1,)
        CSR of ``tokens``; empty for functions with a row.
    tokens : ndarray[int32], shape (n_listed,)
        Token ids, ascending within a function.
    row_of : ndarray[int32], shape (n_functions,)
        Row of each function; 1 for those with a list.
    rows : ndarray[int32], shape (n_rows, n_words)
        Masks of single functions, from row 2. Row 0 holds the visited tokens without a function, row 1 all tokens in lists.
    """

    size: Int32Array
    indptr: Int64Array
    tokens: Int32Array
    row_of: Int32Array
    rows: Int32Array

    def __post_init__(self) -> None:
        for array in (self.size, self.indptr, self.tokens, self.row_of, self.rows):
            array.flags.writeable = False

    def allow(self, functions: Int32Array, words: Int32Array) -> None:
        """Set the bits of all tokens of some functions in a mask."""
        row_kernels.fill_mask(functions, self.indptr, self.tokens, self.row_of, self.rows, words)


def number_and_group(
    functions: TokenFunctions, trie: TokenTrie, size: int
) -> tuple[Int32Array, Int32Array, FunctionGroups]:
    """Number the functions used by tokens, and group the tokens by them.

    Parameters
    ----------
    functions : TokenFunctions
        Result of the walk of ``trie``.
    size : int
        Width of masks in tokens.

    Returns
    -------
    number : ndarray[int32], shape (n_functions_of_the_walk,)
        New number of each function, ascending; -1 for those that no token has.
    token_function : ndarray[int32], shape (n_tokens,)
        New number of each token's function, -1 for none.
    groups : FunctionGroups
        By new number.
    """
    roots = functions.roots
    begin, end = trie.token_indptr[roots], trie.token_indptr[trie.skip[roots]]
    n_tokens, n_functions = len(trie.token_node), len(functions.indptr) - 1
    return _grouped(functions.node_function, trie.ends, trie.token_ids, (begin, end), n_tokens, n_functions, size)


def groups_of(token_function: Int32Array, size: int) -> FunctionGroups:
    """Return the groups of tokens whose functions are numbered without gaps."""
    n = len(token_function)
    # Why read-only, like the trie's arrays: a kernel is compiled again for writable ones.
    all_tokens = freeze(np.arange(n, dtype=np.int32))
    begin, end = np.zeros(1, np.int32), np.full(1, n, np.int32)
    n_functions = int(token_function.max(initial=-1)) + 1
    return _grouped(token_function, all_tokens, all_tokens, (begin, end), n, n_functions, size)[2]


def _grouped(
    node_function: Int32Array,
    ends: Int32Array,
    token_ids: Int32Array,
    ranges: tuple[Int32Array, Int32Array],
    n_tokens: int,
    n_functions: int,
    size: int,
) -> tuple[Int32Array, Int32Array, FunctionGroups]:
    # Why an extra entry at the front: "no function" is -1 and is then looked up like any other.
    number, row_of = np.empty(n_functions + 1, np.int32), np.empty(n_functions + 1, np.int32)
    size_of, indptr = np.empty(n_functions, np.int32), np.zeros(n_functions + 1, np.int64)
    counts = np.zeros((4, n_functions + 1), np.int64)
    used = row_kernels.number_functions(
        node_function, ends, *ranges, _FREQUENT, counts, number, size_of, indptr, row_of
    )
    size_of, indptr, row_of = size_of[:used], indptr[: used + 1], row_of[: used + 1]
    rows = np.zeros((max(int(row_of.max()), 1) + 1, mask_words(size)), np.int32)
    token_function = np.full(n_tokens, -1, np.int32)
    row_kernels.spread_tokens(node_function, ends, *ranges, token_ids, number, row_of, token_function, rows)
    tokens = np.empty(indptr[-1], np.int32)
    row_kernels.list_tokens(rows, token_function, indptr[:-1].copy(), tokens)
    return number[1:], token_function, FunctionGroups(size_of, indptr, tokens, row_of[1:], rows)
