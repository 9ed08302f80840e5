"""Hugging Face's tokenizer.json, from a file or from a fast tokenizer in memory.

The document holds the model's vocabulary (BPE, Unigram or WordLevel), added tokens, and the pipeline around them. Added tokens that
are *special* have no bytes; other added tokens spell their text. The document does not say which token ends a sequence:
a ``tokenizer_config.json`` in the same folder does (``eos_token``), and a tokenizer in memory does (``eos_token_id``).

A tokenizer in memory is duck-typed: ``backend_tokenizer`` or the object itself must have ``to_str``,
``encode`` and ``decode`` of the tokenizers package; ``transformers`` is not imported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from guided.errors import VocabularyError
from guided.files import read_bytes
from guided.vocabulary.content import Content, assemble
from guided.vocabulary.fields import json_document, member
from guided.vocabulary.pretokenizers import PATTERNS
from guided.vocabulary.roundtrip import prove_round_trip
from guided.vocabulary.segmentation import Encoding, PretokenizerName, merges_of_pieces
from guided.vocabulary.spelling import Spelling, spelling_of

__all__ = ["declared_eos", "read_tokenizer", "read_tokenizer_json"]

_CONFIG = "tokenizer_config.json"


def read_tokenizer_json(document: Mapping[str, Any], text: str, folder: Path) -> Content:
    """Return the content of a tokenizer.json; checked by a round trip if the tokenizers package is installed.

    Parameters
    ----------
    document : mapping
        The parsed file.
    text : str
        The text of the file.
    folder : Path
        Folder of ``tokenizer_config.json``, if there is one.

    Raises
    ------
    VocabularyError
        A part is missing, damaged or not supported, with its place in the document.
    """
    spelling = spelling_of(document)
    content = _content(document, spelling, declared_eos(folder), {})
    try:
        import tokenizers
    except ImportError:
        return content
    try:
        backend = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the package raises bare Exception
        raise VocabularyError(f"the tokenizers package refuses it: {error}") from None
    backend.no_truncation()
    backend.no_padding()
    _prove(content, backend, spelling)
    return content


def read_tokenizer(tokenizer: Any) -> Content:
    """Return the content of a fast tokenizer in memory, checked by a round trip.

    Raises
    ------
    TypeError
        The object is not a fast tokenizer.
    VocabularyError
        Its vocabulary cannot be interpreted.
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not all(callable(getattr(backend, name, None)) for name in ("to_str", "encode", "decode")):
        raise TypeError(
            f"from_tokenizer needs a fast Hugging Face tokenizer (one with a backend_tokenizer), not "
            f"{type(tokenizer).__name__}; load it with use_fast=True, or read its file with guided.Vocabulary.from_file"
        )
    text = backend.to_str()
    document = json_document(text)
    spelling = spelling_of(document)
    eos = getattr(tokenizer, "eos_token_id", None)
    ends = [] if eos is None else [int(token) for token in (eos if isinstance(eos, list | tuple) else [eos])]
    # Tokens that a transformers tokenizer drops when decoding, beyond those that its backend calls special.
    names, ids = (getattr(tokenizer, name, None) or () for name in ("all_special_tokens", "all_special_ids"))
    special = {str(name): int(token) for name, token in zip(names, ids, strict=False) if token is not None}
    content = _content(document, spelling, ends, special)
    if document.get("truncation") or document.get("padding"):
        # Why a copy: the settings belong to the user of the tokenizer, and a truncated text cannot be compared.
        backend = type(backend).from_str(text)
        backend.no_truncation()
        backend.no_padding()
    _prove(content, backend, spelling)
    return content


def _content(
    document: Mapping[str, Any], spelling: Spelling, eos: Iterable[int | str], special: Mapping[str, int]
) -> Content:
    model = member(document, "model", dict, "the document")
    for marker in ("end_of_word_suffix", "continuing_subword_prefix"):
        if model.get(marker):
            raise VocabularyError(
                f"model: {marker} {model[marker]!r:.20} is not supported: the spaces between words are in no token"
            )
    pieces = dict(_pieces(model))
    ids = {piece: token for token, piece in pieces.items()}
    spelled = {token: spelling.spell(piece) for token, piece in pieces.items()}
    named = {token: name for name, token in special.items()}
    more = document.get("added_tokens") or []
    if not isinstance(more, list):
        raise VocabularyError(f"'added_tokens' must be an array, not {more!r:.40}")
    for i, added in enumerate(more):
        place = f"added_tokens[{i}]"
        token, text = member(added, "id", int, place), member(added, "content", str, place)
        ids[text] = token
        if member(added, "special", bool, place):
            named[token] = text
        elif pieces.get(token) != text:
            spelled[token] = spelling.spell_added(text)
    declared: list[int] = []
    for end in eos:
        if isinstance(end, str) and end not in ids:
            raise VocabularyError(f"{_CONFIG} names {end!r:.60} as eos_token, but no token has this name")
        token = end if isinstance(end, int) else ids[end]
        named.setdefault(token, end if isinstance(end, str) else pieces.get(token, f"eos {token}"))
        declared.append(token)
    encoding = _encoding(document, model, {piece: token for token, piece in pieces.items()})
    if any(not added["special"] and added["id"] not in named for added in more) and isinstance(encoding, Encoding):
        encoding = "tokens that are matched before the merges (added ones that are not special) are not supported"
    whole = [added["id"] for added in more]
    return assemble(spelled.items(), named.items(), declared, encoding=encoding, added=whole)


def _encoding(document: Mapping[str, Any], model: Mapping[str, Any], ids: Mapping[str, int]) -> Encoding | str:
    """Return how the tokenizer encodes a text, or why that is unknown."""
    merges = model.get("merges")
    if model.get("type", "BPE") != "BPE" or not isinstance(merges, list):
        return f"{model.get('type', 'its model')!s:.40} is not supported, only byte-level BPE is"
    if model.get("byte_fallback"):
        return "SentencePiece models are not supported, only byte-level BPE is"
    if model.get("dropout"):
        return "the merges have dropout, so a text has several encodings"
    normalizer = document.get("normalizer")
    if normalizer is not None and normalizer != {"type": "NFC"}:
        return f"the normalizer {_type_of(normalizer)} is not supported"
    name = _pretokenizer(document.get("pre_tokenizer"))
    if name is None:
        return f"the pretokenizer {_type_of(document.get('pre_tokenizer'))} is not supported"
    found = merges_of_pieces(merges, ids)
    if isinstance(found, str):
        return found
    return Encoding(found, name, words_first=bool(model.get("ignore_merges")))


def _type_of(step: Any) -> str:
    """Return a short name of a step, with the types of the steps in it."""
    if not isinstance(step, dict):
        return str(step)[:40]
    inner = step.get("pretokenizers") or step.get("normalizers") or ()
    names = f" of {', '.join(_type_of(one) for one in inner)}" if inner else ""
    return f"{step.get('type')!s:.40}{names}"


def _pretokenizer(step: Any) -> PretokenizerName | None:
    """Return the name of a pretokenizer; None if it is not supported."""
    steps = step.get("pretokenizers") if isinstance(step, dict) and step.get("type") == "Sequence" else [step]
    if not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps) or not steps:
        return None
    *before, last = steps
    if last.get("type") != "ByteLevel" or last.get("add_prefix_space", True):
        return None
    if last.get("use_regex", True):
        if not before:
            return "gpt2"
        is_digits = before == [{"type": "Digits", "individual_digits": True}]
        return "gpt2-digits" if is_digits else None
    if not before:
        return "none"
    (split,) = before if len(before) == 1 else ({},)
    if split.get("type") != "Split" or split.get("behavior") != "Isolated" or split.get("invert"):
        return None
    pattern = split.get("pattern")
    names: dict[Any, PretokenizerName] = {form: name for name, forms in PATTERNS.items() for form in forms}
    return names.get(pattern.get("Regex")) if isinstance(pattern, dict) else None


def _pieces(model: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield ids and texts of the model's own tokens."""
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):
        taken: dict[int, str] = {}
        for piece, token in vocabulary.items():
            if not isinstance(token, int) or isinstance(token, bool):
                raise VocabularyError(f"model: the id of {piece!r:.60} must be an integer, not {token!r:.40}")
            if taken.setdefault(token, piece) != piece:
                raise VocabularyError(f"model: id {token} is given twice, to {taken[token]!r:.60} and to {piece!r:.60}")
        yield from taken.items()
    elif isinstance(vocabulary, list):
        for token, entry in enumerate(vocabulary):
            if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
                raise VocabularyError(f"model: vocab[{token}] must be a pair of text and score, not {entry!r:.60}")
            yield token, entry[0]
    else:
        raise VocabularyError("model: 'vocab' must be an object (BPE, WordLevel) or an array (Unigram)")


def declared_eos(folder: Path) -> list[int | str]:
    """Return ``eos_token`` of the configuration beside the file: a text, or an object that describes one."""
    path = folder / _CONFIG
    try:
        data = read_bytes(path, is_text=True)
    except OSError:
        return []
    try:
        eos = json_document(data).get("eos_token")
        if isinstance(eos, dict):
            eos = member(eos, "content", str, "eos_token")
        if eos is not None and not isinstance(eos, str):
            raise VocabularyError(f"eos_token must be a string, not {eos!r:.40}")
    except VocabularyError as error:
        raise VocabularyError(f"{_CONFIG} beside it: {error}") from None
    return [eos] if eos else []


def _prove(content: Content, backend: Any, spelling: Spelling) -> None:
    def encode(text: str) -> Sequence[int] | None:
        try:
            ids: Sequence[int] = backend.encode(text, add_special_tokens=False).ids
        except Exception:  # the package raises bare Exception for characters that a tokenizer has no token for
            return None
        return ids

    def decode(ids: Sequence[int]) -> str:
        text: str = backend.decode(list(ids), skip_special_tokens=True)
        return text

    prove_round_trip(content.tokens, encode, decode, spelling.dummy_prefix)
