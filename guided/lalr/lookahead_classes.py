"""Lookahead classes: pairs of a terminal and the lexer's constraint after it, up to equivalence.

Each lexeme leaves a control (`guided.lalr.lexemes`). Two controls are in the same *class* if, in every context in which they can occur, the
same terminals with equivalent controls can follow: the coarsest such partition (bisimulation). A *lookahead* is a terminal with the class
of the control after it; ``after`` gives the lookaheads that may follow a class in a context, skipping ignored text. If the terminals of a
grammar do not constrain each other, its lookaheads are its terminals.

Not handled here: Indenters. Grammars with an Indenter have no lookaheads.

The exploration may include unreachable controls, because it assumes that a context follows a terminal wherever some state has both.
"""

from dataclasses import dataclass

from guided.automata.steps import Steps
from guided.lalr.items import Items
from guided.lalr.lexemes import Control, Lexemes, Outcomes
from guided.lalr.tables import LalrTables

__all__ = ["LookaheadClasses", "lookahead_classes"]

_STEP_COST = 50
_TOO_MANY = "the grammar's terminals overlap in too many ways"


@dataclass(frozen=True, slots=True, eq=False)
class LookaheadClasses:
    """The lookaheads of a grammar.

    Attributes
    ----------
    terminals : tuple of int
        Terminal of each lookahead; the last lookahead is ``$END``.
    classes : tuple of int
        Class of the control after each lookahead; -1 for ``$END``.
    number : dict of (int, int) to int
        Letter of a terminal and a class.
    class_of : dict of Control to int
    after : dict of (int, int) to int
        By context and class: the lookaheads that may follow, as bits.
    ignored : int
        The label of ignored text.
    """

    terminals: tuple[int, ...]
    classes: tuple[int, ...]
    number: dict[tuple[int, int], int]
    class_of: dict[Control, int]
    after: dict[tuple[int, int], int]
    ignored: int

    def of(self, outcomes: Outcomes, context: int) -> int:
        """Return the lookaheads of these outcomes in a context, as bits."""
        found = outcomes.can_end << (len(self.terminals) - 1)
        for label, control in outcomes.lexemes:
            if label == self.ignored:
                found |= self.after.get((context, self.class_of[control]), 0)
            else:
                found |= 1 << self.number[label, self.class_of[control]]
        return found


# Followers of a control in a context: terminals with controls, and whether the text may end.
_Pairs = frozenset[tuple[int, Control]]
_Followers = tuple[_Pairs, bool]


def lookahead_classes(
    tables: LalrTables, items: Items, lexemes: Lexemes, first: tuple[int, Control], steps: Steps
) -> LookaheadClasses:
    """Compute the lookaheads of a grammar.

    Parameters
    ----------
    first : (int, Control)
        Context and control at the start of a text.

    Raises
    ------
    LimitError
        The budget ``steps`` is exceeded.
    """
    followers = _explored(tables, items, lexemes, first, steps)
    class_of = _classes(followers, steps)
    lookaheads: dict[tuple[int, int], int] = {}
    distinct = {pairs for pairs, _ in followers.values()}
    for terminal, control in sorted(_Pairs().union(*distinct), key=_order):
        lookaheads.setdefault((terminal, class_of[control]), len(lookaheads))
    end = len(lookaheads)
    after: dict[tuple[int, int], int] = {}
    bits = {
        pairs: sum(1 << one for one in {lookaheads[terminal, class_of[control]] for terminal, control in pairs})
        for pairs in distinct
    }
    for (context, control), (pairs, can_end) in followers.items():
        after[context, class_of[control]] = bits[pairs] | can_end << end
    lookaheads[tables.end, -1] = end
    return LookaheadClasses(
        tuple(terminal for terminal, _ in lookaheads),
        tuple(number for _, number in lookaheads),
        lookaheads,
        class_of,
        after,
        tables.lexer.label_of_ignored,
    )


def _explored(
    tables: LalrTables, items: Items, lexemes: Lexemes, first: tuple[int, Control], steps: Steps
) -> dict[tuple[int, Control], _Followers]:
    """Return the followers of every reachable (context, control), skipping ignored text."""
    ignored = tables.lexer.label_of_ignored
    contexts: list[set[int]] = [set() for _ in range(ignored + 2)]
    for state in items.states:
        if 0 <= items.reached_by[state] < ignored:
            contexts[items.reached_by[state]].add(int(tables.context[state]))
    # By context and control: the terminals with controls and the controls of ignored text that come next. Few sets are distinct.
    passed: dict[tuple[int, Control], tuple[_Pairs, list[Control]]] = {}
    sets: dict[_Pairs, _Pairs] = {}
    met: set[tuple[int, Control]] = set()
    work = [first]
    while work:
        key = work.pop()
        if key in passed:
            continue
        pairs = frozenset(lexemes.begun(*key).lexemes)
        skipped = [pair for pair in pairs if pair[0] == ignored]
        fed = pairs.difference(skipped)
        passed[key] = sets.setdefault(fed, fed), [control for _, control in skipped]
        steps.spend(_STEP_COST * (1 + len(pairs)), _TOO_MANY)
        work += [(key[0], control) for _, control in skipped]
        work += [(context, control) for label, control in fed - met for context in contexts[label]]
        met |= fed
    followers: dict[tuple[int, Control], _Followers] = {}
    for context, control in passed:
        seen, stack = {control}, [control]
        while stack:
            for one in passed[context, stack.pop()][1]:
                if one not in seen:
                    seen.add(one)
                    stack.append(one)
        found = _Pairs().union(*(passed[context, one][0] for one in seen))
        steps.spend(_STEP_COST * (len(seen) + len(found)), _TOO_MANY)
        can_end = any(lexemes.begun(context, one).can_end for one in seen)
        followers[context, control] = sets.setdefault(found, found), can_end
    return followers


def _classes(followers: dict[tuple[int, Control], _Followers], steps: Steps) -> dict[Control, int]:
    """Return the coarsest classes whose members have the same followers up to classes."""
    of: dict[Control, list[tuple[int, _Followers]]] = {}
    for (context, control), found in followers.items():
        of.setdefault(control, []).append((context, found))
    distinct = {pairs for pairs, _ in followers.values()}
    for pairs in distinct:
        for _, one in pairs:
            of.setdefault(one, [])
    class_of = dict.fromkeys(of, 0)
    n_classes = 1
    while True:
        steps.spend(_STEP_COST * (len(of) + len(followers) + sum(map(len, distinct))), _TOO_MANY)
        led = {pairs: frozenset((terminal, class_of[one]) for terminal, one in pairs) for pairs in distinct}
        numbers: dict[object, int] = {}
        refined = {}
        for control, own in of.items():
            signature = frozenset((context, led[pairs], can_end) for context, (pairs, can_end) in own)
            refined[control] = numbers.setdefault((class_of[control], signature), len(numbers))
        class_of = refined
        if len(numbers) == n_classes:
            return class_of
        n_classes = len(numbers)


def _order(pair: tuple[int, Control]) -> tuple[object, ...]:
    terminal, (left, watchers, rest, is_end) = pair
    return terminal, left, sorted(watchers), rest, is_end
