"""Merges of a byte-pair encoding (BPE): which token may follow which in the encoder's own output.

The encoder begins with single bytes, and repeatedly merges the adjacent pair whose merge has the lowest rank, the leftmost one first. A
sequence of tokens is *canonical* if the encoder gives exactly this sequence for its bytes.

Theorem. A sequence is canonical exactly if each token is the encoding of its own bytes and each adjacent pair of tokens is canonical.

Proof. Consider the encoding of the bytes of a sequence until the first merge that crosses a boundary between two of its tokens. Until then
the bytes of each token are merged in the same order as if they stood alone, and those of two neighbours in the same order as if they stood
alone together, since the merge that is next among theirs does not depend on the others. So if the first crossing merge crosses the boundary
of two neighbours, one does so in the encoding of these two alone: the pair is not canonical. Conversely, the first crossing merge of a pair
occurs in the whole text too, unless another crossing merge precedes it. If a merge crosses a boundary, so does a token of the encoding; if
none does, the encoding is the sequence.

Pairs are decided under one more condition: every merge that occurs has a higher rank than the merges that form its parts, so ranks never
fall while a text is encoded. Then a pair (p, t) is not canonical exactly if a merge joins a suffix node a of p (p, its right part, the
right part of that, ...) with a prefix node b of t (t, its left part, ...), whose rank is lower than that of the merge that absorbs a within
p, and at most that of the merge that absorbs b within t. (Why "at most": of equal merges the leftmost is the first.) For a fixed p, the
tokens with a given b and a minimum rank are an interval of the preorder of the tree in which the parent of a token is its left part, with
siblings in the order of their ranks. So all tokens that cannot follow p are found in O(merges of the suffix nodes of p + tokens).

Merges with falling ranks are refused, except in tokenizers that look up whole words first (tiktoken). There such merges are left out, and
so are tokens that only the look-up gives: the encoding of a word that needs them is taken to be that by the other merges. Llama 3 has 82
such merges and 695 such tokens in 128,000, GPT-2 and Qwen have none.

Ref: Berglund and van der Merwe, "Formalizing BPE Tokenization", 2023. Cognetta and Okazaki, "Tokenization as Finite-State Transduction",
2024. Vieira et al., "Language Models over Canonical Byte-Pair Encodings", 2025.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from guided.arrays import BoolArray, Int64Array
from guided.errors import VocabularyError

__all__ = ["Merges", "splits_of_ranks"]

_NONE = np.int64(1 << 62)


class Merges:
    """The merges of a tokenizer, compiled.

    Parameters
    ----------
    tokens : sequence of (bytes or None)
        Bytes of each id.
    left, right, merged : sequence or ndarray of int, shape (n_merges,)
        Ids of the two parts and of the result of each merge.
    rank : sequence or ndarray of int, shape (n_merges,)
        The lowest rank is merged first. Merges with the same result may share a rank.
    words_first : bool
        The tokenizer looks up whole words before it merges, so merges with falling ranks are left out and not refused.

    Attributes
    ----------
    is_reachable : ndarray[bool], shape (n_tokens,)
        Tokens that are the encoding of their own bytes. The others never occur in a canonical sequence.

    Raises
    ------
    VocabularyError
        A merge does not join the bytes of its parts, a pair has two merges, or ranks fall.

    Notes
    -----
    About 1 s and 80 bytes per merge for 128,000 tokens.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        left: npt.ArrayLike,
        right: npt.ArrayLike,
        merged: npt.ArrayLike,
        rank: npt.ArrayLike,
        words_first: bool = False,
    ) -> None:
        self._n = len(tokens)
        pairs = [np.asarray(part, np.int64) for part in (left, right, merged, rank)]
        _check_merges(tokens, *pairs)
        order = np.argsort(pairs[0] * self._n + pairs[1], kind="stable")
        self._first, self._second, self._result, self._at = (part[order] for part in pairs)
        self._keys = self._first * self._n + self._second
        if len(self._keys) and (np.diff(self._keys) == 0).any():
            raise VocabularyError("a pair of tokens has two merges")
        # Rank of the merge that forms each token, -1 for single bytes; and its parts.
        self._formed = np.full(self._n, _NONE)
        self._left, self._right = np.full((2, self._n), -1, np.int64)
        self._derive(tokens)
        self.is_reachable: BoolArray = self._formed < _NONE
        if not words_first:
            self._check_ranks(tokens)
        self._index()

    def _derive(self, tokens: Sequence[bytes | None]) -> None:
        """Find the last merge of each token's own encoding, shorter tokens first: the only one whose boundary no lower merge crosses."""
        seen = set[bytes]()
        for token, data in enumerate(tokens):
            if data is not None and len(data) == 1 and data not in seen:
                seen.add(data)
                self._formed[token] = -1
        lengths = np.array([len(data or b"") for data in tokens], np.int64)
        of_result = lengths[self._result]
        order = np.argsort(of_result, kind="stable")
        bounds = np.flatnonzero(np.diff(of_result[order], prepend=0, append=0))
        for begin, end in pairwise(bounds.tolist()):
            some = order[begin:end]
            some = some[self._at[some] > np.maximum(self._formed[self._first[some]], self._formed[self._second[some]])]
            found = some[~self._is_crossed(self._first[some], self._second[some])]
            self._formed[self._result[found]] = self._at[found]
            self._left[self._result[found]], self._right[self._result[found]] = self._first[found], self._second[found]

    def _is_crossed(self, a: Int64Array, b: Int64Array) -> BoolArray:
        """Return for each pair of reachable tokens whether a merge of their parts crosses the boundary before both are formed."""
        a, b = a.copy(), b.copy()
        crossed = np.zeros(len(a), np.bool_)
        pairs = np.arange(len(a))
        while len(pairs):
            formed_a, formed_b = self._formed[a[pairs]], self._formed[b[pairs]]
            # Of equal merges the right one is the last, so it is undone first.
            is_left, limit = formed_a > formed_b, np.maximum(formed_a, formed_b)
            going = limit >= 0
            pairs, is_left, limit = pairs[going], is_left[going], limit[going]
            a[pairs[is_left]] = self._right[a[pairs[is_left]]]
            b[pairs[~is_left]] = self._left[b[pairs[~is_left]]]
            rank = self._rank_of(a[pairs], b[pairs])
            is_now = np.where(is_left, rank < limit, rank <= limit)
            crossed[pairs[is_now]] = True
            pairs = pairs[~is_now]
        return crossed

    def _rank_of(self, a: Int64Array, b: Int64Array) -> Int64Array:
        """Return the ranks of the merges of pairs; a large number for pairs without one, or whose rank is below that of a part."""
        keys = a * self._n + b
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        ranks = np.where(self._keys[places] == keys, self._at[places], _NONE)
        return np.where(ranks > np.maximum(self._formed[a], self._formed[b]), ranks, _NONE)

    def _check_ranks(self, tokens: Sequence[bytes | None]) -> None:
        """Refuse a pair that occurs and whose rank is not above those of its parts; other such pairs are crossed before they occur."""
        parts = np.maximum(self._formed[self._first], self._formed[self._second])
        suspects = np.flatnonzero((self._at <= parts) & (parts < _NONE))
        wrong = suspects[~self._is_crossed(self._first[suspects], self._second[suspects])]
        if len(wrong):
            a, b = (tokens[int(part[wrong[0]])] for part in (self._first, self._second))
            raise VocabularyError(f"the merge of {a!r:.60} and {b!r:.60} has a lower rank than the merges of its parts")

    def _index(self) -> None:
        """Order the merges by left part, and number the tokens in the preorder of the tree of left parts."""
        parts = np.maximum(self._formed[self._first], self._formed[self._second])
        usable = np.flatnonzero((parts < _NONE) & (self._at > parts))
        order = usable[np.lexsort((self._at[usable], self._first[usable]))]
        self._partners, self._ranks = self._second[order], self._at[order]
        self._indptr = np.searchsorted(self._first[order], np.arange(self._n + 1))
        formed = np.flatnonzero(self.is_reachable)
        formed = formed[np.argsort(self._formed[formed], kind="stable")]
        parents = self._left.tolist()
        sizes, position, free = [1] * self._n, [0] * self._n, [0] * self._n
        # Why in the order of ranks: a part is formed before the whole, and siblings are numbered by their ranks.
        for token in reversed(formed.tolist()):
            if parents[token] >= 0:
                sizes[parents[token]] += sizes[token]
        roots = 0
        for token in formed.tolist():
            parent = parents[token]
            if parent < 0:
                position[token] = roots
                roots += sizes[token]
            else:
                position[token] = free[parent]
                free[parent] += sizes[token]
            free[token] = position[token] + 1
        self._position = np.array(position, np.int64)
        self._end = self._position + sizes
        children = formed[self._left[formed] >= 0]
        self._children = children[np.argsort(self._left[children], kind="stable")]
        # Ranks are below the number of tokens or of merges, so the keys fit.
        self._span = np.int64(int(self._at.max(initial=0)) + 2)
        self._child_keys = self._left[self._children] * self._span + self._formed[self._children]
        self._n_positions = roots

    def follows(self, token: int) -> BoolArray:
        """Return which tokens form a canonical pair with a token before them: bool, shape (n_tokens,); none after an unreachable token."""
        found = np.zeros(self._n, np.bool_)
        if not self.is_reachable[token]:
            return found
        begins, ends = list[Int64Array](), list[Int64Array]()
        node, limit = token, int(_NONE)
        while True:
            span = slice(int(self._indptr[node]), int(self._indptr[node + 1]))
            n_lower = int(np.searchsorted(self._ranks[span], limit))
            ranks, partners = self._ranks[span][:n_lower], self._partners[span][:n_lower]
            begins.append(self._position[partners])
            ends.append(self._position[partners] + 1)
            first = np.searchsorted(self._child_keys, partners * self._span + ranks)
            last = np.searchsorted(self._child_keys, (partners + 1) * self._span)
            some = first < last
            begins.append(self._position[self._children[first[some]]])
            ends.append(self._end[partners[some]])
            if self._formed[node] < 0:
                break
            node, limit = int(self._right[node]), int(self._formed[node])
        n = self._n_positions
        opened, closed = (np.bincount(np.concatenate(places), minlength=n + 1) for places in (begins, ends))
        is_free = np.cumsum(opened - closed)[:n] == 0
        found[self.is_reachable] = is_free[self._position[self.is_reachable]]
        return found


def splits_of_ranks(tokens: Sequence[bytes | None]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the merges of a table of ranks, where each id is the rank of its token and every pair that spells a token is merged.

    Returns
    -------
    left, right, merged, rank : list of int
        Arguments of `Merges`. O(total bytes).
    """
    ids = {data: token for token, data in reversed(list(enumerate(tokens))) if data is not None}
    left, right, merged = list[int](), list[int](), list[int]()
    for data, token in ids.items():
        for cut in range(1, len(data)):
            a = ids.get(data[:cut])
            if a is not None and (b := ids.get(data[cut:])) is not None:
                left.append(a)
                right.append(b)
                merged.append(token)
    return left, right, merged, merged


def _check_merges(
    tokens: Sequence[bytes | None], left: Int64Array, right: Int64Array, merged: Int64Array, rank: Int64Array
) -> None:
    if not len(left) == len(right) == len(merged) == len(rank):
        raise VocabularyError("merges need a left part, a right part, a result and a rank each")
    for a, b, result in zip(left.tolist(), right.tolist(), merged.tolist(), strict=True):
        if not (0 <= a < len(tokens) and 0 <= b < len(tokens) and 0 <= result < len(tokens)):
            raise VocabularyError(f"merge of {a} and {b} to {result}: the ids are 0 to {len(tokens) - 1}")
        if not tokens[a] or not tokens[b] or tokens[result] != (tokens[a] or b"") + (tokens[b] or b""):
            raise VocabularyError(
                f"merge of {tokens[a]!r:.60} and {tokens[b]!r:.60}: {tokens[result]!r:.60} is not both"
            )
