"""Budgets of an automaton with a stack: how many tokens complete a text, and which tokens leave that within reach.

A *completion* of a place is the text that the automaton's policy gives (`Pushdown.way_out`), step by step; the number of its
tokens, by longest match, bounds the least number that completes a text from there. The policy is a function of the place, so the completion
after a token of a completion is its rest, and the bound falls by one: a text that follows completions ends in time, and a mask
within a budget is never empty while the bound is within it.

A mask within a budget needs the bound after each token. Most tokens stay in the string, number or key at hand, and lead to one of a few
controls there (`guided.kernels.reach`, once per control); only those that need the stack are read one by one. The largest bound after
any token of a state is kept: where a budget exceeds it, the mask is the state's own, and the answer costs a look-up.

Not here: the least number itself. A token may be left out although some shorter text than the completion's follows it; and within an
item of an array whose items must differ and that needs more of them, only so many tokens are tried, the completion's among them.

Complexity: O(tokens) bytes of look-ups in numpy and a read of each token that needs the stack, once per state; then O(1).
"""

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from guided.arrays import Int32Array, freeze, mask_words
from guided.automata.pushdown import UNLIMITED, Pushdown
from guided.index.plans import WalkTrie
from guided.index.stacks import Place, Spot
from guided.kernels.reach import reach

__all__ = ["FAR", "Budgets", "Places"]

# The bound of a place whose completion is too long to be written down.
FAR = 1 << 30
_LONGEST = 1 << 16
_MOST_PLACES = 1 << 20
_MOST_REACHED = 16
_MOST_EVALUATED = 4
# Subtrees of a trie with fewer tokens are read token by token.
_FEW = 8
# Tokens within an item that are tried one by one where all items must differ and more must come.
_MOST_SINGLE = 256


class Places(Protocol):
    """What budgets need of an index."""

    automaton: Pushdown
    size: int

    def spot(self, state: int) -> Spot:
        """Where a state stands."""

    def top(self, node: int) -> tuple[int, int]:
        """The top cell of a stack, and the node below."""

    def read(self, place: Place, data: bytes, texts: list[bytes] | None = None) -> Place | None:
        """The place after some bytes; ``texts`` is changed in place."""

    def is_end(self, place: Place) -> bool:
        """May a text end here?"""

    def mask(self, state: int) -> Int32Array:
        """The mask of a state."""


class _Step(NamedTuple):
    """A step of a completion: its text, where it leads, and how long the completion is."""

    text: bytes
    after: Spot
    length: int


class _Reached(NamedTuple):
    """Where tokens lead from a control, as `reach` says it."""

    ends: Int32Array
    counts: Int32Array


class Budgets:
    """Completions and bounded masks of one index. The index's lock is held by whoever calls.

    Parameters
    ----------
    places : Places
    tokens : sequence of (bytes or None)
    eos : set of int
    trie : WalkTrie
    """

    def __init__(self, places: Places, tokens: tuple[bytes | None, ...], eos: frozenset[int], trie: WalkTrie) -> None:
        self._places = places
        self._tokens = tokens
        self._eos = eos
        self._trie = trie
        self._wishes: dict[int, Hashable] = {}
        self._steps: dict[Spot, _Step] = {}
        self._bounds: dict[Spot, int] = {}
        self._by_prefix: dict[bytes, tuple[frozenset[bytes], int]] = {}
        self._reached: dict[int, _Reached] = {}
        self._evaluated: dict[int, tuple[Int32Array, Int32Array]] = {}
        self.peaks: dict[int, int] = {}

    # Completions

    def completion(self, spot: Spot) -> bytes | None:
        """A short text that completes what has been read; None where it is too long to be written down."""
        if self._length(spot) > _LONGEST:
            return None
        return b"".join(step.text for step in self._following(spot))

    def _following(self, spot: Spot) -> Iterator[_Step]:
        while not self._places.is_end(spot[0]):
            step = self._steps[spot]
            yield step
            spot = step.after

    def _length(self, spot: Spot) -> int:
        """The length of a completion; its steps are noted."""
        if len(self._steps) > _MOST_PLACES:
            self._steps.clear()
        path: list[tuple[Spot, bytes, Spot]] = []
        written = length = 0
        while not self._places.is_end(spot[0]):
            known = self._steps.get(spot)
            if known is not None:
                length = known.length
                break
            if written > _LONGEST:
                length = _LONGEST
                break
            control, node, needed, _ = spot[0]
            cell, below = self._places.top(node)
            text = self._places.automaton.way_out(control, cell, self._wish(below), needed)
            assert text, "an end is a place of its own"
            after = self._read(spot, text)
            path.append((spot, text, after))
            written += len(text)
            spot = after
        for spot, text, after in reversed(path):
            length += len(text)
            self._steps[spot] = _Step(text, after, length)
        return length

    def _read(self, spot: Spot, data: bytes) -> Spot:
        place, texts = spot[0], list(spot[1])
        after = self._places.read(place, data, texts)
        assert after is not None, "ways out and allowed tokens can be read"
        return after, tuple(texts)

    def _wish(self, node: int) -> Hashable:
        """What is wished of the value that stands on a stack."""
        path = []
        while node >= 0 and node not in self._wishes:
            cell, below = self._places.top(node)
            path.append((node, cell))
            node = below
        wish = self._wishes[node] if node >= 0 else None
        for above, cell in reversed(path):
            wish = self._wishes[above] = self._places.automaton.wish(cell, wish)
        return wish

    def bound(self, spot: Spot) -> int:
        """Number of tokens of the completion, by longest match: 0 exactly where a text may end.

        O(tokens x longest token) to the first step at whose end a token ends and from where the number is known.
        """
        found = self._bounds.get(spot)
        if found is not None:
            return found
        if len(self._bounds) > _MOST_PLACES:
            self._bounds.clear()
        if self._length(spot) > _LONGEST:
            self._bounds[spot] = FAR
            return FAR
        ahead, following = self._trie.max_depth, self._following(spot)
        text, at, count = b"", 0, 0
        spots = {0: spot}
        passed: list[tuple[Spot, int]] = []
        while True:
            here = spots.get(at)
            if here is not None:
                known = 0 if self._places.is_end(here[0]) else self._bounds.get(here)
                if known is not None:
                    break
                passed.append((here, count))
            while len(text) < at + ahead and (step := next(following, None)) is not None:
                text += step.text
                spots[len(text)] = step.after
            at += self._match(text[at : at + ahead])
            count += 1
        for before, until in passed:
            self._bounds[before] = count - until + known
        return count + known

    def _match(self, text: bytes) -> int:
        """The length of the longest token that a text begins with."""
        if len(text) < 2:
            return 1
        spelled, most = self._tokens_with(text[:2])
        for length in range(min(most, len(text)), 1, -1):
            if text[:length] in spelled:
                return length
        return 1

    def _tokens_with(self, prefix: bytes) -> tuple[frozenset[bytes], int]:
        """The tokens that begin with two bytes, and the length of the longest."""
        found = self._by_prefix.get(prefix)
        if found is None:
            trie, spelled = self._trie, frozenset[bytes]()
            node = int(trie.child[prefix[0] + 1, prefix[1]])
            if node >= 0:
                ids = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]]
                spelled = frozenset(map(self._data, ids.tolist()))
            found = self._by_prefix[prefix] = spelled, max(map(len, spelled), default=1)
        return found

    # Masks

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """The mask of the tokens after which the bound is below ``budget``."""
        mask = self._places.mask(state)
        peak = self.peaks.get(state)
        if peak is None or peak >= budget:
            tokens, bounds = self._evaluate(state)
            peak = self.peaks[state] = int(bounds.max(initial=0))
        if peak < budget:
            return mask
        bits = np.zeros(32 * mask_words(self._places.size), np.bool_)
        bits[tokens[bounds < budget]] = True
        if self._places.is_end(self._places.spot(state)[0]):
            bits[list(self._eos)] = True
        return freeze(np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False))

    def _evaluate(self, state: int) -> tuple[Int32Array, Int32Array]:
        """The allowed tokens of a state, EOS left out, and the bound after each."""
        found = self._evaluated.get(state)
        if found is None:
            spot, tokens = self._places.spot(state), self._spelled(state)
            bounds = self._follow(spot, tokens, self.bound, self._bound_of_any)
            if spot[1]:
                for i in self._tried(spot, tokens, np.flatnonzero(bounds == FAR)):
                    bounds[i] = self.bound(self._read(spot, self._data(int(tokens[i]))))
            found = tokens, bounds
            while len(self._evaluated) >= _MOST_EVALUATED:
                del self._evaluated[next(iter(self._evaluated))]
            self._evaluated[state] = found
        return found

    def _tried(self, spot: Spot, tokens: Int32Array, far: NDArray[np.intp]) -> list[int]:
        """Of tokens within an item those that are read one by one: the completion's own, so that it can go on, and a number of others."""
        following = self._following(spot)
        text = b""
        while len(text) < self._trie.max_depth and (step := next(following, None)) is not None:
            text += step.text
        own = np.isin(tokens[far], self._ids(text[: self._match(text)]))
        return [*far[own].tolist(), *far[~own][:_MOST_SINGLE].tolist()]

    def _ids(self, data: bytes) -> Int32Array:
        """The tokens that are these bytes."""
        trie = self._trie
        node = int(trie.child[0, data[0]])
        for byte in data[1:]:
            end, node = int(trie.skip[node]), node + 1
            while node < end and trie.byte[node] != byte:
                node = int(trie.skip[node])
            if node >= end:
                return trie.token_ids[:0]
        return trie.token_ids[trie.token_indptr[node] : trie.token_indptr[node + 1]]

    def different(self, state: int) -> list[int]:
        """Of the allowed tokens of a state one for each place that they lead to, ascending; within an item, for each control."""
        numbers: dict[Spot, int] = {}

        def number(spot: Spot) -> int:
            return numbers.setdefault(spot, len(numbers))

        tokens = self._spelled(state)
        _, first = np.unique(self._follow(self._places.spot(state), tokens, number, number), return_index=True)
        return sorted(tokens[first].tolist())

    def _spelled(self, state: int) -> Int32Array:
        """The allowed tokens of a state, EOS left out, ascending."""
        allowed = np.unpackbits(self._places.mask(state).view(np.uint8), bitorder="little")
        allowed[list(self._eos)] = 0
        return np.flatnonzero(allowed).astype(np.int32)

    def _bound_of_any(self, spot: Spot) -> int:
        """The bound for any text of the item at hand; FAR where it hangs on that text."""
        bound = self.bound(spot)
        return FAR if spot[1] and not self._is_settled(spot) else bound

    def _from_root(self, control: int) -> _Reached:
        found = self._reached.get(control)
        if found is None:
            found = self._reach(control, 0, len(self._trie.byte))
            while len(self._reached) >= _MOST_REACHED:
                del self._reached[next(iter(self._reached))]
            self._reached[control] = found
        return found

    def _reach(self, control: int, begin: int, end: int) -> _Reached:
        trie, tables = self._trie, self._places.automaton.tables
        ends, counts = np.empty(self._places.size, np.int32), np.empty(self._places.size, np.int32)
        path = np.zeros((trie.max_depth + 2, 3), np.int32)
        reach(
            trie.byte, trie.skip, trie.token_indptr, trie.token_ids, begin, end,
            tables.rows, tables.info, control, path, ends, counts,
        )  # fmt: skip
        return _Reached(ends, counts)

    def _follow(
        self, start: Spot, tokens: Int32Array, single: Callable[[Spot], int], within: Callable[[Spot], int]
    ) -> Int32Array:
        """What ``single`` says of the spot after each allowed token, and ``within`` where the token stays on the stack."""
        trie = self._trie
        values = np.zeros(self._places.size, np.int32)
        todo = [(start, self._from_root(start[0][0]), 0, tokens)] if len(tokens) else []
        while todo:
            spot, reached, depth, some = todo.pop()
            ends = reached.ends[some]
            is_within = ends >= 0
            staying = some[is_within]
            if len(staying):
                counts = reached.counts[staying]
                values[staying] = self._values_within(spot, depth, staying, ends[is_within], counts, within)
            crossing, nodes = some[~is_within], -2 - ends[~is_within]
            for node in np.unique(nodes).tolist():
                mine = crossing[nodes == node]
                if len(mine) < _FEW:
                    for token in mine.tolist():
                        values[token] = single(self._read(spot, self._data(token)[depth:]))
                    continue
                length = int(trie.depth[node]) + 1
                after = self._read(spot, self._data(int(mine[0]))[depth:length])
                ending = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[node + 1]]
                values[ending] = single(after)
                deeper = self._reach(after[0][0], node + 1, int(trie.skip[node]))
                todo.append((after, deeper, length, mine[~np.isin(mine, ending)]))
        found: Int32Array = values[tokens]
        return found

    def _values_within(
        self,
        spot: Spot,
        depth: int,
        tokens: Int32Array,
        ends: Int32Array,
        counts: Int32Array,
        within: Callable[[Spot], int],
    ) -> Int32Array:
        """Tokens that stay on the stack: by the controls that they lead to, and the code points that they read."""
        (_, node, needed, allowed), texts = spot
        if not needed and allowed == UNLIMITED:
            counts = np.zeros_like(counts)
        width = int(counts.max()) + 1
        keys = ends.astype(np.int64) * width + counts
        last = np.full(int(keys.max()) + 1, -1, np.int32)
        last[keys] = tokens
        values = np.zeros(len(last), np.int32)
        for key in np.flatnonzero(last >= 0).tolist():
            control, count = divmod(key, width)
            left = allowed if allowed == UNLIMITED else allowed - count
            data = self._data(int(last[key]))[depth:]
            after = (control, node, max(needed - count, 0), left), tuple(text + data for text in texts)
            values[key] = within(after)
        found: Int32Array = values[keys]
        return found

    def _is_settled(self, spot: Spot) -> bool:
        """Does the completion bring no more items into any array whose items are recorded? Then it does not matter which came before."""
        # Of each array whose item has ended, how much of its text was read with the end.
        ended: dict[int, int] = {}
        before = spot[1]
        for step in self._following(spot):
            after = step.after[1]
            for level, (old, new) in enumerate(zip(before, after, strict=False)):
                if new != old + step.text:
                    ended[level] = len(new)
                    if b"," in new:
                        return False
                elif level in ended and new[ended[level] :].strip():
                    return False
            before = after
        return True

    def _data(self, token: int) -> bytes:
        return self._tokens[token] or b""
