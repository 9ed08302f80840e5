"""`Examples`: short texts that illustrate findings about a grammar, such as a conflict or a rule that derives no text.

An *example* is a string of terminals that brings the parser to a state, found best first: paths in the graph of states, ordered by the
bytes of their shortest lexemes, with rules spelled by their cheapest strings of terminals. Each is checked on the parser's own stacks
before it is returned. For a conflict, the rejected rule could have been reduced in the example, and the terminal could have followed it.

Bounded by `_PATHS_TRIED`. A conflict whose rejected action could never have succeeded has no example.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from guided.lalr.items import items_of
from guided.lalr.lexeme_paths import preference
from guided.lalr.lexing import last_characters
from guided.lalr.parser import Parser
from guided.lalr.prefix_position import PrefixPositions
from guided.lalr.scanner import NOTHING, Scanner
from guided.lalr.tables import NO_TEXT, Conflict

__all__ = ["Example", "Examples"]

# Maximum number of paths in a search, and of terminals in an example.
_PATHS_TRIED, _LONGEST = 5_000, 200
_NEVER = 1 << 40


class Example(NamedTuple):
    """Text before a position.

    Attributes
    ----------
    terminals : tuple of str
    text : str or None
        A text that Lark lexes as these terminals; None if no simple one was found.
    """

    terminals: tuple[str, ...]
    text: str | None


class Examples:
    """The examples of one grammar.

    Parameters
    ----------
    positions : PrefixPositions
        Of the grammar's texts.
    """

    def __init__(self, positions: PrefixPositions) -> None:
        tables, scanner = positions.tables, positions.scanner
        self._tables, self._start, self._feed = tables, positions.start, Parser(tables, positions.start).feed
        self._items = items_of(tables, positions.start)
        self._prefix_positions = positions
        self._lexemes = _lexemes(scanner)
        self._separators = [
            b"",
            *([self._lexemes[scanner.ignored]] if scanner.ignored in self._lexemes else []),
        ]
        self._costs, self._rule_of = self._derivations()
        end = tables.end
        self._edges = [
            [(symbol, target) for symbol, target in row.items() if target >= 0 and symbol != end]
            for row in self._items.moves
        ]

    def conflict(self, conflict: Conflict) -> Example | None:
        """Return text before the terminal of a conflict where both actions can continue; None if none was found."""
        items, terminal, rule = self._items, conflict.terminal, conflict.rule
        origin, side = items.rules[rule]
        length = len(side)

        def is_met(states: tuple[int, ...]) -> bool:
            action = items.moves[states[-1]].get(terminal)
            if action is None or action == -1 - rule or (action < 0) != (conflict.taken >= 0):
                return False
            is_under_way = (rule, length) in items.kernels[states[-1]] if length else origin in items.moves[states[-1]]
            below = states[: len(states) - length]
            after = items.moves[below[-1]].get(origin) if below else None
            return is_under_way and after is not None and self._feed((*below, after), terminal) is not None

        if length:
            states = [state for state in items.states if (rule, length) in items.kernels[state]]
        else:
            states = [state for state in items.states if origin in items.moves[state]]
        return self._first(states, is_met)

    def waited(self, name: str) -> Example | None:
        """Return text before a position where the parser expects a terminal or rule."""
        symbol = self._tables.symbols.index(name)
        states = [state for state in self._items.states if symbol in self._items.moves[state]]
        return self._first(states, lambda _: True)

    def states_after(self, terminal: int) -> list[int]:
        """Return the parser states in which a terminal has just been read."""
        return [state for state in self._items.states if self._items.reached_by[state] == terminal]

    def waited_in(self, state: int) -> set[int]:
        """Return the terminals with a pattern that a parser state expects."""
        end = self._tables.end
        return {symbol for symbol in self._items.moves[state] if symbol < end}

    def waited_behind(self, terminal: int, other: int) -> Example | None:
        """Return text before a terminal that the parser expects directly after another."""
        return self._first([one for one in self.states_after(terminal) if other in self.waited_in(one)], lambda _: True)

    def spelled(self, terminals: tuple[int, ...]) -> Example:
        """Return the example of these terminals, from the start."""
        return Example(tuple(self._tables.symbols[terminal] for terminal in terminals), self._text(terminals))

    def _first(self, states: list[int], is_met: Callable[[tuple[int, ...]], bool]) -> Example | None:
        """Return the cheapest way to one of these states whose stack meets a condition."""
        for path, symbols in self._paths(states):
            if is_met(path):
                terminals = self._terminals(symbols)
                if terminals is not None and self._leads_to(terminals, path):
                    return self.spelled(terminals)
        return None

    def _paths(self, states: list[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield stacks of states with one of these on top, and the symbols between them, cheapest first."""
        away = self._away(states)
        wanted, ticket = set(states), count()
        queue = [(away.get(self._start.state, _NEVER), next(ticket), 0, (self._start.state,), ())]
        paths: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = [*queue]
        for _ in range(_PATHS_TRIED):
            if not paths or paths[0][0] >= _NEVER:
                return
            _, _, cost, path, symbols = heappop(paths)
            if path[-1] in wanted:
                yield path, symbols
            if len(path) > _LONGEST:
                continue
            for symbol, target in self._edges[path[-1]]:
                onward = cost + self._costs[symbol]
                if onward + away.get(target, _NEVER) < _NEVER:
                    heappush(paths, (onward + away[target], next(ticket), onward, (*path, target), (*symbols, symbol)))

    def _away(self, states: list[int]) -> dict[int, int]:
        """Return the cost from each state to the nearest of these."""
        sources: dict[int, list[tuple[int, int]]] = {}
        for state in self._items.states:
            for symbol, target in self._edges[state]:
                sources.setdefault(target, []).append((state, symbol))
        found: dict[int, int] = {}
        queue = [(0, state) for state in states]
        heapify(queue)
        while queue:
            cost, state = heappop(queue)
            if state not in found:
                found[state] = cost
                for source, symbol in sources.get(state, ()):
                    if cost + self._costs[symbol] < _NEVER:
                        heappush(queue, (cost + self._costs[symbol], source))
        return found

    def _derivations(self) -> tuple[list[int], dict[int, int]]:
        """Return the cost of each symbol's cheapest text, and the rule that it starts with."""
        items, end = self._items, self._tables.end
        costs = [_NEVER] * len(self._tables.symbols)
        for terminal in range(end):
            if terminal in self._lexemes:
                costs[terminal] = len(self._lexemes[terminal]) + 1
            elif self._tables.lexer.terminals[terminal].pattern == NO_TEXT:
                costs[terminal] = 1
        rule_of: dict[int, int] = {}
        users: dict[int, list[int]] = {}
        for rule, (_, side) in enumerate(items.rules):
            for symbol in side:
                users.setdefault(symbol, []).append(rule)
        queue = [(sum(costs[symbol] for symbol in side), rule) for rule, (_, side) in enumerate(items.rules)]
        queue = [entry for entry in queue if entry[0] < _NEVER]
        heapify(queue)
        while queue:
            cost, rule = heappop(queue)
            origin = items.rules[rule][0]
            if origin in rule_of:
                continue
            rule_of[origin], costs[origin] = rule, cost + 1
            for user in users.get(origin, ()):
                whole = sum(costs[symbol] for symbol in items.rules[user][1])
                if whole < _NEVER:
                    heappush(queue, (whole, user))
        return costs, rule_of

    def _terminals(self, symbols: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the terminals of these symbols, rules by their cheapest text; None if there are too many."""
        found: list[int] = []
        work = list(reversed(symbols))
        while work:
            symbol = work.pop()
            if symbol < self._tables.end:
                found.append(symbol)
            else:
                work.extend(reversed(self._items.rules[self._rule_of[symbol]][1]))
            if len(found) + len(work) > _LONGEST:
                return None
        return tuple(found)

    def _leads_to(self, terminals: tuple[int, ...], path: tuple[int, ...]) -> bool:
        """Return whether the parser has this stack after some terminals, up to reductions by the next one."""
        stack: tuple[int, ...] | None = (self._start.state,)
        for terminal in terminals:
            stack = None if stack is None else self._feed(stack, terminal)
        return stack is not None and self._is_reduced(stack, path)

    def _is_reduced(self, states: tuple[int, ...], path: tuple[int, ...]) -> bool:
        """Return whether reductions turn one stack into another."""
        items, seen = self._items, set[tuple[int, ...]]()
        work = [states]
        while work:
            states = work.pop()
            if states == path:
                return True
            if states in seen or len(seen) > _LONGEST:
                continue
            seen.add(states)
            for rule in {-1 - action for action in items.moves[states[-1]].values() if action < 0}:
                below = states[: len(states) - len(items.rules[rule][1])]
                after = items.moves[below[-1]].get(items.rules[rule][0]) if below else None
                if after is not None:
                    work.append((*below, after))
        return False

    def _text(self, terminals: tuple[int, ...]) -> str | None:
        """Return a text that Lark lexes as these terminals: their shortest lexemes, separated by ignored text where necessary."""
        text = b""
        stack: tuple[int, ...] = (self._start.state,)
        for terminal in terminals:
            fed = self._feed(stack, terminal)
            if fed is None:
                return None
            stack = fed
            lexeme = self._lexemes.get(terminal, b"")
            is_word = text[-1:].isalnum() and lexeme[:1].isalnum()
            for separator in reversed(self._separators) if is_word else self._separators:
                longer = text + separator + lexeme
                if lexeme and self._prefix_positions.states(longer) == stack:
                    text = longer
                    break
            else:
                return None
        return text.decode(errors="replace")


def _lexemes(scanner: Scanner) -> dict[int, bytes]:
    """Return a shortest lexeme of each label, preferring readable ones; ignored text has the number of terminals as its label."""
    order = sorted(range(256), key=preference)
    found: dict[int, bytes] = {}
    texts: dict[int, bytes] = {int(state): b"" for state in scanner.starts.ravel().tolist() if state >= 0}
    work = list(texts)
    for state in work:
        for label, back, _ in (scanner.events[state].tolist(), scanner.ends[state].tolist()):
            if label != NOTHING:
                text = texts[state]
                found.setdefault(label, text[: len(text) - len(last_characters(text, back))])
        for byte in order:
            target = int(scanner.table[state, scanner.classes[byte]])
            if target >= 0 and target not in texts:
                texts[target] = texts[state] + bytes([byte])
                work.append(target)
    return found
