"""Value starts: the controls at which a value may begin.

A query has one *value start*, which has one entry per JSON type, computed on first use because it requires deciding whether any value of
that type fits the query. Several controls share it: after a colon or a comma, after an opening bracket, at the start of the text.

`guided.schema.pushdown.leaf_frames` enters strings and numbers, and has the actions that end values.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from guided.arrays import DEAD, Int32Array
from guided.automata.pushdown import ACTION, KEPT, PushdownTables, Reaction, action_entry
from guided.caching import cached_property
from guided.schema.containers.general import ITEM
from guided.schema.containers.opening import CANNOT_BE_EMPTY, Containers, OpenContainer
from guided.schema.formula.atoms import BEGINS
from guided.schema.formula.formulas import FALSE, TRUE
from guided.schema.formula.queries import ValueQuery
from guided.schema.pushdown.layout import NEWLINE, Spaces, chain, dead_row, indented
from guided.schema.pushdown.leaf_frames import LeafFrames
from guided.schema.pushdown.structure import CLOSING, COLON, Structure, literal_chain
from guided.schema.strings.counted import CountedStrings
from guided.schema.values.context import SchemaContext
from guided.schema.values.leaves import Leaf

__all__ = ["ValueStarts", "bits_of"]


class TextStart(NamedTuple):
    """A control at which a value in a notation may begin, without being in the frame of its texts.

    Attributes
    ----------
    query : ValueQuery
    registers : (int, int)
    leaf : Leaf or None
        Its texts; None if there are none, so that the value is JSON.
    counts : CountedStrings or None
    nested : int
        The control at which an array or object begins, or any value of which there are no texts; -1 if there is none.
    """

    query: ValueQuery
    registers: tuple[int, int]
    leaf: Leaf | None
    counts: CountedStrings | None
    nested: int


@dataclass(slots=True, eq=False)
class ValueStart:
    """A position at which a value for a query may begin.

    Attributes
    ----------
    query : tuple of int
    row : ndarray[int32], shape (256,)
        Entries of the controls at which no whitespace is pending.
    views : list of ndarray[int64], shape (n, 1)
        Groups of controls that share these entries, with no whitespace pending.
    is_known : bool
        As in `guided.schema.containers.opening.OpenContainer`.
    unlike : (int, int) or None
        The query's formula as in `SchemaContext.unlike`.
    firsts : dict of Spaces to int
        First control of the value start, by the whitespace before it; filled on first use.
    indented : int
        The same within the indentation of a line.
    """

    query: ValueQuery
    row: Int32Array
    views: list[npt.NDArray[np.int64]]
    is_known: bool
    unlike: tuple[int, int] | None
    firsts: dict[Spaces, int] = field(default_factory=dict)
    indented: int = -1


class ValueStarts:
    """The value starts and frames of one schema.

    Parameters
    ----------
    structure : Structure
    tables : PushdownTables
        The tables to fill.
    containers : Containers
    open_cell : callable
        Maps an open object or array to its cell.
    passing : callable
        The cell below a value that a closing text follows, to which the valuation is passed on.
    text_context : SchemaContext, optional
        Context with the notation of a whole value, or of arguments, without opening text.

    Attributes
    ----------
    start_of : dict of int to ValueStart
        Value start of each control at which no whitespace is pending, or an array may end before its first line.
    passing : callable
        As given.
    ends : ValueEnds
    done, valuation_of
        Those of the ends.
    frames : LeafFrames
    text_starts : dict of int to TextStart
    before_feeds : dict of int to int
        The control behind an optional line feed before a text.
    closings, openings : dict of int to bytes
        The rest of the closing text at each control in the one after an array or object; of the opening text before a string.
    unordered : int
        Formula of the values, objects, whose members may come in any order; -1 if there is none.
    """

    def __init__(
        self,
        structure: Structure,
        tables: PushdownTables,
        containers: Containers,
        open_cell: Callable[[OpenContainer], int],
        passing: Callable[[], int],
        text_context: SchemaContext | None = None,
    ) -> None:
        self.structure = structure
        self.text_context, self.passing = text_context, passing
        self.tables = tables
        self.context: SchemaContext = containers.context
        self.containers = containers
        self.formulas = containers.formulas
        self._open = open_cell
        self.unordered = -1
        self.openings: dict[int, bytes] = {}
        self._opened: dict[int, int] = {}
        self._has_registers = structure.lines is not None or structure.spaces.registers != KEPT
        self._starts: dict[tuple[ValueQuery, bool], ValueStart] = {}
        self.start_of: dict[int, ValueStart] = {}
        self._colons: dict[int, int] = {}
        self._firsts: dict[tuple[ValueQuery | None, bool], int] = {}
        self._begun: dict[int, int] = {}
        self._literals: dict[tuple[str, int], int] = {}
        self.frames = LeafFrames(structure, tables, self.context.leaves)
        self.ends = self.frames.ends
        self.done, self.valuation_of = self.ends.done, self.ends.valuation_of
        self.text_starts: dict[int, TextStart] = {}
        self.before_feeds: dict[int, int] = {}
        self._texts: dict[tuple[ValueQuery, bool], int] = {}
        self.closings: dict[int, bytes] = {}
        self._closing_of: dict[int, int] = {}

    def _start(self, query: ValueQuery, is_known: bool = True) -> ValueStart:
        found = self._starts.get((query, is_known))
        if found is None:
            unlike = self.context.unlike(query[0]) if "among" in self.formulas.kinds else None
            # `_entries` decides on first use of a type whether all its values are excluded.
            row = self.structure.unknown(self.context.possible_types(query[0] if unlike is None else unlike[0]))
            found = self._starts[query, is_known] = ValueStart(query, row, [], is_known, unlike)
        return found

    def value(self, query: ValueQuery, is_known: bool = True, *, is_member: bool = False) -> int:
        """Return the first control of a value with whitespace before it: of a member after a colon, or of an item after a comma."""
        start = self._start(query, is_known)
        spaces, lines = self.structure.after_colon if is_member else self.structure.after_comma, self.structure.lines
        found = start.firsts.get(spaces)
        if found is None:
            if lines is None:
                found = spaces.before(self.tables, start.row)
                self._add_view(start, found, spaces)
            else:
                found = lines.before_item(self.tables, self._indented(start), dead_row())
            start.firsts[spaces] = found
        return found

    def _indented(self, start: ValueStart) -> int:
        """Return the first control of a value within the indentation of a line."""
        if start.indented < 0:
            start.indented = indented(self.tables, start.row)
            self._add_view(start, start.indented, self.structure.spaces)
        return start.indented

    def _add_view(self, start: ValueStart, first: int, spaces: Spaces) -> None:
        states = first + spaces.accepting
        start.views.append(states[:, None])
        self.start_of.update(dict.fromkeys(states.tolist(), start))

    def query_at(self, control: int) -> ValueQuery | None:
        """Return the query of the value that may begin at a control; None if none may."""
        start = self.start_of.get(control)
        return None if start is None else start.query

    def beginning(self, query: ValueQuery) -> int:
        """Return the control at the start of a text, where whitespace is not allowed."""
        start = self._start(query)
        first = self.tables.control(start.row)
        start.views.append(np.array([[first]]))
        self.start_of[first] = start
        return first

    def beginning_of_text(self, query: ValueQuery, *, has_texts: bool = True) -> int:
        """Return the control at the start of a value in the notation of `text_context`; its closing text follows every value.

        A text is read as an array or object if it begins with a bracket of one that the type allows. ``has_texts``: whether strings and
        single other values are texts of the notation; if not, every value is JSON.
        """
        found = self._texts.get((query, has_texts))
        if found is None:
            make = self._beginning_of_text if has_texts else self._beginning_before_closing
            found = self._texts[query, has_texts] = make(query)
        return found

    def _beginning_of_text(self, query: ValueQuery) -> int:
        context, tables = self.text_context, self.tables
        assert context is not None
        assert context.notation is not None
        kinds: tuple[Literal["array", "object"], ...] = (
            () if context.notation.part == "strings" else ("array", "object")
        )
        can_be, closing = self.containers.satisfiability.can_be, context.notation.closing.encode()
        can_close = context.leaves.can_spell(closing)
        nested = [kind for kind in kinds if can_close and can_be(kind, self.context.typed(query[0], kind))]
        text, first = self.texts(query, "".join(BEGINS[kind].decode() for kind in nested))
        if not nested and text.registers == KEPT:
            return first
        row = tables.rows[first].copy()
        if text.registers != KEPT:
            row[row != DEAD] = action_entry(tables.action(again=True, reaction=Reaction(0, -1, first, text.registers)))
        inner = self._nested(query, row, b"".join(BEGINS[kind] for kind in nested)) if nested else -1
        control = tables.control(row)
        self.text_starts[control] = text._replace(nested=inner)
        return control

    def texts(self, query: ValueQuery, brackets: str = "", root: int | None = None) -> tuple[TextStart, int]:
        """Return the texts of a value in the notation of `text_context`, and the first control of their frame.

        ``brackets``, ``root``: as in `SchemaContext.text_formulas`.
        """
        context = self.text_context
        assert context is not None
        strings = context.leaves.strings(context.text_formulas(query, brackets, root))
        counted = strings.counted
        leaf, registers = (strings, KEPT) if counted is None else (strings.of_any_length, counted.registers)
        return TextStart(query, registers, leaf, counted, -1), self.frames.frame(leaf, counted)

    def copy_of(self, control: int, text: TextStart) -> int:
        """Return another control at the start of the texts of a frame."""
        copy = self.tables.control(self.tables.rows[control])
        self.tables.info[copy] = self.tables.info[control]
        self.text_starts[copy] = text
        return copy

    def text_start(self, control: int, query: ValueQuery) -> TextStart:
        """Return the start of texts at the first control of a frame."""
        frame = next(frame for frame in self.frames.made.values() if frame.first == control)
        return TextStart(query, KEPT, frame.leaf, frame.counts, -1)

    def _beginning_before_closing(self, query: ValueQuery) -> int:
        row = dead_row()
        letters = np.flatnonzero(self._start(query).row != DEAD).astype(np.uint8).tobytes()
        if self._is_padded:
            letters += np.flatnonzero((self.structure.spaces.rows >= 0).any(axis=0)).astype(np.uint8).tobytes()
        inner = self._nested(query, row, letters, is_padded=self._is_padded)
        control = self.tables.control(row)
        self.text_starts[control] = TextStart(query, KEPT, None, None, inner)
        return control

    def _nested(self, query: ValueQuery, row: Int32Array, letters: bytes, *, is_padded: bool = False) -> int:
        """Enter a JSON value and its closing text in a row at the bytes that begin it; return the control where it begins."""
        inner = self.value(query) if is_padded else self.beginning(query)
        # Why read again: one cell is pushed for the closing text, and one for the array or object.
        reaction = self.structure.entered(inner, 0, self.passing()) if is_padded else Reaction(0, self.passing(), inner)
        entry = action_entry(self.tables.action(again=True, reaction=reaction))
        row[list(letters)] = entry
        return inner

    @property
    def _is_padded(self) -> bool:
        """Whether whitespace may stand around a JSON value that a closing text follows."""
        context, spaces = self.text_context, self.structure.spaces
        return (
            context is not None
            and context.notation is not None
            and context.notation.padding != "none"
            and self.structure.lines is None
            and len(spaces.accepting) == spaces.n_states
        )

    def closing_text(self, valuation: int) -> Reaction:
        """Return the reaction that enters the closing text after a JSON value, which ends behind it; one cell is popped."""
        found = self._closing_of.get(valuation)
        if found is None:
            assert self.text_context is not None
            assert self.text_context.notation is not None
            data, is_padded = self.text_context.notation.closing.encode(), self._is_padded
            found = chain(self.tables, data[is_padded:], self.done(valuation), self.closings)
            if is_padded:
                row = dead_row()
                row[data[0]] = self._as_action(found) if self._has_registers else found
                found = self.structure.spaces.before(self.tables, row)
                self.closings.update(dict.fromkeys(range(found, found + self.structure.spaces.n_states), data))
            self._closing_of[valuation] = found
        return self.structure.entered(found, 1) if self._is_padded else Reaction(1, -1, found)

    def can_be_string(self, query: ValueQuery) -> bool:
        """Return whether a value may be a string."""
        return self.containers.satisfiability.can_be("string", self.context.typed(query[0], "string"))

    def is_any_text(self, query: ValueQuery) -> bool:
        """Return whether all texts of the notation are values, and nothing observes them."""
        context = self.text_context
        assert context is not None
        return len(query) == 1 and context.typed(query[0], "string") == context.typed(TRUE, "string")

    def before_line_feed(self, control: int, query: ValueQuery) -> int:
        """Return a control before the texts of a control, where one line feed may precede them."""
        row = self.tables.rows[control].copy()
        row[NEWLINE] = control
        found = self.tables.control(row)
        self.text_starts[found] = self.text_starts.get(control) or self.text_start(control, query)
        self.before_feeds[found] = control
        return found

    def is_string(self, query: ValueQuery, text: str) -> bool:
        """Return whether a text of a value in the notation of `text_context`, without its closing text, is a string."""
        if text[:1] in ("[", "{"):
            kind: Literal["array", "object"] = "array" if text[0] == "[" else "object"
            return not self.containers.satisfiability.can_be(kind, self.context.typed(query[0], kind))
        if text in ("true", "false", "null"):
            return self.context.typed(query[0], text) != TRUE
        number = self.context.typed(query[0], "number")
        return number == FALSE or not self.context.leaves.of("number", (number,)).automaton.accepts(text)

    def fill(self, control: int, byte: int) -> None:
        """Compute the entries of a value start for the type that a byte begins."""
        start = self.start_of[control]
        kind = self.structure.kind_of[byte]
        letters = self.structure.letters[kind]
        entries = self._entries(start, kind)
        if kind == "string" and isinstance(entries, int):
            entries = self._after_opening(entries)
        start.row[letters] = entries = self._as_actions(entries) if self._has_registers else entries
        rows = self.tables.rows
        for states in start.views:
            rows[states, letters] = entries

    def _after_opening(self, entry: int) -> int:
        """Return the entry of the first byte of the text before a string, where the last byte has ``entry``."""
        data = self.structure.opening
        if len(data) == 1 or entry == DEAD:
            return entry
        found = self._opened.get(entry)
        if found is None:
            found = self._opened[entry] = chain(self.tables, data[1:], entry, self.openings)
        return found

    def _as_actions(self, entries: int | Int32Array) -> int | Int32Array:
        """Return the same entries as actions, which registers do not count."""
        if isinstance(entries, int):
            return self._as_action(entries)
        return np.array([self._as_action(entry) for entry in entries.tolist()], np.int32)

    def _as_action(self, entry: int) -> int:
        if entry < 0:
            return entry
        found = self._begun.get(entry)
        if found is None:
            found = self._begun[entry] = self.tables.entry(Reaction(0, -1, entry))
        return found

    def _entries(self, start: ValueStart, kind: str) -> int | Int32Array:
        """Return the entries of a value start for the bytes that begin a type: one for all, or one per byte."""
        query = start.query
        if len(query) == 1 and start.unlike is not None:
            found = self._unlike(kind, *start.unlike)
            if found is not None:
                return found
        of_type = "string" if kind == "single" else kind
        wanted = tuple([self.context.typed(formula, of_type) for formula in query])
        if not self.containers.satisfiability.can_be(of_type, wanted[0]):
            return DEAD
        # Why: else a past item could leave what has been read of the next one without an end.
        if not start.is_known and not (of_type == "string" and self._is_endless(wanted[0])):
            return self._unsure(kind, query[0])
        if kind == "object":
            state = self.containers.open_object(wanted, any_order=query[0] == self.unordered)
            cell = self._open(OpenContainer(state))
            return self.tables.entry(self.structure.entered(self.structure.object_first, 0, cell))
        if kind == "array":
            return self._array_entry(wanted)
        if of_type in ("string", "number"):
            return self.frames.entries(self._leaf(kind, wanted))
        return self._literal(kind, sum(1 << i for i, formula in enumerate(wanted[1:]) if formula == TRUE))

    def _unsure(self, kind: str, formula: int) -> int:
        """Return the entry of a value that must differ from items that are not known. Many objects do, up to the quote of a name."""
        atom, conjunction = self.formulas.atom, self.formulas.conjunction
        named = conjunction((formula, atom(("type", "object")), atom(("object", atom(("minProperties", 1))))))
        if kind == "object" and self.has_enough(named):
            return self.tables.entry(self.structure.entered(self._unsure_object))
        return action_entry(self.structure.unsure)

    @cached_property
    def _unsure_object(self) -> int:
        """The control behind the brace of such an object."""
        structure, unsure = self.structure, action_entry(self.structure.unsure)
        row: Int32Array = self.tables.rows[structure.object_first + structure.spaces.accepting[0]]
        row = np.where(row <= ACTION, unsure, DEAD).astype(np.int32)
        if structure.lines is None and structure.has_quoted_names:
            name = self.tables.control(np.where(structure.alphabet, unsure, DEAD).astype(np.int32))
            row[[one.quote for one in structure.quoted]] = self._as_action(name)
        return structure.spaces.before(self.tables, row)

    def has_enough(self, formula: int) -> bool:
        """Return whether no other items leave an item without a value: there are more values than an array may compare items with."""
        if not self.context.has_all_bytes:
            return False
        return self.containers.values.enumerate_up_to(formula, self.context.limits.listed_values) is None

    def _leaf(self, kind: str, wanted: tuple[int, ...]) -> Leaf:
        """Return the leaf of strings, strings between single quotes ("single") or numbers."""
        leaves = self.context.leaves
        return leaves.single.strings(wanted) if kind == "single" else leaves.of(kind, wanted)

    def _unlike(self, kind: str, rest: int, values: int) -> int | Int32Array | None:
        """Return the entries of a value that differs from some others, without enumerating these; None if that is impossible."""
        of_type = "string" if kind == "single" else kind
        formula = self.context.typed(rest, of_type)
        if formula == FALSE:
            return DEAD
        if of_type not in ("string", "number"):
            return None
        leaf = self._leaf(kind, (formula,))
        return self.frames.unlike(leaf, values, partial(self.context.link, leaf))

    def _is_endless(self, formula: int) -> bool:
        """Return whether a formula over the atoms of strings has only minimum lengths and excluded constants, so no string is too long."""
        atoms = [self.formulas.nodes[member] for member in self.formulas.members[formula]]
        return all(
            atom[0] in ("T", "without") or (atom[0] == "length" and atom[2] < 0) or self.formulas.is_no(atom, "strings")
            for atom in atoms
        )

    def _literal(self, kind: str, bits: int) -> int:
        found = self._literals.get((kind, bits))
        if found is None:
            entry = literal_chain(self.tables, self.structure.words[kind], self.structure.alphabet, self.done(bits))
            found = self._literals[kind, bits] = entry
        return found

    def _array_entry(self, wanted: tuple[int, ...]) -> int:
        state = self.containers.open_array(wanted)
        ended, after, query = state.at_close(), state.after(ITEM), None
        assert ended is not None or after is not None
        empty = CANNOT_BE_EMPTY if ended is None else bits_of(ended)
        if after is not None:
            query, state = after
        observed = () if query is None else query[1:]
        cell = OpenContainer(state, observed, empty)
        return self.tables.entry(self.structure.entered(self._first(query, ended is not None), 0, self._open(cell)))

    def _first(self, query: ValueQuery | None, may_end: bool) -> int:
        """Return the first control after an opening bracket."""
        found = self._firsts.get((query, may_end))
        if found is None:
            lines = self.structure.lines
            row = dead_row() if query is None or lines is not None else self._start(query).row.copy()
            if may_end:
                row[CLOSING["array"]] = action_entry(self.structure.close_empty)
            if lines is None or query is None:
                found = self.structure.spaces.before(self.tables, row)
            else:
                found = lines.before_item(self.tables, self._indented(self._start(query)), row)
                self.start_of[found] = self._start(query)
            self._firsts[query, may_end] = found
            if query is not None and lines is None:
                self._add_view(self._start(query), found, self.structure.spaces)
        return found

    def colon(self, query: ValueQuery) -> int:
        """Return the first control after a key whose value has this query."""
        lines = self.structure.lines
        value = self.value(query, is_member=True) if lines is None else self._indented(self._start(query))
        if not self.structure.has_quoted_names:
            return value
        found = self._colons.get(value)
        if found is None:
            row = dead_row()
            if lines is not None:
                row[COLON] = lines.after_colon(self.tables, value)
            elif self._has_registers:
                row[COLON] = self.tables.entry(self.structure.entered(value))
            else:
                row[COLON] = value
            found = self._colons[value] = self.structure.spaces.before(self.tables, row)
        return found


def bits_of(truths: tuple[int, ...]) -> int:
    """Return truth values as bits."""
    return sum(1 << i for i, truth in enumerate(truths) if truth == TRUE)
