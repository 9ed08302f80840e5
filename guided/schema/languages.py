"""What one atom says about strings, as an automaton over classes of characters: patterns, formats, lengths.

All are regular languages of values; nothing here knows bytes or JSON. Atoms that list strings are no business of this module.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray
from guided.automata.build import over_characters, spend_together
from guided.automata.determinize import CharDFA
from guided.automata.minimize import minimal
from guided.automata.partition import INVALID, partition
from guided.automata.product import char_intersection
from guided.automata.steps import Steps
from guided.errors import LimitError, shown
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Complement, Intersect, Node
from guided.patterns.width import max_width, min_width
from guided.schema.ecma import ecma_tree
from guided.schema.formats import FORMATS
from guided.schema.formats.kept import Kept, kept
from guided.schema.formula import Atom
from guided.schema.memo import Memo

__all__ = [
    "ANY_LENGTH",
    "Known",
    "complement",
    "known",
    "named",
    "nothing",
    "of_format",
    "of_tree",
    "steps_of",
    "tree_of",
    "truth",
]

# No greatest length.
ANY_LENGTH = -1


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """An atom's language.

    Attributes
    ----------
    dfa : CharDFA
        Its minimal automaton; no edge by a class without characters.
    steps : int
        What it took to build.
    """

    dfa: CharDFA
    steps: int = 0


_memo: Memo[Known] = Memo(2048, 1 << 25)
_widths: Memo[tuple[int, int | None]] = Memo(2048, 1 << 20)
_USUAL = Limits()


def known(atom: Atom, limits: Limits) -> Known:
    """The strings of which an atom holds. Within `guided.automata.build.one_budget` its steps count each time.

    Raises
    ------
    PatternError
        A pattern is malformed.
    LimitError
        A budget is passed.
    """
    key = atom, limits
    found = _memo.get(key)
    if found is not None:
        spend_together(found.steps)
        return found
    if atom[0] == "length":
        return _memo.put(key, Known(_length(atom[1], atom[2], limits)))
    data = _kept(atom, limits)
    if data is not None:
        made = Known(data.dfa, data.steps)
    else:
        steps = Steps(limits.steps)
        made = Known(of_tree(tree_of(atom, limits), limits, steps), steps.spent)
    spend_together(made.steps)
    return _memo.put(key, made)


def of_format(name: str) -> Kept:
    """A format, built from its tree, for the usual limits."""
    tree, steps = FORMATS[name](), Steps(_USUAL.steps)
    dfa = of_tree(tree, _USUAL, steps)
    return Kept(dfa, (min_width(tree), max_width(tree)), steps.spent)


def _kept(atom: Atom, limits: Limits) -> Kept | None:
    return kept(atom[1]) if atom[0] == "format" and limits == _USUAL else None


def has_lengths(atom: Atom, least: int, most: int, limits: Limits) -> bool:
    """Are all texts of a pattern or a format certainly of ``least`` to ``most`` characters?"""
    key = atom, limits
    found = _widths.get(key)
    if found is None:
        data = _kept(atom, limits)
        if data is not None:
            found = data.widths
        else:
            tree = tree_of(atom, limits)
            found = min_width(tree), max_width(tree)
        _widths.put(key, found)
    narrowest, widest = found
    return narrowest >= least and (most == ANY_LENGTH or (widest is not None and widest <= most))


def steps_of(atom: Atom, limits: Limits) -> int:
    """What `known` counted for an atom that it has made."""
    found = _memo.get((atom, limits))
    return 0 if found is None else found.steps


def complement(dfa: CharDFA) -> CharDFA:
    """All other strings."""
    n, k = dfa.table.shape
    table = np.full((n + 1, k), n, np.int32)
    table[:n] = np.where(dfa.table >= 0, dfa.table, n)
    # Why: an edge by no character at all would keep states alive that nothing reaches.
    has_members = np.bincount(dfa.partition.classes[dfa.partition.classes >= 0], minlength=k) > 0
    table[:, ~has_members] = DEAD
    table, accepting, _ = minimal(table, np.append(~dfa.accepting, True), np.zeros(n + 1, np.int32))
    return CharDFA(table, accepting, dfa.partition)


def truth(dfa: CharDFA, texts: Sequence[str]) -> BoolArray:
    """Which texts an automaton accepts. O(characters)."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    classes = dfa.partition.classes[np.searchsorted(dfa.partition.starts, points, side="right") - 1].tolist()
    onward, accepting = dfa.table.item, dfa.accepting.tolist()
    found = np.zeros(len(texts), np.bool_)
    end = 0
    for i, text in enumerate(texts):
        begin, end = end, end + len(text)
        state = 0
        for read in classes[begin:end]:
            state = onward(state, read) if read != INVALID else DEAD
            if state < 0:
                break
        found[i] = state >= 0 and accepting[state]
    return found


def named(atom: Atom) -> str:
    """An atom, for messages."""
    if atom[0] == "length":
        return f"length {atom[1]} to {'any' if atom[2] == ANY_LENGTH else atom[2]}"
    return f"{atom[0]} {shown(atom[1])}"


def nothing() -> CharDFA:
    """No string."""
    parts = partition([Charset.UNIVERSE])
    return CharDFA(np.full((1, parts.n_classes), DEAD, np.int32), np.zeros(1, np.bool_), parts)


def tree_of(atom: Atom, limits: Limits) -> Node:
    """The tree of a pattern's or a format's texts.

    Raises
    ------
    PatternError, LimitError
        As `known`, for a pattern.
    """
    match atom[0]:
        case "pattern":
            return ecma_tree(atom[1], limits)
        case "format":
            return FORMATS[atom[1]]()
        case _:
            raise ValueError(f"no regular property of strings: {shown(atom)}")


def of_tree(tree: Node, limits: Limits, steps: Steps) -> CharDFA:
    """The minimal automaton of a tree; intersections at its top are products at once, without a way through operands."""
    items = tree.items if isinstance(tree, Intersect) else (tree,)
    found = None
    for item in items:
        is_other = isinstance(item, Complement)
        dfa = over_characters(item.item if isinstance(item, Complement) else item, limits, steps)
        table, accepting, _ = minimal(dfa.table, dfa.accepting, np.zeros(len(dfa.table), np.int32))
        dfa = CharDFA(table, accepting, dfa.partition)
        dfa = complement(dfa) if is_other else dfa
        found = dfa if found is None else char_intersection(found, dfa, limits)
    assert found is not None
    return found


def _length(least: int, most: int, limits: Limits) -> CharDFA:
    """Strings of some lengths."""
    n = (least if most == ANY_LENGTH else most) + 1
    if n > limits.states:
        raise LimitError("states", n, limits.states, f"length {most if most != ANY_LENGTH else least}")
    parts = partition([Charset.UNIVERSE])
    table = np.full((n, parts.n_classes), DEAD, np.int32)
    onward = np.append(np.arange(1, n), n - 1 if most == ANY_LENGTH else DEAD).astype(np.int32)
    table[:, parts.set_classes] = onward[:, None]
    return CharDFA(table, np.arange(n) >= least, parts)
