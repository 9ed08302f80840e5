"""`Relations`: hash-consed binary relations on a small set (terminals or lookaheads), with cached operations.

A relation is *blocks* and *through*. Blocks are pairs (image, begin) of sets, as bits: each member of ``begin`` is related to all members
of ``image`` and to nothing else; the begins of a relation are disjoint and its images differ. The relations of a grammar have few blocks,
because most terminals behave alike. Each member of ``through`` is related to itself: that is what an empty derivation does. It is kept
apart, because a block for each would be many.

Complexity: O(blocks of one * blocks of the other) for a new operation, a look-up for a repeated one.
"""

from guided.automata.steps import Steps

__all__ = ["EMPTY", "Relations"]

# Image -> begin, as bits.
_Blocks = dict[int, int]
# Number of the empty relation.
EMPTY = 0
_STEP_COST, _WIDE = 20, 4096


class Relations:
    """The relations created so far.

    Parameters
    ----------
    steps : Steps
        Budget spent by each new result.
    advice : str
        Advice of the error when the budget is exceeded.
    n_members : int
        Sets of more than `_WIDE` members cost more.
    """

    def __init__(self, steps: Steps, advice: str, n_members: int = 0) -> None:
        self._steps, self._advice, self._cost = steps, advice, _STEP_COST * (1 + n_members // _WIDE)
        self._parts: list[tuple[_Blocks, int]] = [({}, 0)]
        self._numbers: dict[tuple[frozenset[tuple[int, int]], int], int] = {(frozenset(), 0): EMPTY}
        self._composed: dict[tuple[int, int], int] = {}
        self._joined: dict[tuple[int, int], int] = {}
        self._within: dict[tuple[int, int], int] = {}
        self._backward: dict[tuple[int, int], int] = {}

    def of_rows(self, rows: dict[int, int]) -> int:
        """Return the relation with these rows: member -> image as bits."""
        blocks: _Blocks = {}
        for member, image in rows.items():
            if image:
                blocks[image] = blocks.get(image, 0) | 1 << member
        return self._number(blocks)

    def parts(self, relation: int) -> tuple[_Blocks, int]:
        """Return the blocks of a relation, begins by image, and what goes through."""
        return self._parts[relation]

    def identity(self, members: int) -> int:
        """Return the identity on these members."""
        return self._number({}, members)

    def composed(self, first: int, second: int) -> int:
        """Return the composition: the pairs (a, c) for which some b has (a, b) in the first and (b, c) in the second."""
        if first == EMPTY or second == EMPTY:
            return EMPTY
        key = first, second
        found = self._composed.get(key)
        if found is None:
            (one, passes), (other, passed) = self._parts[first], self._parts[second]
            self._spend(len(one) * len(other) + 1)
            blocks: _Blocks = {}
            for middle, begin in one.items():
                image = middle & passed
                for end, entry in other.items():
                    if entry & middle:
                        image |= end
                if image:
                    blocks[image] = blocks.get(image, 0) | begin
            if passes:
                blocks = self._union(blocks, {end: entry & passes for end, entry in other.items() if entry & passes})
            found = self._composed[key] = self._number(blocks, passes & passed)
        return found

    def joined(self, first: int, second: int) -> int:
        """Return the union of two relations."""
        if first == second or second == EMPTY:
            return first
        if first == EMPTY:
            return second
        key = (first, second) if first < second else (second, first)
        found = self._joined.get(key)
        if found is None:
            (one, passes), (other, passed) = self._parts[first], self._parts[second]
            found = self._joined[key] = self._number(self._union(one, other), passes | passed)
        return found

    def within(self, relation: int, members: int) -> int:
        """Restrict the second components of a relation to these members."""
        if relation == EMPTY or not members:
            return EMPTY
        key = relation, members
        found = self._within.get(key)
        if found is None:
            blocks: _Blocks = {}
            known, through = self._parts[relation]
            for image, begin in known.items():
                if image & members:
                    blocks[image & members] = blocks.get(image & members, 0) | begin
            self._spend(len(blocks))
            found = self._within[key] = self._number(blocks, through & members)
        return found

    def backward(self, relation: int, members: int) -> int:
        """Return the preimage of these members, as bits."""
        if relation == EMPTY or not members:
            return 0
        key = relation, members
        found = self._backward.get(key)
        if found is None:
            blocks, through = self._parts[relation]
            found = through & members
            for image, begin in blocks.items():
                if image & members:
                    found |= begin
            self._backward[key] = found
        return found

    def _number(self, blocks: _Blocks, through: int = 0) -> int:
        number = self._numbers.setdefault((frozenset(blocks.items()), through), len(self._parts))
        if number == len(self._parts):
            self._parts.append((blocks, through))
        return number

    def _spend(self, count: int) -> None:
        self._steps.spend(self._cost * count, self._advice)

    def _union(self, first: _Blocks, second: _Blocks) -> _Blocks:
        self._spend(len(first) * len(second) + 1)
        blocks: _Blocks = {}
        left = dict(second)
        for image, begin in first.items():
            rest = begin
            for other, entry in second.items():
                both = entry & begin
                if both:
                    blocks[image | other] = blocks.get(image | other, 0) | both
                    rest &= ~entry
                    left[other] &= ~begin
            if rest:
                blocks[image] = blocks.get(image, 0) | rest
        for image, begin in left.items():
            if begin:
                blocks[image] = blocks.get(image, 0) | begin
        return blocks
