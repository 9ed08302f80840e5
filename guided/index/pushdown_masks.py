"""Masks of configurations: walks of the token trie over stacks, with plans for the stack-independent part.

A mask combines the plan of the control, if it has one; the suffixes of the plan's tokens on the current stack, walked once for each
configuration that an action leads to; and a walk over the remaining tokens. Tokens whose result depends on bytes read before (an item
that must differ from the one before it) are read last, one by one. Equal masks are one array.

Not thread-safe: the calling index holds a lock.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from itertools import accumulate

import numpy as np

from guided.arrays import DEAD, Int32Array, allow, freeze, mask_of, mask_words
from guided.automata.pushdown import COUNTS, GUARD, KEPT, LIVE, MANY, PENDING, PLAN
from guided.automata.stacks import Configuration, Stacks, Texts
from guided.caching import Kept
from guided.index.plans import (
    ActionGroup,
    Plan,
    StayClasses,
    TokenSuffixes,
    plan_of,
    suffixes_of,
)
from guided.index.pushdown_walk import Foresee, PushdownWalk
from guided.kernels import masks
from guided.kernels import plans as frame_kernel
from guided.kernels.below import LOOPS
from guided.kernels.tables import NOWHERE
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["STAYS_KEPT", "MaskMaker", "Masks", "VocabularyData"]

# Entries of about 20 kB each; of half a megabyte each, for 128,000 tokens.
_PLANS_KEPT, STAYS_KEPT = 2000, 16
_PER_PLAN, _PER_AFTER = 20_000, 400
# Controls whose plans others are derived from, and more bytes than this must lead to the same controls.
_BASES_KEPT, _EQUAL = 8, 128


class VocabularyData:
    """What all indices over equal vocabularies share (`Vocabulary.derived`), also the plans of common controls.

    A *family* of automata shares its first controls; plans are the same for all of them.

    Attributes
    ----------
    tokens, size, eos, trie
        Those of the vocabulary.
    n_words : int
        Of a mask.
    spelling : (ndarray[uint8], ndarray[int64])
        The bytes of all tokens, and where those of each begin.
    plans : dict of hashable to Plan
        By family, and control or the automaton's plan key.
    stays : dict of (hashable, bool) to StayClasses
        By family and common control, and whether code points were counted.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        # Why not the vocabulary: what it holds must not hold it.
        self.tokens, self.eos, self.trie = vocabulary.tokens, frozenset(vocabulary.eos), vocabulary.trie
        self.size, self.n_words = vocabulary.size, mask_words(vocabulary.size)
        texts = [token or b"" for token in self.tokens]
        offsets = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
        self.spelling = np.frombuffer(b"".join(texts), np.uint8), offsets
        # Indices share these, each under its own lock.
        self.plans = Kept[Hashable, Plan](_PLANS_KEPT)
        self.stays = Kept[tuple[Hashable, bool], StayClasses](STAYS_KEPT)
        self._suffixes: dict[tuple[int, bool], TokenSuffixes] = {}
        self._beginnings: dict[bytes, tuple[frozenset[bytes], tuple[int, ...]]] = {}
        # Scratch arrays for a plan under construction.
        self.lock = new_lock(Rank.VOCABULARY)
        self.counts: Int32Array = np.zeros(self.size, np.int32)
        self.escapes: Int32Array = np.zeros((len(self.trie.byte), 4), np.int32)

    def suffixes(self, byte: int, is_again: bool) -> TokenSuffixes:
        """Return the suffixes of tokens after a byte, or from it on."""
        found = self._suffixes.get((byte, is_again))
        if found is None:
            found = self._suffixes[byte, is_again] = suffixes_of(self.trie, self.tokens, byte, is_again)
        return found

    def beginning(self, prefix: bytes) -> tuple[frozenset[bytes], tuple[int, ...]]:
        """Return the tokens that begin with two bytes, and their lengths, descending."""
        found = self._beginnings.get(prefix)
        if found is None:
            trie, spelled = self.trie, frozenset[bytes]()
            node = int(trie.child[prefix[0] + 1, prefix[1]])
            if node >= 0:
                ids = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[trie.skip[node]]]
                spelled = frozenset([self.tokens[token] or b"" for token in ids.tolist()])
            lengths = tuple(sorted(set(map(len, spelled)), reverse=True))
            found = self._beginnings[prefix] = spelled, lengths
        return found

    def spelled(self, text: bytes) -> list[int]:
        """Return the tokens with these bytes, at least one."""
        trie = self.trie
        node = int(trie.child[0, text[0]] if len(text) == 1 else trie.child[text[0] + 1, text[1]])
        end = node + 1 if len(text) == 1 else int(trie.skip[node])
        ids: list[int] = trie.token_ids[trie.token_indptr[node] : trie.token_indptr[end]].tolist() if node >= 0 else []
        return [token for token in ids if self.tokens[token] == text]


class MaskMaker(ABC):
    """Builds the masks of one index. Equal masks are one array.

    Attributes
    ----------
    walk : PushdownWalk
    family : hashable
        Family of the automaton; None if it shares no plans.
    n_shared : int
        Number of controls, the first ones, common to all automata of the family.
    room : int
        Number of further masks that are interned.
    n_bytes : int
        Approximate bytes of memory that the steps of the automaton do not count.
    foresee : callable or None
        Prepares the entries that nodes of a trie will need after an entry; as of `PushdownWalk`.
    """

    # Why static: a bound method in the walk would be a reference cycle, and keep the automaton until it is collected.
    foresee: Foresee | None = None

    def __init__(self, stacks: Stacks, limits: Limits, shared: VocabularyData, family: Hashable, n_shared: int) -> None:
        self.stacks = stacks
        self.shared, self.family, self.n_shared = shared, family, n_shared
        self.size, self.n_words, self._tokens = shared.size, shared.n_words, shared.tokens
        self.walk = PushdownWalk(stacks, shared.trie, shared.spelling, self.foresee, limits)
        self._interned: dict[int, list[Int32Array]] = {}
        self.room = limits.mask_bytes // max(4 * self.n_words, 1)

    @property
    def n_bytes(self) -> int:
        """See the class."""
        return 0

    @abstractmethod
    def mask(self, configuration: Configuration, texts: Texts) -> Int32Array:
        """Return the mask of a configuration without EOS, as a new array."""

    def plan(self, configuration: Configuration) -> tuple[int, Plan] | None:  # noqa: ARG002 - for subclasses
        """Return the control whose plan serves a configuration, and the plan; None if there is none."""
        return None

    def intern(self, words: Int32Array) -> Int32Array:
        """Return the one read-only mask with this content."""
        bucket = self._interned.setdefault(masks.content_hash(words), [])
        for mask in bucket:
            if masks.are_equal(mask, words):
                return mask
        words = freeze(words)
        if self.room > 0:
            self.room -= 1
            self.stacks.automaton.tables.steps.n_bytes += words.nbytes
            bucket.append(words)
        return words


class Masks(MaskMaker):
    """Builds the masks of one index, token by token."""

    def __init__(self, stacks: Stacks, limits: Limits, shared: VocabularyData, family: Hashable, n_shared: int) -> None:
        super().__init__(stacks, limits, shared, family, n_shared)
        self._plans: dict[Hashable, Plan] = {}
        # By control, the labels of its newest plan, and that plan.
        self._bases: dict[int, tuple[int, Plan]] = {}
        # Allowed pairs of suffixes by configuration, as a mask, and the pairs whose result depends on bytes read before.
        self._after: dict[tuple[int, bool, Configuration], tuple[Int32Array, list[int]]] = {}

    def mask(self, configuration: Configuration, texts: Texts) -> Int32Array:
        """Return the mask without EOS."""
        self.walk.deferred = []
        info = self.stacks.automaton.tables.info
        if info.item(configuration[0], PLAN) < 0 and info.item(configuration[0], LIVE) > MANY:
            configuration = self.stacks.settled(configuration)
        planned, plan = self.plan(configuration) or (-1, None)
        words = np.zeros(self.n_words, np.int32) if plan is None else self._planned(plan, configuration)
        if planned != configuration[0]:
            self.walk(self.shared.trie, configuration, words, base=planned)
        if self.walk.deferred:
            deferred = sorted((self._tokens[token] or b"", token) for token in self.walk.deferred)
            allowed = self.stacks.readable(configuration, texts, [data for data, _ in deferred])
            allow(words, (token for (_, token), fits in zip(deferred, allowed, strict=True) if fits))
        return words

    def plan(self, configuration: Configuration) -> tuple[int, Plan] | None:
        """See `MaskMaker`."""
        control, node, _, allowed = configuration
        planned = self.stacks.automaton.tables.info.item(control, PLAN)
        if planned < 0 or not self.stacks.is_open(planned, node):
            return None
        return planned, self._plan(planned, node, allowed)

    def _planned(self, plan: Plan, configuration: Configuration) -> Int32Array:
        _, node, needed, allowed = configuration
        words = plan.within(allowed)
        for group in plan.groups:
            for entry, least, most in group.taken(self.stacks.automaton.tables, needed):
                after = self.stacks.after_action(entry, node)
                if after is not None:
                    self._suffixes(group, after, least, min(most, allowed), words)
        return words

    def _suffixes(self, group: ActionGroup, after: Configuration, least: int, most: int, words: Int32Array) -> None:
        """Set the tokens of a group that read ``least`` to ``most`` code points before its action and whose suffix is allowed after it."""
        suffixes = group.suffixes
        key = (suffixes.byte, suffixes.is_again, after)
        found = self._after.get(key)
        if found is None:
            later, self.walk.deferred = self.walk.deferred, []
            fits = suffixes.empty.copy()
            self.walk(suffixes.trie, after, fits)
            found, self.walk.deferred = (fits, self.walk.deferred), later
            self._after[key] = found
            self.stacks.automaton.tables.steps.n_bytes += fits.nbytes + _PER_AFTER
        fits, deferred = found
        masks.set_pairs(group.pairs, group.counts, least, most, fits, suffixes.tokens, words)
        if deferred:
            is_open = (group.counts >= least) & (group.counts <= most) & np.isin(group.pairs, deferred)
            self.walk.deferred += suffixes.tokens[group.pairs[is_open]].tolist()

    def _plan(self, control: int, node: int, allowed: int) -> Plan:
        tables, plans, allow = self.stacks.automaton.tables, self._plans, -1
        key = self._plan_key(control)
        if key is not None:
            plans = self.shared.plans
        else:
            if tables.info.item(control, GUARD) >= 0:
                cell = self.stacks.cells[node]
                if tables.cell_allow.item(cell) == PENDING:
                    self.stacks.automaton.compute_allowed(cell)
                allow = tables.cell_allow.item(cell)
            key = control, allow
        found = plans.get(key)
        if found is None:
            found = plans[key] = self._make_plan(control, allow, is_counted=False)
            tables.steps.n_bytes += _PER_PLAN * (plans is self._plans)
        if not found.is_known_within(allowed):
            found = plans[key] = self._make_plan(control, allow, is_counted=True)
        return found

    def _plan_key(self, control: int) -> Hashable:
        """Return the key of a control's plan if it is the same for all automata of the family; None if it is not."""
        name = control if control < self.n_shared else self.stacks.automaton.tables.plan_key(control)
        return None if self.family is None or name is None else (self.family, name)

    def _make_plan(self, control: int, allow: int, *, is_counted: bool) -> Plan:
        shared = self.shared
        info = self.stacks.automaton.tables.info
        is_counting = info.item(control, COUNTS) != 0
        with shared.lock:
            if not is_counting and (found := self._plan_within(control, allow)) is not None:
                return found
            # PERF: in most strings no token comes near the maximum length, so counting is deferred (`python -m benchmarks.maskbench`).
            counts, escapes = shared.counts if is_counted and is_counting else _NONE, shared.escapes
            counts.fill(0)
            stay, configuration = np.zeros(self.n_words, np.int32), (control, NOWHERE, *KEPT)
            n, _, most = self.walk(shared.trie, configuration, stay, counts=counts, escapes=escapes, allow=allow)
            if not is_counting:
                escapes[:n, 2] = most = 0
            return plan_of(shared.trie, shared.suffixes, stay, counts, most, escapes[:n])

    def _plan_within(self, control: int, allow: int) -> Plan | None:
        """Return the plan of a control that counts nothing, within its frame; None if rows are missing or actions are direct.

        PERF: it is derived from another one where most bytes lead to the same controls. Each name that an object has used leaves other
        labels, and only the tokens that begin such a name differ (`python -m benchmarks.maskbench`).
        """
        shared, tables = self.shared, self.stacks.automaton.tables
        tokens, left = shared.counts, shared.escapes.reshape(-1, 2)
        base, base_allow, stay, base_escapes = DEAD, -1, _NONE, left[:0]
        bases = [one for one, (other, _) in self._bases.items() if (other < 0) == (allow < 0)]
        if bases:
            n_equal = (tables.rows[bases] == tables.rows[control]).sum(axis=1)
            if n_equal.max() > _EQUAL:
                base = bases[int(n_equal.argmax())]
                base_allow, plan = self._bases[base]
                stay, base_escapes = plan.stay.copy(), plan.escapes[:, :2] * np.array([2, 1], np.int32)
        trie, tops, out = shared.trie, shared.trie.child[0], np.array([0, 0, 0, 0, 0, -1, 0], np.int64)
        path, loops = np.empty((2, trie.max_depth + 2), np.int32), np.zeros((LOOPS, 3), np.uint64)
        status = frame_kernel.within(
            trie.byte, trie.depth, trie.skip, trie.token_indptr, trie.token_ids, trie.below[0], tables.rows, tables.info,
            tables.guards, tables.allows, 0, tops[tops >= 0], True, control, allow, base, base_allow, base_escapes, path, loops,
            stay, tokens, left, out,
        )  # fmt: skip
        n_tokens, n = out[:2].tolist()
        actions = left[:n, 0] >> 1
        if status != frame_kernel.DONE or (tables.actions[actions, 0] >= 0).any():
            return None
        found = mask_of(tokens[:n_tokens], self.size)
        if base >= 0:
            found |= stay
        escapes = np.stack([actions, left[:n, 1], np.zeros(n, np.int32), tables.actions[actions, 1]], axis=1)
        plan = plan_of(trie, shared.suffixes, found, _NONE, 0, escapes)
        self._bases[control] = allow, plan
        if len(self._bases) > _BASES_KEPT:
            del self._bases[next(iter(self._bases))]
        return plan


_NONE: Int32Array = np.zeros(0, np.int32)
