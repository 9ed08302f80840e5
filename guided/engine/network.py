"""A composition as a recursive transition network (`network_of`), and as an NFA over its leaves (`nfa_of`).

Leaves with a finite automaton (literals, patterns, choices, free text) become one pattern tree, in which the other leaves are *calls*
(`guided.patterns.tree.Call`): schemas, grammars, tools, and free text with a budget of tokens. Its minimal automaton over bytes and calls
is the *frame*: a frame state has *call edges*, the part that may begin there, and the frame state behind it. A configuration is a frame
state, or a state of a part with the frame state behind it; a text that can be read in several ways has several configurations
(`guided.index.composition`).

Captures need to know which leaf of the tree a text was read by, so they follow the NFA instead (`guided.engine.captures`): Thompson's
construction, alternatives in order of precedence.

Complexity: that of one regular expression of the size of the composition (`guided.automata.build`); the parts are not looked into.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree, in_one_budget, spend_together
from guided.automata.calls import with_call_edges
from guided.automata.minimize import merge_columns
from guided.automata.nfa import Operand
from guided.automata.steps import Steps
from guided.engine.algebra import (
    Alternatives,
    Composition,
    Concatenation,
    Dispatch,
    FreeText,
    Maybe,
    Named,
    Part,
    Repeat,
    Stored,
    folded,
)
from guided.engine.located import Located, at_place
from guided.engine.scanning import scan
from guided.engine.specs import Choice, Regex, StackSpec, needs_stack
from guided.errors import LimitError
from guided.export.characters import operand_of
from guided.index.composition import Call
from guided.limits import Limits
from guided.patterns import tree
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import fold

__all__ = ["Leaf", "Network", "Nfa", "leaf_of", "network_of", "nfa_of", "trimmed"]

# States that a node of an `Nfa` counts as, since it takes as much time and memory.
_PER_NODE = 4
# States of the automata of leaves that become part of the frame, at 0.1 ms each; further leaves are parts of their own.
_STATES_CONVERTED = 8_000
# Cost of visiting a part of a composition, in steps of a compile.
_PER_PART = 1_500
_ANY = tree.Repeat(tree.Chars(Charset.UNIVERSE), 0, None)


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A leaf of a composition."""

    # None for literals and free text.
    spec: Any
    # None if the leaf needs a stack.
    automaton: Automaton | None
    # The spec, or what it is lowered to, if it needs a stack.
    lowered: StackSpec | None = None
    max_tokens: int | None = None
    # JSON Pointer in the document that the composition was read from; empty if there is none.
    place: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Nfa:
    """A composition as an NFA over leaves; node 0 is the start, node 1 the end."""

    leaves: list[Leaf]
    # For each node, the leaf read there and the node behind it; of a leaf with several, that of the label where its text ends.
    edges: list[tuple[int, tuple[int, ...]] | None]
    # For each node, the nodes reached without reading, in order of precedence.
    onward: list[list[int]]
    # For each node, the captured part that begins (True) or ends (False) there: a named one, or one that its value is made of.
    marks: list[tuple[Part, bool] | None]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recursive transition network."""

    # Accepting where the whole text may end. Some states may be reached by call edges only.
    frame: Automaton
    # Call edges of frame states.
    calls: dict[int, tuple[Call, ...]]
    # The parts that calls refer to.
    parts: tuple[Leaf, ...]
    # Free texts that contain nothing, because each of their stop strings contains an excluded text.
    empty: tuple[Any, ...]


class _Builder:
    """Thompson's construction, iterative over an explicit stack of tree nodes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.nfa = Nfa([], [], [], [])
        self._leaves: dict[Any, int] = {}
        # By part: its repeats are many, and each asks for all that is within it.
        self._typed: dict[int, bool] = {}

    def node(self, mark: tuple[Part, bool] | None = None) -> int:
        nfa = self.nfa
        number = len(nfa.edges)
        if _PER_NODE * number >= self._limits.nfa_states:
            given = _PER_NODE * (number + 1)
            raise LimitError("nfa_states", given, self._limits.nfa_states, "the composition has too many parts")
        nfa.edges.append(None)
        nfa.onward.append([])
        nfa.marks.append(mark)
        return number

    def build(self, part: Part, begin: int, end: int) -> None:
        # With each part, whether it is marked, because the value of a name is made of its value.
        todo: list[tuple[Part, int, int, bool]] = [(part, begin, end, False)]
        onward = self.nfa.onward
        while todo:
            item, begin, end, is_marked = todo.pop()
            if is_marked or isinstance(item, Named):
                opened, closed = self.node((item, True)), self.node((item, False))
                onward[begin].append(opened)
                onward[closed].append(end)
                begin, end = self._branch(opened), closed
                # The value of other parts is that of their text.
                is_marked = isinstance(item, Composition) and len(item.parts) > 0 and self._is_typed(item)
            match item:
                case Concatenation():
                    nodes = [begin, *(self.node() for _ in item.parts[1:]), end]
                    todo += [(each, *ends, is_marked) for each, ends in zip(item.parts, pairwise(nodes), strict=False)]
                    if not item.parts:
                        onward[begin].append(end)
                case Alternatives():
                    todo += [(each, self._branch(begin), end, is_marked) for each in item.parts]
                case Maybe():
                    todo.append((item.parts[0], self._branch(begin), end, is_marked))
                    onward[begin].append(end)
                case Repeat():
                    self._repeat(item, begin, end, is_marked, todo)
                case Dispatch():
                    behind = tuple(self.node() for _ in item.parts[1:])
                    todo += [(each, node, end, is_marked) for each, node in zip(item.parts[1:], behind, strict=True)]
                    self._read(begin, item, _dispatch_leaf, behind)
                case Named():
                    # A leaf is read from the text of the name.
                    todo.append((item.parts[0], begin, end, is_marked and isinstance(item.parts[0], Composition)))
                case _:
                    self._read(begin, item, leaf_of, (end,))

    def _is_typed(self, part: Composition) -> bool:
        found = self._typed.get(id(part))
        if found is None:
            found = self._typed[id(part)] = part.is_typed
        return found

    def _branch(self, begin: int) -> int:
        node = self.node()
        self.nfa.onward[begin].append(node)
        return node

    def _repeat(
        self, item: Repeat, begin: int, end: int, is_marked: bool, todo: list[tuple[Part, int, int, bool]]
    ) -> None:
        """Unroll the counted repetitions; the unbounded rest is a loop."""
        onward = self.nfa.onward
        part, separator = item.parts[0], item.parts[1] if len(item.parts) > 1 else None
        count = item.min if item.max is None else item.max
        if item.min == 0:
            # Precedence: a repetition comes before none.
            first = self._branch(begin)
            onward[begin].append(end)
            if item.max == 0:
                onward[begin] = [end]
                return
        else:
            first = begin
        before = first
        for number in range(1, max(count, 1) + 1):
            after = self.node()
            todo.append((part, self._branch(before), after, is_marked))
            is_last = number == max(count, 1)
            if not is_last:
                following = self._branch(after)
                if number >= item.min:
                    onward[after].append(end)
                before = self._separated(separator, following, is_marked, todo)
                continue
            if item.max is None:
                again = self._separated(separator, self._branch(after), is_marked, todo)
                todo.append((part, self._branch(again), after, is_marked))
            onward[after].append(end)

    def _separated(
        self, separator: Part | None, begin: int, is_marked: bool, todo: list[tuple[Part, int, int, bool]]
    ) -> int:
        """Return the node behind an optional separator."""
        if separator is None:
            return begin
        after = self.node()
        todo.append((separator, begin, after, is_marked))
        return after

    def _read(self, begin: int, item: Part, make: Callable[[Any, Limits], Leaf], behind: tuple[int, ...]) -> None:
        """Add the edge of a leaf, which is made once."""
        key = item if isinstance(item, str) else id(item)
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = len(self.nfa.leaves)
            self.nfa.leaves.append(make(item, self._limits))
        self.nfa.edges[self._branch(begin)] = found, behind


def nfa_of(spec: Composition, limits: Limits) -> Nfa:
    """Return the NFA of a composition over its leaves.

    Raises
    ------
    LimitError
        The composition has too many parts, counted repetitions included.
    PatternError, SchemaError, GrammarError
        A leaf cannot be lowered.
    """
    builder = _Builder(limits)
    begin, end = builder.node(), builder.node()
    builder.build(spec, begin, end)
    return builder.nfa


def leaf_of(item: Part, limits: Limits) -> Leaf:
    """Return the leaf of a str, free text, spec, or type."""
    if isinstance(item, str):
        return Leaf(None, from_tree(tree.Literal(item), limits))
    if isinstance(item, FreeText):
        return Leaf(item, from_tree(_free_text(item, limits), limits), max_tokens=item.max_tokens)
    if isinstance(item, Located):
        with at_place(item.place):
            return replace(leaf_of(item.spec, limits), place=item.place)
    if isinstance(item, Stored):
        stored = item.lowered
        is_regular = isinstance(stored, Automaton)
        return Leaf(item, stored, max_tokens=item.max_tokens) if is_regular else Leaf(item, None, stored)
    spec: Any = item
    if not hasattr(type(item), "fingerprint"):
        # Why here: compositions without types do without schemas, whose import takes a fifth of a second.
        from guided.engine.json_schema import JsonSchema

        spec = JsonSchema(item)
    if needs_stack(spec):
        return Leaf(spec, None, spec)
    lowered = spec.lower(limits)
    if not isinstance(lowered, Automaton):
        return Leaf(spec, None, lowered)
    return Leaf(spec, lowered, max_tokens=getattr(spec, "max_tokens", None))


def _dispatch_leaf(item: Dispatch, limits: Limits) -> Leaf:
    """Return the leaf of the free text of a dispatch, whose states that end it are labelled by the number of the stop string."""
    text = item.parts[0]
    calls = tuple(tree.Call(number) for number in range(len(item.parts) - 1))
    table, classes, _, found = with_call_edges(_dispatch(text, calls, limits), limits)
    accepting, labels = np.zeros(len(table), np.bool_), np.zeros(len(table), np.int32)
    accepting[found[:, 0]], labels[found[:, 0]] = True, found[:, 1]
    return Leaf(text, Automaton.from_table(table, classes, accepting, labels))


def _free_text(text: FreeText, limits: Limits) -> Operand:
    """Return the tree of a free text with its stop string."""
    found = scan(text.stop, text.excludes, limits)
    ends = tuple(found.found) if text.stop else tuple(range(found.n_states))
    return Operand(found.edges, ends, found.n_states)


def _dispatch(text: FreeText, items: Sequence[tree.Node], limits: Limits) -> tree.Node:
    """Return the tree of a free text and the item of the stop string that ends it."""
    found = scan(tuple(dict.fromkeys(text.stop)), text.excludes, limits)
    # Points 0 and 1 are the beginning and the end.
    points = [0, *range(2, found.n_states + 1)]
    edges: list[tuple[int, tree.Node, int]] = [
        (points[state], tree.Chars(charset), points[target]) for state, charset, target in found.edges
    ]
    edges += [(points[state], items[number], 1) for state, number in found.found.items()]
    return tree.Graph(tuple(edges), found.n_states + 1)


def network_of(spec: Composition, limits: Limits, *, merges: bool = True) -> Network:
    """Return the network of a composition.

    ``merges``: whether finite leaves become part of the frame; otherwise they are parts, too (for tests).

    Raises
    ------
    LimitError
        The frame has too many states or transitions.
    PatternError, SchemaError, GrammarError
        A leaf cannot be lowered.
    """
    builder = _Trees(limits, merges=merges)
    node = in_one_budget(lambda: builder.tree_of(spec), Steps(limits.steps))
    if not builder.parts:
        return Network(from_tree(node, limits), {}, (), tuple(builder.empty))
    table, classes, accepting, edges = with_call_edges(node, limits)
    calls: dict[int, list[Call]] = {}
    for state, number, after in edges.tolist():
        calls.setdefault(state, []).append(Call(number, after))
    frame = Automaton(table, classes, accepting, np.zeros(len(table), np.int32))
    by_state = {state: tuple(found) for state, found in calls.items()}
    return Network(frame, by_state, tuple(builder.parts), tuple(builder.empty))


def trimmed(network: Network, alphabet: BoolArray, is_dead: Sequence[bool]) -> Network | None:
    """Return the network without some bytes and parts, and without states from which the text cannot end; None if it has no text.

    ``alphabet``, shape (256,): whether texts may contain a byte. ``is_dead``: whether a part has no text.
    """
    frame = network.frame
    if alphabet.all() and not any(is_dead):
        return None if frame.is_empty() else network
    numbers = np.cumsum(~np.array(is_dead, np.bool_)).tolist()
    table, classes = frame.by_byte(), np.arange(256, dtype=np.uint8)
    table[:, ~alphabet] = DEAD
    calls = {
        state: tuple(Call(numbers[part] - 1, after) for part, after in called if not is_dead[part])
        for state, called in network.calls.items()
    }
    live = _live(frame.table[:, np.unique(frame.classes[alphabet])], frame.accepting, calls)
    if not live[0]:
        return None
    table = np.ascontiguousarray(np.where(np.append(live, False)[table], table, DEAD), np.int32)
    columns, classes = merge_columns(table, classes)
    found = Automaton(np.ascontiguousarray(table[:, columns]), classes, frame.accepting, frame.labels)
    kept = {
        state: left
        for state, called in calls.items()
        if live[state] and (left := tuple(call for call in called if live[call.after]))
    }
    parts = tuple(part for part, dead in zip(network.parts, is_dead, strict=True) if not dead)
    return Network(found, kept, parts, network.empty)


def _live(table: Int32Array, accepting: BoolArray, calls: dict[int, tuple[Call, ...]]) -> BoolArray:
    """Return the states from which the end can be reached. O(edges)."""
    n = np.int64(len(table))
    source, column = np.nonzero(table != DEAD)
    before = np.array([(state, call.after) for state, called in calls.items() for call in called], np.int64).reshape(
        -1, 2
    )
    # A pair (target, source) is one number.
    pairs = np.unique(np.append(table[source, column] * n + source, before @ np.array([1, n])))
    first = np.searchsorted(pairs, np.arange(n + 1) * n).tolist()
    sources, live = (pairs % n).tolist(), accepting.tolist()
    todo = np.flatnonzero(accepting).tolist()
    for state in todo:
        for each in sources[first[state] : first[state + 1]]:
            if not live[each]:
                live[each] = True
                todo.append(each)
    return np.array(live, np.bool_)


class _Trees:
    """The pattern tree of a composition, whose calls are its parts.

    Attributes
    ----------
    parts : list of Leaf
        Those that calls refer to; equal leaves are one part.
    empty : list of spec
        As in `Network`.
    """

    def __init__(self, limits: Limits, *, merges: bool) -> None:
        self._limits, self._merges = limits, merges
        self._numbers: dict[Any, int] = {}
        self._texts: dict[tuple[tuple[str, ...], tuple[str, ...]], Operand] = {}
        self.parts: list[Leaf] = []
        self.empty: list[Any] = []
        # States of leaves that were converted to trees.
        self._n_converted = 0

    def tree_of(self, spec: Composition) -> tree.Node:
        """Return the tree of a composition. O(distinct nodes)."""
        return folded(spec, self._joined, lambda part: part.parts[1:] if isinstance(part, Dispatch) else part.parts)

    def _joined(self, part: Part, items: list[tree.Node]) -> tree.Node:
        """Return the tree of a part from those of its own parts."""
        if not isinstance(part, Composition) or isinstance(part, FreeText):
            return self._leaf(part)
        spend_together(_PER_PART)
        match part:
            case Alternatives():
                return tree.Alternate(tuple(items))
            case Maybe():
                return tree.optional(items[0])
            case Repeat():
                return _repeated(part, *items)
            case Dispatch():
                return _dispatch(part.parts[0], items, self._limits)
        return tree.Concat(tuple(items))

    def _leaf(self, item: Part) -> tree.Node:
        """Return the tree of a leaf: finite ones by their characters, others as calls."""
        spec, place = (item.spec, item.place) if isinstance(item, Located) else (item, "")
        with at_place(place):
            spend_together(_PER_PART)
        if self._merges and isinstance(item, str):
            return tree.Literal(item)
        if self._merges and isinstance(item, Choice):
            return tree.Alternate(tuple(map(tree.Literal, item.options)))
        if self._merges and isinstance(spec, Regex) and spec.builder == "guided":
            with at_place(place):
                found = parse(spec.pattern, spec.flags, self._limits)
            # Assertions see only the text of the pattern.
            has_assertions = fold(found, lambda node, parts: isinstance(node, tree.Look) or any(parts))
            return tree.Intersect((found,)) if has_assertions else found
        if self._merges and isinstance(item, FreeText) and item.max_tokens is None:
            return self._text(item)
        leaf = leaf_of(item, self._limits)
        if leaf.automaton is None:
            assert leaf.lowered is not None
            return self._call((leaf.lowered.kind, leaf.lowered.fingerprint), leaf)
        n_states = leaf.automaton.n_states
        if self._merges and leaf.max_tokens is None and n_states + self._n_converted <= _STATES_CONVERTED:
            self._n_converted += n_states
            return operand_of(leaf.automaton)
        return self._call((leaf.max_tokens, leaf.automaton), leaf)

    def _call(self, key: Any, leaf: Leaf) -> tree.Node:
        number = self._numbers.setdefault(key, len(self.parts))
        if number == len(self.parts):
            self.parts.append(leaf)
        return tree.Call(number)

    def _text(self, text: FreeText) -> tree.Node:
        if not text.stop and not text.excludes:
            return _ANY
        key = text.stop, text.excludes
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = _free_text(text, self._limits)
            if not found.accepting:
                self.empty.append(text)
        return found


def _repeated(part: Repeat, item: tree.Node, separator: tree.Node | None = None) -> tree.Node:
    if part.max == 0:
        return tree.Literal("")
    if separator is None:
        return tree.Repeat(item, part.min, part.max)
    most = None if part.max is None else part.max - 1
    found = tree.Concat((item, tree.repeat(tree.Concat((separator, item)), max(part.min - 1, 0), most)))
    return found if part.min else tree.optional(found)
