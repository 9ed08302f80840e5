"""Frames of strings or numbers from which some values are excluded: those that earlier items of an array with ``uniqueItems`` have.

The excluded texts form a trie with hash-consed nodes, so adding a text creates nodes on its own path only. A control here is a pair: a
control of the frame without exclusions (the common frame) and a node of the trie. Once the bytes read so far are a prefix of no excluded
text, the common control itself is used. So each further text costs as many controls as it has bytes, whatever the number of the others.

A number has more spellings than one: ``1.50`` is ``1.5``. So after an excluded number has been read, zeros behind its point lead to
excluded texts too (`_Tail`).

Invariant: every control is live: from it some text can be completed that is not excluded.
Complexity: O(bytes of the new texts x 256) for a set that holds a known one.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

from guided.arrays import DEAD, Int32Array
from guided.automata.pushdown import ACTION, END_ACTION, LIVE, NEEDS, PLAN, PushdownTables

__all__ = ["Exclusions", "number_bodies"]

# Sets of texts whose tries are remembered, to add to.
_REMEMBERED = 64


class _Tail(IntEnum):
    """What may follow an excluded number and leaves it the same."""

    NONE = 0
    POINT = 1
    FIRST_ZERO = 2
    ZEROS = 3


# After a tail and a byte; else none.
_NEXT_TAIL = {
    (_Tail.POINT, ord(".")): _Tail.FIRST_ZERO,
    (_Tail.FIRST_ZERO, ord("0")): _Tail.ZEROS,
    (_Tail.ZEROS, ord("0")): _Tail.ZEROS,
}
_EXCLUDED = (_Tail.POINT, _Tail.ZEROS)


class _Key(NamedTuple):
    """A common control, a node of the trie, the tail, and whether a point has been read."""

    base: int
    node: int
    tail: _Tail
    has_point: bool

    @property
    def is_common(self) -> bool:
        return not self.node and not self.tail


class Exclusions:
    """The frames of one common frame without some texts.

    Parameters
    ----------
    tables : PushdownTables
        To be filled.
    is_number : bool
        Have texts the spellings of numbers? Else they are strings.
    """

    def __init__(self, tables: PushdownTables, *, is_number: bool) -> None:
        self._tables, self._is_number = tables, is_number
        # Nodes of the trie: does a text end, and the children. Node 0 is the empty trie.
        self._nodes: list[tuple[bool, tuple[tuple[int, int], ...]]] = [(False, ())]
        self._node_ids = {self._nodes[0]: 0}
        self._roots: OrderedDict[frozenset[bytes], int] = OrderedDict([(frozenset(), 0)])
        # Of each set of a chain; None where some text has no spelling of its own.
        self._root_of: dict[int, int | None] = {}
        # By common control, node and tail; DEAD where all texts from there are excluded.
        self._controls: dict[_Key, int] = {}
        self._own: set[int] = set()

    def without(self, first: int, bodies: Iterable[bytes]) -> int | None:
        """The first control of a frame, given by its own, from which some texts are excluded.

        DEAD if these are all its texts; None if there is no such frame, since zeros lead around in a circle of controls.
        """
        return self._control(first, self._root(frozenset(bodies)))

    def without_chain(
        self, first: int, chain: int, link: Callable[[int], tuple[int, Sequence[bytes] | None]]
    ) -> int | None:
        """The same, where the texts are those of a chain of sets, each with few more than the one before it.

        ``link``: from a set's number to that of the set before it, 0 for the empty one, and the further texts; None if one of these has
        several spellings, and then there is no such frame. O(bytes) of the sets that are not known yet.
        """
        links: list[tuple[int, Sequence[bytes] | None]] = []
        while chain and chain not in self._root_of:
            before, bodies = link(chain)
            links.append((chain, bodies))
            chain = before
        root = self._root_of.get(chain, 0)
        for one, bodies in reversed(links):
            if root is not None:
                for body in bodies or ():
                    root = self._with(root, body)
            root = self._root_of[one] = None if bodies is None else root
        return None if root is None else self._control(first, root)

    def __contains__(self, control: int) -> bool:
        """Is a control one of these, and not a common one?"""
        return control in self._own

    # The trie

    def _root(self, bodies: frozenset[bytes]) -> int:
        found = self._roots.get(bodies)
        if found is None:
            # Mostly one item more than in a set that is remembered.
            near = (one for one in reversed(self._roots) if len(one) == len(bodies) - 1 and one < bodies)
            known = next(near, frozenset())
            found = self._roots.get(known, 0)
            for body in sorted(bodies - known):
                found = self._with(found, body)
            self._roots[bodies] = found
            if len(self._roots) > _REMEMBERED:
                self._roots.popitem(last=False)
        else:
            self._roots.move_to_end(bodies)
        return found

    def _with(self, root: int, body: bytes) -> int:
        path = [root]
        for byte in body:
            path.append(dict(self._nodes[path[-1]][1]).get(byte, 0))
        node = self._node(True, self._nodes[path.pop()][1])
        for byte in reversed(body):
            does_end, children = self._nodes[path.pop()]
            node = self._node(does_end, tuple(sorted({**dict(children), byte: node}.items())))
        return node

    def _node(self, does_end: bool, children: tuple[tuple[int, int], ...]) -> int:
        key = does_end, children
        found = self._node_ids.get(key)
        if found is None:
            found = self._node_ids[key] = len(self._nodes)
            self._nodes.append(key)
        return found

    # Controls

    def _control(self, base: int, root: int) -> int | None:
        start = self._key(base, root, _Tail.NONE, has_point=False)
        todo, begun = [start], set[_Key]()
        while todo:
            key = todo[-1]
            if key in self._controls or key.is_common:
                todo.pop()
                continue
            missing = [
                after
                for _, after in self._onward(key)
                if after != key and not after.is_common and after not in self._controls
            ]
            if not missing:
                self._make(todo.pop())
            elif key in begun:
                return None
            else:
                begun.add(key)
                todo += missing
        return self._found(start)

    def _key(self, base: int, node: int, tail: _Tail, *, has_point: bool) -> _Key:
        """The key after some bytes. Where an excluded number ends, what leaves it the same may follow."""
        if self._is_number and self._nodes[node][0]:
            tail = _Tail.ZEROS if has_point else _Tail.POINT
        return _Key(base, node, tail, has_point and node > 0)

    def _onward(self, key: _Key) -> list[tuple[int, _Key]]:
        """The bytes after which texts are excluded, and where they lead."""
        row = self._tables.rows[key.base]
        children = dict(self._nodes[key.node][1])
        tails = {byte: after for (before, byte), after in _NEXT_TAIL.items() if before == key.tail}
        found = []
        for byte in sorted({*children, *tails}):
            target = int(row[byte])
            # What the frame leaves out anyway need not be excluded.
            if target >= 0:
                has_point = key.has_point or byte == _POINT
                after = self._key(target, children.get(byte, 0), tails.get(byte, _Tail.NONE), has_point=has_point)
                found.append((byte, after))
        return found

    def _found(self, key: _Key) -> int:
        return key.base if key.is_common else self._controls[key]

    def _make(self, key: _Key) -> None:
        """A control, when those that follow it have been made, but for the control itself."""
        tables, (base, node, tail, _) = self._tables, key
        row: Int32Array = tables.rows[base].copy()
        is_excluded = tail in _EXCLUDED if self._is_number else self._nodes[node][0]
        if is_excluded:
            row[row <= ACTION] = DEAD
        loops = []
        for byte, after in self._onward(key):
            if after == key:
                loops.append(byte)
                row[byte] = DEAD
            else:
                row[byte] = self._found(after)
        if (row == DEAD).all():
            self._controls[key] = DEAD
            return
        control = tables.n_controls
        row[loops] = control
        tables.control(row)
        n_live = int(tables.info[control, LIVE])
        tables.info[control] = tables.info[base]
        tables.info[control, LIVE] = n_live
        if not self._is_number:
            tables.info[control, PLAN] = base
            if is_excluded:
                tables.info[control, NEEDS] = max(int(tables.info[base, NEEDS]), 1)
        elif is_excluded:
            tables.info[control, END_ACTION] = 0
        self._controls[key] = control
        self._own.add(control)


_POINT = ord(".")


def number_bodies(value: Fraction) -> list[bytes]:
    """The shortest spellings of a number without an exponent: one, of zero two; none where it has no end."""
    if value == 0:
        return [b"0", b"-0"]
    denominator, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator //= prime
            count += 1
        places = max(places, count)
    if denominator != 1:
        return []
    # Why a Decimal: Python refuses to write an int of more than 4,300 digits.
    digits = str(Decimal(abs(value.numerator) * 10**places // value.denominator)).rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
    return [("-" * (value < 0) + whole + ("." + fraction if fraction else "")).encode()]
