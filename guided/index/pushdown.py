"""`PushdownIndex`: allowed tokens of an automaton with a stack, in tables created on demand.

A state is (control, stack, registers), interned to an int; 0 is the start, 1 the state after EOS. Stacks are hash-consed nodes (top cell,
node below), so the size of a state does not depend on the stack depth, and rollback is free. Masks of states, successors by token, and
all entries of the automaton's tables are kept in one `Cache`.

Memory: an index whose cache has grown by more than `Limits.growth_bytes` since it was compiled drops it, and starts over with a new
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

import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import index as as_index
from typing import TypeVar

import numpy as np

from guided.arrays import DEAD, Int32Array, allow, freeze, tokens_of
from guided.automata.pushdown import KEPT, PER_CONTROL, Pushdown
from guided.automata.stacks import Configuration, Stacks, TextConfiguration, Texts
from guided.encoding import as_bytes
from guided.errors import GuidedError, LimitError, StateEvicted, placed
from guided.index.pushdown_budget import Budgets
from guided.index.pushdown_masks import MaskMaker, Masks, VocabularyData
from guided.index.reader import Reader
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PushdownIndex"]

_Result = TypeVar("_Result")

_FORCED_BATCH = 1000
_BYTES = tuple(bytes([byte]) for byte in range(256))
# A text is read in parts of this many bytes; each part may use all steps of a call.
_PART = 1024
# Measured bytes of memory of a state with its number and origin, and of a known successor.
_PER_STATE, _PER_STEP = 700, 120
# Memory is checked once in this many calls, and at each call if fewer would fill the rest; few calls need this many bytes.
_UNCHECKED_CALLS, _PER_CALL = 16, 1 << 17
# How many times `Limits.growth_bytes` the controls of one call may take: what they belong to is dropped only between calls.
_GROWTH_OF_CALL = 2
_INITIAL, _FINAL = 0, 1


class Cache:
    """All that an index has computed, for states and in the tables of its automaton. An index drops it as a whole.

    Attributes
    ----------
    automaton : Pushdown
    stacks : Stacks
        The stacks created so far.
    masker : MaskMaker
    configurations : dict of int to Configuration
        By state.
    numbers : dict of TextConfiguration to int
        States by configuration.
    texts : dict of int to Texts
        For each state whose stack has recording cells, the bytes read on top of each.
    reached : dict of int to (int, bytes)
        For each state, its predecessor and the bytes read from there.
    next : dict of int to int
        State after a token, by ``state << 24 | token``.
    ends : dict of int to bool
        Whether a text may end in a state.
    masks : dict of int to ndarray[int32]
    budgets : Budgets or None
        None until a budget is asked for.
    has_leaps : bool
        Whether any state was reached by more than one token.
    settled : int
        The part of ``n_bytes`` that does not count as growth.
    """

    def __init__(self, automaton: Pushdown, masker_of: Callable[[Stacks], MaskMaker]) -> None:
        self.automaton = automaton
        self.stacks = Stacks(automaton)
        self.masker = masker_of(self.stacks)
        start = (automaton.start, 0, *KEPT)
        self.configurations: dict[int, Configuration] = {_INITIAL: start, _FINAL: (-1, -1, 0, 0)}
        self.numbers: dict[TextConfiguration, int] = {(start, ()): _INITIAL}
        self.texts: dict[int, Texts] = {}
        self.reached: dict[int, tuple[int, bytes]] = {}
        self.next: dict[int, int] = {}
        self.ends: dict[int, bool] = {_FINAL: True}
        self.masks: dict[int, Int32Array] = {_FINAL: freeze(np.zeros(self.masker.n_words, np.int32))}
        self.budgets: Budgets | None = None
        self.has_leaps = False
        self.settled = self.n_bytes

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory. O(1)."""
        of_states = _PER_STATE * len(self.configurations) + _PER_STEP * len(self.next)
        of_budgets = 0 if self.budgets is None else self.budgets.n_bytes
        return of_states + of_budgets + self.masker.n_bytes + self.automaton.tables.steps.n_bytes

    def configuration(self, state: int) -> Configuration:
        """Return control, stack node and registers of a state.

        Raises
        ------
        StateEvicted
            The state was evicted.
        """
        found = self.configurations.get(state)
        if found is None:
            raise StateEvicted(state)
        return found

    def enter(self, state: int, configuration: TextConfiguration, how: tuple[int, bytes]) -> None:
        """Enter a state. ``how``: predecessor and bytes."""
        # Readers without the lock look for a mask first and for the configuration last.
        self.reached[state] = how
        steps = self.automaton.tables.steps
        if texts := configuration[1]:
            self.texts[state] = texts
            steps.n_bytes += sum(len(text or b"") for text in texts)
        steps.n_bytes += len(how[1])
        self.numbers.setdefault(configuration, state)
        self.configurations[state] = configuration[0]

    def text_of(self, state: int) -> bytes:
        """Return the bytes that led to a state."""
        pieces: list[bytes] = []
        while state != _INITIAL:
            state, data = self.reached.get(state, (_INITIAL, b""))
            pieces.append(data)
        return b"".join(reversed(pieces))


class PushdownIndex:
    """Index of a pushdown automaton over a vocabulary.

    Attributes
    ----------
    size : int
        Width of masks in tokens.
    last_bytes : bytes or None
        Bytes that may end a text; None if unknown.
    last : int
        Largest state number so far.

    Automata of one ``family`` share their first ``n_shared`` controls, and the plans of these. ``masks`` builds the masks: by tokens, or by
    lexemes (`guided.index.lexeme_masks`). ``anew`` creates the automaton again; an index
    without it never evicts.
    """

    initial, final = _INITIAL, _FINAL

    def __init__(
        self,
        automaton: Pushdown,
        vocabulary: Vocabulary,
        limits: Limits,
        family: Hashable = None,
        n_shared: int = 0,
        masks: type[MaskMaker] = Masks,
        anew: Callable[[], Pushdown] | None = None,
        last_bytes: bytes | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.last_bytes = last_bytes
        data = vocabulary.derived(VocabularyData)
        self.size, self._tokens, self._eos = data.size, data.tokens, data.eos
        self._limits = limits
        self._lock = new_lock(Rank.INDEX)
        self._masker_of = lambda stacks: masks(stacks, limits, data, family, n_shared)
        self._anew = anew
        # Whether all calls that filled tables ran to their end.
        self._is_whole = True
        # Origins of the explored states, and their masks.
        self._explored: tuple[dict[int, tuple[int, bytes]], dict[int, Int32Array]] = {}, {}
        self.last = 1
        # Number of states that `explore` keeps: the first ones.
        self.explored = 0
        # Number of calls that may still pass before the memory in use is compared with the budget, and of controls.
        self._n_unchecked = self._most_unchecked = 0
        # Invariant: read once by a call without the lock, so that it sees one cache.
        self._cache = Cache(automaton, self._masker_of)

    @property
    def automaton(self) -> Pushdown:
        """The automaton in use."""
        return self._cache.automaton

    @property
    def stacks(self) -> Stacks:
        """The stacks in use."""
        return self._cache.stacks

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory in use for texts, masks included. O(1)."""
        return self._cache.n_bytes

    @contextmanager
    def _filling(self, state: int) -> Iterator[Cache]:
        """Hold the lock while unknown entries of a state are computed, and yield the cache.

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
                self._cache.configuration(state)
                yield self._cache
                return
            try:
                self._begin_call(state)
                self._cache.configuration(state)
                yield self._cache
            except (GuidedError, ValueError):
                self._is_whole = True
                with placed(self.automaton.tables.place):
                    raise
            self._is_whole = True

    def _filled(self, compute: Callable[..., _Result], state: int, *arguments: int) -> _Result:
        """Return ``compute(cache, state, *arguments)``, called as in a block of `_filling`.

        PERF: a block with a generator costs 2 us more, which every new mask and token would pay (`python -m benchmarks.maskbench`).
        """
        is_within: bool = self._lock._is_owned()  # type: ignore[attr-defined]
        with self._lock:
            if is_within:
                return compute(self._cache, state, *arguments)
            try:
                self._begin_call(state)
                found = compute(self._cache, state, *arguments)
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
        tables = self._cache.automaton.tables
        tables.steps.spent = 0
        tables.place = ""
        if self._n_unchecked > 0 and tables.n_controls <= self._most_unchecked:
            self._n_unchecked -= 1
        elif self._anew is not None:
            left = self._limits.growth_bytes - (self._cache.n_bytes - self._cache.settled)
            if left < 0:
                # Why: nothing that is dropped stays alive.
                del tables
                self._begin_anew(state)
                tables, left = self._cache.automaton.tables, 0
            # PERF: adding up the sizes takes as long as reading a byte (`python -m benchmarks.maskbench`).
            self._n_unchecked = min(left // _PER_CALL, _UNCHECKED_CALLS)
            self._most_unchecked = tables.n_controls + left // PER_CONTROL
            most = _PER_CALL + _GROWTH_OF_CALL * self._limits.growth_bytes
            tables.most = self._most_unchecked + most // PER_CONTROL

    def _begin_anew(self, state: int) -> None:
        """Drop the cache, all but the explored states and one state, which keeps its number."""
        assert self._anew is not None
        text = self._cache.text_of(state) if state in self._cache.configurations else None
        self._n_unchecked = 0
        cache = self._cache = Cache(self._anew(), self._masker_of)
        self.replay(self._explored[0])
        for explored, mask in self._explored[1].items():
            self.give_mask(explored, mask)
        cache.settled = cache.n_bytes
        if text is None or state in cache.configurations:
            return
        texts: list[bytes | None] = []
        configuration = _read(cache, cache.configurations[_INITIAL], text, texts)
        assert configuration is not None, "the text was read before"
        cache.enter(state, (configuration, tuple(texts)), (_INITIAL, text))
        cache.has_leaps = True
        # If one text took nearly all of the room, it would be evicted again soon and read over and over.
        needed = 4 * (cache.n_bytes - cache.settled) // 3
        if needed > self._limits.growth_bytes:
            raise LimitError(
                "growth_bytes", needed, self._limits.growth_bytes, "a single text needs most of this budget"
            )

    @property
    def n_states(self) -> int:
        """Number of states kept, including the one after EOS."""
        return len(self._cache.configurations)

    def configuration(self, state: int) -> Configuration:
        """Return control, stack node and registers of a state. Raises `StateEvicted`."""
        return self._cache.configuration(state)

    def reads(self, token: int) -> bool:
        """Return whether a token has bytes."""
        return token < len(self._tokens) and bool(self._tokens[token])

    def allowed(self, state: int) -> Int32Array:
        """Return the ids of the allowed tokens, ascending: int32."""
        return tokens_of(self.mask(state))

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as possible, and return (state reached, number of bytes read)."""
        with self._filling(state) as cache:
            configuration, texts = cache.configurations[state], list(cache.texts.get(state, ()))
            # Read whole parts first, then the failing part byte by byte.
            count, length = 0, _PART
            while count < len(data):
                cache.automaton.tables.steps.begin()
                after = cache.stacks.read(configuration, data[count : count + length], texts)
                if after is not None:
                    configuration, count = after, min(count + length, len(data))
                elif length > 1:
                    length = 1
                else:
                    break
            return self._state(cache, (configuration, tuple(texts)), (state, data[:count])), count

    @contextmanager
    def reading(self, state: int) -> Iterator[Reader[TextConfiguration]]:
        """Yield a reader of single bytes from a state. It holds the lock."""
        with self._filling(state) as cache:

            def step(at: TextConfiguration, byte: int) -> TextConfiguration | None:
                texts = list(at[1])
                after = cache.stacks.read(at[0], _BYTES[byte], texts)
                return None if after is None else (after, tuple(texts))

            yield Reader(
                self.text_configuration(state),
                step,
                lambda at: cache.stacks.is_end(at[0]),
                lambda at: bool(_live(cache, at[0][0])),
                lambda at, data: self._state(cache, at, (state, data)),
            )

    def onward(self, state: int) -> list[int]:
        """Return the bytes allowed in a state, ascending."""
        with self._filling(state) as cache:
            configuration, texts = self.text_configuration(state)
            live = _live(cache, configuration[0]) if configuration[0] >= 0 else []
            return [byte for byte in live if cache.stacks.read(configuration, _BYTES[byte], list(texts)) is not None]

    def forced(self, state: int) -> bytes:
        """Return the longest byte string, up to a thousand bytes, that every continuation of a state begins with."""
        found = bytearray()
        with self._filling(state) as cache:
            at = self.text_configuration(state)
            while len(found) < _FORCED_BATCH and not cache.stacks.is_end(at[0]):
                step = _only_step(cache, *at)
                if step is None:
                    break
                byte, at = step
                found.append(byte)
        return bytes(found)

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        found = self._cache.masks.get(state)
        return self._filled(self._mask, state) if found is None else found

    def _mask(self, cache: Cache, state: int) -> Int32Array:
        configuration = cache.configurations.get(state) or cache.configuration(state)
        words = cache.masker.mask(configuration, cache.texts.get(state, ()))
        is_end = cache.ends[state] = cache.stacks.is_end(configuration)
        if is_end:
            allow(words, self._eos)
        found = cache.masker.intern(words)
        if cache.masker.room > 0:
            cache.masks[state] = found
        return found

    def next(self, state: int, token: int) -> int:
        """Return the state after a token; -1 if it is not allowed."""
        token = as_index(token)  # one of NumPy has too few bits for the key
        key = state << 24 | token if 0 <= token < self.size else -1
        found = self._cache.next.get(key)
        if found is None:
            found = DEAD if key < 0 else self._known(state, token)
        return self._filled(self._after, state, token) if found is None else found

    def _known(self, state: int, token: int) -> int | None:
        """Return the state after a token where the tables have all that this needs; None where they may not.

        PERF: spends no step and fills nothing, so it needs no more (`python -m benchmarks.maskbench`).
        """
        with self._lock:
            cache = self._cache
            start, data = cache.configurations.get(state), self._tokens[token] if token < len(self._tokens) else None
            # An outer call keeps its count of steps, and one that was interrupted may have left tables incomplete.
            if (
                not self._is_whole
                or self._n_unchecked <= 0
                or start is None
                or len(cache.configurations) >= self._limits.states
            ):
                return None
            if state == self.final or not data or token in self._eos:
                return None
            self._is_whole = False
            self._n_unchecked -= 1
            configuration, found = cache.masker.walk.read(token, start), None
            if configuration is not None:
                found = cache.next[state << 24 | token] = self._state(cache, (configuration, ()), (state, data))
            self._is_whole = True
            return found

    def _after(self, cache: Cache, state: int, token: int) -> int:
        start = cache.configurations.get(state) or cache.configuration(state)
        found, data = DEAD, self._tokens[token] if token < len(self._tokens) else None
        if token in self._eos:
            found = self.final if state != self.final and self._is_end(cache, state) else DEAD
        elif data and state != self.final:
            texts: list[bytes | None] = []
            configuration = cache.masker.walk.read(token, start)
            if configuration is None:
                texts = list(cache.texts.get(state, ()))
                configuration = cache.stacks.read(start, data, texts)
            if configuration is not None:
                found = self._state(cache, (configuration, tuple(texts)), (state, data))
        cache.next[state << 24 | token] = found
        return found

    def _state(self, cache: Cache, configuration: TextConfiguration, how: tuple[int, bytes]) -> int:
        """Return the number of a configuration. ``how``: predecessor state and bytes."""
        found = cache.numbers.get(configuration)
        if found is None:
            if len(cache.configurations) >= self._limits.states:
                raise LimitError(
                    "states", len(cache.configurations) + 1, self._limits.states, "the index has grown too large"
                )
            found = self.last = self.last + 1
            cache.enter(found, configuration, how)
        return found

    def state_after(self, tokens: Sequence[int]) -> int:
        """See `Index`."""
        has_ended = len(tokens) > 0 and tokens[-1] in self._eos
        data = b"".join(self._tokens[token] or b"" for token in (tokens[:-1] if has_ended else tokens))
        with self._filling(self.initial) as cache:
            texts: list[bytes | None] = []
            configuration = _read(cache, cache.configurations[self.initial], data, texts)
            if configuration is None:
                raise ValueError("the tokens cannot follow each other")
            state = self._state(cache, (configuration, tuple(texts)), (self.initial, data))
            cache.has_leaps = True
        return self.final if has_ended else state

    def settle(self, n_states: int) -> None:
        """Keep the first states and their masks permanently."""
        cache = self._cache
        reached = dict(islice(cache.reached.items(), max(n_states - 2, 0)))
        masks = {state: cache.masks.get(state) for state in (self.initial, *reached)}
        self._explored = reached, {state: mask for state, mask in masks.items() if mask is not None}
        self.explored, cache.settled = n_states, cache.n_bytes

    def explore(self, n_states: int) -> None:
        """Create states and their masks breadth first from the start, until there are ``n_states``.

        On an unused index, equal numbers give equal states. These states are never evicted.
        """
        with self._filling(self.initial):
            if self._cache.has_leaps and self._anew is not None:
                self._begin_anew(self.initial)
            cache = self._cache
            queue, seen = [self.initial], {self.initial}
            for state in queue:
                cache.automaton.tables.steps.begin()
                self.mask(state)
                if len(cache.configurations) >= n_states:
                    continue
                for token in self._budgets(cache).different(state):
                    after = self.next(state, token)
                    if after not in seen:
                        seen.add(after)
                        queue.append(after)
                    if len(cache.configurations) >= n_states:
                        break
            self.settle(len(cache.configurations))

    @property
    def journal(self) -> dict[int, tuple[int, bytes]]:
        """Origin of each state but the first two: an earlier state, and the bytes read from there."""
        return dict(self._cache.reached)

    def replay(self, journal: Mapping[int, tuple[int, bytes]]) -> None:
        """Create the states of another index of the same automaton, with the same numbers.

        Raises
        ------
        ValueError
            The journal does not belong to this automaton.
        """
        with self._lock:
            cache = self._cache
            for state, (before, data) in journal.items():
                start = None if before == self.final else cache.configurations.get(before)
                texts = list(cache.texts.get(before, ()))
                configuration = None if start is None else _read(cache, start, data, texts)
                if configuration is None or state in cache.configurations:
                    raise ValueError(f"state {state} is not reached by its recorded tokens")
                cache.enter(state, (configuration, tuple(texts)), (before, data))
                self.last = max(self.last, state)

    def known_mask(self, state: int) -> Int32Array | None:
        """Return the mask of a state if it is cached."""
        return self._cache.masks.get(state)

    def give_mask(self, state: int, mask: Int32Array) -> None:
        """Cache a mask computed elsewhere."""
        self._cache.masks[state] = self._cache.masker.intern(mask)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in this state."""
        found = self._cache.ends.get(state)
        return self._filled(self._is_end, state) if found is None else found

    def _is_end(self, cache: Cache, state: int) -> bool:
        found = cache.ends.get(state)
        if found is None:
            found = cache.ends[state] = cache.stacks.is_end(cache.configuration(state))
        return found

    def _budgets(self, cache: Cache) -> Budgets:
        if cache.budgets is None:
            # Why weak: a cache is in no reference cycle, so dropping it frees its memory at once.
            cache.budgets = Budgets(weakref.proxy(self), self._tokens, self._eos, cache.masker)
        return cache.budgets

    def remaining(self, state: int) -> int:
        """Return an upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        if state == self.final:
            return 0
        with self._filling(state) as cache:
            return self._budgets(cache).bound(state)

    def text_configuration(self, state: int) -> TextConfiguration:
        """Return the configuration of a state, and the bytes read on top of each recording cell."""
        cache = self._cache
        return cache.configuration(state), cache.texts.get(state, ())

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which `remaining` is below ``budget``; with EOS if the state accepts.

        Returns the state's own mask if the budget excludes no token. Not empty if ``budget`` is at least `remaining`.
        """
        if state == self.final:
            return self.mask(state)
        budgets = self._cache.budgets
        peak = None if budgets is None else budgets.peaks.get(state)
        if peak is not None and peak < budget:
            return self.mask(state)
        with self._filling(state) as cache:
            return self._budgets(cache).mask_within(state, budget)

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text is in the language. O(len(data))."""
        text = as_bytes(data)
        with self._filling(self.initial) as cache:
            configuration = _read(cache, cache.configurations[self.initial], text, [])
            return configuration is not None and cache.stacks.is_end(configuration)


def _live(cache: Cache, control: int) -> list[int]:
    """Return the bytes that a control allows on some stack."""
    live: list[int] = np.flatnonzero(cache.automaton.tables.rows[control] != DEAD).tolist()
    return live


def _only_step(cache: Cache, configuration: Configuration, texts: Texts) -> tuple[int, TextConfiguration] | None:
    """Return the only allowed byte and the text configuration after it; None if there are several."""
    found = None
    for byte in _live(cache, configuration[0]):
        read = list(texts)
        after = cache.stacks.read(configuration, _BYTES[byte], read)
        if after is not None:
            if found is not None:
                return None
            found = byte, (after, tuple(read))
    return found


def _read(cache: Cache, configuration: Configuration, data: bytes, texts: list[bytes | None]) -> Configuration | None:
    """Return the configuration after a long text, each part of which may use all steps of a call; None if a byte is not allowed."""
    for begin in range(0, len(data), _PART):
        cache.automaton.tables.steps.begin()
        after = cache.stacks.read(configuration, data[begin : begin + _PART], texts)
        if after is None:
            return None
        configuration = after
    return configuration
