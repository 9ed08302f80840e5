"""Splitting a text into tokens without its tokenizer.

An index accepts a text however it is tokenized, so any tokenization can check it. This one has the fewest tokens, and among those the
longest tokens at the front. The model's tokenizer may choose another one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["fewest_tokens", "ids_by_bytes"]


def ids_by_bytes(vocabulary: "Vocabulary") -> tuple[dict[bytes, int], list[int]]:
    """The lowest token id of each byte string, and their lengths, the longest first. O(len(vocabulary))."""
    ids = {data: token for token, data in reversed(list(enumerate(vocabulary))) if data}
    return ids, sorted({len(data) for data in ids}, reverse=True)


def fewest_tokens(vocabulary: "Vocabulary", data: bytes) -> list[int] | None:
    """The shortest token sequence for the bytes; None if there is none. O(len(data) x number of different token lengths)."""
    ids, lengths = vocabulary.derived(ids_by_bytes)
    # Invariant: least[i] tokens suffice from i on, and the first of them has step[i] bytes; 0 if there are none.
    unreachable = len(data) + 1
    least, step = [unreachable] * len(data) + [0], [0] * len(data)
    for begin in range(len(data) - 1, -1, -1):
        for length in lengths:
            end = begin + length
            if end <= len(data) and least[end] + 1 < least[begin] and data[begin:end] in ids:
                least[begin], step[begin] = least[end] + 1, length
    tokens, begin = [], 0
    while begin < len(data):
        if not step[begin]:
            return None
        tokens.append(ids[data[begin : begin + step[begin]]])
        begin += step[begin]
    return tokens
