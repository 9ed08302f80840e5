"""A model's folder: the tokenizer in it, the width of the logits, and all end tokens that its files name.

The tokenizer is the first of `NAMES` that the folder has. Tokens that such a file does not list (tiktoken ranks list no special ones) are
in ``added_tokens_decoder`` of tokenizer_config.json.

The end tokens are ``eos_token_id`` of generation_config.json, or else of config.json, and ``eos_token`` of tokenizer_config.json: a base
model and the chat model made of it may name different ones. If neither of the first two names any, they are those of the tokenizer
(`guided.vocabulary.content`). `guided.Model` follows the same rule, so an index compiled for the folder works with the model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guided.errors import VocabularyError
from guided.files import read_bytes
from guided.vocabulary.content import ID_SPACE, Content, named_ends
from guided.vocabulary.fields import json_document, member
from guided.vocabulary.files import read_file
from guided.vocabulary.tokenizer_json import declared_eos

__all__ = ["NAMES", "read_folder", "with_added"]

NAMES = (
    "tokenizer.json",
    "tekken.json",
    "tiktoken.model",
    "*.tiktoken",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# params.json is Mistral's own configuration.
_CONFIG, _GENERATION, _PARAMS, _TOKENIZER = (
    "config.json",
    "generation_config.json",
    "params.json",
    "tokenizer_config.json",
)


def read_folder(folder: Path) -> tuple[Content, int | None]:
    """Return the tokenizer of a folder, with the model's end tokens, and the width of its logits if the folder declares it.

    Raises
    ------
    VocabularyError
        There is no tokenizer, or a file is damaged or contradicts another; the message begins with the path.
    """
    path = next((found for name in NAMES for found in sorted(folder.glob(name)) if found.is_file()), None)
    if path is None:
        raise VocabularyError(f"{folder}: has no tokenizer: expected {', '.join(NAMES)}")
    content = read_file(path)
    if path.name != NAMES[0]:
        content = with_added(content, *_added(folder))
    config = _document(folder / _CONFIG)
    text = config.get("text_config")
    size = config.get("vocab_size", text.get("vocab_size") if isinstance(text, dict) else None)
    size = _document(folder / _PARAMS).get("vocab_size") if size is None else size
    declared = _document(folder / _GENERATION).get("eos_token_id")
    declared = config.get("eos_token_id") if declared is None else declared
    ends = [declared] if isinstance(declared, int) else declared or []
    if (
        not (size is None or type(size) is int)
        or not isinstance(ends, list)
        or not all(type(end) is int for end in ends)
    ):
        raise VocabularyError(
            f"{folder}: vocab_size must be an integer, and eos_token_id an integer or a list of integers ({_CONFIG}, {_GENERATION})"
        )
    try:
        own = [_id_named(name, content) for name in declared_eos(folder)]
    except VocabularyError as error:
        raise VocabularyError(f"{folder}: {error}") from error
    return content.ending_with({*ends, *own}) if ends else content.ending_with({*content.eos, *own}), size


def with_added(content: Content, special: Mapping[str, int], others: Mapping[str, int] | None = None) -> Content:
    """Return a content with tokens that its file does not list: those beyond its ids.

    Parameters
    ----------
    special : mapping of str to int
        Special tokens by name.
    others : mapping of str to int, optional
        Other tokens, which spell their names.
    """
    n_tokens = len(content.tokens)
    names = content.special | {name: token for name, token in special.items() if token >= n_tokens}
    spelled = {token: name.encode() for name, token in (others or {}).items() if token >= n_tokens}
    size = max([n_tokens - 1, *names.values(), *spelled]) + 1
    if size > ID_SPACE:
        raise VocabularyError(f"id {size - 1} is out of range: no tokenizer has {ID_SPACE:,} ids")
    tokens = content.tokens + [spelled.get(token) for token in range(n_tokens, size)]
    eos = tuple(sorted({*content.eos, *named_ends(names)}))
    return Content(tokens, eos, names, content.encoding, content.added | spelled.keys())


def _added(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """The special and the other tokens that a folder's configuration of the tokenizer adds, by name."""
    special, others = dict[str, int](), dict[str, int]()
    entries = _document(folder / _TOKENIZER).get("added_tokens_decoder")
    for token, entry in entries.items() if isinstance(entries, dict) else ():
        place = f"{folder / _TOKENIZER}: added_tokens_decoder[{token!r:.20}]"
        if not token.isdecimal() or len(token) > 9:
            raise VocabularyError(f"{place}: an id must be a number")
        name = member(entry, "content", str, place)
        (special if entry.get("special") else others)[name] = int(token)
    return special, others


def _id_named(name: int | str, content: Content) -> int:
    if isinstance(name, int):
        return name
    spelled = (token for token in content.added if content.tokens[token] == name.encode())
    found = content.special.get(name)
    found = next(spelled, None) if found is None else found
    if found is None:
        raise VocabularyError(
            f"{_TOKENIZER} names {name!r:.60} as eos_token, but no special or added token has this name"
        )
    return found


def _document(path: Path) -> dict[str, Any]:
    """Read a JSON object; empty if there is no such file."""
    try:
        return dict(json_document(read_bytes(path, is_text=True)))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise VocabularyError(f"{path}: cannot be read: {error.strerror or error}") from None
    except VocabularyError as error:
        raise VocabularyError(f"{path}: {error}") from error
