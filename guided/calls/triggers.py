"""Search for triggers, the texts that begin a call, as one automaton (Aho and Corasick).

A node is the longest suffix of the text that is a prefix of a trigger; the first trigger to be complete fires. A trigger that begins with a
line feed also fires at the beginning of a text without it. The automaton (`guided.calls.modes`) and the parser are built from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Trigger", "Triggers"]

_LINE_FEED = 10


@dataclass(frozen=True, slots=True)
class Trigger:
    """A text that begins a call.

    Attributes
    ----------
    text : bytes
        Not empty.
    read : int
        Number of bytes at its end that belong to the call: the name, for formats in which the name begins a call.
    """

    text: bytes
    read: int = 0


class Triggers:
    """The automaton of some triggers. O(bytes of all triggers).

    Attributes
    ----------
    children : list of dict of int to int
        Child by byte; node 0 is the empty prefix.
    fallback : list of int
        The longest proper suffix of a node that is a node.
    depth : list of int
        Length of a node's prefix.
    fired : list of Trigger or None
        The trigger that is complete at a node.
    start : int
        Node at the beginning of a text.
    """

    def __init__(self, triggers: Sequence[Trigger]) -> None:
        self.children: list[dict[int, int]] = [{}]
        self.fallback, self.depth = [0], [0]
        self.fired: list[Trigger | None] = [None]
        for trigger in triggers:
            node = 0
            for byte in trigger.text:
                onward = self.children[node].get(byte)
                if onward is None:
                    onward = self.children[node][byte] = len(self.children)
                    self.children.append({})
                    self.fallback.append(0)
                    self.depth.append(self.depth[node] + 1)
                    self.fired.append(None)
                node = onward
            self.fired[node] = self.fired[node] or trigger
        self.order = [0]
        for node in self.order:
            for byte, onward in self.children[node].items():
                if node:
                    self.fallback[onward] = self.next(self.fallback[node], byte)
                    self.fired[onward] = self.fired[onward] or self.fired[self.fallback[onward]]
                self.order.append(onward)
        self.start = self.children[0].get(_LINE_FEED, 0)

    def next(self, node: int, byte: int) -> int:
        """Return the node after a byte; amortized O(1)."""
        while byte not in self.children[node]:
            if node == 0:
                return 0
            node = self.fallback[node]
        return self.children[node][byte]
