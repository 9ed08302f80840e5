"""Deterministic automaton -> regular expression, by state elimination.

Each path from source to target through the eliminated state becomes an edge with the expression "in, loop any number of times, out".
Expressions are hash-consed and simplified on construction: sets of characters are merged, and common suffixes and prefixes of
alternatives are factored out. So ``-?(?:0|[1-9][0-9]*)`` comes out as one would write it.

The expression denotes the automaton's language. Which of several prefixes a backtracking matcher prefers is unspecified.

Complexity: exponential in the worst case (Ehrenfeucht and Zeiger 1976), so it stops at a size.

Ref: Brzozowski and McCluskey 1963.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, TypeAlias

from guided.fixpoint.worklist import post_order
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, Repeat, alternate, concat

__all__ = ["expression"]

_Expression: TypeAlias = tuple[Any, ...]
# Id of the empty text; there is no expression for the empty set.
_EMPTY = 0
# All expressions together may have this many times as many sets of characters as one.
_WORK = 50


def expression(edges: Iterable[tuple[int, Charset, int]], accepting: Sequence[int], most: int) -> Node | None:
    """Return the tree of an automaton's texts; None if an expression on the way would have more than ``most`` sets of characters.

    None, too, if all of them together would have more than `_WORK` times as many.

    State 0 is the start, which reaches an accepting one.
    """
    table = _Expressions()
    before: dict[int, dict[int, int]] = {}
    after: dict[int, dict[int, int]] = {}

    def put(source: int, target: int, one: int) -> None:
        found = after.setdefault(source, {}).get(target)
        one = one if found is None else table.either([found, one])
        after[source][target] = before.setdefault(target, {})[source] = one

    start, end = -1, -2
    put(start, 0, _EMPTY)
    for source, charset, target in edges:
        put(source, target, table.chars(charset))
    for state in accepting:
        put(state, end, _EMPTY)
    costs = {state: _cost(state, before, after, table) for state in {*before, *after} if state >= 0}
    cheapest = sorted((cost, state) for state, cost in costs.items())
    work = 0
    while cheapest:
        cost, state = heappop(cheapest)
        if costs.get(state) != cost:  # it has changed, or the state is gone
            continue
        del costs[state]
        out, into = after.pop(state, {}), before.pop(state, {})
        loop = out.pop(state, None)
        into.pop(state, None)
        around = _EMPTY if loop is None else table.any_number(loop)
        for source in into:
            after[source].pop(state)
        for target in out:
            before[target].pop(state)
        for source, first in into.items():
            for target, last in out.items():
                put(source, target, table.sequence([first, around, last]))
                size = table.sizes[after[source][target]]
                work += size
                if size > most or work > _WORK * most:
                    return None
        for neighbour in (into.keys() | out.keys()) & costs.keys():
            costs[neighbour] = _cost(neighbour, before, after, table)
            heappush(cheapest, (costs[neighbour], neighbour))
    return table.tree(after[start][end])


def _cost(
    state: int, before: dict[int, dict[int, int]], after: dict[int, dict[int, int]], table: "_Expressions"
) -> int:
    """Return the growth from eliminating a state: incoming edges are copied per outgoing edge, and vice versa."""
    into = [table.sizes[one] for source, one in before.get(state, {}).items() if source != state]
    out = [table.sizes[one] for target, one in after.get(state, {}).items() if target != state]
    loop = table.sizes[after[state][state]] if state in after.get(state, {}) else 0
    return sum(into) * (len(out) - 1) + sum(out) * (len(into) - 1) + loop * (len(into) * len(out) - 1)


class _Expressions:
    """A table of expressions: equal ones have one id, and operands have smaller ids."""

    def __init__(self) -> None:
        self.nodes: list[_Expression] = [("then",)]
        self.sizes: list[int] = [0]
        self._ids: dict[_Expression, int] = {("then",): _EMPTY}

    def _id(self, node: _Expression, size: int) -> int:
        found = self._ids.get(node)
        if found is None:
            found = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
            self.sizes.append(size)
        return found

    def chars(self, charset: Charset) -> int:
        """Return one character of a set."""
        return self._id(("chars", charset), 1)

    def any_number(self, one: int) -> int:
        """Return the expression repeated any number of times."""
        node = self.nodes[one]
        if one == _EMPTY or node[0] == "star":
            return one
        return self._id(("star", node[1] if node[0] == "maybe" else one), self.sizes[one])

    def maybe(self, one: int) -> int:
        """Return the optional expression."""
        if one == _EMPTY or self.nodes[one][0] in ("star", "maybe"):
            return one
        return self._id(("maybe", one), self.sizes[one])

    def sequence(self, items: Iterable[int]) -> int:
        """Return the concatenation of expressions."""
        flat: list[int] = []
        for item in items:
            flat += self._items(item)
        if len(flat) == 1:
            return flat[0]
        return self._id(("then", *flat), sum(self.sizes[item] for item in flat))

    def either(self, items: Iterable[int]) -> int:
        """Return the alternation of expressions (at least one)."""
        members: dict[int, None] = {}
        for item in items:
            node = self.nodes[item]
            members.update(dict.fromkeys(node[1:] if node[0] == "either" else (item,)))
        if any(self.nodes[member][0] == "maybe" for member in members):
            members = {self.nodes[one][1] if self.nodes[one][0] == "maybe" else one: None for one in members}
            members[_EMPTY] = None
        is_optional = _EMPTY in members
        members.pop(_EMPTY, None)
        kept = self._merged(list(members))
        for place in (-1, 0):
            kept = self._factored(kept, place)
        if not kept:
            return _EMPTY
        one = kept[0] if len(kept) == 1 else self._id(("either", *kept), sum(self.sizes[member] for member in kept))
        return self.maybe(one) if is_optional else one

    def _items(self, one: int) -> tuple[int, ...]:
        node = self.nodes[one]
        return node[1:] if node[0] == "then" else (one,)

    def _merged(self, members: list[int]) -> list[int]:
        """Merge several sets of characters into one."""
        sets = [self.nodes[member][1] for member in members if self.nodes[member][0] == "chars"]
        if len(sets) < 2:
            return members
        union = Charset.of(pair for charset in sets for pair in charset.ranges)
        return [self.chars(union), *(member for member in members if self.nodes[member][0] != "chars")]

    def _factored(self, members: list[int], place: int) -> list[int]:
        """Merge members with the same last (-1) or first (0) part."""
        groups: dict[int, list[int]] = {}
        for member in members:
            groups.setdefault(self._items(member)[place], []).append(member)
        if len(groups) == len(members):
            return members
        found: list[int] = []
        for shared, group in groups.items():
            if len(group) == 1:
                found.append(group[0])
                continue
            rests = [self._items(member)[:-1] if place == -1 else self._items(member)[1:] for member in group]
            rest = self.either([self.sequence(items) for items in rests])
            found.append(self.sequence([rest, shared] if place == -1 else [shared, rest]))
        return found

    def tree(self, one: int) -> Node:
        """Return the tree of an expression."""
        done: dict[int, Node] = {}
        for each in post_order([one], lambda one: () if self.nodes[one][0] == "chars" else self.nodes[one][1:]):
            done[each] = self._node(each, done)
        return done[one]

    def _node(self, one: int, done: dict[int, Node]) -> Node:
        kind, *content = self.nodes[one]
        match kind:
            case "chars":
                return Chars(content[0])
            case "star":
                return Repeat(done[content[0]], 0, None)
            case "maybe":
                return Repeat(done[content[0]], 0, 1)
            case "either":
                return alternate(done[member] for member in content)
        return concat(self._in_order(content, done)) if content else Literal("")

    def _in_order(self, items: Sequence[int], done: dict[int, Node]) -> Iterator[Node]:
        """Yield the parts of a sequence, with "x, then any number of x" as one."""
        last = len(items) - 1
        for place, item in enumerate(items):
            if place < last and self.nodes[items[place + 1]] == ("star", item):
                continue
            node = self.nodes[item]
            is_once = place > 0 and node == ("star", items[place - 1])
            yield Repeat(done[node[1]], 1, None) if is_once else done[item]
