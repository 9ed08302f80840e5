"""The named parts of a text of a composition, found while it is read.

A simulation of the composition's NFA (`guided.engine.network`) with one *thread* for each way to read the text so far, in order of
precedence (`guided.engine.algebra`). Each thread has the trail of captured parts that began and ended. Of two threads at the same place
the first is kept, since both have the same future. What all threads agree on is certain, whatever follows; at the end, the first thread
that may end there gives the reading, as in ``re``.

Complexity: O(threads, and nodes of the NFA that are entered) per byte; `Limits.readings` bounds the threads, and `Limits.call_steps` the
steps of each call, and of each kilobyte of its text.
Ref: Pike's regular expression machine.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any, NamedTuple, TypeAlias

from guided.automata.steps import Steps
from guided.engine.algebra import Composition, Named, Part, Repeat
from guided.engine.located import at_place
from guided.engine.network import Leaf, Nfa, nfa_of
from guided.errors import LimitError
from guided.index.pushdown import PushdownIndex
from guided.index.reader import Reader, table_reader
from guided.limits import Limits
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import single_bytes

__all__ = ["Capture", "CaptureReader", "Captures", "list_names"]

# Steps of a thread that reads a byte, and those that each byte of a text allows besides the steps of a call.
_PER_THREAD, _PER_BYTE = 3, 24
# Marks of trails that are compared in one step.
_MARKS_PER_STEP = 8
_ADVICE = "the text can be read in too many ways"

# Opens a reader at the beginning of a leaf, and keeps its index locked meanwhile.
OpenReader: TypeAlias = Callable[[], AbstractContextManager[Reader[Any]]]


@dataclass(frozen=True, slots=True)
class Capture:
    """A part of a text: a named one, or one that the value of a name is made of."""

    part: Part
    # Span in bytes.
    begin: int
    end: int
    # Those directly within it: of an optional part, of the alternative that was read, of each repetition and each separator.
    inner: "tuple[Capture, ...]" = ()


class _Mark(NamedTuple):
    """A trail: where a captured part begins or ends, and the trail before."""

    before: "_Mark | None"
    part: Part
    is_begin: bool
    at: int


class _Thread(NamedTuple):
    """A way to read the text so far."""

    # NFA node whose leaf is being read; 1: the end of the text.
    node: int
    # The position in the leaf.
    place: Any
    trail: _Mark | None


class Captures:
    """Finds the named parts of the texts of one composition. Thread-safe.

    Raises
    ------
    LimitError, PatternError, SchemaError, GrammarError
        As `guided.compile`.
    """

    def __init__(self, spec: Composition, limits: Limits) -> None:
        self.nfa: Nfa = nfa_of(spec, limits)
        self.limits = limits
        self._stacks = {
            number: _Stack(leaf, limits) for number, leaf in enumerate(self.nfa.leaves) if leaf.automaton is None
        }
        # Why one lock: a text locks the indices of leaves in the order in which it meets them, and another text in another order.
        self._lock = new_lock(Rank.COMPOSITION)

    def reader(self) -> "CaptureReader":
        """Return a reader at the beginning of a text."""
        leaves: list[OpenReader] = []
        for number, leaf in enumerate(self.nfa.leaves):
            if leaf.automaton is None:
                leaves.append(self._stacks[number].opened())
            else:
                leaves.append(_always(table_reader(leaf.automaton)))
        return CaptureReader(self.nfa, leaves, self.limits, self._lock)


class CaptureReader:
    """Reads one text. Made by `Captures.reader`; not thread-safe."""

    def __init__(self, nfa: Nfa, leaves: list[OpenReader], limits: Limits, lock: RLock) -> None:
        self._nfa, self._leaves, self._limits, self._lock = nfa, leaves, limits, lock
        self._steps = Steps(limits.call_steps, "call_steps")
        self._at = 0
        # Parts that have certainly begun: each with its begin, and the captures within it.
        self._opened: list[tuple[int, list[Capture]]] = [(0, [])]
        self._threads: list[_Thread] = []
        with self._lock, ExitStack() as stack:
            self._enter(0, None, self._threads, set(), _Open(stack, leaves))

    def feed(self, data: bytes) -> list[Capture]:
        """Read bytes, and return the named parts that are certain now and were not before.

        Raises
        ------
        LimitError
            The text can be read in too many ways.
        """
        self._steps.begin()
        with self._lock, ExitStack() as stack:
            readers = _Open(stack, self._leaves)
            for byte in data:
                if not self._threads:
                    break
                self._steps.spent = max(0, self._steps.spent - _PER_BYTE)
                self._at += 1
                self._step(byte, readers)
        return list(self._agreed(self._threads))

    @property
    def position(self) -> int:
        """The offset of the first byte that no text of the composition has; that of the end if there is none."""
        return self._at - (not self._threads)

    def close(self) -> list[Capture] | None:
        """Return the other named parts at the end of the text; None if the text is not in the language."""
        for thread in self._threads:
            if thread.node == 1:
                return list(self._agreed([thread]))
        return None

    def _step(self, byte: int, readers: "_Open") -> None:
        self._steps.spend(_PER_THREAD * len(self._threads), _ADVICE)
        found: list[_Thread] = []
        seen: set[Any] = set()
        for node, place, trail in self._threads:
            if node == 1:
                continue
            leaf, _ = self._edge(node)
            reader = readers[leaf]
            after = reader.step(place, byte)
            if after is None:
                continue
            if (node, after) not in seen:
                seen.add((node, after))
                # The longest text of a leaf comes first.
                if reader.continues(after):
                    found.append(_Thread(node, after, trail))
                if reader.may_end(after):
                    self._enter(self._behind(node, after), trail, found, seen, readers)
            if len(found) > self._limits.readings:
                raise LimitError("readings", len(found), self._limits.readings, _ADVICE)
        self._threads = found

    def _enter(self, node: int, trail: _Mark | None, found: list[_Thread], seen: set[Any], readers: "_Open") -> None:
        """Add the threads that begin at a node, in order of precedence."""
        nfa = self._nfa
        todo = [(node, trail)]
        while todo:
            node, trail = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            self._steps.spend(1, _ADVICE)
            if node == 1:
                found.append(_Thread(1, None, trail))
                continue
            mark = nfa.marks[node]
            if mark is not None:
                trail = _Mark(trail, *mark, self._at)
            todo += [(after, trail) for after in reversed(nfa.onward[node])]
            if nfa.edges[node] is not None:
                reader = readers[self._edge(node)[0]]
                found.append(_Thread(node, reader.start, trail))
                if reader.may_end(reader.start):
                    todo.append((self._behind(node, reader.start), trail))

    def _behind(self, node: int, place: Any) -> int:
        """Return the node behind a leaf that ends at a position."""
        leaf, behind = self._edge(node)
        if len(behind) == 1:
            return behind[0]
        automaton = self._nfa.leaves[leaf].automaton
        assert automaton is not None, "leaves with a stack have one end"
        return behind[int(automaton.labels[place])]

    def _edge(self, node: int) -> tuple[int, tuple[int, ...]]:
        edge = self._nfa.edges[node]
        assert edge is not None, "threads are at edges"
        return edge

    def _agreed(self, threads: list[_Thread]) -> Iterator[Capture]:
        """Yield the parts that ended on all trails, and cut the marks that all trails share off them."""
        trails = [_marks(thread.trail) for thread in threads]
        self._steps.spend(sum(map(len, trails)) // _MARKS_PER_STEP, _ADVICE)
        count = 0
        for column in zip(*trails, strict=False):
            first = column[0]
            if any(
                mark.part is not first.part or mark.is_begin != first.is_begin or mark.at != first.at for mark in column
            ):
                break
            count += 1
            if first.is_begin:
                self._opened.append((first.at, []))
                continue
            begin, inner = self._opened.pop()
            found = Capture(first.part, begin, first.at, tuple(inner))
            if len(self._opened) > 1:
                self._opened[-1][1].append(found)
            if isinstance(first.part, Named):
                yield found
        if count:
            self._threads = [
                thread._replace(trail=_trail(marks[count:])) for thread, marks in zip(threads, trails, strict=True)
            ]


def _marks(trail: _Mark | None) -> list[_Mark]:
    """Return the marks of a trail, the first first."""
    found = []
    while trail is not None:
        found.append(trail)
        trail = trail.before
    return found[::-1]


def _trail(marks: list[_Mark]) -> _Mark | None:
    trail = None
    for mark in marks:
        trail = mark._replace(before=trail)
    return trail


class _Open:
    """The readers of leaves, opened on first use."""

    def __init__(self, stack: ExitStack, leaves: list[OpenReader]) -> None:
        self._stack, self._leaves = stack, leaves
        self._readers: dict[int, Reader[Any]] = {}

    def __getitem__(self, leaf: int) -> Reader[Any]:
        found = self._readers.get(leaf)
        if found is None:
            found = self._readers[leaf] = self._stack.enter_context(self._leaves[leaf]())
        return found


class _Stack:
    """A leaf that needs a stack, by an index over single bytes."""

    def __init__(self, leaf: Leaf, limits: Limits) -> None:
        assert leaf.lowered is not None
        self._lowered, self._limits, self._place = leaf.lowered, limits, leaf.place
        self._index = self._made()

    def _made(self) -> PushdownIndex:
        with at_place(self._place):
            lowered = self._lowered.pushdown(self._limits, bytes([1] * 256))
        # Why nothing to begin anew with: readers hold positions of the index between calls.
        return PushdownIndex(
            lowered.automaton, single_bytes(), self._limits, lowered.family, lowered.n_common, lowered.masks
        )

    def opened(self) -> OpenReader:
        """Return a function that opens a reader; all of one text read the same index."""
        if self._index.n_bytes > self._limits.growth_bytes:
            self._index = self._made()
        index = self._index
        return lambda: index.reading(index.initial)


def _always(reader: Reader[Any]) -> OpenReader:
    return lambda: nullcontext(reader)


def list_names(spec: Composition) -> dict[str, bool]:
    """Return for each name whether it may capture several parts: in a `Repeat`, or if it occurs more than once."""
    found: dict[str, bool] = {}
    todo: list[tuple[Any, bool]] = [(spec, False)]
    seen: set[tuple[int, bool]] = set()
    while todo:
        part, is_repeated = todo.pop()
        if not isinstance(part, Composition) or (id(part), is_repeated) in seen:
            continue
        seen.add((id(part), is_repeated))
        if isinstance(part, Named):
            found[part.name] = is_repeated or part.name in found
        is_repeated |= isinstance(part, Repeat) and part.max != 1
        todo += [(each, is_repeated) for each in reversed(part.parts)]
    return found
