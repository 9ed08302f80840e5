"""`CompositionIndex`: allowed tokens of a recursive transition network (`guided.engine.network`).

The *frame* is a finite automaton with call edges; each *part* has an index of its own. A configuration is an `Item`: a frame state, or a
state of a part with the frame state behind it. A state of this index is a set of items, closed under calls and returns, because a text
may be readable in several ways.

The mask of a state is the union over its items. For one item it consists of

- the tokens that stay in the frame or in the part: the mask of its index, which is cached there; and
- the tokens that cross a boundary: after some prefix a part may begin or end, and the rest of the token is read by what follows. The
  prefixes come from a walk of the trie (`_Boundaries`), and the rests from walks of the subtrees below them.

Budgets add up: the least number of tokens of an item is that of its part, plus that from the frame state behind it. A part with a budget
of its own carries the number of tokens left.

Memory: an index that has grown by more than `Limits.growth_bytes` forgets its states, as `guided.index.pushdown` does; its parts bound
themselves.

Complexity: O(1) for a mask or a token seen before in a state; else the masks of its items, and for tokens that cross a boundary
O(trie nodes that lead to it).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from guided.arrays import BoolArray, Int32Array, freeze, mask_words
from guided.automata.automaton import Automaton
from guided.encoding import as_bytes
from guided.errors import GuidedError, LimitError, StateEvicted, no_completion_found
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
# Measured bytes of memory of a state with one item, of a known successor, and of a further item.
_PER_STATE, _PER_STEP, _PER_ITEM = 700, 120, 120
_NO_TOKENS: Int32Array = freeze(np.zeros(0, np.int32))


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
        self._end_bits = _bits(self._eos, self.size)
        # Rows by class of bytes as lists, because they are read one entry at a time.
        self._classes: list[int] = frame.automaton.classes.tolist()
        self._rows: list[list[int]] = frame.automaton.table.tolist()
        self._boundaries = _Boundaries(vocabulary, frame.automaton, calls)
        # Tokens of parts, as far as they are known, and distances by these.
        self._costs: dict[int, int] = {}
        self._distance: list[int] | None = None
        self._error: GuidedError | None = None
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

    def _begin(self) -> None:
        """Forget everything but the first two states."""
        start = self._closed([Item(-1, 0)])
        self._items: dict[int, tuple[Item, ...]] = {self.initial: start, self.final: ()}
        self._state_ids: dict[tuple[Item, ...], int] = {start: self.initial}
        self._next: dict[int, int] = {}
        self._masks: dict[int, Int32Array] = {self.final: freeze(np.zeros(mask_words(self.size), np.int32))}
        self._crossing_of: dict[Item, Int32Array] = {}
        self._rests: dict[tuple[tuple[Item, ...], int], Int32Array] = {}
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
            if not is_within and self._n_bytes > self._limits.growth_bytes:
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
                raise LimitError("readings", len(seen), self._limits.readings, "the text can be read in too many ways")
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

    def _is_accepting(self, items: Iterable[Item]) -> bool:
        return any(item.part < 0 and self._accepting[item.state] for item in items)

    def _after(self, items: Iterable[Item], data: bytes, *, counts: bool) -> tuple[Item, ...]:
        """Return the items after some bytes. ``counts``: the bytes are one token, which the budgets count."""
        todo = [(item, 0) for item in items]
        seen = set(todo)
        ended: dict[Item, None] = {}
        while todo:
            item, at = todo.pop()
            following: list[tuple[Item, int]] = []
            if item.part < 0:
                state = item.state
                for offset in range(at, len(data)):
                    state = self._rows[state][self._classes[data[offset]]]
                    if state < 0:
                        break
                    if offset + 1 < len(data):
                        following += [(call, offset + 1) for call in self._called(state)]
                else:
                    ended[Item(-1, state)] = None
            else:
                left = item.left - (counts and at == 0 and item.left >= 0)
                part = self._parts[item.part]
                state, ends = _read(part, item.state, data[at:])
                for offset in ends:
                    following += [(one, at + offset) for one in self._closed([Item(-1, item.after)])]
                if state >= 0 and (left < 0 or part.remaining(state) <= left):
                    ended[Item(item.part, state, item.after, left)] = None
            for each in following:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        return self._closed(ended)

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
        words = np.zeros(mask_words(self.size), np.int32)
        for item in items:
            words |= self._own_mask(item)
        words &= ~self._end_bits
        for item in items:
            _allow(words, self._crossing(item))
        if self._is_accepting(items):
            words |= self._end_bits
        return freeze(words)

    def _own_mask(self, item: Item) -> Int32Array:
        """Return the mask of the tokens that stay in the frame or the part of an item; end tokens have no meaning in it."""
        if item.part < 0:
            return self._frame.mask(item.state)
        part = self._parts[item.part]
        return part.mask(item.state) if item.left < 0 else part.mask_within(item.state, item.left)

    def _crossing(self, item: Item) -> Int32Array:
        """Return the tokens that cross a boundary from an item; some may also stay on its side."""
        found = self._crossing_of.get(item)
        if found is None:
            pieces = []
            for node, items in self._crossings(item):
                if items:
                    pieces.append(self._below(items, node))
            found = np.unique(np.concatenate(pieces)).astype(np.int32) if pieces else _NO_TOKENS
            if len(found) and (item.left >= 0 or any(most >= 0 for most in self._budgets)):
                kept = [
                    token for token in found.tolist() if self._after([item], self._tokens[token] or b"", counts=True)
                ]
                found = np.array(kept, np.int32)
            self._crossing_of[item] = found
            self._n_bytes += _PER_ITEM + found.nbytes
        return found

    def _crossings(self, item: Item) -> Iterator[tuple[int, tuple[Item, ...]]]:
        """Yield the trie nodes after which a boundary is crossed, each with the items from there on."""
        if item.part < 0:
            with self._frame.reading(item.state) as reader:
                called = self._boundaries.calls_from(item.state, reader)
            for node, state in called:
                yield node, self._closed(self._called(state))
            return
        behind = self._closed([Item(-1, item.after)])
        last = self._parts[item.part].last_bytes
        walk = self._boundaries.ends_of(item.part, item.after, self._first_bytes(behind), last)
        with _open(self._parts[item.part], item.state) as reader:
            _, nodes, _ = walk.run(reader.start, reader.step, reader.may_end)
        for node in nodes:
            yield node, behind

    def _first_bytes(self, items: Iterable[Item]) -> frozenset[int]:
        """Return the bytes that some items allow."""
        found: set[int] = set()
        for item in items:
            if item.part < 0:
                found.update(self._frame.onward(item.state))
            else:
                found.update(self._parts[item.part].onward(item.state))
        return frozenset(found)

    def _below(self, items: tuple[Item, ...], node: int) -> Int32Array:
        """Return the tokens below a trie node whose rest some items read, unsorted and with repetitions."""
        key = items, node
        found = self._rests.get(key)
        if found is None:
            pieces: list[Int32Array] = []
            todo, seen = [key], {key}
            while todo:
                at, below = todo.pop()
                for item in at:
                    nodes, further = self._walk_below(item, below)
                    pieces.append(self._boundaries.tokens_at(nodes))
                    for each in further:
                        if each not in seen:
                            seen.add(each)
                            todo.append(each)
            found = self._rests[key] = np.concatenate(pieces) if pieces else _NO_TOKENS
            self._n_bytes += _PER_ITEM + found.nbytes
        return found

    def _walk_below(self, item: Item, node: int) -> tuple[list[int], list[tuple[tuple[Item, ...], int]]]:
        """Return the nodes below a node that an item reaches, and where boundaries are crossed again."""
        walk = self._boundaries.subtree(node)
        if item.part < 0:
            with self._frame.reading(item.state) as reader:
                nodes, ending, states = walk.run(reader.start, reader.step, self._calls.__contains__)
            return nodes, [(self._closed(self._called(state)), at) for at, state in zip(ending, states, strict=True)]
        with _open(self._parts[item.part], item.state) as reader:
            nodes, ending, _ = walk.run(reader.start, reader.step, reader.may_end)
        return nodes, [(self._closed([Item(-1, item.after)]), at) for at in ending]

    # Steps

    def next(self, state: int, token: int) -> int:
        """Return the state after a token; -1 if it is not allowed."""
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
        """Return the state after tokens that were read from the start before, evicted or not. O(bytes).

        Raises
        ------
        ValueError
            The tokens are not allowed in this order.
        """
        has_ended = len(tokens) > 0 and tokens[-1] in self._eos
        with self._reading(self.initial) as items:
            for token in tokens[:-1] if has_ended else tokens:
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
            return sorted(self._first_bytes(items))

    def forced(self, state: int) -> bytes:
        """Return the longest byte string, up to a thousand bytes, that every continuation of a state begins with."""
        found = bytearray()
        with self._reading(state) as items:
            while len(found) < _FORCED_BATCH and not self._is_accepting(items):
                onward = self._first_bytes(items)
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
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return freeze(np.flatnonzero(bits).astype(np.int32))

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
            return self._remaining(items)

    def _remaining(self, items: Iterable[Item]) -> int:
        least = min((self._tokens_of(item) for item in items), default=_NEVER)
        if least >= _NEVER:
            raise self._error or no_completion_found()
        return least

    def _tokens_of(self, item: Item) -> int:
        """Return a number of tokens that completes an item; `_NEVER` if none was found."""
        if item.part < 0:
            return self._to_end(item.state)
        try:
            own = self._parts[item.part].remaining(item.state)
        except StateEvicted:
            raise
        except GuidedError as error:
            self._error = error
            return _NEVER
        return min(own + self._to_end(item.after), _NEVER)

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
            try:
                self._costs[part] = index.remaining(index.initial)
            except GuidedError as error:
                self._error, self._costs[part] = error, _NEVER

    def _known_distances(self) -> list[int]:
        if self._distance is None:
            self._distance = self._distances()
        return self._distance

    def _unknown_parts(self, state: int) -> set[int]:
        """Return the parts of unknown number of tokens where a shortest path from a frame state to the end first meets some."""
        # A part's number is computed once a shortest path leads through the part; until then it counts least.
        distance, frame = self._known_distances(), self._frame
        seen: set[int] = set()
        while 0 < distance[state] < _NEVER and state not in seen:
            seen.add(state)
            on_path = [
                call
                for call in self._calls.get(state, ())
                if self._cost(call.part) + distance[call.after] == distance[state]
            ]
            if unknown := {call.part for call in on_path if call.part not in self._costs}:
                return unknown
            onward = [call.after for call in on_path if call.after not in seen]
            targets = frame.row_targets[frame.row_indptr[state] : frame.row_indptr[state + 1]].tolist()
            nearer = (target for target in targets if distance[target] == distance[state] - 1)
            state = next(nearer, onward[0] if onward else state)
        return set()

    def _cost(self, part: int) -> int:
        """Return the number of tokens of a part, or what it takes at least."""
        found = self._costs.get(part)
        if found is None:
            found = int(not self._parts[part].is_accepting(self._parts[part].initial))
        return found

    def _distances(self) -> list[int]:
        """Return the tokens from each frame state to the end, by the costs of parts that are known."""
        frame = self._frame
        distance = np.where(self._accepting, 0, _NEVER).astype(np.int64)
        edges = [(state, self._cost(call.part), call.after) for state, calls in self._calls.items() for call in calls]
        at, cost, after = np.array(edges, np.int64).reshape(-1, 3).T
        indptr, targets = frame.row_indptr, frame.row_targets
        full = np.flatnonzero(np.diff(indptr))
        while True:
            nearer = distance.copy()
            if len(full):
                least = np.minimum.reduceat(distance[targets], indptr[full])
                nearer[full] = np.minimum(nearer[full], least + 1)
            np.minimum.at(nearer, at, cost + distance[after])
            if (nearer >= distance).all():
                found: list[int] = distance.tolist()
                return found
            distance = nearer

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which `remaining` is below ``budget``; with EOS if the state accepts."""
        if state == self.final:
            return self.mask(state)
        with self._reading(state) as items:
            words = np.zeros(mask_words(self.size), np.int32)
            for item in items:
                self._allow_within(item, budget, words)
            words &= ~self._end_bits
            crossing = [self._crossing(item) for item in items]
            for token in np.unique(np.concatenate(crossing)).tolist() if crossing else ():
                if not words[token >> 5] >> (token & 31) & 1:
                    after = self._after(items, self._tokens[token] or b"", counts=True)
                    if after and min(map(self._tokens_of, after)) < budget:
                        words[token >> 5] |= np.uint32(1 << (token & 31)).astype(np.int32)
            if self._is_accepting(items):
                words |= self._end_bits
            return freeze(words)

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
        if own > 0 and self._tokens_of(item) < _NEVER and part.remaining(item.state) <= own:
            words |= part.mask_within(item.state, own)

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


def _open(part: PartIndex, state: int) -> AbstractContextManager[Reader[Any]]:
    """Return a reader of single bytes from a state of a part."""
    return part.reading(state)


def _read(part: PartIndex, state: int, data: bytes) -> tuple[int, list[int]]:
    """Return the state after some bytes, -1 if they are not allowed, and the lengths of their proper prefixes that may end the part."""
    ends: list[int] = []
    # Invariant: no other index is asked while this one holds its lock (`guided.locks`).
    with _open(part, state) as reader:
        at = reader.start
        for length, byte in enumerate(data, 1):
            after = reader.step(at, byte)
            if after is None:
                return -1, ends
            at = after
            if length < len(data) and reader.may_end(at):
                ends.append(length)
        return reader.state(at, data), ends


def _bits(tokens: Iterable[int], size: int) -> Int32Array:
    words = np.zeros(mask_words(size), np.int32)
    _allow(words, np.array(sorted(tokens), np.int32))
    return freeze(words)


def _allow(words: Int32Array, tokens: Int32Array) -> None:
    """Set the bits of some tokens."""
    np.bitwise_or.at(words.view(np.uint32), tokens >> 5, np.uint32(1) << (tokens & 31).astype(np.uint32))


class _Walk:
    """A walk over some nodes of a trie, in preorder.

    Attributes
    ----------
    nodes : list of int
        The nodes, ascending.
    depth : list of int
        Depth of each, 0 for the first.
    byte : bytes
    skip : list of int
        Position of the first node after the subtree.
    """

    __slots__ = ("_byte", "_depth", "_nodes", "_skip", "_targets")

    def __init__(self, nodes: Int32Array, depth: Int32Array, byte: Any, targets: BoolArray | None = None) -> None:
        self._nodes: list[int] = nodes.tolist()
        self._depth: list[int] = depth.tolist()
        self._byte: bytes = byte.tobytes()
        self._skip = _skips(self._depth)
        self._targets: list[bool] | None = None if targets is None else targets.tolist()

    def run(
        self, start: Any, step: Callable[[Any, int], Any], marks: Callable[[Any], bool]
    ) -> tuple[list[int], list[int], list[Any]]:
        """Return the nodes reached; those among them after which a position is marked; and these positions.

        Without targets, nodes that have no further nodes below them are never marked.
        """
        nodes, depth, skip, targets = self._nodes, self._depth, self._skip, self._targets
        reached: list[int] = []
        marked: list[int] = []
        positions: list[Any] = []
        stack = [start] * (max(depth, default=0) + 2)
        i, n = 0, len(nodes)
        while i < n:
            after = step(stack[depth[i]], self._byte[i])
            if after is None:
                i = skip[i]
                continue
            stack[depth[i] + 1] = after
            reached.append(nodes[i])
            if (targets[i] if targets is not None else skip[i] > i + 1) and marks(after):
                marked.append(nodes[i])
                positions.append(after)
            i += 1
        return reached, marked, positions


def _skips(depth: list[int]) -> list[int]:
    """Return for each node in preorder the position after its subtree."""
    found = [len(depth)] * len(depth)
    open_at: list[int] = []
    for i, level in enumerate(depth):
        while open_at and depth[open_at[-1]] >= level:
            found[open_at.pop()] = i
        open_at.append(i)
    return found


class _Boundaries:
    """Trie nodes at which tokens may cross a boundary between the frame and a part."""

    def __init__(self, vocabulary: Vocabulary, frame: Automaton, calls: Mapping[int, tuple[Call, ...]]) -> None:
        self._trie = vocabulary.trie
        self._parents, self._is_parent = _family_of(vocabulary)
        is_calling: BoolArray = np.zeros(frame.n_states, np.bool_)
        is_calling[list(calls)] = True
        self._is_calling = is_calling.tolist()
        table = frame.table
        enters: BoolArray = np.asarray(np.append(is_calling, False)[table].any(axis=0))
        self._calling = self._walk_to(self._is_parent & enters[frame.classes][self._trie.byte])
        self._near = _near(table, is_calling, self._trie.max_depth).tolist()
        self._ends_of: dict[tuple[int, int], _Walk] = {}
        self._subtrees: dict[int, _Walk] = {}

    def calls_from(self, state: int, reader: Reader[int]) -> list[tuple[int, int]]:
        """Return the nodes with children after which the frame may call from a state, each with the frame state there."""
        if not self._near[state]:
            return []
        _, nodes, states = self._calling.run(state, reader.step, self._is_calling.__getitem__)
        return list(zip(nodes, states, strict=True))

    def ends_of(self, part: int, after: int, first: frozenset[int], last: bytes | None) -> "_Walk":
        """Return the walk to the nodes after which a part may end, by its last bytes, and what follows it may begin."""
        found = self._ends_of.get((part, after))
        if found is None:
            trie = self._trie
            is_first, is_last = np.zeros(256, np.bool_), np.ones(256, np.bool_)
            is_first[list(first)] = True
            if last is not None:
                is_last[:] = False
                is_last[list(last)] = True
            targets = np.zeros(trie.n_nodes + 1, np.bool_)
            targets[self._parents[is_first[trie.byte]]] = True
            found = self._ends_of[part, after] = self._walk_to(targets[:-1] & is_last[trie.byte])
        return found

    def _walk_to(self, targets: BoolArray) -> "_Walk":
        """Return the walk over some nodes and their ancestors, which marks only these nodes."""
        trie, kept = self._trie, targets.copy()
        frontier: Any = np.flatnonzero(kept)
        while len(frontier):
            above = self._parents[frontier]
            above = above[above >= 0]
            frontier = above[~kept[above]]
            kept[frontier] = True
        nodes = np.flatnonzero(kept).astype(np.int32)
        return _Walk(nodes, trie.depth[nodes], trie.byte[nodes], targets[nodes])

    def subtree(self, node: int) -> "_Walk":
        """Return the walk over the nodes below a node."""
        found = self._subtrees.get(node)
        if found is None:
            trie = self._trie
            nodes = np.arange(node + 1, trie.skip[node], dtype=np.int32)
            found = self._subtrees[node] = _Walk(nodes, trie.depth[nodes] - trie.depth[node] - 1, trie.byte[nodes])
        return found

    def tokens_at(self, nodes: list[int]) -> Int32Array:
        """Return the tokens that end at some nodes."""
        trie = self._trie
        at = np.array(nodes, np.int64)
        first, count = trie.token_indptr[at], trie.token_indptr[at + 1] - trie.token_indptr[at]
        before = np.cumsum(count) - count
        found: Int32Array = trie.token_ids[np.arange(count.sum()) + np.repeat(first - before, count)]
        return found


@lru_cache(maxsize=16)
def _family_of(vocabulary: Vocabulary) -> tuple[Int32Array, BoolArray]:
    """Return the parent of each node of a trie, -1 for first bytes, and whether it has children."""
    trie = vocabulary.trie
    parents = np.full(trie.n_nodes, -1, np.int32)
    levels = [np.flatnonzero(trie.depth == depth).astype(np.int32) for depth in range(trie.max_depth)]
    for above, level in pairwise(levels):
        parents[level] = above[np.searchsorted(above, level) - 1]
    return freeze(parents), freeze(trie.skip > np.arange(1, trie.n_nodes + 1))


def _near(table: Int32Array, targets: BoolArray, most: int) -> BoolArray:
    """Return the states from which 1 to ``most`` bytes lead to a target."""
    found = np.zeros(len(table), np.bool_)
    for _ in range(most):
        onward = np.append(targets | found, False)
        now: BoolArray = np.asarray(onward[table].any(axis=1))
        if (now == found).all():
            break
        found = now
    return found
