"""`PushdownIndex`: the tokens that may come next where an automaton has a stack; tables made as texts need them.

A state is (control, stack, registers), interned to an int; 0 is the start, 1 is what EOS leads to. Stacks are nodes (top cell, node below),
hash-consed, so a state costs the same however deep it is, and rollback is free. What has been computed stays: the mask of a state, the
state after a token, and all entries of the automaton's tables.

Invariants: every control and cell that the automaton makes is live, and every byte it reads has a token of its own, so an allowed
token never leads to a dead end. Masks are shared by content, read-only, and valid for ever. Same input, same states, in the order
of first use.

Threads: what is known is read without a lock; whoever finds something unknown takes the lock of the index and fills.

Complexity: O(1) for a mask or a token seen before in a state. Else a mask costs a walk over the live prefixes of tokens, of which the part
that does not depend on the stack is done once per control (`guided.index.plans`).
"""

from collections.abc import Hashable
from threading import RLock

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, freeze, mask_words
from guided.automata.pushdown import (
    ACTION,
    COUNTS,
    DEFERRED,
    END_ACTION,
    GUARD,
    KEPT,
    NEEDS,
    PLAN,
    UNLIMITED,
    WIDTH,
    Pushdown,
)
from guided.errors import LimitError
from guided.index.plans import Plan, WalkTrie, plan_of, walk_trie
from guided.index.pushdown_budget import Budgets, Place, Spot, Texts
from guided.kernels import pushdown as kernel
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PushdownIndex", "Shared"]

_MOST_FORCED = 1000
# About 20 kB each.
_MOST_PLANS = 2000


class Shared:
    """What all indices over one vocabulary share: its trie as the kernel takes it, and the plans of common controls.

    Attributes
    ----------
    trie : WalkTrie
    plans : dict of hashable to Plan
        By control, for the controls that all automata of one family have in common, or by what the automaton calls it.
    """

    __slots__ = ("counts", "escapes", "lock", "plans", "trie", "vocabulary")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.trie: WalkTrie = walk_trie(vocabulary.trie)
        self.plans: dict[Hashable, Plan] = {}
        # Room for a plan that is being made.
        self.lock = RLock()
        self.counts: Int32Array = np.zeros(vocabulary.size, np.int32)
        self.escapes: Int32Array = np.zeros((len(self.trie.byte), 4), np.int32)


class PushdownIndex:
    """The index of a pushdown automaton over a vocabulary.

    Attributes
    ----------
    automaton : Pushdown
    size : int
        Width of masks in tokens.
    """

    initial, final = 0, 1

    def __init__(
        self,
        automaton: Pushdown,
        vocabulary: Vocabulary,
        limits: Limits,
        shared: Shared | None = None,
        n_shared: int = 0,
    ) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self.size = vocabulary.size
        self._tokens = vocabulary.tokens
        self._eos = frozenset(vocabulary.eos)
        self._limits = limits
        self._shared = shared or Shared(vocabulary)
        self._n_shared = n_shared
        self._lock = RLock()
        self._cells: list[int] = [0]
        self._below: list[int] = [-1]
        self._node_ids: dict[tuple[int, int], int] = {(0, -1): 0}
        self._nodes: Int32Array = np.zeros((256, 2), np.int32)
        self._nodes[0] = 0, -1
        self._plans: dict[Hashable, Plan] = {}
        self._interned: dict[int, list[Int32Array]] = {}
        self._room = limits.mask_bytes // max(4 * mask_words(self.size), 1)
        self._next: dict[int, int] = {}
        # Of each stack, how many of its cells record; of each state with such a stack, the bytes read on top of each.
        self._depths: list[int] = [0]
        self._texts: dict[int, Texts] = {}
        self._deferred: Int32Array = _NO_ESCAPES
        self._later: list[int] = []
        start = (automaton.start, 0, *KEPT)
        self._places: list[Place] = [start, (-1, -1, 0, 0)]
        self._state_ids: dict[tuple[Place, Texts], int] = {(start, ()): 0}
        self._masks: list[Int32Array | None] = [None, freeze(np.zeros(mask_words(self.size), np.int32))]
        self._budgets = Budgets(self, self._tokens, self._eos, vocabulary.trie)
        depth = self._shared.trie.max_depth + 2
        self._frames: Int32Array = np.zeros((depth, 9), np.int32)
        # A byte may push more than once, by a chain of reactions; each reads a cell, so chains end.
        self._pushed: Int32Array = np.zeros((64 * depth, 2), np.int32)

    @property
    def n_states(self) -> int:
        """States made so far, the one after EOS among them."""
        return len(self._places)

    def place(self, state: int) -> Place:
        """Control, stack node and registers of a state."""
        return self._places[state]

    def stack(self, node: int) -> tuple[int, ...]:
        """The cells of a stack, the top first."""
        cells = []
        while node >= 0:
            cells.append(self._cells[node])
            node = self._below[node]
        return tuple(cells)

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
                after = self.read(place, bytes([byte]), texts)
                if after is None:
                    return self._state(place, before), count
                place = after
            return self._state(place, tuple(texts)), len(data)

    def onward(self, state: int) -> list[int]:
        """Bytes that may follow a state, ascending."""
        with self._lock:
            place, texts = self._places[state], self._texts.get(state, ())
            return [byte for byte in range(256) if self.read(place, bytes([byte]), list(texts)) is not None]

    def forced(self, state: int) -> bytes:
        """The longest byte string, up to a thousand, that every continuation of a state begins with."""
        found = bytearray()
        while not self.is_accepting(state) and len(found) < _MOST_FORCED:
            following = self.onward(state)
            if len(following) != 1:
                break
            found.append(following[0])
            state, _ = self.trace(state, bytes(following))
        return bytes(found)

    def mask(self, state: int) -> Int32Array:
        """The shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        found = self._masks[state]
        if found is None:
            with self._lock:
                found = self._build_mask(self._places[state], self._texts.get(state, ()))
                if self.is_accepting(state):
                    found = found.copy()
                    for token in self._eos:
                        found[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
                found = self._intern(found)
                if self._room > 0:
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
        place = self.read(self._places[state], data, texts) if data else None
        return DEAD if place is None else self._state(place, tuple(texts))

    def _state(self, place: Place, texts: "Texts") -> int:
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
        return found

    def is_accepting(self, state: int) -> bool:
        """May a text end in this state?"""
        return state == self.final or self.is_end(self._places[state])

    def is_end(self, place: Place) -> bool:
        """May a text end at this place?"""
        control, node, needed, _ = place
        if control == self.automaton.end:
            return True
        entry = int(self.automaton.tables.info[control, END_ACTION])
        if not entry or needed:
            return False
        with self._lock:
            after = self._react(entry, node)
        return after is not None and after[0] == self.automaton.end

    def top(self, node: int) -> tuple[int, int]:
        """The top cell of a stack, and the node below (-1: none)."""
        return self._cells[node], self._below[node]

    def remaining(self, state: int) -> int:
        """An upper bound of the least number of tokens to acceptance: 0 exactly where a text may end."""
        with self._lock:
            return 0 if state == self.final else self._budgets.bound(self.spot(state))

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

    def accepts(self, data: bytes) -> bool:
        """Is a whole text in the language? O(len(data))."""
        with self._lock:
            place = self.read(self._places[0], data, [])
            return place is not None and self.is_end(place)

    def read(self, place: Place, data: bytes, texts: list[bytes] | None = None) -> Place | None:
        """The place after some bytes; None where they cannot come.

        ``texts``: what was read on top of each cell that records, changed in place. Without it, what only they could tell cannot come.
        """
        control, node, needed, allowed = place
        automaton = self.automaton
        tables = automaton.tables
        rows, info = tables.rows, tables.info
        for byte in data:
            while True:
                entry = rows.item(control, byte)
                if entry >= 0:
                    if info.item(control, COUNTS) == 1:
                        if allowed == 0:
                            return None
                        allowed -= allowed != UNLIMITED
                        needed -= needed > 0
                    control = entry
                    if allowed < info.item(control, NEEDS):
                        return None
                    if info.item(control, GUARD) >= 0 and not self._is_open(control, node):
                        return None
                    break
                if entry == DEAD:
                    return None
                if entry == UNKNOWN:
                    automaton.fill(control, byte)
                    rows, info = tables.rows, tables.info
                    continue
                if needed:
                    return None
                is_again = tables.actions.item(ACTION - entry, 1)
                after = self._react(entry, node, texts, b"" if is_again else bytes([byte]))
                rows, info = tables.rows, tables.info
                if after is None:
                    return None
                control, node, needed, allowed = after
                if not is_again:
                    break
            if texts is not None and tables.records:
                depth = self._depths[node]
                texts[:] = [text + bytes([byte]) for text in texts[:depth]] + [b""] * (depth - len(texts))
        return control, node, needed, allowed

    def _is_open(self, control: int, node: int) -> bool:
        """Can a guarded control still lead to a label that the cell allows?"""
        tables = self.automaton.tables
        guard, width = tables.info.item(control, GUARD), tables.info.item(control, WIDTH)
        allow = tables.cell_allow.item(self._cells[node])
        if guard < 0 or allow < 0:
            return True
        return bool((tables.guards[guard : guard + width] & tables.allows[allow : allow + width]).any())

    def _react(self, entry: int, node: int, texts: list[bytes] | None = None, last: bytes = b"") -> Place | None:
        """Where an action leads on a stack; None where it cannot come. ``last``: the byte that the action reads."""
        tables = self.automaton.tables
        needed, allowed = KEPT
        while entry <= ACTION:
            action = ACTION - entry
            reaction = tables.direct.get(action)
            if reaction is None:
                cell = self._cells[node]
                label = tables.actions.item(action, 2)
                if label >= 0:
                    allow = tables.cell_allow.item(cell)
                    if allow >= 0 and not tables.allows.item(allow + (label >> 6)) >> (label & 63) & 1:
                        return None
                key = action << 32 | cell
                if texts is not None and cell in tables.records:
                    level = self._depths[node] - 1
                    reaction = self.automaton.recorded(action, cell, texts[level] + last)
                    texts[level] = b""
                else:
                    if key not in tables.reactions:
                        self.automaton.react(action, cell)
                    reaction = tables.reactions[key]
                if reaction is None or reaction is DEFERRED:
                    return None
            for _ in range(reaction.pops):
                node = self._below[node]
            if reaction.pushes >= 0:
                node = self._node(reaction.pushes, node)
            entry = reaction.goes_to
            needed, allowed = reaction.registers
        return (entry, node, needed, allowed) if self._is_open(entry, node) else None

    def _node(self, cell: int, below: int) -> int:
        key = (cell, below)
        found = self._node_ids.get(key)
        if found is None:
            found = len(self._cells)
            if found == len(self._nodes):
                self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
            self._nodes[found] = key
            self._cells.append(cell)
            self._below.append(below)
            self._depths.append(self._depths[below] + (cell in self.automaton.tables.records))
            self._node_ids[key] = found
        return found

    def _intern(self, words: Int32Array) -> Int32Array:
        bucket = self._interned.setdefault(kernel.content_hash(words), [])
        for mask in bucket:
            if kernel.are_equal(mask, words):
                return mask
        words = freeze(words)
        if self._room > 0:
            self._room -= 1
            bucket.append(words)
        return words

    def _build_mask(self, place: Place, texts: "Texts") -> Int32Array:
        """The mask without EOS."""
        words, deferred = self._mask_of(place), self._later
        for token in deferred:
            data = self._tokens[token]
            if data and self.read(place, data, list(texts)) is not None:
                words[token >> 5] |= np.int32(np.uint32(1 << (token & 31)))
        return words

    def _mask_of(self, place: Place) -> Int32Array:
        """The same without tokens that hang on what was read: those are left in ``_later``."""
        self._later = []
        control, node, needed, allowed = place
        planned = self.automaton.tables.info.item(control, PLAN)
        if planned >= 0 and self._is_open(planned, node):
            words = self._planned(planned, (planned, node, needed, allowed))
            if planned != control:
                self._walk(self._shared.trie, place, words, base=planned)
            return words
        words = np.zeros(mask_words(self.size), np.int32)
        self._walk(self._shared.trie, place, words)
        return words

    def _planned(self, control: int, place: Place) -> Int32Array:
        _, node, needed, allowed = place
        plan = self._plan(control, node)
        words = plan.within(allowed).copy()
        is_bounded = needed > 0 or allowed < plan.most
        for group in plan.groups(is_bounded):
            if is_bounded and not needed <= group.count <= allowed:
                continue
            after = self._react(ACTION - group.action, node)
            if after is None:
                continue
            kernel.set_tokens(0, len(group.ends), group.ends, words)
            if group.rest is not None:
                self._walk(group.rest, after, words)
            if group.from_root:
                self._walk(self._shared.trie, after, words)
        return words

    def _plan(self, control: int, node: int) -> Plan:
        tables = self.automaton.tables
        key: Hashable = control if control < self._n_shared else tables.plan_keys.get(control)
        if key is not None:
            plans: dict[Hashable, Plan] = self._shared.plans
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            allow = -1
        else:
            plans = self._plans
            allow = tables.cell_allow.item(self._cells[node]) if tables.info.item(control, GUARD) >= 0 else -1
            key = control, allow
        found = plans.get(key)
        if found is None:
            found = plans[key] = self._make_plan(control, allow)
        return found

    def _make_plan(self, control: int, allow: int) -> Plan:
        shared = self._shared
        stay = np.zeros(mask_words(self.size), np.int32)
        is_counting = self.automaton.tables.info.item(control, COUNTS) != 0
        with shared.lock:
            counts, escapes = shared.counts if is_counting else _NONE, shared.escapes
            counts.fill(0)
            trie, tables = shared.trie, self.automaton.tables
            path = np.empty((trie.max_depth + 1, 2), np.int32)
            n = kernel.walk_frame(
                trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, tables.rows, tables.info,
                tables.actions, tables.guards, tables.allows, allow, control, path, stay, counts, escapes,
            )  # fmt: skip
            if n < 0:
                stay.fill(0)
                place = (control, kernel.NOWHERE, *KEPT)
                n = self._walk(trie, place, stay, counts=counts, escapes=escapes, allow=allow)
            if not is_counting:
                escapes[:n, 2] = 0
            return plan_of(self.vocabulary, stay, counts, escapes[:n])

    def _walk(
        self,
        trie: WalkTrie,
        place: Place,
        words: Int32Array,
        base: int = -1,
        counts: Int32Array | None = None,
        escapes: Int32Array | None = None,
        allow: int = -1,
    ) -> int:
        """Set the bits of the tokens of a trie that may follow; the number of escapes."""
        automaton = self.automaton
        tables = automaton.tables
        frames, out = self._frames, np.zeros(6, np.int64)
        is_deferring = escapes is None
        if escapes is None:
            if tables.records and not len(self._deferred):
                self._deferred = np.empty((len(self._shared.trie.byte), 4), np.int32)
            escapes = self._deferred
        frames[0, :4] = place
        frames[0, 7] = base
        out[0], out[5] = -1, allow
        while True:
            status = kernel.walk(
                trie.byte, trie.skip, trie.token_indptr, trie.token_ids, trie.child,
                tables.rows, tables.info, tables.live, tables.actions, tables.results, tables.keys, tables.values,
                tables.guards, tables.allows, tables.cell_allow, self._nodes, frames, self._pushed, words,
                _NONE if counts is None else counts, escapes, out,
            )  # fmt: skip
            if status == kernel.DONE:
                if is_deferring:
                    for i in escapes[: int(out[3]), 1].tolist():
                        self._later += trie.token_ids[trie.token_indptr[i] : trie.token_indptr[trie.skip[i]]].tolist()
                return int(out[3])
            if status == kernel.MISSING_ENTRY:
                automaton.fill(int(out[1]), int(out[2]))
            else:
                automaton.react(int(out[1]), int(out[2]))


_NONE: Int32Array = np.zeros(0, np.int32)
_NO_ESCAPES: Int32Array = np.zeros((0, 4), np.int32)
