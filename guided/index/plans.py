"""Plans: the stack-independent part of a control's mask, computed once per vocabulary.

Inside a string most allowed tokens stay inside it, whatever the stack. The plan of a control holds the mask of these tokens and, for
each action that needs the stack, the tokens that reach it. The bytes of such a token after the action's byte are its *suffix*. The possible
suffixes after a byte depend only on the vocabulary (`TokenSuffixes`): they form one small trie, shared by all plans, and one walk of it
from the configuration after a reaction decides all of them. The mask of a control on a stack is the stay mask plus, for each action
that the stack admits, its tokens whose suffix is allowed. In Llama-3's vocabulary, a JSON string has 123,303 tokens that stay and 1,312
that close it, with 576 distinct suffixes.

Not decided here: which controls have plans (the automaton sets `info[PLAN]`), and reactions.

Complexity: at most one walk of the trie per plan, with subtrees that the control only loops over skipped (`guided.kernels.below`; 0.3 to
2 ms for 128,000 tokens); then O(suffixes) per stack.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, freeze, mask_of
from guided.automata.pushdown import ACTION, UNLIMITED, PushdownTables
from guided.vocabulary.trie import TokenTrie, trie_of

__all__ = [
    "ActionGroup",
    "Plan",
    "StayClasses",
    "TokenSuffixes",
    "plan_of",
    "suffixes_of",
]


@dataclass(frozen=True, slots=True, eq=False)
class TokenSuffixes:
    """Suffixes of tokens after one of their bytes, or from that byte on if it is read again.

    A *pair* is a token and one occurrence of the byte in it. Pairs are numbered in the order of the trie's nodes.

    Attributes
    ----------
    byte : int
    is_again : bool
    nodes : ndarray[int32], shape (n,)
        Nodes of the vocabulary's trie entered by the byte, ascending.
    indptr : ndarray[int64], shape (n + 1,)
        CSR: pairs of each of these nodes.
    tokens : ndarray[int32], shape (n_pairs,)
        Token of each pair.
    trie : TokenTrie
        The nonempty suffixes; its tokens are pairs.
    empty : ndarray[int32], shape (words,)
        Mask of the pairs with an empty suffix.
    ending : ndarray[int32], shape (n_ending,)
        The same pairs, ascending.
    """

    byte: int
    is_again: bool
    nodes: Int32Array
    indptr: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    tokens: Int32Array
    trie: TokenTrie
    empty: Int32Array
    ending: Int32Array

    def pairs(self, nodes: Int32Array) -> tuple[Int32Array, Int32Array]:
        """Return the pairs of some of the nodes, and for each pair the position of its node in ``nodes``."""
        at = np.searchsorted(self.nodes, nodes)
        first, count = self.indptr[at], self.indptr[at + 1] - self.indptr[at]
        before = np.cumsum(count) - count
        found = np.arange(count.sum()) + np.repeat(first - before, count)
        return found.astype(np.int32), np.repeat(np.arange(len(nodes), dtype=np.int32), count)


def suffixes_of(trie: TokenTrie, spelled: Sequence[bytes | None], byte: int, is_again: bool) -> TokenSuffixes:
    """Return the suffixes of all tokens at a byte. O(tokens that contain it x their length)."""
    nodes = np.flatnonzero(trie.byte == byte).astype(np.int32)
    suffixes: list[bytes] = []
    tokens: list[int] = []
    indptr = np.zeros(len(nodes) + 1, np.int64)
    for i, node in enumerate(nodes.tolist()):
        offset = int(trie.depth[node]) + (not is_again)
        owners = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]].tolist()
        tokens += owners
        suffixes += [(spelled[token] or b"")[offset:] for token in owners]
        indptr[i + 1] = len(tokens)
    ending = np.flatnonzero(np.array([not suffix for suffix in suffixes], np.bool_)).astype(np.int32)
    return TokenSuffixes(
        byte,
        is_again,
        freeze(nodes),
        freeze(indptr),
        freeze(np.array(tokens, np.int32)),
        trie_of(suffixes, is_whole=False),
        freeze(mask_of(ending, len(suffixes))),
        freeze(ending),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ActionGroup:
    """Tokens that reach one action by one byte.

    Attributes
    ----------
    action : int
    suffixes : TokenSuffixes
        Suffixes after the byte.
    pairs : ndarray[int32], shape (n,)
        The tokens, as pairs.
    counts : ndarray[int32], shape (n,)
        Code points that each reads before the action.
    """

    action: int
    suffixes: TokenSuffixes
    pairs: Int32Array
    counts: Int32Array

    def taken(self, tables: PushdownTables, needed: int) -> list[tuple[int, int, int]]:
        """Return the entries of the actions taken where a string needs ``needed`` code points before these tokens.

        With each the least and most code points that a token reads before it.
        """
        found, most, action = [], UNLIMITED, self.action
        while action >= 0 and most >= 0:
            least = max(needed - tables.actions.item(action, 3), 0)
            if least <= most:
                found.append((ACTION - action, least, most))
            most, action = least - 1, tables.actions.item(action, 4)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class StayClasses:
    """Results of the tokens that stay on top of a control's stack.

    Attributes
    ----------
    class_of : ndarray[int32], shape (size,)
        Class of each of these tokens, from 1; arbitrary for others.
    ends : tuple of (int, tuple of int, int)
        For each class from 1: the control after its tokens, the cells that they push, and the code points needed after them; negative:
        the number by which they reduce the code points needed before.
    """

    class_of: Int32Array
    ends: tuple[tuple[int, tuple[int, ...], int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Stack-independent part of a control's mask.

    Attributes
    ----------
    stay : ndarray[int32], shape (words,)
        Tokens that do not need the stack.
    counts : ndarray[uint8 or int32], shape (32 words,) or (0,)
        Code points that each of them reads, plus those required after it; empty if not counted.
    most : int
        Their maximum, known even if not counted.
    escapes : ndarray[int32], shape (n, 4)
        Where tokens need the stack: action, trie node, code points read, whether the byte is read again.
    groups : tuple of ActionGroup
        The escapes by action and byte.
    """

    stay: Int32Array
    counts: npt.NDArray[Any]
    most: int
    escapes: Int32Array
    groups: tuple[ActionGroup, ...]

    def is_known_within(self, allowed: int) -> bool:
        """Return whether `within` can be answered from what was counted."""
        return allowed >= self.most or len(self.counts) > 0

    def within(self, allowed: int) -> Int32Array:
        """Return the tokens that stay and fit in ``allowed`` code points, as a new array."""
        if allowed >= self.most:
            return self.stay.copy()
        # PERF: each place of a short string has a number of its own (`python -m benchmarks.maskbench`).
        return self.stay & np.packbits(self.counts <= allowed, bitorder="little").view(np.int32)


def plan_of(
    trie: TokenTrie,
    suffixes: Callable[[int, bool], TokenSuffixes],
    stay: Int32Array,
    counts: Int32Array,
    most: int,
    escapes: Int32Array,
) -> Plan:
    """Build the plan from the result of a walk without a stack."""
    most = max(most, int(escapes[:, 2].max(initial=0)))
    escapes = escapes[np.argsort(escapes[:, 1], kind="stable")]
    kinds = ((2 * escapes[:, 0].astype(np.int64) + escapes[:, 3]) << 8) + trie.byte[escapes[:, 1]]
    _, firsts, kind_of = np.unique(kinds, return_index=True, return_inverse=True)
    groups = []
    for kind in np.argsort(firsts).tolist():
        mine = escapes[kind_of == kind]
        action, node, _, again = mine[0].tolist()
        found = suffixes(trie.byte.item(node), bool(again))
        pairs, owners = found.pairs(mine[:, 1])
        groups.append(ActionGroup(action, found, freeze(pairs), freeze(mine[owners, 2])))
    # PERF: bytes are compared in two thirds of the time (`python -m benchmarks.maskbench`).
    kept = np.zeros(32 * len(stay) if len(counts) else 0, np.uint8 if most < 256 else np.int32)
    kept[: len(counts)] = counts
    return Plan(freeze(stay), freeze(kept), most, freeze(escapes), tuple(groups))
