"""Special tokens that a spec writes as text.

Special tokens have no bytes, so they are not part of texts. A spec may declare *markers*, texts such as ``<tool_call>``; a special token
of that name then spells the text, in addition to its spelling by ordinary tokens.
"""

from collections.abc import Iterable, Sequence

from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["markers_in", "with_markers"]


def markers_in(texts: Iterable[str], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the names of the special tokens that occur in some texts."""
    whole = "\n".join(texts)
    return tuple(name for name in vocabulary.special if name and name in whole)


def with_markers(vocabulary: Vocabulary, markers: Sequence[str]) -> Vocabulary:
    """Return the vocabulary in which special tokens named like markers spell their names.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of the model; returned itself if no marker is one of its special tokens.
    markers : sequence of str
        Texts. A token that ends the text never spells one.
    """
    special = vocabulary.special
    marked: dict[int, bytes] = {}
    for marker in markers:
        token = special.get(marker)
        if marker and token is not None and token not in vocabulary.eos:
            marked.setdefault(token, marker.encode())
    # Why first: copying the tokens of a large vocabulary costs more than the index of a small pattern.
    if not marked:
        return vocabulary
    tokens = [*vocabulary.tokens, *[None] * (max(marked) + 1 - len(vocabulary))]
    for token, data in marked.items():
        tokens[token] = data
    others = {name: token for name, token in special.items() if token not in marked}
    return Vocabulary(tokens, vocabulary.eos, vocabulary.size, others, "special tokens have been given bytes")
