"""The texts around the members of the outermost object, where these are written as arguments.

Such an object is a cell like any other: only the texts that lead to its actions differ (`guided.schema.formula.atoms.Arguments`). Before
each name, the texts before a name and the end of the object are read together, as a product of two automata. Where they part, an action
asks the cell whether another member may come, or whether the object may end. The byte that begins a name is read again, as the name may
follow optional blanks. Behind a name, the texts before values of different types are read together in the same way.

If the end may be empty, the object ends before whatever follows it: the text may end at each prefix that is an end, if the cell allows it.

Arrays and objects within are JSON, or written in the same way at any depth (`Arguments.item`). Then each is such a cell, too, and the
closing text of a value is its end.

Behind it, the name of the value may be repeated (`guided.schema.pushdown.elements`).

Complexity: one row per byte of the texts, once for each machine and for each query of a value.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, freeze
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.automata.nearest import path_down
from guided.automata.pushdown import PushdownTables, Reaction, action_entry
from guided.caching import cached_property
from guided.errors import VocabularyError
from guided.patterns.parse import parse
from guided.schema.containers.general import ArrayState
from guided.schema.containers.opening import OpenContainer
from guided.schema.formula.atoms import TYPES, Arguments
from guided.schema.formula.formulas import FALSE
from guided.schema.formula.memo import Memo
from guided.schema.formula.queries import ValueQuery
from guided.schema.frontend.json_values import exact_decimal, parse_json
from guided.schema.pushdown.elements import ElementFrames
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.layout import dead_row
from guided.schema.pushdown.structure import Structure
from guided.schema.pushdown.value_starts import ValueStarts

__all__ = ["ArgumentFrames", "after_arguments", "begins_arguments"]

# The states of some automata that read a text together; DEAD where it is none of one.
_State: TypeAlias = tuple[int, ...]
_NO_NAME = frozenset(b' \t\n\r"<>\\')


_automata: Memo[Automaton] = Memo(256, 1 << 22)


def _automaton(source: str) -> Automaton:
    found = _automata.get(source)
    return _automata.put(source, from_tree(parse(source))) if found is None else found


class _Together(NamedTuple):
    """Some automata read together.

    Attributes
    ----------
    states : tuple of _State
        Those that texts lead to; the first is the start.
    rows : ndarray[int32], shape (n_states, 256)
        The number of the next state, DEAD, or ``_END`` less the number of the automaton whose text ends.
    partings : tuple of (int, int, bool, int)
        Where two automata part: state and byte, whether the first one continues, and the next state.
    """

    states: tuple[_State, ...]
    rows: Int32Array
    partings: tuple[tuple[int, int, bool, int], ...]

    def entries(self, first: int, ends: Sequence[int]) -> Int32Array:
        """Return the rows of controls from ``first`` on, where the texts end with these entries."""
        rows = np.where(self.rows >= 0, self.rows + first, self.rows)
        for number, entry in enumerate(ends):
            rows[self.rows == _END - number] = entry
        return rows


_END = DEAD - 1
_read_together: Memo[_Together] = Memo(256, 1 << 23)


def _together(sources: tuple[str, ...], alphabet: bytes, ends: tuple[bool, ...]) -> _Together:
    """Read texts together. ``ends``: of which of them a text that is complete ends the reading."""
    found = _read_together.get((sources, alphabet, ends))
    return found or _read_together.put((sources, alphabet, ends), _made_together(sources, alphabet, ends))


def _made_together(sources: tuple[str, ...], alphabet: bytes, ends: tuple[bool, ...]) -> _Together:
    letters = np.frombuffer(alphabet, np.bool_)
    automata = [_automaton(source).within(letters) for source in sources]
    tables, nothing = [automaton.by_byte() for automaton in automata], np.full(256, DEAD, np.int32)
    numbers: dict[_State, int] = {(0,) * len(automata): 0}
    rows, partings = list[Int32Array](), list[tuple[int, int, bool, int]]()
    for state in (todo := list(numbers)):
        onward = np.array(
            [table[one] if one >= 0 else nothing for table, one in zip(tables, state, strict=True)], np.int32
        )
        row = dead_row()
        for byte in np.flatnonzero((onward >= 0).any(axis=0)).tolist():
            after = tuple(onward[:, byte].tolist())
            complete = zip(ends, automata, after, strict=True)
            end = [is_end and one >= 0 and bool(automaton.accepting[one]) for is_end, automaton, one in complete]
            if any(end):
                row[byte] = _END - end.index(True)
                continue
            number = numbers.setdefault(after, len(todo))
            if number == len(todo):
                todo.append(after)
            if min(state) >= 0 > min(after):
                partings.append((len(rows), byte, after[0] >= 0, number))
            row[byte] = number
        rows.append(row)
    return _Together(tuple(numbers), freeze(np.array(rows)), tuple(partings))


def begins_arguments(arguments: Arguments) -> bytes:
    """Return the bytes that an object may begin with."""
    return _firsts(arguments.first, arguments.close_first)


def after_arguments(arguments: Arguments) -> bytes:
    """Return the bytes that may follow a number."""
    if arguments.notation is not None:
        return arguments.notation.closing.encode()[:1]
    return _firsts(arguments.following, arguments.close)


def _firsts(key: str, close: str) -> bytes:
    before, end = _automaton(key), _automaton(close)
    is_first = (before.by_byte()[0] >= 0) | (end.by_byte()[0] >= 0)
    if before.accepting[0]:
        is_first |= _begins_name()
    return np.flatnonzero(is_first).astype(np.uint8).tobytes()


def _begins_name() -> BoolArray:
    found: BoolArray = np.ones(256, np.bool_)
    found[[*range(0x21), *_NO_NAME, 0x7F]] = False
    return found


class ArgumentFrames:
    """The controls of one machine around the arguments and between their names and values.

    Parameters
    ----------
    arguments : Arguments
    structure, tables, value_starts, keys
        Those of the machine.
    open_cell : callable
        Maps an open object or array to its cell.

    Attributes
    ----------
    first, following : int
        Controls before the first argument and after a value.
    inner, items : int
        Controls before a member or the end of an object within, and before an item or the end of an array; -1 if these are JSON.
    may_be_empty : bool
        Whether an object without members may have no text.
    key_start, item_start : int
        Actions at the byte that begins a name, and at the one behind the text before an item; -1 if arrays are JSON.
    choices : dict of int to (bool, int)
        Each action where texts part: whether a member comes next, instead of the end, and the control that follows.
    values : dict of int to (ValueQuery, str)
        Each control at which a value begins: its query, and whether it is a "text", a "string" or "json".
    elements : ElementFrames or None
        The controls of values whose type nothing tells, if names are repeated behind values.

    Raises
    ------
    VocabularyError
        Texts need bytes that the alphabet lacks.
    """

    def __init__(
        self,
        arguments: Arguments,
        structure: Structure,
        tables: PushdownTables,
        value_starts: ValueStarts,
        keys: KeyFrames,
        open_cell: Callable[[OpenContainer], int],
    ) -> None:
        self._arguments, self._structure, self._tables = arguments, structure, tables
        self._value_starts, self._open_cell = value_starts, open_cell
        self.key_start = tables.action(again=True)
        self.choices: dict[int, tuple[bool, int]] = {}
        # The entries of the actions where texts part, by the control that follows.
        self._choice_of: dict[int, int] = {}
        self.values: dict[int, tuple[ValueQuery, Literal["text", "string", "json"]]] = {}
        # The texts before a name and the end, and their states at each control before a name.
        self._places: dict[int, tuple[tuple[Automaton, Automaton], _State]] = {}
        # The texts behind a name and their states, with the query of the value after each.
        self._between: dict[int, list[tuple[Automaton, int, ValueQuery]]] = {}
        self._after_name: dict[tuple[ValueQuery, int | None], int] = {}
        self._is_name = _begins_name() & structure.alphabet
        self._is_name[ord(arguments.end)] = False
        if arguments.element:
            assert arguments.notation is not None
            self._is_name[arguments.notation.end] = False
        self.may_be_empty = bool(_automaton(arguments.close_first).accepting[0])
        self.first = self._position(arguments.first, arguments.close_first)
        self.following = self._position(arguments.following, arguments.close)
        self.item_start = self.inner = self.items = -1
        self.elements: ElementFrames | None = None
        if arguments.item:
            assert arguments.notation is not None
            self.item_start = tables.action(again=not arguments.element)
            if arguments.element:
                before = self._spelled(re.escape(arguments.notation.closing[:-1])), self._spelled(arguments.following)
                self.elements = ElementFrames(
                    arguments, tables, value_starts, keys, open_cell, before, self.item_start, self.values
                )
            self.inner = self._position(arguments.following, arguments.inner_close)
            self.items = self._position(arguments.item, arguments.inner_close, of_items=True)

    def _spelled(self, source: str) -> Automaton:
        found = _automaton(source)
        spelled = found.within(self._structure.alphabet)
        if spelled.is_empty() and not found.is_empty():
            raise VocabularyError("the texts around arguments need a byte that the vocabulary cannot encode")
        return spelled

    def _position(self, key: str, close: str, *, of_items: bool = False) -> int:
        """Add the controls before a name or the end, or before an item or the end; return the first."""
        automata = self._spelled(key), self._spelled(close)
        structure, may_be_empty = self._structure, bool(automata[1].accepting[0])
        ended, start, begins = action_entry(structure.close_object), self.key_start, self._is_name
        is_whole = of_items and bool(self._arguments.element)
        if of_items:
            ended, start = action_entry(structure.close_array), self.item_start
            begins = np.any([self._spelled(text).by_byte()[0] >= 0 for text, _ in self._arguments.between], axis=0)
        read = _together((key, close), self._structure.alphabet.tobytes(), (is_whole, not may_be_empty))
        first = self._tables.n_controls
        rows = read.entries(first, (action_entry(start) if is_whole else DEAD, ended))
        accepting = [
            [state >= 0 and bool(automaton.accepting[state]) for state in states]
            for automaton, states in zip(automata, zip(*read.states, strict=True), strict=True)
        ]
        for row, byte, is_member, after in read.partings:
            rows[row, byte] = self._choice(is_member, first + after)
        for row, is_start in zip(rows, accepting[0], strict=True):
            if is_start:
                row[begins & (row == DEAD)] = action_entry(start)
        ends = [ended if may_be_empty and is_end else 0 for is_end in accepting[1]]
        self._places.update([(first + i, (automata, state)) for i, state in enumerate(read.states)])
        return self._tables.controls(rows, end_actions=ends)

    def _choice(self, is_member: bool, control: int) -> int:
        entry = self._choice_of.get(control)
        if entry is None:
            action = self._tables.action()
            self.choices[action] = is_member, control
            entry = self._choice_of[control] = action_entry(action)
        return entry

    def after_name(self, query: ValueQuery, root: int | None = None) -> int:
        """Return the control, or an entry, behind the character that ends a name, before a value.

        ``root``: as in `ElementFrames.begin`, if it is not the first formula of the query.
        """
        found = self._after_name.get((query, root))
        if found is None:
            elements = self.elements
            begin = (
                self._before_value(query)
                if elements is None
                else elements.begin(query, query[0] if root is None else root)
            )
            found = self._after_name[query, root] = begin
        return found

    def _before_value(self, query: ValueQuery) -> int:
        found = [
            (source, way) for source, kinds in self._arguments.between if (way := self._value(query, kinds)) is not None
        ]
        sources, ways = [source for source, _ in found], [way for _, way in found]
        automata = tuple(map(self._spelled, sources))
        for automaton, (entry, _) in zip(automata, ways, strict=True):
            if automaton.accepting[0]:
                return entry
        read = _together(tuple(sources), self._structure.alphabet.tobytes(), (True,) * len(found))
        first = self._tables.controls(read.entries(self._tables.n_controls, [entry for entry, _ in ways]))
        for i, states in enumerate(read.states):
            self._between[first + i] = [
                (automaton, state, query)
                for automaton, state, (_, query) in zip(automata, states, ways, strict=True)
                if state >= 0
            ]
        return first

    def _value(self, query: ValueQuery, kinds: tuple[str, ...]) -> tuple[int, ValueQuery] | None:
        """Return the control at which a value of some types begins, all types if there are none, and its query.

        None if there is no such value.
        """
        notation, starts, formulas = self._arguments.notation, self._value_starts, self._value_starts.formulas
        kind: Literal["text", "string", "json"] = "text"
        if kinds:
            kind = "string" if "string" in kinds else "json"
            types = tuple(one for name in kinds for one in (("true", "false") if name == "boolean" else (name,)))
            possible = [name for name in TYPES if starts.containers.context.typed(query[0], name) != FALSE]
            if not any(name in types for name in possible):
                return None
            if not all(name in types for name in possible):
                is_one = formulas.disjunction(formulas.atom(("type", name)) for name in types)
                query = formulas.conjunction((query[0], is_one)), *query[1:]
            if not starts.containers.satisfiability.is_satisfiable(query[0]):
                return None
            if self._arguments.item and types[0] in ("array", "object"):
                return self._enter(query, "array" if types[0] == "array" else "object"), query
        if notation is None:
            control = starts.beginning(query)
            kind = "json"
        else:
            if kind == "text" and notation.padding != "none" and not starts.can_be_string(query):
                kind = "json"
            control = starts.beginning_of_text(query, has_texts=kind != "json")
            if kind == "text" and notation.padding == "line feeds" and not starts.is_any_text(query):
                control = starts.before_line_feed(control, query)
            elif self.values.get(control, (query, kind)) != (query, kind):
                # Other values have the same texts.
                control = starts.copy_of(control, starts.text_start(control, query))
        self.values[control] = query, kind
        return control, query

    def _enter(self, query: ValueQuery, kind: Literal["array", "object"]) -> int:
        """Return the entry of the text before an array or object that is written as arguments are."""
        containers = self._value_starts.containers
        state = containers.open(kind, tuple(containers.context.typed(formula, kind) for formula in query))
        cell = self._open_cell(OpenContainer(state, is_inner=True))
        return self._tables.entry(Reaction(0, cell, self.items if kind == "array" else self.inner))

    def after_value(self, content: OpenContainer) -> int:
        """Return the control after a value in an object or array that is written as arguments are."""
        is_array = isinstance(content.state, ArrayState)
        found = self.following if content.is_outermost else self.items if is_array else self.inner
        if self.elements is None:
            return found
        return self.elements.repeated(self._arguments.element if is_array else content.name, found)

    def name_at_end(self, data: bytes) -> str:
        """Return the name at the end of some bytes, an undeclared one."""
        found = re.search(self._arguments.names.removeprefix("^"), data.decode(errors="ignore"))
        assert found is not None, "the key is a name that can be written"
        return found[0]

    def read(self, data: bytes) -> Any:
        """Return the value of an item, given the bytes behind the text before it."""
        assert self._arguments.notation is not None
        text, closing = data.decode(), self._arguments.notation.closing
        at, whole = 0, list[Any]()
        # Open arrays and objects, outermost first, and the name of the member that each is.
        opened: list[tuple[Any, str]] = [(whole, "")]
        while not whole:
            begin = self._begin.match(text, at)
            end = text.index(closing, at if begin is None else begin.end())
            if begin is None:
                value, name = opened.pop()
            else:
                name = begin["name"] or ""
                (kind, *_) = next(kinds for i, (_, kinds) in enumerate(self._arguments.between) if begin[f"at{i}"])
                if kind in ("array", "object"):
                    opened.append(([] if kind == "array" else {}, name))
                    at = begin.end()
                    continue
                inner = text[begin.end() : end]
                value = inner if kind == "string" else parse_json(inner, parse_float=exact_decimal)
            at = end + len(closing)
            holder = opened[-1][0]
            if isinstance(holder, dict):
                holder[name] = value
            else:
                holder.append(value)
        return whole[0]

    @cached_property
    def _begin(self) -> re.Pattern[str]:
        """What begins a value: the texts before a name or item, and between."""
        first, end, item = self._arguments.first, self._arguments.end, self._arguments.item
        between = "|".join(f"(?P<at{i}>{text})" for i, (text, _) in enumerate(self._arguments.between))
        return re.compile(f"(?:{first}(?P<name>[^{end}]*){end}|{item})?(?:{between})")

    # Completions

    def is_before_name(self, control: int) -> bool:
        """Return whether a control is before a name or item, or the end."""
        return control in self._places

    def path(self, control: int, *, is_end: bool) -> bytes | None:
        """Return the shortest bytes from a control before a name or item to it, or to the end; None if there are none."""
        automata, states = self._places[control]
        automaton, state = automata[is_end], states[is_end]
        return None if state < 0 else path_down(automaton, automaton.distances(), state)[0]

    def is_before_value(self, control: int) -> bool:
        """Return whether a control is behind a name, before a value."""
        return control in self._between

    def before_value(self, control: int) -> list[tuple[bytes, ValueQuery]]:
        """Return the texts from a control behind a name to a value, each with the value's query."""
        return [
            (path_down(automaton, automaton.distances(), state)[0], query)
            for automaton, state, query in self._between[control]
        ]
