"""`Scanner`: the terminals of all contexts of a grammar as one byte automaton.

The scanner reads a lexeme from a *start* (context, left class) until there is no next state. The lexeme ends at the last state with an
*event* on the way (``back`` characters earlier if a terminal looks ahead). If the text ends first, the *end* of the current state takes
precedence over its event. A left class summarizes the text before a lexeme for terminals that look behind.

The automaton is minimal over characters: states with equal futures, events included, are merged, whichever context they come from. States
inside a character have neither event nor end; there is no path for invalid UTF-8.

Not handled here: the parser's use of the terminals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from guided.arrays import DEAD, Int32Array, UInt8Array, freeze
from guided.automata.minimize import merged
from guided.automata.partition import INVALID, Partition, partition
from guided.automata.steps import Steps
from guided.automata.utf8 import to_bytes
from guided.caching import cached_property
from guided.errors import GrammarError, PatternError
from guided.lalr.ordered import Event, Keyword, Ordered, determinize_in_order
from guided.lalr.program import program_of
from guided.lalr.tables import Lexer, Terminal
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse_in_order
from guided.patterns.source import Intervals
from guided.patterns.tree import Chars, Concat, Literal, Node

__all__ = ["NOTHING", "Scanner", "leading", "scanner_of", "sources_of", "spelling_of", "terminal_tree", "tuples"]

NOTHING = -1


@dataclass(frozen=True, eq=False)
class Scanner:
    """The automaton of a lexer.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by byte column, or DEAD.
    classes : ndarray[uint8], shape (256,)
        Column of each byte.
    events, ends : ndarray[int32], shape (n_states, 3)
        The match reached in a state, and the match if the text ends there: label (a terminal, or ``ignored``;
        ``NOTHING`` for none), number of characters read since its end, left class at its end.
    starts : ndarray[int32], shape (n_contexts, n_lefts)
        First state of a lexeme; DEAD if no terminal can start.
    first_left : int
        Left class at the start of a text.
    ignored : int
        The label of ignored text.
    examples : tuple of bytes
        One character of each class of characters that the terminals distinguish; all characters of a class behave alike.
    n_runs : int
        Number of left classes per left class of the unbounded scanner, one for each count of preceding ignored characters
        (`guided.lalr.bounded`).
    is_scannerless : bool
        As in `Lexer`: every event on the way may be the end of the lexeme.
    """

    table: Int32Array
    classes: UInt8Array
    events: Int32Array
    ends: Int32Array
    starts: Int32Array
    first_left: int
    ignored: int
    examples: tuple[bytes, ...] = ()
    n_runs: int = 1
    is_scannerless: bool = False

    @cached_property
    def rows(self) -> list[tuple[int, ...]]:
        """The table. PERF: Python does not search tuples of numbers for garbage, as it does lists (`python -m benchmarks.grammars`)."""
        return tuples(self.table)

    @cached_property
    def may_continue(self) -> list[bool]:
        """By state: whether a lexeme may continue from it, or match at the end of the text."""
        found: list[bool] = ((self.table >= 0).any(axis=1) | (self.ends[:, 0] != NOTHING)).tolist()
        return found

    @cached_property
    def sources(self) -> list[tuple[int, ...]]:
        """By state: the states with an edge to it."""
        return sources_of(self.rows)

    @cached_property
    def labels(self) -> list[int]:
        """By state: the labels that a lexeme may get there or later, as bits."""
        pairs = zip(self.events[:, 0].tolist(), self.ends[:, 0].tolist(), strict=True)
        return leading(self.sources, [sum({1 << label for label in pair if label != NOTHING}) for pair in pairs])

    @cached_property
    def tails(self) -> list[int]:
        """By state: how many of the last whole characters an event there or later may look back at; -1 if none does."""
        # States inside a character, and no others, read bytes that continue one.
        is_within: list[bool] = np.any(self.table[:, np.unique(self.classes[0x80:0xC0])] >= 0, axis=1).tolist()
        found: list[int] = np.maximum(self.events[:, 1], self.ends[:, 1]).tolist()
        found = [back or -1 for back in found]
        work = [state for state, count in enumerate(found) if count > 0]
        while work:
            state = work.pop()
            # A character counts only once it is complete, in a state between characters.
            before = found[state] - (not is_within[state])
            for source in self.sources[state]:
                if before >= (not is_within[source]) and found[source] < before:
                    found[source] = before
                    work.append(source)
        return found

    def within(self, alphabet: bytes) -> "Scanner":
        """Return the scanner restricted to bytes with a 1 in `alphabet` (length 256), up to bytes that share a column."""
        if all(alphabet):
            return self
        is_open = np.zeros(self.table.shape[1], np.bool_)
        is_open[self.classes[np.flatnonzero(np.frombuffer(alphabet, np.uint8))]] = True
        examples = tuple(one for one in self.examples if is_open[self.classes[list(one)]].all())
        table = np.where(is_open, self.table, DEAD).astype(np.int32)
        return replace(self, table=freeze(table), examples=examples)

    def after(self, character: bytes) -> Int32Array:
        """Return the state that each state reaches with a character: int32, shape (n_states,)."""
        moved = np.arange(len(self.table), dtype=np.int32)
        for byte in character:
            moved = np.where(moved >= 0, self.table[moved, self.classes[byte]], DEAD).astype(np.int32)
        return moved

    def by_example(self) -> Int32Array:
        """Return the state that each state reaches with each of the examples: int32, shape (n_states, n_examples)."""
        columns = [self.after(example) for example in self.examples]
        # There are no examples if tokens encode no single byte.
        return np.ascontiguousarray(np.array(columns, np.int32).reshape(len(columns), len(self.table)).T)

    def match(self, data: bytes, position: int, context: int, left: int) -> tuple[int, int, int] | None:
        """Return the lexeme at a position of a whole text: label, end, and the left class there; None if there is none.

        Reference implementation of the arrays' meaning in plain Python. O(len(data)).
        """
        state, last = int(self.starts[context, left]), None
        for i in range(position, len(data)):
            state = int(self.table[state, self.classes[data[i]]]) if state >= 0 else DEAD
            if state < 0:
                break
            if self.events[state, 0] != NOTHING:
                last = self.events[state].tolist(), i + 1
        else:
            if state >= 0 and position < len(data) and self.ends[state, 0] != NOTHING:
                last = self.ends[state].tolist(), len(data)
        if last is None:
            return None
        (label, back, after), end = last
        return (
            label,
            end - sum(map(len, (char.encode() for char in data[:end].decode()[-back:]))) if back else end,
            after,
        )


def scanner_of(lexer: Lexer, limits: Limits, steps: Steps | None = None) -> Scanner:
    """Build the scanner of a lexer.

    Parameters
    ----------
    lexer : Lexer
    limits : Limits
    steps : Steps, optional
        Counter to continue.

    Raises
    ------
    GrammarError
        A terminal's pattern uses a feature that no automaton supports.
    LimitError
        A budget is exceeded.
    """
    steps, intervals = steps or Steps(limits.steps), Intervals(limits.intervals)
    trees = [terminal_tree(terminal, limits, intervals) for terminal in lexer.terminals]
    words = [(owner, word, spelling_of(trees[word])) for owner, word in lexer.keywords]
    program = program_of(trees, limits, steps)
    numbers = {charset: number for number, charset in enumerate(program.charsets)}
    keywords = [
        Keyword(owner, word, tuple(numbers[charset] for charset in spelling)) for owner, word, spelling in words
    ]
    parts = partition(program.charsets, limits)
    ordered = determinize_in_order(program, parts, lexer, keywords, limits, steps)
    table, events, ends, starts, first_left = _minimized(ordered, len(lexer.contexts))
    rows, classes, _ = to_bytes(table, np.zeros(len(table), np.bool_), parts, limits, steps)
    inside = np.full((len(rows) - len(table), 3), (NOTHING, 0, 0), np.int32)
    return Scanner(
        freeze(rows),
        freeze(classes),
        freeze(np.concatenate([events, inside])),
        freeze(np.concatenate([ends, inside])),
        freeze(starts),
        first_left,
        lexer.label_of_ignored,
        _examples(parts),
        is_scannerless=lexer.is_scannerless,
    )


def _examples(parts: Partition) -> tuple[bytes, ...]:
    classes, first = np.unique(parts.classes, return_index=True)
    return tuple(chr(code).encode() for code in parts.starts[first[classes != INVALID]].tolist())


def tuples(array: Int32Array) -> list[tuple[int, ...]]:
    """Return the rows of an array."""
    return list(map(tuple, array.tolist()))


def sources_of(rows: Sequence[Iterable[int]]) -> list[tuple[int, ...]]:
    """Return, per state, the states with an edge to it, ascending; ``rows``: the targets of each state, or DEAD."""
    found: list[list[int]] = [[] for _ in rows]
    for state, row in enumerate(rows):
        for target in set(row) - {DEAD}:
            found[target].append(state)
    return list(map(tuple, found))


def leading(sources: Sequence[Iterable[int]], own: Sequence[int]) -> list[int]:
    """Propagate bits backwards: return, per state, the union of `own` over all states reachable from it."""
    found = list(map(int, own))
    work = [state for state, bits in enumerate(found) if bits]
    while work:
        state = work.pop()
        for source in sources[state]:
            if found[state] & ~found[source]:
                found[source] |= found[state]
                work.append(source)
    return found


def terminal_tree(terminal: Terminal, limits: Limits, intervals: Intervals | None = None) -> Node:
    """Parse a terminal's pattern; ``intervals`` is a counter to continue.

    Raises
    ------
    GrammarError
        The pattern is invalid or uses a feature that no automaton supports.
    """
    try:
        return parse_in_order(terminal.pattern, terminal.flags, limits, intervals)
    except PatternError as error:
        raise GrammarError(
            f"{error.reason}, at position {error.position} of /{terminal.pattern}/", terminal.name
        ) from None


def spelling_of(tree: Node) -> list[Charset]:
    """Return the sequence of character sets of a string terminal."""
    found: list[Charset] = []
    work = [tree]
    while work:
        match work.pop():
            case Literal(text):
                found.extend(map(Charset.char, text))
            case Chars(charset):
                found.append(charset)
            case Concat(items):
                work.extend(reversed(items))
            case node:
                raise TypeError(f"not a node of a string's tree: {type(node).__name__}")
    return found


def _minimized(ordered: Ordered, n_contexts: int) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array, int]:
    """Return table over classes, events, ends, starts and first left class of the minimal automaton.

    Left contexts start as one class and are split where starts, or events followed by different starts, distinguish them, until stable.
    """
    left_class = [0] * ordered.n_lefts
    n_classes = 1
    while True:
        representatives = [left_class.index(number) for number in range(n_classes)]
        lefts = representatives if n_classes == ordered.n_lefts else range(ordered.n_lefts)
        entries = [ordered.starts[context, left] for context in range(n_contexts) for left in lefts]
        table, events, ends, starts = _merged(ordered, entries, left_class)
        starts = starts.reshape(n_contexts, len(lefts))
        classes: dict[tuple[int, ...], int] = {}
        refined = [classes.setdefault(tuple(column), len(classes)) for column in starts.T.tolist()]
        if len(classes) == n_classes or len(lefts) == n_classes:
            return table, events, ends, starts[:, representatives], left_class[ordered.first_left]
        left_class, n_classes = refined, len(classes)


def _merged(
    ordered: Ordered, entries: list[int], left_class: list[int]
) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array]:
    """Return the minimal automaton with many entries: table, events, ends, and the entries' states."""
    labels: dict[tuple[int, ...], int] = {}
    items = [
        (*_named(event, left_class), *_named(end, left_class))
        for event, end in zip(ordered.events, ordered.ends, strict=True)
    ]
    label = np.array([labels.setdefault(item, len(labels)) for item in items], np.int32)
    matches = np.array(list(labels), np.int32)
    has_match = (matches[:, ::3] != NOTHING).any(axis=1)
    table, _, label, number = merged(np.array(ordered.rows, np.int32), has_match[label], label)
    events, ends = np.ascontiguousarray(matches[label].reshape(-1, 2, 3).swapaxes(0, 1))
    return table, events, ends, number[entries]


def _named(event: Event | None, left_class: list[int]) -> tuple[int, int, int]:
    return (NOTHING, 0, 0) if event is None else (event.label, event.back, left_class[event.left])
