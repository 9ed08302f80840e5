"""`Costs`: about how many bytes a parser's stack is away from the end of the text.

A terminal costs the bytes of its shortest lexeme and one more. *rest* of a state says what it costs to come to a reduction that takes so
many cells off and goes on with a rule: the least over the table's transitions, a rule costing what its own cheapest reading costs there
(Knuth's generalization of Dijkstra's algorithm, since a rule's reading is made of others). A stack adds what each such reduction costs
from the cells that it uncovers; those numbers are a function of the top cell and of the numbers below, the counterpart of `Cell.follows`.

An estimate from below: lookaheads are left out but for reductions after which nothing can be fed, and so is what separates lexemes.

Complexity: O(transitions x pending reductions x log) once; O(pending + unit rules) for a new stack.
Ref: Knuth, "A Generalization of Dijkstra's Algorithm" (1977).
"""

from heapq import heappop, heappush

from guided.automata.stacks import Stacks
from guided.lalr.cells import Cells

__all__ = ["NEVER", "Costs"]

# The cost of what cannot be.
NEVER = 1 << 40


class Costs:
    """Costs of the stacks of one grammar.

    Parameters
    ----------
    cells : Cells
    stacks : Stacks
        Whose nodes are asked about.
    weights : list of int
        Of each terminal.
    """

    def __init__(self, cells: Cells, stacks: Stacks, weights: list[int]) -> None:
        self._cells, self._stacks = cells, stacks
        self._rest = _rest(cells, weights)
        # Of each node, the cost after each pending reduction, and after rules that are reduced upon it.
        self._after: dict[int, tuple[int, ...]] = {}
        self._upon: dict[int, dict[int, int]] = {}
        self._whole: dict[int, int] = {}

    def of(self, node: int) -> int:
        """About how many bytes a stack, between lexemes, is away from the end; 0 where nothing need be read, NEVER where none is known."""
        found = self._whole.get(node)
        if found is None:
            found = self._whole[node] = self._of(node)
        return found

    def _of(self, node: int) -> int:
        cells, (cell, below) = self._cells, self._stacks.top(node)
        state = cells.known[cell].state
        if cells.actions[state].get(cells.end, -1) >= 0:
            return 0
        rest = self._rest[state]
        if below < 0:
            rules = [rule for taken, rule in rest if not taken]
            return min((rest[0, rule] + self._reduced_upon(node, rule) for rule in rules), default=NEVER)
        after = self._pending(node)
        places = cells.pending[state]
        return min((cost + after[places[key]] for key, cost in rest.items() if key[0]), default=NEVER)

    def _pending(self, node: int) -> tuple[int, ...]:
        """The cost after each pending reduction of a stack's top state."""
        path = []
        while node not in self._after:
            path.append(node)
            _, below = self._stacks.top(node)
            if below < 0:
                break
            node = below
        for above in reversed(path):
            self._after[above] = self._pending_upon(above)
        return self._after[path[0] if path else node]

    def _pending_upon(self, node: int) -> tuple[int, ...]:
        cells, (cell, below) = self._cells, self._stacks.top(node)
        if below < 0:
            return ()
        known = cells.known[cell]
        under = cells.pending[cells.known[self._stacks.top(below)[0]].state]
        return tuple(
            NEVER
            if not known.follows[place]
            else self._reduced_upon(below, rule)
            if taken == 1
            else self._after[below][under[taken - 1, rule]]
            for (taken, rule), place in cells.pending[known.state].items()
        )

    def _reduced_upon(self, node: int, rule: int) -> int:
        """The cost after a rule has been reduced upon a stack whose own costs are known."""
        known = self._upon.setdefault(node, {})
        if rule in known:
            return known[rule]
        cells, (cell, _) = self._cells, self._stacks.top(node)
        state, after = cells.known[cell].state, self._pending(node)
        gotos, places = cells.gotos[state], cells.pending[state]
        if rule not in gotos:
            return NEVER
        # Rules of one symbol go on upon the same stack: all that may follow are found together.
        found, chains, work = dict[int, int](), dict[int, list[tuple[int, int]]](), [rule]
        while work:
            symbol = work.pop()
            if symbol in found:
                continue
            target, least = gotos[symbol], NEVER
            if target == cells.end_state or cells.actions[target].get(cells.end, -1) >= 0:
                least = 0
            for (taken, other), cost in self._rest[target].items():
                if taken == 1 and other in gotos:
                    if other in known:
                        least = min(least, cost + known[other])
                    else:
                        chains.setdefault(other, []).append((symbol, cost))
                        work.append(other)
                elif taken > 1 and (taken - 1, other) in places:
                    least = min(least, cost + after[places[taken - 1, other]])
            found[symbol] = least
        queue = [(least, symbol) for symbol, least in sorted(found.items())]
        queue.sort()
        while queue:
            least, symbol = heappop(queue)
            if least > found[symbol]:
                continue
            for before, cost in chains.get(symbol, ()):
                if least + cost < found[before]:
                    found[before] = least + cost
                    heappush(queue, (least + cost, before))
        known.update({symbol: min(least, NEVER) for symbol, least in found.items()})
        return known[rule]


def _rest(cells: Cells, weights: list[int]) -> list[dict[tuple[int, int], int]]:
    """By state: the least cost of coming to a reduction that takes (cells off, rule); of (0, rule), of reading the rule from there."""
    n = len(cells.actions)
    # How each state is come to: from which state, by which symbol.
    before: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    found: list[dict[tuple[int, int], int]] = [{} for _ in range(n)]
    queue: list[tuple[int, int, int, int]] = []
    for state in range(n):
        for terminal, action in cells.actions[state].items():
            if action >= 0 and terminal != cells.end:
                before[action].append((state, terminal))
            elif action < 0:
                rule, length = cells.rules[-1 - action]
                queue.append((0, state, length, rule))
        for rule, target in cells.gotos[state].items():
            before[target].append((state, rule))
    queue.sort()
    while queue:
        cost, state, taken, rule = heappop(queue)
        if (taken, rule) in found[state]:
            continue
        found[state][taken, rule] = cost
        if taken:
            for source, symbol in before[state]:
                weight = weights[symbol] if symbol < cells.end else found[source].get((0, symbol), NEVER)
                if weight < NEVER and (taken > 1 or rule in cells.gotos[source]):
                    heappush(queue, (cost + weight, source, taken - 1, rule))
        else:
            for (deeper, other), own in found[cells.gotos[state][rule]].items() if rule in cells.gotos[state] else ():
                if deeper and (deeper > 1 or other in cells.gotos[state]):
                    heappush(queue, (cost + own, state, deeper - 1, other))
    return found
