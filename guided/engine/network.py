"""`network_of`: a composition as a recursive transition network.

The tree of a composition becomes an NFA whose edges are *leaves* (Thompson's construction, alternatives in order of precedence). Leaves
with a finite automaton (literals, patterns, choices, free text) are merged into one deterministic byte automaton, the *frame*. The other
leaves stay *parts* of their own: schemas, grammars, tools, and free text with a budget of tokens. A frame state has *call edges*: the
part that may begin there, and the frame state behind it. A configuration is a frame state, or a state of a part with the frame state
behind it; a text that can be read in several ways has several configurations (`guided.index.composition`).

Complexity: subset construction over the leaves' automata, O(frame states x byte classes); the parts are not looked into.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.engine.algebra import (
    Alternatives,
    Composable,
    Composition,
    Concatenation,
    Named,
    Optional,
    Part,
    Repeat,
    Stored,
    Text,
)
from guided.engine.specs import StackSpec
from guided.errors import LimitError, VocabularyError
from guided.index.composition import Call
from guided.limits import Limits
from guided.patterns import tree
from guided.patterns.charset import Charset

__all__ = ["Leaf", "Network", "Nfa", "leaf_of", "network_of", "nfa_of"]

_ANY = tree.Repeat(tree.Chars(Charset.UNIVERSE), 0, None)


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A leaf of a composition.

    Attributes
    ----------
    spec : spec or None
        None for literals and free text.
    automaton : Automaton or None
        None if the leaf needs a stack.
    lowered : StackSpec or None
        The spec, or what it is lowered to, if it needs a stack.
    max_tokens : int or None
    """

    spec: Any
    automaton: Automaton | None
    lowered: StackSpec | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Nfa:
    """A composition as an NFA over leaves; node 0 is the start, node 1 the end.

    Attributes
    ----------
    leaves : list of Leaf
    edges : list of (int, int) or None
        For each node, the leaf read there and the node behind it.
    onward : list of list of int
        For each node, the nodes reached without reading, in order of precedence.
    names : list of (str, bool) or None
        For each node, the name that begins (True) or ends (False) there.
    """

    leaves: list[Leaf]
    edges: list[tuple[int, int] | None]
    onward: list[list[int]]
    names: list[tuple[str, bool] | None]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recursive transition network.

    Attributes
    ----------
    frame : Automaton
        States are not minimized; accepting where the whole text may end.
    calls : dict of int to tuple of Call
        Call edges of frame states.
    parts : tuple of Leaf
        The parts that calls refer to.
    """

    frame: Automaton
    calls: dict[int, tuple[Call, ...]]
    parts: tuple[Leaf, ...]


class _Builder:
    """Thompson's construction, iterative over an explicit stack of tree nodes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.nfa = Nfa([], [], [], [])
        self._leaves: dict[Any, int] = {}

    def node(self, name: tuple[str, bool] | None = None) -> int:
        nfa = self.nfa
        number = len(nfa.edges)
        if number >= self._limits.nfa_states:
            raise LimitError("nfa_states", number + 1, self._limits.nfa_states, "the composition has too many parts")
        nfa.edges.append(None)
        nfa.onward.append([])
        nfa.names.append(name)
        return number

    def build(self, part: Part, begin: int, end: int) -> None:
        todo: list[tuple[Part, int, int]] = [(part, begin, end)]
        onward = self.nfa.onward
        while todo:
            item, begin, end = todo.pop()
            match item:
                case Concatenation():
                    nodes = [begin, *(self.node() for _ in item.parts[1:]), end]
                    todo += zip(item.parts, nodes, nodes[1:], strict=False)
                    if not item.parts:
                        onward[begin].append(end)
                case Alternatives():
                    for each in item.parts:
                        todo.append((each, self._branch(begin), end))
                case Optional():
                    todo.append((item.parts[0], self._branch(begin), end))
                    onward[begin].append(end)
                case Repeat():
                    self._repeat(item, begin, end, todo)
                case Named():
                    opened, closed = self.node((item.name, True)), self.node((item.name, False))
                    onward[begin].append(opened)
                    onward[closed].append(end)
                    todo.append((item.parts[0], self._branch(opened), closed))
                case _:
                    self._leaf(item, begin, end)

    def _branch(self, begin: int) -> int:
        node = self.node()
        self.nfa.onward[begin].append(node)
        return node

    def _repeat(self, item: Repeat, begin: int, end: int, todo: list[tuple[Part, int, int]]) -> None:
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
            todo.append((part, self._branch(before), after))
            is_last = number == max(count, 1)
            if not is_last:
                following = self._branch(after)
                if number >= item.min:
                    onward[after].append(end)
                before = self._separated(separator, following, todo)
                continue
            if item.max is None:
                again = self._separated(separator, self._branch(after), todo)
                todo.append((part, self._branch(again), after))
            onward[after].append(end)

    def _separated(self, separator: Part | None, begin: int, todo: list[tuple[Part, int, int]]) -> int:
        """Return the node behind an optional separator."""
        if separator is None:
            return begin
        after = self.node()
        todo.append((separator, begin, after))
        return after

    def _leaf(self, item: Part, begin: int, end: int) -> None:
        key = item if isinstance(item, str) else id(item)
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = len(self.nfa.leaves)
            self.nfa.leaves.append(leaf_of(item, self._limits))
        node = self._branch(begin)
        self.nfa.edges[node] = found, end


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
    if isinstance(item, Text):
        return Leaf(item, _free_text(item, limits), max_tokens=item.max_tokens)
    if isinstance(item, Stored):
        stored = item.lowered
        return Leaf(item, stored) if isinstance(stored, Automaton) else Leaf(item, None, stored)
    spec: Any = item if isinstance(item, Composable) else _schema_of(item)
    if isinstance(spec, StackSpec):
        return Leaf(spec, None, spec)
    lowered = spec.lower(limits)
    return Leaf(spec, lowered) if isinstance(lowered, Automaton) else Leaf(spec, None, lowered)


def _schema_of(item: Part) -> Any:
    """Return the `JsonSchema` of a type."""
    # Why here: compositions without types do without schemas, whose import takes a fifth of a second.
    from guided.engine.json_schema import JsonSchema

    return JsonSchema(item)


def _free_text(text: Text, limits: Limits) -> Automaton:
    """Return the automaton of a free text with its stop string."""
    if not text.stop:
        found = from_tree(_ANY, limits)
    else:
        found = _holding(text.stop, limits)
        # A text ends where a stop string is complete for the first time.
        table = np.where(found.accepting[:, None], DEAD, found.table).astype(np.int32)
        found = Automaton.from_table(table, found.classes, found.accepting)
    return found - _holding(text.excludes, limits) if text.excludes else found


def _holding(texts: Sequence[str], limits: Limits) -> Automaton:
    """Return the automaton of the texts that contain one of some texts."""
    return from_tree(tree.Concat((_ANY, tree.Alternate(tuple(map(tree.Literal, texts))), _ANY)), limits)


def network_of(nfa: Nfa, limits: Limits, alphabet: bytes, *, merges: bool = True) -> Network:
    """Return the network of an NFA.

    Parameters
    ----------
    nfa : Nfa
    limits : Limits
    alphabet : bytes
        256 flags: 1 for each byte that texts may contain. It restricts only networks with parts, as it restricts specs with a stack.
    merges : bool
        Whether finite leaves become part of the frame; otherwise they are parts, too (for tests).

    Raises
    ------
    LimitError
        The frame has too many states or transitions.
    """
    is_part = [leaf.automaton is None or leaf.max_tokens is not None or not merges for leaf in nfa.leaves]
    used = [i for i, leaf in enumerate(nfa.leaves) if is_part[i]]
    numbers = {leaf: number for number, leaf in enumerate(used)}
    letters: BoolArray = np.frombuffer(alphabet, np.bool_)
    automata: dict[int, Automaton] = {}
    for i, leaf in enumerate(nfa.leaves):
        if not is_part[i]:
            assert leaf.automaton is not None
            automata[i] = leaf.automaton.within(letters) if used else leaf.automaton
    classes, representatives = _joint_classes(list(automata.values()))
    frame = _Frame(nfa, automata, numbers, representatives, limits)
    table = np.array(frame.rows, np.int32).reshape(len(frame.rows), len(representatives))
    accepting = np.array(frame.accepting, np.bool_)
    live = _live(table, accepting, frame.calls)
    if not live[0]:
        raise VocabularyError(
            "every text of the composition needs a byte that has no token of its own in the vocabulary"
        )
    table = np.where(np.append(live, False)[table], table, DEAD).astype(np.int32)
    calls = {
        state: kept
        for state, called in frame.calls.items()
        if live[state] and (kept := tuple(call for call in called if live[call.after]))
    }
    automaton = Automaton.from_canonical(table, classes, accepting, np.zeros(len(accepting), np.int32))
    return Network(automaton, calls, tuple(nfa.leaves[i] for i in used))


def _live(table: Int32Array, accepting: BoolArray, calls: dict[int, tuple[Call, ...]]) -> BoolArray:
    """Return the states from which the end can be reached; every part has a text."""
    before: list[list[int]] = [[] for _ in range(len(table))]
    for state, column in zip(*np.nonzero(table >= 0), strict=True):
        before[table[state, column]].append(int(state))
    for state, called in calls.items():
        for call in called:
            before[call.after].append(state)
    live, todo = accepting.copy(), np.flatnonzero(accepting).tolist()
    while todo:
        for state in before[todo.pop()]:
            if not live[state]:
                live[state] = True
                todo.append(state)
    return live


def _joint_classes(automata: Sequence[Automaton]) -> tuple[UInt8Array, list[int]]:
    """Return classes of bytes that no automaton distinguishes, and one byte of each."""
    if not automata:
        return np.zeros(256, np.uint8), [0]
    stacked = np.stack([one.classes for one in automata])
    _, representatives, classes = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
    return classes.reshape(256).astype(np.uint8), representatives.tolist()


# A position in a leaf: the NFA node whose edge reads it, and the state of the leaf's automaton.
_Position = tuple[int, int]


class _Frame:
    """Subset construction over positions in leaves.

    Attributes
    ----------
    rows : list of ndarray[int32], shape (n_columns,)
    accepting : list of bool
    calls : dict of int to tuple of Call
    """

    def __init__(
        self,
        nfa: Nfa,
        automata: dict[int, Automaton],
        parts: dict[int, int],
        representatives: list[int],
        limits: Limits,
    ) -> None:
        self._nfa, self._parts, self._limits = nfa, parts, limits
        self._tables: dict[int, Int32Array] = {
            leaf: one.table[:, one.classes[representatives]] for leaf, one in automata.items()
        }
        self._ends = {leaf: one.accepting.tolist() for leaf, one in automata.items()}
        self._n_columns = len(representatives)
        self._closures: dict[int, tuple[frozenset[_Position], tuple[int, ...], bool]] = {}
        self._numbers: dict[tuple[frozenset[_Position], frozenset[int], bool], int] = {}
        self._sets: list[frozenset[_Position]] = []
        self.rows: list[Int32Array] = []
        self.accepting: list[bool] = []
        self.calls: dict[int, tuple[Call, ...]] = {}
        self._n_steps = 0
        # Nodes of the parts that may begin in a state.
        self._called: list[frozenset[int]] = []
        self._state_of_nodes((0,))
        state = 0
        while state < len(self._sets):
            self._expand(state)
            state += 1

    def _closure(self, node: int) -> tuple[frozenset[_Position], tuple[int, ...], bool]:
        """Return the epsilon closure of a node: positions, nodes whose part may begin, and whether the text may end."""
        found = self._closures.get(node)
        if found is None:
            nfa = self._nfa
            positions: set[_Position] = set()
            calls: dict[int, None] = {}
            todo, seen = [node], {node}
            while todo:
                self._spend(1)
                at = todo.pop()
                onward = list(nfa.onward[at])
                edge = nfa.edges[at]
                if edge is not None:
                    leaf, behind = edge
                    if leaf in self._parts:
                        calls[at] = None
                    else:
                        positions.add((at, 0))
                        if self._ends[leaf][0]:
                            onward.append(behind)
                todo += [each for each in onward if each not in seen]
                seen.update(onward)
            found = self._closures[node] = frozenset(positions), tuple(calls), 1 in seen
        return found

    def _spend(self, n: int) -> None:
        self._n_steps += n
        if self._n_steps > self._limits.steps:
            raise LimitError(
                "steps", self._n_steps, self._limits.steps, "the composition is too ambiguous or too large"
            )

    def _state_of_nodes(self, nodes: Iterable[int], positions: Iterable[_Position] = ()) -> int:
        """Return the frame state of some positions and the closures of some nodes."""
        found, calls, may_end = set(positions), set[int](), False
        for node in nodes:
            own, called, ends = self._closure(node)
            found |= own
            calls.update(called)
            may_end |= ends
        key = frozenset(found), frozenset(calls), may_end
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sets)
            n_cells = (number + 1) * self._n_columns
            if number >= self._limits.states:
                raise LimitError("states", number + 1, self._limits.states, "the composition has too many states")
            if n_cells > self._limits.transitions:
                raise LimitError(
                    "transitions", n_cells, self._limits.transitions, "the composition has too many states"
                )
            self._sets.append(key[0])
            self.rows.append(np.full(self._n_columns, DEAD, np.int32))
            self.accepting.append(may_end)
            self._called.append(key[1])
        return number

    def _expand(self, state: int) -> None:
        """Fill the row of a state, and its calls."""
        called = [self._edge(node) for node in sorted(self._called[state])]
        if called:
            calls = (Call(self._parts[leaf], self._state_of_nodes((behind,))) for leaf, behind in called)
            self.calls[state] = tuple(dict.fromkeys(calls))
        positions = self._sets[state]
        self._spend(len(positions) * self._n_columns)
        row = self.rows[state]
        rows = [(node, self._tables[self._edge(node)[0]][at]) for node, at in positions]
        live = np.zeros(self._n_columns, np.bool_)
        for _, targets in rows:
            live |= targets >= 0
        # Columns with the same successors are entered once.
        known: dict[tuple[int, ...], int] = {}
        for column in np.flatnonzero(live).tolist():
            targets = tuple(int(each[column]) for _, each in rows)
            found = known.get(targets)
            if found is None:
                after = {(node, to) for (node, _), to in zip(rows, targets, strict=True) if to >= 0}
                ended = {
                    behind
                    for leaf, behind, to in ((*self._edge(node), to) for node, to in after)
                    if self._ends[leaf][to]
                }
                found = known[targets] = self._state_of_nodes(ended, after)
            row[column] = found

    def _edge(self, node: int) -> tuple[int, int]:
        edge = self._nfa.edges[node]
        assert edge is not None, "positions and calls are at edges"
        return edge
