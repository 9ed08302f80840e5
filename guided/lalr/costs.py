"""`Costs`: estimates of how many bytes a parser stack is away from the end of the text.

A terminal costs the bytes of its shortest lexeme plus one. *rest* of a state is the least cost to reach a reduction of a rule that pops a
given number of cells, over the table's transitions; a nonterminal costs as much as its cheapest derivation there (Knuth's generalization of
Dijkstra's algorithm, because derivations are nested). A stack adds the cost of continuing on the cells that each such reduction uncovers;
these numbers are a function of the top cell and the numbers below, the counterpart of `StackSymbol.follows`.

The estimate is a lower bound: it ignores lookaheads, except for reductions after which no terminal can be fed, and ignores separators
between lexemes.

Complexity: O(transitions x pending reductions x log) once; O(pending + unit rules) for a new stack.
Ref: Knuth, "A Generalization of Dijkstra's Algorithm" (1977).
"""

from heapq import heappop, heappush

from guided.automata.stacks import Stacks
from guided.lalr.stack_symbols import StackSymbols

__all__ = ["INFINITE", "Costs"]

# Infinite cost.
INFINITE = 1 << 40


class Costs:
    """Costs of the stacks of one grammar.

    Parameters
    ----------
    cells : StackSymbols
    stacks : Stacks
        Owner of the nodes.
    weights : list of int
        Cost of each terminal.
    """

    def __init__(self, cells: StackSymbols, stacks: Stacks, weights: list[int]) -> None:
        self._cells, self._stacks = cells, stacks
        self._rest = _rest(cells, weights)
        # By node: the cost after each pending reduction, and after each rule that is reduced onto it.
        self._after: dict[int, tuple[int, ...]] = {}
        self._upon: dict[int, dict[int, int]] = {}
        self._whole: dict[int, int] = {}

    def of(self, node: int) -> int:
        """Return the approximate number of bytes from a stack between lexemes to the end of the text.

        0 if the text can end, INFINITE if no way is known.
        """
        found = self._whole.get(node)
        if found is None:
            found = self._whole[node] = self._of(node)
        return found

    def _of(self, node: int) -> int:
        cells, (cell, below) = self._cells, self._stacks.top(node)
        state = cells.known[cell].state
        if cells.moves[state].get(cells.end, -1) >= 0:
            return 0
        rest = self._rest[state]
        if below < 0:
            rules = [rule for taken, rule in rest if not taken]
            return min((rest[0, rule] + self._reduced_upon(node, rule) for rule in rules), default=INFINITE)
        after = self._pending(node)
        places = cells.pending[state]
        return min((cost + after[places[key]] for key, cost in rest.items() if key[0]), default=INFINITE)

    def _pending(self, node: int) -> tuple[int, ...]:
        """Return the cost after each pending reduction of a stack's top state."""
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
            INFINITE
            if not known.follows[place]
            else self._reduced_upon(below, rule)
            if taken == 1
            else self._after[below][under[taken - 1, rule]]
            for (taken, rule), place in cells.pending[known.state].items()
        )

    def _reduced_upon(self, node: int, rule: int) -> int:
        """Return the cost after a rule is reduced onto a stack whose own costs are known."""
        known = self._upon.setdefault(node, {})
        if rule in known:
            return known[rule]
        cells, (cell, _) = self._cells, self._stacks.top(node)
        state, after = cells.known[cell].state, self._pending(node)
        gotos, places = cells.moves[state], cells.pending[state]
        if rule not in gotos:
            return INFINITE
        # Unit rules reduce further on the same stack: solve for the whole chain at once.
        found, chains, work = dict[int, int](), dict[int, list[tuple[int, int]]](), [rule]
        while work:
            symbol = work.pop()
            if symbol in found:
                continue
            target, least = gotos[symbol], INFINITE
            if target == cells.end_state or cells.moves[target].get(cells.end, -1) >= 0:
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
        known.update({symbol: min(least, INFINITE) for symbol, least in found.items()})
        return known[rule]


def _rest(cells: StackSymbols, weights: list[int]) -> list[dict[tuple[int, int], int]]:
    """Return, by state, the least cost to a reduction (cells popped, rule); (0, rule) is the cost of reading the rule from there."""
    moves = cells.moves
    # Predecessors of each state: by a terminal, with its cost; by a rule.
    read: list[list[tuple[int, int]]] = [[] for _ in moves]
    reduced: list[list[tuple[int, int]]] = [[] for _ in moves]
    found: list[dict[tuple[int, int], int]] = [{} for _ in moves]
    # (state, cells popped, rule) by cost, and the costs as a heap.
    queue: dict[int, list[tuple[int, int, int]]] = {0: []}
    costs = [0]

    def add(cost: int, state: int, taken: int, rule: int) -> None:
        if (taken, rule) not in found[state] and (taken or rule in moves[state]):
            if cost not in queue:
                queue[cost] = []
                heappush(costs, cost)
            queue[cost].append((state, taken, rule))

    for state, row in enumerate(moves):
        for symbol, target in row.items():
            if target < 0:
                rule, length = cells.rules[-1 - target]
                queue[0].append((state, length, rule))
            elif symbol > cells.end:
                reduced[target].append((state, symbol))
            elif symbol != cells.end and weights[symbol] < INFINITE:
                read[target].append((state, weights[symbol]))
    while costs:
        cost = heappop(costs)
        for state, taken, rule in queue[cost]:
            if (taken, rule) in found[state]:
                continue
            found[state][taken, rule] = cost
            if taken:
                for source, weight in read[state]:
                    add(cost + weight, source, taken - 1, rule)
                for source, other in reduced[state]:
                    if (0, other) in found[source]:
                        add(cost + found[source][0, other], source, taken - 1, rule)
            elif rule in moves[state]:
                for (deeper, other), own in found[moves[state][rule]].items():
                    if deeper:
                        add(cost + own, state, deeper - 1, other)
        del queue[cost]
    return found
