"""Labels of the keys of an object as bit sets, so that hundreds of names are processed together.

Complexity: O(names) operations on sets of labels, once for each key table.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from guided.schema.values.key_table import KeyTable

__all__ = ["KeyLayout"]


class KeyLayout(NamedTuple):
    """The spellable labels of a key table, as bits.

    Attributes
    ----------
    spellable : int
    by_patterns : list of int
        The spellable labels, grouped by the patterns that match.
    labels, after : list of int
        By name: its label, and the labels of the ordered names after it.
    """

    spellable: int
    by_patterns: list[int]
    labels: list[int]
    after: list[int]

    @classmethod
    def of(cls, table: KeyTable) -> "KeyLayout":
        """Return the layout of a key table."""
        by_patterns: dict[int, int] = {}
        labels, after = [0] * len(table.names), [0] * len(table.names)
        for label in table.spellable:
            index, bits = table.labels[label]
            by_patterns[bits] = by_patterns.get(bits, 0) | 1 << label
            if index >= 0:
                labels[index] = 1 << label
        later = 0
        for index in reversed(range(table.n_ordered)):
            after[index] = later
            later |= labels[index]
        return cls(sum(1 << label for label in table.spellable), list(by_patterns.values()), labels, after)

    def groups(self, mentioned: Sequence[int]) -> Iterator[int]:
        """Yield sets of interchangeable labels, if formulas mention only the names at the given ascending indices; each of these alone."""
        left = self.spellable
        for index in mentioned:
            left &= ~self.labels[index]
        # Why these first: their goals mostly recur for each mentioned name, and are then in the table.
        for group in self.by_patterns:
            rest = left & group
            # Why from the end: unordered names are interchangeable with the ordered names before the first mentioned one.
            for index in reversed(mentioned):
                later = rest & self.after[index]
                if later:
                    yield later
                    rest ^= later
            if rest:
                yield rest
        yield from (self.labels[index] for index in mentioned if self.labels[index])
