"""`Analysis`: Lark's LALR analysis within a budget, with faster versions of its slowest steps.

Items, states, reductions and conflict resolution are Lark's own. The replaced steps depend only on the rules:

- nullable symbols (Lark also computes FIRST and FOLLOW by rounds over all rules; LALR uses neither);
- closures of states: each rule is expanded once;
- directly-read sets: once per state instead of per transition into it, as bits of an integer;
- the includes relation: rules are looked up by origin instead of searched;
- lookahead propagation;
- actions: entries share what they refer to.

If nullable rules form a cycle in the reads relation, Lark's sets share memory, and its lookaheads differ from run to run; here they are
those of the definition.

Complexity: that of DeRemer and Pennello; O(items) for a transition's includes, of its own rules only. Every step is budgeted.
Ref: DeRemer and Pennello, "Efficient Computation of LALR(1) Look-Ahead Sets" (1982).
"""

from collections import Counter
from typing import Any

from lark.exceptions import GrammarError
from lark.grammar import NonTerminal, Rule, Terminal
from lark.parsers.grammar_analysis import LR0ItemSet, RulePtr
from lark.parsers.lalr_analysis import IntParseTable, LALR_Analyzer, Reduce, Shift

from guided.automata.steps import Steps
from guided.lalr.items import derived

__all__ = ["Analysis"]

# The number of ``$END``.
_END = -1
# Step cost of an item of a state, a table entry, an edge between transitions, 64 terminals of a set, and a symbol of a rule in a conflict.
_ITEM, _ENTRY, _EDGE, _WORD, _NAMED = 500, 500, 100, 2, 100
_TOO_MANY = "the grammar has too many states"


class _Item(RulePtr):
    """An interned item, compared by identity, with the number of its rule, and a link to the rule's next item once that is known."""

    __slots__ = ("after", "number")
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, rule: Rule, index: int, number: int) -> None:
        super().__init__(rule, index)
        self.number = number
        self.after: _Item | None = None


class Analysis(LALR_Analyzer):
    """The analysis of one grammar.

    Parameters
    ----------
    steps : Steps
    parser_conf : lark.common.ParserConf
        Rules and starts.

    Raises
    ------
    LimitError
        The budget is exceeded.
    lark.exceptions.GrammarError
        A rule is defined twice, or not at all.
    """

    def __init__(self, steps: Steps, parser_conf: Any) -> None:
        # Why: Lark's own constructor is not called because it computes sets that are not needed.
        self.debug = self.strict = False
        self._steps = steps
        rules = list(parser_conf.rules)
        if len(rules) != len(set(rules)):
            twice = [rule for rule, count in Counter(rules).items() if count > 1]
            raise GrammarError(f"Rules defined twice: {', '.join(map(str, twice))}")
        rules += [Rule(NonTerminal(f"$root_{start}"), [NonTerminal(start)]) for start in parser_conf.start]
        # PERF: symbols and rules are numbered, because Lark's are hashed and compared in Python.
        numbers: dict[Any, int] = {}
        self._rules = rules
        self._origins = [numbers.setdefault(rule.origin, len(numbers)) for rule in rules]
        self._sides = [[numbers.setdefault(symbol, len(numbers)) for symbol in rule.expansion] for rule in rules]
        self._symbols = list(numbers)
        self._is_term = [symbol.is_term for symbol in self._symbols]
        self._rules_of: dict[int, list[int]] = {}
        for rule, origin in enumerate(self._origins):
            self._rules_of.setdefault(origin, []).append(rule)
        for side in self._sides:
            for symbol in side:
                if not self._is_term[symbol] and symbol not in self._rules_of:
                    raise GrammarError(f"Using an undefined rule: {self._symbols[symbol]}")
        self._nullable = derived(list(zip(self._origins, self._sides, strict=True)), ())
        self._begin = [_Item(rule, 0, number) for number, rule in enumerate(rules)]
        self._expanded: dict[int, frozenset[_Item]] = {}
        # By state: the next states by symbol.
        self._moves: dict[LR0ItemSet, dict[int, LR0ItemSet]] = {}
        # Bit of each terminal.
        self._bits: dict[int, int] = {}
        # Nonterminal transitions are numbered. For each: the directly-read terminals, the transitions that it reads and those that it
        # includes. And its lookback: transitions, each followed by a reduction (a state where one of its rules ends, with that rule).
        # PERF: numbers in few lists; a tuple or list for each is searched for garbage (`python -m benchmarks.grammars`).
        self._number: dict[LR0ItemSet, dict[int, int]] = {}
        self._directly_read: list[int] = []
        self._reads: dict[int, list[int]] = {}
        self._includes: dict[int, list[int]] = {}
        self._lookback: list[int] = []
        self._reductions: dict[tuple[LR0ItemSet, int], int] = {}
        self.lr0_start_states = {
            start: self._state(frozenset([root]))
            for start, root in zip(parser_conf.start, self._begin[-len(parser_conf.start) :], strict=True)
        }

    def compute_lr0_states(self) -> None:
        """Compute the states that the starts reach, and their transitions."""
        states = list(self.lr0_start_states.values())
        known: dict[frozenset[_Item], LR0ItemSet] = {}
        for state in states:
            moved: dict[int, list[_Item]] = {}
            for item in state.closure:
                assert isinstance(item, _Item), "all items are made here"
                side, index = self._sides[item.number], item.index
                if index < len(side):
                    if item.after is None:
                        item.after = _Item(item.rule, index + 1, item.number)
                    moved.setdefault(side[index], []).append(item.after)
            moves = self._moves[state] = {}
            for symbol, items in moved.items():
                kernel = frozenset(items)
                target = known.get(kernel)
                if target is None:
                    target = known[kernel] = self._state(kernel)
                    states.append(target)
                moves[symbol] = state.transitions[self._symbols[symbol]] = target
        self.lr0_itemsets = set(states)

    def _state(self, kernel: frozenset[_Item]) -> LR0ItemSet:
        closure, count = set(kernel), 1 + len(kernel)
        for symbol in {self._sides[item.number][item.index] for item in kernel if not item.is_satisfied}:
            if not self._is_term[symbol]:
                begun = self._expansion(symbol)
                count += 1 + len(begun)
                closure.update(begun)
        self._spend(_ITEM * count)
        return LR0ItemSet(kernel, closure)  # type: ignore[no-untyped-call]

    def _expansion(self, symbol: int) -> frozenset[_Item]:
        """Return the initial items of all rules that a symbol can start with."""
        found = self._expanded.get(symbol)
        if found is None:
            work = [symbol]
            symbols, rules = {symbol}, list[int]()
            for one in work:
                for rule in self._rules_of[one]:
                    rules.append(rule)
                    first = self._sides[rule][:1]
                    if first and not self._is_term[first[0]] and first[0] not in symbols:
                        symbols.add(first[0])
                        work.append(first[0])
            self._spend(_ITEM * len(rules))
            found = self._expanded[symbol] = frozenset(self._begin[rule] for rule in rules)
        return found

    def _spend(self, count: int) -> None:
        self._steps.spend(count, _TOO_MANY)

    def compute_reads_relations(self) -> None:
        """Compute, for each nonterminal transition, the directly-read terminals and the nullable transitions that follow."""
        count = 0
        for state, moves in self._moves.items():
            for symbol in moves:
                if not self._is_term[symbol]:
                    self._number.setdefault(state, {})[symbol] = count
                    count += 1
        ends = {(state, self._symbols.index(NonTerminal(start))) for start, state in self.lr0_start_states.items()}
        end = self._bit(_END)
        behind: dict[LR0ItemSet, tuple[int, list[int]]] = {}
        for state, numbers in self._number.items():
            for symbol, number in numbers.items():
                target = self._moves[state][symbol]
                if target not in behind:
                    terminals = sum(self._bit(other) for other in self._moves[target] if self._is_term[other])
                    empty = [after for other, after in self._number.get(target, {}).items() if other in self._nullable]
                    behind[target] = terminals, empty
                terminals, empty = behind[target]
                self._directly_read.append(terminals | (end if (state, symbol) in ends else 0))
                if empty:
                    self._reads[number] = empty
        self._spend((_EDGE + _WORD * len(self._bits) // 64) * count)

    def _bit(self, terminal: int) -> int:
        return 1 << self._bits.setdefault(terminal, len(self._bits))

    def compute_includes_lookback(self) -> None:
        """Compute the includes and lookback relations of each nonterminal transition."""
        for state, numbers in self._number.items():
            count = 0
            for item in state.closure:
                assert isinstance(item, _Item), "all items are made here"
                number = numbers.get(self._origins[item.number])
                if number is None:
                    continue
                side, target = self._sides[item.number], state
                count += 1 + len(side) - item.index
                # From here on, only nullable symbols follow.
                first = len(side) - 1
                while first > 0 and side[first] in self._nullable:
                    first -= 1
                for place in range(item.index, len(side)):
                    symbol = side[place]
                    if place >= first and not self._is_term[symbol]:
                        self._includes.setdefault(self._number[target][symbol], []).append(number)
                    target = self._moves[target][symbol]
                if item.index == 0:
                    self._lookback += number, self._reductions.setdefault((target, item.number), len(self._reductions))
            self._spend(_EDGE * count)

    def compute_lookaheads(self) -> None:
        """Compute the terminals on which each state reduces."""
        read = list(self._directly_read)
        symbols = [Terminal("$END") if number == _END else self._symbols[number] for number in self._bits]
        edges = sum(map(len, (*self._reads.values(), *self._includes.values())))
        self._spend((_EDGE + _WORD * len(symbols) // 64) * edges)
        _propagate(read, self._reads)
        _propagate(read, self._includes)
        ahead = [0] * len(self._reductions)
        single: dict[int, frozenset[Rule]] = {}
        for number, reduction in zip(self._lookback[::2], self._lookback[1::2], strict=True):
            ahead[reduction] |= read[number]
        self._spend(_ENTRY * sum(follow.bit_count() for follow in ahead))
        for (state, rule), follow in zip(self._reductions, ahead, strict=True):
            alone: Any = single.setdefault(rule, frozenset([self._rules[rule]]))
            for symbol in _members(follow, symbols):
                # PERF: few lookaheads have several rules; a set for each is searched for garbage (`python -m benchmarks.grammars`).
                others = state.lookaheads.setdefault(symbol, alone)
                if others is not alone:
                    state.lookaheads[symbol] = alone | others

    def compute_lalr1_states(self) -> None:
        """Choose the actions of each state, as Lark does; the error of a grammar that has none to choose names all rules that collide.

        PERF: one tuple for each state and rule, where Lark has two for each entry (`python -m benchmarks.grammars`).
        """
        named, collides = 0, False
        number = {state: count for count, state in enumerate(self.lr0_itemsets)}
        shift = {state: (Shift, count) for state, count in number.items()}
        reduce = {frozenset([rule]): (Reduce, rule) for rule in self._rules}
        rows: dict[int, dict[str, Any]] = {}
        for state, count in number.items():
            row = rows[count] = {symbol.name: shift[target] for symbol, target in state.transitions.items()}
            for symbol, rules in state.lookaheads.items():
                if len(rules) > 1:
                    named += sum(1 + len(rule.expansion) for rule in rules)
                    ranked = sorted(rules, key=lambda rule: rule.options.priority or 0)
                    collides |= (ranked[-1].options.priority or 0) == (ranked[-2].options.priority or 0)
                    rules = {ranked[-1]}
                # PERF: a frozenset keeps its hash.
                row.setdefault(symbol.name, reduce[frozenset(rules)])
        self._spend(_NAMED * named)
        if collides:
            super().compute_lalr1_states()
        starts = self.lr0_start_states
        ends = {start: number[state.transitions[NonTerminal(start)]] for start, state in starts.items()}
        begins = {start: number[state] for start, state in starts.items()}
        self.parse_table: Any = IntParseTable(rows, begins, ends)  # type: ignore[no-untyped-call]


def _members(bits: int, symbols: list[Any]) -> list[Any]:
    """Return the symbols of a set; bit i stands for symbol i."""
    # Why: clearing the lowest bit repeatedly would copy the number each time.
    return [symbol for symbol, digit in zip(symbols, f"{bits:b}"[::-1], strict=False) if digit == "1"]


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
