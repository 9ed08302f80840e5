"""`Analysis`: Lark's LALR analysis within a budget, with what takes Lark longest done in less time.

States, transitions, reductions and the resolution of conflicts are Lark's own. Replaced are two steps whose results hang on nothing but the
items: which transitions include which (rules are looked up by their origin, not searched), and the propagation of lookaheads (sets of
terminals are bits of an integer). Where rules that derive nothing follow each other in a circle, Lark's own propagation is taken: there its
sets share their memory, and what comes out hangs on their order.

Complexity: that of DeRemer and Pennello; O(items) for a transition's includes, of its own rules only.
Ref: DeRemer and Pennello, "Efficient Computation of LALR(1) Look-Ahead Sets" (1982).
"""

from collections.abc import Callable
from typing import Any

from lark.parsers.lalr_analysis import LALR_Analyzer

from guided.errors import LimitError

__all__ = ["ITEM", "Analysis"]

# An item of a closure takes Lark about as long as this many elementary steps.
ITEM = 500
_TOO_MANY = "the grammar has too many states"


class Analysis(LALR_Analyzer):
    """The analysis of one grammar; ``budget``: the most items.

    Raises
    ------
    LimitError
        There are more.
    """

    def __init__(self, budget: int, parser_conf: Any) -> None:
        self.budget, self.spent = budget, 0
        super().__init__(parser_conf)

    def expand_rule(self, *args: Any, **options: Any) -> Any:
        """The items of a rule, which are counted."""
        items = super().expand_rule(*args, **options)
        self.spent += 1 + len(items)
        if self.spent > self.budget:
            raise LimitError("steps", ITEM * self.spent, ITEM * self.budget, _TOO_MANY)
        return items

    def compute_includes_lookback(self) -> None:
        """Of each transition by a rule, those that include it, and the states where the rule ends that began there."""
        items: dict[Any, dict[Any, list[Any]]] = {}
        satisfied: dict[Any, dict[Any, Any]] = {}
        for state in self.lr0_itemsets:
            items[state], satisfied[state] = {}, {}
            for item in state.closure:
                items[state].setdefault(item.rule.origin, []).append(item)
                if item.is_satisfied:
                    satisfied[state][item.rule] = item.rule
        for transition in self.nonterminal_transitions:
            state, origin = transition
            lookback = self.lookback[transition]
            for item in items[state].get(origin, ()):
                rule = item.rule
                first, target = self._last_needed(rule.expansion), state
                for place in range(item.index, len(rule.expansion)):
                    symbol = rule.expansion[place]
                    if place >= first and (target, symbol) in self.reads:
                        self.includes[target, symbol].add(transition)
                    target = target.transitions[symbol]
                if item.index == 0 and rule in satisfied[target]:
                    lookback.add((target, satisfied[target][rule]))

    def _last_needed(self, expansion: list[Any]) -> int:
        """Place of the last symbol behind which all may derive nothing."""
        place = len(expansion) - 1
        while place > 0 and expansion[place] in self.NULLABLE:
            place -= 1
        return place

    def compute_lookaheads(self) -> None:
        """The terminals by which each state reduces."""
        transitions = self.nonterminal_transitions
        number = {transition: place for place, transition in enumerate(transitions)}
        terminals: dict[Any, int] = {}
        read = [
            sum(1 << terminals.setdefault(terminal, len(terminals)) for terminal in self.directly_reads[transition])
            for transition in transitions
        ]
        if not _propagated(read, lambda node: [number[other] for other in self.reads[transitions[node]]]):
            super().compute_lookaheads()  # type: ignore[no-untyped-call]
            return
        _propagated(read, lambda node: [number[other] for other in self.includes[transitions[node]]])
        ahead: dict[tuple[Any, Any], int] = {}
        for transition, follow in zip(transitions, read, strict=True):
            for reduced in self.lookback[transition]:
                ahead[reduced] = ahead.get(reduced, 0) | follow
        symbols = list(terminals)
        for (state, rule), follow in ahead.items():
            while follow:
                low = follow & -follow
                state.lookaheads[symbols[low.bit_length() - 1]].add(rule)
                follow ^= low


def _propagated(sets: list[int], successors: Callable[[int], list[int]]) -> bool:
    """Add to each node's set those of all nodes that it leads to; False where nodes lead to each other. Without recursion."""
    is_plain, count = True, len(sets)
    low, stack = [0] * count, list[int]()
    for root in range(count):
        if low[root]:
            continue
        work = [(root, iter(successors(root)))]
        stack.append(root)
        low[root] = len(stack)
        begun = {root: len(stack)}
        while work:
            node, others = work[-1]
            for other in others:
                if not low[other]:
                    stack.append(other)
                    low[other] = begun[other] = len(stack)
                    work.append((other, iter(successors(other))))
                    break
                sets[node] |= sets[other]
                low[node] = min(low[node], low[other])
            else:
                work.pop()
                if low[node] == begun[node]:
                    while True:
                        member = stack.pop()
                        low[member] = count + 1
                        sets[member] = sets[node]
                        if member == node:
                            break
                        is_plain = False
                if work:
                    above = work[-1][0]
                    sets[above] |= sets[node]
                    low[above] = min(low[above], low[node])
    return is_plain
