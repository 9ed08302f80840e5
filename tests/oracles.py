"""Slow and obvious definitions that fast code is compared against, one section per subject."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from guided.patterns.tree import (
    Alternate,
    Chars,
    Complement,
    Concat,
    Intersect,
    Literal,
    Look,
    Node,
    Repeat,
)

# ------------------------------------------------------------------------------------------------------------ tries


@dataclass
class SlowTrie:
    """A trie as a dict from every nonempty prefix of a token to the ids of the tokens that end there."""

    ends: dict[bytes, list[int]]

    @property
    def preorder(self) -> list[bytes]:
        """The prefixes as nodes in preorder: byte strings in order, since a string sorts before its extensions."""
        return sorted(self.ends)

    @property
    def skips(self) -> list[int]:
        """By node, the first node after its subtree."""
        nodes = self.preorder
        return [
            next((i for i in range(first, len(nodes)) if not nodes[i].startswith(node)), len(nodes))
            for first, node in enumerate(nodes)
        ]


def slow_trie(tokens: Sequence[bytes | None]) -> SlowTrie:
    """The twin of `guided.vocabulary.trie.trie_of`."""
    ends: dict[bytes, list[int]] = {}
    for token, data in enumerate(tokens):
        for length in range(1, len(data or b"") + 1):
            ends.setdefault(data[:length], [])
        if data:
            ends[data].append(token)
    return SlowTrie(ends)


# --------------------------------------------------------------------------------------------------------- patterns


def matches(node: Node, text: str) -> bool:
    """Whether a whole text is in the language of a tree: the definition that `guided.patterns.tree` gives, word by word."""
    return len(text) in _Spans(text).ends(node, 0)


class _Spans:
    """Which spans of one text the nodes of a tree match. Recursive and memoized; for small trees and short texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[tuple[Node, int], frozenset[int]] = {}

    def ends(self, node: Node, start: int) -> frozenset[int]:
        """The ends of all spans from ``start`` that the node matches."""
        if (node, start) not in self.known:
            self.known[node, start] = frozenset(self._ends(node, start))
        return self.known[node, start]

    def _ends(self, node: Node, start: int) -> Iterable[int]:
        text, places = self.text, range(start, len(self.text) + 1)
        match node:
            case Literal(literal):
                return [start + len(literal)] if text.startswith(literal, start) else []
            case Chars(charset):
                return [start + 1] if start < len(text) and text[start] in charset else []
            case Concat(items):
                reached = frozenset([start])
                for item in items:
                    reached = self._step(item, reached)
                return reached
            case Alternate(items):
                return frozenset().union(*(self.ends(item, start) for item in items))
            case Repeat(item, minimum, maximum):
                return self._repeat(item, minimum, maximum, start)
            case Look(item, behind, negative):
                if behind:
                    found = any(start in self.ends(item, earlier) for earlier in range(start + 1))
                else:
                    found = bool(self.ends(item, start))
                return [start] if found != negative else []
            case Intersect(items):
                return [end for end in places if all(matches(item, text[start:end]) for item in items)]
            case Complement(item):
                return [end for end in places if not matches(item, text[start:end])]
        raise TypeError(node)

    def _step(self, item: Node, starts: frozenset[int]) -> frozenset[int]:
        return frozenset().union(*(self.ends(item, start) for start in starts))

    def _repeat(self, item: Node, minimum: int, maximum: int | None, start: int) -> frozenset[int]:
        # Positions only move forward, so after some turns the positions reached by exactly n turns stay the same.
        reached, turns = frozenset([start]), 0
        while turns < minimum:
            further = self._step(item, reached)
            if further == reached:
                turns = minimum
                break
            reached, turns = further, turns + 1
        everything = reached
        while maximum is None or turns < maximum:
            reached = self._step(item, reached)
            if reached <= everything:
                break
            everything, turns = everything | reached, turns + 1
        return everything
