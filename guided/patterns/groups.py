"""A group that is being read: its finished alternatives and the items of the current one.

Characters collect in a literal run, whose last character a quantifier can still take. Only the last item can be repeated, as in `re`: not
an anchor, a repeat or nothing. Finished alternatives of one character are merged into one set. The order of alternatives does not affect a
language, so the set takes the position of the first of them (`union`). Where order matters, only neighbors are merged (`union_in_order`):
one character never matches at two lengths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import groupby
from typing import TypeAlias

from guided.patterns.casefold import Folding
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Look, Node, Repeat, alternate, concat

__all__ = ["Join", "Last", "OpenGroup", "union", "union_in_order"]

# Joins the alternatives of a group; calls its second argument with the number of intervals that are merged.
Join: TypeAlias = Callable[[Sequence[Node], Callable[[int], None]], Node]


class Last(Enum):
    """Kind of the item read last in an alternative."""

    NOTHING = auto()
    ANCHOR = auto()
    REPEAT = auto()
    ITEM = auto()


@dataclass(slots=True)
class OpenGroup:
    """A group that is still open; the whole pattern is the outermost one.

    Attributes
    ----------
    start : int
        Offset of its ``(``.
    flags : int
        Flags inside it.
    assertion : callable, optional
        Returns the assertion about the node of the group.
    name : str, optional
        Its name.
    captures : bool
        Whether it has a number.
    last : Last
        The item that a quantifier would repeat.
    """

    start: int
    flags: int
    assertion: Callable[[Node], Look] | None = None
    name: str | None = None
    captures: bool = False
    last: Last = Last.NOTHING
    _finished: list[Node] = field(default_factory=list)
    _items: list[Node] = field(default_factory=list)
    _run: list[str] = field(default_factory=list)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing but comments has been read."""
        return self.last is Last.NOTHING and not self._finished

    def characters(self, run: str, folding: Folding | None) -> int:
        """Add characters, and return the number of parts; under ``folding`` each is replaced by its class."""
        self.last = Last.ITEM
        if folding is None:
            self._run.append(run)
            return 1
        for character in run:
            equal = folding.character(character)
            if equal is None:
                self._run.append(character)
            else:
                self._end_run()
                self._items.append(equal)
        return len(run)

    def charset(self, charset: Charset) -> None:
        """Add one character of a set."""
        self.last = Last.ITEM
        single = charset.single()
        if single is None:
            self.node(Chars(charset))
        else:
            self._run.append(single)

    def node(self, node: Node) -> None:
        """Add a group or an assertion."""
        self.last = Last.ITEM
        self._end_run()
        self._items.append(node)

    def anchor(self, node: Node) -> None:
        """Add an anchor, which cannot be repeated."""
        self.node(node)
        self.last = Last.ANCHOR

    def repeat(self, minimum: int, maximum: int | None, is_lazy: bool = False) -> None:
        """Repeat the last item.

        Invariant: `last` is ``ITEM``.
        """
        if self._run:
            run = "".join(self._run)
            self._run = [run[:-1]] if len(run) > 1 else []
            self._end_run()
            item: Node = Literal(run[-1])
        else:
            item = self._items.pop()
        self._items.append(item if minimum == maximum == 1 else Repeat(item, minimum, maximum, is_lazy))
        self.last = Last.REPEAT

    def end_branch(self) -> None:
        """Finish an alternative and begin the next."""
        self._end_run()
        self._finished.append(concat(self._items) if self._items else Literal(""))
        self._items = []
        self.last = Last.NOTHING

    def close(self) -> list[Node]:
        """Finish the last alternative, and return all."""
        self.end_branch()
        return self._finished

    def _end_run(self) -> None:
        if self._run:
            self._items.append(Literal("".join(self._run)))
            self._run = []


def union(branches: Sequence[Node], spend: Callable[[int], None] | None = None) -> Node:
    """Return the union of the branches, with those of one character merged into one set."""
    if len(branches) == 1:
        return branches[0]
    kept: list[Node] = []
    # Why by identity: a class used in many branches is one object and is merged once.
    sets: dict[int, Charset] = {}
    points: list[tuple[int, int]] = []
    place = 0
    for branch in branches:
        is_first = not (sets or points)
        match branch:
            case Literal(text) if len(text) == 1:
                points.append((ord(text), ord(text)))
            case Chars(charset):
                sets[id(charset)] = charset
            case _:
                kept.append(branch)
                continue
        if is_first:
            place = len(kept)
    if sets or points:
        merged, *more = sets.values() or [Charset.EMPTY]
        if more or points:
            ranges = [*points, *(interval for charset in sets.values() for interval in charset.ranges)]
            if spend is not None:
                spend(len(ranges))
            merged = Charset.of(ranges)
        single = merged.single()
        kept.insert(place, Chars(merged) if single is None else Literal(single))
    return alternate(kept)


def union_in_order(branches: Sequence[Node], spend: Callable[[int], None] | None = None) -> Node:
    """Return the ordered union of the branches, earlier ones preferred; neighboring ones of one character are merged."""
    joined: list[Node] = []
    for is_character, group in groupby(branches, _is_character):
        nodes = list(group)
        joined += [union(nodes, spend)] if is_character else nodes
    return alternate(joined)


def _is_character(node: Node) -> bool:
    return isinstance(node, Chars) or (isinstance(node, Literal) and len(node.text) == 1)
