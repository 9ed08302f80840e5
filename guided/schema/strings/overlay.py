r"""A finite set of texts overlaid on an automaton of JSON strings: the texts get their own states, and nothing else changes.

Every node of the texts' trie *shadows* the automaton state that the node's bytes lead to. Its row is that state's row, overridden by the
node's children. So any text that leaves the trie is back in the automaton. The caller may change whether the end state of a text accepts
and its label: property names among all other keys, values of an enum, values that a ``not`` excludes.

The trie is over bytes of spellings. With one spelling per text it is built by kernels. With several (`ANY`, or control characters whose
escapes contain letters) it is a graph in which all spellings of a character lead to one node.

Complexity: O(bytes of all spellings) and one row per node.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from json.encoder import encode_basestring

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.automaton import Automaton
from guided.errors import LimitError
from guided.kernels.overlay import follow
from guided.kernels.trie import build_trie
from guided.limits import Limits
from guided.schema.strings.spelling import Spelling, spelling_of, unwritable

__all__ = ["EXCHANGED", "Overlay", "canonical_body", "has_one_body", "overlay", "shortest_body", "spellings_of"]

_SEVERAL = re.compile("[\x0b\x0e\x0f\x1a-\x1f]")
EXCHANGED = {ord("'"): '"', ord('"'): "'"}
# Characters with several spellings; under "any" every character has several.
_SEVERAL_OF = {"canonical": _SEVERAL, "single": _SEVERAL, "dumps": re.compile("[^ -~]")}


@dataclass(frozen=True, slots=True)
class Overlay:
    """A table that is not yet minimal: the automaton's states, then the texts' own.

    Attributes
    ----------
    table : ndarray[int32], shape (n_states, n_columns)
    classes : ndarray[uint8], shape (256,)
    accepting : ndarray[bool], labels : ndarray[int32], shape (n_states,)
        Copied from the automaton, writable.
    start : int
    ends : ndarray[int32], shape (n_texts,)
        The state in which each text ends.
    """

    table: Int32Array
    classes: UInt8Array
    accepting: BoolArray
    labels: Int32Array
    start: int
    ends: Int32Array


@dataclass(frozen=True, slots=True)
class _Trie:
    """Edges between nodes (0 is the root), and the state that each node shadows (-1: none)."""

    source: Int32Array
    byte: UInt8Array
    target: Int32Array
    shadow: Int32Array
    ends: Int32Array


def canonical_body(text: str, quote: str = '"') -> bytes:
    """Return the canonical spelling of a text between some quotes, with hexadecimal digits in lower case."""
    if quote == '"':
        return encode_basestring(text)[1:-1].encode()
    return encode_basestring(text.translate(EXCHANGED))[1:-1].translate(EXCHANGED).encode()


def shortest_body(text: str, escapes: str | tuple[str, ...], quote: str = '"') -> bytes:
    """Return the shortest spelling of a text under an option, which writes each of its characters."""
    if isinstance(escapes, str):
        return canonical_body(text, quote)
    spelling = spelling_of(escapes)
    return b"".join(bytes(byte for byte, _ in spellings_of(character, spelling)[0]) for character in text)


def has_one_body(texts: Sequence[str], escapes: str | tuple[str, ...]) -> bool:
    """Return whether each text has only its canonical spelling under an option."""
    text = "".join(texts)
    if isinstance(escapes, str):
        several = _SEVERAL_OF.get(escapes)
        return several is not None and several.search(text) is None
    others = {*unwritable(escapes), *(("/",) if "/" in escapes else ())}
    return "u" not in escapes and others.isdisjoint(text)


def overlay(base: Automaton, texts: Sequence[str], spelling: Spelling, limits: Limits) -> Overlay:
    """Overlay texts (distinct, without surrogates, and each with a spelling) on an automaton of JSON strings in the same spelling.

    Raises
    ------
    LimitError
        ``nfa_states`` (by characters of the texts), ``states`` or ``transitions`` of ``limits`` is exceeded.
    """
    total = sum(map(len, texts))
    if total > limits.nfa_states:
        raise LimitError("nfa_states", total, limits.nfa_states, "use fewer or shorter texts")
    is_simple = any(spelling is spelling_of(name) and has_one_body(texts, name) for name in _SEVERAL_OF)
    trie = _bytes_trie(base, texts, spelling.quote) if is_simple else _graph(base, texts, spelling, limits)
    n, n_nodes = base.n_states, len(trie.shadow)
    used = np.unique(trie.byte)
    if n + n_nodes > limits.states:
        raise LimitError("states", n + n_nodes, limits.states, "use fewer or shorter texts")
    width = base.table.shape[1] + len(used)
    if (n + n_nodes) * width > limits.transitions:
        raise LimitError("transitions", (n + n_nodes) * width, limits.transitions, "use fewer or shorter texts")
    # Columns: the automaton's, then one per byte of the texts.
    columns = np.concatenate([np.arange(base.table.shape[1]), base.classes[used]])
    classes = base.classes.copy()
    classes[used] = np.arange(len(columns) - len(used), len(columns))
    table = np.empty((n + n_nodes, len(columns)), np.int32)
    np.take(base.table, columns, axis=1, out=table[:n])
    table[n:] = table[trie.shadow]
    table[n:][trie.shadow < 0] = DEAD
    table[n + trie.source, classes[trie.byte]] = n + trie.target
    is_live = trie.shadow >= 0
    accepting = np.concatenate([base.accepting, base.accepting[trie.shadow] & is_live])
    labels = np.concatenate([base.labels, np.where(is_live, base.labels[trie.shadow], 0).astype(np.int32)])
    return Overlay(table, classes, accepting, labels, n, (n + trie.ends).astype(np.int32))


def _bytes_trie(base: Automaton, texts: Sequence[str], quote: str) -> _Trie:
    bodies = [canonical_body(text, quote) for text in texts]
    order = sorted(range(len(bodies)), key=bodies.__getitem__)
    ordered = [bodies[i] for i in order if bodies[i]]
    ends = np.zeros(len(bodies), np.int32)
    data = np.frombuffer(b"".join(ordered), np.uint8)
    size = len(data)
    offsets = np.fromiter(accumulate(map(len, ordered), initial=0), np.int64, len(ordered) + 1)
    byte, depth, skip = np.empty(size, np.uint8), np.empty(size, np.int32), np.empty(size, np.int32)
    last, path = np.empty(len(ordered), np.int32), np.empty(max(map(len, ordered), default=0), np.int32)
    n = int(build_trie(data, offsets, byte, depth, skip, last, path))
    ends[[i for i in order if bodies[i]]] = last + 1
    parent, shadow = np.empty(n, np.int32), np.empty(n, np.int32)
    follow(byte[:n], depth[:n], base.table, base.classes, path, parent, shadow)
    nodes = np.arange(1, n + 1, dtype=np.int32)
    return _Trie(parent + 1, byte[:n], nodes, np.append(np.zeros(1, np.int32), shadow), ends)


def _graph(base: Automaton, texts: Sequence[str], spelling: Spelling, limits: Limits) -> _Trie:
    onward: dict[tuple[int, str], int] = {}
    inside: dict[tuple[int, int], int] = {}
    edges: dict[tuple[int, int], int] = {}
    shadow, ends = [0], []
    table, classes = base.table, base.classes

    def new(state: int, byte: int) -> int:
        shadow.append(int(table[state, classes[byte]]) if state >= 0 else DEAD)
        return len(shadow) - 1

    for text in texts:
        node = 0
        for character in text:
            if len(shadow) > limits.states:
                raise LimitError("states", len(shadow), limits.states, "use fewer or shorter texts")
            target = onward.get((node, character), DEAD)
            if target < 0:
                for path in spellings_of(character, spelling):
                    here = node
                    for byte, other in path[:-1]:
                        found = inside.get((here, byte))
                        if found is None:
                            found = inside[here, byte] = new(shadow[here], byte)
                            edges[here, byte] = edges[here, other] = found
                        here = found
                    byte, other = path[-1]
                    if target < 0:
                        target = onward[node, character] = new(shadow[here], byte)
                    edges[here, byte] = edges[here, other] = target
            node = target
        ends.append(node)
    keys = np.array(list(edges), np.int32).reshape(-1, 2)
    return _Trie(
        keys[:, 0],
        keys[:, 1].astype(np.uint8),
        np.fromiter(edges.values(), np.int32, len(edges)),
        np.array(shadow, np.int32),
        np.array(ends, np.int32),
    )


@lru_cache(maxsize=4096)
def spellings_of(character: str, spelling: Spelling) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the spellings of a character as pairs of bytes, the second in the other case if either case is allowed."""
    short = [escape for known, escape in spelling.short if known == character]
    is_raw = character >= " " and character not in (spelling.quote, "\\")
    found = [tuple((byte, byte) for byte in text.encode()) for text in ([character] if is_raw else []) + short]
    if character in spelling.escaped:
        units = character.encode("utf-16-be").hex()
        parts = [units[:4]] if len(units) == 4 else [units[:4], units[4:]]
        digits = [(ord(digit), ord(digit.upper())) for part in parts for digit in part]
        begin = ((0x5C, 0x5C), (ord("u"), ord("u")))
        found.append((*begin, *digits[:4], *((*begin, *digits[4:]) if len(parts) == 2 else ())))
    return tuple(found)
