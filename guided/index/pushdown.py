"""`PushdownIndex`: the tokens that may come next where an automaton has a stack; tables made as texts need them.

A state is (control, stack, registers), interned to an int; 0 is the start, 1 is what EOS leads to. Stacks are nodes (top cell, node below),
hash-consed, so a state costs the same however deep it is, and rollback is free. What has been computed is kept: the mask of a state, the
state after a token, and all entries of the automaton's tables.

Memory: an index that has grown by more than `Limits.growth_bytes` since it was compiled discards its tables and starts over with a new
automaton. It keeps the states and masks that `explore` made, and the state of the current call. A state number is never reused: using one
that was discarded raises `StateEvicted`, and a guide then calls `state_after` with its tokens. So memory is bounded for any texts, and no
text makes another fail.

Invariants: every control and cell that the automaton makes is live, and every byte it reads has a token of its own, so an allowed
token never leads to a dead end. Masks are shared by content, read-only, and valid for ever. Same input, same states, in the order
of first use.

Threads: what is known is read without a lock; whoever finds something unknown takes the lock of the index and fills. A fork waits for it
(`guided.locks`), so the tables of a forked child are whole.

Complexity: O(1) for a mask or a token seen before in a state. Else a mask costs a walk over the live prefixes of tokens, of which the part
that does not depend on the stack is done once per control (`guided.index.plans`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import numpy as np

from guided.arrays import DEAD, Int32Array, freeze, mask_words
from guided.automata.pushdown import KEPT, Pushdown
from guided.automata.stacks import Place, Spot, Stacks, Texts
from guided.encoding import as_bytes
from guided.errors import GuidedError, LimitError, StateEvicted
from guided.index.pushdown_budget import Budgets
from guided.index.pushdown_masks import MaskMaker, Masks, Shared
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PushdownIndex", "Shared"]

_MOST_FORCED = 1000
# Bytes of a text that may take the steps of one call.
_PART = 1024
# Bytes of memory, as measured, of a state with its number and how it was reached, and of a known step.
_PER_STATE, _PER_STEP = 700, 120


class PushdownIndex:
    """The index of a pushdown automaton over a vocabulary.

    Attributes
    ----------
    automaton : Pushdown
    stacks : Stacks
        The stacks met so far.
    size : int
        Width of masks in tokens.

    ``masks`` is what makes them: by tokens, or by lexemes (`guided.index.lexeme_masks`). ``anew`` makes the automaton once more; an index
    without it keeps all that it computes.
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
        anew: Callable[[], Pushdown] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.size = vocabulary.size
        self._tokens = vocabulary.tokens
        self._eos = frozenset(vocabulary.eos)
        self._limits = limits
        self._lock = new_lock(Rank.INDEX)
        self._shared = shared or Shared(vocabulary)
        self._n_shared, self._masks_of = n_shared, masks
        self._anew = anew
        # Have all calls that filled tables come to their end?
        self._is_whole = True
        # How the explored states were reached, and their masks.
        self._explored: tuple[dict[int, tuple[int, bytes]], dict[int, Int32Array]] = {}, {}
        # The number of the next state.
        self._free = 2
        # States that `explore` found or made: the first ones.
        self.explored = 0
        self._begin(automaton)

    def _begin(self, automaton: Pushdown) -> None:
        """Keep nothing but the first two states. Readers without the lock see a table as it was or empty."""
        start = (automaton.start, 0, *KEPT)
        # First, so that no place is taken for one on other stacks.
        self._places: dict[int, Place] = {self.initial: start, self.final: (-1, -1, 0, 0)}
        self.automaton = automaton
        self.stacks = Stacks(automaton)
        self._masker = self._masks_of(self.stacks, self.vocabulary, self._limits, self._shared, self._n_shared)
        self._state_ids: dict[tuple[Place, Texts], int] = {(start, ()): self.initial}
        # Of each state on whose stack some cell records, the bytes read on top of each.
        self._texts: dict[int, Texts] = {}
        self._n_text_bytes = 0
        # Of each state, from which other one it was reached, and by which bytes.
        self._reached: dict[int, tuple[int, bytes]] = {}
        # Was any of them reached by more than a token?
        self._has_leaps = False
        self._next: dict[int, int] = {}
        self._ends: dict[int, bool] = {self.final: True}
        self._masks: dict[int, Int32Array] = {self.final: freeze(np.zeros(mask_words(self.size), np.int32))}
        self._budgets = Budgets(self, self._tokens, self._eos, self._masker)
        self._settled = self.n_bytes

    @property
    def n_bytes(self) -> int:
        """About how many bytes of memory are kept for texts, masks included. O(1)."""
        return (
            _PER_STATE * len(self._places)
            + _PER_STEP * len(self._next)
            + self._n_text_bytes
            + self.stacks.n_bytes
            + self._masker.n_bytes
            + self.automaton.n_bytes
            + self._budgets.n_bytes
        )

    @contextmanager
    def _filling(self, state: int) -> Iterator[Place]:
        """Hold the lock while what is unknown about a state is computed; its place.

        First, but not within another such call, room is made.

        Raises
        ------
        StateEvicted
            The state is no longer kept.
        LimitError
            What the state's own text makes known takes more than three quarters of the room.
        """
        is_within: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        with self._lock:
            if is_within:
                yield self.place(state)
                return
            # An interrupt, or a lack of memory, may have left tables half filled.
            if not self._is_whole and self._anew is not None:
                self._begin_anew(state)
            self._is_whole = False
            self.automaton.tables.steps.begin()
            try:
                if self._anew is not None and self.n_bytes - self._settled > self._limits.growth_bytes:
                    self._begin_anew(state)
                yield self.place(state)
            except (GuidedError, ValueError):
                self._is_whole = True
                raise
            self._is_whole = True

    def _begin_anew(self, state: int) -> None:
        """Keep nothing but what was explored, and a state with its number."""
        assert self._anew is not None
        text = self._text_of(state) if state in self._places else None
        self._begin(self._anew())
        self.replay(self._explored[0])
        for explored, mask in self._explored[1].items():
            self.give_mask(explored, mask)
        self._settled = self.n_bytes
        if text is None or state in self._places:
            return
        texts: list[bytes | None] = []
        place = self._read(self._places[self.initial], text, texts)
        assert place is not None, "the text was read before"
        self._enter(state, place, tuple(texts), (self.initial, text))
        self._has_leaps = True
        # Were it nearly all of the room, there would soon be none again, and the text would be read over and over.
        needed = 4 * (self.n_bytes - self._settled) // 3
        if needed > self._limits.growth_bytes:
            raise LimitError("growth_bytes", needed, self._limits.growth_bytes, "one text alone takes too much")

    def _text_of(self, state: int) -> bytes:
        """The bytes that led to a state."""
        pieces: list[bytes] = []
        while state != self.initial:
            state, data = self._reached.get(state, (self.initial, b""))
            pieces.append(data)
        return b"".join(reversed(pieces))

    @property
    def n_states(self) -> int:
        """States that are kept, the one after EOS among them."""
        return len(self._places)

    def place(self, state: int) -> Place:
        """Control, stack node and registers of a state.

        Raises
        ------
        StateEvicted
            It is no longer kept.
        """
        found = self._places.get(state)
        if found is None:
            raise StateEvicted(state)
        return found

    @property
    def last(self) -> int:
        """The largest number of a state so far."""
        return self._free - 1

    def reads(self, token: int) -> bool:
        """Does a token stand for bytes?"""
        return token < len(self._tokens) and bool(self._tokens[token])

    def allowed(self, state: int) -> Int32Array:
        """Ids of the allowed tokens, ascending: int32."""
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return freeze(np.flatnonzero(bits).astype(np.int32))

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as they go: (the state reached, how many were read)."""
        with self._filling(state) as place:
            texts = list(self._texts.get(state, ()))
            # Parts as long as they go, then the bytes of the one that does not.
            count, length = 0, _PART
            while count < len(data):
                self.automaton.tables.steps.begin()
                after = self.stacks.read(place, data[count : count + length], texts)
                if after is not None:
                    place, count = after, min(count + length, len(data))
                elif length > 1:
                    length = 1
                else:
                    break
            return self._state(place, tuple(texts), (state, data[:count])), count

    def onward(self, state: int) -> list[int]:
        """Bytes that may follow a state, ascending."""
        with self._filling(state) as place:
            texts = self._texts.get(state, ())
            live = self._live(place[0]) if place[0] >= 0 else []
            return [byte for byte in live if self.stacks.read(place, bytes([byte]), list(texts)) is not None]

    def forced(self, state: int) -> bytes:
        """The longest byte string, up to a thousand, that every continuation of a state begins with."""
        found = bytearray()
        with self._filling(state) as place:
            texts = self._texts.get(state, ())
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
        found = self._masks.get(state)
        if found is None:
            with self._filling(state) as place:
                found = self._masker.mask(place, self._texts.get(state, ()))
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
            with self._filling(state) as place:
                found = self._next[key] = self._step(state, place, token)
        return found

    def _step(self, state: int, start: Place, token: int) -> int:
        if state == self.final:
            return DEAD
        if token in self._eos:
            return self.final if self.is_accepting(state) else DEAD
        data = self._tokens[token] if token < len(self._tokens) else None
        texts = list(self._texts.get(state, ()))
        place = self.stacks.read(start, data, texts) if data else None
        return DEAD if place is None else self._state(place, tuple(texts), (state, data or b""))

    def _state(self, place: Place, texts: Texts, how: tuple[int, bytes]) -> int:
        """The number of a place. ``how``: from which state by which bytes."""
        found = self._state_ids.get((place, texts))
        if found is None:
            if len(self._places) >= self._limits.states:
                raise LimitError("states", len(self._places) + 1, self._limits.states, "the index has grown too large")
            found, self._free = self._free, self._free + 1
            self._enter(found, place, texts, how)
        return found

    def _enter(self, state: int, place: Place, texts: Texts, how: tuple[int, bytes]) -> None:
        # Readers without the lock look for a mask first, and for the place last.
        self._reached[state] = how
        if texts:
            self._texts[state] = texts
            self._n_text_bytes += sum(len(text or b"") for text in texts)
        self._n_text_bytes += len(how[1])
        self._state_ids.setdefault((place, texts), state)
        self._places[state] = place

    def state_after(self, tokens: Sequence[int]) -> int:
        """The state after tokens that were read from the start before, whether it is still kept or not. O(bytes).

        Raises
        ------
        ValueError
            They cannot follow each other.
        """
        has_ended = len(tokens) > 0 and tokens[-1] in self._eos
        data = b"".join(self._tokens[token] or b"" for token in (tokens[:-1] if has_ended else tokens))
        with self._filling(self.initial) as start:
            texts: list[bytes | None] = []
            place = self._read(start, data, texts)
            if place is None:
                raise ValueError("the tokens cannot follow each other")
            state = self._state(place, tuple(texts), (self.initial, data))
            self._has_leaps = True
        return self.final if has_ended else state

    def settle(self, n_states: int) -> None:
        """Keep the first states for good, and their masks."""
        reached = dict(islice(self._reached.items(), max(n_states - 2, 0)))
        masks = {state: self._masks.get(state) for state in (self.initial, *reached)}
        self._explored = reached, {state: mask for state, mask in masks.items() if mask is not None}
        self.explored, self._settled = n_states, self.n_bytes

    def explore(self, n_states: int) -> None:
        """Make states and their masks breadth first, from the start, until there are so many states.

        On an index that was not used before, the same number gives the same states. They stay for good.
        """
        with self._filling(self.initial):
            if self._has_leaps and self._anew is not None:
                self._begin_anew(self.initial)
            queue, seen = [self.initial], {self.initial}
            for state in queue:
                self.automaton.tables.steps.begin()
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
            self.settle(len(self._places))

    @property
    def journal(self) -> dict[int, tuple[int, bytes]]:
        """How each state but the first two was reached: from which other one, which comes before it, by which bytes."""
        return dict(self._reached)

    def replay(self, journal: Mapping[int, tuple[int, bytes]]) -> None:
        """Make the states of another index of the same automaton, with the same numbers.

        Raises
        ------
        ValueError
            The journal is none of this automaton.
        """
        with self._lock:
            for state, (before, data) in journal.items():
                if before not in self._places or before == self.final or state in self._places:
                    raise ValueError(f"state {state} cannot be reached as it is said")
                texts = list(self._texts.get(before, ()))
                place = self._read(self._places[before], data, texts)
                if place is None:
                    raise ValueError(f"state {state} cannot be reached as it is said")
                self._enter(state, place, tuple(texts), (before, data))
                self._free = max(self._free, state + 1)

    def eos_tokens(self) -> Int32Array:
        """The mask of the tokens that end a text."""
        return _mask_of_tokens(self._eos, self.size)

    def readable_tokens(self) -> Int32Array:
        """The mask of the tokens that some state may allow: those with bytes, and those that end a text."""
        with_bytes = [token for token, data in enumerate(self._tokens) if data]
        return _mask_of_tokens((*with_bytes, *self._eos), self.size)

    def known_mask(self, state: int) -> Int32Array | None:
        """The mask of a state, if it has been made."""
        return self._masks.get(state)

    def give_mask(self, state: int, mask: Int32Array) -> None:
        """Enter a mask that is known from elsewhere."""
        self._masks[state] = self._masker.intern(mask)

    def is_accepting(self, state: int) -> bool:
        """May a text end in this state?"""
        found = self._ends.get(state)
        if found is None:
            with self._filling(state) as place:
                found = self._ends[state] = self.stacks.is_end(place)
        return found

    def remaining(self, state: int) -> int:
        """An upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        if state == self.final:
            return 0
        with self._filling(state):
            return self._budgets.bound(state)

    def spot(self, state: int) -> Spot:
        """The place of a state, and what was read on top of each cell that records."""
        return self.place(state), self._texts.get(state, ())

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """The mask of tokens after which `remaining` is below ``budget``; EOS where the state accepts.

        The state's own mask where the budget is ample. Not empty if ``budget`` is at least `remaining`.
        """
        if state == self.final:
            return self.mask(state)
        peak = self._budgets.peaks.get(state)
        if peak is not None and peak < budget:
            return self.mask(state)
        with self._filling(state):
            return self._budgets.mask_within(state, budget)

    def accepts(self, data: str | bytes) -> bool:
        """Is a whole text in the language? O(len(data))."""
        text = as_bytes(data)
        with self._filling(self.initial) as start:
            place = self._read(start, text, [])
            return place is not None and self.stacks.is_end(place)

    def _read(self, place: Place, data: bytes, texts: list[bytes | None]) -> Place | None:
        """The place after a long text, each part of which may take the steps of a call; None where it cannot come."""
        for begin in range(0, len(data), _PART):
            self.automaton.tables.steps.begin()
            after = self.stacks.read(place, data[begin : begin + _PART], texts)
            if after is None:
                return None
            place = after
        return place


def _mask_of_tokens(tokens: Iterable[int], size: int) -> Int32Array:
    bits = np.zeros(32 * mask_words(size), np.uint8)
    bits[list(tokens)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
