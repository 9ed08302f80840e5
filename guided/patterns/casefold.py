r"""IGNORECASE as in `re`: the set of characters that a character or a range matches.

`re` compares the lower case of the text's character with the lower case of the pattern's, one character each, and adds the
lower-case letters that share an upper case (``s`` and U+017F, ``i`` and U+0131). So every cased character has a *class*:
``K``, ``k`` and U+212A are one. A set under IGNORECASE is the union of the classes of its members; a negated set is the
complement of that. ``\d \w \s`` are closed under these classes and unchanged. With the ASCII flag only A-Z and a-z are cased.

Case mappings to several characters count by their first one (U+0130 is ``i`` plus a dot: it is in the class of ``i``). This has an
odd consequence in ranges that reach past U+FFFF, which `re` also tests by upper case: ``[\u02BC-\U00010000]`` holds U+0149,
whose upper case begins with U+02BC. It is kept, so that every set is the same set as in `re`.

Before Python 3.12.8 and 3.13.1 `re` missed upper-case letters past U+FFFF listed in a set, and folded ranges past U+FFFF despite the ASCII
flag (gh-126505). Here both are corrected on every Python.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from guided.patterns.characters import all_code_points
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars

__all__ = ["Folding", "ascii_folding", "unicode_folding"]

_LAST_OF_BMP = 0xFFFF
_BLOCK = 256


@dataclass(frozen=True, slots=True, eq=False)
class Folding:
    """Classes of characters that differ only in case.

    Attributes
    ----------
    cased : sequence of int
        Code points whose class has more than one member, ascending.
    classes : dict of int to tuple of int
        The class of each cased code point, ascending.
    expanding : tuple of (int, int)
        (code point, first code point of its upper case) where the upper case is several characters.
    """

    cased: Sequence[int]
    classes: dict[int, tuple[int, ...]]
    expanding: tuple[tuple[int, int], ...]

    def character(self, character: str) -> Chars | None:
        """Return the class of a character, always the same node, or None if the character is its only member."""
        members = self.classes.get(ord(character))
        return _characters(members) if members else None

    def ranges(self, ranges: Sequence[tuple[int, int]], spend: Callable[[int], None]) -> list[tuple[int, int]]:
        """Return the classes of all characters in the ranges; linear in the cased ones, whose number is passed to ``spend``."""
        found = list(ranges)
        for low, high in ranges:
            begin, end = bisect_left(self.cased, low), bisect_right(self.cased, high)
            spend(end - begin)
            for point in self.cased[begin:end]:
                found.extend((member, member) for member in self.classes[point])
            if high > _LAST_OF_BMP and low < high:
                found.extend((point, point) for point, upper in self.expanding if low <= upper <= high)
        return found


@cache
def _characters(members: tuple[int, ...]) -> Chars:
    return Chars(Charset.of((member, member) for member in members))


@cache
def ascii_folding() -> Folding:
    """Return the folding in which only A-Z and a-z are cased."""
    pairs = [(upper, upper + 32) for upper in range(ord("A"), ord("Z") + 1)]
    classes: dict[int, tuple[int, ...]] = {point: pair for pair in pairs for point in pair}
    return Folding(sorted(classes), classes, ())


@cache
def unicode_folding() -> Folding:
    """Return the folding of this Python's Unicode version; built once, in about 30 ms."""
    lowers: dict[int, set[int]] = defaultdict(set)
    shared: dict[str, set[int]] = defaultdict(set)
    expanding = []
    for character in _cased():
        lower = ord(character.lower()[0])
        lowers[lower].add(ord(character))
        upper = character.upper()
        shared[upper].add(lower)
        if len(upper) > 1:
            expanding.append((ord(character), ord(upper[0])))
    equal = {lower: together for together in shared.values() for lower in together if len(together) > 1}
    classes: dict[int, tuple[int, ...]] = {}
    for lower, points in lowers.items():
        together = set().union(*(lowers[other] for other in equal.get(lower, {lower})))
        for point in points:
            if len(together) > 1:
                classes[point] = tuple(sorted(together))
    return Folding(sorted(classes), classes, tuple(expanding))


def _cased() -> list[str]:
    """Return the characters that differ from their lower or upper case."""
    everything = all_code_points()
    blocks = (everything[start : start + _BLOCK] for start in range(0, len(everything), _BLOCK))
    return [
        character
        for block in blocks
        if block.lower() != block or block.upper() != block
        for character in block
        if character.lower() != character or character.upper() != character
    ]
