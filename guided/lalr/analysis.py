"""`Analysis`: Lark's LALR analysis within a budget, with faster versions of its slowest steps.

Items, states, reductions and conflict resolution are Lark's own. The replaced steps depend only on the rules:

- nullable symbols (Lark also computes FIRST and FOLLOW by rounds over all rules; LALR uses neither);
- closures of states: each rule is expanded once;
- directly-read sets: once per state instead of per transition into it, as bits of an integer;
- the includes relation: rules are looked up by origin instead of searched;
- lookahead propagation;
- actions: entries share what they refer to.

If nullable rules form a cycle in the reads relation, Lark's own propagation runs instead: its sets then share memory, and the result
depends on their order.

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

# Step cost of an item of a state, a table entry, an edge between transitions, 64 terminals of a set, and a symbol of a rule in a conflict.
_ITEM, _ENTRY, _EDGE, _WORD, _NAMED = 500, 500, 100, 2, 100
_TOO_MANY = "the grammar has too many states"


class _Item(RulePtr):
    """An interned item, compared by identity, with a link to the next item of its rule once that is known."""

    __slots__ = ("after",)
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, rule: Rule, index: int) -> None:
        super().__init__(rule, index)
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
        self.nonterminal_transitions = []
        self._steps = steps
        rules = list(parser_conf.rules)
        if len(rules) != len(set(rules)):
            twice = [rule for rule, count in Counter(rules).items() if count > 1]
            raise GrammarError(f"Rules defined twice: {', '.join(map(str, twice))}")
        roots = [Rule(NonTerminal(f"$root_{start}"), [NonTerminal(start)]) for start in parser_conf.start]
        self.lr0_rules_by_origin = {}
        for rule in (*rules, *roots):
            self.lr0_rules_by_origin.setdefault(rule.origin, []).append(rule)
        for rule in (*rules, *roots):
            for symbol in rule.expansion:
                if not symbol.is_term and symbol not in self.lr0_rules_by_origin:
                    raise GrammarError(f"Using an undefined rule: {symbol}")
        self.NULLABLE = derived([(rule.origin, rule.expansion) for rule in rules], ())
        self._begin = {rule: _Item(rule, 0) for rule in (*rules, *roots)}
        self._expanded: dict[Any, frozenset[_Item]] = {}
        self._last: dict[Rule, int] = {}
        # Bit of each terminal.
        self._bits: dict[Any, int] = {}
        # Nonterminal transitions are numbered. For each: the directly-read terminals, the transitions that it reads and those that it
        # includes. And its lookback: transitions, each followed by a reduction (a state where one of its rules ends, with that rule).
        # PERF: numbers in few lists; a tuple or list for each is searched for garbage (`python -m benchmarks.grammars`).
        self._number: dict[LR0ItemSet, dict[Any, int]] = {}
        self._directly_read: list[int] = []
        self._reads: dict[int, list[int]] = {}
        self._includes: dict[int, list[int]] = {}
        self._lookback: list[int] = []
        self._reductions: dict[tuple[LR0ItemSet, Rule], int] = {}
        self.lr0_start_states = {
            start: self._state(frozenset([self._begin[root]]))
            for start, root in zip(parser_conf.start, roots, strict=True)
        }

    def compute_lr0_states(self) -> None:
        """Compute the states that the starts reach, and their transitions."""
        states = list(self.lr0_start_states.values())
        known: dict[frozenset[_Item], LR0ItemSet] = {}
        for state in states:
            moved: dict[Any, list[_Item]] = {}
            for item in state.closure:
                assert isinstance(item, _Item), "all items are made here"
                side, index = item.rule.expansion, item.index
                if index < len(side):
                    if item.after is None:
                        item.after = _Item(item.rule, index + 1)
                    moved.setdefault(side[index], []).append(item.after)
            for symbol, items in moved.items():
                kernel = frozenset(items)
                target = known.get(kernel)
                if target is None:
                    target = known[kernel] = self._state(kernel)
                    states.append(target)
                state.transitions[symbol] = target
        self.lr0_itemsets = set(states)

    def _state(self, kernel: frozenset[_Item]) -> LR0ItemSet:
        closure, count = set(kernel), 1 + len(kernel)
        for symbol in {item.next for item in kernel if not item.is_satisfied}:
            if not symbol.is_term:
                begun = self._expansion(symbol)
                count += 1 + len(begun)
                closure.update(begun)
        self._spend(_ITEM * count)
        return LR0ItemSet(kernel, closure)  # type: ignore[no-untyped-call]

    def _expansion(self, symbol: Any) -> frozenset[_Item]:
        """Return the initial items of all rules that a symbol can start with."""
        found = self._expanded.get(symbol)
        if found is None:
            work = [symbol]
            symbols, rules = {symbol}, list[Rule]()
            for one in work:
                for rule in self.lr0_rules_by_origin[one]:
                    rules.append(rule)
                    if rule.expansion and not rule.expansion[0].is_term and rule.expansion[0] not in symbols:
                        symbols.add(rule.expansion[0])
                        work.append(rule.expansion[0])
            self._spend(_ITEM * len(rules))
            found = self._expanded[symbol] = frozenset(self._begin[rule] for rule in rules)
        return found

    def _spend(self, count: int) -> None:
        self._steps.spend(count, _TOO_MANY)

    def compute_reads_relations(self) -> None:
        """Compute, for each nonterminal transition, the directly-read terminals and the nullable transitions that follow."""
        count = 0
        for state in self.lr0_itemsets:
            for symbol in state.transitions:
                if not symbol.is_term:
                    self._number.setdefault(state, {})[symbol] = count
                    count += 1
        ends = {(root, item.next) for root in self.lr0_start_states.values() for item in root.kernel}
        end = self._bit(Terminal("$END"))
        behind: dict[LR0ItemSet, tuple[int, list[int]]] = {}
        for state, numbers in self._number.items():
            for symbol, number in numbers.items():
                target = state.transitions[symbol]
                if target not in behind:
                    terminals = sum(self._bit(other) for other in target.transitions if other.is_term)
                    empty = [after for other, after in self._number.get(target, {}).items() if other in self.NULLABLE]
                    behind[target] = terminals, empty
                terminals, empty = behind[target]
                self._directly_read.append(terminals | (end if (state, symbol) in ends else 0))
                if empty:
                    self._reads[number] = empty
        self._spend((_EDGE + _WORD * len(self._bits) // 64) * count)

    def _bit(self, terminal: Any) -> int:
        return 1 << self._bits.setdefault(terminal, len(self._bits))

    def compute_includes_lookback(self) -> None:
        """Compute the includes and lookback relations of each nonterminal transition."""
        for state, numbers in self._number.items():
            count = 0
            for item in state.closure:
                rule = item.rule
                number = numbers.get(rule.origin)
                if number is None:
                    continue
                first, target = self._last_needed(rule), state
                count += 1 + len(rule.expansion) - item.index
                for place in range(item.index, len(rule.expansion)):
                    symbol = rule.expansion[place]
                    if place >= first and not symbol.is_term:
                        self._includes.setdefault(self._number[target][symbol], []).append(number)
                    target = target.transitions[symbol]
                if item.index == 0:
                    self._lookback += number, self._reductions.setdefault((target, rule), len(self._reductions))
            self._spend(_EDGE * count)

    def _last_needed(self, rule: Rule) -> int:
        """Return the index of the last symbol that is followed only by nullable symbols."""
        place = self._last.get(rule)
        if place is None:
            place = len(rule.expansion) - 1
            while place > 0 and rule.expansion[place] in self.NULLABLE:
                place -= 1
            self._last[rule] = place
        return place

    def compute_lookaheads(self) -> None:
        """Compute the terminals on which each state reduces."""
        read, symbols = list(self._directly_read), list(self._bits)
        edges = sum(map(len, (*self._reads.values(), *self._includes.values())))
        self._spend((_EDGE + _WORD * len(symbols) // 64) * edges)
        if not _propagated(read, self._reads):
            self._spend(_WORD * len(symbols) * (edges + len(read)))
            self.write_out()
            super().compute_lookaheads()  # type: ignore[no-untyped-call]
            self._spend(_ENTRY * sum(len(rules) for state in self.lr0_itemsets for rules in state.lookaheads.values()))
            return
        _propagated(read, self._includes)
        ahead = [0] * len(self._reductions)
        single: dict[Rule, frozenset[Rule]] = {}
        for number, reduction in zip(self._lookback[::2], self._lookback[1::2], strict=True):
            ahead[reduction] |= read[number]
        self._spend(_ENTRY * sum(follow.bit_count() for follow in ahead))
        for (state, rule), follow in zip(self._reductions, ahead, strict=True):
            alone: Any = single.setdefault(rule, frozenset([rule]))
            for symbol in _members(follow, symbols):
                # PERF: few lookaheads have several rules; a set for each is searched for garbage (`python -m benchmarks.grammars`).
                others = state.lookaheads.get(symbol)
                state.lookaheads[symbol] = alone if others is None else alone | others

    def compute_lalr1_states(self) -> None:
        """Choose the actions of each state, as Lark does; the error of a grammar that has none to choose names all rules that collide.

        PERF: one tuple for each state and rule, where Lark has two for each entry (`python -m benchmarks.grammars`).
        """
        named, collides = 0, False
        number = {state: count for count, state in enumerate(self.lr0_itemsets)}
        shift = {state: (Shift, count) for state, count in number.items()}
        reduce = {rule: (Reduce, rule) for _, rule in self._reductions}
        rows: dict[int, dict[str, Any]] = {}
        for state, count in number.items():
            row = rows[count] = {symbol.name: shift[target] for symbol, target in state.transitions.items()}
            for symbol, rules in state.lookaheads.items():
                if len(rules) > 1:
                    named += sum(1 + len(rule.expansion) for rule in rules)
                    ranked = sorted(rules, key=lambda rule: rule.options.priority or 0)
                    collides |= (ranked[-1].options.priority or 0) == (ranked[-2].options.priority or 0)
                    rules = {ranked[-1]}
                for rule in rules:
                    row.setdefault(symbol.name, reduce[rule])
        self._spend(_NAMED * named)
        if collides:
            super().compute_lalr1_states()
        starts = self.lr0_start_states
        ends = {start: number[state.transitions[NonTerminal(start)]] for start, state in starts.items()}
        begins = {start: number[state] for start, state in starts.items()}
        self.parse_table: Any = IntParseTable(rows, begins, ends)  # type: ignore[no-untyped-call]

    def write_out(self) -> None:
        """Store the relations in Lark's format: sets of transitions, by transition."""
        transitions = [(state, symbol) for state, numbers in self._number.items() for symbol in numbers]
        self.nonterminal_transitions, symbols, reductions = transitions, list(self._bits), list(self._reductions)

        def sets(numbers: dict[int, list[int]]) -> dict[Any, set[Any]]:
            return {
                transition: {transitions[other] for other in numbers.get(number, ())}
                for number, transition in enumerate(transitions)
            }

        self.reads, self.includes = sets(self._reads), sets(self._includes)
        self.lookback = {transition: set() for transition in transitions}
        for number, reduction in zip(self._lookback[::2], self._lookback[1::2], strict=True):
            self.lookback[transitions[number]].add(reductions[reduction])
        self.directly_reads = {
            one: set(_members(terminals, symbols))
            for one, terminals in zip(transitions, self._directly_read, strict=True)
        }


def _members(bits: int, symbols: list[Any]) -> list[Any]:
    """Return the symbols of a set; bit i stands for symbol i."""
    # Why: clearing the lowest bit repeatedly would copy the number each time.
    return [symbol for symbol, digit in zip(symbols, f"{bits:b}"[::-1], strict=False) if digit == "1"]


def _propagated(sets: list[int], successors: dict[int, list[int]]) -> bool:
    """Add to each node's set those of all reachable nodes; return False if there is a cycle. No recursion."""
    is_plain, count = True, len(sets)
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
                        is_plain = False
                if work:
                    above = work[-1][0]
                    sets[above] |= sets[node]
                    low[above] = min(low[above], low[node])
    return is_plain
