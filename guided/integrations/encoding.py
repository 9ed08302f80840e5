"""Encodes text to tokens with exactly its bytes, with any tokenizer.

SentencePiece tokenizers add a space at the beginning of a text, but not within a text. If the tokens of a text do not decode to it, the
text is encoded after an anchor, and the anchor's tokens are removed; if that fails too, the text is split into the longest matching tokens.
"""

from collections.abc import Callable

from guided.errors import ModelError
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ExactEncoder"]

_ANCHORS = ("\n", "a", ".")


class ExactEncoder:
    """Encodes text exactly.

    Parameters
    ----------
    encode : callable
        The tokenizer: maps a str to token ids, adds no tokens, and treats names of special tokens as plain text.
    vocabulary : Vocabulary
        The tokenizer's vocabulary.
    """

    def __init__(self, encode: Callable[[str], list[int]], vocabulary: Vocabulary) -> None:
        self._encode, self._vocabulary = encode, vocabulary
        self._ids: dict[bytes, int] | None = None

    def __call__(self, text: str) -> list[int]:
        """Encode a text to tokens that decode to exactly its bytes.

        Raises
        ------
        ModelError
            The vocabulary cannot spell the text.
        """
        data = text.encode()
        tokens = self._encode(text)
        if self._vocabulary.decode(tokens) == data:
            return tokens
        for anchor in _ANCHORS:
            tokens = self._encode(anchor + text)
            for begin in range(1, len(tokens) + 1):
                if self._vocabulary.decode(tokens[:begin]).endswith(anchor.encode()):
                    break
            if self._vocabulary.decode(tokens[begin:]) == data:
                return tokens[begin:]
        return self._longest_matches(data)

    def _longest_matches(self, data: bytes) -> list[int]:
        """Split bytes into the longest tokens from left to right."""
        if self._ids is None:
            self._ids = {spelled: token for token, spelled in reversed(list(enumerate(self._vocabulary))) if spelled}
        tokens, begin, longest = [], 0, self._vocabulary.max_token_length
        while begin < len(data):
            for end in range(min(begin + longest, len(data)), begin, -1):
                token = self._ids.get(data[begin:end])
                if token is not None:
                    break
            else:
                raise ModelError(f"the vocabulary can not spell byte {data[begin]:#04x} of {data[:60]!r}")
            tokens.append(token)
            begin = end
        return tokens
