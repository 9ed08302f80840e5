"""How the formula of an object changes with each key, and which keys may come: the derivative by a member.

An object's state holds what must still come of it (`ObjectState.formulas`: what must hold, then what is only observed), and
which declared names
have been. Names are bits: bit i of ``seen`` is name i of the object's `KeyTable`. With ``property_order="schema"`` a name
also closes the declared names before it.

Labels number the kinds of keys: 0 is a name that is not declared (and, with patterns, one label for each set of patterns that such a
name can match), and each declared name has one.

Plain objects, nearly all of them, have one table of properties, names that are required, and counts; their states are
integers, and no formula is rewritten (`PlainObject`). All others go through formulas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.marks import EVERY_KEY

__all__ = [
    "ALWAYS",
    "NEVER",
    "OTHER",
    "KeyTable",
    "ObjectState",
    "after_key",
    "at_close",
    "counts_names",
    "names_of",
    "required_names",
    "values_of",
]

ALWAYS, NEVER = -2, -1
# The name of a key that is none of those declared.
OTHER = -1


class ObjectState(NamedTuple):
    """Where an object stands between two members.

    Attributes
    ----------
    table : int
        Number of its `KeyTable`.
    seen : int
        Bits of the declared names that cannot come any more.
    formulas : tuple of int
        What must hold, then what is observed.
    """

    table: int
    seen: int
    formulas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KeyTable:
    """The kinds of keys of an object.

    Attributes
    ----------
    names : tuple of str
        Declared names: those of tables of properties in the order of the schema, then names that are only required.
    n_ordered : int
        How many of them a table declares.
    patterns : tuple of int
        Formulas of strings that keys are told apart by.
    labels : tuple of (int, int)
        Of each label: index of the name (`OTHER`: none), and bits of the patterns that hold of it.
    possible : frozenset of int
        Labels that some text of a key has.
    places : mapping of str to int
        Index of each name.
    other_labels : int
        Labels of names that are not declared, as bits.
    """

    names: tuple[str, ...]
    n_ordered: int
    patterns: tuple[int, ...]
    labels: tuple[tuple[int, int], ...]
    possible: frozenset[int]
    places: Mapping[str, int]
    other_labels: int = field(init=False)
    # Label of each name; empty where names follow the one label of all others.
    _label_of: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        label_of = dict(zip((name for name, _ in self.labels), range(len(self.labels)), strict=True))
        others = sum(1 << label for label, (name, _) in enumerate(self.labels) if name == OTHER)
        found = tuple(label_of.get(name, -1) for name in range(len(self.names)))
        object.__setattr__(self, "other_labels", others)
        object.__setattr__(self, "_label_of", () if found == tuple(range(1, len(found) + 1)) else found)

    def labels_of(self, names: int) -> int:
        """The labels of some names, as bits."""
        if not self._label_of:
            return names << 1
        found = 0
        while names:
            name = (names & -names).bit_length() - 1
            label = self._label_of[name]
            # Why not all: a name of half a surrogate pair has none.
            found |= 1 << label if label >= 0 else 0
            names &= names - 1
        return found

    def closed_by(self, name: int, is_ordered: bool) -> int:
        """Bits of the names that cannot come after name ``name``."""
        if is_ordered and name < self.n_ordered:
            return (1 << (name + 1)) - 1
        return 1 << name


def names_of(formulas: Formulas, wanted: Sequence[int], sequence: dict[int, int]) -> tuple[tuple[str, ...], int]:
    """The declared names of an object's formulas, in order, and how many of them a table of properties declares.

    ``sequence``: the place of each atom in the schema; tables that are not there are items of a text, which declare no order.
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


def after_key(
    formulas: Formulas, table: KeyTable, state: ObjectState, label: int, names_formula: dict[int, int], is_ordered: bool
) -> ObjectState | None:
    """The state after a key, with ("value", f) for what its value must hold; None where the key cannot come.

    Parameters
    ----------
    names_formula : dict of int to int
        Position in ``table.patterns`` of each formula of names, or ALWAYS or NEVER.
    """
    if label not in table.possible:
        return None
    index, bits = table.labels[label]
    seen = state.seen
    name = None
    lost: set[str] = set()
    if index >= 0:
        if seen >> index & 1:
            return None
        name = table.names[index]
        closed = table.closed_by(index, is_ordered) & ~seen
        seen |= closed
        # Why not all that are closed: there may be hundreds, and few of them have to come.
        lost = {one for one in required_names(formulas, state.formulas) if closed >> table.places[one] & 1}
        lost.discard(name)

    def derivative(atom: Atom) -> int:
        kind = atom[0]
        if kind == "required":
            return TRUE if atom[1] == name else FALSE if atom[1] in lost else formulas.atom(atom)
        if kind == "properties":
            value = value_of(formulas, atom, name, bits, names_formula)
            if value <= TRUE:
                return formulas.atom(atom) if value == TRUE else FALSE
            return formulas.conjunction((formulas.atom(("value", value)), formulas.atom(atom)))
        if kind == "minProperties":
            return TRUE if atom[1] <= 1 else formulas.atom((kind, atom[1] - 1))
        if kind == "maxProperties":
            return FALSE if atom[1] <= 0 else formulas.atom((kind, atom[1] - 1))
        if kind == "propertyNames":
            place = names_formula[atom[1]]
            holds = place == ALWAYS or (place != NEVER and bits >> place & 1)
            return formulas.atom(atom) if holds else FALSE
        return formulas.atom(atom)

    memo: dict[int, int] = {}
    touched = EVERY_KEY
    for one in (*lost, *(() if name is None else (name,))):
        touched |= formulas.marks.name(one)
    after = tuple(formulas.rewrite(formula, derivative, memo, touched) for formula in state.formulas)
    return None if after[0] == FALSE else ObjectState(state.table, seen, after)


def required_names(formulas: Formulas, wanted: Sequence[int]) -> Iterator[str]:
    """The names that atoms of some formulas require, some of them maybe several times."""
    return (atom[1] for formula in wanted for atom in formulas.atoms(formula) if atom[0] == "required")


def counts_names(formulas: Formulas, formula: int, *, is_observed: bool) -> bool:
    """Does the truth of a formula change where a member whose name is not declared comes twice, of which the last counts?

    Not where it only says what all members must be: then it holds of fewer members as well. ``is_observed``: its falsehood counts as
    much as its truth.
    """
    if formula <= TRUE:
        return False
    nodes = formulas.nodes
    work, seen = [(formula, is_observed)], {(formula, is_observed)}
    while work:
        number, is_exact = work.pop()
        node = nodes[number]
        below: Sequence[int] = ()
        match node[0]:
            case "minProperties":
                return True
            case "maxProperties" if is_exact:
                return True
            case "properties" if is_exact and (node[3] > TRUE or any(value > TRUE for _, value in node[2])):
                return True
            case "&" | "|":
                below = node[1]
            case "!":
                below, is_exact = (node[1],), True
            case "1":
                below, is_exact = node[1], True
        for one in below:
            if (one, is_exact) not in seen:
                seen.add((one, is_exact))
                work.append((one, is_exact))
    return False


def value_of(formulas: Formulas, atom: Atom, name: str | None, bits: int, names_formula: dict[int, int]) -> int:
    """What a ("properties", ...) atom says of the value of a key."""
    _, declared, patterns, others = atom
    found = [value for key, value in declared if key == name]
    found += [value for source, value in patterns if bits >> names_formula[pattern_formula(formulas, source)] & 1]
    return formulas.conjunction(found) if found else int(others)


def values_of(formulas: Formulas, atom: Atom, table: KeyTable, names_formula: dict[int, int]) -> list[int]:
    """What a ("properties", ...) or ("propertyNames", ...) atom says of the value of a key, by label. O(labels)."""
    if atom[0] == "propertyNames":
        place = names_formula[atom[1]]
        if place < 0:
            return [TRUE if place == ALWAYS else FALSE] * len(table.labels)
        return [TRUE if bits >> place & 1 else FALSE for _, bits in table.labels]
    _, declared, patterns, _ = atom
    others: int = atom[3]
    if patterns:
        names = (None, *table.names)
        return [value_of(formulas, atom, names[place + 1], bits, names_formula) for place, bits in table.labels]
    values: dict[int, int] = {}
    for name, value in declared:
        place = table.places.get(name, OTHER)
        values[place] = formulas.conjunction((values[place], value)) if place in values else value
    values[OTHER] = others
    return [values.get(place, others) for place, _ in table.labels]


def pattern_formula(formulas: Formulas, source: str) -> int:
    """The formula of the names that a pattern is found in."""
    return formulas.atom(("pattern", source))


def at_close(formulas: Formulas, state: ObjectState) -> tuple[int, ...] | None:
    """Truths of the observed formulas where the object ends here; None where it cannot."""

    def truth(atom: Atom) -> int:
        return FALSE if atom[0] in ("required", "minProperties") else TRUE

    memo: dict[int, int] = {}
    ended = tuple(formulas.rewrite(formula, truth, memo) for formula in state.formulas)
    return ended[1:] if ended[0] == TRUE else None
