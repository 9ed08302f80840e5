"""The way from a pattern tree, or a list of strings, to its `Automaton`."""

from collections.abc import Iterable
from functools import partial
from itertools import accumulate

import numpy as np

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.determinize import CharDFA, determinize
from guided.automata.lookaround import determinize_with_assertions
from guided.automata.nfa import Operand, build_nfa
from guided.automata.operands import lower_operands
from guided.automata.partition import partition
from guided.errors import LimitError
from guided.kernels.acyclic import merge_suffixes
from guided.kernels.trie import build_trie
from guided.limits import Limits
from guided.patterns.tree import Intersect, Node

__all__ = ["as_operand", "from_strings", "from_tree"]


def from_tree(tree: Node, limits: Limits | None = None) -> Automaton:
    """The automaton of the texts that a pattern tree matches from end to end.

    Raises
    ------
    LimitError
        A budget of ``limits`` is passed.

    Notes
    -----
    Thompson's construction, subset construction over classes of characters (with obligations where there are assertions),
    Hopcroft's minimization, expansion to UTF-8. Exponential in the worst case, within the budgets.
    """
    bounds = limits or Limits()
    characters = partial(_over_characters, limits=bounds)
    return Automaton.from_characters(characters(lower_operands(tree, characters, bounds)), bounds)


def as_operand(tree: Node, limits: Limits | None = None) -> Operand:
    """A pattern tree as one node: its minimal automaton over characters, a language of its own.

    Raises
    ------
    LimitError
        A budget of ``limits`` is passed.
    """
    bounds = limits or Limits()
    found = lower_operands(Intersect((tree,)), partial(_over_characters, limits=bounds), bounds)
    assert isinstance(found, Operand)
    return found


def _over_characters(tree: Node, limits: Limits) -> CharDFA:
    nfa = build_nfa(tree, limits)
    parts = partition(nfa.charsets)
    if nfa.assertions:
        return determinize_with_assertions(nfa, parts, limits)
    return determinize(nfa, parts, limits)


def from_strings(strings: Iterable[bytes], limits: Limits | None = None) -> Automaton:
    """The automaton of a finite set of byte strings. Linear in their bytes after a sort.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` is passed.
    """
    bounds = limits or Limits()
    ordered = sorted(set(strings))
    has_empty = bool(ordered) and not ordered[0]
    spelled = ordered[1:] if has_empty else ordered
    data = np.frombuffer(b"".join(spelled), np.uint8)
    offsets = np.fromiter(accumulate(map(len, spelled), initial=0), np.int64, len(spelled) + 1)
    size = len(data)
    byte, depth, skip = np.empty(size, np.uint8), np.empty(size, np.int32), np.empty(size, np.int32)
    ends = np.empty(len(spelled), np.int32)
    n = int(build_trie(data, offsets, byte, depth, skip, ends, np.empty(max(map(len, spelled), default=0), np.int32)))
    # The root becomes node 0, so that its subtree is numbered like any other.
    rooted_byte, rooted_skip = np.zeros(n + 1, np.uint8), np.empty(n + 1, np.int32)
    rooted_byte[1:], rooted_skip[1:], rooted_skip[0] = byte[:n], skip[:n] + 1, n + 1
    final = np.zeros(n + 1, np.bool_)
    final[ends + 1] = True
    final[0] = has_empty
    block, representative = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    slots = np.full(1 << (2 * n + 4).bit_length(), -1, np.int32)
    count = merge_suffixes(rooted_byte, rooted_skip, final, block, representative, np.empty(n + 1, np.uint64), slots)
    used = np.unique(rooted_byte[1:])
    classes = np.full(256, len(used), np.uint8 if len(used) < 256 else np.int64)
    classes[used] = np.arange(len(used))
    if count > bounds.states:
        raise LimitError("states", int(count), bounds.states)
    if count * (len(used) + 1) > bounds.transitions:
        raise LimitError("transitions", int(count) * (len(used) + 1), bounds.transitions)
    table = np.full((count, len(used) + 1), DEAD, np.int32)
    parent = _parents(depth[:n])
    is_kept = np.zeros(n + 1, np.bool_)
    is_kept[representative[:count]] = True
    edges = np.flatnonzero(is_kept[parent])
    table[block[parent[edges]], classes[rooted_byte[edges + 1]]] = block[edges + 1]
    return Automaton.from_table(table, classes.astype(np.uint8), final[representative[:count]], start=int(block[0]))


def _parents(depth: "np.ndarray[tuple[int], np.dtype[np.int32]]") -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Parent of each node of a preorder trie, counting the root as node 0 (so node i is i + 1)."""
    # The parent of a node at depth d is the last node before it at depth d - 1.
    parent = np.zeros(len(depth), np.int64)
    last = np.zeros(int(depth.max(initial=-1)) + 2, np.int64)
    for i, d in enumerate(depth.tolist()):
        parent[i] = last[d]
        last[d + 1] = i + 1
    return parent
