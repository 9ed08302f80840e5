"""Leaves: the strings or numbers that satisfy some formulas, and all that is asked of them.

`Leaves` returns one `Leaf` for each tuple of formulas: first the one that must hold, then the observed ones. A question is answered by the
first of these that decides it: the values that the formula lists, its lengths or bounds, a register that counts characters beside an
automaton, and the automaton of all texts, which is built last. The answers are the same.

The quick proofs cost O(atoms), and one regex match for each pattern.
"""

import re
import weakref
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from string import ascii_lowercase
from typing import Any, ClassVar, Literal, cast

import numpy as np

from guided.arrays import DEAD, BoolArray
from guided.automata.automaton import Automaton
from guided.automata.nearest import PathsDown
from guided.caching import cached_property
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions, Notation, QuoteMark
from guided.schema.formula.exact import Number, common_multiple, number_bodies
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.queries import ANY_VALUATION, TargetValuation, TargetValuations
from guided.schema.numbers.automaton import number_automaton
from guided.schema.numbers.counting import enumerate_numbers
from guided.schema.strings.automaton import string_automaton, without_surrogates
from guided.schema.strings.counted import CELLS, NEVER, CountedStrings, counted_strings
from guided.schema.strings.counting import at_least, enumerate_strings, has_plain_text
from guided.schema.strings.labeled import Labeled
from guided.schema.strings.lengths import Interval, by_length, truths_by_length, with_short_lengths
from guided.schema.strings.measure import measure_of
from guided.schema.strings.overlay import canonical_body, has_one_body
from guided.schema.strings.spelling import unwritable

__all__ = ["Leaf", "Leaves", "Numbers", "Strings", "too_many_values"]

# What makes the automaton of a leaf smaller.
_REMEDIES = {
    "string": "lower counts, use shorter patterns",
    "number": "use fewer conditions, digits and smaller divisors",
}
# Measured bytes of memory of an automaton, and of a state beside its row.
_PER_AUTOMATON, _PER_AUTOMATON_STATE = 1_000, 5
# There are more strings of each length but 0 than this.
_MANY_TEXTS = 1_000_000
# Most bytes that spell a character: two escapes with hexadecimal digits.
_LONGEST_SPELLING = 12
# So many strings are counted at once, beside twice as many as are asked for.
_FEW_TEXTS = 64
# Up to this size of bounds and divisors, the automaton of multiples between bounds is small.
_SMALL = 1000

# Patterns that surely match some string: no lookaround, anchors only at the ends, no empty class, and no surrogate in any spelling.
_PLAIN_PATTERN = re.compile(
    r"\^?(?:[^\\^$(\[\ud800-\udfff]|\((?!\?[=!<])|\\(?!u[dD{]|P|p\{[^}]*(?:Cs|Surr))[^bB]|\[(?!\]))*\$?", re.DOTALL
)
# The same, restricted to patterns whose characters and classes all have a member that printable ASCII can spell, escapes included: no other
# characters, no escapes by code point or property, and only negated classes that exclude few characters.
_ASCII_PATTERN = re.compile(
    r"""
    \^?(?:
        [ !"#%&'*+,\-./0-9:;<=>?@A-Z\]_`a-z{|}~)]
      | \((?!\?[=!<])
      | \\[dDwWsStnrfv^$\\.*+?()\[\]{}|/\-]
      | \[\^(?:[^\\\]\-\[^]|\\[dwstnrfv\\.*+?()\[\]{}|/\-]){1,20}\]
      | \[(?!\^|\])
    )*\$?
    """,
    re.VERBOSE,
)


class Leaves:
    """The leaves of one schema in one spelling.

    Attributes
    ----------
    formulas, options, limits
    alphabet : ndarray[bool], shape (256,)
        Bytes that texts may contain.
    notation : Notation or None
        How strings are written, if not as in JSON.
    lost : tuple of str
        Characters that no string can contain.
    has_all_bytes : bool
        Whether the alphabet contains every byte, and strings can contain every character.
    has_ascii : bool
        Whether the alphabet contains all printable ASCII characters, and strings can contain every character. If so, the usual formulas of
        strings and numbers are satisfiable whatever else the vocabulary lacks.
    """

    def __init__(
        self,
        formulas: Formulas,
        options: JsonOptions,
        limits: Limits,
        alphabet: BoolArray,
        notation: Notation | None = None,
    ) -> None:
        self.formulas, self.options, self.limits, self.alphabet = formulas, options, limits, alphabet
        self.notation = notation or options.notation
        flags = alphabet.tobytes()
        self.lost = () if self.notation is not None else unwritable(options.spelling)
        self.has_all_bytes = 0 not in flags and not self.lost
        self.has_ascii = 0 not in flags[0x20:0x7F] and not self.lost
        self._spellable = _letters(flags)
        self._strings: dict[tuple[int, ...], Strings] = {}
        self._numbers: dict[tuple[int, ...], Numbers] = {}
        # Why weak: leaves are in no reference cycle, so their memory is freed at once.
        self._proxy = cast("Leaves", weakref.proxy(self))

    @cached_property
    def single(self) -> "Leaves":
        """The leaves with single quotes around strings."""
        return Leaves(self.formulas, replace(self.options, quote="'"), self.limits, self.alphabet)

    def of(self, kind: str, wanted: tuple[int, ...]) -> "Leaf":
        """Return the strings or numbers of some formulas over their atoms."""
        return self.strings(wanted) if kind == "string" else self.numbers(wanted)

    def strings(self, wanted: tuple[int, ...]) -> "Strings":
        """Return the strings of some formulas."""
        found = self._strings.get(wanted)
        if found is None:
            found = self._strings[wanted] = Strings(self._proxy, wanted)
        return found

    def numbers(self, wanted: tuple[int, ...]) -> "Numbers":
        """Return the numbers of some formulas."""
        found = self._numbers.get(wanted)
        if found is None:
            found = self._numbers[wanted] = Numbers(self._proxy, wanted)
        return found

    def can_spell(self, data: bytes) -> bool:
        """Return whether the alphabet contains all these bytes."""
        return not data.translate(None, self._spellable)

    def spend(self, count: int) -> None:
        """Charge the lengths of strings."""
        self.formulas.steps.spend(
            count, "the lengths of strings take too many steps: lower them, or shorten the pattern beside them"
        )

    def kept(self, automaton: Automaton) -> Automaton:
        """Return an automaton restricted to the alphabet; its memory is counted, also that of shared caches: the leaves keep it alive."""
        automaton = automaton.within(self.alphabet)
        self.formulas.steps.n_bytes += (
            automaton.table.nbytes + _PER_AUTOMATON_STATE * automaton.n_states + _PER_AUTOMATON
        )
        return automaton


@lru_cache(maxsize=16)
def _letters(flags: bytes) -> bytes:
    return bytes(byte for byte in range(256) if flags[byte])


class Leaf(ABC):
    """The strings or numbers that satisfy a formula; other formulas are observed.

    Attributes
    ----------
    kind : {"string", "number"}
    wanted : tuple of int
        Formulas over the atoms of the kind: the required one, then the observed ones.
    """

    kind: ClassVar[Literal["string", "number"]]
    # The kind of atoms that list values.
    _listing: ClassVar[str]

    def __init__(self, leaves: Leaves, wanted: tuple[int, ...]) -> None:
        self._leaves, self._formulas, self.wanted = leaves, leaves.formulas, wanted
        self._made: Labeled | None = None
        # By what is required of a valuation, and by the labels that suit.
        self._paths: dict[tuple[int, int], PathsDown] = {}
        self._paths_of_labels: dict[tuple[int, ...], PathsDown] = {}

    @abstractmethod
    def _make(self) -> Labeled:
        """Return the automaton over all bytes."""

    @property
    def _labeled(self) -> Labeled:
        if self._made is None:
            made = self._make()
            self._made = replace(made, automaton=self._leaves.kept(made.automaton))
            self._formulas.steps.spend(
                self.cost, f"the automaton of a {self.kind} has too many states: {_REMEDIES[self.kind]}"
            )
        return self._made

    @property
    def automaton(self) -> Automaton:
        """The automaton of the texts, labeled with the truths of the observed formulas."""
        return self._labeled.automaton

    @property
    def cost(self) -> int:
        """The steps that the automaton takes of the call that builds it."""
        return self._labeled.cost + self._labeled.automaton.n_states

    def bits(self, label: int) -> int:
        """Return which observed formulas hold at an accepting state with this label."""
        return self._labeled.bits(label)

    # Are there any?

    @cached_property
    def is_empty(self) -> bool:
        """Whether no text satisfies the required formula."""
        must, has_ascii = self.wanted[0], self._leaves.has_ascii
        if has_ascii and must <= TRUE:
            return must == FALSE
        return not (has_ascii and self._is_surely_there()) and self._is_empty()

    @abstractmethod
    def _is_surely_there(self) -> bool:
        """Return whether the formula surely has a value, if the alphabet contains printable ASCII. False proves nothing."""

    def _is_empty(self) -> bool:
        return self.automaton.is_empty()

    def valuations(self) -> tuple[int, ...]:
        """Return the joint truths of the observed formulas, as bits, over all texts."""
        automaton = self.automaton
        labels = np.unique(automaton.labels[automaton.accepting])
        return tuple(sorted(map(self.bits, labels.tolist())))

    # How many, and which ones?

    @cached_property
    def listed(self) -> tuple[Any, ...]:
        """The values that the formula lists, without those it excludes; empty for formulas that list none."""
        if found := _listed(self._formulas, self.wanted[0], self._listing):
            self._formulas.spend(len(found))
        return found

    @abstractmethod
    def has_more(self, count: int) -> bool:
        """Return whether there are surely more than ``count`` values. False proves nothing."""

    def values_up_to(self, most: int, spend: Callable[[int], None]) -> list[Any] | None:
        """Return the values that can be spelled; None if there are more than ``most``.

        Raises
        ------
        LimitError
            Too many would have to be listed.
        """
        found = self._enumerated(most, spend)
        if found is None:
            return None
        formulas, must = self._formulas, self.wanted[0]
        if not self._leaves.has_all_bytes or any(atom == ("integer", True) for atom in formulas.atoms(must)):
            atoms = (("strings", (value,)) if isinstance(value, str) else ("equals", Number(value)) for value in found)
            both = (formulas.conjunction((must, formulas.atom(atom))) for atom in atoms)
            found = [
                value for value, one in zip(found, both, strict=True) if not self._leaves.of(self.kind, (one,)).is_empty
            ]
        return [_decimal(value) if isinstance(value, Fraction) else value for value in found]

    @abstractmethod
    def _enumerated(self, most: int, spend: Callable[[int], None]) -> Sequence[Any] | None:
        """Return the values whether or not they can be spelled; None if there are more than ``most``."""

    # All but these

    def _split(self) -> tuple[list[int], list[int]]:
        """Return the members of the required formula that exclude no values, and the excluded values as atoms that list them."""
        nodes = self._formulas.nodes
        rest, excluded = list[int](), list[int]()
        for member in self._formulas.members[self.wanted[0]]:
            node = nodes[member]
            listed = () if node[0] != "!" else nodes[node[1]][1] if nodes[node[1]][0] == "|" else (node[1],)
            if listed and all(nodes[one][0] == self._listing for one in listed):
                excluded += listed
            else:
                rest.append(member)
        return rest, excluded

    @property
    @abstractmethod
    def are_spelled_once(self) -> bool:
        """Whether values may have one spelling each, of those that exclusions distinguish."""

    @abstractmethod
    def bodies(self, atom: int) -> list[bytes] | None:
        """Return the spellings of the strings or the number that an atom lists; None if one string has several."""

    @property
    @abstractmethod
    def end(self) -> bytes:
        """The byte that ends a value; empty for numbers, which end before a byte."""

    # How far is the end?

    @abstractmethod
    def shortest(self) -> int:
        """Return the bytes of a shortest text, approximately; -1 if there is none."""

    def path(self, state: int, targets: TargetValuations) -> tuple[bytes, int, TargetValuation | None]:
        """Return the path from a state to an end that satisfies a target, that end, and the target.

        The least total cost decides. If no target can be satisfied, the target is None.
        """
        best: tuple[int, PathsDown, TargetValuation | None] | None = None
        for target in targets:
            paths = self._paths_to(target)
            there = paths.distance.item(state)
            if there >= 0 and (best is None or there + target.cost < best[0]):
                best = there + target.cost, paths, target
        if best is None:
            best = 0, self._paths_to(ANY_VALUATION[0]), None
        return *best[1].path(state), best[2]

    def _paths_to(self, target: TargetValuation) -> PathsDown:
        """Return the paths to the ends whose valuation meets a target."""
        key = target.care, target.bits
        found = self._paths.get(key)
        if found is None:
            automaton, accepting = self.automaton, self.automaton.accepting
            labels = [one for one in np.unique(automaton.labels[accepting]).tolist() if target.suits(self.bits(one))]
            same = tuple(labels)
            found = self._paths_of_labels.get(same)
            if found is None:
                distance = automaton.distances(accepting & np.isin(automaton.labels, labels))
                found = self._paths_of_labels[same] = PathsDown(automaton, distance)
            self._paths[key] = found
        return found

    def _nearest(self) -> int:
        return -1 if self.automaton.is_empty() else int(self.automaton.distances()[0])


class Strings(Leaf):
    """The strings of some formulas: the bytes between their quotes, or before the last character of a notation's closing text."""

    kind = "string"
    _listing = "strings"

    def __init__(self, leaves: Leaves, wanted: tuple[int, ...]) -> None:
        super().__init__(leaves, wanted)
        # There are at least so many.
        self._at_least = 0

    def _make(self) -> Labeled:
        leaves = self._leaves
        return string_automaton(self._formulas, self.wanted, leaves.options, leaves.limits, leaves.notation)

    @cached_property
    def lengths(self) -> tuple[tuple[int, int], ...] | None:
        """`truths_by_length` of the formulas; None if anything but the length matters."""
        return truths_by_length(self._formulas, self.wanted)

    @property
    def of_any_length(self) -> "Strings":
        """The strings of `counted` whatever their length; observed is each formula that one is at some length."""
        assert self._with_register is not None
        return self._with_register[0]

    @property
    def counted(self) -> CountedStrings | None:
        """`of_any_length` with lengths that a register counts; None if there are none, or the automaton must count them."""
        return self._with_register and self._with_register[1]

    @cached_property
    def _with_register(self) -> tuple["Strings", CountedStrings] | None:
        formulas, intervals = self._formulas, by_length(self._formulas, self.wanted)
        # Why not if the values are listed: their lengths are known. And an automaton tells the empty string with a state.
        if intervals[-1].start <= 1 or formulas.rewrite(self.wanted[0], self._unlisted, {}) == FALSE:
            return None
        for some in dict.fromkeys((tuple(intervals), tuple(with_short_lengths(formulas, intervals)))):
            found = self._counted(some)
            if found is not None:
                return found
        return None

    def _counted(self, intervals: Sequence[Interval]) -> tuple["Strings", CountedStrings] | None:
        formulas, notation = self._formulas, self._leaves.notation
        required = formulas.disjunction(interval.formulas[0] for interval in intervals)
        distinct = dict.fromkeys(one for interval in intervals for one in interval.formulas if one > TRUE)
        every = self._leaves.strings((required, *distinct))
        automaton = every.automaton
        self._leaves.spend(automaton.table.size // CELLS)
        measure = measure_of(automaton, has_escapes=notation is None)
        if measure is None:
            return None
        n_after = 0 if notation is None else notation.n_after
        # Intervals below the shortest string do not matter (patterns often imply the least length): what holds only there must not end.
        last = max(i for i, one in enumerate(intervals) if one.formulas[0] != FALSE)
        extra = n_after + (notation is not None and notation.padding == "line feeds")
        first = min(last, sum(one.start + extra <= measure.needs[0] for one in intervals[1:]))
        if first:
            return self._counted([intervals[first]._replace(start=0), *intervals[first + 1 :]])
        outcomes = dict[int, tuple[int, ...]]()
        for label in np.unique(automaton.labels[automaton.accepting]).tolist():
            bits = every.bits(label)
            truths = {TRUE: True, FALSE: False, **{one: bool(bits >> i & 1) for i, one in enumerate(every.wanted[1:])}}
            outcomes[label] = tuple(
                sum(truths[one] << i for i, one in enumerate(rest)) if truths[must] else -1
                for _, (must, *rest) in intervals
            )
        starts = tuple(interval.start + n_after if interval.start else 0 for interval in intervals)
        if notation is not None and notation.padding == "line feeds":
            starts, outcomes = _behind_feeds(starts, outcomes)
        found = counted_strings(automaton, starts, outcomes, measure, self._leaves.spend)
        return None if found is None else (every, found)

    def _unlisted(self, atom: Atom) -> int:
        return FALSE if atom[0] == "strings" else self._formulas.atom(atom)

    def _is_surely_there(self) -> bool:
        is_ascii, nodes = not self._leaves.has_all_bytes, self._formulas.nodes
        if self.listed:
            return quick_satisfiable_string((self._listing, self.listed), is_ascii=is_ascii)
        rest, excluded = self._split()
        if not excluded:
            atoms = [nodes[one] for one in rest]
            is_alone = len(atoms) == 1 and quick_satisfiable_string(atoms[0], is_ascii=is_ascii)
            return is_alone or one_letter_satisfies(atoms)
        # PERF: an array of different strings asks this at each item (`python -m benchmarks.soak_history`).
        return self._leaves.strings((self._formulas.conjunction(rest),)).has_more(
            sum(len(nodes[one][1]) for one in excluded)
        )

    def _is_empty(self) -> bool:
        if self.lengths is not None:
            return not any(bits >= 0 and self._has_length(start) for start, bits in self.lengths)
        leaves = self._leaves
        if (
            leaves.has_ascii
            and leaves.notation is None
            and len(self.wanted) == 1
            and has_plain_text(self._formulas, self.wanted[0], leaves.limits)
        ):
            return False
        if self.counted is not None:
            return not self.counted.valuations()
        return super()._is_empty()

    def valuations(self) -> tuple[int, ...]:
        """Return the joint truths of the observed formulas, as bits, over all strings."""
        if self.lengths is not None:
            return tuple(sorted({bits for start, bits in self.lengths if bits >= 0 and self._has_length(start)}))
        if self.counted is not None:
            return self.counted.valuations()
        return super().valuations()

    def _has_length(self, length: int) -> bool:
        """Return whether the alphabet can spell a string of a length. One spellable character is enough, since it can be repeated."""
        if length == 0 or self._leaves.has_all_bytes:
            return True
        return bool((self._leaves.strings((TRUE,)).automaton.table != DEAD).any())

    def has_more(self, count: int) -> bool:
        """Return whether there are surely more than ``count`` strings. False proves nothing."""
        must, leaves = self.wanted[0], self._leaves
        if not leaves.has_all_bytes or must == FALSE:
            return False
        if self._at_least <= count:
            self._at_least = at_least(self._formulas, must, 2 * count + _FEW_TEXTS, leaves.limits)
        return self._at_least > count

    def _enumerated(self, most: int, spend: Callable[[int], None]) -> Sequence[str] | None:
        limits = self._leaves.limits
        found = enumerate_strings(self._formulas, self.wanted[0], most, limits.listed_values, limits, spend)
        if found is not None and found.texts is None:
            raise too_many_values(found.size, limits)
        return found and found.texts

    @property
    def are_spelled_once(self) -> bool:
        """Whether some strings have one spelling."""
        return self._leaves.has_all_bytes and self._leaves.notation is None

    def bodies(self, atom: int) -> list[bytes] | None:
        """Return the spellings of the strings that an atom lists; None if one has several."""
        texts, options = without_surrogates(dict.fromkeys(self._formulas.nodes[atom][1])), self._leaves.options
        return (
            [canonical_body(text, options.quote) for text in texts] if has_one_body(texts, options.spelling) else None
        )

    @property
    def quote(self) -> QuoteMark:
        """The quote around strings, if they have one."""
        return self._leaves.options.quote

    @property
    def end(self) -> bytes:
        """The byte that ends a string."""
        notation = self._leaves.notation
        return self.quote.encode() if notation is None else bytes([notation.end])

    def shortest(self) -> int:
        """Return the bytes of a shortest string without quotes, approximately; -1 if there is none."""
        if self.lengths is not None:
            return next((start for start, bits in self.lengths if bits >= 0), -1)
        found = self._shortest_unlike()
        if found >= 0:
            return found
        counted = self.counted
        if counted is None:
            return self._nearest()
        if counted.registers[0]:
            least, _ = counted.fewest(0, 0, lambda _: True)
            return least if least < NEVER else -1
        return int(counted.distances[0])

    def _shortest_unlike(self) -> int:
        """Return the bytes of a shortest string apart from a few, where all strings say them; -1 elsewhere.

        PERF: an array of different strings asks this at each item (`python -m benchmarks.soak_history`).
        """
        rest, excluded = self._split()
        if not excluded:
            return -1
        every = self._leaves.strings((self._formulas.conjunction(rest),))
        lengths = every.lengths if self._leaves.has_all_bytes else None
        texts = {text for one in excluded for text in self._formulas.nodes[one][1]}
        if lengths is None:
            least = every.shortest()
            return -1 if any(len(text) <= least <= _LONGEST_SPELLING * len(text) for text in texts) else least
        if len(texts) >= _MANY_TEXTS:
            return -1
        ends = [start for start, _ in lengths[1:]]
        for (start, bits), end in zip(lengths, [*ends, None], strict=True):
            least = max(start, 1) if "" in texts else start
            if bits >= 0 and (end is None or least < end):
                return least
        return -1


class Numbers(Leaf):
    """The numbers of some formulas."""

    kind = "number"
    _listing = "equals"

    def _make(self) -> Labeled:
        return number_automaton(self._formulas, self.wanted, self._leaves.options, self._leaves.limits)

    def _is_surely_there(self) -> bool:
        rest, excluded = self._split()
        return bool(self.listed) or quick_satisfiable_number([self._formulas.nodes[one] for one in rest], len(excluded))

    def valuations(self) -> tuple[int, ...]:
        """Return the joint truths of the observed formulas, as bits, over all numbers."""
        is_alone = self.wanted[0] == TRUE and len(self.wanted) == 2 and self._leaves.has_ascii
        if is_alone and self._leaves.numbers(self.wanted[1:])._is_surely_there():
            # Why both: no atom of numbers holds for every number.
            return 0, 1
        return super().valuations()

    def has_more(self, count: int) -> bool:
        """Return whether there are surely more than ``count`` numbers. False proves nothing."""
        must = self.wanted[0]
        if not self._leaves.has_all_bytes or must == FALSE:
            return False
        atoms = [self._formulas.nodes[member] for member in self._formulas.members[must] if member != TRUE]
        return quick_satisfiable_number(atoms, count)

    def _enumerated(self, most: int, spend: Callable[[int], None]) -> Sequence[Fraction] | None:
        return enumerate_numbers(self._formulas, self.wanted[0], most, spend)

    @property
    def are_spelled_once(self) -> bool:
        """Whether numbers have one spelling, but for zeros at the end of a fraction."""
        return self._leaves.has_all_bytes and self._leaves.options.numbers == "plain"

    def bodies(self, atom: int) -> list[bytes]:
        """Return the shortest spellings of the number that an atom lists."""
        return number_bodies(self._formulas.nodes[atom][1])

    @property
    def end(self) -> bytes:
        """Empty: the byte after a number ends it."""
        return b""

    def shortest(self) -> int:
        """Return the bytes of a shortest number, approximately; -1 if there is none."""
        spelled = [bodies[0] for value in self.listed if (bodies := number_bodies(value))]
        return min(map(len, spelled)) if spelled else self._nearest()


def too_many_values(count: int, limits: Limits) -> LimitError:
    """Return the error of values that would have to be listed."""
    return LimitError("listed_values", count, limits.listed_values, "too many values that must differ")


def quick_satisfiable_string(atom: Atom, *, is_ascii: bool = False) -> bool:
    """Return whether an atom surely holds for some string; with ``is_ascii``, for one that printable ASCII can spell."""
    kind = atom[0]
    if kind == "pattern":
        return (_ASCII_PATTERN if is_ascii else _PLAIN_PATTERN).fullmatch(atom[1]) is not None
    if kind == "length":
        return bool(atom[2] < 0 or atom[1] <= atom[2])
    if kind == "strings":
        return any(text.isascii() and text.isprintable() for text in atom[1]) if is_ascii else bool(atom[1])
    return bool(kind == "format")


def one_letter_satisfies(atoms: list[Atom]) -> bool:
    """Return whether atoms of lengths, and of texts that no string contains or begins with, surely hold for a letter, some times.

    PERF: else the strings of each format that closes them with a text are spelled in JSON first (`python -m benchmarks.call_formats`).
    """
    if not all(atom[0] in ("length", "without", "beside") for atom in atoms):
        return False
    letters = {letter for atom in atoms if atom[0] != "length" for text in atom[1] for letter in text}
    lengths = [(atom[1], atom[2]) for atom in atoms if atom[0] == "length"]
    least, most = max((one for one, _ in lengths), default=0), [one for _, one in lengths if one >= 0]
    return not letters.issuperset(ascii_lowercase) and all(least <= one for one in most)


def quick_satisfiable_number(atoms: list[Atom], n_excluded: int = 0) -> bool:
    """Return whether surely more than ``n_excluded`` numbers satisfy all of these atoms."""
    low: Fraction | None = None
    high: Fraction | None = None
    # The least common multiple of all divisors, if there are any.
    step: Fraction | None = None
    for atom in atoms:
        if atom[0] == "integer" or atom[0] == "multipleOf":
            divisor = Fraction(1) if atom[0] == "integer" else atom[1]
            step = divisor if step is None else common_multiple((step, divisor))
        elif atom[0] == "minimum":
            low = atom[1] if low is None else max(low, atom[1])
        elif atom[0] == "maximum":
            high = atom[1] if high is None else min(high, atom[1])
        elif atom[0] != "equals" or len(atoms) > 1 or n_excluded:
            return False
    if low is None or high is None:
        # Why: divisors have arbitrarily large common multiples, integers included, of either sign.
        return True
    if step is None:
        return low < high
    # Why not for large ones: building their automaton early reports an exceeded limit as soon as possible.
    if step != 1 and max(step.numerator, step.denominator, int(abs(low)), int(abs(high))) > _SMALL:
        return False
    return ceil(high / step) - low // step - 1 > n_excluded


def _listed(formulas: Formulas, formula: int, name: str) -> tuple[str | Fraction, ...]:
    """Return the values that a formula lists, without those it excludes; empty for formulas that list none.

    Parameters
    ----------
    formulas : Formulas
    formula : int
    name : str
        ``strings`` or ``equals``: the kind of atom that lists values.
    """
    nodes = formulas.nodes
    kept: dict[str | Fraction, None] | None = None
    excluded: set[str | Fraction] = set()
    members = formulas.members[formula]
    # PERF: for most formulas the first member decides.
    if nodes[members[0]][0] not in (name, "|"):
        return ()
    for member in members:
        node = nodes[member]
        is_excluded = node[0] == "!"
        if is_excluded:
            node = nodes[node[1]]
        values = dict[str | Fraction, None]()
        for atom in map(nodes.__getitem__, node[1]) if node[0] == "|" else (node,):
            if atom[0] != name:
                return ()
            values.update(dict.fromkeys(atom[1] if name == "strings" else atom[1:]))
        if is_excluded:
            excluded.update(values)
        else:
            kept = values if kept is None else {value: None for value in kept if value in values}
    return tuple(value for value in kept or () if value not in excluded)


def _decimal(number: Fraction) -> int | Decimal:
    """Convert a number with a finite decimal expansion exactly."""
    return int(number) if number.denominator == 1 else Decimal(number_bodies(number)[0].decode())


def _behind_feeds(
    starts: tuple[int, ...], outcomes: dict[int, tuple[int, ...]]
) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """Return lengths at which truths change, and truths by label: those of odd labels change one character later."""
    both = tuple(sorted({*starts, *(start + 1 for start in starts if start)}))
    return both, {
        label: tuple(truths[bisect_right(starts, max(start - label % 2, 0)) - 1] for start in both)
        for label, truths in outcomes.items()
    }
