"""How a model's own tokenizer cuts a text: byte pair encoding by rank.

In vocabularies that are tables of ranks (tiktoken's form) an id's order is its rank, so the tokens are the whole tokenizer but
for the expression that cuts a text into pieces before pairs are merged; those expressions stand here. For the other vocabularies
the cut is `Cutter`'s, the longest token first.

Complexity: a piece of n bytes costs O(n^2) once; pieces are remembered.
"""

from collections.abc import Callable

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
        parts = [data[i : i + 1] for i in range(len(data))]
        none = len(ranks) * 2
        pairs = [ranks.get(parts[i] + parts[i + 1], none) for i in range(len(parts) - 1)]
        while pairs and (least := min(pairs)) != none:
            at = pairs.index(least)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del pairs[at]
            for i in (at - 1, at):
                if 0 <= i < len(pairs):
                    pairs[i] = ranks.get(parts[i] + parts[i + 1], none)
        return [ranks[part] for part in parts]


def tokenizer(name: str, vocabulary: Vocabulary) -> Callable[[bytes | str], list[int]]:
    """What cuts texts into the tokens of the vocabulary of that name."""
    return RankCutter(vocabulary, PIECES[name]) if name in PIECES else Cutter(vocabulary)
