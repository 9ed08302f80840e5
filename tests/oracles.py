"""Slow and obvious definitions that fast code is compared against, one section per subject."""

from collections.abc import Sequence
from dataclasses import dataclass

# ------------------------------------------------------------------------------------------------------------ tries


@dataclass
class SlowTrie:
    """A trie as a dict from every nonempty prefix of a token to the ids of the tokens that end there."""

    ends: dict[bytes, list[int]]

    @property
    def preorder(self) -> list[bytes]:
        """The prefixes as nodes in preorder: byte strings in order, since a string sorts before its extensions."""
        return sorted(self.ends)

    def skip(self, node: int) -> int:
        """The first node after a node's subtree."""
        nodes = self.preorder
        return next((i for i in range(node, len(nodes)) if not nodes[i].startswith(nodes[node])), len(nodes))


def slow_trie(tokens: Sequence[bytes | None]) -> SlowTrie:
    """The twin of `guided.vocabulary.trie.trie_of`."""
    ends: dict[bytes, list[int]] = {}
    for token, data in enumerate(tokens):
        for length in range(1, len(data or b"") + 1):
            ends.setdefault(data[:length], [])
        if data:
            ends[data].append(token)
    return SlowTrie(ends)
