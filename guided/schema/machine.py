"""A JSON Schema as a pushdown automaton over bytes: controls for places in values, cells for open objects and arrays.

`Machine` fills the tables of `guided.automata.pushdown` on demand. Of a schema there are only these things:

- places of values, and frames of strings and numbers that are constrained (`guided.schema.places`);
- frames of keys, one for each table of names (`guided.schema.key_frames`);
- cells: an object or array that is open, with what must still come of it (`guided.schema.cells`). Keys and commas replace the cell on
  top, a closing brace takes it off and reports to the cell below.

Here are the reactions of cells. What follows a key or a comma, and whether anything can, is for `guided.schema.reading` to say.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from guided.automata.pushdown import DEFERRED, GUARD, PENDING, WIDTH, PushdownTables, Reaction
from guided.caching import cached_property
from guided.errors import SchemaError, too_few_values
from guided.limits import Limits
from guided.schema import arrays, objects
from guided.schema.atoms import JsonOptions
from guided.schema.cells import Cell, OpenArray, OpenObject, OpenPlain
from guided.schema.formula import FALSE, TRUE, Formulas
from guided.schema.jobs import Job
from guided.schema.json_values import parse_json
from guided.schema.key_frames import KeyFrames
from guided.schema.keywords import enumerations
from guided.schema.kinds import Kinds
from guided.schema.lowering import Lowering
from guided.schema.overlay import has_one_body
from guided.schema.places import Places, bits_of, item_state
from guided.schema.plain import PlainState
from guided.schema.reading import Next, Reading
from guided.schema.room import Room
from guided.schema.structure import Structure, structure_of
from guided.schema.witness import Content, Parts, Wishes, Witness

__all__ = ["Machine", "Surroundings"]

# Answers kept of cells that record; after bytes longer than these, only the last.
_MOST_RECORDED, _LONG = 256, 1 << 12
# Bytes of memory of what is known of a cell, as measured.
_PER_CELL = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What values stand in that are parts of other texts.

    Attributes
    ----------
    structure : Structure
    tables : PushdownTables
        A copy of the structure's, with whatever else there is.
    """

    structure: Structure
    tables: PushdownTables


class Machine:
    """The automaton of one schema; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    lowering : Lowering
    formulas : Formulas
        Those of ``lowering``.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 bytes, 1 for each byte that texts may hold.
    within : Surroundings, optional
        Where values are parts of other texts: what is around them.

    Attributes
    ----------
    start : int
        Where a whole value begins.
    is_empty : bool
        Is there none?
    """

    def __init__(
        self,
        lowering: Lowering,
        formulas: Formulas,
        options: JsonOptions,
        limits: Limits,
        alphabet: bytes,
        within: Surroundings | None = None,
    ) -> None:
        self.structure = structure_of(options, alphabet) if within is None else within.structure
        self.tables: PushdownTables = self.structure.tables.copy() if within is None else within.tables
        self.tables.limit, self.tables.steps.limit = limits.states, limits.call_steps
        self.formulas = formulas
        formulas.steps = self.tables.steps
        self.kinds = Kinds(formulas, lowering, options, limits, self.structure.alphabet)
        self.reading = Reading(self.kinds)
        self.keys = KeyFrames(self.kinds, self.structure, self.tables)
        self.end = self.structure.end
        # Of the cells of the tables, those of this schema.
        self._cells: dict[int, Cell | None] = {}
        self._has_more: dict[int, bool] = {}
        self._cell_ids: dict[Cell, int] = {}
        self._ends: dict[int, Reaction] = {}
        self._recorded: dict[tuple[int, int, bytes], Reaction | None] = {}
        self._room = Room(self.reading)
        self.places = Places(self.structure, self.tables, self.reading, self._cell, self._room.is_roomy)
        if within is None:
            self._lowest(Reaction(0, -1, self.end))
        self.is_empty = not self.reading.is_satisfiable(lowering.root)
        self.start = self.end if self.is_empty else self.places.beginning((lowering.root,))

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory the automaton takes, as it has grown so far."""
        return self.tables.n_bytes + self.n_own_bytes

    @property
    def n_own_bytes(self) -> int:
        """The same apart from the tables."""
        return self.formulas.n_bytes + _PER_CELL * len(self._cells)

    def fill(self, control: int, byte: int) -> None:
        """Make known what the type that a byte begins does at a place."""
        self.places.fill(control, byte)

    # Completions

    def wish(self, cell: int, own: Hashable) -> Hashable:
        """What is wished of what comes on top of a cell: see `guided.schema.witness`."""
        return self._witness.wishes(cell, self._witness.nothing if own is None else cast("Wishes", own))

    def way_out(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """The next bytes of a short completion."""
        return self._witness.way_out(
            control, cell, self._witness.nothing if own is None else cast("Wishes", own), needed
        )

    def unending(self) -> SchemaError:
        """The error of a text that nothing completes."""
        return too_few_values()

    @cached_property
    def _witness(self) -> Witness:
        return Witness(
            Parts(
                self.reading,
                self.keys,
                self.structure,
                self.tables,
                self._cells,
                self._job_at,
                self.places.frames,
                self._in_string,
                self.places.without_numbers.__contains__,
                _empty,
            )
        )

    def _in_string(self, control: int) -> bool:
        return self.places.strings.is_common(control) or control in self.places.without_strings

    def _job_at(self, control: int) -> Job | None:
        place = self.places.place_of.get(control)
        return None if place is None else place.job

    # Cells

    def below(self, control: int) -> int:
        """A cell for whole values to stand on, after which a text goes on at a control."""
        return self._lowest(Reaction(1, -1, control))

    def after(self, cell: int) -> int:
        """The control of such a cell."""
        return self._ends[cell].goes_to

    def _lowest(self, end: Reaction) -> int:
        cell = self.tables.cell()
        self._cells[cell], self._ends[cell] = None, end
        return cell

    def _cell(self, content: Cell) -> int:
        found = self._cell_ids.get(content)
        if found is None:
            is_object = isinstance(content, OpenPlain | OpenObject)
            found = self._cell_ids[content] = self.tables.cell(PENDING if is_object else -1)
            self._cells[found] = content
            if isinstance(content, OpenPlain):
                self.allow(found)
            if isinstance(content, OpenArray) and arrays.is_unique(self.formulas, content.state):
                self.tables.record(found, differs=arrays.must_differ(self.formulas, content.state))
            if isinstance(content, OpenPlain | OpenObject) and content.is_named and self._counts(content):
                self.tables.record(found, differs=True)
            if is_object:
                # PERF: what a walk would ask for at once; each question costs it a return (`python -m benchmarks.maskbench`).
                for action in self.structure.of_objects:
                    self.react(action, found)
        return found

    def allow(self, cell: int) -> None:
        """Make known which labels of keys a cell allows."""
        content = self._cells[cell]
        n = self._n_labels(content)
        assert isinstance(content, OpenPlain | OpenObject)
        reading, state = self.reading, content.state
        labels = reading.plain_labels(state) if isinstance(state, PlainState) else reading.labels(state)
        self.tables.allow(cell, tuple(labels >> shift & 0xFFFFFFFFFFFFFFFF for shift in range(0, n, 64)))
        self._has_more[cell] = labels > 0

    def is_open(self, control: int, cell: int) -> bool:
        """Can a control of keys still lead to a label that a cell allows?"""
        # Why not by `allow`: in an object that is opened and closed within a token few labels are ever asked for.
        content, tables = self._cells[cell], self.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        labels = int.from_bytes(tables.guards[guard : guard + width].astype("<u8").tobytes(), "little")
        assert isinstance(content, OpenObject)
        return self.reading.may_come(content.state, labels)

    def _n_labels(self, content: Cell | None) -> int:
        assert isinstance(content, OpenPlain | OpenObject)
        table = self.reading.plain_table(content.state) if isinstance(content, OpenPlain) else content.state.table
        return len(self.kinds.key_table(table).labels)

    def _may_go_on(self, cell: int) -> bool:
        """May another key come?"""
        found = self._has_more.get(cell)
        if found is None:
            content = self._cells[cell]
            assert isinstance(content, OpenObject)
            found = self._has_more[cell] = self.reading.may_come(content.state, (1 << self._n_labels(content)) - 1)
        return found

    def react(self, action: int, cell: int) -> None:
        """Make known what a cell does on an action."""
        reaction = self._reaction(action, cell)
        self.tables.reacts(action, cell, reaction, hangs=self._hangs(action, cell, reaction))

    def _hangs(self, action: int, cell: int, reaction: Reaction | None) -> bool:
        """Can `recorded` differ from a reaction?"""
        if cell not in self.tables.records or reaction is None:
            return False
        has_report = self.places.report_of.get(action) is not None
        if isinstance(self._cells[cell], OpenArray):
            return has_report
        return not has_report and reaction.pops > 0 and self.keys.label(action) is not None

    def _reaction(self, action: int, cell: int) -> Reaction | None:
        content = self._cells[cell]
        if action == self.places.unsure:
            return DEFERRED
        report = self.places.report_of.get(action)
        if content is None:
            return self._ends[cell] if report is not None else None
        if report is not None:
            return self._told(content, report)
        structure = self.structure
        if isinstance(content, OpenArray):
            return self._array_reaction(action, content)
        if action == structure.key_start:
            table = self.reading.plain_table(content.state) if isinstance(content, OpenPlain) else content.state.table
            return Reaction(0, -1, self.keys.start(table)) if self._may_go_on(cell) else None
        if action == structure.comma:
            if not content.is_named:
                return DEFERRED
            return structure.entered(structure.object_next) if self._may_go_on(cell) else None
        if action == structure.close_object:
            return self._object_end(content)
        lines = structure.lines
        if lines is not None and action == lines.begin:
            return lines.line(lines.key) if self._may_go_on(cell) else None
        if lines is not None and action == lines.end:
            return None if self._object_end(content) is None else lines.last_line(lines.object_end)
        label = self.keys.label(action)
        if label is None:
            return None
        if isinstance(content, OpenPlain):
            if not self.reading.plain_labels(content.state) >> label & 1:
                return None
            value, state = self.reading.after_plain(content.state, label)
            is_other = self.kinds.key_table(self.reading.plain_table(state)).labels[label][0] < 0
            is_named = not (is_other and self.reading.plain_counts(state))
            named = self._cell(OpenPlain(state, (), content.is_known, is_named))
            return structure.entered(self.places.colon((value,)), 1, named)
        after = self.reading.member(content.state, label)
        if after is None:
            return None
        assert isinstance(after.state, objects.ObjectState)
        is_other = self.kinds.key_table(content.state.table).labels[label][0] < 0
        is_named = not (is_other and self.reading.counts(after.state))
        opened = OpenObject(after.state, after.job[1:], content.is_known, is_named)
        return structure.entered(self.places.colon(after.job), 1, self._cell(opened))

    def _counts(self, content: OpenObject | OpenPlain) -> bool:
        if isinstance(content, OpenPlain):
            return self.reading.plain_counts(content.state)
        return self.reading.counts(content.state)

    def _object_end(self, content: OpenObject | OpenPlain) -> Reaction | None:
        if isinstance(content, OpenPlain):
            bits = 0 if self.reading.plain_may_end(content.state) else None
        else:
            ended = objects.at_close(self.formulas, content.state)
            bits = None if ended is None else bits_of(ended)
        return None if bits is None else Reaction(1, -1, self.places.done(bits))

    def _array_reaction(self, action: int, content: OpenArray) -> Reaction | None:
        structure = self.structure
        if action == structure.close_empty:
            return None if content.empty < 0 else Reaction(1, -1, self.places.done(content.empty))
        if action == structure.close_array:
            ended = arrays.at_close(self.formulas, content.state)
            return None if ended is None else Reaction(1, -1, self.places.done(bits_of(ended)))
        lines = structure.lines
        if lines is not None and action == lines.end:
            return None if arrays.at_close(self.formulas, content.state) is None else lines.last_line(lines.array_end)
        if action != structure.comma:
            return None
        state = content.state
        if not content.is_known and arrays.must_differ(self.formulas, state):
            state = arrays.without_items(self.formulas, state)
        item: Next | None = self.reading.item(state)
        if item is None:
            return None
        if not content.is_known and not self._has_room(item.job):
            return DEFERRED
        cell = self._cell(OpenArray(item_state(item), item.job[1:], -2, content.is_known))
        return structure.entered(self.places.value(item.job, content.is_known), 1, cell)

    def _has_room(self, job: Job) -> bool:
        """Are there more values of a job than any text has items?"""
        return len(job) == 1 and self.kinds.has_all_bytes and self._room.has_room(job[0])

    def _told(self, content: Cell, report: int) -> Reaction | None:
        """What an open object or array does when its pending value has ended."""
        entered = self.structure.entered
        goes_to = self.structure.array_done if isinstance(content, OpenArray) else self.structure.object_done
        if not content.is_known:
            return DEFERRED
        if isinstance(content, OpenPlain) or not content.observed:
            if isinstance(content, OpenArray) and arrays.is_unique(self.formulas, content.state):
                return entered(goes_to, 1, self._cell(content._replace(empty=-2, is_known=False)))
            return entered(goes_to)
        job = (TRUE, *content.observed)
        if isinstance(content, OpenObject):
            formulas = self.reading.told(content.state.formulas, job, report)
            if formulas[0] == FALSE:
                return None
            return entered(goes_to, 1, self._cell(OpenObject(content.state._replace(formulas=formulas), ())))
        state = self.reading.told(content.state, job, report)
        is_known = not arrays.is_unique(self.formulas, state)
        return None if state[0] == FALSE else entered(goes_to, 1, self._cell(OpenArray(state, (), -2, is_known)))

    def _after_name(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """What an object does that counts its members, after the bytes of a key."""
        reaction = self._reaction(action, cell)
        if reaction is None or reaction.pops == 0 or self.keys.label(action) is None:
            return reaction
        after = self._cells[reaction.pushes]
        if after is None or isinstance(after, OpenArray) or after.is_named:
            return reaction
        name = _name(data)
        if isinstance(after, OpenPlain):
            named: Cell = after._replace(state=self.reading.plain_named(after.state, name), is_named=True)
        else:
            named = after._replace(state=self.reading.named(after.state, name), is_named=True)
        return reaction._replace(pushes=self._cell(named))

    def recorded(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """What an open array does whose items must differ, after the bytes of an item."""
        # PERF: a mask asks for each token that closes an item, and most close it by the same bytes (`python -m benchmarks.maskbench`).
        key = action, cell, data
        if key in self._recorded:
            return self._recorded[key]
        if len(self._recorded) >= _MOST_RECORDED or len(data) > _LONG:
            self._recorded.clear()
        found = self._recorded[key] = self._after_bytes(action, cell, data)
        return found

    def told_by(self, cell: int, data: bytes) -> tuple[bool, str]:  # noqa: ARG002 - the protocol's signature
        """Whether the name that a key is of has one spelling, which is how later keys are told from it, and the name."""
        name = _name(data)
        return has_one_body((name,), self.kinds.options.escapes), name

    def _after_bytes(self, action: int, cell: int, data: bytes) -> Reaction | None:
        content = self._cells[cell]
        report = self.places.report_of.get(action)
        if isinstance(content, OpenPlain | OpenObject) and report is None:
            return self._after_name(action, cell, data)
        if report is None or not isinstance(content, OpenArray):
            return self._reaction(action, cell)
        self.formulas.spend(len(data))
        item = parse_json(data.strip(b" \t\n\r,"), parse_float=Decimal)
        constant = enumerations.constant(self.kinds.lowering, item, enumerations.ITEM, 0)
        state = content.state
        if content.observed:
            state = self.reading.told(state, (TRUE, *content.observed), report)
            if state[0] == FALSE:
                return None
        state = arrays.with_item(self.formulas, state, constant)
        return self.structure.entered(self.structure.array_done, 1, self._cell(OpenArray(state, (), -2)))


def _name(data: bytes) -> str:
    """The name that a key is of, after what has been read before it."""
    name = parse_json(data[data.index(b'"') :])
    assert isinstance(name, str)
    return name


def _empty(content: Content) -> int:
    return content.empty if isinstance(content, OpenArray) else -1
