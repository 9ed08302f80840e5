"""Exact liveness of parser stacks: the stacks that some remaining input completes to a text, decided cell by cell.

The parser is a pushdown automaton over lookaheads (`guided.lalr.lookahead_classes`). A stack is *live before a lookahead* if the parser,
fed that lookahead, can reach the end of some text. Reductions only look down the stack, so liveness is computed from the bottom cell
upwards:

- for a state p and a symbol X, the *relation* of (p, X) holds for lookaheads (a, b) if the parser, in p with lookahead a, can read an X and
  then be in the state after it with lookahead b. It is the least fixpoint over rules, using every shift and reduction of the table;
- a cell's *values* are, for each item in its state's kernel, the lookaheads that may follow the reduction of its rule: the value of the
  same item in the cell below, or, for a rule that starts there, the lookaheads before which the state after that rule is live;
- the lookaheads before which the cell is live follow from its values and the relations.

A cell is thus a function of the cell below and its own parser state: the cells are the states of a deterministic automaton that reads
stacks from the bottom and recognizes the regular set of co-accessible stacks (pre* of the accepting stack). Cells are numbered and cached.

Relations (`guided.lalr.relations`) are numbered because few are distinct: 1,700 of the 8,800 of Python's grammar. The fixpoint
re-evaluates the rules of (p, X) when a relation that they read has grown, innermost first. Composing or joining a pair of relations seen
before is a look-up; any other pair takes O(blocks^2). Budgeted by `Steps`.
Ref: Bouajjani, Esparza and Maler, Reachability analysis of pushdown automata, 1997.
"""

from collections.abc import Iterator

from guided.automata.steps import Steps
from guided.fixpoint.worklist import post_order, solve
from guided.lalr.items import Item, Items
from guided.lalr.lookahead_classes import LookaheadClasses
from guided.lalr.relations import EMPTY, Relations
from guided.lalr.tables import LalrTables, Start, bits

__all__ = ["Coaccessible"]

# For rules that started in a cell below: (symbol, relation of the rest of the rule, item in the cell below). For rules that start in
# this state: (symbol, relation of the rest), by the rule's own symbol.
_Plan = tuple[list[tuple[int, int, Item]], dict[int, list[tuple[int, int]]]]
_STEP_COST = 20
_TOO_MANY = "the grammar's conflicts have too many outcomes"


class Coaccessible:
    """Deterministic automaton over the stacks of one start symbol.

    Attributes
    ----------
    first : int
        The bottom cell.
    """

    def __init__(
        self, tables: LalrTables, items: Items, start: Start, lookaheads: LookaheadClasses, steps: Steps
    ) -> None:
        self._items, self._start, self._lookaheads, self._steps = items, start, lookaheads, steps
        self._contexts: list[int] = tables.context.tolist()
        self._start_symbol = tables.symbols.index(start.name, tables.end)
        self._end = 1 << (len(lookaheads.terminals) - 1)
        self._of_terminal: dict[int, list[int]] = {}
        for lookahead, terminal in enumerate(lookaheads.terminals):
            self._of_terminal.setdefault(terminal, []).append(lookahead)
        # Lookaheads on which a state reduces, by state and rule.
        self._reductions = tables.reductions
        self._reducing: dict[tuple[int, int], int] = {}
        self._known = Relations(steps, _TOO_MANY)
        # By state and symbol; EMPTY if absent.
        self._relations: dict[tuple[int, int], int] = {}
        self._rests: dict[tuple[int, Item], int] = {}
        self._plans: dict[int, _Plan] = {}
        self._solve()
        self._cells: dict[tuple[int, tuple[int, ...]], int] = {}
        self._contents: list[tuple[int, dict[Item, int], dict[int, int], int]] = []
        self._above: dict[tuple[int, int], int] = {}
        self.first = self._cell(start.state, {})

    def above(self, cell: int, state: int) -> int:
        """Return the cell of a parser state on top of a cell."""
        key = cell, state
        found = self._above.get(key)
        if found is None:
            _, values, begun, _ = self._contents[cell]
            own = {
                (rule, dot): values[rule, dot - 1] if dot > 1 else begun[self._items.rules[rule][0]]
                for rule, dot in self._items.kernels[state]
            }
            found = self._above[key] = self._cell(state, own)
        return found

    def live(self, cell: int) -> int:
        """Return the lookaheads before which a stack with this cell on top is live, as bits."""
        return self._contents[cell][3]

    def empty(self) -> list[int]:
        """Return the nonterminals that derive no readable text."""
        found = {symbol for (_, symbol), relation in self._relations.items() if relation != EMPTY}
        every = {symbol for _, symbol in self._begun_rules()}
        return sorted(every - found)

    def _cell(self, state: int, values: dict[Item, int]) -> int:
        key = state, tuple(values.values())
        found = self._cells.get(key)
        if found is None:
            begun = self._begun(state, values)
            live = self._before(state, values)
            if state == self._start.state:
                live |= self._known.backward(self._relation(state, self._start_symbol), self._end)
            found = self._cells[key] = len(self._contents)
            self._contents.append((state, values, begun, live))
            self._steps.spend(_STEP_COST * len(begun), _TOO_MANY)
        return found

    def _begun(self, state: int, values: dict[Item, int]) -> dict[int, int]:
        """Return, for each symbol that can be read in a cell, the lookaheads that may follow it."""
        inherited, own = self._plan(state)
        begun = dict.fromkeys(self._nonterminals(state), 0)
        if state == self._start.state:
            begun[self._start_symbol] = self._end
        for symbol, rest, item in inherited:
            begun[symbol] |= self._known.backward(rest, values[item])
        work = [symbol for symbol, lookaheads in begun.items() if lookaheads]
        # PERF: the oldest first halves the look-ups (`python -m benchmarks.soak`).
        for origin in work:
            for symbol, rest in own.get(origin, ()):
                more = self._known.backward(rest, begun[origin])
                if more & ~begun[symbol]:
                    begun[symbol] |= more
                    work.append(symbol)
        return begun

    def _plan(self, state: int) -> _Plan:
        """Return the dependencies of the lookaheads that may follow each symbol readable in a state."""
        found = self._plans.get(state)
        if found is None:
            inherited: list[tuple[int, int, Item]] = []
            own: dict[int, list[tuple[int, int]]] = {}
            for symbol in self._nonterminals(state):
                target = self._items.moves[state][symbol]
                for rule, dot in self._items.kernels[target]:
                    rest = self._rest(target, (rule, dot))
                    if dot > 1:
                        inherited.append((symbol, rest, (rule, dot - 1)))
                    else:
                        own.setdefault(self._items.rules[rule][0], []).append((symbol, rest))
            found = self._plans[state] = inherited, own
        return found

    def _before(self, state: int, values: dict[Item, int]) -> int:
        """Return the lookaheads before which a state is live, given the values of its kernel."""
        found = 0
        for item, value in values.items():
            if value:
                found |= self._known.backward(self._rest(state, item), value)
        return found

    def _rest(self, state: int, item: Item) -> int:
        """Return the relation of the unread part of an item's rule, including its reduction."""
        key = state, item
        found = self._rests.get(key)
        if found is None:
            rule, dot = item
            found = self._rests[key] = self._read(state, rule, dot)
        return found

    def _read(self, state: int, rule: int, dot: int) -> int:
        """Return the relation of the rest of a rule read in a state, from its first lookahead to the lookahead after it."""
        side = self._items.rules[rule][1]
        if dot == len(side):
            return self._known.identity(self._reduced(state, rule))
        read = self._relation(state, side[dot])
        for symbol in side[dot:-1]:
            if read == EMPTY:
                return EMPTY
            state = self._items.moves[state][symbol]
            dot += 1
            read = self._known.composed(read, self._relation(state, side[dot]))
        return self._known.within(read, self._reduced(self._items.moves[state][side[-1]], rule))

    def _relation(self, state: int, symbol: int) -> int:
        return self._relations.get((state, symbol), EMPTY)

    def _reduced(self, state: int, rule: int) -> int:
        """Return the lookaheads on which a state reduces a rule."""
        found = self._reducing.get((state, rule))
        if found is None:
            terminals = bits(self._reductions[state].get(rule, 0))
            found = sum(1 << lookahead for terminal in terminals for lookahead in self._of_terminal.get(terminal, ()))
            self._reducing[state, rule] = found
        return found

    def _solve(self) -> None:
        """Solve for the least relations."""
        items, lookaheads, known = self._items, self._lookaheads, self._known
        found: list[int] = []
        place: dict[tuple[int, int], int] = {}
        for state in items.states:
            for terminal, target in items.moves[state].items():
                if target >= 0 and terminal not in items.rules_of:
                    context = self._contexts[target]
                    rows = {
                        lookahead: lookaheads.after.get((context, lookaheads.classes[lookahead]), 0)
                        for lookahead in self._of_terminal.get(terminal, ())
                    }
                    place[state, terminal] = len(found)
                    found.append(known.of_rows(rows))
        for key in post_order(self._begun_rules(), self._parts):
            place[key] = len(found)
            found.append(EMPTY)
        readers: list[list[int]] = [[] for _ in found]
        # By place: the rules of its symbol, each as the places of its parts and the lookaheads on which it is reduced.
        rules: list[list[tuple[list[int], int]]] = [[] for _ in found]
        costs = [0] * len(found)
        for (state, symbol), number in place.items():
            for rule in items.rules_of.get(symbol, ()):
                at, parts = state, []
                for part in items.rules[rule][1]:
                    self._steps.spend(_STEP_COST, _TOO_MANY)
                    parts.append(place[at, part])
                    readers[parts[-1]].append(number)
                    at = items.moves[at][part]
                rules[number].append((parts, self._reduced(at, rule)))
                costs[number] += _STEP_COST * (1 + len(parts))

        def related(number: int) -> int:
            relation = found[number]
            self._steps.spend(costs[number], _TOO_MANY)
            for parts, kept in rules[number]:
                if not parts:
                    relation = known.joined(relation, known.identity(kept))
                    continue
                read = found[parts[0]]
                for part in parts[1:]:
                    if read == EMPTY:
                        break
                    read = known.composed(read, found[part])
                relation = known.joined(relation, known.within(read, kept))
            return relation

        solve(found, related, readers)
        self._relations = {key: found[number] for key, number in place.items()}

    def _begun_rules(self) -> list[tuple[int, int]]:
        """Return each state with the nonterminals that can be read there."""
        return [(state, symbol) for state in self._items.states for symbol in self._nonterminals(state)]

    def _nonterminals(self, state: int) -> list[int]:
        """Return the nonterminals that can be read in a state."""
        return [symbol for symbol in self._items.moves[state] if symbol in self._items.rules_of]

    def _parts(self, key: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Yield the nonterminals in a symbol's rules, with the states where they are read."""
        items, (state, symbol) = self._items, key
        for rule in items.rules_of[symbol]:
            at = state
            for part in items.rules[rule][1]:
                if part in items.rules_of:
                    yield at, part
                at = items.moves[at][part]
