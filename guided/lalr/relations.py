"""`Relations`: hash-consed binary relations on a small set (lookaheads), with cached operations.

A relation is stored as *blocks*: pairs (image, begin) of sets, as bits. Each member of ``begin`` is related to all members of ``image`` and
to nothing else; the begins of a relation are disjoint and its images differ. The relations of a grammar have few blocks, because most
lookaheads behave alike.

Complexity: O(blocks of one * blocks of the other) for a new operation, a look-up for a repeated one.
"""

from guided.automata.steps import Steps

__all__ = ["EMPTY", "Relations"]

# Image -> begin, as bits.
_Blocks = dict[int, int]
# Number of the empty relation.
EMPTY = 0
_STEP_COST = 20


class Relations:
    """The relations created so far.

    Parameters
    ----------
    steps : Steps
        Budget spent by each new result.
    advice : str
        Advice of the error when the budget is exceeded.
    """

    def __init__(self, steps: Steps, advice: str) -> None:
        self._steps, self._advice = steps, advice
        self._blocks: list[_Blocks] = [{}]
        self._numbers: dict[frozenset[tuple[int, int]], int] = {frozenset(): EMPTY}
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

    def identity(self, members: int) -> int:
        """Return the identity on these members."""
        blocks: _Blocks = {}
        while members:
            lowest = members & -members
            blocks[lowest] = lowest
            members ^= lowest
        return self._number(blocks)

    def composed(self, first: int, second: int) -> int:
        """Return the composition: the pairs (a, c) for which some b has (a, b) in the first and (b, c) in the second."""
        if first == EMPTY or second == EMPTY:
            return EMPTY
        key = first, second
        found = self._composed.get(key)
        if found is None:
            one, other = self._blocks[first], self._blocks[second]
            self._steps.spend(_STEP_COST * (len(one) * len(other) + 1), self._advice)
            blocks: _Blocks = {}
            for middle, begin in one.items():
                image = 0
                for end, entry in other.items():
                    if entry & middle:
                        image |= end
                if image:
                    blocks[image] = blocks.get(image, 0) | begin
            found = self._composed[key] = self._number(blocks)
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
            found = self._joined[key] = self._number(self._union(self._blocks[first], self._blocks[second]))
        return found

    def within(self, relation: int, members: int) -> int:
        """Restrict the second components of a relation to these members."""
        if relation == EMPTY or not members:
            return EMPTY
        key = relation, members
        found = self._within.get(key)
        if found is None:
            blocks: _Blocks = {}
            for image, begin in self._blocks[relation].items():
                if image & members:
                    blocks[image & members] = blocks.get(image & members, 0) | begin
            self._steps.spend(_STEP_COST * len(blocks), self._advice)
            found = self._within[key] = self._number(blocks)
        return found

    def backward(self, relation: int, members: int) -> int:
        """Return the preimage of these members, as bits; ``~relation``: the identity on those members, without its many blocks."""
        if relation == EMPTY or not members:
            return 0
        if relation < 0:
            return ~relation & members
        key = relation, members
        found = self._backward.get(key)
        if found is None:
            found = 0
            for image, begin in self._blocks[relation].items():
                if image & members:
                    found |= begin
            self._backward[key] = found
        return found

    def _number(self, blocks: _Blocks) -> int:
        number = self._numbers.setdefault(frozenset(blocks.items()), len(self._blocks))
        if number == len(self._blocks):
            self._blocks.append(blocks)
        return number

    def _union(self, first: _Blocks, second: _Blocks) -> _Blocks:
        self._steps.spend(_STEP_COST * (len(first) * len(second) + 1), self._advice)
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
