"""`FunctionGroups`: tokens by transition function, in the two forms that masks are built from.

The tokens of a frequent function form a row, a bit mask that the mask of a state ORs in word by word. The tokens of other functions
are lists. The form depends only on the function's number of tokens, and everything here follows from the functions of the tokens, so
index files do not store it.

Complexity: O(tokens with a function + words of the rows). Which states allow a function is not stored here.
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import Int32Array, Int64Array, freeze, mask_words
from guided.index.walk import TokenFunctions
from guided.kernels import rows as kernel
from guided.vocabulary.trie import TokenTrie

__all__ = ["FunctionGroups", "groups_of", "number_and_group"]

_LARGE = 512


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

    def allow(self, functions: Int32Array, words: Int32Array) -> None:
        """Set the bits of all tokens of some functions in a mask."""
        kernel.fill_mask(functions, self.indptr, self.tokens, self.row_of, self.rows, words)


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
    return _grouped(
        functions.node_function,
        trie.ends,
        trie.token_ids,
        begin,
        end,
        n_tokens=n_tokens,
        n_functions=n_functions,
        size=size,
    )


def groups_of(token_function: Int32Array, size: int) -> FunctionGroups:
    """Return the groups of tokens whose functions are numbered without gaps."""
    n = len(token_function)
    # Why read-only, like the trie's arrays: a kernel is compiled again for writable ones.
    all_tokens = freeze(np.arange(n, dtype=np.int32))
    begin, end = np.zeros(1, np.int32), np.full(1, n, np.int32)
    n_functions = int(token_function.max(initial=-1)) + 1
    return _grouped(token_function, all_tokens, all_tokens, begin, end, n_tokens=n, n_functions=n_functions, size=size)[
        2
    ]


def _grouped(
    node_function: Int32Array,
    ends: Int32Array,
    token_ids: Int32Array,
    begin: Int32Array,
    end: Int32Array,
    *,
    n_tokens: int,
    n_functions: int,
    size: int,
) -> tuple[Int32Array, Int32Array, FunctionGroups]:
    # Why an extra entry at the front: "no function" is -1 and is then looked up like any other.
    number, row_of = np.empty(n_functions + 1, np.int32), np.empty(n_functions + 1, np.int32)
    size_of, indptr = np.empty(n_functions, np.int32), np.zeros(n_functions + 1, np.int64)
    counts = np.zeros((4, n_functions + 1), np.int64)
    used = kernel.number_functions(node_function, ends, begin, end, _LARGE, counts, number, size_of, indptr, row_of)
    size_of, indptr, row_of = size_of[:used], indptr[: used + 1], row_of[: used + 1]
    rows = np.zeros((max(int(row_of.max()), 1) + 1, mask_words(size)), np.int32)
    token_function = np.full(n_tokens, -1, np.int32)
    kernel.spread_tokens(node_function, ends, begin, end, token_ids, number, row_of, token_function, rows)
    tokens = np.empty(indptr[-1], np.int32)
    kernel.list_tokens(rows, token_function, indptr[:-1].copy(), tokens)
    groups = FunctionGroups(freeze(size_of), freeze(indptr), freeze(tokens), freeze(row_of[1:]), freeze(rows))
    return number[1:], token_function, groups
