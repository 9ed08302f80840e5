"""Key tables: the classes of keys that an object distinguishes, and all that is asked of them.

A *label* is the number of a class of keys. Each declared name has its own label. All other names share one label or, with patterns, one for
each set of patterns that such a name can match. Sets of names are bit sets: bit i is name i of the object's `KeyTable`.
"""

import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count, repeat
from typing import cast

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.nearest import shortest_by_label
from guided.caching import cached_property
from guided.errors import LimitError
from guided.schema.formula.atoms import NAMES, Arguments, QuoteMark
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.strings.counting import enumerate_by_truths
from guided.schema.strings.notation import is_name
from guided.schema.strings.overlay import EXCHANGED, has_one_body, shortest_body, spellings_of
from guided.schema.strings.spelling import CANONICAL
from guided.schema.values.keys import OTHER, KeyLeaf, key_automaton, unquoted
from guided.schema.values.leaves import Leaves

__all__ = ["ALWAYS", "NEVER", "OTHER", "KeyTable", "KeyTables", "pattern_formula", "value_of"]

ALWAYS, NEVER = -2, -1
# Names compared per step, and patterns.
_NAMES_PER_STEP, _PATTERNS_PER_STEP = 16, 64


@dataclass(eq=False)
class KeyTable:
    """The classes of keys of an object.

    Attributes
    ----------
    tables : KeyTables
        All tables of the schema.
    names : tuple of str
        Declared names: those of ``properties`` atoms in schema order, then names that are only required.
    n_ordered : int
        Number of leading names that come in this order.
    patterns : tuple of int
        Formulas of strings that distinguish keys.
    labels : tuple of (int, int)
        For each label: index of the name (`OTHER`: none), and bits of the patterns that match.
    spellable : frozenset of int
        Labels that at least one spellable key has.
    index_of : mapping of str to int
        Index of each name.
    pattern_index_of : dict of int to int
        Position of each formula of names among the patterns, or `ALWAYS` or `NEVER`.
    automaton : Automaton or None
        The keys, with their labels; None if there are no patterns and ``spellings`` holds the names instead.
    spellings : tuple of tuple of bytes
        The spellings of each name if there is no automaton.
    other_labels : int
        Labels of undeclared names, as bits.
    """

    tables: "KeyTables"
    names: tuple[str, ...]
    n_ordered: int
    patterns: tuple[int, ...]
    labels: tuple[tuple[int, int], ...]
    spellable: frozenset[int]
    index_of: Mapping[str, int]
    pattern_index_of: dict[int, int]
    automaton: Automaton | None
    spellings: tuple[tuple[bytes, ...], ...]
    other_labels: int = field(init=False)
    # Label of the first name, and of each name; empty if the labels of the names follow each other.
    _first: int = field(init=False)
    _label_of: tuple[int, ...] = field(init=False)
    # Between single quotes.
    _single: Automaton | None = field(init=False, default=None)
    # By part, a ``properties`` or ``propertyNames`` atom.
    _required: dict[int, list[int]] = field(init=False, default_factory=dict)
    _limited: dict[int, frozenset[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        of_label = [name for name, _ in self.labels]
        label_of = dict(zip(of_label, range(len(of_label)), strict=True))
        found = tuple(map(label_of.get, range(len(self.names)), repeat(-1)))
        self.other_labels = sum([1 << label for label, name in enumerate(of_label) if name == OTHER])
        self._first = first = found[0] if found else 1
        self._label_of = () if found == tuple(range(first, first + len(found))) else found

    def labels_of(self, names: int) -> int:
        """Return the labels of a set of names, as bits."""
        if not self._label_of:
            return names << self._first
        found = 0
        while names:
            name = (names & -names).bit_length() - 1
            label = self._label_of[name]
            # Why the test: a name with a lone surrogate has no label.
            found |= 1 << label if label >= 0 else 0
            names &= names - 1
        return found

    def names_of(self, labels: int) -> int:
        """Return the names with these labels, as bits."""
        if not self._label_of:
            return labels >> self._first
        return sum(1 << name for name, label in enumerate(self._label_of) if label >= 0 and labels >> label & 1)

    def bits_of(self, names: Iterable[str]) -> int:
        """Return names as bits; undeclared names are ignored."""
        return sum(1 << self.index_of[name] for name in names if name in self.index_of)

    def is_named(self, formula: int, label: int) -> bool:
        """Return whether a key with this label satisfies a formula of names."""
        index = self.pattern_index_of[formula]
        return index == ALWAYS or (index != NEVER and bool(self.labels[label][1] >> index & 1))

    @cached_property
    def _by_patterns(self) -> list[int]:
        """The spellable labels, grouped by the patterns that match, as bits."""
        found: dict[int, int] = {}
        for label in self.spellable:
            _, patterns = self.labels[label]
            found[patterns] = found.get(patterns, 0) | 1 << label
        return list(found.values())

    @cached_property
    def _by_name(self) -> tuple[list[int], list[int]]:
        """By name: its label if it can be spelled, and the labels of the ordered names after it, as bits."""
        labels, after = [0] * len(self.names), [0] * len(self.names)
        for label in self.spellable:
            index, _ = self.labels[label]
            if index >= 0:
                labels[index] = 1 << label
        later = 0
        for index in reversed(range(self.n_ordered)):
            after[index] = later
            later |= labels[index]
        return labels, after

    def groups(self, mentioned: Sequence[int]) -> Iterator[int]:
        """Yield sets of interchangeable labels, if formulas mention only the names at the given ascending indices; each of these alone.

        O(names) operations on sets of labels, once for each table; then O(mentioned names) for each set of patterns.
        """
        labels, after = self._by_name
        alone = [labels[index] for index in mentioned if labels[index]]
        named = sum(alone)
        # Why these first: their goals mostly recur for each mentioned name, and are then in the table.
        for group in self._by_patterns:
            rest = group & ~named
            # Why from the end: unordered names are interchangeable with the ordered names before the first mentioned one.
            for index in reversed(mentioned):
                later = rest & after[index]
                if later:
                    yield later
                    rest ^= later
            if rest:
                yield rest
        yield from alone

    def closed_by(self, name: int) -> int:
        """Return the bits of the names that cannot come after name ``name``: an ordered name closes itself and those before it."""
        return (1 << (name + 1)) - 1 if name < self.n_ordered else 1 << name

    # Values

    def required_of_values(self, part: int) -> list[int]:
        """Return what a ``properties`` or ``propertyNames`` atom requires of the value of a key, by label."""
        found = self._required.get(part)
        if found is None:
            formulas = self.tables.formulas
            found = self._required[part] = _values_of(formulas, formulas.nodes[part], self)
        return found

    def limited(self, part: int) -> frozenset[int]:
        """Return the labels whose values such an atom restricts."""
        found = self._limited.get(part)
        if found is None:
            required = enumerate(self.required_of_values(part))
            found = self._limited[part] = frozenset(label for label, value in required if value != TRUE)
        return found

    # Spellings

    def between(self, quote: QuoteMark) -> tuple[Automaton | None, tuple[tuple[bytes, ...], ...]]:
        """Return the automaton of the keys between some quotes; if the table has none, None and the spellings of each name."""
        if quote == '"':
            return self.automaton, self.spellings
        tables, can_spell = self.tables, self.tables.leaves.can_spell
        if self.automaton is None:
            ways = (_spellings(name.translate(EXCHANGED)) for name in self.names)
            exchange = bytes.maketrans(b"\"'", b"'\"")
            return None, tuple(tuple(filter(can_spell, (way.translate(exchange) for way in found))) for found in ways)
        if self._single is None:
            options = replace(tables.options, quote=quote)
            leaf = key_automaton(self.names, self.patterns, tables.formulas, options, tables.limits)
            self._single = self._with_labels(leaf)
        return self._single, ()

    def argument_names(self, arguments: Arguments) -> Automaton:
        """Return the automaton of the keys where they are names of arguments, with the labels of the table."""
        tables = self.tables
        written = tables.formulas.atom(("pattern", arguments.names))
        leaf = unquoted(
            self.names, self.patterns, written, arguments.end, tables.formulas, tables.options, tables.limits
        )  # fmt: skip
        return self._with_labels(leaf)

    def _with_labels(self, leaf: KeyLeaf) -> Automaton:
        """Return an automaton of keys, without those of no label of the table, with these labels."""
        found, numbers = leaf.automaton, {label: i for i, label in enumerate(self.labels)}
        label_of = np.array([numbers.get(vector, -1) for vector in leaf.vectors], np.int32)[found.labels]
        accepting = found.accepting & (label_of >= 0)
        labels = np.where(accepting, label_of, 0)
        return self.tables.leaves.kept(Automaton.from_table(found.table, found.classes, accepting, labels))

    @cached_property
    def shortest(self) -> list[int]:
        """By label, the bytes of a shortest key without quotes; exact for names, and for other labels where patterns distinguish them."""
        if self.automaton is None:
            # Why 1: an undeclared key.
            return [1, *(min(map(len, one), default=0) for one in self.spellings)]
        found: list[int] = shortest_by_label(self.automaton, len(self.labels)).tolist()
        return found

    def only_spelling(self, label: int, quote: QuoteMark) -> bytes | None:
        """Return the spelling between some quotes of the declared name that a label stands for, if it has one only."""
        index = self.labels[label][0]
        if index == OTHER or not self.tables.has_one_body((self.names[index],)):
            return None
        found = self.tables.body(self.names[index], quote)
        return found if self.tables.leaves.can_spell(found) else None

    # Tables with other names

    def extended(self, name: str) -> "KeyTable":
        """Return the table with one more name, which it must not contain yet. The name counts as declared."""
        return self._with_names((*self.names, name), self.n_ordered)

    def unordered(self) -> "KeyTable":
        """Return the table with the same names in any order."""
        return self._with_names(self.names, 0)

    def listing(self, most: int) -> "KeyTable":
        """Return the table in which all names are ordered, and those of pattern classes with at most ``most`` declared."""
        names = self.names
        if self.patterns:
            names = (*names, *self.tables.names_up_to(names, self.patterns, most))
        return self._with_names(names, len(names))

    def _with_names(self, names: tuple[str, ...], n_ordered: int) -> "KeyTable":
        return self.tables.table(names, n_ordered, self.patterns, self.pattern_index_of)


class KeyTables:
    """The key tables of one schema.

    Attributes
    ----------
    leaves : Leaves
    formulas, options, limits
        Those of the leaves.
    """

    def __init__(self, leaves: Leaves) -> None:
        self.leaves = leaves
        self.formulas, self.options, self.limits = leaves.formulas, leaves.options, leaves.limits
        self._tables: dict[tuple[tuple[str, ...], int, tuple[int, ...]], KeyTable] = {}
        self._few: dict[tuple[tuple[str, ...], tuple[int, ...], int], list[str]] = {}
        # Why weak: tables are in no reference cycle, so their memory is freed at once.
        self._proxy = cast("KeyTables", weakref.proxy(self))

    def table(
        self,
        names: tuple[str, ...],
        n_ordered: int,
        patterns: tuple[int, ...],
        pattern_index_of: dict[int, int] | None = None,
    ) -> KeyTable:
        """Return a table; ``pattern_index_of``: that of a table with the same patterns."""
        key = (names, n_ordered, patterns)
        found = self._tables.get(key)
        if found is None:
            if pattern_index_of is None:
                pattern_index_of = dict(zip(patterns, count(), strict=False))
            found = self._tables[key] = self._new_table(*key, pattern_index_of)
        return found

    def few_names(self, wanted: tuple[int, ...], names: tuple[str, ...], patterns: tuple[int, ...]) -> list[str]:
        """Return the undeclared names of pattern classes that may run out of names.

        The caller adds them to the table as if declared, so that each counts separately.
        """
        formulas = self.formulas
        atoms = {atom for formula in wanted for atom in formulas.atoms(formula)}
        needed = max((atom[1] + 1 for atom in atoms if atom[0] in ("minProperties", "maxProperties")), default=0)
        # Why also tables: each negated table needs a member that violates it. Those of a conjunction all hold.
        members = [one for one in formulas.members[wanted[0]] if formulas.nodes[one][0] in "&|!1"]
        may_fail = {atom for formula in (*members, *wanted[1:]) for atom in formulas.atoms(formula)}
        needed = max(needed, sum(atom[0] in ("properties", "propertyNames") for atom in may_fail))
        return [] if needed < 2 else self.names_up_to(names, patterns, needed - 1)

    def names_up_to(self, names: tuple[str, ...], patterns: tuple[int, ...], most: int) -> list[str]:
        """Return the undeclared names of the pattern classes with at most ``most`` of them."""
        key = (names, patterns, most)
        found = self._few.get(key)
        if found is None:
            found = []
            written = tuple(map(self.formulas.atom, NAMES)) if self.options.notation is not None else ()
            classes = (*patterns, *written)
            for group in enumerate_by_truths(self.formulas, classes, names, most, self.limits.names, self.limits):
                if group.texts is None:
                    raise self._too_many_names(group.size)
                found += group.texts
            # Only now: the lines above may raise, and the next call must raise again.
            self._few[key] = found
        return found

    def with_name(self, names: int, name: str) -> int | None:
        """Add a name to an `among` set of names; None if the name has several spellings (use `KeyTable.extended` then)."""
        if not self.has_one_body((name,)):
            return None
        return self.formulas.among(names, self.formulas.atom(("strings", (name,))))

    def link_of_names(self, names: int, quote: QuoteMark) -> tuple[int, list[bytes]]:
        """Split off the last name of a set built by `with_name`: the set without it, and the name's spelling between some quotes."""
        node = self.formulas.nodes[names]
        before, last = (node[1], node[2]) if node[0] == "among" else (FALSE, names)
        return before, [self.body(name, quote) for name in self.formulas.nodes[last][1]]

    def body(self, text: str, quote: QuoteMark) -> bytes:
        """Return the shortest spelling of a string or name between some quotes."""
        return shortest_body(text, self.options.escapes, quote) if self.options.notation is None else text.encode()

    def has_one_body(self, texts: Sequence[str]) -> bool:
        """Return whether each string or name has a single spelling."""
        return self.options.notation is not None or has_one_body(texts, self.options.spelling)

    def _new_table(
        self, names: tuple[str, ...], n_ordered: int, patterns: tuple[int, ...], pattern_index_of: dict[int, int]
    ) -> KeyTable:
        if len(names) > self.limits.names:
            raise self._too_many_names(len(names))
        self.formulas.spend(len(names))
        automaton: Automaton | None = None
        ways: tuple[tuple[bytes, ...], ...] = ()
        if not patterns and (self.options.escapes == "canonical" or self.has_one_body(names)):
            ways = self._ways(names)
            labels = tuple(zip(range(OTHER, len(names)), repeat(0)))
            spellable = {0, *compress(range(1, len(names) + 1), ways)}
        else:
            leaf = key_automaton(names, patterns, self.formulas, self.options, self.limits)
            automaton = self.leaves.kept(leaf.automaton)
            labels = leaf.vectors
            spellable = set(np.unique(automaton.labels[automaton.accepting]).tolist())
        index_of = dict(zip(names, count(), strict=False))
        return KeyTable(
            self._proxy,
            names,
            n_ordered,
            patterns,
            labels,
            frozenset(spellable),
            index_of,
            pattern_index_of,
            automaton,
            ways,
        )

    def _ways(self, names: tuple[str, ...]) -> tuple[tuple[bytes, ...], ...]:
        """Return the spellings of each name."""
        can_spell, notation = self.leaves.can_spell, self.options.notation
        # PERF: nearly all names of a table are spelled as they are (`python -m benchmarks.first_mask`).
        if notation is None and _ONE_SPELLING.fullmatch(whole := "".join(names)) and can_spell(whole.encode()):
            return tuple([(name.encode(),) for name in names])
        spelled = _spellings if notation is None else (lambda name: [name.encode()] if is_name(name) else [])
        return tuple([tuple(filter(can_spell, spelled(name))) for name in names])

    def _too_many_names(self, count: int) -> LimitError:
        return LimitError("names", count, self.limits.names, "an object has too many declared names")


def value_of(formulas: Formulas, atom: Atom, table: KeyTable, label: int) -> int:
    """Return the formula that a ("properties", ...) atom requires of the value of a key."""
    _, declared, patterns, others = atom
    formulas.spend((len(declared) + len(patterns)) // _NAMES_PER_STEP)
    index, _ = table.labels[label]
    name = None if index == OTHER else table.names[index]
    found = [value for key, value in declared if key == name]
    found += [value for source, value in patterns if table.is_named(pattern_formula(formulas, source), label)]
    return formulas.conjunction(found) if found else int(others)


def _values_of(formulas: Formulas, atom: Atom, table: KeyTable) -> list[int]:
    """Return the formula that a ("properties", ...) or ("propertyNames", ...) atom requires of a key's value, by label. O(labels)."""
    if atom[0] == "propertyNames":
        return [TRUE if table.is_named(atom[1], label) else FALSE for label in range(len(table.labels))]
    _, declared, patterns, _ = atom
    others: int = atom[3]
    if patterns:
        named: dict[str, list[int]] = {}
        for name, value in declared:
            named.setdefault(name, []).append(value)
        matched = [(value, table.pattern_index_of[pattern_formula(formulas, source)]) for source, value in patterns]
        found = []
        for index, bits in table.labels:
            formulas.spend(1 + len(matched) // _PATTERNS_PER_STEP)
            values = list(named.get(table.names[index], ())) if index != OTHER else []
            values += [value for value, position in matched if bits >> position & 1]
            found.append(formulas.conjunction(values) if values else others)
        return found
    by_index: dict[int, int] = {}
    for name, value in declared:
        index = table.index_of.get(name, OTHER)
        by_index[index] = formulas.conjunction((by_index[index], value)) if index in by_index else value
    by_index[OTHER] = others
    return [by_index.get(index, others) for index, _ in table.labels]


def pattern_formula(formulas: Formulas, source: str) -> int:
    """Return the formula of the names that match a pattern."""
    return formulas.atom(("pattern", source))


def _spellings(name: str) -> list[bytes]:
    """Return the canonical spellings of a name: several if a control character has hexadecimal letters, none if it has lone surrogates."""
    if _ONE_SPELLING.fullmatch(name):
        return [name.encode()]
    found = [b""]
    try:
        for character in name:
            ways = {
                bytes(pair[case] for pair in path) for path in spellings_of(character, CANONICAL) for case in (0, 1)
            }
            found = [before + way for before in found for way in sorted(ways, reverse=True)]
    except UnicodeEncodeError:
        return []
    return found


# Characters with one spelling, themselves.
_ONE_SPELLING = re.compile(r"[ !#-\[\]-~]*")
