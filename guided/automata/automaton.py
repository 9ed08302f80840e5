"""`Automaton`: a minimal deterministic automaton over bytes, in canonical form, and its algebra.

Equal languages (with equal labels) give equal arrays, so ``==`` is language equality and the fingerprint identifies the language.
Languages are sets of byte strings. Those of patterns contain valid UTF-8 only, and `~` stays within valid UTF-8.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.determinize import CharDFA
from guided.automata.minimize import canonical, distances, minimal
from guided.automata.partition import partition
from guided.automata.product import Operation, product
from guided.automata.steps import Steps
from guided.automata.utf8 import to_bytes
from guided.encoding import as_bytes
from guided.errors import GuidedError
from guided.limits import Limits
from guided.patterns.charset import Charset

__all__ = ["Automaton"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Automaton:
    """A byte automaton in canonical form; state 0 is the start. The arrays become read-only and are not checked: `from_table` does that.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Next state by byte class, -1 for none.
    classes : ndarray[uint8], shape (256,)
        Class of each byte.
    accepting : ndarray[bool], shape (n_states,)
        Final states.
    labels : ndarray[int32], shape (n_states,)
        Labels that keep states apart, 0 if unused.
    n_states : int
        Number of states; 1 for the empty language.
    """

    table: Int32Array
    classes: UInt8Array
    accepting: BoolArray
    labels: Int32Array
    n_states: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_states", len(self.table))
        for array in (self.table, self.classes, self.accepting, self.labels):
            assert array.flags.c_contiguous, "kernels read arrays as they are stored"
            array.flags.writeable = False

    @classmethod
    def from_table(
        cls,
        table: Int32Array,
        classes: UInt8Array,
        accepting: BoolArray,
        labels: Int32Array | None = None,
        start: int = 0,
    ) -> "Automaton":
        """Return the canonical automaton of any table.

        Parameters
        ----------
        table : ndarray[int32], shape (n_states, n_columns)
            Next state by column, negative for none.
        classes : ndarray, shape (256,)
            Column of each byte.
        accepting : ndarray[bool], shape (n_states,)
        labels : ndarray[int32], shape (n_states,), optional
            States with different labels are not merged.
        start : int
            The start state.

        Raises
        ------
        ValueError
            The shapes do not fit, or a state or a column is out of range.

        Notes
        -----
        O(n k log n) for n states and k columns (Hopcroft 1971).
        """
        table = np.ascontiguousarray(table, np.int32)
        accepting = np.ascontiguousarray(accepting, np.bool_)
        labels = np.zeros(len(table), np.int32) if labels is None else np.ascontiguousarray(labels, np.int32)
        _check_table(table, np.asarray(classes), accepting, labels, start)
        if table.min() < DEAD:
            table = np.maximum(table, DEAD)
        return cls(*canonical(table, np.ascontiguousarray(classes, np.uint8), accepting, labels, start))

    @classmethod
    def from_characters(cls, dfa: CharDFA, limits: Limits, steps: Steps | None = None) -> "Automaton":
        """Return the byte automaton of an automaton over classes of characters; its cost is added to ``steps``.

        Raises
        ------
        LimitError
            ``states``, ``transitions`` or ``steps`` of ``limits`` was exceeded.
        """
        if dfa.partition.symbols:
            raise TypeError("an automaton over bytes has no calls")
        table, accepting, labels = minimal(dfa.table, dfa.accepting)
        table, classes, accepting = to_bytes(table, accepting, dfa.partition, limits, steps)
        labels = np.zeros(len(table), np.int32)
        return cls(*canonical(table, classes, accepting, labels, is_minimal=True))

    @classmethod
    def from_interegular(cls, fsm: Any, limits: Limits | None = None) -> "Automaton":
        """Return the automaton of an ``interegular.FSM`` over characters.

        ``anything_else`` stands for every character that the FSM's alphabet does not name.

        Raises
        ------
        TypeError
            ``fsm`` is not an interegular FSM.
        LimitError
            A budget was exceeded.
        """
        if not all(hasattr(fsm, name) for name in ("alphabet", "states", "initial", "finals", "map")):
            raise TypeError(f"expected an interegular FSM, not {type(fsm).__name__}")
        numbers = {
            state: i for i, state in enumerate(sorted(fsm.states, key=lambda state: (state != fsm.initial, state)))
        }
        symbols: dict[int, list[str]] = {}
        other = None
        for symbol, key in fsm.alphabet.items():
            if not isinstance(symbol, str):
                other = key
            elif len(symbol) == 1:  # Why: (?i) adds whole words to alphabets, such as the two letters of a ligature
                symbols.setdefault(key, []).append(symbol)
        named = {key: Charset.of([(ord(s), ord(s)) for s in found]) for key, found in symbols.items()}
        if other is not None:
            everything = Charset.of([pair for charset in named.values() for pair in charset.ranges])
            named[other] = named.get(other, Charset.EMPTY) | ~everything
        keys = list(named)
        parts = partition([named[key] for key in keys])
        table = np.full((len(numbers), parts.n_classes), DEAD, np.int32)
        for state, row in fsm.map.items():
            for i, key in enumerate(keys):
                if key in row:
                    members = parts.set_classes[parts.set_indptr[i] : parts.set_indptr[i + 1]]
                    table[numbers[state], members] = numbers[row[key]]
        accepting = np.zeros(len(numbers), np.bool_)
        accepting[[numbers[state] for state in fsm.finals]] = True
        return cls.from_characters(CharDFA(table, accepting, parts), limits or Limits())

    def __repr__(self) -> str:
        return f"<Automaton with {self.n_states:,} states, {self.table.shape[1]} classes of bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Why: unpickled arrays are writable.
        return Automaton, (self.table, self.classes, self.accepting, self.labels)

    def by_byte(self) -> Int32Array:
        """Next state by byte, -1 for none: int32, shape (n_states, 256)."""
        return self.table[:, self.classes].astype(np.int32)

    def targets(self, state: int) -> list[int]:
        """Return the next state of a state by byte, -1 for none."""
        found: list[int] = self.table[state, self.classes].tolist()
        return found

    def within(self, alphabet: BoolArray) -> "Automaton":
        """Return the automaton of the texts that use only these bytes: bool, shape (256,)."""
        n_columns = self.table.shape[1]
        excluded = np.zeros(n_columns, np.bool_)
        excluded[self.classes[~alphabet]] = True
        # PERF: most automata of a schema use no byte that a vocabulary lacks (`python -m benchmarks.serving_masks`).
        if (self.table[:, excluded] < 0).all():
            return self
        if n_columns == 256:
            table, classes = self.by_byte(), np.arange(256, dtype=np.uint8)
            table[:, ~alphabet] = DEAD
        else:
            # One more column, for the excluded bytes.
            table = np.concatenate([self.table, np.full((len(self.table), 1), DEAD, np.int32)], axis=1)
            classes = np.where(alphabet, self.classes, n_columns).astype(np.uint8)
        return Automaton.from_table(table, classes, self.accepting, self.labels)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical arrays, in hex: equal languages have equal fingerprints."""
        digest = hashlib.sha256(b"automaton 1\0%d %d\0" % self.table.shape)
        for array, dtype in ((self.table, "<i4"), (self.classes, "u1"), (self.accepting, "u1"), (self.labels, "<i4")):
            digest.update(array.astype(dtype).tobytes())
        return digest.hexdigest()

    def run(self, data: str | bytes, state: int = 0) -> int:
        """Return the state after reading ``data``, a str as UTF-8, or -1. O(len(data))."""
        data = as_bytes(data)
        reached, count = self.trace(state, data)
        return reached if count == len(data) else DEAD

    def trace(self, state: int, data: bytes) -> tuple[int, int]:
        """Read bytes as far as possible, and return (state reached, number of bytes read)."""
        table, classes = self.table, self.classes
        for count, byte in enumerate(data):
            target = int(table[state, classes[byte]])
            if target < 0:
                return state, count
            state = target
        return state, len(data)

    def is_accepting(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return bool(self.accepting[state])

    def accepts(self, data: str | bytes) -> bool:
        """Return whether the whole text, a str as UTF-8, is in the language. O(len(data))."""
        state = self.run(data)
        return state >= 0 and bool(self.accepting[state])

    def is_empty(self) -> bool:
        """Whether the language is empty."""
        return not self.accepting.any()

    def witness(self) -> bytes | None:
        """Return a shortest string of the language, the first in byte order; None if there is none. O(n k)."""
        if self.is_empty():
            return None
        distance = self.distances()
        least = {int(c): byte for byte, c in reversed(list(enumerate(self.classes.tolist())))}
        state, found = 0, bytearray()
        while distance[state]:
            onward = self.table[state]
            fits = np.flatnonzero((onward >= 0) & (distance[onward] == distance[state] - 1))
            column = min(fits.tolist(), key=least.__getitem__)
            found.append(least[column])
            state = int(onward[column])
        return bytes(found)

    def distances(self, targets: BoolArray | None = None) -> Int32Array:
        """Return the least number of bytes from each state to acceptance, or to one of ``targets``: int32, -1 for none."""
        return distances(self.table, self.accepting if targets is None else targets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Automaton):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs)
            for mine, theirs in (
                (self.table, other.table),
                (self.classes, other.classes),
                (self.accepting, other.accepting),
                (self.labels, other.labels),
            )
        )

    def __hash__(self) -> int:
        return hash((self.table.shape, self.table[:8].tobytes()))

    def __and__(self, other: "Automaton") -> "Automaton":
        return self._combine(other, "and")

    def __or__(self, other: "Automaton") -> "Automaton":
        return self._combine(other, "or")

    def __sub__(self, other: "Automaton") -> "Automaton":
        return self._combine(other, "minus")

    def __invert__(self) -> "Automaton":
        """Return the automaton of the valid UTF-8 texts outside the language."""
        return _all_texts() - self

    def _combine(self, other: "Automaton", operation: Operation) -> "Automaton":
        if not isinstance(other, Automaton):
            raise TypeError(f"expected an Automaton, not {type(other).__name__}")
        if self.labels.any() or other.labels.any():
            raise GuidedError("automata with labels cannot be combined: combine the languages first, then label")
        joint: dict[tuple[int, int], int] = {}
        pairs = zip(self.classes.tolist(), other.classes.tolist(), strict=True)
        classes = np.array([joint.setdefault(pair, len(joint)) for pair in pairs], np.uint8)
        table, accepting = product(
            (self.table, self.accepting),
            (other.table, other.accepting),
            np.array(list(joint), np.int32),
            operation,
            Limits(),
        )
        return Automaton.from_table(table, classes, accepting)


def _check_table(
    table: Int32Array, classes: "np.ndarray[Any, Any]", accepting: BoolArray, labels: Int32Array, start: int
) -> None:
    """Reject arrays that would make kernels, which check no bounds, read out of bounds."""
    if table.ndim != 2 or not table.size:
        raise ValueError(f"a table has rows for states and columns for classes, not the shape {table.shape}")
    n, k = table.shape
    shapes = {"classes": (classes, (256,)), "accepting": (accepting, (n,)), "labels": (labels, (n,))}
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {shape}")
    if classes.min() < 0 or classes.max() >= k:
        raise ValueError(f"columns run from 0 to {k - 1}, and classes names {classes.min()} to {classes.max()}")
    if table.max() >= n or not 0 <= start < n:
        raise ValueError(f"states run from 0 to {n - 1}, and the table goes to {table.max()}, the start is {start}")


@cache
def _all_texts() -> Automaton:
    """Return the automaton of all valid UTF-8 texts."""
    parts = partition([Charset.UNIVERSE])
    table = np.full((1, parts.n_classes), DEAD, np.int32)
    table[0, parts.set_classes] = 0
    return Automaton.from_characters(CharDFA(table, np.ones(1, np.bool_), parts), Limits())
