"""`Analysis`: the LALR(1) states and actions of numbered rules, as Lark chooses them, within a budget.

Symbols below ``end`` are terminals, ``end`` is ``$END``, those above are nonterminals. An *item* is a rule with a place in it, as one
number: the item behind its next symbol is the next number. States are numbered breadth first from the starts, symbols in the order of
their names.

Lark's own quirks are kept: which transitions a rule includes, and what it does with conflicts. If nullable rules form a cycle in the reads
relation, Lark's sets share memory, and its lookaheads differ from run to run; here they are those of the definition.

Complexity: that of DeRemer and Pennello; O(items) for a transition's includes, of its own rules only. Every step is budgeted.
Ref: DeRemer and Pennello, "Efficient Computation of LALR(1) Look-Ahead Sets" (1982).
"""

from collections import Counter
from collections.abc import Sequence

from guided.automata.steps import Steps
from guided.lalr.items import derived
from guided.lalr.tables import bits

__all__ = ["Analysis"]

# Step cost of an item of a state, a table entry, an edge between transitions, 64 terminals of a set, and a symbol of a rule in a conflict.
_ITEM, _ENTRY, _EDGE, _WORD, _NAMED = 200, 200, 25, 1, 100
_TOO_MANY = "the grammar has too many states: use fewer rules, alternatives and counted repeats"


class Analysis:
    """The analysis of one grammar.

    Parameters
    ----------
    names : sequence of str
        Of the symbols.
    end : int
        The symbol ``$END``.
    rules : sequence of (int, tuple of int)
        Left-hand and right-hand symbols.
    priorities : sequence of int
        Of the rules.
    starts : sequence of int
        Start symbols, without repeats.
    steps : Steps

    Attributes
    ----------
    moves : list of dict of int to int
        By state: the next state after each symbol.
    reduces : list of dict of int to int
        By state: the rule that is reduced before a terminal.
    conflicts : Counter of (int, int, int)
        Terminal, rule that is not reduced, and rule that is reduced instead (-1: the terminal is shifted); in how many states.
    collisions : set of (int, tuple of int)
        Terminals, each with rules of which none has priority; Lark refuses them.

    Raises
    ------
    LimitError
        The budget is exceeded.
    """

    def __init__(
        self,
        names: Sequence[str],
        end: int,
        rules: Sequence[tuple[int, tuple[int, ...]]],
        priorities: Sequence[int],
        starts: Sequence[int],
        steps: Steps,
    ) -> None:
        self._names, self._end, self._steps, self._starts = names, end, steps, starts
        # Each start is the text of a rule that nothing refers to.
        self._origins = [origin for origin, _ in rules] + [-1] * len(starts)
        self._sides = [side for _, side in rules] + [(start,) for start in starts]
        self._rules_of: dict[int, list[int]] = {}
        for rule, origin in enumerate(self._origins):
            self._rules_of.setdefault(origin, []).append(rule)
        self._nullable = derived(rules, ())
        # By item: its rule, and the symbol behind it (-1: none). By rule: its first item.
        self._rule: list[int] = []
        self._next: list[int] = []
        self._first: list[int] = []
        for rule, side in enumerate(self._sides):
            self._first.append(len(self._next))
            self._next += [*side, -1]
            self._rule += [rule] * (len(side) + 1)
        self._expanded: dict[int, frozenset[int]] = {}
        self.moves: list[dict[int, int]] = []
        self._closures = self._states()
        # Nonterminal transitions are numbered. For each: the terminals that can be read behind it, the transitions that it reads and those
        # that it includes. And its lookback: transitions, each followed by a reduction, which is a state where a rule ends, and the rule.
        # PERF: numbers in few lists; a tuple or list for each is searched for garbage (`python -m benchmarks.grammars`).
        self._number: list[dict[int, int]] = []
        self._read: list[int] = []
        self._reads: dict[int, list[int]] = {}
        self._includes: dict[int, list[int]] = {}
        self._lookback: list[int] = []
        self._reductions: dict[tuple[int, int], int] = {}
        self._relate_reads()
        self._relate_includes()
        self._ahead = self._lookaheads()
        self.reduces: list[dict[int, int]] = [{} for _ in self.moves]
        self.conflicts: Counter[tuple[int, int, int]] = Counter()
        self.collisions: set[tuple[int, tuple[int, ...]]] = set()
        self._choose(priorities)

    def _states(self) -> list[set[int]]:
        """Find the states that the starts reach, with their transitions; return the items of each."""
        closures: list[set[int]] = []
        known: dict[frozenset[int], int] = {}
        name = self._names.__getitem__

        def state(kernel: frozenset[int]) -> int:
            found = known.setdefault(kernel, len(closures))
            if found == len(closures):
                closure, count = set(kernel), 1 + len(kernel)
                for symbol in {self._next[item] for item in kernel}:
                    if symbol > self._end:
                        begun = self._expansion(symbol)
                        count += 1 + len(begun)
                        closure |= begun
                self._steps.spend(_ITEM * count, _TOO_MANY)
                closures.append(closure)
            return found

        for first in self._first[len(self._first) - len(self._starts) :]:
            state(frozenset([first]))
        # The list grows while its closures are visited.
        for closure in closures:
            moved: dict[int, list[int]] = {}
            for item in closure:
                if self._next[item] >= 0:
                    moved.setdefault(self._next[item], []).append(item + 1)
            self.moves.append({symbol: state(frozenset(moved[symbol])) for symbol in sorted(moved, key=name)})
        return closures

    def _expansion(self, symbol: int) -> frozenset[int]:
        """Return the first items of all rules that a symbol can start with."""
        found = self._expanded.get(symbol)
        if found is None:
            work, items = [symbol], list[int]()
            symbols = {symbol}
            for one in work:
                for rule in self._rules_of[one]:
                    items.append(self._first[rule])
                    first = self._next[items[-1]]
                    if first > self._end and first not in symbols:
                        symbols.add(first)
                        work.append(first)
            self._steps.spend(_ITEM * len(items), _TOO_MANY)
            found = self._expanded[symbol] = frozenset(items)
        return found

    def _relate_reads(self) -> None:
        """Find, for each nonterminal transition, the terminals that can be read behind it and the nullable transitions there."""
        count = 0
        for moves in self.moves:
            numbers = {symbol: count + i for i, symbol in enumerate(s for s in moves if s > self._end)}
            self._number.append(numbers)
            count += len(numbers)
        behind = [
            (
                sum(1 << symbol for symbol in moves if symbol < self._end),
                [number for symbol, number in numbers.items() if symbol in self._nullable],
            )
            for moves, numbers in zip(self.moves, self._number, strict=True)
        ]
        for state, numbers in enumerate(self._number):
            for symbol, number in numbers.items():
                terminals, empty = behind[self.moves[state][symbol]]
                ends = state < len(self._starts) and symbol == self._starts[state]
                self._read.append(terminals | ends << self._end)
                if empty:
                    self._reads[number] = empty
        self._steps.spend((_EDGE + _WORD * self._end // 64) * count, _TOO_MANY)

    def _relate_includes(self) -> None:
        """Find the includes and lookback relations of each nonterminal transition."""
        for state, (closure, numbers) in enumerate(zip(self._closures, self._number, strict=True)):
            count = 0
            for item in closure:
                rule = self._rule[item]
                number = numbers.get(self._origins[rule])
                if number is None:
                    continue
                side, index, target = self._sides[rule], item - self._first[rule], state
                count += 1 + len(side) - index
                # From here on, only nullable symbols follow.
                first = len(side) - 1
                while first > 0 and side[first] in self._nullable:
                    first -= 1
                for place in range(index, len(side)):
                    symbol = side[place]
                    if place >= first and symbol > self._end:
                        self._includes.setdefault(self._number[target][symbol], []).append(number)
                    target = self.moves[target][symbol]
                if index == 0:
                    self._lookback += number, self._reductions.setdefault((target, rule), len(self._reductions))
            self._steps.spend(_EDGE * count, _TOO_MANY)

    def _lookaheads(self) -> list[int]:
        """Return the terminals on which each reduction is done, as bits."""
        edges = sum(map(len, (*self._reads.values(), *self._includes.values())))
        self._steps.spend((_EDGE + _WORD * self._end // 64) * edges, _TOO_MANY)
        follow = list(self._read)
        _propagate(follow, self._reads)
        _propagate(follow, self._includes)
        ahead = [0] * len(self._reductions)
        for number, reduction in zip(self._lookback[::2], self._lookback[1::2], strict=True):
            ahead[reduction] |= follow[number]
        self._steps.spend(_ENTRY * sum(terminals.bit_count() for terminals in ahead), _TOO_MANY)
        return ahead

    def _choose(self, priorities: Sequence[int]) -> None:
        """Choose the actions: a terminal is shifted rather than a rule reduced, and of several rules the one of highest priority is."""
        several: dict[tuple[int, int], list[int]] = {}
        for (state, rule), ahead in zip(self._reductions, self._ahead, strict=True):
            reduces, moves = self.reduces[state], self.moves[state]
            for terminal in bits(ahead):
                if terminal in moves or terminal in reduces:
                    several.setdefault((state, terminal), []).append(rule)
                if terminal not in moves:
                    reduces.setdefault(terminal, rule)
        named = 0
        for (state, terminal), rules in several.items():
            shifts = terminal in self.moves[state]
            rules = sorted(rules if shifts else [self.reduces[state][terminal], *rules])
            rules.sort(key=lambda rule: -priorities[rule])
            named += sum(1 + len(self._sides[rule]) for rule in rules)
            if len(rules) > 1 and priorities[rules[0]] == priorities[rules[1]]:
                self.collisions.add((terminal, tuple(sorted(rules))))
            if not shifts:
                self.reduces[state][terminal] = rules[0]
            self.conflicts.update((terminal, rule, -1 if shifts else rules[0]) for rule in rules[not shifts :])
        self._steps.spend(_NAMED * named, _TOO_MANY)


def _propagate(sets: list[int], successors: dict[int, list[int]]) -> None:
    """Add to each node's set those of all reachable nodes. No recursion."""
    count = len(sets)
    low, stack = [0] * count, list[int]()
    for root in range(count):
        if low[root]:
            continue
        work = [(root, iter(successors.get(root, ())))]
        stack.append(root)
        low[root] = len(stack)
        begun = {root: len(stack)}
        while work:
            node, others = work[-1]
            for other in others:
                if not low[other]:
                    stack.append(other)
                    low[other] = begun[other] = len(stack)
                    work.append((other, iter(successors.get(other, ()))))
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
                if work:
                    above = work[-1][0]
                    sets[above] |= sets[node]
                    low[above] = min(low[above], low[node])
