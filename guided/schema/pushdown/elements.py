"""Values behind which their names are repeated, and whose types nothing tells: ``<city>Oslo</city>``, ``<tags><item>a</item></tags>``.

An array or object begins as the text that closes a value does, up to its last character: that one ends a string, and another one begins a
name. So the texts of a value are read together with these characters, and the controls there are copies of those in the frame of texts
(`Element`). The first name decides between arrays and objects:

- a text that is empty is the empty string if that is a value, else the empty array, else the empty object;
- what begins with the name of an item is an array, if there may be one that is not empty, else an object.

The cell of an object with a pending value knows its name, an undeclared one by the bytes read on top of the cell, as names that count.

Complexity: a few rows for each query, and one per byte of the names.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.nearest import path_down
from guided.automata.pushdown import COUNTS, KEPT, NEEDS, UNLIMITED, PushdownTables, Reaction, action_entry
from guided.caching import cached_property
from guided.schema.containers.general import ITEM, ArrayState
from guided.schema.containers.opening import OpenContainer
from guided.schema.formula.atoms import Arguments
from guided.schema.formula.queries import ValueQuery
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.layout import chain, dead_row
from guided.schema.pushdown.value_starts import ValueStarts, bits_of

__all__ = ["Element", "ElementFrames"]


class Element(NamedTuple):
    """A control at the beginning of a value, on the way to the name of a first member or item.

    Attributes
    ----------
    query : ValueQuery
    text : int
        The control in the frame of texts of which this is a copy; DEAD if no text begins so.
    way : bytes
        The bytes to the first character of a name.
    rest : str
        What is left of the name of an item, with the character that ends it; empty where no item may come.
    array, inner : OpenContainer or None
        The array and the object that may begin.
    key : int
        The control of the name of the object's first member; DEAD if there is none.
    empty : {"array", "object"} or None
        The type of the value that has no text, if it is not the string.
    """

    query: ValueQuery
    text: int = DEAD
    way: bytes = b""
    rest: str = ""
    array: OpenContainer | None = None
    inner: OpenContainer | None = None
    key: int = DEAD
    empty: Literal["array", "object"] | None = None


class ElementFrames:
    """The controls of one machine where such values begin, and behind them.

    Parameters
    ----------
    arguments : Arguments
    tables, value_starts, keys
        Those of the machine.
    open_cell : callable
        Maps an open object or array to its cell.
    before : (Automaton, Automaton)
        What is before the first name of a value that may be a text, and of another one.
    item_start : int
        The action behind the name of an item.
    values : dict of int to (ValueQuery, "text")
        Where controls at which values begin are noted.

    Attributes
    ----------
    notation : Notation
        How values are written.
    at : dict of int to Element
        By control.
    """

    def __init__(
        self,
        arguments: Arguments,
        tables: PushdownTables,
        value_starts: ValueStarts,
        keys: KeyFrames,
        open_cell: Callable[[OpenContainer], int],
        before: tuple[Automaton, Automaton],
        item_start: int,
        values: dict[int, tuple[ValueQuery, Literal["text", "string", "json"]]],
    ) -> None:
        assert arguments.notation is not None
        self.notation, self._name, self._end = arguments.notation, arguments.element, arguments.end
        self._tables, self._value_starts, self._keys, self._open_cell = tables, value_starts, keys, open_cell
        self._before, self._item_start, self._values = before, item_start, values
        self.at: dict[int, Element] = {}
        # Controls behind the closing text of a value, by the name that follows and the control behind it.
        self._repeated: dict[tuple[str, int], int] = {}

    def repeated(self, name: str, control: int) -> int:
        """Return the control behind the closing text of a value; after its name, the text continues at a control."""
        found = self._repeated.get((name, control))
        if found is None:
            found = chain(self._tables, (name + self._end).encode(), control, self._value_starts.closings)
            self._repeated[name, control] = found
        return found

    def is_in_name(self, element: Element) -> bool:
        """Return whether the name of an item has begun, so that a value is not empty."""
        return element.rest not in ("", self._name + self._end)

    def begin(self, query: ValueQuery, root: int) -> int:
        """Return the entry at which a value begins.

        ``root``: the formula that says what a text means: that of the value without past items from which it must differ.
        """
        starts, tables = self._value_starts, self._tables
        text, first = starts.texts(query, root=None if root == query[0] else root)
        has_texts = bool((tables.rows[first] != DEAD).any())
        element = self._containers(Element(query, first if has_texts else DEAD), root)
        if element.empty is None and element.array is None and element.inner is None:
            is_own = text.registers == KEPT and first not in self._values
            control = first if is_own else starts.copy_of(first, text)
        else:
            # Blanks before a first member are those of a text, where there are texts.
            control = self._read_beside(self._before[not has_texts], element)
        self._values[control] = (root,), "text"
        return control if text.registers == KEPT else tables.entry(Reaction(0, -1, control, text.registers))

    def _containers(self, element: Element, root: int) -> Element:
        """Return the element with the array and the object that may begin, and which of them may have no text."""
        query, containers, formulas = element.query, self._value_starts.containers, self._value_starts.formulas
        typed, can_be = containers.context.typed, containers.satisfiability.can_be
        nothing = formulas.atom(("strings", ("",)))
        may_be_empty = can_be("string", formulas.conjunction((typed(root, "string"), nothing)))
        kinds: tuple[Literal["array", "object"], ...] = ("array", "object")
        for kind in kinds:
            if not can_be(kind, typed(root, kind)):
                continue
            of_type = containers.open(kind, (typed(root, kind),))
            if isinstance(of_type, ArrayState) and of_type.after(ITEM) is not None:
                element = element._replace(rest=self._name + self._end)
            is_empty = of_type.at_close() is not None and not may_be_empty
            may_be_empty = may_be_empty or is_empty
            wanted = tuple(typed(formula, kind) for formula in query)
            if not can_be(kind, wanted[0]):
                continue
            state = containers.open(kind, wanted)
            if is_empty and state.at_close() is not None:
                element = element._replace(empty=kind)
            if isinstance(state, ArrayState):
                if state.after(ITEM) is not None:
                    element = element._replace(array=OpenContainer(state, is_inner=True))
            elif state.labels():
                key = self._keys.start(state.keys, state.others, is_outermost=True)
                element = element._replace(inner=OpenContainer(state, is_inner=True), key=key)
        return element

    def _nothing(self, element: Element) -> int:
        """Return the valuation of an empty array or object."""
        containers, kind = self._value_starts.containers, element.empty
        assert kind is not None
        truths = containers.open(kind, tuple(containers.context.typed(one, kind) for one in element.query)).at_close()
        assert truths is not None
        return bits_of(truths)

    def _read_beside(self, automaton: Automaton, element: Element) -> int:
        """Add the controls that read the texts of a value beside what is before a name; return the first."""
        tables, table, distances = self._tables, automaton.by_byte(), automaton.distances()
        numbers = {(0, element.text): 0}
        rows, first = list[Int32Array](), tables.n_controls
        for state, text in (todo := list(numbers)):
            row = tables.rows[text].copy() if text >= 0 else dead_row()
            for byte in np.flatnonzero(table[state] >= 0).tolist():
                after = table.item(state, byte), max(row.item(byte), DEAD)
                number = numbers.setdefault(after, len(todo))
                if number == len(todo):
                    todo.append(after)
                row[byte] = first + number
            rows.append(row)
        tables.controls(np.array(rows))
        for control, (state, text) in enumerate(todo, first):
            if text >= 0:
                tables.info[control, [COUNTS, NEEDS]] = tables.info[text, [COUNTS, NEEDS]]
            here = self.at[control] = element._replace(text=text, way=path_down(automaton, distances, state)[0])
            if automaton.accepting[state]:
                row = self._names(here, rows[control - first])
                if here.empty is not None:
                    row[self.notation.end] = self._value_starts.ends.done_anyway(self._nothing(here))
                tables.rows[control] = row
                tables.note_live(control)
        return first

    def _names(self, element: Element, row: Int32Array) -> Int32Array:
        """Enter in a row the names that may begin there, or continue one of an item; add the controls behind it."""
        tables, inner, byte = self._tables, element.inner, element.rest[:1].encode()
        if inner is not None:
            # Why read again: the cell is pushed first.
            reaction = Reaction(0, self._open_cell(inner), element.key)
            row[tables.rows[element.key] != DEAD] = self._entered(reaction)
        if len(element.rest) == 1 and element.array is None:
            row[byte[0]] = DEAD
        elif len(element.rest) == 1:
            # Why read again: so the byte is on top of the cell, as before each further item.
            assert element.array is not None
            reaction = Reaction(0, self._open_cell(element.array), self._before_item)
            row[byte[0]] = self._entered(reaction)
        elif byte and (element.array is not None or inner is not None):
            key = max(tables.rows.item(element.key, byte[0]), DEAD) if inner is not None else DEAD
            if inner is not None:
                inner = inner._replace(begun=inner.begun + byte.decode()) if key >= 0 else None
            after = element._replace(text=DEAD, way=b"", rest=element.rest[1:], inner=inner, key=key)
            row[byte[0]] = control = tables.control(self._names(after, dead_row()))
            self.at[control] = after
        return row

    @cached_property
    def _before_item(self) -> int:
        """The control before the character that ends the name of an item."""
        row = dead_row()
        row[ord(self._end)] = action_entry(self._item_start)
        return self._tables.control(row)

    def _entered(self, reaction: Reaction) -> int:
        """Return the entry that reads a byte again in an array or object, however many characters a text would still need."""
        return action_entry(self._tables.action(again=True, reaction=reaction, most_needed=UNLIMITED - 1))

    def read(self, data: bytes, at: int, controls: Sequence[int]) -> tuple[Any, int]:
        """Return the value that begins at an offset, and the offset of its closing text.

        ``controls``: the control before each byte.
        """
        marker = self.notation.closing[:-1].encode()
        # Open arrays and objects with their names, outermost first.
        opened: list[tuple[Any, str]] = []
        name = ""
        while True:
            control = controls[at]
            end = data.index(marker, at)
            behind = end + len(marker)
            if data[behind] != self.notation.end:
                last = data.index(self._end.encode(), behind)
                element, outer = self.at[control], name
                name = data[behind:last].decode()
                is_array = element.array is not None and name == self._name
                opened.append(([] if is_array else {}, outer))
                at = last + 1
                continue
            value = self._of_text(control, data[at:end].decode())
            while opened:
                holder = opened[-1][0]
                if isinstance(holder, dict):
                    holder[name] = value
                else:
                    holder.append(value)
                behind = data.index(self._end.encode(), behind) + 1
                end = data.index(marker, behind)
                behind = end + len(marker)
                if data[behind] != self.notation.end:
                    at = data.index(self._end.encode(), behind) + 1
                    name = data[behind : at - 1].decode()
                    break
                value, name = opened.pop()
            else:
                return value, end

    def members(self, data: bytes, controls: Sequence[int]) -> list[tuple[str, Any, int, int]]:
        """Return the members of the outermost object: names, values, and the offsets at which values begin and end.

        ``controls``: as in `read`.
        """
        marker, end = self.notation.closing[:-1].encode(), self._end.encode()
        found: list[tuple[str, Any, int, int]] = []
        at = data.find(marker)
        while at >= 0 and data[at + len(marker)] != self.notation.end:
            begin = data.index(end, at + len(marker)) + 1
            value, last = self.read(data, begin, controls)
            found.append((data[at + len(marker) : begin - 1].decode(), value, begin, last))
            at = data.find(marker, data.index(end, last + len(marker)))
        return found

    def _of_text(self, control: int, text: str) -> Any:
        """Return the value of a text that begins at a control."""
        element = self.at.get(control)
        query = self._values[control][0]
        if element is not None and element.empty is not None and not text.strip():
            return [] if element.empty == "array" else {}
        is_string = text[:1] in ("[", "{") or self._value_starts.is_string(query, text)
        return text if is_string else parse_json(text, parse_float=exact_decimal)
