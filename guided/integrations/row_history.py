"""Token sequences of past steps of a search, and the state after each of their prefixes.

A search over token sequences passes them to a processor step by step, but not always as last time plus one token: beam search reorders and
copies rows, assisted decoding passes drafts and rolls back to the last accepted token, group beam search passes some rows now and the
others next. But every search extends an earlier sequence by one token. A row is therefore found by its content: it continues an earlier
row that begins with all of its tokens but the last. A row that continues none is a prompt.

`History` keeps the rows of past calls. Each row has a chain of `Node`, one per generated token, with the state after that token; rows
share the chain of their common prefix. Rows and nodes are never changed. The oldest calls are dropped when there are too many.

Complexity: if every row continues the row at the same index, one comparison of all tokens with those of the last call; for many tokens on
a device, only the last tokens and the outcome are copied to the host. Otherwise one look-up of the row's bytes per row and past call. A
rollback over n tokens follows n nodes.
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

# On a device, at most this many tokens are copied whole: 64 KB cost less than kernels that compare them there.
_FEW_TOKENS = 1 << 13
# Number of past calls kept. A generation needs the last one, or one for each group of beams; a loop that calls a processor itself needs
# one for each text in progress.
_KEPT_CALLS = 1024
# Number of tokens kept in past calls, without the last one: 32 MB.
_KEPT_TOKENS = 1 << 22

# Whole sequences, shape (rows, length): on the host, or on a device if there are many.
Tokens: TypeAlias = "Int64Array | torch.Tensor"


def shown(input_ids: "torch.Tensor") -> Tokens:
    """Copy token ids, because beam search writes into the tensors that it passes."""
    if input_ids.device.type != "cpu" and input_ids.numel() > _FEW_TOKENS:
        return input_ids.clone()
    tokens: Int64Array = input_ids.cpu().numpy().astype(np.int64)
    return tokens


# PERF: not frozen: creating a frozen node takes three times as long, and each step creates one per row.
@dataclass(slots=True, eq=False)
class Node:
    """The state after a generated token, or after the prompt. Never changed, but `steered` is set when its scores are masked."""

    state: int
    # Number of tokens between the prompt and this node.
    n_generated: int = 0
    # The node one token earlier; None after the prompt.
    before: "Node | None" = None
    # Number of tokens between the prompt and the first token that the budget chose, up to the one after this node; None if there is none.
    steered: int | None = None

    def back(self, n_generated: int) -> "Node":
        """Return the node of this chain with ``n_generated`` generated tokens."""
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
        Number of the index that each row follows. Rows continue rows of the same kind.
    nodes : list of Node
        The end of each row's chain.
    """

    tokens: Tokens
    kinds: list[int]
    nodes: list[Node]

    @property
    def length(self) -> int:
        """Number of tokens of each row."""
        return int(self.tokens.shape[1])

    def in_place(self, tokens: Tokens, kinds: list[int]) -> tuple[list[Node], list[int]] | None:
        """The node that each row continues, and its last token, if each row continues the row at the same index."""
        length = int(tokens.shape[1])
        # Number of tokens of a rollback, negative. A repeated prompt continues no row; `found` handles it.
        depth = length - 1 - self.length
        if kinds != self.kinds or depth > 0 or (depth and any(node.n_generated + depth < 0 for node in self.nodes)):
            return None
        last = self._unmoved(tokens, length - 1)
        if last is None:
            return None
        return [node.back(node.n_generated + depth) for node in self.nodes] if depth else self.nodes, last

    def _unmoved(self, tokens: Tokens, known: int) -> list[int] | None:
        """The last token of each row, if the tokens before it are a prefix of the row at the same index."""
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
        """For the ``wanted`` rows that continue a row of this call: the node, the token after it, and the index of that row.

        The token is None for a repeated prompt.
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
            # A quick check first, since there may be many calls: do two rows have the same last token?
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

    ``initial``: state after a prompt, by kind. ``advance`` maps kind, state and token to the next state.
    """

    def __init__(self, initial: list[int], advance: Callable[[int, int, int], int]) -> None:
        self._initial, self._advance = initial, advance
        # Most recent call first.
        self._calls: tuple[Rows, ...] = ()
        self._lock = new_lock(Rank.INDEX)

    def follow(self, tokens: Tokens, kinds: list[int]) -> Rows:
        """Return the rows of a call with their states, and keep them."""
        calls = self._calls
        for old in calls:
            unmoved = old.in_place(tokens, kinds)
            if unmoved is not None:
                advance = self._advance
                nodes = [
                    Node(advance(kind, node.state, token), node.n_generated + 1, node, node.steered)
                    for kind, node, token in zip(kinds, *unmoved, strict=True)
                ]
                new = Rows(tokens, kinds, nodes)
                return self._keep(new, old if new.length > old.length else None)
        return self._look_up(calls, tokens, kinds)

    def _look_up(self, calls: tuple[Rows, ...], tokens: Tokens, kinds: list[int]) -> Rows:
        """Like `follow`, for rows that moved, continue several calls, or are new."""
        host = _on_host(tokens)
        found: dict[int, tuple[Node, int | None, int]] = {}
        replaced = None
        for old in calls:
            missing = [row for row in range(len(kinds)) if row not in found]
            if not missing:
                break
            here = old.found(host, kinds, missing)
            # A call is no longer needed once all of its rows are continued.
            ends = {place for node, _, place in here.values() if node is old.nodes[place]}
            if len(here) == len(kinds) and len(ends) == len(old.kinds):
                replaced = old
            found |= here
        nodes = []
        for row, kind in enumerate(kinds):
            node, token, _ = found.get(row, (Node(self._initial[kind]), None, -1))
            if token is not None:
                node = Node(self._advance(kind, node.state, token), node.n_generated + 1, node, node.steered)
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
