"""Which stacks of the parser can still become a text: exactly, cell by cell.

The parser is a pushdown automaton over letters (`guided.lalr.letters`). A stack is *live before a letter* if the parser, fed it, can go
on to the end of some text. Reductions ask only for what lies below, so whether a stack is live is told by its cells from the bottom up:

- for a state p and a symbol X, the *relation* of (p, X) holds of letters (a, b) if the parser, in p with a next, can read an X and
  then stand in the state behind it with b next: the least fixpoint over rules, every shift and reduction as the tables have it;
- a cell's *values* are, for each item in its state's kernel, the letters that may come when its rule is reduced: the value of the
  same item in the cell below, or, for a rule that begins there, the letters before which the state behind that rule is live;
- the letters before which the cell is live follow from its values and from relations.

So the state of a cell is found from the state of the cell below and the parser's state alone: the deterministic automaton, read from
the bottom, of the regular set of co-accessible stacks (as pre* of the accepting stack). Cells are numbered, and remembered.

Relations (`guided.lalr.relations`) are numbered, because few of them differ: 1,700 among the 8,800 of Python's grammar. The fixpoint
looks at the rules of (p, X) again where a relation that they read has grown, innermost first; a pair of relations that was composed or
joined before is a look-up, any other takes O(blocks^2). Budgeted by `Steps`.
Ref: Bouajjani, Esparza and Maler, Reachability analysis of pushdown automata, 1997.
"""

from heapq import heappop, heappush

from guided.automata.steps import Steps
from guided.lalr.items import Item, Items
from guided.lalr.letters import Letters
from guided.lalr.relations import EMPTY, Relations
from guided.lalr.tables import LalrTables, Start

__all__ = ["Coaccessible"]

# Of a state's symbols: (symbol, relation of the rest of a rule, item below), where the rule began below; and, by the rule's own symbol,
# (symbol, relation), where it begins in the state.
_Plan = tuple[list[tuple[int, int, Item]], dict[int, list[tuple[int, int]]]]
_STEP_COST = 20
_TOO_MANY = "its conflicts leave too much open"


class Coaccessible:
    """The cells of one start's stacks.

    Attributes
    ----------
    first : int
        The cell at the bottom.
    """

    def __init__(self, tables: LalrTables, items: Items, start: Start, letters: Letters, steps: Steps) -> None:
        self._items, self._start, self._letters, self._steps = items, start, letters, steps
        self._contexts: list[int] = tables.context.tolist()
        self._start_symbol = tables.symbols.index(start.name, tables.end)
        self._end = 1 << (len(letters.terminals) - 1)
        self._of_terminal: dict[int, list[int]] = {}
        for letter, terminal in enumerate(letters.terminals):
            self._of_terminal.setdefault(terminal, []).append(letter)
        self._reducing: dict[Item, int] = {}
        self._known = Relations(steps, _TOO_MANY)
        # By state and symbol; EMPTY where there is none.
        self._relations: dict[tuple[int, int], int] = {}
        self._rests: dict[tuple[int, Item], int] = {}
        self._plans: dict[int, _Plan] = {}
        self._solve()
        self._cells: dict[tuple[int, tuple[int, ...]], int] = {}
        self._said: list[tuple[int, dict[Item, int], dict[int, int], int]] = []
        self._above: dict[tuple[int, int], int] = {}
        self.first = self._cell(start.state, {})

    def above(self, cell: int, state: int) -> int:
        """The cell of a parser's state on top of a cell."""
        key = cell, state
        found = self._above.get(key)
        if found is None:
            _, values, begun, _ = self._said[cell]
            own = {
                (rule, dot): values[rule, dot - 1] if dot > 1 else begun[self._items.origins[rule]]
                for rule, dot in self._items.kernels[state]
            }
            found = self._above[key] = self._cell(state, own)
        return found

    def live(self, cell: int) -> int:
        """The letters before which a stack with this cell on top is live, as bits."""
        return self._said[cell][3]

    def empty(self) -> list[int]:
        """The rules' symbols that no text is ever read for."""
        found = {symbol for (_, symbol), relation in self._relations.items() if relation != EMPTY}
        every = {symbol for state in self._items.states for symbol in self._items.gotos[state]}
        return sorted(every - found)

    def _cell(self, state: int, values: dict[Item, int]) -> int:
        key = state, tuple(values.values())
        found = self._cells.get(key)
        if found is None:
            begun = self._begun(state, values)
            live = self._before(state, values)
            if state == self._start.state:
                live |= self._known.backward(self._relation(state, self._start_symbol), self._end)
            found = self._cells[key] = len(self._said)
            self._said.append((state, values, begun, live))
            self._steps.spend(_STEP_COST * len(begun), _TOO_MANY)
        return found

    def _begun(self, state: int, values: dict[Item, int]) -> dict[int, int]:
        """For each symbol that can be read in a cell: the letters that may come behind it."""
        inherited, own = self._plan(state)
        begun = dict.fromkeys(self._items.gotos[state], 0)
        if state == self._start.state:
            begun[self._start_symbol] = self._end
        for symbol, rest, item in inherited:
            begun[symbol] |= self._known.backward(rest, values[item])
        work = [symbol for symbol, letters in begun.items() if letters]
        while work:
            origin = work.pop()
            for symbol, rest in own.get(origin, ()):
                more = self._known.backward(rest, begun[origin])
                if more & ~begun[symbol]:
                    begun[symbol] |= more
                    work.append(symbol)
        return begun

    def _plan(self, state: int) -> _Plan:
        """What the letters behind each symbol that can be read in a state depend on."""
        found = self._plans.get(state)
        if found is None:
            inherited: list[tuple[int, int, Item]] = []
            own: dict[int, list[tuple[int, int]]] = {}
            for symbol, target in self._items.gotos[state].items():
                for rule, dot in self._items.kernels[target]:
                    rest = self._rest(target, (rule, dot))
                    if dot > 1:
                        inherited.append((symbol, rest, (rule, dot - 1)))
                    else:
                        own.setdefault(self._items.origins[rule], []).append((symbol, rest))
            found = self._plans[state] = inherited, own
        return found

    def _before(self, state: int, values: dict[Item, int]) -> int:
        """The letters before which a state is live, by the values of its kernel."""
        found = 0
        for item, value in values.items():
            if value:
                found |= self._known.backward(self._rest(state, item), value)
        return found

    def _rest(self, state: int, item: Item) -> int:
        """The relation of what is left of an item's rule, its reduction included."""
        key = state, item
        found = self._rests.get(key)
        if found is None:
            rule, dot = item
            found = self._rests[key] = self._read(state, rule, dot)
        return found

    def _read(self, state: int, rule: int, dot: int) -> int:
        """The relation of the rest of a rule, read in a state: what remains before its first letter, and behind it."""
        side = self._items.sides[rule]
        if dot == len(side):
            return self._known.identity(self._reduced(state, rule))
        read = self._relation(state, side[dot])
        for symbol in side[dot:-1]:
            if read == EMPTY:
                return EMPTY
            state = self._items.after(state, symbol)
            dot += 1
            read = self._known.composed(read, self._relation(state, side[dot]))
        return self._known.within(read, self._reduced(self._items.after(state, side[-1]), rule))

    def _relation(self, state: int, symbol: int) -> int:
        return self._relations.get((state, symbol), EMPTY)

    def _reduced(self, state: int, rule: int) -> int:
        """The letters on which a state reduces a rule."""
        key = state, rule
        found = self._reducing.get(key)
        if found is None:
            actions = self._items.actions[state]
            wanted = -1 - rule
            found = self._reducing[key] = sum(
                1 << letter for letter, t in enumerate(self._letters.terminals) if actions.get(t) == wanted
            )
        return found

    def _solve(self) -> None:
        """The least relations. Where one grows, those whose rules read it are looked at again, the innermost first."""
        items, letters, known = self._items, self._letters, self._known
        found: list[int] = []
        place: dict[tuple[int, int], int] = {}
        for state in items.states:
            for terminal, target in items.actions[state].items():
                if target >= 0:
                    context = self._contexts[target]
                    rows = {
                        letter: letters.after.get((context, letters.classes[letter]), 0)
                        for letter in self._of_terminal.get(terminal, ())
                    }
                    place[state, terminal] = len(found)
                    found.append(known.of_rows(rows))
        n_terminals = len(found)
        for key in self._inside_out():
            place[key] = len(found)
            found.append(EMPTY)
        readers: list[list[int]] = [[] for _ in found]
        # Of each symbol's place: its rules, as places of their parts and the letters on which they are reduced.
        rules: list[list[tuple[list[int], int]]] = [[] for _ in found]
        for (state, symbol), number in place.items():
            if number < n_terminals:
                continue
            for rule in items.rules_of[symbol]:
                at, parts = state, []
                for part in items.sides[rule]:
                    self._steps.spend(_STEP_COST, _TOO_MANY)
                    parts.append(place[at, part])
                    readers[parts[-1]].append(number)
                    at = items.after(at, part)
                rules[number].append((parts, self._reduced(at, rule)))
        waiting = list(range(n_terminals, len(found)))
        is_waiting = bytearray([0] * n_terminals + [1] * len(waiting))
        while waiting:
            number = heappop(waiting)
            is_waiting[number] = 0
            before = after = found[number]
            for parts, kept in rules[number]:
                self._steps.spend(_STEP_COST * (1 + len(parts)), _TOO_MANY)
                if not parts:
                    after = known.joined(after, known.identity(kept))
                    continue
                read = found[parts[0]]
                for part in parts[1:]:
                    if read == EMPTY:
                        break
                    read = known.composed(read, found[part])
                after = known.joined(after, known.within(read, kept))
            if after != before:
                found[number] = after
                for reader in readers[number]:
                    if not is_waiting[reader]:
                        is_waiting[reader] = 1
                        heappush(waiting, reader)
        self._relations = {key: found[number] for key, number in place.items()}

    def _inside_out(self) -> list[tuple[int, int]]:
        """States with the symbols of rules that can be read there, each behind those that its rules read, as far as they are no circle."""
        items = self._items
        order: list[tuple[int, int]] = []
        seen: set[tuple[int, int]] = set()
        work = [(state, symbol, False) for state in items.states for symbol in items.gotos[state]]
        while work:
            state, symbol, is_done = work.pop()
            if is_done:
                order.append((state, symbol))
            elif (state, symbol) not in seen:
                seen.add((state, symbol))
                work.append((state, symbol, True))
                for rule in items.rules_of[symbol]:
                    at = state
                    for part in items.sides[rule]:
                        if part in items.rules_of and (at, part) not in seen:
                            work.append((at, part, False))
                        at = items.after(at, part)
        return order
