"""Budgets of an automaton with a stack: which tokens leave the end of a text within reach.

A text that follows completions (`guided.index.completions`) ends in time, and a mask within a budget is never empty while the bound
is within it: the completion's own next token is in it.

A mask within a budget needs the bound after each token. Tokens that lead to the same place have the same one, and the places are few
(`guided.index.ends`). The largest bound after any token of a state is kept: where a budget exceeds it, the mask is the state's own, and
the answer costs a look-up.

Not here: all that could be allowed. A token may be left out although some shorter text than the completion's follows it; and where the
bound hangs on the very text of an item, all its texts have the largest, and if that is too large only so many tokens are tried. What one
call computes for completions is bounded: tokens whose completion takes more are left out, but never the completion's own next.

Complexity: a bound for each place that tokens lead to, once per state, and a pass over the mask where the budget is not ample; then O(1).
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.automata.pushdown import ACTION, UNLIMITED
from guided.automata.stacks import Place, Spot, Stacks
from guided.errors import GuidedError, LimitError
from guided.index.alike import Alike
from guided.index.completions import NEVER, Completions
from guided.index.ends import Ends, TokenEnds
from guided.index.pushdown_masks import MaskMaker
from guided.kernels.masks import count_classes, keep_below

__all__ = ["Budgets", "Places"]

_MOST_EVALUATED = 4
# So many tokens that hang on texts are read one by one; of more that end alike, one.
_FEW = 8
# Tokens within an item that are tried one by one, of those whose bound is not known.
_MOST_SINGLE = 64


class Places(Protocol):
    """What budgets need of an index."""

    stacks: Stacks

    def spot(self, state: int) -> Spot:
        """Where a state stands."""

    def mask(self, state: int) -> Int32Array:
        """The mask of a state."""


class _Evaluated(NamedTuple):
    """Where the allowed tokens of a state end, an upper bound of each class, and the classes whose tokens may have smaller ones."""

    ends: Ends
    bounds: Int32Array
    rough: list[int]


class Budgets:
    """Bounded masks of one index. The index's lock is held by whoever calls.

    Parameters
    ----------
    places : Places
    tokens : sequence of (bytes or None)
    eos : set of int
    masker : MaskMaker
        What makes the masks of the index.
    """

    def __init__(
        self, places: Places, tokens: tuple[bytes | None, ...], eos: frozenset[int], masker: MaskMaker
    ) -> None:
        self._places = places
        self._stacks = places.stacks
        self._tokens = tokens
        self._eos = eos
        self._ends = TokenEnds(places.stacks, masker)
        self._completions = Completions(places.stacks, tokens, masker.shared.trie)
        self._alike = Alike(places.stacks, self._completions)
        self._evaluated: dict[int, _Evaluated] = {}
        self._refinements: dict[int, tuple[Int32Array, Int32Array]] = {}
        self.peaks: dict[int, int] = {}

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory are kept for texts."""
        return self._completions.n_bytes

    def bound(self, state: int) -> int:
        """The number of tokens of a state's completion: 0 exactly where a text may end.

        Raises
        ------
        GuidedError
            Nothing completes the text: `Pushdown.unending`.
        LimitError
            Its shortest completion takes too much.
        """
        found = self._completions.bound(self._spot(state))
        if found == NEVER:
            raise self._stacks.automaton.unending()
        return found

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """The mask of the tokens after which the bound is below ``budget``.

        Tokens whose bound takes too many steps are left out, but never the completion's own next token.

        Raises
        ------
        LimitError
            The completion itself takes too many.
        """
        mask = self._places.mask(state)
        peak = self.peaks.get(state)
        if peak is not None and peak < budget:
            return mask
        try:
            words = self._kept(state, mask, budget)
        except LimitError:
            words = self._own(state, mask, budget)
        if words is not mask and self._stacks.is_end(self._places.spot(state)[0]):
            for token in self._eos:
                words[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
        return freeze(words)

    def _kept(self, state: int, mask: Int32Array, budget: int) -> Int32Array:
        """The mask itself, or a new one with those tokens that are kept."""
        peak = self.peaks.get(state)
        found = self._evaluate(state)
        if peak is None:
            peak = self.peaks[state] = int(found.bounds.max())
            if peak < budget:
                return mask
        words: Int32Array = np.empty(len(mask), np.int32)
        peak = self.peaks[state] = keep_below(mask, found.ends.class_of, found.bounds, budget, words)
        if peak >= budget and any(found.bounds.item(number) >= budget for number in found.rough):
            peak = self.peaks[state] = keep_below(mask, *self._refined(state), budget, words)
        return mask if peak < budget else words

    def _own(self, state: int, mask: Int32Array, budget: int) -> Int32Array:
        """A new mask with nothing but the completion's own next token."""
        words = np.zeros_like(mask)
        if 0 < self.bound(state) <= budget:
            own = self._completions.first(self._spot(state))
            for token in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist():
                if token < len(self._tokens) and self._tokens[token] == own:
                    words[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
        return words

    def _spot(self, state: int) -> Spot:
        """Where a state stands, without a maximum of code points: a short completion never comes near one."""
        (control, node, needed, _), texts = self._places.spot(state)
        return (control, node, needed, UNLIMITED), texts

    def _evaluate(self, state: int) -> _Evaluated:
        found = self._evaluated.get(state)
        if found is None:
            # First the completion's own next token: others that take too much are left out, and it must not be.
            self._bound_or_never(self._own_after(state))
            ends = self._ends.of(self._places.spot(state)[0])
            hanging = [i for i, place in enumerate(ends.places) if place and self._stacks.n_recording(place[1])]
            single = set(hanging)
            bounds = [
                0 if place is None or i in single else self._bound_or_never((place, ()))
                for i, place in enumerate(ends.places)
            ]
            rough = self._hanging(state, ends, bounds, hanging) if hanging or ends.deferred else []
            found = _Evaluated(ends, np.array(bounds, np.int32), rough)
            while len(self._evaluated) >= _MOST_EVALUATED:
                del self._evaluated[next(iter(self._evaluated))]
            self._evaluated[state] = found
        return found

    def _hanging(self, state: int, ends: Ends, bounds: list[int], hanging: list[int]) -> list[int]:
        """Enter the bounds of classes that hang on texts, and of tokens that have no class; the classes that have an upper bound only."""
        spot, rough = self._spot(state), list[int]()
        single: dict[int, int] = {}
        first, counts = self._first_of(state, ends)
        for number in hanging:
            if counts.item(number) <= _FEW:
                for token in self._spelled(state, ends, number):
                    single[token] = self._bound_or_never(self._after(spot, token))
                continue
            bound = self._most(self._after(spot, first.item(number)))
            bounds[number] = abs(bound)
            if bound < 0:
                rough.append(number)
        deferred = self._deferred(state, ends)
        single.update(self._bounds_of_deferred(spot, deferred))
        own = self._completions.first(spot)
        mine = [token for token in deferred if self._tokens[token] == own]
        single.update((token, self._bound_or_never(self._own_after(state))) for token in mine)
        numbers: dict[int, int] = {}
        for token, bound in single.items():
            if bound not in numbers:
                numbers[bound] = len(bounds)
                bounds.append(abs(bound))
                if bound < 0:
                    rough.append(numbers[bound])
            ends.class_of[token] = numbers[bound]
        return rough

    def _deferred(self, state: int, ends: Ends) -> list[int]:
        """The allowed tokens that have no class, ascending."""
        mask = self._places.mask(state)
        return [token for token in sorted(set(ends.deferred)) if mask.item(token >> 5) >> (token & 31) & 1]

    def _first_of(self, state: int, ends: Ends) -> tuple[Int32Array, Int32Array]:
        """The first allowed token of each class, and how many there are."""
        ends.class_of[ends.deferred] = 0
        first, counts = np.zeros((2, len(ends.places)), np.int32)
        count_classes(self._places.mask(state), ends.class_of, first, counts)
        return first, counts

    def _spelled(self, state: int, ends: Ends, number: int) -> list[int]:
        """The allowed tokens of a class."""
        tokens = np.flatnonzero(ends.class_of == number)
        allowed: list[int] = tokens[self._places.mask(state)[tokens >> 5] >> (tokens & 31) & 1 > 0].tolist()
        return allowed

    def _own_after(self, state: int) -> Spot:
        """The spot after the first token of a state's completion."""
        spot = self._spot(state)
        return self._completions.read(spot, self._completions.first(spot))

    def _after(self, spot: Spot, token: int) -> Spot:
        return self._completions.read(spot, self._tokens[token] or b"")

    def _most(self, spot: Spot) -> int:
        """The bound after any text of the item at hand; negative where it is an upper bound of theirs, or none is found."""
        try:
            most, is_exact = self._completions.most(spot)
        except GuidedError:
            return -NEVER
        return most if is_exact else -most

    def _bound_or_never(self, spot: Spot) -> int:
        """The bound of a place that some token leads to; NEVER where none is found within the limits, so that others are still allowed."""
        try:
            return self._completions.bound(spot)
        except GuidedError:
            return NEVER

    def _alike_or_never(self, spot: Spot, texts: list[bytes], keys: list[bytes]) -> list[int]:
        """The same of texts that end keys: `Alike.bounds`."""
        try:
            return self._alike.bounds(spot, texts, keys)
        except GuidedError:
            return [NEVER] * len(texts)

    def _refined(self, state: int) -> tuple[Int32Array, Int32Array]:
        """Classes of tokens and their bounds: exact ones for some of the tokens that have an upper bound only.

        These are the first ones, and the completion's own next token.
        """
        found = self._refinements.get(state)
        if found is None:
            ends, before, rough = self._evaluate(state)
            spot, own = self._spot(state), self._completions.first(self._spot(state))
            some = sorted(token for number in rough for token in self._spelled(state, ends, number))
            mine = [token for token in some if self._tokens[token] == own]
            class_of, bounds, numbers = ends.class_of.copy(), before.tolist(), dict[int, int]()
            exact = {token: self._bound_or_never(self._own_after(state)) for token in mine}
            exact.update(self._each(spot, [token for token in some[:_MOST_SINGLE] if token not in exact]))
            for token, bound in exact.items():
                class_of[token] = numbers.setdefault(bound, len(before) + len(numbers))
            found = class_of, np.array([*bounds, *numbers], np.int32)
            while len(self._refinements) >= _MOST_EVALUATED:
                del self._refinements[next(iter(self._refinements))]
            self._refinements[state] = found
        return found

    def _each(self, spot: Spot, tokens: list[int]) -> Iterator[tuple[int, int]]:
        """The bound after each of some tokens."""
        within: dict[Place, list[tuple[int, bytes]]] = {}
        for token in tokens:
            after = self._after(spot, token)
            key = self._alike.key(after)
            if key is None:
                yield token, self._bound_or_never(after)
            else:
                within.setdefault(after[0], []).append((token, key))
        for same in within.values():
            texts = [self._tokens[token] or b"" for token, _ in same]
            bounds = self._alike_or_never(spot, texts, [key for _, key in same])
            yield from zip([token for token, _ in same], map(abs, bounds), strict=True)

    def _bounds_of_deferred(self, spot: Spot, tokens: list[int]) -> Iterator[tuple[int, int]]:
        """The bound after each of some tokens that hang on what was read; negative where it is an upper bound.

        Those that end a key where keys must differ are taken together, if they end it by the same byte and have the same bytes behind it.
        """
        todo = [(spot, [(token, self._tokens[token] or b"") for token in tokens])]
        while todo:
            spot, texts = todo.pop()
            is_of_keys = self._stacks.top(spot[0][1])[0] in self._stacks.automaton.tables.differing
            keys: dict[tuple[int, bytes], list[tuple[int, bytes, int]]] = {}
            groups: dict[bytes, list[tuple[int, bytes]]] = {}
            for token, data in texts:
                length, entry = self._to_action(spot[0][0], data)
                if (
                    is_of_keys
                    and entry <= ACTION
                    and self._stacks.automaton.tables.actions.item(ACTION - entry, 2) >= 0
                ):
                    keys.setdefault((entry, data[length:]), []).append((token, data, length))
                else:
                    groups.setdefault(data[:length], []).append((token, data))
            for same in keys.values():
                read = [(spot[1][-1] or b"") + data[:length] for _, data, length in same]
                bounds = self._alike_or_never(spot, [data for _, data, _ in same], read)
                yield from zip([token for token, *_ in same], bounds, strict=True)
            for begin, some in groups.items():
                if begin and len(some) > _FEW:
                    todo.append(
                        (self._completions.read(spot, begin), [(token, data[len(begin) :]) for token, data in some])
                    )
                else:
                    yield from (
                        (token, self._bound_or_never(self._completions.read(spot, data))) for token, data in some
                    )

    def _to_action(self, control: int, data: bytes) -> tuple[int, int]:
        """How many bytes there are to the first action from a control, that of the action included, and its entry; all without one."""
        rows = self._stacks.automaton.tables.rows
        for count, byte in enumerate(data, 1):
            control = rows.item(control, byte)
            if control < 0:
                return count, control
        return len(data), control

    def different(self, state: int) -> list[int]:
        """Of the allowed tokens of a state one for each place that they lead to, ascending; within an item, for each control."""
        ends, spot = self._ends.of(self._places.spot(state)[0]), self._spot(state)
        first, counts = self._first_of(state, ends)
        found = {self._after(spot, token): token for token in reversed(self._deferred(state, ends))}
        return sorted({*first[counts > 0].tolist(), *found.values()})
