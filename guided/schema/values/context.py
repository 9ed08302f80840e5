"""Per-type view of a schema: formulas over the atoms of one type, the leaves (strings and numbers), and key tables.

`SchemaContext` is the context that `guided.schema.containers` and `guided.schema.pushdown.machine` share: one schema, its formulas and
options, and the results computed for it so far.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from guided.arrays import BoolArray
from guided.automata.pushdown import PER_CONTROL
from guided.errors import LimitError, placed
from guided.limits import Limits
from guided.schema.formula.atoms import TYPES, Arguments, JsonOptions, Notation
from guided.schema.formula.disjoint import make_disjoint
from guided.schema.formula.exact import Number, common_multiple
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.numbers.automaton import number_automaton
from guided.schema.numbers.condition import ADVICE
from guided.schema.numbers.explore import likely_steps
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.notation import texts_of
from guided.schema.values.key_table import ALWAYS, NEVER, KeyTable, KeyTables, pattern_formula
from guided.schema.values.leaves import Leaf, Leaves
from guided.schema.values.restrict import restrict

__all__ = ["SchemaContext"]

# What the multiples and equalities of all numbers take of the steps at least before those of each value are looked at (one in this many).
_SURELY_LESS = 8
# Automata that one call may need of numbers whose conditions stand below ``anyOf``, ``oneOf``, ``not`` or ``if``: for true and for false.
_UNDECIDED = 8
# Kinds of numbers that an array must contain, of which more count as so many: each set of them needs an automaton.
_DOUBLINGS = 40
_OF_NUMBERS, _SHORT_BOUND = ("multipleOf", "equals", "minimum", "maximum"), 10**400
# Items of an array before one that differs from them. Excluding the multiples of a number takes few steps if its numerator times its
# denominator is not above the second one.
_ITEMS_THAT_DIFFER, _SHORT_MULTIPLE = 12, 10**10


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
    key_tables : KeyTables
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
        self.key_tables = KeyTables(self.leaves)
        # By type and formula: the restriction; the same without bounds that options imply.
        self._typed: dict[str, dict[int, int]] = defaultdict(dict)
        self._written: dict[str, dict[int, int]] = defaultdict(dict)
        self._plain: dict[int, tuple[list[str], dict[str, list[int]] | None]] = {}

    def typed(self, formula: int, kind: str) -> int:
        """Return the restriction of a formula of a value to one type, as a formula over the atoms of that type."""
        if formula <= TRUE:
            return formula if formula == FALSE else self._spelled.get(kind, TRUE)
        found = self._typed[kind].get(formula)
        if found is None:
            found = self.as_written(formula, kind)
            if kind in self._spelled:
                found = self.formulas.conjunction((found, self._spelled[kind]))
            # PERF: few schemas have a "1" (`python -m benchmarks.first_mask`).
            if kind == "object" and "1" in self.formulas.kinds:
                found = make_disjoint(self.formulas, found, self.as_written)
            self._typed[kind][formula] = found
        return found

    def only_type(self, formula: int) -> tuple[str, int] | None:
        """Return the type that a formula of a value names and its restriction to it; None unless it is a conjunction that names one."""
        types, _ = self._parts(formula)
        return (types[0], self.typed(formula, types[0])) if len(types) == 1 else None

    def possible_types(self, formula: int) -> tuple[str, ...]:
        """Return the types to which a formula of a value can be restricted; values of them may still be impossible."""
        return tuple([kind for kind in self._parts(formula)[0] or TYPES if self.typed(formula, kind) != FALSE])

    def _parts(self, formula: int) -> tuple[list[str], dict[str, list[int]] | None]:
        """Return the types that a conjunction names, and what it requires by type; None if it says more than that."""
        found = self._plain.get(formula)
        if found is None:
            nodes, types = self.formulas.nodes, list[str]()
            required: dict[str, list[int]] | None = {}
            written = self.lowering.expand(nodes[formula][1]) if nodes[formula][0] == "schema" else formula
            for member in self.formulas.members[written]:
                kind, *content = nodes[member]
                if kind == "type":
                    types += content
                elif kind not in TYPES:
                    required = None
                elif required is not None:
                    required.setdefault(kind, []).append(content[0])
            found = self._plain[formula] = types, required
        return found

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
            if not self.leaves.can_spell(needed + b","):
                found[kind] = self.formulas.atom((most, int(self.leaves.can_spell(needed))))
        return found

    def as_written(self, formula: int, kind: str) -> int:
        """Return the restriction to one type, without bounds that options imply; a oneOf stays one, whatever its parts exclude."""
        memo = self._written[kind]
        found = memo.get(formula)
        if found is None:
            # PERF: most formulas of values name one type and have no alternatives (`python -m benchmarks.first_mask`).
            types, required = self._parts(formula)
            if types.count(kind) < len(types):
                found = FALSE
            elif required is None:
                return restrict(self.formulas, self.lowering, formula, kind, memo)
            else:
                kept = required.get(kind, ())
                found = kept[0] if len(kept) == 1 else self.formulas.conjunction(kept)
            memo[formula] = found
        return found

    def check_sizes(self) -> None:
        """Refuse listed strings and numbers whose automaton exceeds a limit.

        Raises
        ------
        LimitError
            An automaton is too large.
        """
        self._check_lists()
        self._check_numbers()

    def places_of(self, formulas: Iterable[int], most: int | None = None) -> str:
        """Return the first places in the schema that formulas come from, all if ``most`` is None."""
        places = dict.fromkeys(map(pointer_of, filter(None, map(self.lowering.origins.get, formulas))))
        return " and ".join([*filter(None, places)][:most])

    def _check_numbers(self) -> None:
        formulas, plain = self.formulas, self.options.numbers == "plain"
        if formulas.kinds.isdisjoint(_OF_NUMBERS):
            return
        atoms = [
            node
            for node in formulas.nodes
            if node[0] in _OF_NUMBERS and (node[0] in ("multipleOf", "equals") or abs(node[1].numerator) > _SHORT_BOUND)
        ]
        # Why a part: short bounds take steps too.
        if not atoms or likely_steps([*atoms, *self._other(atoms)], plain) <= self.limits.steps // _SURELY_LESS:
            return
        contained = {node[1] for node in formulas.nodes if node[0] == "contains"}
        for values, _, is_required in self.lowering.meetings.of(self.lowering.root):
            found = sorted({typed for value in values if (typed := self.typed(value, "number")) > TRUE})
            is_alone = is_required and not any(formulas.nodes[one][0] in ("|", "1") for one in found)
            # Why sets: a completion looks for items that several of those that an array must contain share.
            n_contained = len({self.typed(value, "number") for value in contained & values}.intersection(found))
            n_automata = 1 if is_alone else max(_UNDECIDED, 1 << min(n_contained, _DOUBLINGS))
            of_found = {atom for one in found for atom in formulas.atoms(one)}
            other = self._other(of_found)
            # Each item that must come needs one, and those of the first few are smaller.
            n_automata *= _ITEMS_THAT_DIFFER // 2 if other else 1
            likely = likely_steps({*of_found, *other}, plain)
            if n_automata * likely <= self.limits.steps:
                continue
            with placed(self.places_of(formulas.below(found))):
                unlike = [formulas.negation(formulas.atom(atom)) for atom in other]
                found = [formulas.conjunction((one, *unlike)) for one in found]
                # Why each alone: a name may match one of several patterns.
                together = (formulas.conjunction(found),) if is_required else (TRUE, *found)
                most = self.limits.call_steps
                each = replace(self.limits, call_steps=most // n_automata)
                for wanted in {*((one,) for one in found), together}:
                    try:
                        # Why first within these limits: one that is too large is not built whole.
                        number_automaton(formulas, wanted, self.options, each)
                        # Why kept: a call that makes an automaton pays for it.
                        given = n_automata * self.leaves.numbers(wanted).cost
                    except LimitError as error:
                        if error.what != "call_steps":
                            raise
                        # Why one more: its steps are rounded down.
                        given = n_automata * (error.given + 1)
                    if given > most:
                        raise LimitError("call_steps", given, most, ADVICE)

    def _other(self, atoms: Iterable[Atom]) -> list[Atom]:
        """Return atoms of long numbers that items equal and the next one may not, if there are items that differ."""
        if "uniqueItems" not in self.formulas.kinds:
            return []
        divisors, bounds = list[Fraction](), [Fraction(1)]
        for kind, number, *_ in atoms:
            (divisors if kind == "multipleOf" else bounds).append(number)
        longest = max(map(abs, bounds))
        multiple = longest if longest > _SHORT_BOUND else common_multiple(divisors) if divisors else Fraction(1)
        if multiple.numerator * multiple.denominator <= _SHORT_MULTIPLE:
            return []
        return [("equals", Number(multiple * count)) for count in range(1, 1 + _ITEMS_THAT_DIFFER)]

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
            others.append(formulas.atom(("texts", texts_of(self.leaves.numbers((number,)).automaton))))
        return formulas.disjunction(others)

    def link(self, leaf: Leaf, chain: int) -> tuple[int, list[bytes] | None]:
        """Split off the last value of a set built by `Formulas.among`: the set without it, and the value's spellings in a leaf.

        The spellings are empty if the value has another type, and None if a string has several.
        """
        node = self.formulas.nodes[chain]
        before, value = (node[1], node[2]) if node[0] == "among" else (FALSE, chain)
        typed = self.typed(value, leaf.kind)
        return before, [] if typed == FALSE else leaf.bodies(typed)

    def unlike(self, formula: int) -> tuple[int, int] | None:
        """Split a conjunction into its other members and the `Formulas.among` set it excludes; None unless it excludes exactly one."""
        nodes = self.formulas.nodes
        members = self.formulas.members[formula]
        found = [one for one in members if nodes[one][0] == "!" and nodes[nodes[one][1]][0] == "among"]
        if len(found) != 1:
            return None
        return self.formulas.conjunction(one for one in members if one != found[0]), nodes[found[0]][1]

    def table_of(self, wanted: tuple[int, ...]) -> KeyTable:
        """Return the key table of an object, for formulas over the atoms of objects."""
        formulas = self.formulas
        tables: dict[int, Atom] = {}
        required: dict[int, str] = {}
        patterns: dict[int, None] = {}
        names_formulas: dict[int, int] = {}
        for formula in wanted:
            for number, atom in formulas.atoms_by_id(formula).items():
                if atom[0] == "required":
                    required[number] = atom[1]
                elif atom[0] == "properties":
                    tables[number] = atom
                    for source, _ in atom[2]:
                        patterns[pattern_formula(formulas, source)] = None
                elif atom[0] == "propertyNames":
                    names_formulas[atom[1]] = self.typed(atom[1], "string")
                    patterns[names_formulas[atom[1]]] = None
        names, n_ordered = self._names_of(tables, required)
        distinct = tuple([pattern for pattern in patterns if pattern > TRUE])
        if distinct:
            names = (*names, *self.key_tables.few_names(wanted, names, distinct))
        found = self.key_tables.table(names, n_ordered if self.options.property_order == "schema" else 0, distinct)
        index_of = found.pattern_index_of
        for value, formula in names_formulas.items():
            index_of[value] = ALWAYS if formula == TRUE else NEVER if formula == FALSE else index_of[formula]
        return found

    def _names_of(self, tables: dict[int, Atom], required: dict[int, str]) -> tuple[tuple[str, ...], int]:
        """Return the declared and required names in order, and the number of leading names whose order the schema defines.

        Tables without a position in the schema come from values in the text and define no order.
        """
        sequence, names, n_ordered = self.lowering.sequence, dict[str, object](), 0

        def place(number: int) -> tuple[int, int]:
            return sequence.get(number, len(sequence)), number

        for number in sorted(tables, key=place):
            names.update(tables[number][1])
            if number in sequence:
                n_ordered = len(names)
        if not names.keys() >= {*required.values()}:
            names.update(dict.fromkeys([required[number] for number in sorted(required, key=place)]))
        return tuple(names), n_ordered
