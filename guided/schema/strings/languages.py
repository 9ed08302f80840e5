"""Languages of single string atoms (patterns, formats, lengths) as automata over classes of characters.

All are regular languages of values, independent of bytes and JSON. Not handled here: atoms that list strings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.build import over_characters, spend_together
from guided.automata.determinize import CharDFA
from guided.automata.partition import INVALID, Partition, partition
from guided.automata.product import minimized
from guided.automata.steps import Steps
from guided.errors import LimitError, shown
from guided.limits import Limits
from guided.patterns.bounds import max_width, min_width
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Complement, Literal, Node, alternate, concat, repeat
from guided.schema.formats import FORMATS
from guided.schema.formats.stored import StoredAutomaton, stored
from guided.schema.formula.formulas import Atom
from guided.schema.formula.memo import Memo
from guided.schema.strings.ecma import ecma_tree

__all__ = [
    "ANY_LENGTH",
    "AtomLanguage",
    "final_states",
    "known",
    "named",
    "nothing",
    "of_format",
    "of_tree",
    "steps_of",
    "tree_of",
    "truth",
]

_ANYTHING = repeat(Chars(Charset.UNIVERSE))
# No maximum length.
ANY_LENGTH = -1


@dataclass(frozen=True, slots=True, eq=False)
class AtomLanguage:
    """An atom's language.

    Attributes
    ----------
    dfa : CharDFA
        Minimal; without edges by classes that contain no characters.
    steps : int
        Steps that building it took, or entries of the table if it is stored.
    """

    dfa: CharDFA
    steps: int = 0


_memo: Memo[AtomLanguage] = Memo(8192, 1 << 25)
_widths: Memo[tuple[int, int | None]] = Memo(2048, 1 << 20)
# Up to this many texts are read one after the other.
_READ_SINGLY = 16


def known(atom: Atom, limits: Limits, most: int | None = None) -> AtomLanguage:
    """Return the strings that satisfy an atom. Within `guided.automata.build.in_one_budget` its steps count each time.

    ``most``: steps that are left for it, if fewer than `Limits.steps`.

    Raises
    ------
    PatternError
        A pattern is malformed.
    LimitError
        A budget is exceeded.
    """
    key = atom, limits
    found = _memo.get(key)
    if found is not None:
        spend_together(found.steps)
        return found
    if atom[0] == "length":
        return _memo.put(key, AtomLanguage(_length(atom[1], atom[2], limits)))
    steps = Steps(limits.steps if most is None else min(limits.steps, most))
    data = _kept(atom, limits)
    if data is None:
        dfa = of_tree(tree_of(atom, limits), limits, steps)
    else:
        dfa = data.dfa
        steps.spend(dfa.table.size, "the automaton of a format has too many edges")
    spend_together(steps.spent)
    return _memo.put(key, AtomLanguage(dfa, steps.spent))


def of_format(name: str) -> StoredAutomaton:
    """Return a format built from its tree, for the default limits."""
    tree, limits = FORMATS[name](), Limits()
    return StoredAutomaton(of_tree(tree, limits, Steps(limits.steps)), (min_width(tree), max_width(tree)))


def _kept(atom: Atom, limits: Limits) -> StoredAutomaton | None:
    found = stored(atom[1]) if atom[0] == "format" else None
    return found if found is not None and len(found.dfa.table) <= limits.states else None


def has_lengths(atom: Atom, least: int, most: int, limits: Limits) -> bool:
    """Return whether all texts of a pattern or format certainly have ``least`` to ``most`` characters."""
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
    """Return the steps that `known` counted for an atom it has built."""
    found = _memo.get((atom, limits))
    return 0 if found is None else found.steps


def truth(dfa: CharDFA, texts: Sequence[str]) -> BoolArray:
    """Return which texts an automaton accepts. O(characters)."""
    states = final_states(dfa.table, dfa.partition, texts)
    found: BoolArray = (states >= 0) & dfa.accepting[states]
    return found


def final_states(table: Int32Array, parts: Partition, texts: Sequence[str]) -> Int32Array:
    """Return the state after each text, or DEAD. O(characters).

    Where there are many texts, all take a step together; a few long ones are read one after the other.
    """
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    classes = parts.classes[np.searchsorted(parts.starts, points, side="right") - 1]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    begins = np.cumsum(lengths) - lengths
    states = np.zeros(len(texts), np.int32)
    at, left = 0, np.flatnonzero(lengths)
    while len(left) > _READ_SINGLY:
        read = classes[begins[left] + at]
        after = np.where(read != INVALID, table[states[left], read], DEAD)
        states[left] = after
        at += 1
        left = left[(after >= 0) & (lengths[left] > at)]
    onward = table.item
    for i in left.tolist():
        begin, end = begins.item(i), begins.item(i) + lengths.item(i)
        state = states.item(i)
        for number in classes[begin + at : end].tolist():
            state = onward(state, number) if number != INVALID else DEAD
            if state < 0:
                break
        states[i] = state
    return states


def named(atom: Atom) -> str:
    """Return an atom for messages."""
    if atom[0] == "length":
        return f"length {atom[1]} to {'any' if atom[2] == ANY_LENGTH else atom[2]}"
    return f"{atom[0]} {shown(atom[1])}"


def nothing() -> CharDFA:
    """Return the empty language."""
    parts = partition([Charset.UNIVERSE])
    return CharDFA(np.full((1, parts.n_classes), DEAD, np.int32), np.zeros(1, np.bool_), parts)


def tree_of(atom: Atom, limits: Limits) -> Node:
    """Return the tree of a pattern's or a format's texts.

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
        case "strings":
            return alternate(map(Literal, atom[1]))
        case "without":
            held = alternate(map(Literal, atom[1]))
            return Complement(concat([_ANYTHING, held, _ANYTHING]))
        case "beside":
            return Complement(concat([alternate(map(Literal, atom[1])), _ANYTHING]))
        case "texts":
            texts: Node = atom[1].tree
            return texts
        case _:
            raise ValueError(f"not a regular property of strings: {shown(atom)}")


def of_tree(tree: Node, limits: Limits, steps: Steps) -> CharDFA:
    """Return the minimal automaton of a tree."""
    return minimized(over_characters(tree, limits, steps))


def _length(least: int, most: int, limits: Limits) -> CharDFA:
    """Return the strings of some lengths."""
    n = (least if most == ANY_LENGTH else most) + 1
    if n > limits.states:
        raise LimitError("states", n, limits.states, f"length {most if most != ANY_LENGTH else least}")
    parts = partition([Charset.UNIVERSE])
    table = np.full((n, parts.n_classes), DEAD, np.int32)
    onward = np.append(np.arange(1, n), n - 1 if most == ANY_LENGTH else DEAD).astype(np.int32)
    table[:, parts.set_classes] = onward[:, None]
    return CharDFA(table, np.arange(n) >= least, parts)
