"""Token sequences that a search showed so far, and the state behind each of their prefixes.

A search over token sequences shows them step by step, but not always one token longer than the last time: beam search
reorders and copies rows, assisted decoding shows drafts and goes back to the last accepted token, group beam search
shows some rows now and the others next. Every search extends a sequence that it has shown by one token, though. So a
row is found by its content: it continues a row shown before if that one begins with all of its tokens but the last.
A row that continues none is a prompt.

`History` keeps the rows of past calls. Each row has a chain of `Node`, one for each generated token, with the state
behind it; rows share the chain of what they have in common. Rows and nodes never change once made. The oldest calls are
dropped when there are too many.

Complexity: where every row continues the row in its place, one comparison of all tokens with those of the last call;
on a device, where they are many, only the last tokens and the verdict leave it. Otherwise one look-up per row and past
call, of the row's bytes. The state of a rollback over n tokens is n nodes away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from guided.arrays import Int64Array
from guided.locks import Rank, new_lock

if TYPE_CHECKING:
    import torch

__all__ = ["History", "Node", "Rows", "Tokens", "shown"]

# On a device, up to so many tokens are read whole: 64 KB cost less than the kernels that compare them there.
_FEW_TOKENS = 1 << 13
# Past calls kept. A generation needs the last one, or one for each group of beams; a loop that calls a processor itself
# needs one for each text under way.
_KEPT_CALLS = 1024
# Tokens of past calls, without the last one: 32 MB.
_KEPT_TOKENS = 1 << 22

# Whole sequences, shape (rows, length): on the host, or many on a device.
Tokens: TypeAlias = "Int64Array | torch.Tensor"


def shown(input_ids: "torch.Tensor") -> Tokens:
    """Token ids in memory of their own, since beam search writes into the tensors that it shows."""
    if input_ids.device.type != "cpu" and input_ids.numel() > _FEW_TOKENS:
        return input_ids.clone()
    tokens: Int64Array = input_ids.cpu().numpy().astype(np.int64)
    return tokens


# PERF: not frozen, since a frozen one takes three times as long to make, and a step makes one for each row.
@dataclass(slots=True, eq=False)
class Node:
    """The state behind a generated token, or behind the prompt. It is never changed.

    Attributes
    ----------
    state : int
    n_generated : int
        Tokens between the prompt and here.
    before : Node, optional
        One token earlier; None behind the prompt.
    """

    state: int
    n_generated: int = 0
    before: "Node | None" = None

    def back(self, n_generated: int) -> "Node":
        """The node of this chain with so many generated tokens."""
        node = self
        while node.n_generated > n_generated:
            assert node.before is not None, "only the first node has none before it"
            node = node.before
        return node


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one call.

    Attributes
    ----------
    tokens : Tensor or ndarray[int64], shape (rows, length)
        Whole sequences: prompts and generated tokens.
    kinds : list of int
        By row, which index it follows. Rows continue rows of the same kind.
    nodes : list of Node
        By row, the end of its chain.
    """

    tokens: Tokens
    kinds: list[int]
    nodes: list[Node]

    @property
    def length(self) -> int:
        """Tokens of each row."""
        return int(self.tokens.shape[1])

    def in_place(self, tokens: Tokens, kinds: list[int]) -> tuple[list[Node], list[int]] | None:
        """For each of ``tokens`` the node that it continues and its last token, if each continues the row in its place."""
        length = int(tokens.shape[1])
        if kinds != self.kinds or not 1 <= length <= self.length + 1:
            return None
        # A prompt shown again continues nothing, and is left to `found`.
        depth = length - 1 - self.length
        if depth < 0 and any(node.n_generated + depth < 0 for node in self.nodes):
            return None
        last = self._unmoved(tokens, length - 1)
        if last is None:
            return None
        return [node.back(node.n_generated + depth) for node in self.nodes] if depth else self.nodes, last

    def _unmoved(self, tokens: Tokens, known: int) -> list[int] | None:
        """The last token of each row, if what comes before it begins the row in its place."""
        before = self.tokens
        if isinstance(tokens, np.ndarray) and isinstance(before, np.ndarray):
            return tokens[:, -1].tolist() if np.array_equal(tokens[:, :known], before[:, :known]) else None
        if isinstance(tokens, np.ndarray) or isinstance(before, np.ndarray) or tokens.device != before.device:
            return None
        import torch

        same = (tokens[:, :known] == before[:, :known]).all()
        *last, unmoved = torch.cat([tokens[:, -1], same[None]]).tolist()
        return last if unmoved else None

    def found(self, tokens: Int64Array, kinds: list[int], wanted: list[int]) -> dict[int, tuple[Node, int | None, int]]:
        """For those of the ``wanted`` rows that continue a row here: the node, the token behind it, and the row here.

        The token is None where a prompt is shown again.
        """
        length = tokens.shape[1]
        if length > self.length + 1:
            return {}
        depth = length - self.length
        before = _on_host(self.tokens)
        prompts = [row for row, node in enumerate(self.nodes) if node.n_generated + depth == 0]
        longer = [row for row, node in enumerate(self.nodes) if node.n_generated + depth > 0]
        places: dict[int, tuple[Node, int | None, int]] = {}
        for rows, known in ((longer, length - 1), (prompts, length)):
            left = [row for row in wanted if row not in places]
            # A quick look first, since there may be many calls: do two rows have the same last token?
            if not rows or not left or (known and not np.isin(before[rows, known - 1], tokens[left, known - 1]).any()):
                continue
            by_content = {(self.kinds[row], before[row, :known].tobytes()): row for row in rows}
            for row in left:
                place = by_content.get((kinds[row], tokens[row, :known].tobytes()))
                if place is not None:
                    node = self.nodes[place]
                    node = node.back(node.n_generated + depth - (length - known))
                    places[row] = node, (int(tokens[row, -1]) if known < length else None), place
        return places


class History:
    """The rows of one generation, or of the loops of one thread.

    Parameters
    ----------
    initial : list of int
        By kind, the state behind a prompt.
    advance : callable
        From kind, state and token to the next state.
    """

    def __init__(self, initial: list[int], advance: Callable[[int, int, int], int]) -> None:
        self._initial, self._advance = initial, advance
        # The last call first.
        self._calls: tuple[Rows, ...] = ()
        self._lock = new_lock(Rank.INDEX)

    def follow(self, tokens: Tokens, kinds: list[int]) -> Rows:
        """The rows of a call with their states; they are kept."""
        calls = self._calls
        for old in calls:
            unmoved = old.in_place(tokens, kinds)
            if unmoved is not None:
                advance = self._advance
                nodes = [
                    Node(advance(kind, node.state, token), node.n_generated + 1, node)
                    for kind, node, token in zip(kinds, *unmoved, strict=True)
                ]
                new = Rows(tokens, kinds, nodes)
                return self._keep(new, old if new.length > old.length else None)
        return self._look_up(calls, tokens, kinds)

    def _look_up(self, calls: tuple[Rows, ...], tokens: Tokens, kinds: list[int]) -> Rows:
        """The same for rows that are in other places, or of several calls, or new."""
        host = _on_host(tokens)
        found: dict[int, tuple[Node, int | None, int]] = {}
        replaced = None
        for old in calls:
            missing = [row for row in range(len(kinds)) if row not in found]
            if not missing:
                break
            here = old.found(host, kinds, missing)
            # A call is not needed any more when all of its rows are continued.
            ends = {place for node, _, place in here.values() if node is old.nodes[place]}
            if len(here) == len(kinds) and len(ends) == len(old.kinds):
                replaced = old
            found |= here
        nodes = []
        for row, kind in enumerate(kinds):
            node, token, _ = found.get(row, (Node(self._initial[kind]), None, -1))
            if token is not None:
                node = Node(self._advance(kind, node.state, token), node.n_generated + 1, node)
            nodes.append(node)
        return self._keep(Rows(tokens, kinds, nodes), replaced)

    def _keep(self, new: Rows, replaced: Rows | None) -> Rows:
        with self._lock:
            room, kept = _KEPT_TOKENS, [new]
            for rows in self._calls:
                room -= len(rows.kinds) * rows.length
                if len(kept) == _KEPT_CALLS or room < 0:
                    break
                if rows is not replaced:
                    kept.append(rows)
            self._calls = tuple(kept)
        return new


def _on_host(tokens: Tokens) -> Any:
    return tokens if isinstance(tokens, np.ndarray) else tokens.cpu().numpy()
