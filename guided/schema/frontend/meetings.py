"""Which formulas of one schema may be about the same value: its *meetings*.

A meeting is a set of formulas about one value that holds all that may apply to it at once, and perhaps more: a name is taken to match every
pattern whose names may begin with the same character, and each schema of a disjunction applies (``allOf``, ``anyOf``, ``if``, ``$ref``).
Meetings are found by following members and items from the root. What is built for a value while a text is read is about the formulas of a
meeting, so what would exceed a limit there is refused when all of a schema is lowered (`guided.schema.frontend.names`,
`SchemaContext.check_sizes`).

Complexity: O(atoms) for each meeting, counted as steps; O(length) for each pattern.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from guided.limits import Limits
from guided.patterns.bounds import first_characters
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.strings.ecma import ecma_tree

__all__ = ["Meeting", "Meetings"]

# Atoms of a meeting per step.
_PER_STEP = 16
# What applies to some of the texts only.
_OPTIONAL = frozenset({"|", "!", "1", "among", "contains"})
# Bits of names by their first characters: one for each of ASCII, one for all others, one for the empty name.
_BEYOND, _EMPTY = 128, 129


class Meeting(NamedTuple):
    """What may be about one value.

    Attributes
    ----------
    values : frozenset of int
        Formulas of the value.
    parts : frozenset of int
        Their atoms about members and items.
    is_required : bool
        Whether the formulas apply if the text leads there: neither they nor what they are parts of stand below ``|``, ``!`` or ``1``.
    """

    values: frozenset[int]
    parts: frozenset[int]
    is_required: bool


@dataclass(slots=True)
class Meetings:
    """The meetings of a schema.

    Attributes
    ----------
    formulas : Formulas
    expand : callable
        Returns the formula of a ``("schema", key)`` atom (`Lowering.expand`).
    limits : Limits
    """

    formulas: Formulas
    expand: Callable[[int], int]
    limits: Limits
    _parts: dict[int, frozenset[int]] = field(default_factory=dict)
    _begins: dict[str, int] = field(default_factory=dict)

    def of(self, root: int) -> Iterator[Meeting]:
        """Yield the meetings of a value and of all that is within it, those near the root first."""
        nodes = self.formulas.nodes
        met: set[tuple[frozenset[int], bool]] = set()
        followed: set[tuple[frozenset[int], bool]] = set()
        todo = deque([(frozenset([root]), True)])
        while todo:
            values, is_required = todo.popleft()
            if (values, is_required) in met:
                continue
            met.add((values, is_required))
            parts = frozenset(chain.from_iterable(map(self._parts_of, values)))
            self.formulas.spend(1 + len(parts) // _PER_STEP)
            yield Meeting(values, parts, is_required)
            is_required = is_required and all(map(self._is_plain, values))
            if (parts, is_required) not in followed:
                followed.add((parts, is_required))
                todo += ((below, is_required) for below in self._below([nodes[part] for part in parts]))

    def _is_plain(self, formula: int) -> bool:
        """Return whether whatever a formula of a value says about members and items applies to them."""
        formulas = self.formulas
        seen, todo = {formula}, [formula]
        while todo:
            for member in formulas.members[todo.pop()]:
                kind, *content = formulas.nodes[member]
                inner = formulas.members[content[0]] if kind in ("object", "array") else ()
                if kind in _OPTIONAL or any(formulas.nodes[one][0] in _OPTIONAL for one in inner):
                    return False
                if kind == "schema" and (own := self.expand(content[0])) not in seen:
                    seen.add(own)
                    todo.append(own)
        return True

    def _parts_of(self, formula: int) -> frozenset[int]:
        """Return the atoms about the members and items of a value that satisfies a formula."""
        found = self._parts.get(formula)
        if found is None:
            nodes = self.formulas.nodes
            inner = [content for kind, content, *_ in self.atoms(formula) if kind in ("object", "array")]
            kinds = ("properties", "propertyNames", "items", "contains")
            found = frozenset(part for part in self.formulas.below(inner) if nodes[part][0] in kinds)
            self._parts[formula] = found
        return found

    def atoms(self, formula: int) -> Iterator[tuple[Any, ...]]:
        """Yield the atoms of a formula of a value, and of the schemas that it refers to."""
        seen, todo = {formula}, [formula]
        while todo:
            for atom in self.formulas.atoms(todo.pop()):
                yield atom
                if atom[0] == "schema" and (own := self.expand(atom[1])) not in seen:
                    seen.add(own)
                    todo.append(own)

    def _below(self, atoms: Sequence[tuple[Any, ...]]) -> Iterator[frozenset[int]]:
        """Yield the formulas that may apply together to a member or an item, for each name and place."""
        objects = [atom for atom in atoms if atom[0] == "properties"]
        matched = {(self._beginnings(source), value) for _, _, patterns, _ in objects for source, value in patterns}
        names = dict.fromkeys(name for _, names, _, _ in objects for name, _ in names)
        begun = [
            (None, 0),
            *((name, _bit(name) if matched else 0) for name in names),
            *((None, bits) for bits, _ in matched),
        ]
        also = {bits: [value for own, value in matched if own & bits] for bits in {bits for _, bits in begun}}
        tables = [(_by_key(names), others) for _, names, _, others in objects]
        yield from self._of_parts(tables, [(name, also[bits]) for name, bits in begun])
        arrays = [atom for atom in atoms if atom[0] == "items"]
        contained = [atom[1] for atom in atoms if atom[0] == "contains"]
        places = range(max((len(prefix) for _, prefix, _ in arrays), default=0) + 1)
        items = [(_by_key(enumerate(prefix)), others) for _, prefix, others in arrays]
        yield from self._of_parts(items, [(place, contained) for place in places])

    def _of_parts(
        self, tables: Sequence[tuple[dict[Any, list[int]], int]], keys: Sequence[tuple[Any, list[int]]]
    ) -> Iterator[frozenset[int]]:
        """Yield the formulas of each key: those of the tables, and of what else it matches."""
        self.formulas.spend(len(keys) * len(tables) // _PER_STEP)
        for key, also in keys:
            found = set(also).union(*(by_key.get(key) or [others] for by_key, others in tables))
            if found - {0, TRUE}:
                yield frozenset(found - {0, TRUE})

    def _beginnings(self, source: str) -> int:
        """Return the characters with which a name that matches a pattern may begin, as the bits of `_bit`."""
        found = self._begins.get(source)
        if found is None:
            # PERF: an automaton knows them exactly, but most are not needed before a text is read.
            characters, may_be_empty = first_characters(ecma_tree(source, self.limits))
            found = may_be_empty << _EMPTY
            for first, last in characters.ranges:
                found |= (1 << min(last, _BEYOND) + 1) - (1 << min(first, _BEYOND))
            self._begins[source] = found
        return found


def _bit(name: str) -> int:
    """Return the bit of a name's first character."""
    return 1 << (min(ord(name[0]), _BEYOND) if name else _EMPTY)


def _by_key(entries: Iterable[tuple[Any, int]]) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = {}
    for key, value in entries:
        found.setdefault(key, []).append(value)
    return found
