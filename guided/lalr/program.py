"""Terminals compiled to a program for a backtracking matcher, which fixes the order of alternatives.

Each address holds one instruction. `READ` consumes a character of a set and continues at the next address; all others consume nothing:

    SPLIT a b       try a, then b
    JUMP a
    LOOK n          continue at the next address if assertion n holds
    ENTER l a b     try the body of loop l at a, then b; if the loop is lazy, b first; only b if the body was entered since the last
                    character
    AGAIN l a b     continue at b if the body of loop l was entered since the last character, else at a
    MATCH t         terminal t matches

`ENTER` and `AGAIN` reproduce how `re` stops repeats of a body that may be empty: an iteration that reads nothing is the last one.
Without them the language is the same, but not the text that is matched: ``(?:|a)+`` matches the empty prefix of ``aaa``.

Counted repeats are unrolled, within the budget of states. Assertions belong to one `NFA` (`guided.automata.lookaround` runs them).
A node's code is made of its parts' code, so addresses are relative until a terminal is complete. No recursion.
Ref: Pike's machine; Cox, Regular Expression Matching: the Virtual Machine Approach, 2009.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from guided.automata.nfa import NFA, build_nfa
from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.bounds import min_width
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat, concat, fold, own_parts

__all__ = ["AGAIN", "ENTER", "JUMP", "LOOK", "MATCH", "READ", "SPLIT", "Instruction", "Program", "program_of"]

READ, SPLIT, JUMP, LOOK, ENTER, AGAIN, MATCH = range(7)

# As in `guided.automata.lookaround`: a part of a terminal takes 4 us. So many instructions are copied in this time.
_VISIT_COST, _COPIED = 500, 64
_TOO_LONG = "shorten the terminals or their counts"


class Instruction(NamedTuple):
    """One instruction: opcode and up to three operands (sets, addresses, loops, assertions, terminals), listed in the module docstring."""

    op: int
    a: int = -1
    b: int = -1
    c: int = -1
    is_lazy: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The program of a list of terminals.

    Attributes
    ----------
    instructions : tuple of Instruction
    starts : tuple of int
        Address of each terminal.
    charsets : tuple of Charset
        The operands of `READ`; those of ``nfa`` come first.
    nfa : NFA or None
        Holds the assertions that `LOOK` refers to.
    """

    instructions: tuple[Instruction, ...]
    starts: tuple[int, ...]
    charsets: tuple[Charset, ...]
    nfa: NFA | None


class _Code(NamedTuple):
    """The code of a node, and the number of its loops; addresses are relative, and sets and assertions are operands themselves."""

    items: list[tuple[int, Any, int, int, bool]]
    n_loops: int = 0

    def with_loops_from(self, first: int) -> list[tuple[int, Any, int, int, bool]]:
        """Return the instructions with the loops numbered from a number on."""
        if not (first and self.n_loops):
            return self.items
        return [(op, a, b, c + first if op in (ENTER, AGAIN) else c, is_lazy) for op, a, b, c, is_lazy in self.items]


def program_of(trees: Sequence[Node], limits: Limits, steps: Steps | None = None) -> Program:
    """Compile terminals given as ordered trees (`guided.patterns.parse.parse_in_order`); the cost is added to ``steps``.

    Raises
    ------
    LimitError
        ``nfa_states``, ``transitions`` or ``steps`` of ``limits`` is exceeded.
    """
    steps = steps or Steps(limits.steps)
    emitter = _Emitter(limits.nfa_states, steps)
    codes = [[*fold(tree, emitter.code, own_parts).items, (MATCH, i, 0, -1, False)] for i, tree in enumerate(trees)]
    steps.spend(_VISIT_COST * emitter.visits, _TOO_LONG)
    looks = {id(a): a for code in codes for op, a, *_ in code if op == LOOK}
    nfa = build_nfa(concat(list(looks.values())), limits) if looks else None
    # Assertions within others come behind them.
    names = {} if nfa is None else dict(zip(looks, nfa.looks[:, 1].tolist(), strict=False))
    charsets = [] if nfa is None else list(nfa.charsets)
    numbers: dict[Charset, int] = {}
    program, starts = list[Instruction](), list[int]()
    for code in codes:
        starts.append(len(program))
        for op, a, b, c, is_lazy in code:
            here = len(program)
            if op == READ:
                if a not in numbers:
                    numbers[a] = len(charsets)
                    charsets.append(a)
                program.append(Instruction(READ, numbers[a]))
            elif op in (LOOK, MATCH):
                program.append(Instruction(op, names[id(a)] if op == LOOK else a))
            else:
                program.append(Instruction(op, here + a, here + b, c, is_lazy))
    return Program(tuple(program), tuple(starts), tuple(charsets), nfa)


class _Emitter:
    """Makes the code of nodes."""

    def __init__(self, limit: int, steps: Steps) -> None:
        self.limit, self.steps = limit, steps
        self.most = min(limit, steps.left // _VISIT_COST)
        self.visits = 0

    def visit(self, count: int) -> None:
        self.visits += count
        if self.visits > self.most:
            self.steps.spend(_VISIT_COST * self.visits, _TOO_LONG)
            raise LimitError("nfa_states", self.visits, self.limit, _TOO_LONG)

    def code(self, node: Node, parts: Sequence[_Code]) -> _Code:
        """Return the code of a node, given that of its parts."""
        self.visit(1 + sum(len(part.items) for part in parts) // _COPIED)
        match node:
            case Literal(text):
                self.visit(len(text))
                return _Code([_read(Charset.char(character)) for character in text])
            case Chars(charset):
                return _Code([_read(charset)])
            case Look():
                return _Code([(LOOK, node, 0, -1, False)])
            case Concat():
                return _joined(parts)
            case Alternate():
                return self._alternate(parts) if parts else _Code([_read(Charset.EMPTY)])
            case Repeat():
                return self._repeat(node, parts[0])
        raise TypeError(f"not a node of a terminal's tree: {type(node).__name__}")

    def _alternate(self, parts: Sequence[_Code]) -> _Code:
        """Return the code that tries the parts in order: each but the last after a split, with a jump to the end behind it."""
        self.visit(2 * len(parts))
        end, place, tried = sum(len(part.items) + 2 for part in parts) - 2, 0, list[_Code]()
        for part in parts[:-1]:
            place += len(part.items) + 2
            split, jump = (SPLIT, 1, len(part.items) + 2, -1, False), (JUMP, end - place + 1, 0, -1, False)
            tried.append(part._replace(items=[split, *part.items, jump]))
        return _joined([*tried, parts[-1]])

    def _repeat(self, node: Repeat, item: _Code) -> _Code:
        """Return the code of a repeat: copies of the item, and then a loop, or optional copies that all lead to the end."""
        more = 1 if node.maximum is None else node.maximum - node.minimum
        self.visit(node.minimum + more)
        self.visit((len(item.items) + 2) * (node.minimum + more))
        is_nullable = min_width(node.item) == 0
        width = len(item.items) + 1 + (is_nullable or node.maximum is None)
        # Without an instruction behind the last optional copy.
        end = more * width - (is_nullable and node.maximum is not None)
        copies = [item] * node.minimum
        for left in range(end, 0, -width):
            if is_nullable:
                entry = ENTER, 1, left, item.n_loops, node.is_lazy
            else:
                entry = (SPLIT, left, 1, -1, False) if node.is_lazy else (SPLIT, 1, left, -1, False)
            if node.maximum is None:
                behind = [(JUMP, 1 - width, 0, -1, False)]
            else:
                behind = [(AGAIN, 1, left - width + 1, item.n_loops, False)] if is_nullable and left > width else []
            copies.append(_Code([entry, *item.items, *behind], item.n_loops + is_nullable))
        return _joined(copies)


def _read(charset: Charset) -> tuple[int, Any, int, int, bool]:
    return READ, charset, 0, -1, False


def _joined(parts: Sequence[_Code]) -> _Code:
    """Return the code of parts one after the other, each with loops of its own."""
    found = _Code([], sum(part.n_loops for part in parts))
    first = 0
    for part in parts:
        found.items.extend(part.with_loops_from(first))
        first += part.n_loops
    return found
