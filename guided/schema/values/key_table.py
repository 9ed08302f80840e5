"""Key tables: the classes of keys that an object distinguishes, and the formula of the value of each class.

A *label* is the number of a class of keys. Each declared name has its own label. All other names share one label or, with patterns, one for
each set of patterns that such a name can match. Sets of names are bit sets: bit i is name i of the object's `KeyTable`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from guided.automata.automaton import Automaton
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas

__all__ = ["ALWAYS", "NEVER", "OTHER", "KeyTable", "names_of", "pattern_formula", "value_of", "values_of"]

ALWAYS, NEVER = -2, -1
# The name index of undeclared keys.
OTHER = -1
# Names compared per step, and patterns.
_NAMES_PER_STEP, _PATTERNS_PER_STEP = 16, 64


@dataclass(frozen=True, slots=True)
class KeyTable:
    """The classes of keys of an object.

    Attributes
    ----------
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

    def __post_init__(self) -> None:
        label_of = dict(zip((name for name, _ in self.labels), range(len(self.labels)), strict=True))
        others = sum([1 << label for label, (name, _) in enumerate(self.labels) if name == OTHER])
        found = tuple(map(label_of.get, range(len(self.names)), repeat(-1)))
        object.__setattr__(self, "other_labels", others)
        first = found[0] if found else 1
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_label_of", () if found == tuple(range(first, first + len(found))) else found)

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

    def closed_by(self, name: int) -> int:
        """Return the bits of the names that cannot come after name ``name``: an ordered name closes itself and those before it."""
        return (1 << (name + 1)) - 1 if name < self.n_ordered else 1 << name


def names_of(formulas: Formulas, wanted: Sequence[int], sequence: dict[int, int]) -> tuple[tuple[str, ...], int]:
    """Return the declared names of an object's formulas in order, and the number of leading names whose order the schema defines.

    ``sequence``: position of each atom in the schema. Tables without a position come from values in the text and define no order.
    """
    tables: dict[int, Atom] = {}
    loose: dict[int, str] = {}
    for formula in wanted:
        for atom in formulas.atoms(formula):
            if atom[0] == "properties":
                tables[formulas.atom(atom)] = atom
            elif atom[0] == "required":
                loose[formulas.atom(atom)] = atom[1]
    last = len(sequence)
    names: dict[str, None] = {}
    n_ordered = 0
    for number in sorted(tables, key=lambda number: (sequence.get(number, last), number)):
        names.update(dict.fromkeys(name for name, _ in tables[number][1]))
        if number in sequence:
            n_ordered = len(names)
    names.update(dict.fromkeys(loose[i] for i in sorted(loose, key=lambda i: (sequence.get(i, last), i))))
    return tuple(names), n_ordered


def value_of(formulas: Formulas, atom: Atom, table: KeyTable, label: int) -> int:
    """Return the formula that a ("properties", ...) atom requires of the value of a key."""
    _, declared, patterns, others = atom
    formulas.spend((len(declared) + len(patterns)) // _NAMES_PER_STEP)
    index, _ = table.labels[label]
    name = None if index == OTHER else table.names[index]
    found = [value for key, value in declared if key == name]
    found += [value for source, value in patterns if table.is_named(pattern_formula(formulas, source), label)]
    return formulas.conjunction(found) if found else int(others)


def values_of(formulas: Formulas, atom: Atom, table: KeyTable) -> list[int]:
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
