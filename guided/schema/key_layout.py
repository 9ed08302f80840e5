"""Labels of the keys of an object as sets of bits, so that hundreds of names are looked at together.

Complexity: O(names) operations on sets of labels, once for each table of keys.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from guided.schema.objects import KeyTable

__all__ = ["KeyLayout"]


class KeyLayout(NamedTuple):
    """The labels of a table of keys that are possible, as bits.

    Attributes
    ----------
    possible : int
    by_patterns : list of int
        Those of which the same patterns hold, together.
    labels, after : list of int
        Of each name its label; labels of the names after it that the schema puts in an order.
    """

    possible: int
    by_patterns: list[int]
    labels: list[int]
    after: list[int]

    @classmethod
    def of(cls, table: KeyTable) -> "KeyLayout":
        """The layout of a table."""
        by_patterns: dict[int, int] = {}
        labels, after = [0] * len(table.names), [0] * len(table.names)
        for label in table.possible:
            index, bits = table.labels[label]
            by_patterns[bits] = by_patterns.get(bits, 0) | 1 << label
            if index >= 0:
                labels[index] = 1 << label
        later = 0
        for index in reversed(range(table.n_ordered)):
            after[index] = later
            later |= labels[index]
        return cls(sum(1 << label for label in table.possible), list(by_patterns.values()), labels, after)

    def groups(self, spoken_of: Sequence[int], *, is_ordered: bool) -> Iterator[int]:
        """Labels as good as each other where only the names at some places, ascending, are spoken of; those each by itself."""
        left = self.possible
        for index in spoken_of:
            left &= ~self.labels[index]
        # Why these first: what they ask is mostly asked again of each name that is spoken of, and then it is known.
        for alike in self.by_patterns:
            rest = left & alike
            # Why from the end: names beyond those that are ordered are as good as names before all others.
            for index in reversed(spoken_of if is_ordered else ()):
                later = rest & self.after[index]
                if later:
                    yield later
                    rest ^= later
            if rest:
                yield rest
        yield from (self.labels[index] for index in spoken_of if self.labels[index])
