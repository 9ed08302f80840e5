"""`Scanner`: the terminals of all contexts of a grammar as one automaton over bytes, and what its states say.

The scanner reads a lexeme from a *start* (context, left class) until no next state is left; the last state with an *event* on the way is
where the lexeme ends (``back`` characters before, where a terminal looks ahead). Where the text ends first, the *end* of the state
at hand counts before its event. A left class is what the text before a lexeme means to the terminals that look behind.

States are minimal over characters: two whose futures are equal, events included, are one, whichever context they come from. The states
after them, inside characters, have neither event nor end; invalid UTF-8 has no way through.

Not here: what a parser does with the terminals.
"""

from dataclasses import dataclass, replace

import numpy as np

from guided.arrays import DEAD, Int32Array, UInt8Array, freeze
from guided.automata.minimize import minimal
from guided.automata.partition import INVALID, Partition, partition
from guided.automata.utf8 import to_bytes
from guided.errors import GrammarError, PatternError
from guided.lalr.ordered import Context, Event, Keyword, Ordered, determinize_in_order
from guided.lalr.program import program_of
from guided.lalr.terminals import Lexer, Terminal
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse_in_order
from guided.patterns.tree import Chars, Concat, Literal, Node

__all__ = ["NOTHING", "Scanner", "scanner_of", "terminal_tree"]

NOTHING = -1
# Trees of starts have at least so many branches.
_FEWEST = 16


@dataclass(frozen=True, slots=True, eq=False)
class Scanner:
    """The automaton of a lexer.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
        Next state by column of bytes, or DEAD.
    classes : ndarray[uint8], shape (256,)
        Column of each byte.
    events, ends : ndarray[int32], shape (n_states, 3)
        The match met in a state, and the match if the text ends there: label (a terminal; their number: text that is ignored; ``NOTHING``:
        none), characters read since its end, left class at its end.
    starts : ndarray[int32], shape (n_contexts, n_lefts)
        First state of a lexeme; DEAD where no terminal can begin.
    first_left : int
        Left class at the begin of a text.
    n_terminals : int
    examples : tuple of bytes
        One character of each class of characters that the terminals tell apart: any other one does what one of these does.
    n_runs : int
        Left classes that stand for one in a text without a bound of ignored text (`guided.lalr.bounded`), by the ignored characters before.
    """

    table: Int32Array
    classes: UInt8Array
    events: Int32Array
    ends: Int32Array
    starts: Int32Array
    first_left: int
    n_terminals: int
    examples: tuple[bytes, ...] = ()
    n_runs: int = 1

    def within(self, alphabet: bytes) -> "Scanner":
        """The scanner of texts without the bytes that have no 1 in an alphabet of 256, as far as it tells these from others."""
        if all(alphabet):
            return self
        is_open = np.zeros(self.table.shape[1], np.bool_)
        is_open[self.classes[np.flatnonzero(np.frombuffer(alphabet, np.uint8))]] = True
        examples = tuple(one for one in self.examples if is_open[self.classes[list(one)]].all())
        table = np.where(is_open, self.table, DEAD).astype(np.int32)
        return replace(self, table=freeze(table), examples=examples)

    def match(self, data: bytes, position: int, context: int, left: int) -> tuple[int, int, int] | None:
        """The lexeme at a place of a whole text: label, where it ends, and the left class there; None where there is none.

        What the arrays mean, in plain Python. O(len(data)).
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


def scanner_of(lexer: Lexer, limits: Limits) -> Scanner:
    """The scanner of a lexer.

    Raises
    ------
    GrammarError
        A terminal's pattern asks for what no automaton can do.
    LimitError
        A budget is passed.
    """
    trees = [terminal_tree(terminal, limits) for terminal in lexer.terminals]
    words = [(owner, word, _characters(trees[word])) for owner, word in lexer.keywords]
    program = program_of(trees, limits)
    numbers = {charset: number for number, charset in enumerate(program.charsets)}
    keywords = [
        Keyword(owner, word, tuple(numbers[charset] for charset in spelling)) for owner, word, spelling in words
    ]
    contexts = [Context(context.terminals, context.keywords) for context in lexer.contexts]
    names = [terminal.name for terminal in lexer.terminals]
    parts = partition(program.charsets, limits)
    ordered = determinize_in_order(program, parts, contexts, keywords, lexer.ignored, names, limits)
    table, events, ends, starts, first_left = _minimized(ordered, len(contexts))
    rows, classes, _ = to_bytes(table, np.zeros(len(table), np.bool_), parts, limits)
    inside = np.full((len(rows) - len(table), 3), (NOTHING, 0, 0), np.int32)
    return Scanner(
        freeze(rows),
        freeze(classes),
        freeze(np.concatenate([events, inside])),
        freeze(np.concatenate([ends, inside])),
        freeze(starts),
        first_left,
        len(trees),
        _examples(parts),
    )


def _examples(parts: Partition) -> tuple[bytes, ...]:
    classes, first = np.unique(parts.classes, return_index=True)
    return tuple(chr(code).encode() for code in parts.starts[first[classes != INVALID]].tolist())


def terminal_tree(terminal: Terminal, limits: Limits) -> Node:
    """What a terminal's pattern says.

    Raises
    ------
    GrammarError
        It asks for what no automaton can do.
    """
    try:
        return parse_in_order(terminal.pattern, terminal.flags, limits)
    except PatternError as error:
        raise GrammarError(
            f"{error.reason}, at position {error.position} of /{terminal.pattern}/", terminal.name
        ) from None


def _characters(tree: Node) -> list[Charset]:
    """The sets of characters, one after the other, of a string terminal."""
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
    """Table over classes, events, ends, starts and first left class of the minimal automaton.

    Left contexts are one class unless starts tell them apart, or events after which starts do: the classes are refined until they hold.
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
    """The minimal automaton with many entries: table, events, ends, and the entries' states.

    Above the entries stands a tree of states, so that one start reaches them all; it is cut off again.
    """
    rows = np.array(ordered.rows, np.int32)
    n, n_classes = rows.shape
    width = max(n_classes, _FEWEST)
    labels: dict[tuple[int, ...], int] = {}
    said = [
        (*_named(event, left_class), *_named(end, left_class))
        for event, end in zip(ordered.events, ordered.ends, strict=True)
    ]
    label = [labels.setdefault(item, len(labels)) for item in said]
    accepting = [item[0] != NOTHING or item[3] != NOTHING for item in said]
    levels = [entries]
    tree: list[list[int]] = []
    while len(levels[-1]) > 1 or len(levels) == 1:
        parents = []
        for first in range(0, len(levels[-1]), width):
            parents.append(n + len(tree))
            tree.append(levels[-1][first : first + width])
        levels.append(parents)
    full = np.full((n + len(tree), width), DEAD, np.int32)
    full[:n, :n_classes] = rows
    for number, children in enumerate(tree):
        full[n + number, : len(children)] = children
    first_above = len(labels)
    all_labels = np.array([*label, *range(first_above, first_above + len(tree))], np.int32)
    final = np.array([*accepting, *[False] * len(tree)], np.bool_)
    table, _, kept = minimal(full, final, all_labels, n + len(tree) - 1)
    n_above = int((kept >= first_above).sum())
    states = [0]
    for level in reversed(levels[:-1]):
        states = [
            int(table[states[i // width], i % width]) if states[i // width] >= 0 else DEAD for i in range(len(level))
        ]
    by_label = np.array(list(labels), np.int32).reshape(-1, 6)
    found = by_label[kept[n_above:]]
    own = table[n_above:, :n_classes]
    own = np.where(own >= 0, own - n_above, DEAD).astype(np.int32)
    moved = np.array([state - n_above if state >= 0 else DEAD for state in states], np.int32)
    return np.ascontiguousarray(own), np.ascontiguousarray(found[:, :3]), np.ascontiguousarray(found[:, 3:]), moved


def _named(event: Event | None, left_class: list[int]) -> tuple[int, int, int]:
    return (NOTHING, 0, 0) if event is None else (event.label, event.back, left_class[event.left])
