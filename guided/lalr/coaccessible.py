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

Relations are kept as bits by letter. Worst case O(states * symbols * letters^2) bits: budgeted.
Ref: Bouajjani, Esparza and Maler, Reachability analysis of pushdown automata, 1997.
"""

from collections.abc import Iterator

from guided.automata.steps import Steps
from guided.lalr.items import Item, Items
from guided.lalr.letters import Letters
from guided.lalr.tables import LalrTables, Start

__all__ = ["Coaccessible"]

# From each letter to the letters, as bits.
_Relation = dict[int, int]
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
        self._relations: dict[Item, _Relation] = {}
        self._solve()
        self._rests: dict[tuple[int, Item], _Relation] = {}
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
        found = {symbol for (_, symbol), relation in self._relations.items() if relation}
        every = {symbol for state in self._items.states for symbol in self._items.gotos[state]}
        return sorted(every - found)

    def _cell(self, state: int, values: dict[Item, int]) -> int:
        key = state, tuple(values.values())
        found = self._cells.get(key)
        if found is None:
            begun = self._begun(state, values)
            live = self._before(state, values)
            if state == self._start.state:
                live |= _backward(self._relation(state, self._start_symbol), self._end)
            found = self._cells[key] = len(self._said)
            self._said.append((state, values, begun, live))
            self._steps.spend(_STEP_COST * len(begun), _TOO_MANY)
        return found

    def _begun(self, state: int, values: dict[Item, int]) -> dict[int, int]:
        """For each symbol that can be read in a cell: the letters that may come behind it."""
        gotos, origins = self._items.gotos[state], self._items.origins
        begun = dict.fromkeys(gotos, 0)
        if state == self._start.state:
            begun[self._start_symbol] = self._end
        changed = True
        while changed:
            changed = False
            for symbol, target in gotos.items():
                own = {
                    (rule, dot): values[rule, dot - 1] if dot > 1 else begun[origins[rule]]
                    for rule, dot in self._items.kernels[target]
                }
                more = begun[symbol] | self._before(target, own)
                if more != begun[symbol]:
                    begun[symbol] = more
                    changed = True
        return begun

    def _before(self, state: int, values: dict[Item, int]) -> int:
        """The letters before which a state is live, by the values of its kernel."""
        found = 0
        for item, value in values.items():
            if value:
                found |= _backward(self._rest(state, item), value)
        return found

    def _rest(self, state: int, item: Item) -> _Relation:
        """The relation of what is left of an item's rule, its reduction included."""
        key = state, item
        found = self._rests.get(key)
        if found is None:
            rule, dot = item
            found = self._rests[key] = self._read(state, rule, dot)
        return found

    def _read(self, state: int, rule: int, dot: int) -> _Relation:
        side = self._items.sides[rule]
        if dot == len(side):
            return {letter: 1 << letter for letter in _bits(self._reduced(state, rule))}
        read = self._relation(state, side[dot])
        for symbol in side[dot:-1]:
            state = self._items.after(state, symbol)
            dot += 1
            if not read:
                return read
            read = self._composed(read, self._relation(state, side[dot]))
        kept = self._reduced(self._items.after(state, side[-1]), rule)
        return {letter: bits & kept for letter, bits in read.items() if bits & kept}

    def _relation(self, state: int, symbol: int) -> _Relation:
        return self._relations.get((state, symbol), {})

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

    def _composed(self, first: _Relation, second: _Relation) -> _Relation:
        self._steps.spend(_STEP_COST * (len(first) * len(second) // 4 + 1), _TOO_MANY)
        found: _Relation = {}
        known: dict[int, int] = {}
        for letter, bits in first.items():
            image = known.get(bits)
            if image is None:
                image = 0
                for middle, more in second.items():
                    if bits >> middle & 1:
                        image |= more
                known[bits] = image
            if image:
                found[letter] = image
        return found

    def _solve(self) -> None:
        """The least relations. Where one grows, those whose rules read it are looked at again."""
        items, letters = self._items, self._letters
        readers: dict[Item, list[tuple[int, int]]] = {}
        work: list[tuple[int, int]] = []
        for state in items.states:
            for terminal, target in items.actions[state].items():
                if target >= 0:
                    context = self._contexts[target]
                    relation = {
                        letter: bits
                        for letter in self._of_terminal.get(terminal, ())
                        if (bits := letters.after.get((context, letters.classes[letter]), 0))
                    }
                    if relation:
                        self._relations[state, terminal] = relation
            for symbol in items.gotos[state]:
                for rule in items.rules_of[symbol]:
                    work.append((state, rule))
                    at = state
                    for part in items.sides[rule]:
                        self._steps.spend(_STEP_COST, _TOO_MANY)
                        if part in items.rules_of:
                            readers.setdefault((at, part), []).append((state, rule))
                        at = items.after(at, part)
        waiting = set(work)
        while work:
            job = work.pop()
            waiting.discard(job)
            state, rule = job
            self._steps.spend(_STEP_COST, _TOO_MANY)
            key = state, items.origins[rule]
            relation = self._relations.setdefault(key, {})
            grew = False
            for letter, bits in self._read(state, rule, 0).items():
                before = relation.get(letter, 0)
                if bits | before != before:
                    relation[letter] = bits | before
                    grew = True
            if grew:
                for reader in readers.get(key, ()):
                    if reader not in waiting:
                        waiting.add(reader)
                        work.append(reader)


def _backward(relation: _Relation, bits: int) -> int:
    """The letters related to one of some letters."""
    found = 0
    for letter, image in relation.items():
        if image & bits:
            found |= 1 << letter
    return found


def _bits(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
