"""Frames of leaves: the controls of strings and numbers, and the entries that lead to them.

A leaf is entered in the first of these ways that it allows:

- strings that only lengths distinguish, through the frame of all strings, with registers that count characters;
- strings or numbers except earlier ones, through a variant of the frame of all (`guided.schema.pushdown.exclusions`);
- strings with lengths and other conditions, through the frame of these conditions, with registers;
- any other, through the frame of its automaton.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.automata.pushdown import KEPT, UNLIMITED, PushdownTables, Reaction, action_entry
from guided.caching import cached_property
from guided.schema.formula.atoms import BEGINS, QuoteMark
from guided.schema.formula.formulas import TRUE
from guided.schema.pushdown.exclusions import Exclusions
from guided.schema.pushdown.string_frames import StringFrames
from guided.schema.pushdown.structure import Structure, number_frame
from guided.schema.strings.counted import CountedStrings
from guided.schema.values.leaves import Leaf, Leaves, Strings

__all__ = ["LeafFrame", "LeafFrames", "ValueEnds"]

_NUMBER = np.frombuffer(BEGINS["number"], np.uint8)


class ValueEnds:
    """The actions that end values. A valuation holds the truths of the observed formulas as bits; each distinct one is an action.

    Attributes
    ----------
    valuation_of : dict of int to int
        Valuation of each action that ends a value.
    """

    def __init__(self, structure: Structure, tables: PushdownTables) -> None:
        self._tables = tables
        self._actions: dict[tuple[int, bool, int, int], int] = {
            (0, False, 0, -1): structure.value_done,
            (0, True, 0, -1): structure.value_done_again,
        }
        self.valuation_of: dict[int, int] = {structure.value_done: 0, structure.value_done_again: 0}

    def done(self, bits: int, again: bool = False) -> int:
        """Return the entry of the action that ends a value with a valuation."""
        return action_entry(self.action(bits, again=again))

    def done_anyway(self, bits: int) -> int:
        """Return the entry of the action that ends a value with a valuation, however many characters a string would still need."""
        return action_entry(self.action(bits, most_needed=UNLIMITED - 1))

    def by_length(self, lengths: Iterable[tuple[int, int]], last: int) -> int:
        """Return the entry of a closing quote whose valuation depends on the length (`Strings.lengths`), counted up to ``last``."""
        action = -1
        for start, bits in lengths:
            if start <= last and (bits >= 0 or action >= 0):
                action = self.action(bits, most_needed=last - start, otherwise=action)
        return action_entry(action)

    def action(self, bits: int, *, again: bool = False, most_needed: int = 0, otherwise: int = -1) -> int:
        """Return the action that ends a value with a valuation; see `PushdownTables.action`. No cell reacts if the valuation is -1."""
        key = bits, again, most_needed, otherwise
        found = self._actions.get(key)
        if found is None:
            found = self._actions[key] = self._tables.action(again=again, most_needed=most_needed, otherwise=otherwise)
            if bits >= 0:
                self.valuation_of[found] = bits
        return found


class LeafFrame(NamedTuple):
    """The controls of a string (after its quote), number or text, from ``first`` on; ``counts``: how characters are counted."""

    first: int
    leaf: Leaf
    counts: CountedStrings | None


class LeafFrames:
    """The frames of one schema's strings and numbers.

    Parameters
    ----------
    structure, tables, leaves
        Those of the schema.

    Attributes
    ----------
    ends : ValueEnds
    made : dict
        The frames, by leaf or by how characters are counted.
    without_numbers : Exclusions
        Frames of numbers that exclude some values.
    """

    def __init__(self, structure: Structure, tables: PushdownTables, leaves: Leaves) -> None:
        self._structure, self._tables, self._leaves = structure, tables, leaves
        self.ends = ValueEnds(structure, tables)
        self.made: dict[Leaf | CountedStrings, LeafFrame] = {}
        # By quote.
        self._strings: dict[QuoteMark, tuple[StringFrames, Exclusions]] = {}

    @cached_property
    def _shared(self) -> dict[tuple[int, ...], int]:
        """The shared frames of numbers, by what they must satisfy."""
        integer = self._leaves.formulas.atom(("integer", self._leaves.options.numbers == "dumps"))
        return {(TRUE,): self._structure.number, (integer,): self._structure.integer}

    @cached_property
    def without_numbers(self) -> Exclusions:
        """Frames of numbers that exclude some values."""
        return Exclusions(self._tables, is_number=True)

    def is_in_string(self, control: int) -> bool:
        """Return whether a control is in a frame of all strings, or of all except some."""
        return any(frames.is_common(control) or control in without for frames, without in self._strings.values())

    def _strings_of(self, leaf: Strings) -> tuple[StringFrames, Exclusions]:
        """Return the frames of the strings between the quotes of a leaf, and those that exclude some."""
        found = self._strings.get(leaf.quote)
        if found is None:
            quoted = self._structure.quoted[leaf.quote == "'"]
            frames = StringFrames(quoted, self._tables, self.ends.done(0))
            found = self._strings[leaf.quote] = frames, Exclusions(self._tables, is_number=False)
        return found

    def entries(self, leaf: Leaf) -> int | Int32Array:
        """Return the entries of the bytes that begin a value of a leaf: one for all, or for numbers one per byte."""
        if isinstance(leaf, Strings):
            return self._entry(leaf)
        return self._of_number(self.frame(leaf))

    def unlike(
        self, leaf: Leaf, values: int, link: Callable[[int], tuple[int, Sequence[bytes] | None]]
    ) -> int | Int32Array | None:
        """Return the entries of a value that differs from those of a `Formulas.among` set; None if they would have to be enumerated.

        ``link``: see `Exclusions.without_chain`.
        """
        if not leaf.are_spelled_once or not leaf.has_more(self._leaves.formulas.count_among(values)):
            return None
        if not isinstance(leaf, Strings):
            first = self.without_numbers.without_chain(self.frame(leaf), values, link)
            return None if first is None else self._of_number(first)
        base, registers = self._by_length(leaf) or (self.frame(leaf), KEPT)
        first = self._strings_of(leaf)[1].without_chain(base, values, link)
        return None if first is None else self._with_registers(first, registers)

    def _of_number(self, first: int) -> Int32Array:
        entries: Int32Array = self._tables.rows[first, _NUMBER]
        return entries

    def _entry(self, leaf: Strings) -> int:
        by_length = self._by_length(leaf)
        if by_length is not None:
            return self._with_registers(*by_length)
        # Why only between single quotes: the caller knows that there are strings between others.
        if leaf.quote == "'" and self._leaves.single.strings(leaf.wanted[:1]).is_empty:
            return DEAD
        if leaf.counted is not None:
            return self._with_registers(self.frame(leaf.of_any_length, leaf.counted), leaf.counted.registers)
        return self.frame(leaf)

    def _by_length(self, leaf: Strings) -> tuple[int, tuple[int, int]] | None:
        """Return the first control of strings that only their lengths distinguish, and the registers there; None for others.

        The registers count to the last length at which anything changes, and to the greatest length.
        """
        lengths = leaf.lengths if self._structure.counts_characters else None
        if lengths is None:
            return None
        *_, last = (i for i, (_, bits) in enumerate(lengths) if bits >= 0)
        most = UNLIMITED if last + 1 == len(lengths) else min(lengths[last + 1][0], UNLIMITED) - 1
        starts = [(min(start, UNLIMITED - 1), bits) for start, bits in lengths[: last + 1]]
        needed = starts[-1][0]
        return self._strings_of(leaf)[0].ending(self.ends.by_length(starts, needed)), (needed, most)

    def _with_registers(self, first: int, registers: tuple[int, int]) -> int:
        """Return the entry that leads to a control with these registers."""
        return first if registers == KEPT or first < 0 else self._tables.entry(Reaction(0, -1, first, registers))

    def frame(self, leaf: Leaf, counts: CountedStrings | None = None) -> int:
        """Return the first control of the frame of a leaf; ``counts``: how characters are counted."""
        found = self.made.get(counts or leaf)
        if found is None:
            found = self.made[counts or leaf] = LeafFrame(self._made(leaf, counts), leaf, counts)
        return found.first

    def _made(self, leaf: Leaf, counts: CountedStrings | None) -> int:
        is_string = isinstance(leaf, Strings)
        shared = -1 if is_string else self._shared.get(leaf.wanted, -1)
        if shared >= 0:
            return shared
        automaton = leaf.automaton
        entries: Int32Array = np.zeros(automaton.n_states, np.int32)
        for label in sorted(set(automaton.labels[automaton.accepting].tolist())):
            if counts is not None:
                lengths = zip(counts.starts, counts.outcomes[label], strict=True)
                entry = self.ends.by_length(lengths, counts.registers[0])
            else:
                entry = self.ends.done(leaf.bits(label), again=not is_string)
            entries[automaton.accepting & (automaton.labels == label)] = entry
        if not isinstance(leaf, Strings):
            return number_frame(self._tables, automaton, entries, self._structure.after_number)
        # Plans depend on actions, too: only those of all schemas make them the same for all.
        is_same = ((entries == 0) | (entries == self.ends.done(0))).all()
        name = automaton if is_same else None
        return self._strings_of(leaf)[0].frame(automaton, entries, name, counts, leaf.end[0])
