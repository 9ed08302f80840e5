"""A second client of the pushdown runtime: canonical LR(1) parsing, with states of the parser as cells.

Terminals are byte strings, none the beginning of another. Between terminals a text is in control `start`; the last byte of a terminal
is its action. On it the top cell shifts (pushes a state) or reduces (pops the rule's right side, then the goto of the cell that is
exposed, then the terminal once more). A state in which nothing but one rule's end can be reduces at once, without a terminal.

All is made as it is asked for: rows by `fill`, reactions by `compute_reaction`, and states of the parser as shifts and gotos reach them.
Where terminals have several bytes, the controls within them are guarded by the terminals they may become.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from guided.arrays import DEAD, UNKNOWN
from guided.automata.pushdown import GUARD, PENDING, PLAN, PushdownTables, Reaction, action_entry
from guided.errors import GrammarError

__all__ = ["BRACKETS", "Parser", "Rule", "brackets"]

Symbol = str | bytes
Rule = tuple[str, tuple[Symbol, ...]]
# Rule, position of the dot, the terminal that may follow.
Item = tuple[int, int, bytes]
END = b""

BRACKETS = ((b"(", b")"), (b"[", b"]"))


def brackets(pairs: Sequence[tuple[bytes, bytes]] = BRACKETS) -> tuple[Rule, ...]:
    """S: nothing, or S and a pair with S within."""
    return (("S", ()), *(("S", ("S", opening, "S", closing)) for opening, closing in pairs))


class Parser:
    """The LR(1) automaton of a grammar, whose first rule's left side is the start; implements `guided.automata.pushdown.Pushdown`."""

    def __init__(self, rules: Sequence[Rule], *, has_plan: bool = False) -> None:
        self.rules: list[Rule] = [("", (rules[0][0],)), *rules]
        self.terminals = sorted({symbol for _, right in rules for symbol in right if isinstance(symbol, bytes)})
        self.first = self._first()
        self.is_guarded = any(len(terminal) > 1 for terminal in self.terminals)
        self.tables = PushdownTables()
        self._actions: list[Hashable] = []
        self._states: list[frozenset[Item]] = []
        self._labels: list[int] = []
        self._state_ids: dict[frozenset[Item], int] = {}
        self._prefixes: list[bytes] = []
        self._controls: dict[bytes, int] = {}
        self.end = self.tables.control(np.full(256, DEAD, np.int32))
        self._prefixes.append(b"")
        self.start = self._control(b"", has_plan)
        self._state({(0, 0, END)})

    # Controls: what has been read of a terminal

    def _control(self, prefix: bytes, has_plan: bool = False) -> int:
        found = self._controls.get(prefix)
        if found is None:
            row = np.full(256, DEAD, np.int32)
            for terminal in self._beginning(prefix):
                row[terminal[len(prefix)]] = UNKNOWN
            end = 0 if prefix else action_entry(self._action(("terminal", END)))
            found = self.tables.control(row, end_action=end)
            if has_plan:
                self.tables.info[found, PLAN] = found
            self._controls[prefix] = found
            self._prefixes.append(prefix)
            if self.is_guarded:
                labels = sum(1 << self.terminals.index(terminal) for terminal in self._beginning(prefix))
                self.tables.guard(found, np.array([[labels]], np.uint64))
        return found

    def _beginning(self, prefix: bytes) -> list[bytes]:
        return [terminal for terminal in self.terminals if terminal.startswith(prefix)]

    def compute_allowed(self, cell: int) -> None:
        self.tables.set_allowed(cell, (self._labels[cell],))

    def is_open(self, control: int, cell: int) -> bool:
        guard = int(self.tables.guards[self.tables.info[control, GUARD]])
        return bool(guard & self._labels[cell])

    def fill(self, control: int, byte: int) -> None:
        read = self._prefixes[control] + bytes([byte])
        row = self.tables.rows[control].copy()
        row[byte] = action_entry(self._action(("terminal", read))) if read in self.terminals else self._control(read)
        self.tables.set_row(control, row)

    # Cells: states of the parser

    def _first(self) -> dict[str, set[bytes]]:
        """The terminals that each symbol may begin with, and END where it may be empty."""
        found: dict[str, set[bytes]] = {left: set() for left, _ in self.rules}
        for _ in self.rules:
            for left, right in self.rules:
                found[left] |= self._beginnings(right, END, found)
        return found

    @staticmethod
    def _beginnings(symbols: Sequence[Symbol], after: bytes, first: dict[str, set[bytes]]) -> set[bytes]:
        found: set[bytes] = set()
        for symbol in symbols:
            starts = {symbol} if isinstance(symbol, bytes) else first[symbol]
            found |= starts - {END}
            if END not in starts:
                return found
        return found | {after}

    def _state(self, kernel: set[Item]) -> int:
        items, todo = set(kernel), list(kernel)
        while todo:
            rule, dot, after = todo.pop()
            right = self.rules[rule][1]
            if dot < len(right) and isinstance(right[dot], str):
                follow = self._beginnings(right[dot + 1 :], after, self.first)
                new = {
                    (i, 0, t) for i, (left, _) in enumerate(self.rules) if left == right[dot] for t in follow
                } - items
                items |= new
                todo += new
        state = frozenset(items)
        found = self._state_ids.get(state)
        if found is None:
            labels = sum(1 << i for i, terminal in enumerate(self.terminals) if terminal in self.next_terminals(state))
            found = self._state_ids[state] = self.tables.cell(PENDING if self.is_guarded else -1)
            self._labels.append(labels)
            assert found == len(self._states)
            self._states.append(state)
        return found

    def next_terminals(self, state: frozenset[Item]) -> set[bytes]:
        """What may follow: an LR(1) state knows."""
        found = set()
        for rule, dot, after in state:
            right = self.rules[rule][1]
            found.add(after if dot == len(right) else right[dot])
        return {symbol for symbol in found if isinstance(symbol, bytes)}

    def _goto(self, cell: int, symbol: Symbol) -> int | None:
        kernel = {
            (rule, dot + 1, after)
            for rule, dot, after in self._states[cell]
            if self.rules[rule][1][dot : dot + 1] == (symbol,)
        }
        return self._state(kernel) if kernel else None

    # Reactions

    def _action(self, name: Hashable) -> int:
        if name not in self._actions:
            is_terminal = isinstance(name, tuple) and name[0] == "terminal" and name[1] != END
            label = self.terminals.index(name[1]) if self.is_guarded and is_terminal else -1
            assert self.tables.action(label=label) == len(self._actions)
            self._actions.append(name)
        return self._actions.index(name)

    def compute_reaction(self, action: int, cell: int) -> None:
        self.tables.set_reaction(action, cell, self._reaction(self._actions[action], cell))

    def _reaction(self, name: Hashable, cell: int) -> Reaction | None:
        assert isinstance(name, tuple)
        kind, *arguments = name
        if kind == "goto":
            symbol, goes_to = arguments
            state = self._goto(cell, symbol)
            assert state is not None
            return Reaction(0, state, goes_to)
        ended = {(rule, after) for rule, dot, after in self._states[cell] if dot == len(self.rules[rule][1])}
        if kind == "reduce":
            ((rule, _), *_) = ended
            return self._reduced(rule, self.start)
        (terminal,) = arguments
        if (0, terminal) in ended:
            return Reaction(0, -1, self.end)
        for rule, after in ended:
            if after == terminal:
                return self._reduced(rule, action_entry(self._action(name)))
        state = self._goto(cell, terminal)
        if state is None:
            return None
        items = self._states[state]
        is_over = len({item[0] for item in items}) == 1 and all(
            dot == len(self.rules[rule][1]) for rule, dot, _ in items
        )
        return Reaction(0, state, action_entry(self._action(("reduce",))) if is_over else self.start)

    def _reduced(self, rule: int, goes_to: int) -> Reaction:
        left, right = self.rules[rule]
        return Reaction(len(right), -1, action_entry(self._action(("goto", left, goes_to))))

    def recorded_reaction(self, action: int, cell: int, data: bytes) -> Reaction | None:
        raise AssertionError("no cell records")

    def distinctness_key(self, cell: int, data: bytes) -> tuple[Hashable, Hashable]:
        raise AssertionError("no cell records")

    # Completions

    def no_completion_error(self) -> GrammarError:
        return GrammarError("nothing completes the text", "start")

    def completion_target(self, cell: int, own: Hashable) -> Hashable:
        return None

    def completion_step(self, control: int, cell: int, own: Hashable, needed: int) -> bytes:
        """The next terminal of the shortest rest of a rule that has begun; of one that fits, within a terminal."""
        rests = [
            [s for s in self.rules[rule][1][dot:] if isinstance(s, bytes)] for rule, dot, _ in self._states[cell] if dot
        ]
        prefix = self._prefixes[control]
        fitting = [rest[0] for rest in sorted(rests, key=len) if rest and rest[0].startswith(prefix)]
        allowed = sorted(self.next_terminals(self._states[cell]) - {END})
        fitting += [terminal for terminal in allowed if terminal.startswith(prefix)]
        return fitting[0][len(prefix) :]
