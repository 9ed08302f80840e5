"""Plans: what of a control's mask does not depend on the stack, computed once per vocabulary.

Most tokens that may follow inside a string stay inside it, whatever lies below on the stack. A plan of a control holds the
mask of those tokens, and for each action that needs the stack the rests of the tokens after it, as a small trie: the *residuals*.
The mask of a control on a stack is then the stay mask and, for each group of residuals whose action the stack admits, a walk over
the group's trie from where the reaction leads. In Llama-3's vocabulary the string of JSON has 123,303 tokens that stay and 1,312
that close it, with 576 distinct rests.

Not here: which controls have plans (the automaton says so, in `info[PLAN]`), and reactions.

Complexity: one walk of the whole trie (about 1 ms for 128,000 tokens) and a sort of the residuals, once; then O(residuals) per stack.
"""

from dataclasses import dataclass, field

import numpy as np

from guided.arrays import Int32Array, UInt8Array, freeze, mask_words
from guided.vocabulary.trie import TokenTrie, trie_of
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Group", "Plan", "WalkTrie", "plan_of", "walk_trie"]


@dataclass(frozen=True, slots=True, eq=False)
class WalkTrie:
    """A trie as the kernel takes it.

    Attributes
    ----------
    byte, depth, skip, token_indptr, token_ids
        As in `TokenTrie`; ``token_ids`` are ids of the vocabulary.
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


def walk_trie(trie: TokenTrie, tokens: Int32Array | None = None) -> WalkTrie:
    """The trie with tables of children: of all first bytes for a whole vocabulary, of the root only where ``tokens`` renames the ids."""
    child = np.full((257 if tokens is None else 1, 256), -1, np.int32)
    top = np.flatnonzero(trie.depth == 0)
    child[0, trie.byte[top]] = top
    if tokens is None:
        second = np.flatnonzero(trie.depth == 1)
        parent = top[np.searchsorted(top, second, side="right") - 1]
        child[trie.byte[parent].astype(np.int64) + 1, trie.byte[second]] = second
    ids = trie.token_ids if tokens is None else freeze(tokens[trie.token_ids].astype(np.int32))
    return WalkTrie(trie.byte, trie.depth, trie.skip, trie.token_indptr, ids, freeze(child), trie.max_depth)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Tokens that reach one action.

    Attributes
    ----------
    action : int
    is_again : bool
        Is the byte of the action read again, after it?
    count : int
        Code points read before it; -1 where groups of all counts are together.
    ends : ndarray[int32]
        Tokens that end with the action.
    rest : WalkTrie or None
        The residuals of the others.
    from_root : bool
        Do tokens begin with the action? Their residuals are whole tokens, found in the vocabulary's trie.
    """

    action: int
    is_again: bool
    count: int
    ends: Int32Array
    rest: WalkTrie | None
    from_root: bool


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What of a control's mask holds on every stack.

    Attributes
    ----------
    stay : ndarray[int32], shape (words,)
        Tokens that need nothing of the stack.
    counts : ndarray[int32], shape (n_tokens,) or (0,)
        Code points that each of these reads and that must come after it, where they count.
    most : int
        The largest of these.
    escapes : ndarray[int32], shape (n, 4)
        Where tokens need it: action, trie node, code points read, whether the byte is read again.
    """

    vocabulary: Vocabulary
    stay: Int32Array
    counts: Int32Array
    most: int
    escapes: Int32Array
    _groups: dict[bool, tuple[Group, ...]] = field(default_factory=dict)
    _within: dict[int, Int32Array] = field(default_factory=dict)

    def groups(self, by_count: bool) -> tuple[Group, ...]:
        """The escapes by action, and by code points read if asked for."""
        found = self._groups.get(by_count)
        if found is None:
            found = self._groups[by_count] = _groups(self.vocabulary, self.escapes, by_count)
        return found

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


def plan_of(vocabulary: Vocabulary, stay: Int32Array, counts: Int32Array, escapes: Int32Array) -> Plan:
    """The plan that a walk on no stack has found."""
    assert len(stay) == mask_words(vocabulary.size)
    most = max(int(counts.max(initial=0)), int(escapes[:, 2].max(initial=0)))
    return Plan(vocabulary, freeze(stay), freeze(counts.copy()), most, freeze(escapes.copy()))


def _groups(vocabulary: Vocabulary, escapes: Int32Array, by_count: bool) -> tuple[Group, ...]:
    trie, tokens = vocabulary.trie, vocabulary.tokens
    found: dict[tuple[int, bool, int], tuple[list[int], list[bytes], list[int], list[bool]]] = {}
    for action, node, count, again in escapes.tolist():
        ends, rests, owners, root = found.setdefault((action, bool(again), count if by_count else -1), ([], [], [], []))
        offset = int(trie.depth[node]) + (0 if again else 1)
        if again and offset == 0:
            root.append(True)
            continue
        for token in trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]].tolist():
            rest = (tokens[token] or b"")[offset:]
            if rest:
                rests.append(rest)
                owners.append(token)
            else:
                ends.append(token)
    return tuple(
        Group(
            action,
            again,
            count,
            freeze(np.array(ends, np.int32)),
            walk_trie(trie_of(rests), np.array(owners, np.int32)) if rests else None,
            bool(root),
        )
        for (action, again, count), (ends, rests, owners, root) in found.items()
    )
