"""`PushdownIndex`: allowed tokens of an automaton with a stack, in tables created on demand.

A state is (control, stack, registers), interned to an int; 0 is the start, 1 the state after EOS. Stacks are hash-consed nodes (top cell,
node below), so the size of a state does not depend on the stack depth, and rollback is free. Masks of states, successors by token, and
all entries of the automaton's tables are cached.

Memory: an index that has grown by more than `Limits.growth_bytes` since it was compiled discards its tables and starts over with a new
automaton. It keeps the states and masks that `explore` made, and the state of the current call. A state number is never reused: using one
that was discarded raises `StateEvicted`, and a guide then calls `state_after` with its tokens. So memory is bounded for any texts, and no
text makes another fail.

Invariants: every control and cell that the automaton creates is live, and every byte it reads has a token of its own, so an allowed
token never leads to a dead end. Masks are shared by content, read-only and never change. Equal input gives equal states, numbered by
first use.

Threads: known entries are read without a lock; computing an unknown entry takes the lock of the index. A fork waits for the lock
(`guided.locks`), so the tables of a forked child are consistent.

Complexity: O(1) for a mask or a token seen before in a state. Otherwise a mask costs a walk over the live prefixes of tokens, whose
stack-independent part is done once per control (`guided.index.plans`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import index as as_index
from typing import TypeVar

import numpy as np

from guided.arrays import DEAD, Int32Array, freeze, mask_words
from guided.automata.pushdown import KEPT, Pushdown
from guided.automata.stacks import Configuration, Stacks, TextConfiguration, Texts
from guided.caching import cached_property
from guided.encoding import as_bytes
from guided.errors import GuidedError, LimitError, StateEvicted, placed
from guided.index.pushdown_budget import Budgets
from guided.index.pushdown_masks import MaskMaker, Masks, VocabularyData
from guided.index.reader import Reader
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PushdownIndex", "VocabularyData"]

_Result = TypeVar("_Result")

_FORCED_BATCH = 1000
_BYTES = tuple(bytes([byte]) for byte in range(256))
# A text is read in parts of this many bytes; each part may use all steps of a call.
_PART = 1024
# Measured bytes of memory of a state with its number and origin, and of a known successor.
_PER_STATE, _PER_STEP = 700, 120
# Memory is checked once in this many calls, and at each call if fewer would fill the rest; few calls need this many bytes.
_UNCHECKED_CALLS, _PER_CALL = 16, 1 << 17


class PushdownIndex:
    """Index of a pushdown automaton over a vocabulary.

    Attributes
    ----------
    automaton : Pushdown
    stacks : Stacks
        The stacks created so far.
    size : int
        Width of masks in tokens.

    last_bytes : bytes or None
        Bytes that may end a text; None if unknown.
    last : int
        Largest state number so far.

    ``masks`` builds the masks: by tokens, or by lexemes (`guided.index.lexeme_masks`). ``anew`` creates the automaton again; an index
    without it never evicts.
    """

    initial, final = 0, 1

    def __init__(
        self,
        automaton: Pushdown,
        vocabulary: Vocabulary,
        limits: Limits,
        shared: VocabularyData | None = None,
        n_shared: int = 0,
        masks: type[MaskMaker] = Masks,
        anew: Callable[[], Pushdown] | None = None,
        last_bytes: bytes | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.last_bytes = last_bytes
        self.size = vocabulary.size
        self._tokens = vocabulary.tokens
        self._eos = frozenset(vocabulary.eos)
        self._limits = limits
        self._lock = new_lock(Rank.INDEX)
        self._shared = shared or VocabularyData(vocabulary)
        self._n_shared, self._masks_of = n_shared, masks
        self._anew = anew
        # Whether all calls that filled tables ran to their end.
        self._is_whole = True
        # Origins of the explored states, and their masks.
        self._explored: tuple[dict[int, tuple[int, bytes]], dict[int, Int32Array]] = {}, {}
        self.last = 1
        # Number of states that `explore` keeps: the first ones.
        self.explored = 0
        self._begin(automaton)

    def _begin(self, automaton: Pushdown) -> None:
        """Discard everything but the first two states. Readers without the lock see each table either as it was or empty."""
        start = (automaton.start, 0, *KEPT)
        # Invariant: assigned first, so that no reader resolves an old configuration on the new stacks.
        self._configurations: dict[int, Configuration] = {self.initial: start, self.final: (-1, -1, 0, 0)}
        self.automaton = automaton
        self.stacks = Stacks(automaton)
        self._masker = self._masks_of(self.stacks, self.vocabulary, self._limits, self._shared, self._n_shared)
        self._state_ids: dict[tuple[Configuration, Texts], int] = {(start, ()): self.initial}
        # For each state whose stack has recording cells, the bytes read on top of each.
        self._texts: dict[int, Texts] = {}
        self._n_text_bytes = 0
        # For each state, its predecessor and the bytes read from there.
        self._reached: dict[int, tuple[int, bytes]] = {}
        # Whether any state was reached by more than one token.
        self._has_leaps = False
        self._next: dict[int, int] = {}
        self._ends: dict[int, bool] = {self.final: True}
        self._masks: dict[int, Int32Array] = {self.final: freeze(np.zeros(mask_words(self.size), np.int32))}
        vars(self).pop("_budgets", None)
        self._settled = self.n_bytes
        # Number of calls that may still pass before the memory in use is compared with the budget.
        self._n_unchecked = 0

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory in use for texts, masks included. O(1)."""
        return (
            _PER_STATE * len(self._configurations)
            + _PER_STEP * len(self._next)
            + self._n_text_bytes
            + self.stacks.n_bytes
            + self._masker.n_bytes
            + self.automaton.n_bytes
            + (self._budgets.n_bytes if "_budgets" in vars(self) else 0)
        )

    @cached_property
    def _budgets(self) -> Budgets:
        """Made where a budget is first asked for."""
        return Budgets(self, self._tokens, self._eos, self._masker)

    @contextmanager
    def _filling(self, state: int) -> Iterator[Configuration]:
        """Hold the lock while unknown entries of a state are computed, and yield its configuration.

        The outermost call first makes room if the budget is exceeded.

        Raises
        ------
        StateEvicted
            The state was evicted.
        LimitError
            The state's own text needs more than three quarters of the room.
        """
        is_within: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        with self._lock:
            if is_within:
                yield self.configuration(state)
                return
            try:
                self._begin_call(state)
                yield self.configuration(state)
            except (GuidedError, ValueError):
                self._is_whole = True
                with placed(self.automaton.tables.place):
                    raise
            self._is_whole = True

    def _filled(self, state: int, compute: Callable[..., _Result], *arguments: int) -> _Result:
        """Return ``compute(state, configuration, *arguments)``, called as in a block of `_filling`.

        PERF: a block with a generator costs 2 us more, which every new mask and token would pay (`python -m benchmarks.maskbench`).
        """
        is_within: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        with self._lock:
            if is_within:
                return compute(state, self.configuration(state), *arguments)
            try:
                self._begin_call(state)
                found = compute(state, self._configurations.get(state) or self.configuration(state), *arguments)
            except (GuidedError, ValueError):
                self._is_whole = True
                with placed(self.automaton.tables.place):
                    raise
            self._is_whole = True
            return found

    def _begin_call(self, state: int) -> None:
        """Start an outermost call: make room if needed, and restart the count of steps."""
        # An interrupt or a lack of memory may have left tables incomplete.
        if not self._is_whole and self._anew is not None:
            self._begin_anew(state)
        self._is_whole = False
        # PERF: every new mask and token comes here (`python -m benchmarks.maskbench`).
        self.automaton.tables.steps.spent = 0
        self.automaton.tables.place = ""
        if self._n_unchecked > 0:
            self._n_unchecked -= 1
        elif self._anew is not None:
            left = self._limits.growth_bytes - (self.n_bytes - self._settled)
            if left < 0:
                self._begin_anew(state)
            else:
                # PERF: adding up the sizes takes as long as reading a byte (`python -m benchmarks.maskbench`).
                self._n_unchecked = min(left // _PER_CALL, _UNCHECKED_CALLS)

    def _begin_anew(self, state: int) -> None:
        """Discard everything but the explored states and one state, which keeps its number."""
        assert self._anew is not None
        text = self._text_of(state) if state in self._configurations else None
        self._begin(self._anew())
        self.replay(self._explored[0])
        for explored, mask in self._explored[1].items():
            self.give_mask(explored, mask)
        self._settled = self.n_bytes
        if text is None or state in self._configurations:
            return
        texts: list[bytes | None] = []
        configuration = self._read(self._configurations[self.initial], text, texts)
        assert configuration is not None, "the text was read before"
        self._enter(state, configuration, tuple(texts), (self.initial, text))
        self._has_leaps = True
        # If one text took nearly all of the room, it would be evicted again soon and read over and over.
        needed = 4 * (self.n_bytes - self._settled) // 3
        if needed > self._limits.growth_bytes:
            raise LimitError(
                "growth_bytes", needed, self._limits.growth_bytes, "a single text needs most of this budget"
            )

    def _text_of(self, state: int) -> bytes:
        """Return the bytes that led to a state."""
        pieces: list[bytes] = []
        while state != self.initial:
            state, data = self._reached.get(state, (self.initial, b""))
            pieces.append(data)
        return b"".join(reversed(pieces))

    @property
    def n_states(self) -> int:
        """Number of states kept, including the one after EOS."""
        return len(self._configurations)

    def configuration(self, state: int) -> Configuration:
        """Return control, stack node and registers of a state.

        Raises
        ------
        StateEvicted
            The state was evicted.
        """
        found = self._configurations.get(state)
        if found is None:
            raise StateEvicted(state)
        return found

    def reads(self, token: int) -> bool:
        """Return whether a token has bytes."""
        return token < len(self._tokens) and bool(self._tokens[token])

    def allowed(self, state: int) -> Int32Array:
        """Return the ids of the allowed tokens, ascending: int32."""
        bits = np.unpackbits(self.mask(state).view(np.uint8), bitorder="little")
        return freeze(np.flatnonzero(bits).astype(np.int32))

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as possible, and return (state reached, number of bytes read)."""
        with self._filling(state) as configuration:
            texts = list(self._texts.get(state, ()))
            # Read whole parts first, then the failing part byte by byte.
            count, length = 0, _PART
            while count < len(data):
                self.automaton.tables.steps.begin()
                after = self.stacks.read(configuration, data[count : count + length], texts)
                if after is not None:
                    configuration, count = after, min(count + length, len(data))
                elif length > 1:
                    length = 1
                else:
                    break
            return self._state(configuration, tuple(texts), (state, data[:count])), count

    @contextmanager
    def reading(self, state: int) -> Iterator[Reader[TextConfiguration]]:
        """Yield a reader of single bytes from a state. It holds the lock."""
        stacks = self.stacks

        def step(at: TextConfiguration, byte: int) -> TextConfiguration | None:
            texts = list(at[1])
            after = stacks.read(at[0], _BYTES[byte], texts)
            return None if after is None else (after, tuple(texts))

        with self._filling(state) as configuration:
            # Why again: the call may have begun anew.
            stacks = self.stacks
            yield Reader(
                (configuration, self._texts.get(state, ())),
                step,
                lambda at: stacks.is_end(at[0]),
                lambda at: bool(self._live(at[0][0])),
                lambda at, data: self._state(*at, (state, data)),
            )

    def onward(self, state: int) -> list[int]:
        """Return the bytes allowed in a state, ascending."""
        with self._filling(state) as configuration:
            texts = self._texts.get(state, ())
            live = self._live(configuration[0]) if configuration[0] >= 0 else []
            return [byte for byte in live if self.stacks.read(configuration, bytes([byte]), list(texts)) is not None]

    def forced(self, state: int) -> bytes:
        """Return the longest byte string, up to a thousand bytes, that every continuation of a state begins with."""
        found = bytearray()
        with self._filling(state) as configuration:
            texts = self._texts.get(state, ())
            while len(found) < _FORCED_BATCH and not self.stacks.is_end(configuration):
                step = self._only_step(configuration, texts)
                if step is None:
                    break
                byte, (configuration, texts) = step
                found.append(byte)
        return bytes(found)

    def _only_step(self, configuration: Configuration, texts: Texts) -> tuple[int, TextConfiguration] | None:
        """Return the only allowed byte and the text configuration after it; None if there are several."""
        found = None
        for byte in self._live(configuration[0]):
            read = list(texts)
            after = self.stacks.read(configuration, bytes([byte]), read)
            if after is not None:
                if found is not None:
                    return None
                found = byte, (after, tuple(read))
        return found

    def _live(self, control: int) -> list[int]:
        """Return the bytes that a control allows on some stack."""
        live: list[int] = np.flatnonzero(self.automaton.tables.rows[control] != DEAD).tolist()
        return live

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        found = self._masks.get(state)
        return self._filled(state, self._mask) if found is None else found

    def _mask(self, state: int, configuration: Configuration) -> Int32Array:
        words = self._masker.mask(configuration, self._texts.get(state, ()))
        is_end = self._ends[state] = self.stacks.is_end(configuration)
        if is_end:
            for token in self._eos:
                words[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
        found = self._masker.intern(words)
        if self._masker.room > 0:
            self._masks[state] = found
        return found

    def next(self, state: int, token: int) -> int:
        """Return the state after a token; -1 if it is not allowed."""
        token = as_index(token)  # one of NumPy has too few bits for the key
        key = state << 24 | token if 0 <= token < self.size else -1
        found = self._next.get(key)
        if found is None:
            if key < 0:
                return DEAD
            found = self._filled(state, self._after, token)
        return found

    def _after(self, state: int, start: Configuration, token: int) -> int:
        found, data = DEAD, self._tokens[token] if token < len(self._tokens) else None
        if token in self._eos:
            found = self.final if state != self.final and self._is_end(state, start) else DEAD
        elif data and state != self.final:
            texts = list(self._texts.get(state, ()))
            configuration = self.stacks.read(start, data, texts)
            if configuration is not None:
                found = self._state(configuration, tuple(texts), (state, data))
        self._next[state << 24 | token] = found
        return found

    def _state(self, configuration: Configuration, texts: Texts, how: tuple[int, bytes]) -> int:
        """Return the number of a configuration. ``how``: predecessor state and bytes."""
        found = self._state_ids.get((configuration, texts))
        if found is None:
            if len(self._configurations) >= self._limits.states:
                raise LimitError(
                    "states", len(self._configurations) + 1, self._limits.states, "the index has grown too large"
                )
            self.last += 1
            found = self.last
            self._enter(found, configuration, texts, how)
        return found

    def _enter(self, state: int, configuration: Configuration, texts: Texts, how: tuple[int, bytes]) -> None:
        # Readers without the lock look for a mask first and for the configuration last.
        self._reached[state] = how
        if texts:
            self._texts[state] = texts
            self._n_text_bytes += sum(len(text or b"") for text in texts)
        self._n_text_bytes += len(how[1])
        self._state_ids.setdefault((configuration, texts), state)
        self._configurations[state] = configuration

    def state_after(self, tokens: Sequence[int]) -> int:
        """Return the state after tokens that were read from the start before, evicted or not. O(bytes).

        Raises
        ------
        ValueError
            The tokens are not allowed in this order.
        """
        has_ended = len(tokens) > 0 and tokens[-1] in self._eos
        data = b"".join(self._tokens[token] or b"" for token in (tokens[:-1] if has_ended else tokens))
        with self._filling(self.initial) as start:
            texts: list[bytes | None] = []
            configuration = self._read(start, data, texts)
            if configuration is None:
                raise ValueError("the tokens cannot follow each other")
            state = self._state(configuration, tuple(texts), (self.initial, data))
            self._has_leaps = True
        return self.final if has_ended else state

    def settle(self, n_states: int) -> None:
        """Keep the first states and their masks permanently."""
        reached = dict(islice(self._reached.items(), max(n_states - 2, 0)))
        masks = {state: self._masks.get(state) for state in (self.initial, *reached)}
        self._explored = reached, {state: mask for state, mask in masks.items() if mask is not None}
        self.explored, self._settled = n_states, self.n_bytes

    def explore(self, n_states: int) -> None:
        """Create states and their masks breadth first from the start, until there are ``n_states``.

        On an unused index, equal numbers give equal states. These states are never evicted.
        """
        with self._filling(self.initial):
            if self._has_leaps and self._anew is not None:
                self._begin_anew(self.initial)
            queue, seen = [self.initial], {self.initial}
            for state in queue:
                self.automaton.tables.steps.begin()
                self.mask(state)
                if len(self._configurations) >= n_states:
                    continue
                for token in self._budgets.different(state):
                    after = self.next(state, token)
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
                    if len(self._configurations) >= n_states:
                        break
            self.settle(len(self._configurations))

    @property
    def journal(self) -> dict[int, tuple[int, bytes]]:
        """Origin of each state but the first two: an earlier state, and the bytes read from there."""
        return dict(self._reached)

    def replay(self, journal: Mapping[int, tuple[int, bytes]]) -> None:
        """Create the states of another index of the same automaton, with the same numbers.

        Raises
        ------
        ValueError
            The journal does not belong to this automaton.
        """
        with self._lock:
            for state, (before, data) in journal.items():
                if before not in self._configurations or before == self.final or state in self._configurations:
                    raise ValueError(f"state {state} is not reached by its recorded tokens")
                texts = list(self._texts.get(before, ()))
                configuration = self._read(self._configurations[before], data, texts)
                if configuration is None:
                    raise ValueError(f"state {state} is not reached by its recorded tokens")
                self._enter(state, configuration, tuple(texts), (before, data))
                self.last = max(self.last, state)

    def eos_tokens(self) -> Int32Array:
        """Return the mask of the tokens that end a text."""
        return _mask_of_tokens(self._eos, self.size)

    def readable_tokens(self) -> Int32Array:
        """Return the mask of the tokens that any state may allow: those with bytes and those that end a text."""
        with_bytes = [token for token, data in enumerate(self._tokens) if data]
        return _mask_of_tokens((*with_bytes, *self._eos), self.size)

    def known_mask(self, state: int) -> Int32Array | None:
        """Return the mask of a state if it is cached."""
        return self._masks.get(state)

    def give_mask(self, state: int, mask: Int32Array) -> None:
        """Cache a mask computed elsewhere."""
        self._masks[state] = self._masker.intern(mask)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in this state."""
        found = self._ends.get(state)
        return self._filled(state, self._is_end) if found is None else found

    def _is_end(self, state: int, configuration: Configuration) -> bool:
        found = self._ends.get(state)
        if found is None:
            found = self._ends[state] = self.stacks.is_end(configuration)
        return found

    def remaining(self, state: int) -> int:
        """Return an upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        if state == self.final:
            return 0
        with self._filling(state):
            return self._budgets.bound(state)

    def text_configuration(self, state: int) -> TextConfiguration:
        """Return the configuration of a state, and the bytes read on top of each recording cell."""
        return self.configuration(state), self._texts.get(state, ())

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which `remaining` is below ``budget``; with EOS if the state accepts.

        Returns the state's own mask if the budget excludes no token. Not empty if ``budget`` is at least `remaining`.
        """
        if state == self.final:
            return self.mask(state)
        peak = self._budgets.peaks.get(state)
        if peak is not None and peak < budget:
            return self.mask(state)
        with self._filling(state):
            return self._budgets.mask_within(state, budget)

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text is in the language. O(len(data))."""
        text = as_bytes(data)
        with self._filling(self.initial) as start:
            configuration = self._read(start, text, [])
            return configuration is not None and self.stacks.is_end(configuration)

    def _read(self, configuration: Configuration, data: bytes, texts: list[bytes | None]) -> Configuration | None:
        """Return the configuration after a long text, each part of which may use all steps of a call; None if a byte is not allowed."""
        for begin in range(0, len(data), _PART):
            self.automaton.tables.steps.begin()
            after = self.stacks.read(configuration, data[begin : begin + _PART], texts)
            if after is None:
                return None
            configuration = after
        return configuration


def _mask_of_tokens(tokens: Iterable[int], size: int) -> Int32Array:
    bits = np.zeros(32 * mask_words(size), np.uint8)
    bits[list(tokens)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
