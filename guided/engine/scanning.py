"""Free text up to the first of some strings, as one deterministic automaton over characters (`scan`).

A state is the longest end of the text that begins one of the strings. Texts of thousands of strings are read by one automaton, whose size
is that of the strings.

Complexity: O(characters of all strings x different characters that strings begin with), counted against `Limits.nfa_states`.
Ref: Aho and Corasick 1975.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from guided.automata.build import spend_together
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.charset import Charset

__all__ = ["Scan", "scan"]

# Cost of an edge, in steps of a compile.
_PER_CELL = 40


class Scan(NamedTuple):
    """An automaton that ends at the first occurrence of one of some strings; state 0 is the start."""

    # Source, characters, target.
    edges: tuple[tuple[int, Charset, int], ...]
    n_states: int
    # For each state where strings end, the number of the longest. It has no edges.
    found: dict[int, int]


def scan(strings: Sequence[str], excludes: Sequence[str], limits: Limits) -> Scan:
    """Return the automaton of the texts up to the first of some strings, in which some other texts do not occur.

    Raises
    ------
    LimitError
        ``nfa_states``: the strings are too many or too long.
    """
    trie = _Trie(limits)
    for number, text in enumerate(strings):
        trie.add(text, number)
    for text in excludes:
        trie.add(text, None)
    rows = trie.rows()
    # States are numbered as they are reached.
    numbers, todo = {0: 0}, [0]
    edges: list[tuple[int, Charset, int]] = []
    found: dict[int, int] = {}
    others: dict[tuple[str, ...], Charset] = {}
    for state in todo:
        if state in trie.found:
            found[numbers[state]] = trie.found[state]
            continue
        row = rows[state]
        for target, charset in _edges(row, others):
            if target in trie.excluded:
                continue
            if target not in numbers:
                numbers[target] = len(numbers)
                todo.append(target)
            edges.append((numbers[state], charset, numbers[target]))
    return Scan(tuple(edges), len(numbers), found)


def _edges(row: dict[str, int], others: dict[tuple[str, ...], Charset]) -> Iterator[tuple[int, Charset]]:
    """Yield the targets of a state, each with its characters; ``others`` keeps sets of all characters but some."""
    for character, target in row.items():
        yield target, Charset.char(character)
    key = tuple(sorted(row))
    rest = others.get(key)
    if rest is None:
        rest = others[key] = Charset.UNIVERSE - Charset.of((ord(character), ord(character)) for character in key)
    yield 0, rest


class _Trie:
    """The trie of strings.

    Attributes
    ----------
    found : dict of int to int
        As in `Scan`, by nodes of the trie.
    excluded : set of int
        Nodes at which an excluded text ends.
    """

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.nfa_states
        self._children: list[dict[str, int]] = [{}]
        self.found: dict[int, int] = {}
        self.excluded: set[int] = set()

    def add(self, text: str, number: int | None) -> None:
        """Add a string, or an excluded text."""
        node = 0
        for character in text:
            children = self._children[node]
            node = children.setdefault(character, len(self._children))
            if node == len(self._children):
                self._children.append({})
                self._check(node)
        if number is None:
            self.excluded.add(node)
        else:
            self.found[node] = number

    def rows(self) -> list[dict[str, int]]:
        """Return for each node the next nodes that are not the root; and complete ``found`` and ``excluded`` by shorter strings."""
        children = self._children
        rows: list[dict[str, int]] = [{} for _ in children]
        # The longest proper end of a node's text that is a node, too.
        shorter, order, n_cells = [0] * len(children), [0], 0
        for node in order:
            below = rows[shorter[node]] if node else {}
            rows[node] = {**below, **children[node]}
            n_cells += len(rows[node])
            self._check(n_cells)
            spend_together(_PER_CELL * len(rows[node]))
            if node:
                # Strings that end here because they end at the node of a shorter text.
                if shorter[node] in self.excluded:
                    self.excluded.add(node)
                if shorter[node] in self.found:
                    self.found.setdefault(node, self.found[shorter[node]])
            for character, child in children[node].items():
                shorter[child] = below.get(character, 0)
                order.append(child)
        return rows

    def _check(self, count: int) -> None:
        if count > self._limit:
            raise LimitError("nfa_states", count, self._limit, "fewer, shorter or more similar strings")
