"""`PushdownIndex`: the tokens that may come next where an automaton has a stack; tables made as texts need them.

A state is (control, stack, registers), interned to an int; 0 is the start, 1 is what EOS leads to. Stacks are nodes (top cell, node below),
hash-consed, so a state costs the same however deep it is, and rollback is free. What has been computed stays: the mask of a state, the
state after a token, and all entries of the automaton's tables.

Invariants: every control and cell that the automaton makes is live, and every byte it reads has a token of its own, so an allowed
token never leads to a dead end. Masks are shared by content, read-only, and valid for ever. Same input, same states, in the order
of first use.

Threads: what is known is read without a lock; whoever finds something unknown takes the lock of the index and fills. A fork waits for it
(`guided.locks`), so the tables of a forked child are whole.

Complexity: O(1) for a mask or a token seen before in a state. Else a mask costs a walk over the live prefixes of tokens, of which the part
that does not depend on the stack is done once per control (`guided.index.plans`).
"""

from collections.abc import Iterable

import numpy as np

from guided.arrays import DEAD, Int32Array, freeze, mask_words
from guided.automata.pushdown import KEPT, Pushdown
from guided.automata.stacks import Place, Spot, Stacks, Texts
from guided.encoding import as_bytes
from guided.errors import LimitError
from guided.index.pushdown_budget import Budgets
from guided.index.pushdown_masks import MaskMaker, Masks, Shared
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PushdownIndex", "Shared"]

_MOST_FORCED = 1000


class PushdownIndex:
    """The index of a pushdown automaton over a vocabulary.

    Attributes
    ----------
    automaton : Pushdown
    stacks : Stacks
        The stacks met so far.
    size : int
        Width of masks in tokens.

    ``masks`` is what makes them: by tokens, or by lexemes (`guided.index.lexeme_masks`).
    """

    initial, final = 0, 1

    def __init__(
        self,
        automaton: Pushdown,
        vocabulary: Vocabulary,
        limits: Limits,
        shared: Shared | None = None,
        n_shared: int = 0,
        masks: type[MaskMaker] = Masks,
    ) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self.size = vocabulary.size
        self._tokens = vocabulary.tokens
        self._eos = frozenset(vocabulary.eos)
        self._limits = limits
        self._lock = new_lock(Rank.INDEX)
        self.stacks = Stacks(automaton)
        self._masker = masks(self.stacks, vocabulary, limits, shared or Shared(vocabulary), n_shared)
        self._next: dict[int, int] = {}
        # Of each state on whose stack some cell records, the bytes read on top of each.
        self._texts: dict[int, Texts] = {}
        self._journal: list[tuple[int, bytes]] = []
        # States that `explore` found or made.
        self.explored = 0
        start = (automaton.start, 0, *KEPT)
        self._places: list[Place] = [start, (-1, -1, 0, 0)]
        self._state_ids: dict[tuple[Place, Texts], int] = {(start, ()): 0}
        self._masks: list[Int32Array | None] = [None, freeze(np.zeros(mask_words(self.size), np.int32))]
        self._budgets = Budgets(self, self._tokens, self._eos, self._masker.shared.trie)

    @property
    def n_states(self) -> int:
        """States made so far, the one after EOS among them."""
        return len(self._places)

    def place(self, state: int) -> Place:
        """Control, stack node and registers of a state."""
        return self._places[state]

    @property
    def last(self) -> int:
        """The largest number of a state."""
        return len(self._places) - 1

    def reads(self, token: int) -> bool:
        """Does a token stand for bytes?"""
        return token < len(self._tokens) and bool(self._tokens[token])

    def allowed(self, state: int) -> Int32Array:
        """Ids of the allowed tokens, ascending: int32."""
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return freeze(np.flatnonzero(bits).astype(np.int32))

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as they go: (the state reached, how many were read)."""
        with self._lock:
            place, texts = self._places[state], list(self._texts.get(state, ()))
            for count, byte in enumerate(data):
                before = tuple(texts)
                after = self.stacks.read(place, bytes([byte]), texts)
                if after is None:
                    return self._state(place, before, (state, data[:count])), count
                place = after
            return self._state(place, tuple(texts), (state, data)), len(data)

    def onward(self, state: int) -> list[int]:
        """Bytes that may follow a state, ascending."""
        with self._lock:
            place, texts = self._places[state], self._texts.get(state, ())
            live = self._live(place[0]) if place[0] >= 0 else []
            return [byte for byte in live if self.stacks.read(place, bytes([byte]), list(texts)) is not None]

    def forced(self, state: int) -> bytes:
        """The longest byte string, up to a thousand, that every continuation of a state begins with."""
        found = bytearray()
        with self._lock:
            place, texts = self.spot(state)
            while len(found) < _MOST_FORCED and not self.stacks.is_end(place):
                step = self._only_step(place, texts)
                if step is None:
                    break
                byte, (place, texts) = step
                found.append(byte)
        return bytes(found)

    def _only_step(self, place: Place, texts: Texts) -> tuple[int, Spot] | None:
        """The only byte that may follow, and where it leads; None where there are several."""
        found = None
        for byte in self._live(place[0]):
            read = list(texts)
            after = self.stacks.read(place, bytes([byte]), read)
            if after is not None:
                if found is not None:
                    return None
                found = byte, (after, tuple(read))
        return found

    def _live(self, control: int) -> list[int]:
        """Bytes that may follow a control on some stack."""
        live: list[int] = np.flatnonzero(self.automaton.tables.rows[control] != DEAD).tolist()
        return live

    def mask(self, state: int) -> Int32Array:
        """The shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        found = self._masks[state]
        if found is None:
            with self._lock:
                found = self._masker.mask(self._places[state], self._texts.get(state, ()))
                if self.is_accepting(state):
                    found = found.copy()
                    for token in self._eos:
                        found[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
                found = self._masker.intern(found)
                if self._masker.room > 0:
                    self._masks[state] = found
        return found

    def next(self, state: int, token: int) -> int:
        """The state after a token; -1 where it is not allowed."""
        key = state << 24 | token if 0 <= token < self.size else -1
        found = self._next.get(key)
        if found is None:
            if key < 0:
                return DEAD
            with self._lock:
                found = self._next[key] = self._step(state, token)
        return found

    def _step(self, state: int, token: int) -> int:
        if state == self.final:
            return DEAD
        if token in self._eos:
            return self.final if self.is_accepting(state) else DEAD
        data = self._tokens[token] if token < len(self._tokens) else None
        texts = list(self._texts.get(state, ()))
        place = self.stacks.read(self._places[state], data, texts) if data else None
        return DEAD if place is None else self._state(place, tuple(texts), (state, data or b""))

    def _state(self, place: Place, texts: Texts, how: tuple[int, bytes]) -> int:
        """The number of a place. ``how``: from which state by which bytes."""
        found = self._state_ids.get((place, texts))
        if found is None:
            found = len(self._places)
            if found >= self._limits.states:
                raise LimitError("states", found + 1, self._limits.states, "the index has grown too large")
            self._places.append(place)
            self._masks.append(None)
            self._state_ids[place, texts] = found
            if texts:
                self._texts[found] = texts
            self._journal.append(how)
        return found

    def explore(self, n_states: int) -> None:
        """Make states and their masks breadth first, from the start, until there are so many states.

        On an index that was not used before, the same number gives the same states.
        """
        with self._lock:
            queue, seen = [self.initial], {self.initial}
            for state in queue:
                self.mask(state)
                if len(self._places) >= n_states:
                    continue
                for token in self._budgets.different(state):
                    after = self.next(state, token)
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
                    if len(self._places) >= n_states:
                        break
            self.explored = len(self._places)

    @property
    def journal(self) -> tuple[tuple[int, bytes], ...]:
        """How the states from the third on came to be: from which state, by which bytes."""
        return tuple(self._journal)

    def replay(self, journal: Iterable[tuple[int, bytes]]) -> None:
        """Make the states of another index of the same automaton, with the same numbers.

        Raises
        ------
        ValueError
            The journal is none of this automaton.
        """
        for state, data in journal:
            expected = len(self._places)
            if state >= expected or state == self.final or self.trace(state, data) != (expected, len(data)):
                raise ValueError(f"state {expected} cannot be reached as it is said")

    def eos_tokens(self) -> Int32Array:
        """The mask of the tokens that end a text."""
        return _mask_of_tokens(self._eos, self.size)

    def readable_tokens(self) -> Int32Array:
        """The mask of the tokens that some state may allow: those with bytes, and those that end a text."""
        with_bytes = [token for token, data in enumerate(self._tokens) if data]
        return _mask_of_tokens((*with_bytes, *self._eos), self.size)

    def known_mask(self, state: int) -> Int32Array | None:
        """The mask of a state, if it has been made."""
        return self._masks[state]

    def give_mask(self, state: int, mask: Int32Array) -> None:
        """Enter a mask that is known from elsewhere."""
        self._masks[state] = self._masker.intern(mask)

    def is_accepting(self, state: int) -> bool:
        """May a text end in this state?"""
        return state == self.final or self.stacks.is_end(self._places[state])

    def remaining(self, state: int) -> int:
        """An upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        with self._lock:
            return 0 if state == self.final else self._budgets.bound(state)

    def spot(self, state: int) -> Spot:
        """The place of a state, and what was read on top of each cell that records."""
        return self._places[state], self._texts.get(state, ())

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """The mask of tokens after which `remaining` is below ``budget``; EOS where the state accepts.

        The state's own mask where the budget is ample. Not empty if ``budget`` is at least `remaining`.
        """
        if state == self.final:
            return self.mask(state)
        peak = self._budgets.peaks.get(state)
        if peak is not None and peak < budget:
            return self.mask(state)
        with self._lock:
            return self._budgets.mask_within(state, budget)

    def accepts(self, data: str | bytes) -> bool:
        """Is a whole text in the language? O(len(data))."""
        with self._lock:
            place = self.stacks.read(self._places[0], as_bytes(data), [])
            return place is not None and self.stacks.is_end(place)


def _mask_of_tokens(tokens: Iterable[int], size: int) -> Int32Array:
    bits = np.zeros(32 * mask_words(size), np.uint8)
    bits[list(tokens)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
