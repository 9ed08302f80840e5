"""Plans: what of a control's mask does not depend on the stack, computed once per vocabulary.

Most tokens that may follow inside a string stay inside it, whatever lies below on the stack. A plan of a control holds the
mask of those tokens, and for each action that needs the stack the tokens that reach it. What such a token holds after the action's byte
is its *rest*. Which rests a byte can have is a matter of the vocabulary alone (`Rests`): they are one small trie for all plans, whose walk
from where a reaction leads says of every rest at once whether it may follow there. The mask of a control on a stack is then the
stay mask and, for each action that the stack admits, those of its tokens whose rest may follow. In Llama-3's vocabulary the string of JSON
has 123,303 tokens that stay and 1,312 that close it, with 576 distinct rests.

Not here: which controls have plans (the automaton says so, in `info[PLAN]`), and reactions.

Complexity: at most one walk of the trie for each plan, but for what its control reads again and again (`guided.kernels.plans`; 0.3 to 2 ms
for 128,000 tokens); then O(rests) per stack.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from guided.arrays import Int32Array, UInt8Array, freeze, mask_words
from guided.vocabulary.trie import TokenTrie, trie_of
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Group", "Paths", "Plan", "Rests", "Stays", "WalkTrie", "paths_of", "plan_of", "rests_of", "walk_trie"]


@dataclass(frozen=True, slots=True, eq=False)
class WalkTrie:
    """A trie as the kernel takes it.

    Attributes
    ----------
    byte, depth, skip, token_indptr, token_ids
        As in `TokenTrie`; ``token_ids`` are ids of the vocabulary, or what stands for them.
    child : ndarray[int32], shape (1 or 257, 256)
        Children of the root by byte, and of each of those.
    max_depth : int
    """

    byte: UInt8Array
    depth: Int32Array
    skip: Int32Array
    token_indptr: Int32Array
    token_ids: Int32Array
    child: Int32Array
    max_depth: int


def walk_trie(trie: TokenTrie, *, is_whole: bool = True) -> WalkTrie:
    """The trie with tables of children: of all first bytes for a whole vocabulary, else of the root only."""
    child = np.full((257 if is_whole else 1, 256), -1, np.int32)
    top = np.flatnonzero(trie.depth == 0)
    child[0, trie.byte[top]] = top
    if is_whole:
        second = np.flatnonzero(trie.depth == 1)
        parent = top[np.searchsorted(top, second, side="right") - 1]
        child[trie.byte[parent].astype(np.int64) + 1, trie.byte[second]] = second
    return WalkTrie(trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, freeze(child), trie.max_depth)


@dataclass(frozen=True, slots=True, eq=False)
class Rests:
    """What tokens hold after one of their bytes, or from it on where the byte is read again.

    A *pair* is a token and one place of the byte in it. Pairs are numbered in the order of the trie's nodes.

    Attributes
    ----------
    byte : int
    is_again : bool
    nodes : ndarray[int32], shape (n,)
        Nodes of the vocabulary's trie that the byte leads into, ascending.
    indptr : ndarray[int64], shape (n + 1,)
        CSR: pairs of each of these nodes.
    tokens : ndarray[int32], shape (n_pairs,)
        Token of each pair.
    trie : WalkTrie
        The rests that are not empty; its tokens are pairs.
    empty : ndarray[int32], shape (words,)
        Pairs without a rest, as a mask.
    ending : ndarray[int32], shape (n_ending,)
        The same, ascending.
    """

    byte: int
    is_again: bool
    nodes: Int32Array
    indptr: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    tokens: Int32Array
    trie: WalkTrie
    empty: Int32Array
    ending: Int32Array

    def pairs(self, nodes: Int32Array) -> tuple[Int32Array, Int32Array]:
        """The pairs of some of the nodes, and for each the position of its node among those given."""
        at = np.searchsorted(self.nodes, nodes)
        first, count = self.indptr[at], self.indptr[at + 1] - self.indptr[at]
        before = np.cumsum(count) - count
        found = np.arange(count.sum()) + np.repeat(first - before, count)
        return found.astype(np.int32), np.repeat(np.arange(len(nodes), dtype=np.int32), count)


def rests_of(vocabulary: Vocabulary, byte: int, is_again: bool) -> Rests:
    """The rests of all tokens at a byte. O(tokens that hold it x their length)."""
    trie, spelled = vocabulary.trie, vocabulary.tokens
    nodes = np.flatnonzero(trie.byte == byte).astype(np.int32)
    rests: list[bytes] = []
    tokens: list[int] = []
    indptr = np.zeros(len(nodes) + 1, np.int64)
    for i, node in enumerate(nodes.tolist()):
        offset = int(trie.depth[node]) + (not is_again)
        owners = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]].tolist()
        tokens += owners
        rests += [(spelled[token] or b"")[offset:] for token in owners]
        indptr[i + 1] = len(tokens)
    empty = np.zeros(mask_words(len(rests)), np.int32)
    ending = np.flatnonzero(np.array([not rest for rest in rests], np.bool_)).astype(np.int32)
    np.bitwise_or.at(empty, ending >> 5, np.int32(1) << (ending & 31))
    return Rests(
        byte,
        is_again,
        freeze(nodes),
        freeze(indptr),
        freeze(np.array(tokens, np.int32)),
        walk_trie(trie_of(rests), is_whole=False),
        freeze(empty),
        freeze(ending),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The bytes that lead to some nodes of a trie.

    Attributes
    ----------
    data : ndarray[uint8], shape (n_bytes,)
    indptr : ndarray[int32], shape (n_nodes + 1,)
        CSR: the bytes of each node.
    """

    data: UInt8Array
    indptr: Int32Array


def paths_of(vocabulary: Vocabulary, nodes: Int32Array) -> Paths:
    """The paths of nodes of the vocabulary's trie."""
    trie, spelled = vocabulary.trie, vocabulary.tokens
    tokens = trie.token_ids[trie.token_indptr[nodes]].tolist()
    lengths = (trie.depth[nodes] + 1).tolist()
    paths = [(spelled[token] or b"")[:length] for token, length in zip(tokens, lengths, strict=True)]
    indptr = np.array([0, *accumulate(lengths)], np.int32)
    return Paths(freeze(np.frombuffer(b"".join(paths), np.uint8)), freeze(indptr))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Tokens that reach one action by one byte.

    Attributes
    ----------
    action : int
    rests : Rests
        Those of the byte.
    pairs : ndarray[int32], shape (n,)
        Which tokens these are, as pairs.
    counts : ndarray[int32], shape (n,)
        Code points that each reads before the action.
    """

    action: int
    rests: Rests
    pairs: Int32Array
    counts: Int32Array


@dataclass(frozen=True, slots=True, eq=False)
class Stays:
    """Where the tokens end that stay on top of a control's stack.

    Attributes
    ----------
    class_of : ndarray[int32], shape (size,)
        Class of each of these tokens, from 1 on; any class for others.
    ends : tuple of (int, tuple of int, int)
        Of each class from 1 on: the control after its tokens, the cells that they push, and the code points that are needed after them;
        less than nothing where so many of those that were needed before are read.
    """

    class_of: Int32Array
    ends: tuple[tuple[int, tuple[int, ...], int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What of a control's mask holds on every stack.

    Attributes
    ----------
    stay : ndarray[int32], shape (words,)
        Tokens that need nothing of the stack.
    counts : ndarray[int32], shape (n_tokens,) or (0,)
        Code points that each of these reads and that must come after it, where they have been counted.
    most : int
        The largest of these, also where they have not been.
    escapes : ndarray[int32], shape (n, 4)
        Where tokens need it: action, trie node, code points read, whether the byte is read again.
    groups : tuple of Group
        The same by action and byte.
    """

    stay: Int32Array
    counts: Int32Array
    most: int
    escapes: Int32Array
    groups: tuple[Group, ...]
    _within: dict[int, Int32Array] = field(default_factory=dict)

    def is_known_within(self, allowed: int) -> bool:
        """Has enough been counted to tell `within`?"""
        return allowed >= self.most or len(self.counts) > 0

    def within(self, allowed: int) -> Int32Array:
        """The tokens that stay and for which so many code points are enough."""
        if allowed >= self.most:
            return self.stay
        found = self._within.get(allowed)
        if found is None:
            words = self.stay.copy()
            long = np.flatnonzero(self.counts > allowed)
            np.bitwise_and.at(words, long >> 5, ~(np.int32(1) << (long & 31).astype(np.int32)))
            found = self._within[allowed] = freeze(words)
        return found


def plan_of(
    trie: WalkTrie,
    rests: Callable[[int, bool], Rests],
    stay: Int32Array,
    counts: Int32Array,
    most: int,
    escapes: Int32Array,
) -> Plan:
    """The plan that a walk on no stack has found."""
    most = max(most, int(escapes[:, 2].max(initial=0)))
    escapes = escapes[np.argsort(escapes[:, 1], kind="stable")]
    kinds = np.stack([escapes[:, 0], escapes[:, 3], trie.byte[escapes[:, 1]]], axis=1)
    groups = []
    for action, again, byte in dict.fromkeys(map(tuple, kinds.tolist())):
        mine = escapes[(kinds == (action, again, byte)).all(axis=1)]
        found = rests(byte, bool(again))
        pairs, owners = found.pairs(mine[:, 1])
        groups.append(Group(action, found, freeze(pairs), freeze(mine[owners, 2])))
    return Plan(freeze(stay), freeze(counts.copy()), most, freeze(escapes), tuple(groups))
