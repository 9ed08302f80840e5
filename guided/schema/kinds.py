"""What the types of JSON need of a schema: formulas of values as formulas of one type, leaves, and tables of keys.

`Kinds` is the context that `guided.schema.reading` and `guided.schema.machine` share: one schema, its formulas and options,
and what has been made for it so far.
"""

import re
from fractions import Fraction

import numpy as np

from guided.arrays import DEAD, BoolArray
from guided.automata.automaton import Automaton
from guided.automata.pushdown import UNLIMITED
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema import objects
from guided.schema.atoms import TYPES, JsonOptions
from guided.schema.disjoint import separated
from guided.schema.exclusions import number_bodies
from guided.schema.few.strings import few_by_truths, truths_together
from guided.schema.formula import FALSE, TRUE, Formulas
from guided.schema.keys import key_automaton
from guided.schema.languages import ANY_LENGTH
from guided.schema.layout import within
from guided.schema.leaf import Leaf
from guided.schema.lengths import bounded
from guided.schema.lowering import Lowering
from guided.schema.measure import Measure, measure_of
from guided.schema.numbers import number_automaton
from guided.schema.overlay import canonical_body, has_one_body
from guided.schema.possible import listed, possible_number, possible_text
from guided.schema.restrict import restrict
from guided.schema.strings import string_automaton, without_surrogates

__all__ = ["Kinds"]

# Sets of names are numbers with a bit for each.
_MOST_NAMES = 10_000
# Steps of a call for each state of an automaton.
_PER_STATE = {"number": 40, "string": 1}
# Of one character there are more strings.
_MANY_TEXTS = 1_000_000


class Kinds:
    """One schema's types.

    Attributes
    ----------
    formulas, lowering, options, limits
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may hold.
    has_all_bytes : bool
        Are these all bytes?
    has_ascii : bool
        Does the alphabet hold all printable characters of ASCII? Then the usual formulas of strings and numbers can be satisfied, whatever
        else the vocabulary lacks.
    """

    def __init__(
        self, formulas: Formulas, lowering: Lowering, options: JsonOptions, limits: Limits, alphabet: BoolArray
    ) -> None:
        self.formulas = formulas
        self.lowering = lowering
        self.options = options
        self.limits = limits
        self.alphabet = alphabet
        self.has_all_bytes = bool(alphabet.all())
        self.has_ascii = bool(alphabet[0x20:0x7F].all())
        # What is true of all values of a type that can be spelled.
        self._spelled: dict[str, int] = {} if self.has_all_bytes else self._narrowed()
        self._typed: dict[str, dict[int, int]] = {kind: {} for kind in TYPES}
        self._separated: dict[int, int] = {}
        self._measures: dict[int, Measure | None] = {}
        self._measured: dict[int, tuple[Measure, int] | None] = {}
        self._few: dict[tuple[tuple[str, ...], tuple[int, ...], int], list[str]] = {}
        self._leaves: dict[tuple[str, tuple[int, ...]], Leaf] = {}
        self._tables: list[objects.KeyTable] = []
        self._table_ids: dict[tuple[tuple[str, ...], int, tuple[int, ...]], int] = {}
        self._automata: list[Automaton | None] = []
        self._spellings: list[tuple[tuple[bytes, ...], ...]] = []
        self._pattern_places: list[dict[int, int]] = []
        # By table of keys and part.
        self._said: dict[tuple[int, int], list[int]] = {}
        self._limited: dict[tuple[int, int], frozenset[int]] = {}

    def typed(self, formula: int, kind: str) -> int:
        """A formula of a value as one over the atoms of a type: what it says of values of that type."""
        if formula <= TRUE:
            return formula if formula == FALSE else self._spelled.get(kind, TRUE)
        found = self._as_written(formula, kind)
        if kind in self._spelled:
            found = self.formulas.conjunction((found, self._spelled[kind]))
        if kind == "object" and found > TRUE:
            known = self._separated.get(found)
            if known is None:
                known = self._separated[found] = separated(self.formulas, found, self._as_written)
            return known
        return found

    def _narrowed(self) -> dict[str, int]:
        """Without a byte that every member needs, or that stands between two, there are none, or at most one."""
        indent = self.options.indent
        line = b"" if indent is None else b"\n" if indent == 0 else b"\n "
        found = {}
        for kind, most, needed in (
            ("object", "maxProperties", b'":' + (b"" if indent is None else b" ") + line),
            ("array", "maxItems", line),
        ):
            if not self._can_spell(needed + b","):
                found[kind] = self.formulas.atom((most, int(self._can_spell(needed))))
        return found

    def _as_written(self, formula: int, kind: str) -> int:
        memo = self._typed[kind]
        found = memo.get(formula)
        if found is not None:
            return found
        # PERF: most formulas of values name one type, and are asked about all seven (`python -m benchmarks.first_mask`).
        nodes = self.formulas.nodes
        for member in self.formulas.members(formula):
            node = nodes[member]
            if node[0] == "type" and node[1] != kind:
                memo[formula] = FALSE
                return FALSE
        return restrict(self.formulas, self.lowering, formula, kind, memo)

    def leaf(self, kind: str, wanted: tuple[int, ...]) -> Leaf:
        """The automaton of a string's or number's text."""
        found = self._leaves.get((kind, wanted))
        if found is None:
            make = string_automaton if kind == "string" else number_automaton
            found = make(self.formulas, wanted, self.options, self.limits)
            if not self.has_all_bytes:
                found = Leaf(within(found.automaton, self.alphabet), found.vectors)
            self._leaves[kind, wanted] = found
            steps = _PER_STATE[kind] * found.automaton.n_states
            self.formulas.steps.spend(steps, f"what a {kind} must be has too many states")
        return found

    def truths_together(self, kind: str, wanted: tuple[int, ...]) -> tuple[int, ...]:
        """The truths, as bits, that ``wanted[1:]`` have together on the strings or numbers of which ``wanted[0]`` holds."""
        is_alone = wanted[0] == TRUE and len(wanted) == 2 and self.has_ascii
        if kind == "number" and is_alone and self._is_surely_satisfiable(kind, wanted[1]):
            # Why both: there is no atom of numbers that holds of all.
            return 0, 1
        if kind == "string" and self.has_all_bytes and (kind, wanted) not in self._leaves:
            return truths_together(self.formulas, wanted, self.options, self.limits)
        leaf = self.leaf(kind, wanted)
        labels = np.unique(leaf.automaton.labels[leaf.automaton.accepting])
        return tuple(sorted(leaf.bits(label) for label in labels.tolist()))

    def measured(self, formula: int) -> tuple[Measure, int] | None:
        """Of a string with a largest length and more: the measure of all but the length, and the length; None where it has none.

        Then a register counts, in place of an automaton that is as many times as large.
        """
        if formula not in self._measured:
            self._measured[formula] = self._measured_anew(formula)
        return self._measured[formula]

    def _measured_anew(self, formula: int) -> tuple[Measure, int] | None:
        nodes = self.formulas.nodes
        if nodes[formula][0] == "length" or not any(
            nodes[member][0] in ("length", "|") for member in self.formulas.members(formula)
        ):
            return None
        found = bounded(self.formulas, formula, self.limits)
        if found is None or nodes[found.rest][0] == "strings":
            return None
        rest, least, most = found
        if least:
            # A least length is theirs to know; where it does not bind beyond what they ask for, the automaton is the same.
            rest = self.formulas.conjunction((rest, self.formulas.atom(("length", least, ANY_LENGTH))))
        measure = self._measure(rest)
        return None if measure is None or measure.needs[0] > most else (measure, min(most, UNLIMITED - 1))

    def _measure(self, formula: int) -> Measure | None:
        if formula not in self._measures:
            self._measures[formula] = measure_of(formula, self.leaf("string", (formula,)).automaton)
        return self._measures[formula]

    def exclusions(self, kind: str, formula: int) -> tuple[int, list[bytes]] | None:
        """What a formula of strings or numbers says besides which few they are not, and the spellings of these; None if there are none.

        None as well where a text has several spellings, but for zeros behind the point of a number.
        """
        if not self.has_all_bytes or (kind == "number" and self.options.numbers != "plain"):
            return None
        nodes, name = self.formulas.nodes, "strings" if kind == "string" else "equals"
        rest, excluded = list[int](), list[int]()
        for member in self.formulas.members(formula):
            node = nodes[member]
            is_exclusion = node[0] == "!" and nodes[node[1]][0] == name
            (excluded if is_exclusion else rest).append(node[1] if is_exclusion else member)
        if not excluded:
            return None
        bodies = [self._bodies(kind, one) for one in excluded]
        if None in bodies:
            return None
        return self.formulas.conjunction(rest), [body for some in bodies for body in some or ()]

    def _bodies(self, kind: str, formula: int) -> list[bytes] | None:
        """The spellings of the strings, or of the number, that an atom lists; None where one has several."""
        values = self.formulas.nodes[formula][1]
        if kind == "number":
            return number_bodies(values)
        texts = without_surrogates(dict.fromkeys(values))
        return [canonical_body(text) for text in texts] if has_one_body(texts, self.options.escapes) else None

    def link(self, kind: str, chain: int) -> tuple[int, list[bytes] | None]:
        """Split off the last value of a set made by `Formulas.among`: the set without it, and the value's spellings as this type.

        No spellings if the value is of another type; None if one string has several.
        """
        node = self.formulas.nodes[chain]
        before, value = (node[1], node[2]) if node[0] == "among" else (FALSE, chain)
        typed = self.typed(value, kind)
        return before, [] if typed == FALSE else self._bodies(kind, typed)

    def unlike(self, formula: int) -> tuple[int, int] | None:
        """What a formula says besides that a value is not `Formulas.among` some, and what these are; None where it says no such thing."""
        nodes = self.formulas.nodes
        members = self.formulas.members(formula)
        found = [one for one in members if nodes[one][0] == "!" and nodes[nodes[one][1]][0] == "among"]
        if len(found) != 1:
            return None
        return self.formulas.conjunction(one for one in members if one != found[0]), nodes[found[0]][1]

    def has_more(self, kind: str, formula: int, count: int) -> bool:
        """Has a formula over the atoms of strings or numbers surely more values than these?"""
        atoms = [self.formulas.nodes[member] for member in self.formulas.members(formula)]
        if not self.has_all_bytes or formula == FALSE:
            return False
        if kind == "number":
            return possible_number([atom for atom in atoms if atom[0] != "T"], count)
        if kind != "string":
            return False
        if formula == TRUE or (len(atoms) == 1 and atoms[0][0] == "length" and _is_many_lengths(*atoms[0][1:])):
            return count < _MANY_TEXTS
        return self.measured(formula) is None and _has_more_texts(self.leaf(kind, (formula,)).automaton, count)

    def listed(self, kind: str, formula: int) -> tuple[str | Fraction, ...]:
        """The strings or numbers of a formula that lists some, and perhaps excludes some of them; none of any other."""
        found = listed(self.formulas, formula, "strings" if kind == "string" else "equals")
        self.formulas.spend(len(found))
        return found

    def has_leaf(self, kind: str, formula: int) -> bool:
        """Does some text of this type satisfy a formula over its atoms?"""
        if formula <= TRUE and self.has_ascii:
            return formula == TRUE
        if self.has_ascii and self._is_surely_satisfiable(kind, formula):
            return True
        if kind == "string":
            atom = self.formulas.nodes[formula]
            if atom[0] == "length":
                return self._has_length(atom[1], atom[2])
            if self.measured(formula) is not None:
                return True
        return not self.leaf(kind, (formula,)).automaton.is_empty()

    def _is_surely_satisfiable(self, kind: str, formula: int) -> bool:
        """Is it certain, without an automaton, that a formula has a value? The alphabet holds printable ASCII."""
        nodes, name = self.formulas.nodes, "strings" if kind == "string" else "equals"
        left = self.listed(kind, formula)
        if left:
            return kind == "number" or possible_text((name, left), is_ascii=not self.has_all_bytes)
        atoms = [nodes[member] for member in self.formulas.members(formula)]
        rest = [atom for atom in atoms if atom[0] != "!" or nodes[atom[1]][0] != name]
        if kind == "number":
            return possible_number(rest, len(atoms) - len(rest))
        if len(rest) == len(atoms):
            return len(atoms) == 1 and possible_text(atoms[0], is_ascii=not self.has_all_bytes)
        # Of each length but 0 there are a million strings.
        has_many = not rest or (len(rest) == 1 and rest[0][0] == "length" and _is_many_lengths(*rest[0][1:]))
        return has_many and len(atoms) < _MANY_TEXTS and self.exclusions("string", formula) is not None

    def _has_length(self, least: int, most: int) -> bool:
        """Is there a string of so many characters that the alphabet can spell? One character is enough, since it can be repeated."""
        if most != ANY_LENGTH and least > most:
            return False
        if least == 0:
            return True
        return bool((self.leaf("string", (TRUE,)).automaton.table != DEAD).any())

    def object_start(self, wanted: tuple[int, ...]) -> objects.ObjectState:
        """The state of an object before its first key, for formulas over the atoms of objects."""
        return objects.ObjectState(self._table(wanted), 0, wanted)

    def _table(self, wanted: tuple[int, ...]) -> int:
        formulas = self.formulas
        names, n_ordered = objects.names_of(formulas, wanted, self.lowering.sequence)
        patterns: dict[int, None] = {}
        names_formulas: dict[int, int] = {}
        for formula in wanted:
            for atom in formulas.atoms(formula):
                if atom[0] == "properties":
                    for source, _ in atom[2]:
                        patterns[objects.pattern_formula(formulas, source)] = None
                elif atom[0] == "propertyNames":
                    names_formulas[atom[1]] = self.typed(atom[1], "string")
                    patterns[names_formulas[atom[1]]] = None
        distinct = tuple(pattern for pattern in patterns if pattern > TRUE)
        if distinct:
            names = (*names, *self._few_names(wanted, names, distinct))
        key = (names, n_ordered, distinct)
        found = self._table_ids.get(key)
        if found is None:
            found = len(self._tables)
            self._add_table(names, n_ordered, distinct)
            self._table_ids[key] = found
            places = {pattern: i for i, pattern in enumerate(distinct)}
            self._pattern_places.append(places)
        self._pattern_places[found].update(
            {
                value: objects.ALWAYS
                if names == TRUE
                else objects.NEVER
                if names == FALSE
                else self._pattern_places[found][names]
                for value, names in names_formulas.items()
            }
        )
        return found

    def _few_names(self, wanted: tuple[int, ...], names: tuple[str, ...], patterns: tuple[int, ...]) -> list[str]:
        """Names that patterns leave, where they may be too few: as good as declared, so that they count one by one."""
        formulas = self.formulas
        atoms = {atom for formula in wanted for atom in formulas.atoms(formula)}
        needed = max((atom[1] + 1 for atom in atoms if atom[0] in ("minProperties", "maxProperties")), default=0)
        # Why also tables: where they must not hold, each needs a member against it.
        needed = max(needed, sum(atom[0] in ("properties", "propertyNames") for atom in atoms))
        if needed < 2:
            return []
        key = (names, patterns, needed)
        found = self._few.get(key)
        if found is None:
            found = self._few[key] = []
            for few in few_by_truths(formulas, patterns, names, needed - 1, _MOST_NAMES, self.limits):
                if few.texts is None:
                    raise _too_many_names(few.size)
                found += few.texts
        return found

    def extended(self, number: int, name: str) -> int:
        """The table with one more name, known to be none of its own: as good as declared, since it has been."""
        table = self._tables[number]
        key = ((*table.names, name), table.n_ordered, table.patterns)
        found = self._table_ids.get(key)
        if found is None:
            found = len(self._tables)
            self._add_table(*key)
            self._table_ids[key] = found
            self._pattern_places.append(self._pattern_places[number])
        return found

    def _add_table(self, names: tuple[str, ...], n_ordered: int, patterns: tuple[int, ...]) -> None:
        if len(names) > _MOST_NAMES:
            raise _too_many_names(len(names))
        self.formulas.spend(len(names))
        if not patterns and (self.options.escapes == "canonical" or has_one_body(names, self.options.escapes)):
            ways = tuple(tuple(filter(self._can_spell, spellings(name))) for name in names)
            self._spellings.append(ways)
            self._automata.append(None)
            labels: tuple[tuple[int, int], ...] = ((objects.OTHER, 0), *((i, 0) for i in range(len(names))))
            possible = {0, *(i for i, found in enumerate(ways, 1) if found)}
        else:
            leaf = key_automaton(names, patterns, self.formulas, self.options, self.limits)
            automaton = within(leaf.automaton, self.alphabet)
            # Only now, since there may be too many states: the lists are of one length, whatever fails.
            self._spellings.append(())
            self._automata.append(automaton)
            labels = tuple((vector.name, vector.patterns) for vector in leaf.vectors)
            possible = set(np.unique(automaton.labels[automaton.accepting]).tolist())
        places = {name: i for i, name in enumerate(names)}
        self._tables.append(objects.KeyTable(names, n_ordered, patterns, labels, frozenset(possible), places))

    def _can_spell(self, data: bytes) -> bool:
        return self.has_all_bytes or all(self.alphabet[byte] for byte in data)

    def key_table(self, number: int) -> objects.KeyTable:
        """A table of keys."""
        return self._tables[number]

    def pattern_places(self, number: int) -> dict[int, int]:
        """Position in the patterns of a table of each formula of names, or `ALWAYS` or `NEVER`."""
        return self._pattern_places[number]

    def said(self, number: int, part: int) -> list[int]:
        """What a table of properties, or propertyNames, says of the value of a key: by label of a table of keys."""
        found = self._said.get((number, part))
        if found is None:
            found = self._said[number, part] = objects.values_of(
                self.formulas, self.formulas.nodes[part], self._tables[number], self._pattern_places[number]
            )
        return found

    def limited(self, number: int, part: int) -> frozenset[int]:
        """The labels of a table of keys of whose values such a part says something."""
        found = self._limited.get((number, part))
        if found is None:
            said = enumerate(self.said(number, part))
            found = self._limited[number, part] = frozenset(label for label, value in said if value != TRUE)
        return found

    def key_automaton(self, number: int) -> Automaton | None:
        """The automaton of a table's keys; None where they are but names and others."""
        return self._automata[number]

    def spellings(self, number: int) -> tuple[tuple[bytes, ...], ...]:
        """How each name of a table is spelled, where it has no automaton."""
        return self._spellings[number]

    def after_key(self, state: objects.ObjectState, label: int, is_ordered: bool) -> objects.ObjectState | None:
        """The state after a key, its value pending; None where the key cannot come. ``is_ordered``: declared names before it are past."""
        places = self._pattern_places[state.table]
        return objects.after_key(self.formulas, self._tables[state.table], state, label, places, is_ordered)


def _too_many_names(count: int) -> LimitError:
    return LimitError("names", count, _MOST_NAMES, "an object has too many declared names")


def spellings(name: str) -> list[bytes]:
    """The canonical spellings of a name: several where a control character has hexadecimal letters, none of a lone surrogate."""
    if _ONE_SPELLING.fullmatch(name):
        return [name.encode()]
    found = [b""]
    try:
        for character in name:
            ways = _SHORT.get(character) or ([character.encode()] if character >= " " else _hexadecimal(character))
            found = [before + way for before in found for way in ways]
    except UnicodeEncodeError:
        return []
    return found


# Characters that can only stand for themselves.
_ONE_SPELLING = re.compile(r"[ !#-\[\]-~]*")
_SHORT = {character: [b"\\" + letter.encode()] for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}


def _hexadecimal(character: str) -> list[bytes]:
    lower = b"\\u%04x" % ord(character)
    upper = b"\\u%04X" % ord(character)
    return [lower] if lower == upper else [lower, upper]


def _is_many_lengths(least: int, most: int) -> bool:
    """Is one of these lengths greater than 0?"""
    return most == ANY_LENGTH or (most > 0 and least <= most)


def _has_more_texts(automaton: Automaton, count: int) -> bool:
    """Does an automaton of strings accept more strings than these?

    Only texts without a backslash are counted: each is the one such spelling of its string. O(states x columns) for each byte of a text.
    """
    n_bytes = np.bincount(np.delete(automaton.classes, ord("\\")), minlength=automaton.table.shape[1])
    # The number of ways to each state, by texts of one length.
    ways = np.zeros(automaton.n_states)
    ways[0] = 1.0
    found = 0.0
    for _ in range(automaton.n_states + 1):
        found += ways[automaton.accepting].sum()
        if found > count:
            return True
        states = np.flatnonzero(ways)
        if not len(states):
            return False
        at, column = np.nonzero((automaton.table[states] >= 0) & (n_bytes > 0))
        onward = np.zeros(automaton.n_states)
        np.add.at(onward, automaton.table[states[at], column], ways[states[at]] * n_bytes[column])
        ways = onward
    # A text longer than there are states goes round in a circle, and so do ever longer ones.
    return True
