"""Mistral's tekken.json: ranks with their bytes in base64, after a block of special tokens.

The first ``default_num_special_tokens`` ids are special; the token of rank r has the id r plus that number, up to
``default_vocab_size`` (the file holds more ranks than the model uses). Files before version 8 do not list their special
tokens: these are the ones below. Unlisted special ids are named ``<SPECIAL_n>``. End of sequence is ``</s>``.
"""

import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from guided.errors import VocabularyError
from guided.vocabulary.content import Content, assemble
from guided.vocabulary.fields import member

__all__ = ["read_tekken"]

_UNLISTED = """
    <unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS]
    [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]
"""


def read_tekken(document: Mapping[str, Any]) -> Content:
    """Return the content of a tekken.json.

    Raises
    ------
    VocabularyError
        A member is missing or damaged, with its place in the document.
    """
    config = member(document, "config", dict, "the document")
    n_special = member(config, "default_num_special_tokens", int, "config")
    size = member(config, "default_vocab_size", int, "config")
    entries = member(document, "vocab", list, "the document")
    if not 0 <= n_special <= size <= n_special + len(entries):
        raise VocabularyError(
            f"config: {n_special} special tokens and {len(entries)} ranks cannot make default_vocab_size {size}"
        )
    names = _special(document)
    if any(not 0 <= token < n_special for token in names):
        raise VocabularyError(f"special_tokens: a rank is not below default_num_special_tokens, {n_special}")
    special = [(token, names.get(token, f"<SPECIAL_{token}>")) for token in range(n_special)]
    return assemble(
        _ranks(entries[: size - n_special], n_special), special, encoding="the pretokenizer of tekken is not supported"
    )


def _special(document: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of the special tokens by id."""
    if document.get("special_tokens") is None:
        return dict(enumerate(_UNLISTED.split()))
    names: dict[int, str] = {}
    for i, entry in enumerate(member(document, "special_tokens", list, "the document")):
        place = f"special_tokens[{i}]"
        rank = member(entry, "rank", int, place)
        if rank in names:
            raise VocabularyError(f"{place}: rank {rank} is given twice")
        names[rank] = member(entry, "token_str", str, place)
    return names


def _ranks(entries: list[Any], first: int) -> Iterator[tuple[int, bytes]]:
    for i, entry in enumerate(entries):
        place = f"vocab[{i}]"
        if member(entry, "rank", int, place) != i:
            raise VocabularyError(f"{place}: the rank is {entry['rank']}, but ranks must be in order")
        try:
            yield first + i, binascii.a2b_base64(member(entry, "token_bytes", str, place), strict_mode=True)
        except ValueError as error:
            raise VocabularyError(f"{place}: token_bytes is not base64: {error}") from None
