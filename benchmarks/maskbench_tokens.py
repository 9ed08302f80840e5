"""How a model's own tokenizer cuts a text: byte pair encoding by rank.

In vocabularies that are tables of ranks (tiktoken's form) an id's order is its rank, so the tokens are the whole tokenizer but
for the expression that cuts a text into pieces before pairs are merged; those expressions stand here. For the other vocabularies
the cut is `Cutter`'s, the longest token first.

Complexity: O(n log n) for a piece of n bytes, once; pieces are remembered.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import regex

from benchmarks.vocabularies import Cutter
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PIECES", "RankCutter", "tokenizer"]

_CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s"
)
_ENGLISH = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS = r"|[^\r\n\p{L}\p{N}]?\p{L}+|"
_SIGNS = r"| ?[^\s\p{L}\p{N}]+"

# Vocabulary -> the expression whose matches are the pieces of a text. Sources: the tokenizers' own published files.
PIECES = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama3-128k": _ENGLISH + _LETTERS + r"\p{N}{1,3}" + _SIGNS + r"[\r\n]*|" + _SPACES,
    "qwen-151k": _ENGLISH + _LETTERS + r"\p{N}" + _SIGNS + r"[\r\n]*|" + _SPACES,
    "tekken-131k": _CASED % ("", "") + r"|\p{N}" + _SIGNS + r"[\r\n/]*|" + _SPACES,
    "o200k": _CASED % (_ENGLISH + "?", _ENGLISH + "?") + r"|\p{N}{1,3}" + _SIGNS + r"[\r\n/]*|" + _SPACES,
}


class RankCutter:
    """Cuts texts by rank: within each piece, the adjacent pair of the lowest id is merged first.

    Parameters
    ----------
    vocabulary : Vocabulary
        Ids in the order of their ranks.
    pieces : str
        The expression that cuts a text into pieces.
    """

    def __init__(self, vocabulary: Vocabulary, pieces: str) -> None:
        self.ranks: dict[bytes, int] = {}
        for token, data in enumerate(vocabulary.tokens):
            if data:
                self.ranks.setdefault(data, token)
        self.pieces = regex.compile(pieces)
        self.known: dict[str, list[int]] = {}

    def __call__(self, text: bytes | str) -> list[int]:
        """The tokens of a text. Bytes that are no UTF-8 stand as characters of their own."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        tokens: list[int] = []
        for match in self.pieces.finditer(text):
            piece = match.group()
            found = self.known.get(piece)
            if found is None:
                found = self.known[piece] = self._merged(piece.encode("utf-8", "surrogateescape"))
            tokens += found
        return tokens

    def _merged(self, data: bytes) -> list[int]:
        ranks = self.ranks
        if data in ranks:
            return [ranks[data]]
        # Parts by where they begin; their neighbours; the pairs that may merge, the lowest id and then the leftmost first.
        ends = list(range(1, len(data) + 1))
        before = list(range(-1, len(data) - 1))
        queue = [(ranks[data[i : i + 2]], i, i + 2) for i in range(len(data) - 1) if data[i : i + 2] in ranks]
        heapify(queue)
        while queue:
            _, at, end = heappop(queue)
            middle = ends[at]
            if middle < 0 or middle >= end or ends[middle] != end:
                continue  # a part of the pair has been merged since
            ends[at], ends[middle] = end, -1
            if end < len(data):
                before[end] = at
            for first in (before[at], at):
                if first >= 0 and (last := ends[ends[first]] if ends[first] < len(data) else 0):
                    rank = ranks.get(data[first:last])
                    if rank is not None:
                        heappush(queue, (rank, first, last))
        tokens, at = [], 0
        while at < len(data):
            tokens.append(ranks[data[at : ends[at]]])
            at = ends[at]
        return tokens


def tokenizer(name: str, vocabulary: Vocabulary) -> Callable[[bytes | str], list[int]]:
    """What cuts texts into the tokens of the vocabulary of that name."""
    return RankCutter(vocabulary, PIECES[name]) if name in PIECES else Cutter(vocabulary)
