"""Trie of a vocabulary's tokens: flat arrays in preorder.

Nodes are numbered so that a node's descendants follow it; the root (the empty string) has no node. For node i,
``byte[i]`` labels the edge into it, ``depth[i]`` is the offset of that byte in every token through i (0 for a first
byte), and ``skip[i]`` is the first node after its subtree. A walk over all tokens is then one loop with a stack of
``max_depth + 1`` values, where ``stack[d]`` is the value after d bytes:

    i = 0
    while i < n_nodes:
        stack[depth[i] + 1] = step(stack[depth[i]], byte[i])
        i = i + 1 if that is alive else skip[i]

Invariants: ``i < skip[i] <= n_nodes``; ``depth[i + 1] <= depth[i] + 1``; siblings ascend by byte; every subtree holds
a token. Building costs one sort of the tokens and one linear pass. Tokens without bytes are in no node; tokens with
equal bytes share one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from guided.arrays import Int32Array, UInt8Array, UInt64Array, freeze
from guided.caching import cached_property
from guided.errors import LimitError
from guided.kernels.below import bytes_below
from guided.kernels.trie import build_trie

__all__ = ["TokenTrie", "trie_of"]

_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class TokenTrie:
    """The tokens of a vocabulary as a trie; all arrays are read-only.

    Attributes
    ----------
    byte : ndarray[uint8], shape (n_nodes,)
        Label of the edge into each node.
    depth : ndarray[int32], shape (n_nodes,)
        Offset of that byte in the tokens through the node.
    skip : ndarray[int32], shape (n_nodes,)
        First node after the subtree.
    token_node : ndarray[int32], shape (n_tokens,)
        Node at which each token ends; -1 for a token without bytes.
    token_indptr : ndarray[int32], shape (n_nodes + 1,)
        CSR: the tokens that end at node i are ``token_ids[token_indptr[i]:token_indptr[i + 1]]``, ascending.
    token_ids : ndarray[int32], shape (n_tokens_with_bytes,)
        Token ids by node: the order of the tokens' bytes, ids ascending among equals.
    ends : ndarray[int32], shape (n_tokens_with_bytes,)
        Node at which each token of ``token_ids`` ends; ascending.
    max_depth : int
        Bytes of the longest token; 0 if there is none.
    is_whole : bool
        Whether `child` has rows for first bytes, too.
    """

    byte: UInt8Array
    depth: Int32Array
    skip: Int32Array
    token_node: Int32Array
    token_indptr: Int32Array
    token_ids: Int32Array
    ends: Int32Array
    max_depth: int
    is_whole: bool = True

    @cached_property
    def child(self) -> Int32Array:
        """Children by byte, of the root and of each child of the root, -1 for none: int32, shape (1 or 257, 256)."""
        child = np.full((257 if self.is_whole else 1, 256), -1, np.int32)
        top = np.flatnonzero(self.depth == 0)
        child[0, self.byte[top]] = top
        if self.is_whole:
            second = np.flatnonzero(self.depth == 1)
            parent = top[np.searchsorted(top, second, side="right") - 1]
            child[self.byte[parent].astype(np.int64) + 1, self.byte[second]] = second
        return freeze(child)

    @cached_property
    def below(self) -> tuple[UInt64Array, Int32Array, Int32Array, Int32Array]:
        """Bytes read below each node, code points to it and below it (`guided.kernels.below.bytes_below`), and to the end of each token."""
        path, (chars, deepest) = np.empty((self.max_depth + 1, 2), np.int32), np.empty((2, len(self.byte)), np.int32)
        own, below = np.empty((2, len(self.byte), 2), np.uint64)
        bytes_below(self.byte, self.depth, self.skip, path, own, below, chars, deepest)
        return below, chars, deepest, chars[self.ends]


def trie_of(tokens: Sequence[bytes | None], *, is_whole: bool = True) -> TokenTrie:
    """Build the trie of tokens given by id; None and ``b""`` have no bytes and end nowhere.

    Raises
    ------
    LimitError
        The tokens together are longer than int32 can number.
    """
    # Why no sort of (token, id) pairs: the sort is stable, so equal tokens keep ascending ids, at half the cost.
    texts = [token or b"" for token in tokens]
    ids = sorted((i for i, text in enumerate(texts) if text), key=texts.__getitem__)
    spelled = [texts[i] for i in ids]
    data = b"".join(spelled)
    if len(data) > _LARGEST:
        raise LimitError("vocabulary_bytes", len(data), _LARGEST, "all tokens together are too long")
    offsets = np.fromiter(accumulate(map(len, spelled), initial=0), np.int64, len(spelled) + 1)
    max_depth = max(map(len, spelled), default=0)
    byte = np.empty(len(data), np.uint8)
    depth, skip = np.empty(len(data), np.int32), np.empty(len(data), np.int32)
    ends, path = np.empty(len(spelled), np.int32), np.empty(max_depth, np.int32)
    count = build_trie(np.frombuffer(data, np.uint8), offsets, byte, depth, skip, ends, path)

    token_ids = np.array(ids, dtype=np.int32)
    token_node = np.full(len(tokens), -1, dtype=np.int32)
    token_node[token_ids] = ends
    token_indptr = np.zeros(count + 1, dtype=np.int32)
    np.cumsum(np.bincount(ends, minlength=count), out=token_indptr[1:])
    return TokenTrie(
        byte=freeze(byte[:count].copy()),
        depth=freeze(depth[:count].copy()),
        skip=freeze(skip[:count].copy()),
        token_node=freeze(token_node),
        token_indptr=freeze(token_indptr),
        token_ids=freeze(token_ids),
        ends=freeze(ends),
        max_depth=max_depth,
        is_whole=is_whole,
    )
