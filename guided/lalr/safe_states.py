"""Parser states from which every stack can be completed, proved without inspecting stacks.

The proof completes a text by finishing each rule in progress, after which the stack below must continue. Two things restrict the terminal
that comes next: a rule whose conflict Lark resolved is not reduced before some terminals, and some terminals cannot be adjacent
(`guided.lalr.lexical_follow`). Both are expressed as *relations* on terminals, per symbol and not per state: X relates (a, b) if some
derivation of X starts with a and is reduced, in every state, with b as lookahead. The relations are a lower bound, and the parser follows
them on every stack, because its table is correct wherever no conflict was resolved.

A *goal* (state, terminals) states: every stack with that state on top can be completed by a text that does not start with one of the
terminals. It holds if some item of the state's kernel can be finished so that, in each state that its rule uncovers, the goal holds that
avoids every terminal before which the rule is not reduced. Greatest fixpoint where the stack gets lower, least fixpoint where it does not.

O(rules * blocks + goals * items). Incomplete: a state without a proof may still be safe (`guided.lalr.coaccessible` decides exactly).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.fixpoint.worklist import post_order, solve
from guided.lalr.items import Items
from guided.lalr.lexical_follow import LexicalFollow
from guided.lalr.relations import EMPTY, Relations
from guided.lalr.tables import LalrTables, Start

__all__ = ["SafeStates", "safe_states"]

# Step cost of a goal, an item of a state or a relation, and of a pair of blocks; sets of more than _WIDE terminals cost more.
_STEP_COST, _PAIR_COST = 150, 15
_WIDE = 4096
_TOO_MANY = "the grammar has too many conflicts"
_Goal = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class SafeStates:
    """Proved states.

    Attributes
    ----------
    can_come : dict of int to int
        By state: a set of terminals, as bits. After any control that allows all of them, every stack with that state on top can be
        completed.
    is_complete : bool
        Every reachable state that is the start or is entered by a terminal is proved, apart from those after an Indenter's terminals.
        States that are unreachable because the lexer never reads a terminal on the way are ignored.
    """

    can_come: dict[int, int]
    is_complete: bool


class _Proof:
    def __init__(
        self,
        tables: LalrTables,
        items: Items,
        start: Start,
        reachable: Collection[int],
        next_of: Sequence[int],
        steps: Steps,
    ) -> None:
        self.items, self.start, self.steps, self.reductions = items, start, steps, tables.reductions
        self.start_symbol = tables.symbols.index(start.name, tables.end)
        self.end, self.every = 1 << tables.end, (2 << tables.end) - 1
        self.kept = [self.every] * len(items.rules)
        for conflict in tables.conflicts:
            self.kept[conflict.rule] &= ~(1 << conflict.terminal)
        self.width = 1 + tables.end // _WIDE
        # Symbols in the order in which their relations are solved, and the position of each symbol in it.
        self.order = post_order(range(len(tables.symbols)), self._parts)
        self.place = [0] * len(self.order)
        for place, symbol in enumerate(self.order):
            self.place[symbol] = place
        self.known = Relations(steps, _TOO_MANY, tables.end)
        self.relations = [
            self.known.of_rows({symbol: next_of[symbol]}) if symbol < tables.end else EMPTY for symbol in self.order
        ]
        self._relate()
        self.rests: dict[tuple[int, int], int] = {}
        self.before: list[list[int]] = [[] for _ in items.kernels]
        for state in items.states:
            if state not in reachable:
                continue
            for target in {target for target in items.moves[state].values() if target >= 0}:
                self.before[target].append(state)
        self.below: dict[frozenset[int], frozenset[int]] = {}
        self.behind: dict[tuple[int, int, int], frozenset[int]] = {}
        self.needed: dict[tuple[frozenset[int], int], list[int]] = {}
        # Goals by number; those without a proof, those of them that are refuted, those to try, and the goals that wait for a goal.
        self.numbers: dict[_Goal, int] = {}
        self.goals: list[_Goal] = []
        self.unproved: set[int] = set()
        self.refuted: set[int] = set()
        self.work: list[int] = []
        self.waiting: dict[int, list[int]] = {}
        # By proved goal: the goals that its proof rests on, and the set that none of them may join.
        self.rests_on: dict[int, tuple[list[int], set[int]]] = {}

    def prove(self, goals: Sequence[_Goal]) -> set[_Goal]:
        """Return the proved goals among these and the goals that they depend on.

        Invariant: a dependency on lower stacks is assumed until it is refuted, because no stack gets lower forever; a dependency on stacks
        of the same height must be proved first.
        """
        for goal in goals:
            self._number(goal)
        while self.work:
            while self.work:
                number = self.work.pop()
                self._spend(_STEP_COST)
                if number in self.unproved and number not in self.refuted and self._holds(number, *self.goals[number]):
                    self.unproved.remove(number)
                    self.work += self.waiting.pop(number, ())
            self.refuted |= self.unproved
            while lost := [one for one, (needed, gone) in self.rests_on.items() if not gone.isdisjoint(needed)]:
                self._spend(_PAIR_COST * len(self.rests_on))
                self.unproved.update(lost)
                self.work += lost
                for one in lost:
                    del self.rests_on[one]
        return {goal for number, goal in enumerate(self.goals) if number not in self.unproved}

    def _number(self, goal: _Goal) -> int:
        found = self.numbers.setdefault(goal, len(self.goals))
        if found == len(self.goals):
            self.goals.append(goal)
            self.unproved.add(found)
            self.work.append(found)
        return found

    def _spend(self, count: int) -> None:
        self.steps.spend(count * self.width, _TOO_MANY)

    def _holds(self, number: int, state: int, avoided: int) -> bool:
        if state == self.start.end and not avoided & self.end:
            return True
        if state == self.start.state:
            blocks, through = self.known.parts(self.relations[self.place[self.start_symbol]])
            if through & self.end & ~avoided or any(b & self.end and f & ~avoided for b, f in blocks.items()):
                return True
        for rule, dot in self.items.kernels[state]:
            blocks, through = self.known.parts(self._rest(rule, dot))
            self._spend(_STEP_COST + _PAIR_COST * len(blocks))
            if dot == len(self.items.rules[rule][1]):
                through = self.reductions[state].get(rule, 0)
            goals = [self.every & ~behind for behind, first in blocks.items() if first & ~avoided]
            if through & ~avoided:
                goals.append(avoided | self.every & ~through)
            for one in goals:
                if self._all_hold(number, state, rule, dot, one):
                    return True
        return False

    def _all_hold(self, number: int, state: int, rule: int, dot: int, avoided: int) -> bool:
        """Return whether the goal holds in each state after the rule; if one must be proved first, goal `number` waits for it."""
        key = state, self.items.rules[rule][0], dot
        behind = self.behind.get(key)
        if behind is None:
            origin, moves = key[1], self.items.moves
            behind = self.behind[key] = frozenset(moves[below][origin] for below in self._uncovered(state, dot))
        self._spend(_STEP_COST + _PAIR_COST * len(behind))
        needed = self.needed.get((behind, avoided))
        if needed is None:
            needed = self.needed[behind, avoided] = [self._number((one, avoided)) for one in behind]
        gone = self.refuted if dot > 1 else self.unproved
        if gone.isdisjoint(needed):
            self.rests_on[number] = needed, gone
            return True
        if dot <= 1:
            self.waiting.setdefault(next(one for one in needed if one in gone), []).append(number)
        return False

    def _uncovered(self, state: int, depth: int) -> frozenset[int]:
        """Return the states that can be on top after popping `depth` cells."""
        found = frozenset({state})
        cost = 0
        for _ in range(depth):
            below = self.below.get(found)
            if below is None:
                below = self.below[found] = frozenset().union(*(self.before[one] for one in found))
                cost += sum(len(self.before[one]) for one in found)
            cost += 1 + len(found)
            found = below
        self._spend(_PAIR_COST * cost)
        return found

    def _rest(self, rule: int, dot: int) -> int:
        """Return the relation of the unread part of a rule, including its reduction."""
        key = rule, dot
        found = self.rests.get(key)
        if found is None:
            found = self.rests[key] = self._read(rule, dot)
        return found

    def _read(self, rule: int, dot: int) -> int:
        side = self.items.rules[rule][1][dot:]
        self._spend(_STEP_COST * len(side))
        found = self.known.identity(self.every)
        for symbol in side:
            found = self.known.composed(found, self.relations[self.place[symbol]])
        return self.known.within(found, self.kept[rule])

    def _parts(self, symbol: int) -> list[int]:
        """Return the symbols on the right-hand sides of a symbol's rules."""
        return [part for rule in self.items.rules_of.get(symbol, ()) for part in self.items.rules[rule][1]]

    def _relate(self) -> None:
        """Solve for the least relations."""
        readers: list[list[int]] = [[] for _ in self.order]
        for place, symbol in enumerate(self.order):
            for part in set(self._parts(symbol)):
                readers[self.place[part]].append(place)
        solve(self.relations, self._related, readers)

    def _related(self, place: int) -> int:
        found = self.relations[place]
        for rule in self.items.rules_of.get(self.order[place], ()):
            self._spend(_STEP_COST)
            found = self.known.joined(found, self._read(rule, 0))
        return found


def safe_states(
    tables: LalrTables,
    items: Items,
    start: Start,
    lexical_follow: LexicalFollow,
    symbols: Collection[int],
    first_left: int,
    of_indenter: tuple[int, int, int],
    steps: Steps,
) -> SafeStates:
    """Return the states from which every stack can be completed.

    Parameters
    ----------
    symbols : collection of int
        Terminals that the lexer reads, and the nonterminals that they derive.
    first_left : int
        Left class at the start of a text.
    of_indenter : (int, int, int)
        Terminals of an Indenter: newline, INDENT, DEDENT; -1 for none. States after them are not proved, because columns decide what may
        follow.
    steps : Steps
        Budget; once it is spent, no state is proved.
    """
    newline, indent, dedent = of_indenter
    own = {newline: (indent, dedent), dedent: (dedent,)}
    end = tables.end
    every = (2 << end) - 1
    reachable = _reachable(items, start, symbols)
    next_of = [every] * end
    can_come: dict[int, int] = {}
    is_free = newline < 0 and not tables.conflicts
    for state in items.states:
        if state not in reachable:
            continue
        is_free &= all(symbol in symbols for symbol in items.moves[state] if symbol > end)
        terminal, context = items.reached_by[state], int(tables.context[state])
        wanted = sum(1 << one for one in items.moves[state] if one <= end)
        if state == start.state:
            found = lexical_follow.begin(context, first_left)
        elif terminal < end:
            found = lexical_follow.follow(context, newline if terminal in (indent, dedent) else terminal)
            asserted = sum(1 << one for one in own.get(terminal, ()) if one >= 0)
            next_of[terminal] &= found | asserted | ~wanted
        else:
            continue
        if terminal not in of_indenter or state == start.state:
            can_come[state] = found & wanted
            is_free &= not wanted & ~found
    if is_free:
        # Whatever the parser expects can come, and without conflicts every stack of an LR parser begins a text.
        return SafeStates(can_come, True)
    goals = {state: (state, every & ~bits) for state, bits in can_come.items()}
    try:
        proof = _Proof(tables, items, start, reachable, [bits & every for bits in next_of], steps)
        safe = proof.prove(list(goals.values()))
    except LimitError:
        return SafeStates({}, False)
    proved = {state: can_come[state] for state, goal in goals.items() if goal in safe}
    return SafeStates(proved, len(proved) == len(goals))


def _reachable(items: Items, start: Start, symbols: Collection[int]) -> set[int]:
    """Return the states reachable from the start through some symbols."""
    found, work = {start.state}, [start.state]
    while work:
        state = work.pop()
        for symbol, target in items.moves[state].items():
            if target >= 0 and symbol in symbols and target not in found:
                found.add(target)
                work.append(target)
    return found
