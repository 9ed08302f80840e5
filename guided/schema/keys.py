"""Keys of objects: all JSON strings, told apart by which declared name they are and which patterns they match.

Names are compared by value, so every spelling of a name is that name. Where no name is declared and no pattern given there is one kind of
key; patterns split it (`guided.schema.strings`, shared by all tables of names), and names are laid over that
(`guided.schema.overlay`). Every name has a label of its own, so all nodes of their trie are different states: where there are no
patterns, nothing has to be minimized.

Complexity: O(bytes of all spellings) and one row for each of their nodes, beside what the patterns take.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical
from guided.kernels import minimize as kernel
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import TRUE, Formulas
from guided.schema.leaf import Leaf
from guided.schema.memo import Memo
from guided.schema.overlay import Overlay, has_one_body, overlay
from guided.schema.spelling import SPELLINGS
from guided.schema.strings import string_automaton, structure

__all__ = ["OTHER", "KeyLabel", "KeyLeaf", "key_automaton"]

# The name of a key that is none of those declared.
OTHER = -1


@dataclass(frozen=True, slots=True)
class KeyLabel:
    """What a key is.

    Attributes
    ----------
    name : int
        Index of the declared name, or `OTHER`.
    patterns : int
        Bit i says that pattern formula i holds of it.
    """

    name: int
    patterns: int


@dataclass(frozen=True, slots=True)
class KeyLeaf:
    """The automaton of all keys.

    Attributes
    ----------
    automaton : Automaton
        Canonical; accepts every body of a JSON string.
    vectors : tuple of KeyLabel
        What each label says. Label 0 is a key that is no declared name and matches no pattern, whether there is one or not.
    """

    automaton: Automaton
    vectors: tuple[KeyLabel, ...]


_SURROGATE = re.compile("[\ud800-\udfff]")
_memo: Memo[KeyLeaf] = Memo(2048, 1 << 25)
_PLAIN = KeyLabel(OTHER, 0)


def key_automaton(
    names: Sequence[str], patterns: Sequence[int], formulas: Formulas, options: JsonOptions, limits: Limits
) -> KeyLeaf:
    """The bodies of all JSON strings, as keys of an object.

    Parameters
    ----------
    names : sequence of str
        Declared names, each once. A name with lone surrogates is no key.
    patterns : sequence of int
        Formulas over atoms of strings.
    options : JsonOptions
        ``escapes`` applies.

    Raises
    ------
    PatternError
        A pattern is malformed, or asks for what no automaton can do.
    LimitError
        A budget is passed.
    """
    key = tuple(names), structure(formulas, patterns) if patterns else (), options.escapes, limits
    found = _memo.get(key)
    if found is None:
        found = _made(names, patterns, formulas, options, limits)
        _memo.put(key, found)
    return found


def _made(
    names: Sequence[str], patterns: Sequence[int], formulas: Formulas, options: JsonOptions, limits: Limits
) -> KeyLeaf:
    base = string_automaton(formulas, (TRUE, *patterns), options, limits)
    start, vectors = (base.automaton, [_PLAIN]) if not patterns else _relabelled(base)
    numbers: Sequence[int] = range(len(names))
    if _SURROGATE.search("".join(names)):
        numbers = [i for i in numbers if not _SURROGATE.search(names[i])]
    if not numbers:
        return KeyLeaf(start, tuple(vectors))
    kept = [names[i] for i in numbers]
    laid = overlay(start, kept, SPELLINGS[options.escapes], limits)
    under = [vectors[label].patterns for label in laid.labels[laid.ends].tolist()]
    laid.labels[laid.ends] = np.arange(len(vectors), len(vectors) + len(numbers))
    vectors += map(KeyLabel, numbers, under)
    if not patterns and has_one_body(kept, options.escapes):
        return KeyLeaf(_numbered(laid), tuple(vectors))
    arrays = laid.table, laid.classes, laid.accepting, laid.labels, laid.start
    return KeyLeaf(Automaton.from_canonical(*canonical(*arrays, is_minimal=not patterns)), tuple(vectors))


def _relabelled(base: Leaf) -> tuple[Automaton, list[KeyLabel]]:
    """The automaton of patterns with labels numbered densely, and what they say."""
    found = base.automaton
    known = np.unique(found.labels[found.accepting])
    numbers = {_PLAIN: 0}
    dense = [numbers.setdefault(KeyLabel(OTHER, base.bits(label)), len(numbers)) for label in known.tolist()]
    labels = np.zeros(found.n_states, np.int32)
    labels[found.accepting] = np.array(dense, np.int32)[np.searchsorted(known, found.labels[found.accepting])]
    return Automaton.from_canonical(found.table, found.classes, found.accepting, labels), list(numbers)


def _numbered(laid: Overlay) -> Automaton:
    """The canonical automaton of names with one spelling each, without patterns, which is minimal already.

    Invariant: every state is reached. No two columns that bytes have are equal: a name's byte leads to a state of its own.
    """
    n = len(laid.table)
    columns = np.array(list(dict.fromkeys(laid.classes.tobytes())), np.int32)
    classes = np.zeros(laid.table.shape[1], np.uint8)
    classes[columns] = np.arange(len(columns))
    order, number = np.empty(n, np.int32), np.full(n, DEAD, np.int32)
    kernel.breadth_first(laid.table, columns, laid.start, order, number)
    table = np.empty((n, len(columns)), np.int32)
    kernel.renumber(laid.table, order, columns, number, table)
    return Automaton.from_canonical(table, classes[laid.classes], laid.accepting[order], laid.labels[order])
