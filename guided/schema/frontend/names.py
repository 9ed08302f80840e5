"""Names of members that no text could enter, refused once all of a schema is lowered.

One automaton reads the names of an object. It distinguishes all that patterns of names about this object match, in whichever schemas they
stand (``allOf``, ``anyOf``, ``if``, ``$ref``), so its size is known only from those that meet (`guided.schema.frontend.meetings`).

Small automata are not built here: those of other names are made when a text needs them (`python -m benchmarks.first_mask`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from guided.errors import LimitError, placed
from guided.limits import Limits
from guided.patterns.anchors import FIRST, LAST
from guided.patterns.tree import Alternate, Chars, Complement, Intersect, Literal, Look, Node, Repeat, fold
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.formula.memo import Memo
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.meetings import Meetings
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.ecma import parse_ecma
from guided.schema.strings.languages import known

__all__ = ["Names", "places_of"]

# What groups and divides alternatives; an alternative that begins with ^ is left out.
_GROUPS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?|\|\^|[()|]", re.DOTALL)
# Edges of each state of an automaton of names, about, beside those of the characters that it tells apart; and how much larger than such a
# guess one may be, also for each letter of names (of 349 automata of two to six real patterns none was).
_PER_CHARACTER, _SMALLER, _PER_LETTER, _HUGE = 60, 2, 8, 1 << 40
# Of an automaton of names, for a step: edges when it is made, cells in the search for a name (`guided.schema.pushdown`).
_EDGES_PER_STEP, _CELLS_PER_STEP = 4, 2_048
# Bytes by which an index grows for each state of an automaton of names: a row of 256 numbers, and a third more for what follows.
_BYTES_OF_STATE = 1_500

# More places than any automaton within the limits follows, and states that are few even for names that several patterns tell apart.
_MANY_SETS, _FEW_STATES, _FEW_ALTERNATIVES = 40, 64, 8
# States of the bytes of a set of characters, and of each of its intervals.
_PER_SET, _PER_INTERVAL = 16, 2

_sizes: Memo[tuple[int, int]] = Memo(4096, 1 << 21)


@dataclass(slots=True)
class Names:
    """The names of a schema's objects.

    Attributes
    ----------
    formulas : Formulas
    meetings : Meetings
    origins : mapping of int to tuple
        Location and keyword of each table and each formula of names.
    options : JsonOptions
    limits : Limits
    """

    formulas: Formulas
    meetings: Meetings
    origins: Mapping[int, Location]
    options: JsonOptions
    limits: Limits

    def check(self, root: int, tables: Iterable[int]) -> None:
        """Raise for names of an object whose automaton is so large that no text could contain one.

        ``tables``: the atoms that compare names with formulas of strings.

        Raises
        ------
        LimitError
            Its states need more than ``growth_bytes``, or a call that enters it more than ``call_steps``; or see `string_automaton`.
        """
        nodes = self.formulas.nodes
        # Why all letters: names of a table without patterns may meet the patterns of another one.
        if self._is_small(tables, _letters(nodes, range(len(nodes)))):
            return
        checked: set[tuple[int, ...]] = set()
        for _, parts, _ in self.meetings.of(root):
            tables = sorted(part for part in parts if nodes[part][0] in ("properties", "propertyNames"))
            if tuple(tables) not in checked:
                checked.add(tuple(tables))
                self._check(tables)

    def _is_small(self, tables: Iterable[int], n_letters: int) -> bool:
        of_tables = dict.fromkeys(formula for table in tables for formula in self._distinguished(table))
        atoms = dict.fromkeys(atom for formula in of_tables for atom in self.formulas.atoms(formula))
        # Why added: a listed text stands in one state of each pattern.
        n_letters += sum(len(text) for atom in atoms if atom[0] == "strings" for text in atom[1])
        left, n_states, n_kinds = self.limits.call_steps - _PER_LETTER * n_letters, _SMALLER, _PER_CHARACTER
        # Why in order: of thousands of patterns a few are read.
        for atom in atoms:
            states, kinds = _size(atom, self.limits)
            n_states, n_kinds = n_states * max(1, states), n_kinds + kinds
            if n_states * n_kinds > left:
                return False
        return n_states * n_kinds <= left

    def _distinguished(self, table: int) -> list[int]:
        """Return the formulas of strings that a table compares names with."""
        formulas, (kind, content, *more) = self.formulas, self.formulas.nodes[table]
        if kind == "properties":
            return [formulas.atom(("pattern", source)) for source, _ in more[0]]
        return [atom[1] for atom in self.meetings.atoms(content) if atom[0] == "string"]

    def _place(self, table: int) -> str:
        at, keyword = self.origins.get(table, ((), "additionalProperties"))
        return f"{pointer_of(at)}/{'patternProperties' if keyword == 'properties' else keyword}"

    def _check(self, tables: Sequence[int]) -> None:
        formulas = self.formulas
        distinguished = dict.fromkeys(formula for table in tables for formula in self._distinguished(table))
        if not distinguished or self._is_small(tables, _letters(formulas.nodes, tables)):
            return
        place = " and ".join(dict.fromkeys(self._place(table) for table in tables if self._distinguished(table)))
        before = formulas.steps.spent
        with placed(place):
            leaf = string_automaton(formulas, (TRUE, *distinguished), self.options, self.limits)
        table = np.sort(leaf.automaton.table, axis=1)
        n_targets = 1 + (np.diff(table, axis=1) != 0).sum(axis=1)
        n_in_names = len({name[:end] for name in _names(formulas.nodes, tables) for end in range(len(name))})
        n_states = len(table) + n_in_names
        # A state within a name leads to the next letter, and to what all other names lead to.
        n_edges = int(n_targets.sum() + n_in_names * (1 + n_targets.max()))
        # Why labels: a completion may look for the shortest name of each.
        n_labels = len(np.unique(leaf.automaton.labels[leaf.automaton.accepting])) + sum(
            1 for _ in _names(formulas.nodes, tables)
        )
        n_cells = n_labels * n_states * table.shape[1]
        n_steps = formulas.steps.spent - before + n_states + n_edges // _EDGES_PER_STEP + n_cells // _CELLS_PER_STEP
        advice = f"the names at {place} need too large an automaton: use fewer or shorter ones, lower counts, no format email or hostname"
        if _BYTES_OF_STATE * n_states > self.limits.growth_bytes:
            raise LimitError("growth_bytes", _BYTES_OF_STATE * n_states, self.limits.growth_bytes, advice)
        if n_steps > self.limits.call_steps:
            raise LimitError("call_steps", n_steps, self.limits.call_steps, advice)


class Places(NamedTuple):
    """What says how many places of a pattern may be followed at once.

    Attributes
    ----------
    states : int
        States of the pattern, with its repeats written out.
    counts : int
        Product of those of its bounded repeats.
    sets : int
        Places that one of several characters leaves, besides those that a loop passes.
    has_loop : bool
    spelled : int
        States of the pattern, about, where its characters are written as bytes, some of them as escapes.
    """

    states: int
    counts: int = 1
    sets: int = 0
    has_loop: bool = False
    spelled: int = 0

    def at_once(self, source: str) -> int:
        """Return how many sets of places a text may lead to, about: an automaton with one state for each is much larger than the pattern.

        The automata of other patterns are made when a text needs them (`python -m benchmarks.first_mask`).
        """
        if not self.sets or not (self.has_loop or not _is_anchored(source)):
            return self.counts
        # Where a match may begin anywhere, or a loop continues, each place behind may be followed or not.
        return self.counts << min(1 + self.sets, _MANY_SETS)


# The fields of no parts.
_NO_PARTS: tuple[tuple[Any, ...], ...] = ((),) * len(Places._fields)


def places_of(tree: Node) -> Places:
    """Return the places of a pattern."""
    return fold(tree, _places)


def _places(node: Node, parts: Sequence[Places]) -> Places:
    match node:
        case Literal(text):
            return Places(len(text), spelled=_PER_SET * len(text))
        case Chars(charset):
            ranges = charset.ranges
            sets = int(len(ranges) > 1 or any(low < high for low, high in ranges))
            return Places(1, sets=sets, spelled=_PER_SET + _PER_INTERVAL * len(ranges))
    each_states, each_counts, each_sets, each_loop, each_spelled = zip(*parts, strict=True) if parts else _NO_PARTS
    states, counts, sets = sum(each_states), _product(each_counts), sum(each_sets)
    has_loop, spelled = any(each_loop), sum(each_spelled)
    match node:
        case Alternate():
            counts, sets = max(each_counts), 1 + max(each_sets)
            # Many alternatives with sets may be followed at once, too.
            several = len(each_sets) - each_sets.count(0)
            counts <<= min(several, _MANY_SETS) if several > _FEW_ALTERNATIVES else 0
        case Repeat(_, least, most):
            copies = max(1, least, most or 0)
            spelled = min(spelled * copies, _HUGE)
            states, sets = states * copies, sets * (least - 1 if most is None else copies)
            counts *= states if most is not None and copies > max(1, least) else 1
            has_loop |= most is None
        case Look():
            has_loop |= node not in (FIRST, LAST)
    return Places(min(states, _HUGE), min(counts, _HUGE), max(0, min(sets, _HUGE)), has_loop, spelled)


def _is_anchored(source: str) -> bool:
    """Return whether each alternative of a pattern begins with ``^``."""
    depth, is_anchored = 0, source.startswith("^")
    for found in _GROUPS.finditer(source):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        is_anchored &= depth > 0 or found[0] != "|"
    return is_anchored


def _names(nodes: Sequence[tuple[Any, ...]], tables: Iterable[int]) -> Iterator[str]:
    return (name for table in tables if nodes[table][0] == "properties" for name, _ in nodes[table][1])


def _letters(nodes: Sequence[tuple[Any, ...]], tables: Iterable[int]) -> int:
    return sum(map(len, _names(nodes, tables)))


def _size(atom: tuple[Any, ...], limits: Limits) -> tuple[int, int]:
    """Return about how many states the automaton of an atom of strings has, and how many kinds of characters it tells apart."""
    match atom:
        case ("pattern", source):
            found = _sizes.get((source, limits))
            if found is None:
                tree = parse_ecma(source, limits)
                states, kinds = fold(tree, _size_of)
                if places_of(tree).at_once(source) > max(states, _FEW_STATES):
                    states = max(states, len(known(("pattern", source), limits, limits.steps).dfa.table))
                found = 1 + states, kinds
                _sizes.put((source, limits), found)
            return found
        case ("format", _):
            n_states, n_kinds = known(atom, limits, limits.steps).dfa.table.shape
            return n_states, n_kinds
        case ("length", least, most):
            return 1 + int(max(1, least, most)), 0
        case _:
            return 1, 0


def _size_of(node: Node, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    kinds = sum(kinds for _, kinds in parts)
    match node:
        case Literal(text):
            return len(text), len(text)
        case Chars(charset):
            return 1, 1 + len(charset.ranges)
        case Repeat(_, least, most):
            states = parts[0][0] * max(1, least, most or 0)
        case Intersect() | Complement():
            states = _product(states for states, _ in parts)
        case _:
            states = sum(states for states, _ in parts)
    return min(states, _HUGE), kinds


def _product(sizes: Iterable[int]) -> int:
    found = 1
    for size in sizes:
        found = min(found * max(1, size), _HUGE)
    return found
