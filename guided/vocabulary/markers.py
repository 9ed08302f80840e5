"""Special tokens that a spec writes as text.

Special tokens spell nothing, so no text is made of them. A spec may name *markers*, texts such as ``<tool_call>``; where a vocabulary
has a special token of that name, it stands for the text, beside its spelling by ordinary tokens.
"""

from collections.abc import Sequence

from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["with_markers"]


def with_markers(vocabulary: Vocabulary, markers: Sequence[str]) -> Vocabulary:
    """The vocabulary in which special tokens with the names of markers spell their names.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of the model; returned itself where no marker is one of its special tokens.
    markers : sequence of str
        Texts. A token that ends the text never spells one.
    """
    special = vocabulary.special
    marked: dict[int, bytes] = {}
    for marker in markers:
        token = special.get(marker)
        if marker and token is not None and token not in vocabulary.eos:
            marked.setdefault(token, marker.encode())
    # Why first: to copy the tokens of a large vocabulary costs more than the index of a small pattern.
    if not marked:
        return vocabulary
    tokens = [*vocabulary.tokens, *[None] * (max(marked) + 1 - len(vocabulary))]
    for token, data in marked.items():
        tokens[token] = data
    others = {name: token for name, token in special.items() if token not in marked}
    return Vocabulary(tokens, vocabulary.eos, vocabulary.size, others)
