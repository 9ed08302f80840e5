"""Per-type view of a schema: formulas over the atoms of one type, the leaves (strings and numbers), and key tables.

`SchemaContext` is the context that `guided.schema.containers` and `guided.schema.pushdown.machine` share: one schema, its formulas and
options, and the results computed for it so far.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from guided.arrays import BoolArray
from guided.automata.automaton import Automaton
from guided.automata.pushdown import PER_CONTROL
from guided.errors import LimitError, placed
from guided.limits import Limits
from guided.schema.formula.atoms import NAMES, TYPES, Arguments, JsonOptions, Notation, QuoteMark
from guided.schema.formula.disjoint import make_disjoint
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.numbers.condition import ADVICE
from guided.schema.numbers.explore import likely_steps
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.counting import enumerate_by_truths
from guided.schema.strings.notation import is_name, texts_of
from guided.schema.strings.overlay import EXCHANGED, has_one_body, shortest_body
from guided.schema.values.key_table import ALWAYS, NEVER, OTHER, KeyTable, names_of, pattern_formula, values_of
from guided.schema.values.keys import KeyLabel, KeyLeaf, key_automaton, unquoted
from guided.schema.values.leaves import Leaf, Leaves
from guided.schema.values.restrict import restrict

__all__ = ["SchemaContext"]

# What the multiples and equalities of all numbers take of the steps at least before those of each value are looked at (one in this many).
_SURELY_LESS = 8
# Automata that one call may need of numbers whose conditions stand below ``anyOf``, ``oneOf``, ``not`` or ``if``: for true and for false.
_UNDECIDED = 8


class SchemaContext:
    """The schema context: formulas, leaves and key tables of one schema, computed on demand and cached.

    Parameters
    ----------
    elements : Arguments, optional
        How members and items at any depth are written, if one by one.

    Attributes
    ----------
    formulas, lowering, options, limits
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may contain.
    notation : Notation or None
        How strings are written, if not as in JSON.
    leaves : Leaves
    has_all_bytes, has_ascii : bool
        Those of the leaves.
    """

    def __init__(
        self,
        formulas: Formulas,
        lowering: Lowering,
        options: JsonOptions,
        limits: Limits,
        alphabet: BoolArray,
        notation: Notation | None = None,
        elements: Arguments | None = None,
    ) -> None:
        self.formulas = formulas
        self.lowering = lowering
        self.options = options
        self.limits = limits
        self.alphabet = alphabet
        self.leaves = Leaves(formulas, options, limits, alphabet, notation)
        self.notation = notation = self.leaves.notation
        self.has_all_bytes, self.has_ascii = self.leaves.has_all_bytes, self.leaves.has_ascii
        # By type: a formula that holds for every value the alphabet can spell.
        self._spelled: dict[str, int] = {} if self.has_all_bytes else self._narrowed()
        ended = self.leaves.lost if notation is None else (notation.closing, *notation.reserved)
        if elements is not None and elements.notation is not None:
            ended = elements.notation.closing, *elements.notation.reserved
        names = [formulas.atom(("without", options.excludes))] if options.excludes else []
        names += [formulas.atom(("pattern", elements.names))] if elements is not None else []
        if names:
            named = formulas.atom(("propertyNames", formulas.atom(("string", formulas.conjunction(names)))))
            self._spelled["object"] = formulas.conjunction((self._spelled.get("object", TRUE), named))
        if ended or options.excludes:
            self._spelled["string"] = formulas.atom(("without", (*ended, *options.excludes)))
        self._typed: dict[str, dict[int, int]] = {kind: {} for kind in TYPES}
        self._separated: dict[int, int] = {}
        self._few: dict[tuple[tuple[str, ...], tuple[int, ...], int], list[str]] = {}
        self._tables: list[KeyTable] = []
        self._table_ids: dict[tuple[tuple[str, ...], int, tuple[int, ...]], int] = {}
        # The automata of key tables between single quotes, by number.
        self._single_automata: dict[int, Automaton] = {}
        # By key table and part.
        self._required: dict[tuple[int, int], list[int]] = {}
        self._limited: dict[tuple[int, int], frozenset[int]] = {}

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory of the automata. Those of shared caches count too: the context keeps them alive."""
        return self.leaves.n_bytes

    def typed(self, formula: int, kind: str) -> int:
        """Return the restriction of a formula of a value to one type, as a formula over the atoms of that type."""
        if formula <= TRUE:
            return formula if formula == FALSE else self._spelled.get(kind, TRUE)
        found = self._as_written(formula, kind)
        if kind in self._spelled:
            found = self.formulas.conjunction((found, self._spelled[kind]))
        if kind == "object" and found > TRUE:
            known = self._separated.get(found)
            if known is None:
                known = self._separated[found] = make_disjoint(self.formulas, found, self._as_written)
            return known
        return found

    def types(self, formula: int) -> list[str]:
        """Return the type that a formula of a value names, if it is a conjunction that names one."""
        nodes = self.formulas.nodes
        if nodes[formula][0] == "schema":
            formula = self.lowering.expand(nodes[formula][1])
        return [nodes[member][1] for member in self.formulas.members(formula) if nodes[member][0] == "type"][:1]

    def _narrowed(self) -> dict[str, int]:
        """Return the bounds on members and items that a restricted alphabet implies, by type.

        If the alphabet lacks a byte that every member needs, a container is empty; if it lacks a byte of the separator, it has at most one
        member.
        """
        indent = self.options.indent
        line = b"" if indent is None else b"\n" if indent == 0 else b"\n "
        found = {}
        for kind, most, needed in (
            ("object", "maxProperties", b'":' + (b"" if indent is None else b" ") + line),
            ("array", "maxItems", line),
        ):
            if not self.can_spell(needed + b","):
                found[kind] = self.formulas.atom((most, int(self.can_spell(needed))))
        return found

    def _as_written(self, formula: int, kind: str) -> int:
        memo = self._typed[kind]
        found = memo.get(formula)
        if found is not None:
            return found
        # PERF: most formulas of values name one type and have no alternatives (`python -m benchmarks.first_mask`).
        nodes = self.formulas.nodes
        node, written = nodes[formula], formula
        if node[0] == "schema":
            written = self.lowering.expand(node[1])
        kept, is_plain = list[int](), True
        members = self.formulas.members(written)
        for member in members:
            node = nodes[member]
            if node[0] == kind:
                kept.append(node[1])
            elif node[0] == "type":
                if node[1] != kind:
                    memo[formula] = FALSE
                    return FALSE
            elif node[0] not in TYPES:
                is_plain = False
        if not is_plain:
            return restrict(self.formulas, self.lowering, formula, kind, memo)
        found = memo[formula] = self.formulas.conjunction(kept)
        return found

    def leaf(self, kind: str, wanted: tuple[int, ...]) -> Leaf:
        """Return the strings or numbers of some formulas over their atoms: the required one, then the observed ones."""
        return self.leaves.of(kind, wanted)

    def check_leaves(self) -> None:
        """Refuse listed strings and numbers whose automaton exceeds a limit, so that no text could contain them.

        Raises
        ------
        LimitError
            An automaton is too large.
        """
        self._check_lists()
        self._check_numbers()

    def _check_numbers(self) -> None:
        formulas, plain = self.formulas, self.options.numbers == "plain"
        atoms = [node for node in formulas.nodes if node[0] in ("multipleOf", "equals")]
        # Why a part: bounds take steps too.
        if not atoms or likely_steps(atoms, plain) <= self.limits.steps // _SURELY_LESS:
            return
        for values, _, is_required in self.lowering.meetings.of(self.lowering.root):
            found = sorted({typed for value in values if (typed := self.typed(value, "number")) > TRUE})
            is_alone = is_required and not any(formulas.nodes[one][0] in ("|", "1") for one in found)
            n_automata = 1 if is_alone else _UNDECIDED
            likely = likely_steps({atom for one in found for atom in formulas.atoms(one)}, plain)
            if n_automata * likely <= self.limits.steps:
                continue
            places = filter(None, map(self.lowering.origins.get, formulas.below(found)))
            with placed(" and ".join(dict.fromkeys(f"{pointer_of(at)}/{keyword}" for at, keyword in places))):
                # Why each alone: a name may match one of several patterns.
                together = (formulas.conjunction(found),) if is_required else (TRUE, *found)
                for wanted in {*((one,) for one in found), together}:
                    given = n_automata * self.leaf("number", wanted).cost
                    if given > self.limits.call_steps:
                        raise LimitError("call_steps", given, self.limits.call_steps, ADVICE)

    def _check_lists(self) -> None:
        """Refuse listed strings whose automaton alone is larger than an index may grow."""
        long_lists = self.lowering.long_lists
        if not long_lists:
            return
        nodes, most = self.formulas.nodes, self.limits.growth_bytes
        # Why not those negated: all other strings need no automaton of these.
        negated = {node[1] for node in nodes if node[0] == "!"}
        holding: dict[int, list[tuple[int, set[int]]]] = {}
        for formula, node in enumerate(nodes):
            if node[0] == "&" and formula not in negated:
                for member in node[1]:
                    if nodes[member][0] == "string" and nodes[member][1] in long_lists:
                        holding.setdefault(nodes[member][1], []).append((formula, set(node[1])))
        for atom, found in holding.items():
            # Why the largest: conditions beside the list may leave few of its strings.
            formula, _ = max(found, key=lambda one: len(one[1]))
            leaf = string_automaton(self.formulas, (self.typed(formula, "string"),), self.options, self.limits)
            # As an index that starts over: one text may take three quarters.
            needed = leaf.automaton.n_states * PER_CONTROL * 4 // 3
            if needed > most:
                place = pointer_of(long_lists[atom])
                raise LimitError("growth_bytes", needed, most, f"{place} lists too many or too long strings")

    def text_formulas(self, query: Sequence[int], brackets: str, root: int | None = None) -> tuple[int, ...]:
        """Return the texts of values that are strings or other values without members, as formulas over the atoms of strings.

        The first formula of the query says what a text may be, and so which texts are read as other values; the others are observed.
        ``brackets``: those that begin arrays and objects instead, where there are such values. See `guided.schema.strings.notation`.
        ``root``: what says which texts are read as other values, if not the first formula.
        """
        assert self.notation is not None
        formulas = self.formulas
        must, *observed = (self.typed(formula, "string") for formula in query)
        if self.notation.part == "strings":
            return must, *observed
        is_any = must == self.typed(TRUE, "string")
        if brackets:
            must = formulas.conjunction((must, formulas.atom(("beside", tuple(brackets)))))
        if is_any and not observed and root is None and not self.options.excludes:
            # A text of any other value is that of a string, too.
            return (must,)
        others = self.others_formula(query[0])
        strings = formulas.negation(others if root is None else self.others_formula(root))
        if root is not None:
            must = formulas.conjunction((must, strings))
        return formulas.disjunction((must, others)), *(
            formulas.disjunction(
                (
                    formulas.conjunction((strings, one)),
                    formulas.conjunction((others, self.others_formula(formula))),
                )
            )
            for one, formula in zip(observed, query[1:], strict=True)
        )

    def others_formula(self, root: int) -> int:
        """Return the texts of numbers, ``true``, ``false`` and ``null`` that a formula of a value allows, as a formula of strings."""
        formulas, number = self.formulas, self.typed(root, "number")
        words = tuple(word for word in ("false", "null", "true") if self.typed(root, word) == TRUE)
        others = [formulas.atom(("strings", words))] if words else []
        if number != FALSE:
            others.append(formulas.atom(("texts", texts_of(self.leaf("number", (number,)).automaton))))
        return formulas.disjunction(others)

    def link(self, leaves: Leaves, kind: str, chain: int) -> tuple[int, list[bytes] | None]:
        """Split off the last value of a set built by `Formulas.among`: the set without it, and the value's spellings as this type.

        The spellings are empty if the value has another type, and None if a string has several.
        """
        node = self.formulas.nodes[chain]
        before, value = (node[1], node[2]) if node[0] == "among" else (FALSE, chain)
        typed = self.typed(value, kind)
        return before, [] if typed == FALSE else leaves.bodies(kind, typed)

    def unlike(self, formula: int) -> tuple[int, int] | None:
        """Split a conjunction into its other members and the `Formulas.among` set it excludes; None unless it excludes exactly one."""
        nodes = self.formulas.nodes
        members = self.formulas.members(formula)
        found = [one for one in members if nodes[one][0] == "!" and nodes[nodes[one][1]][0] == "among"]
        if len(found) != 1:
            return None
        return self.formulas.conjunction(one for one in members if one != found[0]), nodes[found[0]][1]

    def table_of(self, wanted: tuple[int, ...]) -> int:
        """Return the number of the key table of an object, for formulas over the atoms of objects."""
        formulas = self.formulas
        names, n_ordered = names_of(formulas, wanted, self.lowering.sequence)
        patterns: dict[int, None] = {}
        names_formulas: dict[int, int] = {}
        for formula in wanted:
            for atom in formulas.atoms(formula):
                if atom[0] == "properties":
                    for source, _ in atom[2]:
                        patterns[pattern_formula(formulas, source)] = None
                elif atom[0] == "propertyNames":
                    names_formulas[atom[1]] = self.typed(atom[1], "string")
                    patterns[names_formulas[atom[1]]] = None
        distinct = tuple(pattern for pattern in patterns if pattern > TRUE)
        if distinct:
            names = (*names, *self._few_names(wanted, names, distinct))
        found = self._table(names, n_ordered if self.options.property_order == "schema" else 0, distinct)
        index_of = self._tables[found].pattern_index_of
        for value, formula in names_formulas.items():
            index_of[value] = ALWAYS if formula == TRUE else NEVER if formula == FALSE else index_of[formula]
        return found

    def _table(
        self,
        names: tuple[str, ...],
        n_ordered: int,
        patterns: tuple[int, ...],
        pattern_index_of: dict[int, int] | None = None,
    ) -> int:
        """Return the number of a table; ``pattern_index_of``: that of a table with the same patterns."""
        key = (names, n_ordered, patterns)
        found = self._table_ids.get(key)
        if found is None:
            if pattern_index_of is None:
                pattern_index_of = {pattern: i for i, pattern in enumerate(patterns)}
            self._tables.append(self._new_table(*key, pattern_index_of))
            found = self._table_ids[key] = len(self._tables) - 1
        return found

    def _few_names(self, wanted: tuple[int, ...], names: tuple[str, ...], patterns: tuple[int, ...]) -> list[str]:
        """Return the undeclared names of pattern classes that may run out of names.

        The caller adds them to the table as if declared, so that each counts separately.
        """
        formulas = self.formulas
        atoms = {atom for formula in wanted for atom in formulas.atoms(formula)}
        needed = max((atom[1] + 1 for atom in atoms if atom[0] in ("minProperties", "maxProperties")), default=0)
        # Why also tables: each negated table needs a member that violates it. Those of a conjunction all hold.
        members = [one for one in formulas.members(wanted[0]) if formulas.nodes[one][0] in "&|!1"]
        may_fail = {atom for formula in (*members, *wanted[1:]) for atom in formulas.atoms(formula)}
        needed = max(needed, sum(atom[0] in ("properties", "propertyNames") for atom in may_fail))
        return [] if needed < 2 else self._names_up_to(names, patterns, needed - 1)

    def _names_up_to(self, names: tuple[str, ...], patterns: tuple[int, ...], most: int) -> list[str]:
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

    def listing(self, number: int, most: int) -> int:
        """Return the number of the table in which all names are ordered, and those of pattern classes with at most ``most`` declared."""
        table = self._tables[number]
        names = table.names
        if table.patterns:
            names = (*names, *self._names_up_to(names, table.patterns, most))
        return self._table(names, len(names), table.patterns, table.pattern_index_of)

    def with_name(self, names: int, name: str) -> int | None:
        """Add a name to an `among` set of names; None if the name has several spellings (use `extended` then)."""
        if not self.has_one_body((name,)):
            return None
        return self.formulas.among(names, self.formulas.atom(("strings", (name,))))

    def link_of_names(self, names: int, quote: QuoteMark = '"') -> tuple[int, list[bytes]]:
        """Split off the last name of a set built by `with_name`: the set without it, and the name's spelling between some quotes."""
        node = self.formulas.nodes[names]
        before, last = (node[1], node[2]) if node[0] == "among" else (FALSE, names)
        return before, [self.body(name, quote) for name in self.formulas.nodes[last][1]]

    def body(self, text: str, quote: QuoteMark = '"') -> bytes:
        """Return the shortest spelling of a string or name between some quotes."""
        return shortest_body(text, self.options.escapes, quote) if self.options.notation is None else text.encode()

    def has_one_body(self, texts: Sequence[str]) -> bool:
        """Return whether each string or name has a single spelling."""
        return self.options.notation is not None or has_one_body(texts, self.options.spelling)

    def extended(self, number: int, name: str) -> int:
        """Return the number of the table with one more name, which it must not contain yet. The name counts as declared."""
        table = self._tables[number]
        return self._table((*table.names, name), table.n_ordered, table.patterns, table.pattern_index_of)

    def unordered(self, number: int) -> int:
        """Return the number of the table with the same names in any order."""
        table = self._tables[number]
        return self._table(table.names, 0, table.patterns, table.pattern_index_of)

    def _new_table(
        self, names: tuple[str, ...], n_ordered: int, patterns: tuple[int, ...], pattern_index_of: dict[int, int]
    ) -> KeyTable:
        if len(names) > self.limits.names:
            raise self._too_many_names(len(names))
        self.formulas.spend(len(names))
        automaton: Automaton | None = None
        ways: tuple[tuple[bytes, ...], ...] = ()
        if not patterns and (self.options.escapes == "canonical" or self.has_one_body(names)):
            ways = tuple(tuple(filter(self.can_spell, self._spellings_of(name))) for name in names)
            labels = tuple(zip(range(OTHER, len(names)), repeat(0)))
            spellable = {0, *(i for i, found in enumerate(ways, 1) if found)}
        else:
            leaf = key_automaton(names, patterns, self.formulas, self.options, self.limits)
            automaton = self.leaves.kept(leaf.automaton)
            labels = tuple((vector.name, vector.patterns) for vector in leaf.vectors)
            spellable = set(np.unique(automaton.labels[automaton.accepting]).tolist())
        index_of = {name: i for i, name in enumerate(names)}
        return KeyTable(
            names, n_ordered, patterns, labels, frozenset(spellable), index_of, pattern_index_of, automaton, ways
        )

    def _spellings_of(self, name: str) -> list[bytes]:
        if self.options.notation is None:
            return spellings(name)
        return [name.encode()] if is_name(name) else []

    def only_spelling(self, number: int, label: int, quote: QuoteMark = '"') -> bytes | None:
        """Return the spelling between some quotes of the declared name that a label of a key table stands for, if it has one only."""
        table = self._tables[number]
        index = table.labels[label][0]
        if index == OTHER or not self.has_one_body((table.names[index],)):
            return None
        found = self.body(table.names[index], quote)
        return found if self.can_spell(found) else None

    def can_spell(self, data: bytes) -> bool:
        """Return whether the alphabet contains all these bytes."""
        return self.has_all_bytes or all(self.alphabet[byte] for byte in data)

    def key_table(self, number: int) -> KeyTable:
        """Return a key table."""
        return self._tables[number]

    def required_of_values(self, number: int, part: int) -> list[int]:
        """Return what a ``properties`` or ``propertyNames`` atom requires of the value of a key, by label of a key table."""
        found = self._required.get((number, part))
        if found is None:
            atom = self.formulas.nodes[part]
            found = self._required[number, part] = values_of(self.formulas, atom, self._tables[number])
        return found

    def limited(self, number: int, part: int) -> frozenset[int]:
        """Return the labels of a key table whose values such an atom restricts."""
        found = self._limited.get((number, part))
        if found is None:
            required = enumerate(self.required_of_values(number, part))
            found = self._limited[number, part] = frozenset(label for label, value in required if value != TRUE)
        return found

    def key_automaton(self, number: int, quote: QuoteMark = '"') -> Automaton | None:
        """Return the automaton of a table's keys between some quotes; None if the table has none."""
        table = self._tables[number]
        if quote == '"' or table.automaton is None:
            return table.automaton
        found = self._single_automata.get(number)
        if found is None:
            options = replace(self.options, quote=quote)
            leaf = key_automaton(table.names, table.patterns, self.formulas, options, self.limits)
            found = self._single_automata[number] = self._with_labels(leaf, table)
        return found

    def _with_labels(self, leaf: KeyLeaf, table: KeyTable) -> Automaton:
        """Return an automaton of keys, without those of no label of a table, with these labels."""
        found, numbers = leaf.automaton, {KeyLabel(*label): i for i, label in enumerate(table.labels)}
        label_of = np.array([numbers.get(vector, -1) for vector in leaf.vectors], np.int32)[found.labels]
        accepting = found.accepting & (label_of >= 0)
        labels = np.where(accepting, label_of, 0)
        return self.leaves.kept(Automaton.from_canonical(found.table, found.classes, accepting, labels))

    def argument_names(self, number: int, arguments: Arguments) -> Automaton:
        """Return the automaton of a table's keys where they are names of arguments, with the labels of the table."""
        table = self._tables[number]
        written = self.formulas.atom(("pattern", arguments.names))
        leaf = unquoted(
            table.names, table.patterns, written, arguments.end, self.formulas, self.options, self.limits
        )  # fmt: skip
        return self._with_labels(leaf, table)

    def spellings(self, number: int, quote: QuoteMark = '"') -> tuple[tuple[bytes, ...], ...]:
        """Return the spellings between some quotes of each name of a table that has no automaton."""
        if quote == '"':
            return self._tables[number].spellings
        ways = (spellings(name.translate(EXCHANGED)) for name in self._tables[number].names)
        exchange = bytes.maketrans(b"\"'", b"'\"")
        return tuple(tuple(filter(self.can_spell, (way.translate(exchange) for way in found))) for found in ways)

    def _too_many_names(self, count: int) -> LimitError:
        return LimitError("names", count, self.limits.names, "an object has too many declared names")


def spellings(name: str) -> list[bytes]:
    """Return the canonical spellings of a name: several if a control character has hexadecimal letters, none if it has lone surrogates."""
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


# Characters with one spelling, themselves.
_ONE_SPELLING = re.compile(r"[ !#-\[\]-~]*")
_SHORT = {character: [b"\\" + letter.encode()] for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}


def _hexadecimal(character: str) -> list[bytes]:
    lower = b"\\u%04x" % ord(character)
    upper = b"\\u%04X" % ord(character)
    return [lower] if lower == upper else [lower, upper]
