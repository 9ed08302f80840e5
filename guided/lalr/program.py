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
No recursion. Ref: Pike's machine; Cox, Regular Expression Matching: the Virtual Machine Approach, 2009.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from guided.automata.nfa import NFA, build_nfa
from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.limits import Limits
from guided.patterns.bounds import min_width
from guided.patterns.charset import Charset
from guided.patterns.tree import Alternate, Chars, Concat, Literal, Look, Node, Repeat, concat

__all__ = ["AGAIN", "ENTER", "JUMP", "LOOK", "MATCH", "READ", "SPLIT", "Instruction", "Program", "program_of"]

READ, SPLIT, JUMP, LOOK, ENTER, AGAIN, MATCH = range(7)

# As in `guided.automata.lookaround`: a part of a terminal takes 4 us.
_VISIT_COST = 500
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


def program_of(trees: Sequence[Node], limits: Limits, steps: Steps | None = None) -> Program:
    """Compile terminals given as ordered trees (`guided.patterns.parse.parse_in_order`); the cost is added to ``steps``.

    Raises
    ------
    LimitError
        ``nfa_states``, ``transitions`` or ``steps`` of ``limits`` is exceeded.
    """
    steps = steps or Steps(limits.steps)
    emitter = _Emitter(limits.nfa_states, steps)
    starts = []
    for number, tree in enumerate(trees):
        starts.append(len(emitter.code))
        emitter.emit(tree)
        emitter.add(Instruction(MATCH, number))
    steps.spend(_VISIT_COST * emitter.visits, _TOO_LONG)
    nfa = build_nfa(concat(emitter.looks), limits) if emitter.looks else None
    names = [] if nfa is None else nfa.looks[:, 1].tolist()
    shift = 0 if nfa is None else len(nfa.charsets)
    code = [
        item._replace(a=names[item.a])
        if item.op == LOOK
        else item._replace(a=item.a + shift)
        if item.op == READ
        else item
        for item in emitter.code
    ]
    charsets = (() if nfa is None else nfa.charsets) + tuple(emitter.charsets)
    return Program(tuple(code), tuple(starts), charsets, nfa)


@dataclass(slots=True)
class _Patch:
    """Task: set fields of earlier instructions to the next address."""

    places: list[tuple[int, str]]


@dataclass(slots=True)
class _Branch:
    """Task: after an alternative, emit a jump to the end and point the preceding split here."""

    split: int
    ends: list[tuple[int, str]]


@dataclass(slots=True)
class _Rest:
    """Task: emit the alternatives of a node from ``first`` on."""

    items: tuple[Node, ...]
    first: int
    ends: list[tuple[int, str]]


@dataclass(slots=True)
class _Copies:
    """Task: emit up to ``left`` further optional iterations of a repeat (None: unbounded)."""

    node: Repeat
    left: int | None
    ends: list[tuple[int, str]]
    is_nullable: bool


@dataclass(slots=True)
class _Closed:
    """Task: close an optional iteration after its body."""

    copies: _Copies
    entry: int
    loop: int


_Task: TypeAlias = Node | _Patch | _Branch | _Rest | _Copies | _Closed


class _Emitter:
    """Builds the program."""

    def __init__(self, limit: int, steps: Steps) -> None:
        self.limit, self.steps = limit, steps
        self.most = min(limit, steps.left // _VISIT_COST)
        self.code: list[Instruction] = []
        self.looks: list[Look] = []
        self.charsets: list[Charset] = []
        self._numbers: dict[Charset, int] = {}
        self._loops = 0
        self.visits = 0

    def visit(self, count: int) -> None:
        self.visits += count
        if self.visits > self.most:
            self.steps.spend(_VISIT_COST * self.visits, _TOO_LONG)
            raise LimitError("nfa_states", self.visits, self.limit, _TOO_LONG)

    def add(self, instruction: Instruction) -> int:
        """Append an instruction and return its address."""
        self.code.append(instruction)
        return len(self.code) - 1

    def emit(self, tree: Node) -> None:
        """Emit a tree; the code after it starts at the next address."""
        tasks: list[_Task] = [tree]
        while tasks:
            self.visit(1)
            match tasks.pop():
                case Literal(text):
                    self.visit(len(text))
                    for character in text:
                        self._read(Charset.char(character))
                case Chars(charset):
                    self._read(charset)
                case Concat(items):
                    tasks.extend(reversed(items))
                case Alternate(items):
                    ends: list[tuple[int, str]] = []
                    tasks.extend((_Patch(ends), _Rest(items, 0, ends)))
                case Repeat() as node:
                    self._repeat(node, tasks)
                case Look() as node:
                    self.add(Instruction(LOOK, len(self.looks)))
                    self.looks.append(node)
                case _Patch(places):
                    for place, field in places:
                        self._point(place, field)
                case _Rest(items, first, ends):
                    if first == len(items) - 1:
                        tasks.append(items[first])
                    elif items:
                        split = self.add(Instruction(SPLIT, len(self.code) + 1))
                        tasks.extend((_Rest(items, first + 1, ends), _Branch(split, ends), items[first]))
                    else:
                        self._read(Charset.EMPTY)
                case _Branch(split, ends):
                    ends.append((self.add(Instruction(JUMP)), "a"))
                    self._point(split, "b")
                case _Copies() as copies:
                    self._iteration(copies, tasks)
                case _Closed() as closed:
                    self._close(closed, tasks)
                case node:
                    raise TypeError(f"not a node of a terminal's tree: {type(node).__name__}")

    def _read(self, charset: Charset) -> None:
        number = self._numbers.get(charset)
        if number is None:
            number = self._numbers[charset] = len(self.charsets)
            self.charsets.append(charset)
        self.add(Instruction(READ, number))

    def _point(self, place: int, field: str) -> None:
        instruction, here = self.code[place], len(self.code)
        self.code[place] = instruction._replace(a=here) if field == "a" else instruction._replace(b=here)

    def _repeat(self, node: Repeat, tasks: list[_Task]) -> None:
        ends: list[tuple[int, str]] = []
        left = None if node.maximum is None else node.maximum - node.minimum
        self.visit(node.minimum)
        tasks.append(_Patch(ends))
        if left is None or left > 0:
            tasks.append(_Copies(node, left, ends, min_width(node.item) == 0))
        tasks.extend([node.item] * node.minimum)

    def _iteration(self, copies: _Copies, tasks: list[_Task]) -> None:
        body = len(self.code) + 1
        loop = -1
        if copies.is_nullable:
            loop = self._loops = self._loops + 1
            entry = self.add(Instruction(ENTER, body, -1, loop, copies.node.is_lazy))
            copies.ends.append((entry, "b"))
        elif copies.node.is_lazy:
            entry = self.add(Instruction(SPLIT, -1, body))
            copies.ends.append((entry, "a"))
        else:
            entry = self.add(Instruction(SPLIT, body))
            copies.ends.append((entry, "b"))
        tasks.extend((_Closed(copies, entry, loop), copies.node.item))

    def _close(self, closed: _Closed, tasks: list[_Task]) -> None:
        copies = closed.copies
        if copies.left is None:
            self.add(Instruction(JUMP, closed.entry))
            return
        copies.left -= 1
        if copies.left:
            if closed.loop >= 0:
                again = self.add(Instruction(AGAIN, len(self.code) + 1, -1, closed.loop))
                copies.ends.append((again, "b"))
            tasks.append(copies)
