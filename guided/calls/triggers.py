"""Search for triggers, the texts that begin a call, as one automaton (Aho and Corasick).

A node is the longest suffix of the text that is a prefix of a trigger; the first trigger to be complete fires. Some triggers fire only at
the beginning of a text; they have a trie of their own, and the search leaves it at the first byte that none of them has. A trigger that
begins with a line feed also fires at the beginning of a text without it. The automaton (`guided.calls.modes`) and the parser are built from
it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Trigger", "Triggers"]

_LINE_FEED = b"\n"


@dataclass(frozen=True, slots=True)
class Trigger:
    """A text that begins a call.

    Attributes
    ----------
    text : bytes
        Not empty.
    read : int
        Number of bytes at its end that belong to the call: the name, for formats in which the name begins a call.
    is_first : bool
        Whether it fires only at the beginning of a text.
    """

    text: bytes
    read: int = 0
    is_first: bool = False


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
    order : list of int
        All nodes, each after its fallback.
    start : int
        Node at the beginning of a text.
    """

    def __init__(self, triggers: Sequence[Trigger]) -> None:
        self.children, self.fallback, self.depth = list[dict[int, int]](), list[int](), list[int]()
        self.fired: list[Trigger | None] = []
        self.order: list[int] = []
        first = [trigger for trigger in triggers if trigger.is_first]
        first += [
            Trigger(trigger.text[1:], trigger.read) for trigger in triggers if trigger.text.startswith(_LINE_FEED)
        ]
        self._add([trigger for trigger in triggers if not trigger.is_first])
        self.start = self._add(first) if first else 0

    def _add(self, triggers: Sequence[Trigger]) -> int:
        """Add a trie and return its root. At bytes that it does not have, the search continues in the first one."""
        root = self._node(0)
        for trigger in triggers:
            node = root
            for byte in trigger.text:
                onward = self.children[node].get(byte)
                if onward is None:
                    onward = self.children[node][byte] = self._node(self.depth[node] + 1)
                node = onward
            self.fired[node] = self.fired[node] or trigger
        nodes = [root]
        for node in nodes:
            for byte, onward in self.children[node].items():
                if node:
                    self.fallback[onward] = self.next(self.fallback[node], byte)
                    self.fired[onward] = self.fired[onward] or self.fired[self.fallback[onward]]
                nodes.append(onward)
        self.order += nodes
        return root

    def _node(self, depth: int) -> int:
        self.children.append({})
        self.fallback.append(0)
        self.depth.append(depth)
        self.fired.append(None)
        return len(self.children) - 1

    def next(self, node: int, byte: int) -> int:
        """Return the node after a byte; amortized O(1)."""
        while byte not in self.children[node]:
            if node == 0:
                return 0
            node = self.fallback[node]
        return self.children[node][byte]
