"""Coroutines over bytes with one byte of lookahead: scan the longest match of a pattern, or a value of a schema."""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from guided.calls.formats.texts import automaton_of
from guided.calls.schema import SchemaType
from guided.errors import CallError
from guided.patterns.tree import Node, alternate, concat

__all__ = ["Kind", "Scanner", "Step", "either", "sequence"]

Kind: TypeAlias = Literal["name", "argument", "syntax"]
_DIGITS = b"0123456789"
_Result = TypeVar("_Result")
# A step that waits for bytes and then returns a result.
Step: TypeAlias = Generator[None, int, _Result]


class Scanner:
    """A cursor over an incremental byte stream; its methods are coroutines that wait for bytes.

    Attributes
    ----------
    position : int
        Number of bytes consumed.
    scanned : bytes
        Bytes consumed by the last scan.
    """

    def __init__(self) -> None:
        self.scanned = b""
        self.position = 0
        self._ahead: int | None = None
        self._back: deque[int] = deque()

    def scan(self, node: Node, reason: str, kind: Kind) -> Step[str]:
        """Consume the longest match of a pattern."""
        machine = _machine(node)
        state = 0
        found = bytearray()
        while not machine.is_last[state]:
            byte = yield from self.peek()
            onward = machine.table[state][machine.classes[byte]]
            if onward < 0:
                break
            self._take_ahead()
            found.append(byte)
            state = onward
        self.scanned = bytes(found)
        if not machine.accepting[state]:
            raise CallError(reason, kind, self.position)
        return found.decode()

    def scan_value(self, kind: SchemaType, reason: str, has_plus: bool) -> Step[str]:
        """Consume a JSON value of a type; with ``has_plus``, a number without a sign may follow a plus."""
        scanner = kind.scanner()
        place, texts, found = scanner.start, list[bytes | None](), bytearray()
        if has_plus and (yield from self.peek()) == ord("+") and any(map(kind.begins.__contains__, _DIGITS)):
            found.append((yield from self.take()))
            if (yield from self.peek()) not in _DIGITS:
                raise CallError(reason, "argument", self.position)
        while not scanner.is_over(place):
            byte = yield from self.peek()
            after = scanner.read(place, byte, texts)
            if after is None:
                if not scanner.may_end(place):
                    raise CallError(reason, "argument", self.position)
                break
            self._take_ahead()
            found.append(byte)
            place = after
        return found.decode()

    def take(self) -> Step[int]:
        """Consume the next byte."""
        byte = yield from self.peek()
        self._take_ahead()
        return byte

    def _take_ahead(self) -> None:
        """Consume the byte that `peek` returned."""
        self._ahead = None
        self.position += 1

    def peek(self) -> Step[int]:
        """Return the next byte without consuming it."""
        if self._ahead is None:
            self._ahead = self._back.popleft() if self._back else (yield)
        return self._ahead

    def put_back(self, data: bytes) -> None:
        """Put consumed bytes back, to be read again."""
        if self._ahead is not None:
            self._back.appendleft(self._ahead)
            self._ahead = None
        self._back.extendleft(reversed(data))
        self.position -= len(data)


@dataclass(frozen=True, slots=True)
class _Machine:
    """An automaton as Python lists, which are faster to index one by one than arrays."""

    table: list[list[int]]
    classes: bytes
    accepting: list[bool]
    is_last: list[bool]


@lru_cache(maxsize=4096)
def either(*nodes: Node) -> Node:
    """The alternatives of patterns; memoized, so that the automaton of equal ones is built once."""
    return alternate(nodes)


@lru_cache(maxsize=4096)
def sequence(*nodes: Node) -> Node:
    """The concatenation of patterns; memoized like `either`."""
    return concat(nodes)


@lru_cache(maxsize=4096)
def _machine(node: Node) -> _Machine:
    automaton = automaton_of(node)
    is_last = np.all(automaton.table < 0, axis=1)
    return _Machine(
        automaton.table.tolist(), automaton.classes.tobytes(), automaton.accepting.tolist(), is_last.tolist()
    )
