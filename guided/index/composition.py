"""`CompositionIndex`: allowed tokens of a recursive transition network (`guided.engine.network`).

The *frame* is a finite automaton with call edges; each *part* has an index of its own. A configuration is an `Item`: a frame state, or a
state of a part with the frame state behind it. A state of this index is a set of items, closed under calls and returns, because a text
may be readable in several ways.

The mask of a state is the union over its items. For one item it consists of

- the tokens that stay in the frame or in the part: the mask of its index, which is cached there; and
- the tokens that cross a boundary: after some prefix a part may begin or end, and the rest of the token is read by what follows. The
  prefixes come from a walk of the trie (`_Boundaries`). All rests are read together: a *point*, that is, a configuration within a token,
  goes with all the trie nodes at which it is reached, and each of its bytes is read once for all of them.

Budgets add up: the least number of tokens of an item is that of its part, plus that from the frame state behind it. A part with a budget
of its own carries the number of tokens left.

Steps: a call counts the bytes that it reads, the trie nodes that it visits and the steps of its parts against `Limits.call_steps`.
`mask_within` leaves out tokens that are undecided by then, other than those of its completion, as `guided.index.pushdown_budget` does.

Memory: an index that has grown by more than `Limits.growth_bytes` forgets its states, as `guided.index.pushdown` does; its parts bound
themselves.

Complexity: O(1) for a mask or a token seen before in a state; else the masks of its items, and for tokens that cross a boundary
O(trie nodes that lead to it), plus for each point a byte once and its trie nodes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from operator import index as as_index
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array, freeze, mask_of, mask_words, tokens_of
from guided.automata.automaton import Automaton
from guided.automata.steps import Steps
from guided.caching import Kept, cached_property
from guided.encoding import as_bytes
from guided.errors import GuidedError, LimitError, StateEvicted, no_completion_found, placed
from guided.index.pushdown import PushdownIndex
from guided.index.reader import Reader
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Call", "CompositionIndex", "Item", "PartIndex"]

# More tokens than any completion: no completion.
_NEVER = 1 << 30
_FORCED_BATCH = 1000
# Parts that one mask within a budget asks for their completions, besides those of the completion itself.
_PARTS_WEIGHED = 64
# Share of a call's steps (one in this many) for the tokens of a mask within a budget other than those of the completion.
_SHARE = 4
# Steps that each byte of a text allows besides those of a call.
_PER_BYTE = 64
# Steps of reading with a point, besides one for each byte, and for so many trie nodes or arrays of such.
_PER_POINT, _NODES_PER_STEP, _ENTERED_PER_STEP, _ARRAYS_PER_STEP = 8, 512, 2048, 2
# Bytes that a table reads in one step, and edges of the frame whose distances take one.
_BYTES_PER_STEP, _EDGES_PER_STEP = 8, 500
# Walks of more trie nodes than this, and rests below more, are first restricted to tokens that matter.
_LONG_WALK, _MANY_RESTS = 2048, 64
# Walks to the ends of parts that are kept.
_WALKS_KEPT = 64
# Bytes of a long token, which parts that may be empty divide among them.
_TOKEN_LENGTH = 16
_ADVICE = "the text can be read in too many ways"
# Measured bytes of memory of a state with one item, of a known successor, and of a further item.
_PER_STATE, _PER_STEP, _PER_ITEM = 700, 120, 120
_NOTHING: Int32Array = freeze(np.zeros(0, np.int32))


class Call(NamedTuple):
    """A call edge of a frame state: a part, and the frame state behind it."""

    part: int
    after: int


class Item(NamedTuple):
    """A configuration.

    Attributes
    ----------
    part : int
        -1: the frame.
    state : int
        Of the part's index, or of the frame.
    after : int
        Frame state behind the part; -1 in the frame.
    left : int
        Tokens that may still begin in the part; -1: no budget.
    """

    part: int
    state: int
    after: int = -1
    left: int = -1


PartIndex: TypeAlias = RegularIndex | PushdownIndex
# An item within a token: part, frame state or position of the part's reader, `Item.after`, `Item.left`.
_Point: TypeAlias = tuple[int, Any, int, int]
# Where the reading of a point began: a state of the part, and the bytes read since.
_Origin: TypeAlias = tuple[int, bytes]
# Items across a boundary, and the trie nodes after which it is crossed.
_Rest: TypeAlias = tuple[tuple[Item, ...], Int32Array]
_Result = TypeVar("_Result")


class CompositionIndex:
    """Index of a recursive transition network over a vocabulary.

    Parameters
    ----------
    frame : RegularIndex
        Index of the frame, in which states with calls accept, too.
    accepting : ndarray[bool], shape (n_frame_states,)
        Frame states where the whole text may end.
    calls : mapping of int to tuple of Call
        Call edges of frame states.
    parts : sequence of index
    budgets : sequence of int
        Most tokens of each part; -1: no budget.
    vocabulary : Vocabulary
    limits : Limits
    """

    initial, final = 0, 1

    def __init__(
        self,
        frame: RegularIndex,
        accepting: BoolArray,
        calls: Mapping[int, tuple[Call, ...]],
        parts: Sequence[PartIndex],
        budgets: Sequence[int],
        vocabulary: Vocabulary,
        limits: Limits,
    ) -> None:
        self.vocabulary, self.size = vocabulary, vocabulary.size
        self._tokens, self._eos = vocabulary.tokens, frozenset(vocabulary.eos)
        self._frame, self._accepting, self._calls = frame, accepting.tolist(), calls
        self._parts, self._budgets, self._limits = parts, budgets, limits
        self._lock = new_lock(Rank.COMPOSITION)
        self._end_bits = mask_of(list(self._eos), self.size)
        # Rows by class of bytes as lists, because they are read one entry at a time.
        self._classes: list[int] = frame.automaton.classes.tolist()
        self._rows: list[list[int]] = frame.automaton.table.tolist()
        self._table, self._class_of = frame.automaton.table, frame.automaton.classes
        self._boundaries = _Boundaries(vocabulary, frame.automaton, calls)
        # Tokens of parts, as far as they are known, and distances by these.
        self._costs: dict[int, int] = {}
        self._distance: list[int] | None = None
        self._error: GuidedError | None = None
        self.steps = Steps(limits.call_steps, "call_steps")
        # Largest state number so far. Numbers are never reused.
        self.last = 1
        self.explored = 0
        for part, most in zip(parts, budgets, strict=True):
            if most >= 0 and part.remaining(part.initial) > most:
                raise LimitError(
                    "max_tokens",
                    part.remaining(part.initial),
                    most,
                    "every text of a part takes more tokens: raise its max_tokens",
                )
        self._begin()
        for state in calls:
            begun = (item for item in self._calls_from(state) if item.part >= 0)
            after = {item.after for item in begun if parts[item.part].is_accepting(item.state)}
            n_ways = comb(_TOKEN_LENGTH + len(after) - 1, _TOKEN_LENGTH) if after else 0
            if n_ways > limits.readings:
                advice = f"{len(after)} parts that may be empty follow each other directly"
                raise LimitError("readings", n_ways, limits.readings, advice)

    def _begin(self) -> None:
        """Forget everything but the first two states."""
        start = self._closed([Item(-1, 0)])
        self._items: dict[int, tuple[Item, ...]] = {self.initial: start, self.final: ()}
        self._state_ids: dict[tuple[Item, ...], int] = {start: self.initial}
        self._next: dict[int, int] = {}
        self._masks: dict[int, Int32Array] = {self.final: freeze(np.zeros(mask_words(self.size), np.int32))}
        # By frame state: what may begin there, and what may follow behind a part.
        self._called_at: dict[int, tuple[Item, ...]] = {}
        self._behind: dict[int, tuple[Item, ...]] = {}
        self._first: dict[tuple[Item, ...], frozenset[int]] = {}
        self._rests_of: dict[Item, list[_Rest]] = {}
        # Tokens whose rests some items read below trie nodes; and the same with the tokens that then complete the text.
        self._rests: dict[tuple[tuple[Item, ...], bytes], Int32Array] = {}
        self._bounds: dict[tuple[tuple[Item, ...], bytes], tuple[Int32Array, Int32Array]] = {}
        self._n_bytes = 0

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory in use for texts, masks included, with those of the frame and the parts."""
        return self._n_bytes + self._frame.n_bytes + sum({id(part): part.n_bytes for part in self._parts}.values())

    @property
    def n_states(self) -> int:
        """Number of states kept, including the one after EOS."""
        return len(self._items)

    @contextmanager
    def _reading(self, state: int) -> Iterator[tuple[Item, ...]]:
        """Hold the lock, and yield the items of a state.

        Raises
        ------
        StateEvicted
            The state, or the state of a part that it refers to, was evicted.
        """
        is_within: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        with self._lock:
            if not is_within:
                self.steps.begin()
                if self._n_bytes > self._limits.growth_bytes:
                    self._begin()
            found = self._items.get(state)
            if found is None:
                raise StateEvicted(state)
            try:
                yield found
            except StateEvicted:
                # Its number stays unused: `state_after` makes another one.
                if state != self.initial and self._items.pop(state, None) is not None:
                    self._state_ids.pop(found, None)
                self._masks.pop(state, None)
                raise StateEvicted(state) from None

    # Items

    def _closed(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Return the items with those of the parts that may begin, and of the frame where a part may end."""
        seen: dict[Item, None] = {}
        todo = list(items)
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen[item] = None
            if len(seen) > self._limits.readings:
                raise LimitError("readings", len(seen), self._limits.readings, _ADVICE)
            if item.part < 0:
                todo += self._called(item.state)
            elif self._parts[item.part].is_accepting(item.state):
                todo.append(Item(-1, item.after))
        # A part whose budget is used up has ended: it reads no more tokens.
        return tuple(sorted(item for item in seen if item.left != 0))

    def _called(self, state: int) -> list[Item]:
        return [
            Item(part, self._parts[part].initial, after, self._budgets[part])
            for part, after in self._calls.get(state, ())
        ]

    def _calls_from(self, state: int) -> tuple[Item, ...]:
        """Return the items of the parts that may begin in a frame state."""
        found = self._called_at.get(state)
        if found is None:
            found = self._called_at[state] = self._closed(self._called(state))
            self._n_bytes += _PER_ITEM * (len(found) + 1)
        return found

    def _after_part(self, state: int) -> tuple[Item, ...]:
        """Return the items after a part with a frame state behind it."""
        found = self._behind.get(state)
        if found is None:
            found = self._behind[state] = self._closed([Item(-1, state)])
            self._n_bytes += _PER_ITEM * (len(found) + 1)
        return found

    def _is_accepting(self, items: Iterable[Item]) -> bool:
        return any(item.part < 0 and self._accepting[item.state] for item in items)

    def _after(self, items: Iterable[Item], data: bytes, *, counts: bool) -> tuple[Item, ...]:
        """Return the items after some bytes. ``counts``: the bytes are one token, which the budgets count."""
        steps, rows, classes = self.steps, self._rows, self._classes
        with _reading_parts(self._parts, steps) as readers:
            # With each point, the state where its reading began, and the offset.
            points: dict[_Point, tuple[int, int]] = {}
            for item in items:
                left = item.left - (counts and item.left >= 0)
                points[item.part, readers.start(item), item.after, left] = item.state, 0
            for offset, byte in enumerate(data, 1):
                steps.spent = max(0, steps.spent - _PER_BYTE)
                steps.spend(len(points), _ADVICE)
                before, points = points, {}
                for (part, at, after, left), origin in before.items():
                    at = rows[at][classes[byte]] if part < 0 else readers.step(part, at, byte)
                    if at is None or (part < 0 and at < 0):
                        continue
                    points.setdefault((part, at, after, left), origin)
                    if offset < len(data):
                        for each in self._beyond(part, at, after, readers):
                            point = each.part, readers.start(each), each.after, each.left
                            points.setdefault(point, (each.state, offset))
                if not points:
                    return ()
            ended = (self._item(point, (state, data[begin:]), readers) for point, (state, begin) in points.items())
            return self._closed(item for item in ended if item is not None)

    def _beyond(self, part: int, at: Any, after: int, readers: "_Readers") -> tuple[Item, ...]:
        """Return the items across a boundary: of the parts that may begin in a frame state, or where the part may end."""
        if part < 0:
            return self._calls_from(at) if at in self._calls else ()
        return self._after_part(after) if readers.may_end(part, at) else ()

    def _item(self, point: _Point, origin: _Origin, readers: "_Readers") -> Item | None:
        """Return the item of a point at the end of a token; None if its part can no longer end within its budget."""
        part, at, after, left = point
        if part < 0:
            return Item(-1, at)
        state = readers.state(part, at, origin)
        return Item(part, state, after, left) if left < 0 or self._parts[part].remaining(state) <= left else None

    def _ask(self, part: PartIndex, ask: Callable[..., _Result], *arguments: int) -> _Result:
        """Return the answer of a part that is not being read, and count its steps."""
        try:
            return ask(*arguments)
        finally:
            try:
                self.steps.spend(_steps_of(part), _ADVICE)
            except LimitError:
                with placed(_place_of(part)):
                    raise

    def _number(self, items: tuple[Item, ...]) -> int:
        """Return the number of a state."""
        found = self._state_ids.get(items)
        if found is None:
            if len(self._items) >= self._limits.states:
                raise LimitError("states", len(self._items) + 1, self._limits.states, "the index has grown too large")
            found = self.last = self.last + 1
            # Invariant: a number that is found has items, also after an interrupt.
            self._items[found] = items
            self._state_ids[items] = found
            self._n_bytes += _PER_STATE + _PER_ITEM * len(items)
        return found

    # Masks

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        found = self._masks.get(state)
        if found is None:
            with self._reading(state) as items:
                found = self._masks[state] = self._mask(items)
                self._n_bytes += found.nbytes
        return found

    def _mask(self, items: tuple[Item, ...]) -> Int32Array:
        self.steps.spend(_PER_POINT * len(items), _ADVICE)
        words = np.zeros(mask_words(self.size), np.int32)
        for item in items:
            words |= self._own_mask(item)
        words &= ~self._end_bits
        wanted = ~words
        below: dict[tuple[Item, ...], list[Int32Array]] = {}
        # Why with one token left: what follows a part does not depend on how many are.
        for item in {item._replace(left=min(item.left, 1)): None for item in items}:
            for beyond, nodes in self._crossings(item, wanted):
                below.setdefault(beyond, []).append(nodes)
        for beyond, each in below.items():
            words |= mask_of(self._below(beyond, self._boundaries.distinct(each)), self.size)
        if self._is_accepting(items):
            words |= self._end_bits
        return freeze(words)

    def _own_mask(self, item: Item) -> Int32Array:
        """Return the mask of the tokens that stay in the frame or the part of an item; end tokens have no meaning in it."""
        if item.part < 0:
            return self._frame.mask(item.state)
        part = self._parts[item.part]
        if item.left < 0:
            return self._ask(part, part.mask, item.state)
        return self._ask(part, part.mask_within, item.state, item.left)

    def _crossings(self, item: Item, wanted: Int32Array) -> list[_Rest]:
        """Return the items across each boundary, with the trie nodes after which it is crossed; at least those with wanted tokens below."""
        known = self._rests_of.get(item)
        if known is not None:
            return known
        boundaries, found, is_whole = self._boundaries, dict[tuple[Item, ...], Int32Array](), True
        if item.part < 0:
            walk = boundaries.calling(item.state)
        else:
            behind = self._after_part(item.after)
            walk = boundaries.ends(self._first_bytes(behind), self._parts[item.part].last_bytes)
        if len(walk) > _LONG_WALK:
            walk, is_whole = walk.within(boundaries.are_above(walk.nodes, wanted)), False
        if item.part < 0:
            nodes, states, n_read = walk.run(item.state, self._frame_step, self._calls.__contains__)
            self.steps.spend(n_read // _BYTES_PER_STEP, _ADVICE)
            by_state: dict[int, list[int]] = {}
            for node, state in zip(nodes, states, strict=True):
                by_state.setdefault(state, []).append(node)
            found = {self._calls_from(state): np.array(each, np.int32) for state, each in by_state.items()}
        else:
            with _reading_parts(self._parts, self.steps) as readers:
                start, reader = readers.start(item), readers.of(item.part)
                nodes, _, n_read = walk.run(start, reader.step, reader.may_end)
            is_table = isinstance(self._parts[item.part], RegularIndex)
            self.steps.spend(n_read // _BYTES_PER_STEP if is_table else n_read, _ADVICE)
            if nodes:
                found = {behind: np.array(nodes, np.int32)}
        rests: list[_Rest] = []
        for items, at in found.items():
            if len(at) > _MANY_RESTS:
                at, is_whole = at[boundaries.are_above(at, wanted)], False
            if items and len(at):
                rests.append((items, at))
        if is_whole:
            self._rests_of[item] = rests
            self._n_bytes += _PER_ITEM + sum(at.nbytes for _, at in rests)
        return rests

    def _frame_step(self, state: int, byte: int) -> int | None:
        after = self._rows[state][self._classes[byte]]
        return after if after >= 0 else None

    def _first_bytes(self, items: tuple[Item, ...]) -> frozenset[int]:
        """Return the bytes that some items allow, those across a boundary."""
        found = self._first.get(items)
        if found is None:
            found = self._first[items] = frozenset(self._onward(items))
            self._n_bytes += _PER_ITEM
        return found

    def _onward(self, items: Iterable[Item]) -> set[int]:
        """Return the bytes that some items allow."""
        found: set[int] = set()
        for item in items:
            part = self._parts[item.part]
            onward = self._frame.onward(item.state) if item.part < 0 else self._ask(part, part.onward, item.state)
            self.steps.spend(len(onward), _ADVICE)
            found.update(onward)
        return found

    def _below(self, items: tuple[Item, ...], nodes: Int32Array) -> Int32Array:
        """Return the tokens below trie nodes whose rests some items read, ascending."""
        key = items, nodes.tobytes()
        found = self._rests.get(key)
        if found is None:
            with _reading_parts(self._parts, self.steps) as readers:
                pieces = [
                    self._boundaries.tokens_at(at)
                    for point, origin, at in self._read_below(items, nodes, readers)
                    if point[3] < 0 or self._item(point, origin, readers) is not None
                ]
            found = self._rests[key] = _distinct(pieces, self.size)
            self._n_bytes += _PER_ITEM + found.nbytes + nodes.nbytes
        return found

    def _read_below(
        self, items: tuple[Item, ...], nodes: Int32Array, readers: "_Readers"
    ) -> Iterator[tuple[_Point, _Origin, Int32Array]]:
        """Yield the points that some items reach below trie nodes, each with its origin and nodes at which it is reached."""
        boundaries, origins = self._boundaries, dict[_Point, _Origin]()
        # By depth in the trie: what is reached there leads to the next depth only, so each node is read once with a point.
        waiting: dict[int, dict[_Point, list[Int32Array]]] = {}

        def enter(item: Item, depth: int, at: Int32Array) -> None:
            point = item.part, readers.start(item), item.after, item.left
            origins.setdefault(point, (item.state, b""))
            waiting.setdefault(depth, {}).setdefault(point, []).append(at)

        for depth, at in boundaries.by_depth(nodes):
            for item in items:
                enter(item, depth, at)
        while waiting:
            depth = min(waiting)
            for point, entered in waiting.pop(depth).items():
                at = boundaries.distinct(entered)
                children = boundaries.children(at)
                n_steps = len(entered) // _ARRAYS_PER_STEP + sum(map(len, entered)) // _ENTERED_PER_STEP
                self.steps.spend(_PER_POINT + n_steps + len(children) // _NODES_PER_STEP, _ADVICE)
                state, read = origins[point]
                for beyond, byte, reached in self._read_byte(point, children, readers):
                    origin = origins.setdefault(beyond, (state, read + byte))
                    yield beyond, origin, reached
                    inner = boundaries.parents_in(reached)
                    if len(inner):
                        waiting.setdefault(depth + 1, {}).setdefault(beyond, []).append(inner)
                        for item in self._beyond(beyond[0], beyond[1], beyond[2], readers):
                            enter(item, depth + 1, inner)

    def _read_byte(
        self, point: _Point, nodes: Int32Array, readers: "_Readers"
    ) -> Iterator[tuple[_Point, bytes, Int32Array]]:
        """Yield the points after the bytes of some trie nodes, each with one such byte and its nodes."""
        part, at, after, left = point
        data = self._boundaries.bytes_of(nodes)
        positions: list[Any] = []
        if part < 0:
            numbers = self._table[at, self._class_of[data]]
        else:
            known: dict[Any, int] = {}
            number_of = np.full(256, -1, np.int32)
            for byte in np.unique(data).tolist():
                position = readers.step(part, at, byte)
                if position is not None:
                    number_of[byte] = known.setdefault(position, len(known))
            self.steps.spend(len(known), _ADVICE)
            positions, numbers = list(known), number_of[data]
        allowed = numbers >= 0
        nodes, numbers = nodes[allowed], numbers[allowed]
        order = np.argsort(numbers, kind="stable")
        nodes, numbers = nodes[order], numbers[order]
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])) if len(numbers) else ()
        for begin, end in pairwise([*begins, len(numbers)]):
            number, reached = int(numbers[begin]), nodes[begin:end]
            byte = self._boundaries.bytes_of(reached[:1]).tobytes()
            yield (part, number if part < 0 else positions[number], after, left), byte, reached

    # Steps

    def next(self, state: int, token: int) -> int:
        """Return the state after a token; -1 if it is not allowed."""
        token = as_index(token)  # one of NumPy has too few bits for the key
        key = state << 24 | token if 0 <= token < self.size else -1
        found = self._next.get(key)
        if found is None:
            if key < 0 or state == self.final or state < 0:
                return -1
            with self._reading(state) as items:
                found = self._next[key] = self._step(items, token)
                self._n_bytes += _PER_STEP
        return found

    def _step(self, items: tuple[Item, ...], token: int) -> int:
        if token in self._eos:
            return self.final if self._is_accepting(items) else -1
        data = self._tokens[token] if token < len(self._tokens) else None
        after = self._after(items, data, counts=True) if data else ()
        return self._number(after) if after else -1

    def state_after(self, tokens: Sequence[int]) -> int:
        """See `Index`."""
        has_ended = len(tokens) > 0 and tokens[-1] in self._eos
        with self._reading(self.initial) as items:
            for token in tokens[:-1] if has_ended else tokens:
                self.steps.begin()
                items = self._after(items, self._tokens[token] or b"", counts=True)
                if not items:
                    raise ValueError("the tokens cannot follow each other")
            return self.final if has_ended else self._number(items)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in this state."""
        if state == self.final:
            return True
        with self._reading(state) as items:
            return self._is_accepting(items)

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text is in the language; budgets of parts do not apply, because they count tokens. O(len(data))."""
        with self._reading(self.initial) as items:
            return self._is_accepting(self._after(items, as_bytes(data), counts=False) if data else items)

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as possible, and return (state reached, number of bytes read)."""
        with self._reading(state) as items:
            count = 0
            while count < len(data):
                after = self._after(items, data[count : count + 1], counts=False)
                if not after:
                    break
                items, count = after, count + 1
            return self._number(items) if items else self.final, count

    def onward(self, state: int) -> list[int]:
        """Return the bytes allowed in a state, ascending."""
        with self._reading(state) as items:
            return sorted(self._onward(items))

    def forced(self, state: int) -> bytes:
        """Return the longest byte string, up to a thousand bytes, that every continuation of a state begins with."""
        found = bytearray()
        with self._reading(state) as items:
            while len(found) < _FORCED_BATCH and not self._is_accepting(items):
                onward = self._onward(items)
                if len(onward) != 1:
                    break
                byte = bytes(onward)
                items = self._after(items, byte, counts=False)
                found += byte
        return bytes(found)

    def reads(self, token: int) -> bool:
        """Return whether a token has bytes."""
        return token < len(self._tokens) and bool(self._tokens[token])

    def allowed(self, state: int) -> Int32Array:
        """Return the ids of the allowed tokens, ascending: int32."""
        return tokens_of(self.mask(state))

    def known_mask(self, state: int) -> Int32Array | None:
        """Return the mask of a state if it is cached."""
        return self._masks.get(state)

    def explore(self, n_states: int) -> None:
        """Create states and their masks breadth first from the start, until there are ``n_states``."""
        queue, seen = [self.initial], {self.initial}
        for state in queue:
            self.mask(state)
            if len(self._items) >= n_states:
                return
            for token in self.allowed(state).tolist():
                after = self.next(state, token)
                if after not in seen and after != self.final:
                    seen.add(after)
                    queue.append(after)
                if len(self._items) >= n_states:
                    break

    # Budgets

    def remaining(self, state: int) -> int:
        """Return an upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        if state == self.final:
            return 0
        with self._reading(state) as items:
            self.steps.spend(_PER_POINT * len(items), _ADVICE)
            least = min((self._tokens_of(item) for item in items), default=_NEVER)
            if least >= _NEVER:
                raise self._error or no_completion_found()
            return least

    def _tokens_of(self, item: Item, *, is_read: bool = False) -> int:
        """Return a number of tokens that completes an item; `_NEVER` if none was found. ``is_read``: a reader of its part is open."""
        if item.part < 0:
            return self._to_end(item.state)
        part = self._parts[item.part]
        return min(self._weight(part, item.state, is_read=is_read) + self._to_end(item.after), _NEVER)

    def _weight(self, part: PartIndex, state: int, *, is_read: bool = False) -> int:
        """Return a number of tokens that completes a state of a part; `_NEVER` if none was found."""
        try:
            return part.remaining(state) if is_read else self._ask(part, part.remaining, state)
        except StateEvicted:
            raise
        except GuidedError as error:
            if self.steps.left < 0:
                raise
            self._error = error
            return _NEVER

    def _to_end(self, state: int) -> int:
        """Return a number of tokens from a frame state to the end, calls included."""
        while unknown := self._unknown_parts(state):
            self._weigh(unknown)
        return min(self._known_distances()[state], _NEVER)

    def _weigh(self, parts: Iterable[int]) -> None:
        """Compute the number of tokens of some parts."""
        # Invariant: no distances are kept that follow from other costs, also after an interrupt.
        self._distance = None
        for part in parts:
            index = self._parts[part]
            self._costs[part] = self._weight(index, index.initial)

    def _known_distances(self) -> list[int]:
        if self._distance is None:
            self._distance = self._distances()
        return self._distance

    def _unknown_parts(self, state: int) -> set[int]:
        """Return the parts of unknown number of tokens on a shortest path from a frame state to the end."""
        # A part's number is computed once a shortest path leads through the part; until then it counts least.
        distance, frame = self._known_distances(), self._frame
        seen: set[int] = set()
        found: set[int] = set()
        while 0 < distance[state] < _NEVER and state not in seen and len(self._costs) < len(self._parts):
            seen.add(state)
            on_path = [
                call
                for call in self._calls.get(state, ())
                if self._cost(call.part) + distance[call.after] == distance[state]
            ]
            found.update(call.part for call in on_path if call.part not in self._costs)
            onward = [call.after for call in on_path if call.after not in seen]
            targets = frame.row_targets[frame.row_indptr[state] : frame.row_indptr[state + 1]].tolist()
            nearer = (target for target in targets if distance[target] == distance[state] - 1)
            state = next(nearer, onward[0] if onward else state)
        self.steps.spend(len(seen), _ADVICE)
        return found

    def _cost(self, part: int) -> int:
        """Return the number of tokens of a part, or what it takes at least."""
        found = self._costs.get(part)
        if found is None:
            found = int(not self._parts[part].is_accepting(self._parts[part].initial))
        return found

    @cached_property
    def _inverse(self) -> tuple[Int32Array, Int32Array]:
        """The frame states before each frame state by a token, as a CSR."""
        indptr, targets, n_states = self._frame.row_indptr, self._frame.row_targets, self._frame.n_states
        # Why so narrow: NumPy then sorts in linear time.
        order = np.argsort(targets.astype(np.uint16 if n_states <= 1 << 16 else np.int32), kind="stable")
        sources = np.repeat(np.arange(n_states, dtype=np.int32), np.diff(indptr))[order]
        return np.append(0, np.cumsum(np.bincount(targets, minlength=n_states))).astype(np.int32), sources

    def _distances(self) -> list[int]:
        """Return the tokens from each frame state to the end, by the costs of parts that are known."""
        edges = [(state, self._cost(call.part), call.after) for state, calls in self._calls.items() for call in calls]
        calling, cost, after = np.array(edges, np.int64).reshape(-1, 3).T
        distance = np.full(self._frame.n_states, _NEVER, np.int64)
        waiting = {0: [np.flatnonzero(self._accepting).astype(np.int32)]}
        # Breadth first from the ends; what is this far away leads to what is one token, or one part, further.
        while waiting:
            far = min(waiting)
            found = np.concatenate(waiting.pop(far))
            found = np.unique(found[distance[found] > far])
            distance[found] = far
            before = _gathered(*self._inverse, found)
            self.steps.spend(_PER_POINT + (len(cost) + len(before)) // _EDGES_PER_STEP, _ADVICE)
            nearer = [(far + 1, before)]
            if len(cost):
                over = np.flatnonzero(distance[after] == far)
                nearer += [(far + int(more), calling[over[cost[over] == more]]) for more in np.unique(cost[over])]
            for least, states in nearer:
                states = states[distance[states] > least]
                if len(states) and least < _NEVER:
                    waiting.setdefault(least, []).append(states)
        return distance.tolist()

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which `remaining` is below ``budget``; with EOS if the state accepts."""
        if state == self.final:
            return self.mask(state)
        with self._reading(state) as items:
            mask, words = self.mask(state), np.zeros(mask_words(self.size), np.int32)
            self.steps.spend(_PER_POINT * len(items), _ADVICE)
            # First the side of the completion: only other tokens may be left out for lack of steps.
            # Why parts before the frame: where the completion begins with a part, its tokens are those of the part.
            nearest, *others = sorted(items, key=lambda item: (self._tokens_of(item), item.part < 0))
            self._allow_within(nearest, budget, words)
            steps = self.steps
            try:
                with steps.at_most(steps.limit // _SHARE):
                    for item in others:
                        self._allow_within(item, budget, words)
                    self._allow_crossing(items, budget, words, mask)
            except LimitError:
                pass
            words &= ~self._end_bits
            if self._is_accepting(items):
                words |= self._end_bits
            return freeze(words)

    def _allow_crossing(self, items: tuple[Item, ...], budget: int, words: Int32Array, mask: Int32Array) -> None:
        """Set the bits of the tokens of a mask that cross a boundary and fit a budget."""
        for item in items:
            wanted = mask & ~words & ~self._end_bits
            if not wanted.any():
                return
            for rest in self._crossings(item, wanted):
                tokens, bounds = self._bounds_below(*rest)
                words |= mask_of(tokens[bounds < budget], self.size)

    def _bounds_below(self, items: tuple[Item, ...], nodes: Int32Array) -> tuple[Int32Array, Int32Array]:
        """Return the tokens below trie nodes whose rests some items read, and the number of tokens that completes the text after each."""
        key = items, nodes.tobytes()
        found = self._bounds.get(key)
        if found is None:
            tokens, bounds = [_NOTHING], [_NOTHING]
            with _reading_parts(self._parts, self.steps) as readers:
                for point, origin, at in self._read_below(items, nodes, readers):
                    item = self._item(point, origin, readers)
                    if item is None:
                        continue
                    tokens.append(self._boundaries.tokens_at(at))
                    bounds.append(np.full(len(tokens[-1]), self._tokens_of(item, is_read=True), np.int32))
            found = self._bounds[key] = np.concatenate(tokens), np.concatenate(bounds)
            self._n_bytes += _PER_ITEM + 2 * found[0].nbytes + nodes.nbytes
        return found

    def _allow_within(self, item: Item, budget: int, words: Int32Array) -> None:
        """Set the bits of the tokens that stay on an item's side and fit a budget."""
        if item.part < 0:
            frame = self._frame
            begin, end = int(frame.row_indptr[item.state]), int(frame.row_indptr[item.state + 1])
            targets = frame.row_targets[begin:end]
            near = self._near_end(set(targets.tolist()), budget)
            fits = np.array([target in near for target in targets.tolist()], np.bool_)
            frame.groups.allow(frame.row_functions[begin:end][fits], words)
            return
        own = budget - self._to_end(item.after)
        if item.left >= 0:
            own = min(own, item.left)
        part = self._parts[item.part]
        if own > 0 and self._weight(part, item.state) <= own:
            words |= self._ask(part, part.mask_within, item.state, own)

    def _near_end(self, states: set[int], budget: int) -> set[int]:
        """Return the frame states from which fewer than ``budget`` tokens reach the end, leaving out those with too many unknown parts."""
        n_weighed = 0
        while True:
            distance = self._known_distances()
            states = {state for state in states if distance[state] < budget}
            unknown = {state: parts for state in states if (parts := self._unknown_parts(state))}
            if not unknown:
                return states
            weighed = sorted(set().union(*unknown.values()))[: _PARTS_WEIGHED - n_weighed]
            if not weighed:
                return states - unknown.keys()
            n_weighed += len(weighed)
            self._weigh(weighed)


@contextmanager
def _reading_parts(parts: Sequence[PartIndex], steps: Steps) -> Iterator["_Readers"]:
    """Yield readers of parts, whose steps count as those of the composition. All are closed at the end, also by an interrupt."""
    with ExitStack() as opened:
        readers = _Readers(parts, opened)
        try:
            yield readers
        finally:
            steps.spent += readers.spent
    try:
        steps.spend(0, _ADVICE)
    except LimitError:
        with placed(readers.place):
            raise


class _Readers:
    """Readers of parts within one call, opened on first use.

    Why all at once: positions are valid while the readers are open.
    """

    def __init__(self, parts: Sequence[PartIndex], opened: ExitStack) -> None:
        self._parts, self._open = parts, opened
        self._readers: dict[tuple[int, int], Reader[Any]] = {}
        self._one_of: dict[int, Reader[Any]] = {}
        # Steps of each part before.
        self._before: dict[int, int] = {}

    @property
    def spent(self) -> int:
        """Steps of the parts so far."""
        return sum(max(_steps_of(self._parts[part]) - before, 0) for part, before in self._before.items())

    @property
    def place(self) -> str:
        """The place within the part that has taken most steps, for errors."""
        most = max(self._before, key=lambda part: _steps_of(self._parts[part]) - self._before[part], default=None)
        return "" if most is None else _place_of(self._parts[most])

    def of(self, part: int) -> Reader[Any]:
        """Return a reader of a part that is being read."""
        return self._one_of[part]

    def start(self, item: Item) -> Any:
        """Return the position of an item."""
        if item.part < 0:
            return item.state
        key = item.part, item.state
        found = self._readers.get(key)
        if found is None:
            index = self._parts[item.part]
            reading: AbstractContextManager[Reader[Any]] = index.reading(item.state)
            found = self._readers[key] = self._open.enter_context(reading)
            if item.part not in self._one_of:
                self._one_of[item.part], self._before[item.part] = found, _steps_of(index)
        return found.start

    def step(self, part: int, at: Any, byte: int) -> Any:
        """Return the position after a byte; None if it is not allowed."""
        return self._one_of[part].step(at, byte)

    def may_end(self, part: int, at: Any) -> bool:
        """Return whether a part may end at a position."""
        return self._one_of[part].may_end(at)

    def state(self, part: int, at: Any, origin: _Origin) -> int:
        """Return the state of a position."""
        return self._readers[part, origin[0]].state(at, origin[1])


def _steps_of(part: PartIndex) -> int:
    """Return the steps of a part's current or last call."""
    return part.automaton.tables.steps.spent if isinstance(part, PushdownIndex) else 0


def _place_of(part: PartIndex) -> str:
    """Return the place of the embedded value that a part's current or last call has reached; may be empty."""
    return part.automaton.tables.place if isinstance(part, PushdownIndex) else ""


@dataclass(frozen=True, eq=False)
class _Walk:
    """A walk over some nodes of a trie and their ancestors, in preorder.

    Attributes
    ----------
    nodes : ndarray[int32], shape (n,)
        The nodes, ascending.
    depth : ndarray[int32], shape (n,)
        Depth of each, 0 for the first.
    byte : ndarray[uint8], shape (n,)
    skip : ndarray[int32], shape (n,)
        For each node, the node of the trie after its subtree.
    targets : ndarray[bool], shape (n,)
        Nodes that may be marked.
    """

    nodes: Int32Array
    depth: Int32Array
    byte: UInt8Array
    skip: Int32Array
    targets: BoolArray

    def __len__(self) -> int:
        return len(self.nodes)

    def within(self, kept: BoolArray) -> "_Walk":
        """Return the walk over some of the nodes, with the ancestors of each."""
        return _Walk(self.nodes[kept], self.depth[kept], self.byte[kept], self.skip[kept], self.targets[kept])

    @cached_property
    def _read(self) -> tuple[memoryview, memoryview, bytes, memoryview, memoryview, dict[int, int], int]:
        """The arrays as they are read, one entry at a time; the position after the subtree of each node that was left; the greatest depth.

        PERF: the first masks of a composition visit few nodes; lists of all took half their time (`python -m benchmarks.compositions`).
        """
        return (
            self.nodes.data, self.depth.data, self.byte.tobytes(), self.targets.data, self.skip.data, {},
            int(self.depth.max(initial=0)),
        )  # fmt: skip

    def run(
        self, start: Any, step: Callable[[Any, int], Any], marks: Callable[[Any], bool]
    ) -> tuple[list[int], list[Any], int]:
        """Return the targets after which a position is marked, these positions, and the number of nodes visited."""
        nodes, depth, byte, targets, skip, behind, most = self._read
        marked: list[int] = []
        positions: list[Any] = []
        stack = [start] * (most + 2)
        i, n, n_read = 0, len(nodes), 0
        while i < n:
            n_read += 1
            after = step(stack[depth[i]], byte[i])
            if after is None:
                left = behind.get(i)
                if left is None:
                    left = behind[i] = bisect_left(nodes, skip[i])
                i = left
                continue
            stack[depth[i] + 1] = after
            if targets[i] and marks(after):
                marked.append(nodes[i])
                positions.append(after)
            i += 1
        return marked, positions, n_read


class _Boundaries:
    """Trie nodes at which tokens may cross a boundary between the frame and a part."""

    def __init__(self, vocabulary: Vocabulary, frame: Automaton, calls: Mapping[int, tuple[Call, ...]]) -> None:
        self._trie = vocabulary.trie
        self._family = vocabulary.derived(_family_of)
        is_calling: BoolArray = np.zeros(frame.n_states, np.bool_)
        is_calling[list(calls)] = True
        table = frame.table
        enters: BoolArray = np.asarray(np.append(is_calling, False)[table].any(axis=0))
        may_call = self._family.is_parent & enters[frame.classes][self._trie.byte]
        self._calling = self._walk_to(may_call)
        self._none = self._calling.within(np.zeros(len(self._calling), np.bool_))
        # States from which the bytes of a token lead to a call. Why unsigned: -1, for none, is far.
        bytes_to_call = np.append(frame.distances(is_calling), np.int32(DEAD)).view(np.uint32)
        self._near = (bytes_to_call[table].min(axis=1) < self._trie.max_depth).tolist()
        # Scratch of `distinct`, all false; None while it is used, and after an interrupt. The caller holds the lock of the index.
        self._marks: BoolArray | None = None
        # Long ones of `ends`; others are those of the vocabulary.
        self._long_ends = Kept[tuple[frozenset[int], bytes | None], _Walk](_WALKS_KEPT)

    def calling(self, state: int) -> _Walk:
        """Return a walk to the nodes after which the frame may call from a state."""
        return self._calling if self._near[state] else self._none

    def ends(self, first: frozenset[int], last: bytes | None) -> _Walk:
        """Return the walk to the nodes after which a part may end, by its last bytes, and what follows it may begin, by its first."""
        found = self._family.ends.get((first, last), self._long_ends.get((first, last)))
        if found is None:
            is_last = np.ones(256, np.bool_)
            if last is not None:
                is_last[:] = False
                is_last[list(last)] = True
            found = self._walk_to(self._are_before(first) & is_last[self._trie.byte])
            kept = self._family.ends if len(found) <= _LONG_WALK else self._long_ends
            kept[first, last] = found
        return found

    def _are_before(self, first: frozenset[int]) -> BoolArray:
        """Return for each node whether one of some bytes follows."""
        is_first = np.zeros(256, np.bool_)
        is_first[list(first)] = True
        found = np.zeros(len(self._trie.byte) + 1, np.bool_)
        found[self._family.parents[is_first[self._trie.byte]]] = True
        return found[:-1]

    def _walk_to(self, targets: BoolArray) -> _Walk:
        """Return the walk over some nodes and their ancestors, which marks only these nodes."""
        trie, parents, kept = self._trie, self._family.parents, targets.copy()
        frontier: Any = np.flatnonzero(kept)
        while len(frontier):
            above = parents[frontier]
            above = above[above >= 0]
            frontier = np.unique(above[~kept[above]])
            kept[frontier] = True
        nodes = np.flatnonzero(kept).astype(np.int32)
        return _Walk(nodes, trie.depth[nodes], trie.byte[nodes], trie.skip[nodes], targets[nodes])

    def are_above(self, nodes: Int32Array, wanted: Int32Array) -> BoolArray:
        """Return for each node whether a wanted token is below it; ``wanted``: as a mask."""
        trie = self._trie
        bits = np.unpackbits(wanted.view(np.uint8), bitorder="little")[trie.token_ids]
        count = np.append(0, np.cumsum(bits, dtype=np.int32))
        return np.asarray(count[trie.token_indptr[trie.skip[nodes]]] > count[trie.token_indptr[nodes + 1]])

    def children(self, nodes: Int32Array) -> Int32Array:
        """Return the children of some nodes."""
        return _gathered(self._family.child_indptr, self._family.children, nodes)

    def parents_in(self, nodes: Int32Array) -> Int32Array:
        """Return those of some nodes that have children."""
        return nodes[self._family.is_parent[nodes]]

    def by_depth(self, nodes: Int32Array) -> Iterator[tuple[int, Int32Array]]:
        """Yield each depth of some nodes, with its nodes."""
        depths = self._trie.depth[nodes]
        for depth in range(int(depths.min()), int(depths.max()) + 1) if len(nodes) else ():
            at = nodes[depths == depth]
            if len(at):
                yield depth, at

    def distinct(self, nodes: list[Int32Array]) -> Int32Array:
        """Return the distinct nodes of some arrays, each without repetitions."""
        if len(nodes) == 1:
            return nodes[0]
        # PERF: `np.unique` sorts; this took half of the time of masks with many readings.
        marks, found = self._marks, list[Int32Array]()
        if marks is None:
            marks = np.zeros(len(self._trie.byte), np.bool_)
        self._marks = None
        for each in nodes:
            each = each[~marks[each]]
            marks[each] = True
            found.append(each)
        distinct = np.concatenate(found)
        marks[distinct] = False
        self._marks = marks
        return distinct

    def bytes_of(self, nodes: Int32Array) -> UInt8Array:
        """Return the last byte of each of some nodes."""
        return self._trie.byte[nodes]

    def tokens_at(self, nodes: Int32Array) -> Int32Array:
        """Return the tokens that end at some nodes."""
        return _gathered(self._trie.token_indptr, self._trie.token_ids, nodes)


def _distinct(pieces: list[Int32Array], size: int) -> Int32Array:
    """Return the distinct tokens of some arrays, ascending."""
    if not pieces:
        return _NOTHING
    found = np.zeros(size, np.bool_)
    for tokens in pieces:
        found[tokens] = True
    return np.flatnonzero(found).astype(np.int32)


def _gathered(indptr: Int32Array, values: Int32Array, rows: Int32Array) -> Int32Array:
    """Return the values of some rows of a CSR."""
    if len(rows) == 1:
        return values[indptr[rows[0]] : indptr[rows[0] + 1]]
    first, count = indptr[rows], indptr[rows + 1] - indptr[rows]
    before = np.cumsum(count) - count
    found: Int32Array = values[np.arange(count.sum()) + np.repeat(first - before, count)]
    return found


class _Family(NamedTuple):
    """Relations of the nodes of a trie.

    Attributes
    ----------
    parents : ndarray[int32], shape (n_nodes,)
        -1 for first bytes.
    is_parent : ndarray[bool], shape (n_nodes,)
        Whether a node has children.
    child_indptr, children : ndarray[int32]
        CSR: the children of each node.
    ends : dict of (frozenset of int, bytes or None) to _Walk
        Short walks of `_Boundaries.ends`, which all indexes of a vocabulary share.
    """

    parents: Int32Array
    is_parent: BoolArray
    child_indptr: Int32Array
    children: Int32Array
    ends: Kept[tuple[frozenset[int], bytes | None], _Walk]


def _family_of(vocabulary: Vocabulary) -> _Family:
    trie = vocabulary.trie
    parents = np.full(len(trie.byte), -1, np.int32)
    levels = [np.flatnonzero(trie.depth == depth).astype(np.int32) for depth in range(trie.max_depth)]
    for above, level in pairwise(levels):
        parents[level] = above[np.searchsorted(above, level) - 1]
    inner = parents >= 0
    children = np.argsort(parents, kind="stable").astype(np.int32)[np.count_nonzero(~inner) :]
    indptr = np.append(0, np.cumsum(np.bincount(parents[inner], minlength=len(trie.byte)))).astype(np.int32)
    is_parent = trie.skip > np.arange(1, len(trie.byte) + 1)
    return _Family(freeze(parents), freeze(is_parent), freeze(indptr), freeze(children), Kept(_WALKS_KEPT))
