"""Budgets of an automaton with a stack: which tokens leave the end of a text within reach.

A text that follows completions (`guided.index.completions`) ends in time, and a mask within a budget is never empty while the bound
is within it: the completion's own next token is in it.

A mask within a budget needs the bound after each token. Most tokens stay in the string, number or key at hand, and lead to one of a few
controls there (`guided.kernels.reach`, once per control); only those that need the stack are read one by one. The largest bound after
any token of a state is kept: where a budget exceeds it, the mask is the state's own, and the answer costs a look-up.

Not here: all that could be allowed. A token may be left out although some shorter text than the completion's follows it; and where the
bound hangs on the very text of an item, all its texts have the largest, and if that is too large only so many tokens are tried.

Complexity: O(tokens) bytes of look-ups in numpy and a read of each token that needs the stack, once per state; then O(1).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from guided.arrays import BoolArray, Int32Array, freeze, mask_words
from guided.automata.pushdown import UNLIMITED
from guided.automata.stacks import Place, Spot, Stacks
from guided.errors import GuidedError
from guided.index.alike import Alike
from guided.index.completions import NEVER, Completions
from guided.index.plans import WalkTrie
from guided.kernels.reach import reach

__all__ = ["Budgets", "Places"]

_MOST_REACHED = 16
_MOST_EVALUATED = 4
# Subtrees of a trie with fewer tokens are read token by token.
_FEW = 8
# Tokens within an item that are tried one by one, of those whose bound is not known.
_MOST_SINGLE = 64


class Places(Protocol):
    """What budgets need of an index."""

    stacks: Stacks
    size: int

    def spot(self, state: int) -> Spot:
        """Where a state stands."""

    def mask(self, state: int) -> Int32Array:
        """The mask of a state."""


class _Reached(NamedTuple):
    """Where tokens lead from a control, as `reach` says it."""

    ends: Int32Array
    counts: Int32Array


class _Evaluated(NamedTuple):
    """The allowed tokens of a state, EOS left out, an upper bound after each, and which of these may be above the bound itself."""

    tokens: Int32Array
    bounds: Int32Array
    is_rough: BoolArray


class Budgets:
    """Bounded masks of one index. The index's lock is held by whoever calls.

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
        self._completions = Completions(places.stacks, tokens, trie)
        self._alike = Alike(places.stacks, self._completions)
        self._reached: dict[int, _Reached] = {}
        self._evaluated: dict[int, _Evaluated] = {}
        self._refinements: dict[int, Int32Array] = {}
        self.peaks: dict[int, int] = {}

    def bound(self, state: int) -> int:
        """The number of tokens of a state's completion: 0 exactly where a text may end.

        Raises
        ------
        GuidedError
            Nothing completes the text: `Pushdown.unending`.
        """
        found = self._completions.bound(self._places.spot(state))
        if found == NEVER:
            raise self._places.stacks.automaton.unending()
        return found

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """The mask of the tokens after which the bound is below ``budget``."""
        mask = self._places.mask(state)
        peak = self.peaks.get(state)
        if peak is None or peak >= budget:
            found = self._evaluate(state)
            peak = self.peaks[state] = int(found.bounds.max(initial=0))
        if peak < budget:
            return mask
        tokens, bounds, is_rough = found
        if (bounds[is_rough] >= budget).any():
            bounds = self._refined(state)
            peak = self.peaks[state] = int(bounds.max())
            if peak < budget:
                return mask
        bits = np.zeros(32 * mask_words(self._places.size), np.bool_)
        bits[tokens[bounds < budget]] = True
        if self._places.stacks.is_end(self._places.spot(state)[0]):
            bits[list(self._eos)] = True
        return freeze(np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False))

    def _evaluate(self, state: int) -> _Evaluated:
        found = self._evaluated.get(state)
        if found is None:
            tokens = self._spelled(state)
            bounds = self._follow(
                self._places.spot(state), tokens, self._bound_or_never, self._most, self._alike.bounds
            )
            found = _Evaluated(tokens, np.abs(bounds), bounds < 0)
            while len(self._evaluated) >= _MOST_EVALUATED:
                del self._evaluated[next(iter(self._evaluated))]
            self._evaluated[state] = found
        return found

    def _most(self, spot: Spot) -> int:
        """The bound after any text of the item at hand; negative where it is an upper bound of theirs."""
        try:
            most, is_exact = self._completions.most(spot)
        except GuidedError:
            return NEVER
        return most if is_exact else -most

    def _bound_or_never(self, spot: Spot) -> int:
        """The bound of a place that some token leads to; NEVER where none is found within the limits, so that others are still allowed."""
        try:
            return self._completions.bound(spot)
        except GuidedError:
            return NEVER

    def _refined(self, state: int) -> Int32Array:
        """Bounds after tokens, as they are for the first of those that have an upper bound only, and for the completion's own next."""
        found = self._refinements.get(state)
        if found is None:
            tokens, bounds, is_rough = self._evaluate(state)
            spot, found = self._places.spot(state), bounds.copy()
            own = self._completions.first(spot)
            some = np.flatnonzero(is_rough)
            mine = [i for i in some.tolist() if self._tokens[tokens[i]] == own]
            for i, bound in self._each(spot, tokens, sorted({*some[:_MOST_SINGLE].tolist(), *mine})):
                found[i] = bound
            while len(self._refinements) >= _MOST_EVALUATED:
                del self._refinements[next(iter(self._refinements))]
            self._refinements[state] = found
        return found

    def _each(self, spot: Spot, tokens: Int32Array, some: list[int]) -> Iterator[tuple[int, int]]:
        """The bound after each of some tokens, which stay on the stack."""
        within: dict[Place, list[tuple[int, bytes]]] = {}
        for i in some:
            after = self._completions.read(spot, self._data(int(tokens[i])))
            key = self._alike.key(after)
            if key is None:
                yield i, self._completions.bound(after)
            else:
                within.setdefault(after[0], []).append((i, key))
        for same in within.values():
            texts = [self._data(int(tokens[i])) for i, _ in same]
            bounds = self._alike.bounds(spot, texts, [key for _, key in same])
            yield from zip([i for i, _ in same], map(abs, bounds), strict=True)

    def different(self, state: int) -> list[int]:
        """Of the allowed tokens of a state one for each place that they lead to, ascending; within an item, for each control."""
        numbers: dict[Spot, int] = {}

        def number(spot: Spot) -> int:
            return numbers.setdefault(spot, len(numbers))

        def each(spot: Spot, texts: Sequence[bytes], keys: Sequence[bytes]) -> list[int]:  # noqa: ARG001 - as `Completions.alike`
            return [number(self._completions.read(spot, text)) for text in texts]

        tokens = self._spelled(state)
        found = self._follow(self._places.spot(state), tokens, number, number, each)
        _, first = np.unique(found, return_index=True)
        return sorted(tokens[first].tolist())

    def _spelled(self, state: int) -> Int32Array:
        """The allowed tokens of a state, EOS left out, ascending."""
        allowed = np.unpackbits(self._places.mask(state).view(np.uint8), bitorder="little")
        allowed[list(self._eos)] = 0
        return np.flatnonzero(allowed).astype(np.int32)

    def _from_root(self, control: int) -> _Reached:
        found = self._reached.get(control)
        if found is None:
            found = self._reach(control, 0, len(self._trie.byte))
            while len(self._reached) >= _MOST_REACHED:
                del self._reached[next(iter(self._reached))]
            self._reached[control] = found
        return found

    def _reach(self, control: int, begin: int, end: int) -> _Reached:
        trie, tables = self._trie, self._places.stacks.automaton.tables
        ends, counts = np.empty(self._places.size, np.int32), np.empty(self._places.size, np.int32)
        path = np.zeros((trie.max_depth + 2, 3), np.int32)
        reach(
            trie.byte, trie.skip, trie.token_indptr, trie.token_ids, begin, end,
            tables.rows, tables.info, control, path, ends, counts,
        )  # fmt: skip
        return _Reached(ends, counts)

    def _follow(
        self,
        start: Spot,
        tokens: Int32Array,
        single: Callable[[Spot], int],
        within: Callable[[Spot], int],
        alike: Callable[[Spot, Sequence[bytes], Sequence[bytes]], Sequence[int]],
    ) -> Int32Array:
        """What ``single`` says of the spot after each allowed token, and ``within`` where the token stays on the stack.

        ``alike`` says it of texts that end a key on a cell that differs, and have the same bytes behind it, with their keys.
        """
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
            if self._places.stacks.top(spot[0][1])[0] in self._places.stacks.automaton.tables.differing:
                is_left = np.ones(len(crossing), np.bool_)
                for (_, behind), mine in self._keys(spot, depth, crossing, nodes).items():
                    texts = [self._data(token)[depth:] for token in crossing[mine].tolist()]
                    keys = [(spot[1][-1] or b"") + text[: len(text) - len(behind)] for text in texts]
                    values[crossing[mine]] = alike(spot, texts, keys)
                    is_left[mine] = False
                crossing, nodes = crossing[is_left], nodes[is_left]
            for node in np.unique(nodes).tolist():
                mine = crossing[nodes == node]
                if len(mine) < _FEW:
                    for token in mine.tolist():
                        values[token] = single(self._completions.read(spot, self._data(token)[depth:]))
                    continue
                length = int(trie.depth[node]) + 1
                after = self._completions.read(spot, self._data(int(mine[0]))[depth:length])
                ending = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[node + 1]]
                values[ending] = single(after)
                deeper = self._reach(after[0][0], node + 1, int(trie.skip[node]))
                todo.append((after, deeper, length, mine[~np.isin(mine, ending)]))
        found: Int32Array = values[tokens]
        return found

    def _keys(
        self, spot: Spot, depth: int, tokens: Int32Array, nodes: Int32Array
    ) -> dict[tuple[int, bytes], list[int]]:
        """Which of some tokens end a key at their node, by the place where its last byte comes and the bytes behind it."""
        rows = self._places.stacks.automaton.tables.rows
        found: dict[tuple[int, bytes], list[int]] = {}
        for node in np.unique(nodes).tolist():
            mine = np.flatnonzero(nodes == node).tolist()
            end = int(self._trie.depth[node]) + 1
            key = self._data(int(tokens[mine[0]]))[depth:end]
            if not self._alike.to_label(spot[0][0], key):
                continue
            control = spot[0][0]
            for byte in key[:-1]:
                control = rows.item(control, byte)
            for i in mine:
                found.setdefault((rows.item(control, key[-1]), self._data(int(tokens[i]))[end:]), []).append(i)
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
            after = (
                (control, node, max(needed - count, 0), left),
                tuple(None if text is None else text + data for text in texts),
            )
            values[key] = within(after)
        found: Int32Array = values[keys]
        return found

    def _data(self, token: int) -> bytes:
        return self._tokens[token] or b""
