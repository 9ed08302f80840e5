"""Pattern tree -> nondeterministic automaton over sets of characters (Thompson's construction).

A state has empty edges, edges by a set of characters, and *look* edges: empty edges that hold only where an assertion does.
Fragments are emitted into one numbering from left to right, with an explicit stack; a counted repeat emits its body once
and copies the block of states and edges, so ``x{1,100000}`` costs array copies, not tree walks.

A `Call` is a path by *symbols*, letters outside Unicode: the digits of its number to the base 16, so that thousands of calls need few
columns in a table. `guided.automata.calls` makes call edges of such paths.

Invariant: a block emitted between two state counts refers to no state outside it, except that look edges name assertions, which
live in a table of their own and are shared by all copies.
Ref: Thompson 1968; the nesting of counted repeats follows RE2 (each optional copy has one edge to the common exit).
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from guided.arrays import Int32Array
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Call, Chars, Concat, Graph, Literal, Look, Node, Repeat

__all__ = ["CALL_DIGITS", "LEAD", "NFA", "Adjacency", "Assertion", "Operand", "build_nfa", "columns", "rows_by_source"]

# States whose edges are made together (`Adjacency`).
_TOGETHER = 64
# Digits of a call's number, to the base LEAD; the symbol of the first one is LEAD + digit.
CALL_DIGITS, LEAD = 4, 16

# Cost of visiting a node of the tree, in emitted states of a literal.
_VISIT = 3


@dataclass(frozen=True, slots=True, eq=False)
class Operand(Node):
    """A language given as a deterministic automaton over characters: the result of Intersect and Complement.

    Attributes
    ----------
    edges : tuple of (int, Charset, int)
        Source, characters, target; state 0 is the start.
    accepting : tuple of int
        Accepting states.
    n_states : int
        Number of states.
    steps : int
        Cost of building it; every compile that uses it counts this as its own.
    """

    edges: tuple[tuple[int, Charset, int], ...]
    accepting: tuple[int, ...]
    n_states: int
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Assertion:
    """Body of an assertion, between two states of the same NFA."""

    start: int
    end: int
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True, eq=False)
class NFA:
    """Edges as columns. The start state is 0.

    Attributes
    ----------
    n_states, accept : int
        Number of states; the one accepting state of the main language.
    empty : ndarray[int32], shape (n_empty, 2)
        Source, target.
    edges : ndarray[int32], shape (n_edges, 3)
        Source, number of the set or of the symbol, target. Symbols are numbered after the sets.
    looks : ndarray[int32], shape (n_looks, 3)
        Source, number of the assertion, target.
    charsets : tuple of Charset
        The sets that edges name.
    assertions : tuple of Assertion
        The assertions that looks name; inner ones have higher numbers.
    symbols : tuple of int
        The symbols of calls that edges name.
    places, ranks : ndarray[int32], shape (2, n_states) or (0, n_states)
        For the innermost and the outermost counted repeat around a state, if there are any: the number of its place in the repeated body,
        -1 without a repeat, and its rank among the copies of that place. From a state of lower rank all texts lead to acceptance that do
        from one of higher rank at the same place.
    """

    n_states: int
    accept: int
    empty: Int32Array
    edges: Int32Array
    looks: Int32Array
    charsets: tuple[Charset, ...]
    assertions: tuple[Assertion, ...]
    symbols: tuple[int, ...]
    places: Int32Array
    ranks: Int32Array


def build_nfa(tree: Node, limits: Limits) -> NFA:
    """Build the NFA of a tree without Intersect and Complement (which have become `Operand` nodes).

    Raises
    ------
    LimitError
        ``nfa_states``, ``transitions`` or ``assertion_depth`` of ``limits`` was exceeded.
    """
    emitter = _Emitter(limits)
    accept = emitter.emit(tree, emitter.state())
    assertions: list[Assertion] = []
    while len(assertions) < len(emitter.bodies):
        look, depth = emitter.bodies[len(assertions)]
        if depth > limits.assertion_depth:
            raise LimitError("assertion_depth", depth, limits.assertion_depth, "use fewer nested lookaheads")
        emitter.depth = depth + 1
        start = emitter.state()
        assertions.append(Assertion(start, emitter.emit(look.item, start), look.behind, look.negative))
    edges = columns(emitter.edges, 3)
    is_symbol = edges[:, 1] < 0
    edges[is_symbol, 1] = len(emitter.numbers) - 1 - edges[is_symbol, 1]
    return NFA(
        emitter.n_states,
        accept,
        columns(emitter.empty, 2),
        edges,
        columns(emitter.looks, 3),
        tuple(emitter.numbers),
        tuple(assertions),
        tuple(emitter.symbols),
        *_copies(columns(emitter.repeats, 4), emitter.n_states),
    )


def _copies(repeats: Int32Array, n_states: int) -> tuple[Int32Array, Int32Array]:
    """Return ``places`` and ``ranks`` of an NFA from its counted repeats, inner ones first: first state, size of the body, 1 or -1, end."""
    n_rows = 2 if len(repeats) else 0
    places, ranks = np.full((n_rows, n_states), -1, np.int32), np.zeros((n_rows, n_states), np.int32)
    if not n_rows:
        return places, ranks
    first, size, sign, end = repeats.T
    count = end - first
    offset = np.arange(count.sum(), dtype=np.int32) - np.repeat(np.cumsum(count) - count, count)
    state = np.repeat(first, count) + offset
    size = np.repeat(size, count)
    place = np.repeat(first, count) + offset % size
    rank = np.repeat(sign, count) * (offset // size)
    # Invariant: of several values for one state, numpy keeps the last.
    for row, order in enumerate((slice(None, None, -1), slice(None))):
        places[row, state[order]], ranks[row, state[order]] = place[order], rank[order]
    return places, ranks


def columns(flat: "array[int]", width: int) -> Int32Array:
    """Return edges from a flat array as rows."""
    return np.array(flat, np.int32).reshape(-1, width)


def rows_by_source(edges: Int32Array, n_states: int) -> tuple[Int32Array, Int32Array]:
    """Return the CSR of edges by their first column: (indptr, edges in order of source)."""
    indptr = np.zeros(n_states + 1, np.int32)
    np.cumsum(np.bincount(edges[:, 0], minlength=n_states), out=indptr[1:])
    return indptr, np.ascontiguousarray(edges[np.argsort(edges[:, 0], kind="stable")])


class Adjacency(dict[int, list[tuple[int, ...]]]):
    """The edges of each state without the source, made when they are asked for: a search often reaches few states."""

    def __init__(self, edges: Int32Array, n_states: int) -> None:
        super().__init__()
        self._first, edges = rows_by_source(edges, n_states)
        self._onward = edges[:, 1:]

    def __missing__(self, state: int) -> list[tuple[int, ...]]:
        # PERF: states near each other together, because each piece of an array takes a microsecond.
        near = state - state % _TOGETHER
        indptr = self._first[near : near + _TOGETHER + 1].tolist()
        onward = list(map(tuple, self._onward[indptr[0] : indptr[-1]].tolist()))
        for one, (first, last) in enumerate(pairwise(indptr), near):
            self[one] = onward[first - indptr[0] : last - indptr[0]]
        return self[state]


@dataclass(slots=True)
class _Set:
    """Continue from a given state."""

    state: int


@dataclass(slots=True)
class _Join:
    """Add an empty edge from the current state to a given one."""

    state: int


@dataclass(slots=True)
class _Close:
    """The body of a repeat has been emitted: copy it and connect the copies."""

    outside: int
    entry: int
    marks: tuple[int, int, int, int]
    node: Repeat


_Task: TypeAlias = Node | _Set | _Join | _Close


class _Emitter:
    """The NFA under construction. ``current`` in `emit` is the state after the text emitted so far."""

    def __init__(self, limits: Limits) -> None:
        self.limit, self.max_cells = limits.nfa_states, limits.transitions
        self.n_states = 0
        self.empty, self.edges, self.looks, self.repeats = array("i"), array("i"), array("i"), array("i")
        self.numbers: dict[Charset, int] = {}
        # Numbers of the symbols; -1 - number in edges, as long as the number of sets is unknown.
        self.symbols: dict[int, int] = {}
        self.bodies: list[tuple[Look, int]] = []
        self.depth = 1
        self._numbers_by_id: dict[int, int] = {}
        self._characters: dict[str, int] = {}
        self._visits = 0
        self._assertions: dict[tuple[object, bool, bool, int], int] = {}

    def state(self, count: int = 1) -> int:
        """Add ``count`` states and return the first."""
        first = self.n_states
        self.n_states += count
        if self.n_states > self.limit:
            raise LimitError("nfa_states", self.n_states, self.limit, "shorten the pattern or its counts")
        return first

    def number(self, charset: Charset) -> int:
        # Why by identity first: hashing a set of hundreds of intervals is expensive, and the tree keeps its sets alive.
        found = self._numbers_by_id.get(id(charset))
        if found is None:
            found = self._numbers_by_id[id(charset)] = self.numbers.setdefault(charset, len(self.numbers))
        return found

    def character(self, character: str) -> int:
        found = self._characters.get(character)
        if found is None:
            point = ord(character)
            charset = Charset.EMPTY if 0xD800 <= point < 0xE000 else Charset(((point, point),))
            found = self._characters[character] = self.numbers.setdefault(charset, len(self.numbers))
        return found

    def assertion(self, node: Look) -> int:
        """Return the number of an assertion; equal ones at one depth are shared, such as all word boundaries of a pattern."""
        # Why by depth: inner assertions must have higher numbers than those around them.
        match node.item:
            case Chars(charset):
                content: object = charset
            case Literal(text):
                content = text
            case item:
                content = id(item)
        key = content, node.behind, node.negative, self.depth
        found = self._assertions.get(key)
        if found is None:
            found = self._assertions[key] = len(self.bodies)
            self.bodies.append((node, self.depth))
        return found

    def emit(self, tree: Node, current: int) -> int:
        """Emit ``tree`` from state ``current``, and return the state it ends in."""
        tasks: list[_Task] = [tree]
        while tasks:
            task = tasks.pop()
            self._visits += _VISIT
            if self._visits > self.limit:
                raise LimitError("nfa_states", self._visits, self.limit, "the pattern has too many parts")
            match task:
                case _Set():
                    current = task.state
                case _Join():
                    self.empty.extend((current, task.state))
                case _Close():
                    current = self._close(task, current)
                case Literal() | Chars():
                    word = self._word(task)
                    current = self.state() if word is None else self._path(word, current)
                case Concat():
                    tasks.extend(reversed(task.items))
                case Alternate():
                    exit_ = self.state()
                    tasks.append(_Set(exit_))
                    words = [self._word(item) for item in task.items]
                    self._trie([word for word in words if word is not None], current, exit_)
                    for item, word in zip(reversed(task.items), reversed(words), strict=True):
                        if word is None:
                            tasks.extend((_Join(exit_), item, _Set(current)))
                case Repeat():
                    if not 0 <= task.minimum <= (task.minimum if task.maximum is None else task.maximum):
                        raise ValueError(f"nothing repeats {task.minimum} to {task.maximum} times")
                    if task.maximum != 0:
                        entry = self.state()
                        marks = (len(self.empty), len(self.edges), len(self.looks), len(self.repeats))
                        tasks.extend((_Close(current, entry, marks, task), task.item, _Set(entry)))
                case Graph():
                    first = self.state(task.n_points)
                    tasks.append(_Set(first + 1))
                    self.empty.extend((current, first))
                    for begin, item, end in reversed(task.edges):
                        tasks.extend((_Join(first + end), item, _Set(first + begin)))
                case Call():
                    current = self._call(task.number, current)
                case Look():
                    target = self.state()
                    self.looks.extend((current, self.assertion(task), target))
                    current = target
                case Operand():
                    current = self._operand(task, current)
                case _:
                    raise TypeError(f"not a node of a lowered pattern tree: {type(task).__name__}")
        return current

    def _path(self, numbers: Sequence[int], current: int) -> int:
        """Emit a path by these sets."""
        for target, number in enumerate(numbers, self.state(len(numbers))):
            self.edges.extend((current, number, target))
            current = target
        return current

    def _call(self, number: int, current: int) -> int:
        if not 0 <= number < LEAD**CALL_DIGITS:
            raise LimitError("call_types", number + 1, LEAD**CALL_DIGITS, "too many arguments of different types")
        digits = [number // LEAD**place % LEAD for place in reversed(range(CALL_DIGITS))]
        digits[0] += LEAD
        return self._path([-1 - self.symbols.setdefault(digit, len(self.symbols)) for digit in digits], current)

    def _word(self, node: Node) -> list[int] | None:
        """Return the sets that a node reads in sequence, if it is that simple."""
        match node:
            case Literal(text):
                return [self.character(character) for character in text]
            case Chars(charset) if charset.ranges:
                return [self.number(charset)]
            case Concat(items):
                word: list[int] = []
                for item in items:
                    if isinstance(item, Literal):
                        word.extend(self.character(character) for character in item.text)
                    elif isinstance(item, Chars) and item.charset:
                        word.append(self.number(item.charset))
                    else:
                        return None
                return word
        return None

    def _trie(self, words: list[list[int]], current: int, exit_: int) -> None:
        """Emit words between two states as a trie of common prefixes."""
        # PERF: 50,000 names take half the time, and .*(names).* exceeded the budget of steps with a branch for each.
        path, before = [current], list[int]()
        for word in sorted(words):
            shared = 0
            for one, other in zip(word, before, strict=False):
                if one != other:
                    break
                shared += 1
            del path[shared + 1 :]
            first = self.n_states
            self.empty.extend((self._path(word[shared:], path[-1]), exit_))
            path.extend(range(first, self.n_states))
            before = word

    def _operand(self, node: Operand, current: int) -> int:
        first, exit_ = self.state(node.n_states), self.state()
        self.empty.extend((current, first))
        for source, charset, target in node.edges:
            self.edges.extend((first + source, self.number(charset), first + target))
        for state in node.accepting:
            self.empty.extend((first + state, exit_))
        return exit_

    def _close(self, task: _Close, end: int) -> int:
        node, entry = task.node, task.entry
        size = self.n_states - entry
        copies = max(node.minimum, 1) if node.maximum is None else node.maximum
        if copies > 1:
            self.state(size * (copies - 1))
            blocks = (self.empty, 2, task.marks[0]), (self.edges, 3, task.marks[1]), (self.looks, 3, task.marks[2])
            for pool, width, mark in blocks:
                # Why twice: an edge takes more memory than a cell of a table.
                cells = 2 * ((len(pool) - mark) // width) * (copies - 1)
                if cells > self.max_cells:
                    raise LimitError("transitions", cells, self.max_cells, "shorten the pattern or its counts")
                _copy_block(pool, width, mark, size, copies)
            _copy_block(self.repeats, 4, task.marks[3], size, copies)
            required = 1 if node.maximum is None else max(node.minimum, 1)
            if required < copies:
                # Optional copies allow more repetitions the earlier they are; copies before a loop demand fewer the later they are.
                sign = -1 if node.maximum is None else 1
                self.repeats.extend((entry + size * (required - 1), size, sign, entry + size * copies))
        exit_ = self.state()
        self.empty.extend((task.outside, entry))
        if node.minimum == 0:
            self.empty.extend((task.outside, exit_))
        if copies == 1:
            if node.maximum is None:
                self.empty.extend((end, entry))
            self.empty.extend((end, exit_))
            return exit_
        ends = end + size * np.arange(copies, dtype=np.int32)
        onward = np.stack([ends[:-1], entry + size * np.arange(1, copies, dtype=np.int32)], axis=1)
        leave = ends[max(node.minimum, 1) - 1 :]
        leave = np.stack([leave, np.full_like(leave, exit_)], axis=1)
        self.empty.frombytes(onward.tobytes() + leave.tobytes())
        if node.maximum is None:
            last = entry + size * (copies - 1)
            self.empty.extend((end + size * (copies - 1), last))
        return exit_


def _copy_block(pool: "array[int]", width: int, mark: int, size: int, copies: int) -> None:
    """Append ``copies - 1`` copies of the edges from ``mark`` on, each shifted by ``size`` states (not the set's number)."""
    if len(pool) == mark:
        return
    block = np.array(pool[mark:], np.int32).reshape(-1, width)
    shift = np.zeros(width, np.int32)
    shift[0] = shift[-1] = size
    offsets = np.arange(1, copies, dtype=np.int32)[:, None, None] * shift
    pool.frombytes((block[None] + offsets).astype(np.int32).tobytes())
