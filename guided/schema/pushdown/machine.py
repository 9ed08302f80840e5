"""A JSON Schema as a pushdown automaton over bytes.

Controls are positions within values; stack cells are open objects and arrays. `SchemaMachine` fills the tables of
`guided.automata.pushdown` on demand. It adds to the shared JSON punctuation (`guided.schema.pushdown.structure`):

- value starts, and frames of constrained strings and numbers (`guided.schema.pushdown.value_starts`);
- frames of keys, one for each table of names (`guided.schema.pushdown.key_frames`);
- cells: an open object or array with the constraints on its remaining members or items (`guided.schema.containers.opening`). Keys
  and commas replace the top cell; a closing bracket pops it, and the cell below gets the valuation.

This module computes the reactions of cells. `guided.schema.containers` decides which state follows a key or a comma.
"""

import re
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from struct import unpack
from typing import Any, cast

from guided.arrays import DEAD
from guided.automata.pushdown import (
    DEFERRED,
    GUARD,
    KEPT,
    PENDING,
    WIDTH,
    PushdownTables,
    Reaction,
    SharedReactions,
    action_entry,
)
from guided.automata.stacks import Configuration, Stacks
from guided.caching import cached_property
from guided.errors import SchemaError, shown, too_few_values
from guided.limits import Limits
from guided.patterns.charset import SURROGATE
from guided.schema.containers.budgets import check_work
from guided.schema.containers.conjunctive import ConjunctiveState
from guided.schema.containers.general import ITEM, ArrayState, ObjectState
from guided.schema.containers.opening import HAS_BEGUN, Containers, OpenContainer
from guided.schema.formula.atoms import Arguments, JsonOptions, Notation
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.formula.queries import TargetValuations
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.arguments import ArgumentFrames, after_arguments, begins_arguments
from guided.schema.pushdown.costs import check_objects
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.layout import dead_row
from guided.schema.pushdown.structure import Structure, structure_of
from guided.schema.pushdown.value_starts import ValueStarts, bits_of
from guided.schema.pushdown.witness import Witness
from guided.schema.strings.notation import in_json
from guided.schema.values.context import SchemaContext
from guided.schema.values.keys import OTHER

__all__ = ["SchemaMachine", "Surroundings", "of_arguments"]

# Cached reactions of recording cells, and the data length in bytes beyond which only the newest is kept.
_RECORDED_KEPT, _LONG = 256, 1 << 12
# Bytes of memory per cell, measured.
_PER_CELL = 2_000
# Steps that one new cell costs a call.
_STEPS_PER_CELL = 20


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The shared structure and tables of values embedded in other texts.

    Attributes
    ----------
    structure : Structure
    tables : PushdownTables
        A copy of the structure's tables, shared by all embedded values and the surrounding text.
    """

    structure: Structure
    tables: PushdownTables


class SchemaMachine:
    """The automaton of one schema; implements `guided.automata.pushdown.Pushdown`.

    Parameters
    ----------
    lowering : Lowering
    formulas : Formulas
        The table that ``lowering`` writes to.
    options : JsonOptions
    limits : Limits
    alphabet : bytes
        256 flags: 1 for each byte that texts may contain.
    within : Surroundings, optional
        Set if values are embedded in another text.
    notation : Notation, optional
        How a whole value is written, if not as JSON. Without an opening text, JSON is within arrays and objects only.
    arguments : Arguments, optional
        Set if the members of a whole value, an object, are written as arguments.
    any_order : bool
        Whether the members of a whole value, an object, may come in any order.
    pointer : str
        JSON Pointer to the schema of ``lowering.root``.

    Attributes
    ----------
    start : int
        Control at the start of a whole value of the root.
    fill : callable
        That of the value starts.
    is_empty : bool
        Whether no value satisfies the root's schema.
    """

    def __init__(
        self,
        lowering: Lowering,
        formulas: Formulas,
        options: JsonOptions,
        limits: Limits,
        alphabet: bytes,
        within: Surroundings | None = None,
        notation: Notation | None = None,
        arguments: Arguments | None = None,
        *,
        any_order: bool = False,
        pointer: str = "",
    ) -> None:
        following = b"" if arguments is None else after_arguments(arguments)
        self.structure = structure_of(options, alphabet, following, limits) if within is None else within.structure
        self.tables: PushdownTables = self.structure.tables.copy() if within is None else within.tables
        self.tables.limit, self.tables.steps.limit = limits.states, limits.call_steps
        self.formulas = formulas
        self.tables.steps.n_bytes += formulas.steps.n_bytes
        formulas.steps = self.tables.steps
        letters = self.structure.alphabet
        elements = arguments if arguments is not None and arguments.item else None
        self.context = SchemaContext(formulas, lowering, options, limits, letters, elements=elements)
        # Whether names are repeated behind values.
        self._repeats = arguments is not None and bool(arguments.element)
        if arguments is not None:
            _check_names(self.context, lowering.root, arguments)
            notation = arguments.notation
        self._has_strings, text = notation is None or notation.part != "others", None
        if notation is not None and self._has_strings:
            text = SchemaContext(formulas, lowering, options, limits, letters, notation)
        self.containers = Containers(self.context)
        check_work(self.containers.satisfiability)
        check_objects(self.containers)
        self.keys = KeyFrames(self.context.key_tables, self.structure, self.tables, arguments)
        if options.excludes:
            # Why now: too many excluded texts must not exceed a limit in the middle of a text.
            self.context.leaves.strings((self.context.typed(TRUE, "string"),)).automaton.is_empty()
            self.keys.start(self.context.table_of((self.context.typed(TRUE, "object"),)))
        self.end = self.structure.end
        # Cells of this schema; the tables may also hold those of others.
        self._cells: dict[int, OpenContainer | None] = {}
        self._has_more: dict[int, bool] = {}
        self._cell_ids: dict[OpenContainer, int] = {}
        self._ends: dict[int, Reaction] = {}
        self._shared: dict[Hashable, SharedReactions] = {}
        # The cell below values that a closing text follows; -1 until needed.
        self._passing = self._outermost = -1
        self._recorded: dict[tuple[int, int, bytes], Reaction | None] = {}
        # Why weak: a machine is in no reference cycle, so an index that drops it frees its memory at once.
        machine = weakref.proxy(self)
        self._open_cell: Callable[[OpenContainer], int] = lambda content: machine._cell(content)
        self.value_starts = ValueStarts(
            self.structure,
            self.tables,
            self.containers,
            self._open_cell,
            lambda: machine._passing_cell(),
            text,
        )
        self.fill = self.value_starts.fill
        if within is None:
            self._lowest(Reaction(0, -1, self.end))
        self.arguments: ArgumentFrames | None = None
        self.start = self._beginning(lowering.root, arguments, any_order=any_order)
        self.is_empty = self.start == self.end
        self._starts = {pointer: self.start}

    def __del__(self) -> None:
        if (containers := vars(self).get("containers")) is not None:
            containers.release()

    def start_at(self, pointer: str) -> int:
        """Return the control at the start of a value of another schema in the document.

        Raises
        ------
        SchemaError, LimitError
            As `guided.schema.frontend.lowering.Lowering`.
        """
        found = self._starts.get(pointer)
        if found is None:
            found = self._starts[pointer] = self._beginning(self.context.lowering.at(pointer))
        return found

    def _beginning(self, root: int, arguments: Arguments | None = None, *, any_order: bool = False) -> int:
        """Return the control at the start of a value; the end if there is none."""
        formulas = self.formulas
        if arguments is not None:
            root = of_arguments(formulas, root, arguments)
        elif not self._has_strings:
            root = formulas.conjunction((root, formulas.negation(formulas.atom(("type", "string")))))
        if not self.containers.satisfiability.is_satisfiable(root):
            return self.end
        if arguments is not None:
            return self._beginning_of_arguments(root, arguments, any_order)
        if self.value_starts.text_context is not None:
            start = self.value_starts.beginning_of_text((root,))
            return start if (self.tables.rows[start] != DEAD).any() else self.end
        self.value_starts.unordered = root if any_order else -1
        return self.value_starts.beginning((root,))

    def _beginning_of_arguments(self, root: int, arguments: Arguments, any_order: bool) -> int:
        """Return the control at the start of an object whose members are written as arguments."""
        tables = self.tables
        frames = ArgumentFrames(arguments, self.structure, tables, self.value_starts, self.keys, self._open_cell)
        self.arguments = frames
        state = self.containers.open_object((self.context.typed(root, "object"),), any_order=any_order)
        self._outermost = self._cell(OpenContainer(state, is_outermost=True))
        row = dead_row()
        # Why read again: the cell is pushed first.
        entry = action_entry(tables.action(again=True, reaction=Reaction(0, self._outermost, frames.first)))
        row[list(begins_arguments(arguments))] = entry
        row[tables.rows[frames.first] == DEAD] = DEAD
        if not frames.may_be_empty:
            return tables.control(row)
        ended = tables.action(reaction=Reaction(0, self._outermost, action_entry(self.structure.close_object)))
        return tables.control(row, end_action=action_entry(ended))

    # Completions

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        """Return the target valuations for the value on top of a cell (`guided.schema.pushdown.witness`)."""
        return self._witness.targets(cell, self._witness.no_target if own is None else cast("TargetValuations", own))

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """Return the next bytes of a short completion."""
        return self._witness.completion_step(
            control, cell, self._witness.no_target if own is None else cast("TargetValuations", own), needed
        )

    def no_completion_error(self) -> SchemaError:
        """Return the error of a text that has no completion."""
        return too_few_values()

    @cached_property
    def _witness(self) -> Witness:
        outermost = self.start, self._outermost
        return Witness(self.value_starts, self.keys, self._cells, self.arguments, outermost)

    # Cells

    def below(self, control: int) -> int:
        """Return a new bottom cell for a whole value; when the value ends, the text continues at ``control``."""
        return self._lowest(Reaction(1, -1, control))

    def after(self, cell: int) -> int:
        """Return the control that follows the value on a cell made by `below`."""
        return self._ends[cell].goes_to

    def _passing_cell(self) -> int:
        if self._passing < 0:
            self._passing = self.tables.cell()
            self._cells[self._passing] = None
        return self._passing

    def _lowest(self, end: Reaction) -> int:
        cell = self.tables.cell()
        self._cells[cell], self._ends[cell] = None, end
        return cell

    def _cell(self, content: OpenContainer) -> int:
        found = self._cell_ids.get(content)
        if found is None:
            self.tables.steps.spend(_STEPS_PER_CELL, "the schema leads to too many open objects and arrays")
            state = content.state
            is_object = not isinstance(state, ArrayState)
            found = self._cell_ids[content] = self.tables.cell(PENDING if is_object else -1)
            self._cells[found] = content
            self.tables.steps.n_bytes += _PER_CELL
            if isinstance(state, ConjunctiveState):
                self.compute_allowed(found)
            if content.is_named and state.remembers():
                self.tables.record(found, differs=state.must_differ() and not self._repeats_names(content))
            elif self._repeats_names(content):
                self.tables.record(found, differs=False)
            if is_object and not content.observed and not content.name:
                self._react(found, content)
        return found

    def _repeats_names(self, content: OpenContainer) -> bool:
        """Return whether the next member of an object may have an undeclared name that the text after its value repeats."""
        if not self._repeats or not content.is_apart or isinstance(content.state, ArrayState):
            return False
        if content.name or content.observed or not content.is_named:
            return False
        return content.state.may_come(content.state.keys.other_labels)

    def _react(self, cell: int, content: OpenContainer) -> None:
        """Set the reactions of an object that observes nothing to the actions that every object receives.

        PERF: a trie walk needs them at once, and objects in the same position share them (`python -m benchmarks.maskbench`).
        """
        state = content.state
        assert not isinstance(state, ArrayState)
        position = (
            state.at_close(),
            self._may_continue(cell),
            content.is_named,
            state.keys,
            state.others,
            content.is_outermost,
            content.is_inner,
        )
        found = self._shared.get(position)
        if found is None:
            reactions = {action: self._reaction(action, cell) for action in self._actions_of(content)}
            found = self._shared[position] = self.tables.shared(reactions)
        self.tables.set_reactions(cell, found)

    def _actions_of(self, content: OpenContainer) -> tuple[int, ...]:
        structure = self.structure
        if self.arguments is None or not content.is_apart:
            return structure.of_objects
        return structure.value_done, structure.close_object, self.arguments.key_start, *self.arguments.choices

    def compute_allowed(self, cell: int) -> None:
        """Compute the key labels that a cell allows."""
        state = self._object(cell)
        labels, n = state.labels(), len(state.keys.labels)
        n_words = -(-n // 64)
        self.tables.set_allowed(cell, unpack(f"<{n_words}Q", labels.to_bytes(8 * n_words, "little")))
        self._has_more[cell] = labels > 0

    def is_open(self, control: int, cell: int) -> bool:
        """Return whether a key control can still lead to a label that the cell allows."""
        # Why not `compute_allowed`: an object that opens and closes within one token needs few labels.
        tables = self.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        labels = int.from_bytes(tables.guards[guard : guard + width].astype("<u8").tobytes(), "little")
        return self._object(cell).may_come(labels)

    def _object(self, cell: int) -> ConjunctiveState | ObjectState:
        content = self._cells[cell]
        assert content is not None
        assert not isinstance(content.state, ArrayState)
        return content.state

    def _may_continue(self, cell: int) -> bool:
        """Return whether another key, or an item, may follow."""
        found = self._has_more.get(cell)
        if found is None:
            content = self._cells[cell]
            if content is not None and isinstance(content.state, ArrayState):
                return content.state.after(ITEM) is not None
            state = self._object(cell)
            every_label = (1 << len(state.keys.labels)) - 1
            found = self._has_more[cell] = state.may_come(every_label)
        return found

    def compute_reaction(self, action: int, cell: int) -> None:
        """Compute the reaction of a cell to an action."""
        reaction = self._reaction(action, cell)
        self.tables.set_reaction(
            action, cell, reaction, depends_on_bytes=self._depends_on_bytes(action, cell, reaction)
        )

    def _depends_on_bytes(self, action: int, cell: int, reaction: Reaction | None) -> bool:
        """Return whether `recorded_reaction` can differ from the reaction."""
        content = self._cells[cell]
        if cell not in self.tables.records or content is None or reaction is None:
            return False
        has_valuation = self.value_starts.valuation_of.get(action) is not None
        if isinstance(content.state, ArrayState):
            return has_valuation
        return not has_valuation and reaction.pops > 0 and self.keys.label(action) is not None

    def _reaction(self, action: int, cell: int) -> Reaction | None:
        content = self._cells[cell]
        if action == self.structure.unsure:
            return DEFERRED
        valuation = self.value_starts.valuation_of.get(action)
        if content is None and valuation is not None and cell == self._passing:
            return self.value_starts.closing_text(valuation)
        if content is None:
            return self._ends[cell] if valuation is not None else None
        if valuation is not None:
            return self._after_valuation(content, valuation)
        structure, lines, state = self.structure, self.structure.lines, content.state
        if action == (structure.close_array if isinstance(state, ArrayState) else structure.close_object):
            ended = state.at_close()
            return None if ended is None else Reaction(1, -1, self.value_starts.done(bits_of(ended)))
        if lines is not None and action == lines.end:
            end = lines.array_end if isinstance(state, ArrayState) else lines.object_end
            return None if state.at_close() is None else lines.last_line(end)
        arguments = self.arguments if self.arguments is not None and content.is_apart else None
        if arguments is not None:
            is_member, control = arguments.choices.get(action, (False, -1))
            if is_member and not (content.is_named and content.is_known):
                return DEFERRED
            if control >= 0:
                holds = self._may_continue(cell) if is_member else state.at_close() is not None
                return Reaction(0, -1, control) if holds else None
        if isinstance(state, ArrayState):
            if action == structure.close_empty:
                return None if content.empty < 0 else Reaction(1, -1, self.value_starts.done(content.empty))
            begins = structure.comma if arguments is None else arguments.item_start
            return self._next_item(content, state) if action == begins else None
        if arguments is not None and action == arguments.key_start:
            start = self.keys.start(state.keys, state.others, is_outermost=True)
            return Reaction(0, -1, start) if self._may_continue(cell) else None
        if action in structure.key_starts:
            at = structure.key_starts.index(action)
            may_continue = self._may_continue(cell)
            return Reaction(0, -1, self.keys.start(state.keys, state.others, at)) if may_continue else None
        if action == structure.comma:
            if not content.is_named:
                return DEFERRED
            return structure.entered(structure.object_next) if self._may_continue(cell) else None
        if lines is not None and action == lines.begin:
            return lines.line(lines.key) if self._may_continue(cell) else None
        label = self.keys.label(action)
        return None if label is None else self._after_key(content, state, label)

    def _after_key(self, content: OpenContainer, before: ConjunctiveState | ObjectState, label: int) -> Reaction | None:
        after = before.after(label)
        if after is None:
            return None
        query, state = after
        keys, is_repeated = before.keys, self._repeats and content.is_apart
        index = keys.labels[label][0]
        opened = OpenContainer(
            state,
            query[1:],
            HAS_BEGUN,
            is_named=index != OTHER or not (is_repeated or state.remembers()),
            is_outermost=content.is_outermost,
            is_inner=content.is_inner,
            name=keys.names[index] if is_repeated and index != OTHER else "",
        )
        if self.arguments is not None and content.is_apart:
            return Reaction(1, self._cell(opened), self.arguments.after_name(query))
        return self.structure.entered(self.value_starts.colon(query), 1, self._cell(opened))

    def _next_item(self, content: OpenContainer, before: ArrayState) -> Reaction | None:
        if not content.is_known:
            return DEFERRED if content.is_inner else self._after_unknown(before)
        after = before.after(ITEM)
        if after is None:
            return None
        query, state = after
        opened = OpenContainer(state, query[1:], HAS_BEGUN, is_inner=content.is_inner)
        if content.is_inner:
            assert self.arguments is not None
            if self._repeats and state.remembers():
                # What a text means does not depend on past items.
                first = before.without_items().after(ITEM)
                entry = self.arguments.after_name(query, None if first is None else first[0][0])
                opened = opened._replace(begins=entry)
            else:
                entry = self.arguments.after_name(query)
            return Reaction(1, self._cell(opened), entry)
        return self.structure.entered(self.value_starts.value(query), 1, self._cell(opened))

    def _after_unknown(self, before: ArrayState) -> Reaction | None:
        """Return the reaction of an array to the comma behind an item that is not known. No item may end, so nothing is observed."""
        required = before.narrowed(before.formulas[0])
        is_free = not required.remembers()
        if not is_free and not required.must_differ():
            return DEFERRED
        after = required.without_items().after(ITEM)
        if after is None:
            return None
        query, state = after
        if not is_free and (len(query) > 1 or not self.value_starts.has_enough(query[0])):
            return DEFERRED
        cell = self._cell(OpenContainer(state, query[1:], HAS_BEGUN, is_known=False))
        return self.structure.entered(self.value_starts.value(query, is_free), 1, cell)

    def _after_valuation(self, content: OpenContainer, valuation: int) -> Reaction | None:
        """Return the reaction of an open object or array to the end of its pending value."""
        is_array = isinstance(content.state, ArrayState)
        goes_to = self.structure.array_done if is_array else self.structure.object_done
        entered = self.structure.entered
        if self.arguments is not None and content.is_apart:
            goes_to, entered = self.arguments.after_value(content), _entered
        if not content.is_known or (self._repeats and not content.is_named):
            return DEFERRED
        if not content.observed and not content.name and not (is_array and content.state.remembers()):
            return entered(goes_to)
        state = content.state.with_valuation(content.observed, valuation)
        if state is None:
            return None
        is_known = not (is_array and state.remembers())
        opened = content._replace(
            state=state, observed=(), empty=HAS_BEGUN, is_known=is_known, is_named=True, name="", begins=0
        )
        cell = self._cell(opened)
        return entered(goes_to, 1, cell)

    def _after_name(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """Return the reaction of an object that counts its members, given the bytes of the key."""
        reaction = self._reaction(action, cell)
        if reaction is None or reaction.pops == 0 or self.keys.label(action) is None:
            return reaction
        content, after = self._cells[cell], self._cells[reaction.pushes]
        if content is None or after is None or after.is_named:
            return reaction
        name = self._name(content, data)
        state = after.state.with_last(name) if after.state.remembers() else after.state
        named = after._replace(state=state, is_named=True, name=name if self._repeats and after.is_apart else "")
        return reaction._replace(pushes=self._cell(named))

    def recorded_reaction(self, action: int, cell: int, data: bytes) -> Reaction | None:
        """Return the reaction of a recording cell, given the bytes read on top of it."""
        # PERF: a mask asks once per token that closes an item, mostly with the same bytes (`python -m benchmarks.maskbench`).
        key = action, cell, data
        if key in self._recorded:
            return self._recorded[key]
        if len(self._recorded) >= _RECORDED_KEPT or len(data) > _LONG:
            self._recorded.clear()
        found = self._recorded[key] = self._after_bytes(action, cell, data)
        return found

    def distinctness_key(self, cell: int, data: bytes) -> tuple[bool, str]:
        """Return whether the key has a single spelling, and its name; later keys are compared by both."""
        content = self._cells[cell]
        assert content is not None
        name = self._name(content, data)
        return self.context.key_tables.has_one_body((name,)), name

    def _after_bytes(self, action: int, cell: int, data: bytes) -> Reaction | None:
        content = self._cells[cell]
        valuation = self.value_starts.valuation_of.get(action)
        if content is None or isinstance(content.state, ArrayState) != (valuation is not None):
            return self._reaction(action, cell)
        if valuation is None:
            return self._after_name(action, cell, data)
        self.formulas.spend(len(data))
        state = content.state.with_valuation(content.observed, valuation)
        if state is None:
            return None
        if content.is_inner:
            assert self.arguments is not None
            item = self.arguments.read(data) if not self._repeats else self._read_again(content, cell, data)
            named = OpenContainer(state.with_last(item), is_inner=True)
            return Reaction(1, self._cell(named), self.arguments.after_value(named))
        item = parse_json(in_json(data.strip(b" \t\n\r,"), self.context.options), parse_float=exact_decimal)
        return self.structure.entered(self.structure.array_done, 1, self._cell(OpenContainer(state.with_last(item))))

    def _read_again(self, content: OpenContainer, cell: int, data: bytes) -> Any:
        """Return the value of an item on top of a cell whose text alone does not tell it."""
        assert self.arguments is not None
        assert self.arguments.elements is not None
        # Why a proxy: a machine is in no reference cycle.
        stacks = Stacks(weakref.proxy(self))
        node, texts, controls = stacks.push(cell, 0), list[bytes | None]([b""]), list[int]()
        place: Configuration | None = (content.begins, node, *KEPT)
        if content.begins < 0:
            place = stacks.after_action(content.begins, node)
        # The first byte ends the name of the item, and the last one the value.
        for byte in data[1:-1]:
            assert place is not None, "the item has been read before"
            controls.append(place[0])
            place = stacks.read(place, bytes([byte]), texts)
        return self.arguments.elements.read(data[1:], 0, controls)[0]

    def _name(self, content: OpenContainer, data: bytes) -> str:
        """Return the name that a key of an object spells. ``data`` may begin with what precedes the key."""
        if content.is_apart:
            assert self.arguments is not None
            return self.arguments.name_at_end(content.begun.encode() + data[:-1])
        if not self.structure.has_quoted_names:
            return data.lstrip(b"{,")[:-1].decode()
        begin = min(place for one in self.structure.quoted if (place := data.find(one.quote)) >= 0)
        name = parse_json(in_json(data[begin:], self.context.options))
        assert isinstance(name, str)
        return name


def _entered(control: int, pops: int = 0, pushes: int = -1) -> Reaction:
    """Return the reaction that enters a position without whitespace before it."""
    return Reaction(pops, pushes, control)


def _check_names(context: SchemaContext, root: int, arguments: Arguments) -> None:
    """Refuse names of arguments that cannot be written, wherever a schema of the whole value mentions them."""
    formulas, origins = context.formulas, context.lowering.origins
    # With items, names at any depth are written so, and all schemas have been lowered.
    for atom in formulas.nodes if arguments.item else formulas.atoms(context.typed(root, "object")):
        names = [atom[1]] if atom[0] == "required" else [name for name, _ in atom[1]] if atom[0] == "properties" else []
        for name in names:
            if not re.search(arguments.names, name) or SURROGATE.search(name):
                at, keyword = origins.get(formulas.atom(atom), ((), "properties"))
                pointer = pointer_of((at, keyword, name) if keyword == "properties" else at)
                raise SchemaError(f"this notation cannot write the name {shown(name)}", pointer, str(keyword))


def of_arguments(formulas: Formulas, root: int, arguments: Arguments) -> int:
    """Return the objects of a formula whose names, and strings of a notation without quotes, can be written."""
    atom, notation = formulas.atom, arguments.notation
    names = atom(("string", atom(("pattern", arguments.names))))
    parts = [root, atom(("type", "object")), atom(("object", atom(("propertyNames", names))))]
    if notation is not None and not arguments.item:
        texts = atom(("string", atom(("without", (notation.closing, *notation.reserved)))))
        parts.append(atom(("object", atom(("properties", (), (), texts)))))
    return formulas.conjunction(parts)
