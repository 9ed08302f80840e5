"""The automaton of an object's keys: all JSON strings, labeled by the declared name they equal and the patterns they match.

Names are compared by value, so every spelling of a name has the same label. The automaton starts from the one of the patterns
(`guided.schema.strings.automaton`, shared by all sets of names), and the trie of the names is overlaid on it
(`guided.schema.strings.overlay`). Each name has its own label, so all nodes of the trie are distinct states, and without patterns no
minimization is needed.

Complexity: O(bytes of all spellings) and one row for each trie node, plus the cost of the patterns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical
from guided.kernels import minimize as kernel
from guided.limits import Limits
from guided.patterns.charset import SURROGATE
from guided.schema.formula.atoms import AFTER_NAME, NAMES, JsonOptions, Notation
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.formula.memo import Memo
from guided.schema.strings.automaton import string_automaton, structure
from guided.schema.strings.labeled import Labeled
from guided.schema.strings.overlay import Overlay, has_one_body, overlay
from guided.schema.strings.spelling import spelling_of, unwritable

__all__ = ["OTHER", "KeyLabel", "KeyLeaf", "key_automaton", "unquoted"]

# The name index of undeclared keys.
OTHER = -1


class KeyLabel(NamedTuple):
    """A class of keys.

    Attributes
    ----------
    name : int
        Index of the declared name, or `OTHER`.
    patterns : int
        Bit i is set if pattern formula i holds for the key.
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
        The meaning of each label. Label 0 means an undeclared name that matches no pattern; it always exists, even if no key has it.
    """

    automaton: Automaton
    vectors: tuple[KeyLabel, ...]


_memo: Memo[KeyLeaf] = Memo(2048, 1 << 25)
_PLAIN = KeyLabel(OTHER, 0)


def key_automaton(
    names: Sequence[str], patterns: Sequence[int], formulas: Formulas, options: JsonOptions, limits: Limits
) -> KeyLeaf:
    """Build the automaton of the bodies of all JSON strings, labeled as keys of an object.

    Parameters
    ----------
    names : sequence of str
        Declared names, each once. Names with lone surrogates are ignored.
    patterns : sequence of int
        Formulas over atoms of strings.
    options : JsonOptions
        ``escapes`` and ``quote`` apply.

    Raises
    ------
    PatternError
        A pattern is malformed, or uses a feature that no automaton can express.
    LimitError
        A budget is exceeded.
    """
    key = tuple(names), structure(formulas, patterns) if patterns else (), options.notation or options.spelling, limits
    found = _memo.get(key)
    if found is None:
        found = _made(names, patterns, formulas, options, limits)
        _memo.put(key, found)
    return found


def _made(
    names: Sequence[str], patterns: Sequence[int], formulas: Formulas, options: JsonOptions, limits: Limits
) -> KeyLeaf:
    if options.notation is not None:
        written = formulas.conjunction(map(formulas.atom, NAMES))
        return unquoted(names, patterns, written, AFTER_NAME, formulas, options, limits)
    lost = unwritable(options.spelling)
    written = formulas.atom(("without", lost)) if lost else TRUE
    base = string_automaton(formulas, (written, *patterns), options, limits)
    start, vectors = (base.automaton, [_PLAIN]) if not patterns else _relabelled(base)
    numbers: Sequence[int] = range(len(names))
    if SURROGATE.search("".join(names)):
        numbers = [i for i in numbers if not SURROGATE.search(names[i])]
    if lost:
        numbers = [i for i in numbers if set(lost).isdisjoint(names[i])]
    return _overlaid(start, vectors, names, numbers, options.spelling, limits, is_minimal=not patterns)


def unquoted(
    names: Sequence[str],
    patterns: Sequence[int],
    written: int,
    end: str,
    formulas: Formulas,
    options: JsonOptions,
    limits: Limits,
) -> KeyLeaf:
    """Build the automaton of keys without quotes that satisfy the formula ``written``; the character ``end`` follows them.

    None of them contains a character that JSON escapes.
    """
    base = string_automaton(formulas, (written, *patterns), options, limits, Notation("", end))
    start, vectors = _relabelled(base)
    numbers = [i for i, name in enumerate(names) if not SURROGATE.search(name) and start.accepts(name)]
    return _overlaid(start, vectors, names, numbers, "canonical", limits, is_minimal=not patterns)


def _overlaid(
    start: Automaton,
    vectors: list[KeyLabel],
    names: Sequence[str],
    numbers: Sequence[int],
    escapes: str | tuple[str, ...],
    limits: Limits,
    *,
    is_minimal: bool,
) -> KeyLeaf:
    """Overlay the names with these numbers on the automaton of other keys, whose labels have these meanings.

    ``is_minimal``: the automaton is minimal without the labels, and so is the result.
    """
    # Names that cannot be written have labels that no state has.
    left_out = [KeyLabel(i, 0) for i in sorted({*range(len(names))}.difference(numbers))]
    if not numbers:
        return KeyLeaf(start, (*vectors, *left_out))
    kept = [names[i] for i in numbers]
    laid = overlay(start, kept, spelling_of(escapes), limits)
    under = [vectors[label].patterns for label in laid.labels[laid.ends].tolist()]
    laid.labels[laid.ends] = np.arange(len(vectors), len(vectors) + len(numbers))
    vectors = [*vectors, *map(KeyLabel, numbers, under), *left_out]
    if is_minimal and has_one_body(kept, escapes):
        return KeyLeaf(_numbered(laid), tuple(vectors))
    arrays = laid.table, laid.classes, laid.accepting, laid.labels, laid.start
    return KeyLeaf(Automaton(*canonical(*arrays, is_minimal=is_minimal)), tuple(vectors))


def _relabelled(base: Labeled) -> tuple[Automaton, list[KeyLabel]]:
    """Return the automaton of the patterns with densely numbered labels, and the meaning of each label."""
    found = base.automaton
    known = np.unique(found.labels[found.accepting])
    numbers = {_PLAIN: 0}
    dense = [numbers.setdefault(KeyLabel(OTHER, base.bits(label)), len(numbers)) for label in known.tolist()]
    labels = np.zeros(found.n_states, np.int32)
    labels[found.accepting] = np.array(dense, np.int32)[np.searchsorted(known, found.labels[found.accepting])]
    return Automaton(found.table, found.classes, found.accepting, labels), list(numbers)


def _numbered(laid: Overlay) -> Automaton:
    """Return the canonical automaton of names with one spelling each and no patterns; it is already minimal.

    Invariant: every state is reachable, and no two used columns are equal, since each byte of a name leads to its own state.
    """
    n = len(laid.table)
    columns = np.array(list(dict.fromkeys(laid.classes.tobytes())), np.int32)
    classes = np.zeros(laid.table.shape[1], np.uint8)
    classes[columns] = np.arange(len(columns))
    order, number = np.empty(n, np.int32), np.full(n, DEAD, np.int32)
    kernel.breadth_first(laid.table, columns, laid.start, order, number)
    table = np.empty((n, len(columns)), np.int32)
    kernel.renumber(laid.table, order, columns, number, table)
    return Automaton(table, classes[laid.classes], laid.accepting[order], laid.labels[order])
