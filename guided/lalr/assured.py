"""States of the parser from which every stack can become a text, proved without looking at stacks.

A text is completed by shortest means: each rule under way is finished, and what is below it then has to go on. Where Lark resolved a
conflict, a rule is not reduced before some terminals; where terminals cannot stand side by side (`guided.lalr.adjacent`), one
cannot follow the other. Both are told by *relations* on terminals, by symbol and not by state: (a, b) are related by X if some
derivation of X begins with a and is reduced, everywhere, with b next. They are a lower bound, and the parser follows them on
every stack, since its table acts rightly wherever no conflict was resolved.

A *goal* (state, terminals) says: every stack with that state on top can become a text that does not begin with one of the terminals.
It holds if some item of the state's kernel can be finished so that, in each state that its rule uncovers, the goal holds that what
comes then is not what the rule is not reduced before. Greatest fixpoint where the stack gets lower, least where it does not.

O(rules * blocks + goals * items). Not a decision: a state that is not proved may be safe (`guided.lalr.coaccessible` decides).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.lalr.adjacent import Adjacent
from guided.lalr.items import Items, productive
from guided.lalr.tables import LalrTables, Start

__all__ = ["Assured", "assured_states"]

_STEP_COST = 10
_TOO_MANY = "the grammar has too many conflicts"
# Terminals behind -> terminals at the begin, as bits; and those that pass through unread.
_Blocks = dict[int, int]
_Relation = tuple[_Blocks, int]
_Goal = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Assured:
    """What is assured.

    Attributes
    ----------
    can_come : dict of int to int
        By state: terminals, as bits. Behind any control that allows all of them, every stack with the state on top can become a text.
    is_complete : bool
        They are all the states that the start and a terminal, but those of an Indenter, lead to. Left out are states that no text leads
        to, because the lexer never reads a terminal on every way there.
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
        self.items, self.start, self.steps = items, start, steps
        self.start_symbol = tables.symbols.index(start.name, tables.end)
        self.end, self.every = 1 << tables.end, (2 << tables.end) - 1
        numbers = {name: number for number, name in enumerate(tables.symbols)}
        self.kept = [self.every] * len(items.sides)
        rules: dict[str, list[int]] = {}
        for rule, text in enumerate(tables.rules):
            rules.setdefault(text, []).append(rule)
        for conflict in tables.conflicts:
            for rule in rules.get(conflict.rule, ()):
                self.kept[rule] &= ~(1 << numbers[conflict.terminal])
        self.relations: dict[int, _Relation] = {
            terminal: ({next_of[terminal]: 1 << terminal}, 0) for terminal in range(tables.end) if next_of[terminal]
        }
        self.rests: dict[tuple[int, int], _Relation] = {}
        self._solve()
        self.before: list[list[int]] = [[] for _ in items.kernels]
        for state in items.states:
            if state not in reachable:
                continue
            targets = {target for target in items.actions[state].values() if target >= 0}
            for target in targets.union(items.gotos[state].values()):
                self.before[target].append(state)
        self.uncovered: dict[tuple[int, int], frozenset[int]] = {}
        self.reduced: dict[tuple[int, int], int] = {}
        self.behind: dict[tuple[int, int, int], frozenset[int]] = {}
        self.asked_together: set[tuple[frozenset[int], int]] = set()
        self.proved: set[_Goal] = set()
        self.refuted: set[_Goal] = set()
        self.asked: dict[_Goal, None] = {}

    def prove(self, goals: Sequence[_Goal]) -> None:
        """Prove what can be proved of some goals, and of those that they need.

        Invariant: what a goal needs on lower stacks is taken for granted until it is refuted, since no stack gets lower for ever; what it
        needs on stacks of the same height has been proved before.
        """
        self.asked.update(dict.fromkeys(goals))
        while True:
            self.proved.clear()
            known = -1, -1
            while known != (len(self.proved), len(self.asked)):
                known = len(self.proved), len(self.asked)
                for goal in [goal for goal in self.asked if goal not in self.proved and goal not in self.refuted]:
                    if self._holds(*goal):
                        self.proved.add(goal)
            open_goals = self.asked.keys() - self.proved - self.refuted
            if not open_goals:
                return
            self.refuted |= open_goals

    def _holds(self, state: int, avoided: int) -> bool:
        if state == self.start.end and not avoided & self.end:
            return True
        if state == self.start.state:
            blocks, through = self.relations.get(self.start_symbol, ({}, 0))
            if through & self.end & ~avoided or any(b & self.end and f & ~avoided for b, f in blocks.items()):
                return True
        for rule, dot in self.items.kernels[state]:
            blocks, through = self._rest(rule, dot)
            self.steps.spend(_STEP_COST * (1 + len(blocks)), _TOO_MANY)
            if dot == len(self.items.sides[rule]):
                through = self._reduced(state, rule)
            goals = [self.every & ~behind for behind, first in blocks.items() if first & ~avoided]
            if through & ~avoided:
                goals.append(avoided | self.every & ~through)
            for one in goals:
                if self._all_hold(state, rule, dot, one):
                    return True
        return False

    def _reduced(self, state: int, rule: int) -> int:
        """The terminals on which a state reduces a rule."""
        key = state, rule
        found = self.reduced.get(key)
        if found is None:
            wanted = -1 - rule
            found = sum(1 << terminal for terminal, value in self.items.actions[state].items() if value == wanted)
            self.reduced[key] = found
        return found

    def _all_hold(self, state: int, rule: int, dot: int, avoided: int) -> bool:
        """Does the goal hold in each state behind the rule?"""
        key = state, self.items.origins[rule], dot
        behind = self.behind.get(key)
        if behind is None:
            origin, gotos = key[1], self.items.gotos
            behind = self.behind[key] = frozenset(gotos[below][origin] for below in self._uncovered(state, dot))
        goals = [(one, avoided) for one in behind]
        self.steps.spend(len(goals), _TOO_MANY)
        if (behind, avoided) not in self.asked_together:
            self.asked_together.add((behind, avoided))
            self.asked.update(dict.fromkeys(goals))
        if dot == 1:
            return self.proved.issuperset(goals)
        return self.refuted.isdisjoint(goals)

    def _uncovered(self, state: int, depth: int) -> frozenset[int]:
        key = state, depth
        found = self.uncovered.get(key)
        if found is None:
            found = frozenset({state})
            if depth:
                found = frozenset().union(*(self._uncovered(below, depth - 1) for below in self.before[state]))
            self.uncovered[key] = found
        return found

    def _rest(self, rule: int, dot: int) -> _Relation:
        """The relation of what is left of a rule, with its reduction."""
        key = rule, dot
        found = self.rests.get(key)
        if found is None:
            found = self.rests[key] = self._read(rule, dot)
        return found

    def _read(self, rule: int, dot: int) -> _Relation:
        found: _Relation = {}, self.every
        for symbol in self.items.sides[rule][dot:]:
            more = self.relations.get(symbol, ({}, 0))
            self.steps.spend(_STEP_COST * (1 + len(found[0]) * len(more[0]) // 4), _TOO_MANY)
            found = _composed(found, more)
        kept = self.kept[rule]
        blocks: _Blocks = {}
        for behind, first in found[0].items():
            if behind & kept:
                blocks[behind & kept] = blocks.get(behind & kept, 0) | first
        return blocks, found[1] & kept

    def _solve(self) -> None:
        readers: dict[int, list[int]] = {}
        for rule, side in enumerate(self.items.sides):
            for symbol in set(side):
                readers.setdefault(symbol, []).append(rule)
        waiting = dict.fromkeys(range(len(self.items.sides)))
        while waiting:
            rule = next(iter(waiting))
            del waiting[rule]
            origin = self.items.origins[rule]
            before = self.relations.get(origin, ({}, 0))
            more = self._read(rule, 0)
            self.steps.spend(_STEP_COST * (1 + (len(before[0]) + len(more[0])) ** 2), _TOO_MANY)
            joined = _joined(before, more)
            if joined != before:
                self.relations[origin] = joined
                waiting.update(dict.fromkeys(readers.get(origin, ())))


def _composed(first: _Relation, second: _Relation) -> _Relation:
    blocks: _Blocks = {}
    for behind, begin in first[0].items():
        image = behind & second[1]
        for more, middle in second[0].items():
            if middle & behind:
                image |= more
        if image:
            blocks[image] = blocks.get(image, 0) | begin
    for behind, begin in second[0].items():
        if begin & first[1]:
            blocks[behind] = blocks.get(behind, 0) | begin & first[1]
    return blocks, first[1] & second[1]


def _joined(first: _Relation, second: _Relation) -> _Relation:
    """The union, in one form: rows with equal images are one block."""
    if not second[0] and not second[1] & ~first[1]:
        return first
    rows: dict[int, int] = {}
    cut = [*first[0].items(), *second[0].items()]
    # Invariant: the parts are disjoint, and each letter is in one of them.
    parts: dict[int, int] = {}
    for behind, begin in cut:
        refined: dict[int, int] = {}
        for part, image in parts.items():
            if part & begin:
                refined[part & begin] = image | behind
            if part & ~begin:
                refined[part & ~begin] = image
            begin &= ~part
        if begin:
            refined[begin] = behind
        parts = refined
    for part, image in parts.items():
        rows[image] = rows.get(image, 0) | part
    return rows, first[1] | second[1]


def assured_states(
    tables: LalrTables,
    items: Items,
    start: Start,
    adjacent: Adjacent,
    first_left: int,
    of_indenter: tuple[int, int, int],
    steps: Steps,
) -> Assured:
    """The states from which every stack can become a text.

    Parameters
    ----------
    first_left : int
        Left class at the begin of a text.
    of_indenter : (int, int, int)
        Terminals of an Indenter: newline, INDENT, DEDENT; -1 for none. Of states behind them nothing is said: what may come there hangs
        on the columns.
    steps : Steps
        Where they are spent, nothing is assured.
    """
    newline, indent, dedent = of_indenter
    own = {newline: (indent, dedent), dedent: (dedent,)}
    every = (2 << tables.end) - 1
    readable = adjacent.readable(items, tables.context.tolist())
    if newline in readable:
        readable |= {indent, dedent}
    reachable = _reachable(items, start, readable)
    next_of = [every] * tables.end
    can_come: dict[int, int] = {}
    for state in items.states:
        if state not in reachable:
            continue
        terminal, context = items.reached_by[state], int(tables.context[state])
        if state == start.state:
            found = adjacent.begin(context, first_left)
        elif terminal < tables.end:
            found = adjacent.follow(context, newline if terminal in (indent, dedent) else terminal)
            asserted = sum(1 << one for one in own.get(terminal, ()) if one >= 0)
            wanted = sum(1 << one for one in items.actions[state])
            next_of[terminal] &= found | asserted | ~wanted
        else:
            continue
        if terminal not in of_indenter or state == start.state:
            can_come[state] = found & sum(1 << one for one in items.actions[state])
    goals = {state: (state, every & ~bits) for state, bits in can_come.items()}
    try:
        proof = _Proof(tables, items, start, reachable, [bits & every for bits in next_of], steps)
        proof.prove(list(goals.values()))
    except LimitError:
        return Assured({}, False)
    proved = {state: can_come[state] for state, goal in goals.items() if goal in proof.proved}
    return Assured(proved, len(proved) == len(goals))


def _reachable(items: Items, start: Start, readable: Collection[int]) -> set[int]:
    """The states that the start leads to by terminals that the lexer reads, and by what derives strings of them."""
    symbols = productive(items, readable)
    found, work = {start.state}, [start.state]
    while work:
        state = work.pop()
        for symbol, target in (*items.actions[state].items(), *items.gotos[state].items()):
            if target >= 0 and symbol in symbols and target not in found:
                found.add(target)
                work.append(target)
    return found
