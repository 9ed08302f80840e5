"""`RegularIndex`: allowed tokens and successor states for every state of a finite automaton.

States are the automaton's, from 0 (the start), plus ``final``, which EOS leads to from an accepting state and which has no successors.
Tables (Q states, F functions that tokens use, V tokens):

- ``token_function[t]``: function of token t, -1 for tokens that no state allows;
- rows by state, a CSR: ``functions`` (ascending) and ``targets``, the state after a token of that function;
- states with equal functions and finality share one mask, which is built on first use and never changes.

Invariant: only live states are targets (liveness at token level: from each, some sequence of tokens reaches acceptance, even if the
vocabulary lacks a byte). A mask has EOS exactly where the state accepts. The tables never change after construction and masks are only
added, so threads need no lock.

Complexity: next state O(1) through a dense table if Q x F is small, else one binary search among the state's functions, whose number
does not depend on the text, and hardly on the vocabulary. A mask is O(its tokens) the first time, O(1) after.
Ref: Willard and Louf 2023, Algorithms 3 and 4; the sharing by functions is this package's own.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from guided.arrays import Int32Array, Int64Array, allow, freeze, mask_words, tokens_of
from guided.automata.automaton import Automaton
from guided.caching import cached_property
from guided.errors import LimitError, VocabularyError, shown
from guided.index.reader import Reader, table_reader
from guided.index.walk import TOO_MANY_STATES, FunctionGroups, groups_of, number_and_group, token_functions
from guided.kernels import rows as kernel
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["AUTOMATON_ARRAYS", "KIND", "TABLE_ARRAYS", "RegularIndex", "build_regular"]

# Kind and arrays of an index file.
KIND = "regular"
AUTOMATON_ARRAYS = ("table", "classes", "accepting", "labels")
TABLE_ARRAYS = (
    "token_function", "function_size", "row_indptr", "row_functions", "row_targets", "distance", "mask_of", "mask_state",
)  # fmt: skip

_DENSE_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class RegularIndex:
    """Tables of a regular index; all arrays are read-only. Made by `build_regular`.

    Attributes
    ----------
    automaton : Automaton
        The byte automaton; its states are the index's.
    eos : tuple of int
        Tokens that end the text.
    size : int
        Width of masks in tokens.
    token_function : ndarray[int32], shape (n_tokens,)
        Function of each token, or -1.
    function_size : ndarray[int32], shape (n_functions,)
        Number of tokens of each function; at least 1.
    row_indptr : ndarray[int64], shape (n_states + 1,)
        Rows by state.
    row_functions, row_targets : ndarray[int32], shape (n_pairs,)
        Functions (ascending) and next states of each row.
    distance : ndarray[int32], shape (n_states,)
        Least number of tokens to an accepting state, EOS not counted; -1 if none is reachable.
    mask_of : ndarray[int32], shape (n_states,)
        Number of each state's mask.
    mask_state : ndarray[int32], shape (n_masks,)
        One state for each mask.
    mask_bytes : int
        Budget of cached masks in bytes; further masks are built on each request.
    n_states : int
        Number of states of the automaton.
    initial, final, last : int
        States of the empty text and after EOS; the largest state number.
    """

    automaton: Automaton
    eos: tuple[int, ...]
    size: int
    token_function: Int32Array
    function_size: Int32Array
    row_indptr: Int64Array
    row_functions: Int32Array
    row_targets: Int32Array
    distance: Int32Array
    mask_of: Int32Array
    mask_state: Int32Array
    mask_bytes: int = field(default=Limits().mask_bytes, kw_only=True)
    n_states: int = field(init=False)
    final: int = field(init=False)
    last: int = field(init=False)
    _masks: list[Int32Array | None] = field(init=False, repr=False)
    _mask_of_state: list[Int32Array | None] = field(init=False, repr=False)
    _room: list[int] = field(init=False, repr=False)
    initial: ClassVar[int] = 0

    def __post_init__(self) -> None:
        for name in TABLE_ARRAYS:
            getattr(self, name).flags.writeable = False
        n, nothing = self.automaton.n_states, freeze(np.zeros(mask_words(self.size), np.int32))
        # Why not field by field: an index is frozen.
        vars(self).update(
            n_states=n,
            final=n,
            last=n,
            _masks=[None] * len(self.mask_state),
            _mask_of_state=[*[None] * n, nothing],
            _room=[self.mask_bytes // max(nothing.nbytes, 1)],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: only the tables are sent to another process; masks and look-ups are rebuilt there.
        tables = (getattr(self, name) for name in TABLE_ARRAYS)
        return partial(RegularIndex, mask_bytes=self.mask_bytes), (self.automaton, self.eos, self.size, *tables)

    @property
    def n_bytes(self) -> int:
        """Approximate bytes of memory of tables and cached masks."""
        per_mask = self.mask(self.final).nbytes
        masks = self.mask_bytes // max(per_mask, 1) - self._room[0]
        return sum(array.nbytes for array in self.arrays().values()) + per_mask * masks

    @cached_property
    def groups(self) -> FunctionGroups:
        """Tokens by function, from which masks are built."""
        return groups_of(self.token_function, self.size)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all arrays by name: the content of an index file."""
        automaton = {name: getattr(self.automaton, name) for name in AUTOMATON_ARRAYS}
        return automaton | {name: getattr(self, name) for name in TABLE_ARRAYS}

    def state_after(self, tokens: Sequence[int]) -> int:
        """See `Index`."""
        state = 0
        for token in tokens:
            state = self.next(state, token)
        if state < 0:
            raise ValueError("the tokens cannot follow each other")
        return state

    def mask(self, state: int) -> Int32Array:
        """Return the shared, read-only mask of a state: int32, shape (ceil(size / 32),)."""
        return found if (found := self._mask_of_state[state]) is not None else self._build(state)

    def mask_within(self, state: int, budget: int) -> Int32Array:
        """Return the mask of the tokens after which at most ``budget - 1`` more reach acceptance; with EOS if the state accepts.

        O(tokens) if the budget excludes tokens, else the ordinary mask.
        """
        if state == self.final:
            return self.mask(state)
        begin, end = int(self.row_indptr[state]), int(self.row_indptr[state + 1])
        fits = self.distance[self.row_targets[begin:end]] < budget
        if fits.all():
            return self.mask(state)
        return self._filled(state, self.row_functions[begin:end][fits])

    @cached_property
    def next(self) -> Callable[[int, int], int]:
        """The state after a state and a token, or -1. O(1)."""
        # PERF: a method would add a call to every step, and memoryviews index three times as fast as arrays (python -m benchmarks.regex).
        token_function, n_tokens, n_functions = (
            self.token_function.data,
            len(self.token_function),
            len(self.function_size),
        )
        accepting, eos, final = self.automaton.accepting.tolist(), frozenset(self.eos), self.final
        indptr, functions, targets = self.row_indptr.data, self.row_functions.data, self.row_targets.data
        dense: memoryview | None = None
        if self.n_states * n_functions <= _DENSE_CELLS:
            table = np.full(self.n_states * n_functions, -1, np.int32)
            source = np.repeat(np.arange(self.n_states), np.diff(self.row_indptr))
            table[source * n_functions + self.row_functions] = self.row_targets
            dense = table.data

        def following(state: int, token: int) -> int:
            if not 0 <= state < final:
                return -1
            # Why: the id of EOS may be beyond the tokens, in the padding of the logits.
            try:
                function: int = token_function[token] if 0 <= token < n_tokens else -1
            except (TypeError, ValueError):  # Why both: comparing an array gives an array, which has no truth value
                raise TypeError(f"a token must be an int, not {type(token).__name__} {shown(token)}") from None
            if function < 0:
                return final if token in eos and accepting[state] else -1
            if dense is not None:
                target: int = dense[state * n_functions + function]
                return target
            begin, end = indptr[state], indptr[state + 1]
            found = bisect_left(functions, function, begin, end)
            return int(targets[found]) if found < end and functions[found] == function else -1

        return following

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in this state of the automaton."""
        return bool(self.automaton.accepting[state])

    def remaining(self, state: int) -> int:
        """Return the least number of tokens from a state of the automaton to acceptance."""
        return int(self.distance[state])

    def accepts(self, data: str | bytes) -> bool:
        """Return whether a whole text is in the language."""
        return self.automaton.accepts(data)

    def reads(self, token: int) -> bool:
        """Return whether some state reads this token."""
        return token < len(self.token_function) and bool(self.token_function[token] >= 0)

    def allowed(self, state: int) -> Int32Array:
        """Return the ids of the allowed tokens, ascending: int32."""
        return tokens_of(self.mask(state))

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as possible, and return (byte state reached, number of bytes read)."""
        return self.automaton.trace(state, data)

    @contextmanager
    def reading(self, state: int) -> Iterator[Reader[int]]:
        """Yield a reader of single bytes from a state."""
        yield table_reader(self.automaton, state)

    @cached_property
    def last_bytes(self) -> bytes | None:
        """Bytes that may end a text; None if unknown."""
        target = self.automaton.table
        columns = np.flatnonzero(((target >= 0) & self.automaton.accepting[target]).any(axis=0))
        return np.flatnonzero(np.isin(self.automaton.classes, columns)).astype(np.uint8).tobytes()

    def onward(self, state: int) -> list[int]:
        """Return the bytes allowed in a byte state, ascending."""
        row = self.automaton.table[state]
        return np.flatnonzero(row[self.automaton.classes] >= 0).tolist()

    def forced(self, state: int) -> bytes:
        """Return the longest byte string that every continuation begins with. In an endless language it stops at a repeated state."""
        found, seen = bytearray(), set()
        while not self.automaton.accepting[state] and state not in seen:
            seen.add(state)
            following = self.onward(state)
            if len(following) != 1:
                break
            found.append(following[0])
            state = int(self.automaton.table[state, self.automaton.classes[following[0]]])
        return bytes(found)

    def _build(self, state: int) -> Int32Array:
        """Build a mask that is not cached. Concurrent threads build equal masks, and one is kept while there is room."""
        number = int(self.mask_of[state])
        found = self._masks[number]
        if found is None:
            like = int(self.mask_state[number])
            found = self._filled(like, self.row_functions[self.row_indptr[like] : self.row_indptr[like + 1]])
            if self._room[0] <= 0:
                return found
            # Why no lock: concurrent threads may count a mask twice or not at all, a few masks in thousands.
            self._room[0] -= 1
            self._masks[number] = found
        self._mask_of_state[state] = found
        return found

    def _filled(self, state: int, functions: Int32Array) -> Int32Array:
        words = self.mask(self.final).copy()
        self.groups.allow(functions, words)
        if self.automaton.accepting[state]:
            allow(words, self.eos)
        return freeze(words)


def build_regular(automaton: Automaton, vocabulary: Vocabulary, limits: Limits) -> RegularIndex:
    """Build the index of an automaton over a vocabulary.

    Raises
    ------
    VocabularyError
        The language is empty, or no sequence of tokens spells a text of it.
    LimitError
        A budget was exceeded.
    """
    trie = vocabulary.trie
    functions = token_functions(automaton, trie, limits)
    number, token_function, groups = number_and_group(functions, trie, vocabulary.size)
    # Pairs of functions that tokens have; those of other prefixes are half of all.
    n_pairs = int(np.diff(functions.indptr)[number >= 0].sum())
    row_functions, row_targets = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.int32)
    n_states = automaton.n_states
    distance, queue = np.empty(n_states, np.int32), np.empty(n_states, np.int32)
    # Why scratch that is written again: where an index is large, most of a compile is the first touch of memory.
    kernel.token_distances(
        automaton.accepting, functions.indptr, functions.source, functions.target, number,
        distance, np.zeros(n_states + 1, np.int64), row_functions, queue,
    )  # fmt: skip
    if distance[0] < 0:
        raise VocabularyError(_why_unspellable(automaton, vocabulary))
    row_indptr = np.zeros(n_states + 1, np.int64)
    kept = kernel.transpose(
        functions.indptr,
        functions.source,
        functions.target,
        number,
        distance >= 0,
        np.full(len(number), -1, np.int32),
        row_indptr,
        row_functions,
        row_targets,
    )
    row_functions, row_targets = row_functions[:kept], row_targets[:kept]
    mask_of, mask_state = np.empty(n_states, np.int32), np.empty(n_states, np.int32)
    slots = np.full(1 << (2 * n_states).bit_length(), -1, np.int32)
    n_masks = kernel.intern_rows(
        row_indptr, row_functions, automaton.accepting, mask_of, mask_state, np.empty(n_states, np.uint64), slots
    )
    index = RegularIndex(
        automaton=automaton,
        eos=vocabulary.eos,
        size=vocabulary.size,
        token_function=token_function,
        function_size=groups.size,
        row_indptr=row_indptr,
        row_functions=row_functions,
        row_targets=row_targets,
        distance=distance,
        mask_of=mask_of,
        mask_state=mask_state[:n_masks].copy(),
        mask_bytes=limits.mask_bytes,
    )
    # Why: they are already computed, and `groups` would compute them again.
    index.__dict__["groups"] = groups
    if (size := index.n_bytes) > limits.index_bytes:
        raise LimitError("index_bytes", size, limits.index_bytes, TOO_MANY_STATES)
    return index


def _why_unspellable(automaton: Automaton, vocabulary: Vocabulary) -> str:
    """Explain by example: the bytes of a shortest text that no token contains, or that no token consists of."""
    witness = automaton.witness()
    if witness is None:
        return "the language is empty: no text matches"
    reason = "no sequence of tokens spells a text of the language"
    held = set(b"".join(token or b"" for token in vocabulary.tokens))
    for lacking, which in ((set(range(256)) - held, "holds"), (set(vocabulary.missing_bytes), "has alone")):
        needed = sorted(lacking.intersection(witness))
        if needed:
            return (
                f"{reason}; for example {witness[:40]!r} needs the bytes {bytes(needed[:8])!r}, which no token {which}"
            )
    return reason
