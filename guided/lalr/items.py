"""LR(0) items reconstructed from a grammar's tables, and productive symbols.

The tables contain actions, but not the items behind them. An *item* (rule, dot) is a rule whose symbols before the dot have been read; the
*kernel* of a state is its set of items with something before the dot. It is the same on every path to the state, so one path suffices.
A symbol is *productive* if it derives some string of terminals that the lexer can read.

O(states * rules that can start there). Not handled here: lookaheads, conflicts.
Ref: DeRemer and Pennello, Efficient computation of LALR(1) look-ahead sets, 1982.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from guided.lalr.tables import LalrTables, Rule, Start

__all__ = ["Item", "Items", "derived", "items_of"]

Symbol = TypeVar("Symbol", bound=Hashable)

# Rule and dot.
Item = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The items reachable from one start.

    Attributes
    ----------
    states : tuple of int
        States that the start reaches, breadth first.
    kernels : list of tuple of (int, int)
        By state: its items with something before the dot.
    reached_by : list of int
        By state: the symbol that leads to it; -1 for the start and for unreachable states.
    moves : list of dict of int to int
        By state, as in the tables.
    rules : tuple of (int, tuple of int)
        As in the tables.
    rules_of : dict of int to list of int
        The rules of a symbol.
    """

    states: tuple[int, ...]
    kernels: list[tuple[Item, ...]]
    reached_by: list[int]
    moves: list[dict[int, int]]
    rules: tuple[Rule, ...]
    rules_of: dict[int, list[int]]


def items_of(tables: LalrTables, start: Start) -> Items:
    """Return the items of a start."""
    moves, rules = tables.moves, tables.rules
    rules_of: dict[int, list[int]] = {}
    beginning: dict[int, dict[int, list[Item]]] = {}
    for rule, (origin, side) in enumerate(rules):
        rules_of.setdefault(origin, []).append(rule)
        if side:
            beginning.setdefault(origin, {}).setdefault(side[0], []).append((rule, 1))
    kernels: list[tuple[Item, ...]] = [()] * tables.n_states
    reached_by = [-1] * tables.n_states
    states = [start.state]
    seen = {start.state}
    for state in states:
        moved: dict[int, list[Item]] = {}
        for rule, dot in kernels[state]:
            side = rules[rule][1]
            if dot < len(side):
                moved.setdefault(side[dot], []).append((rule, dot + 1))
        for origin in moves[state]:
            for symbol, begun in beginning.get(origin, {}).items():
                moved.setdefault(symbol, []).extend(begun)
        for symbol, target in moves[state].items():
            if target >= 0 and target not in seen:
                seen.add(target)
                states.append(target)
                reached_by[target] = symbol
                kernels[target] = tuple(sorted(moved.get(symbol, ())))
    return Items(tuple(states), kernels, reached_by, moves, rules, rules_of)


def derived(rules: Sequence[tuple[Symbol, Sequence[Symbol]]], known: Iterable[Symbol]) -> set[Symbol]:
    """Return the symbols that derive a possibly empty string of known symbols, including the known ones.

    Each rule counts its missing symbols: O(total length of the rules).
    Ref: Dowling and Gallier, "Linear-time algorithms for testing the satisfiability of propositional Horn formulae" (1984).
    """
    found = set(known)
    waiting: dict[Symbol, list[int]] = {}
    missing = []
    for rule, (_, side) in enumerate(rules):
        needed = {symbol for symbol in side if symbol not in found}
        missing.append(len(needed))
        for symbol in needed:
            waiting.setdefault(symbol, []).append(rule)
    work = [rules[rule][0] for rule, count in enumerate(missing) if count == 0]
    while work:
        symbol = work.pop()
        if symbol in found:
            continue
        found.add(symbol)
        for rule in waiting.get(symbol, ()):
            missing[rule] -= 1
            if missing[rule] == 0:
                work.append(rules[rule][0])
    return found
