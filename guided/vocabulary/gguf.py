"""Tokenizer of a GGUF file, from the keys and values at its front; the tensors after them are not read.

A GGUF file begins with ``GGUF``, a version, the counts of tensors and of keys, then the keys with typed values. Only versions 2 and 3 in
little-endian order are read. Lengths are checked against the rest of the file before anything is read.

``tokenizer.ggml.model`` is ``gpt2`` (byte-level) or ``llama`` or ``t5`` (SentencePiece); ``token_type`` distinguishes normal, control,
user-defined, unused and byte tokens as in SentencePiece. User-defined tokens spell their text.
"""

import os
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from guided.errors import VocabularyError
from guided.limits import Limits
from guided.vocabulary.content import Content, assemble
from guided.vocabulary.segmentation import Encoding, PretokenizerName, merges_of_pieces
from guided.vocabulary.spelling import byte_level, byte_of, sentencepiece, utf8

__all__ = ["read_gguf"]

_PREFIX = "tokenizer.ggml."
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# Models have about 50 keys, and up to 600,000 merges.
_KEYS_READ, _VALUES_READ = 1 << 12, 1 << 20
_LISTS = (_PREFIX + "tokens", _PREFIX + "token_type", _PREFIX + "merges")
_ENDS, _NONE = ("eos", "eot", "eom"), 0xFFFFFFFF
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_SPELLINGS: Mapping[str, tuple[Callable[[str], bytes], Callable[[str], bytes]]] = {
    # model: (normal tokens, user-defined tokens)
    "gpt2": (byte_level, utf8),
    "llama": (sentencepiece, sentencepiece),
    "t5": (sentencepiece, sentencepiece),
}


# Names that llama.cpp gives to pretokenizers.
_PRETOKENIZERS: Mapping[str, PretokenizerName] = {
    "gpt-2": "gpt2",
    "smollm": "gpt2-digits",
    "llama-bpe": "llama3",
    "qwen2": "qwen2",
}


def read_gguf(file: BinaryIO, n_bytes: int) -> Content:
    """Return the tokenizer of a GGUF file that is open at its start and ``n_bytes`` long.

    Raises
    ------
    VocabularyError
        The file is truncated or damaged, of another version, or its kind of tokenizer is not supported.
    """
    keys = _Header(file, n_bytes).keys()
    model = _value(keys, _PREFIX + "model", str)
    if model not in _SPELLINGS:
        raise VocabularyError(f"its tokenizer is of the kind {model!r:.60}; supported are {', '.join(_SPELLINGS)}")
    texts = _value(keys, _PREFIX + "tokens", list)
    kinds = _value(keys, _PREFIX + "token_type", list) if _PREFIX + "token_type" in keys else [_NORMAL] * len(texts)
    if len(kinds) != len(texts):
        raise VocabularyError(f"{len(texts)} tokens have {len(kinds)} types")
    normal, user_defined = _SPELLINGS[model]
    spelled: list[tuple[int, bytes]] = []
    special: list[tuple[int, str]] = []
    for token, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if not isinstance(text, str):
            raise VocabularyError(f"token {token} is not a string")
        if kind in (_UNKNOWN, _CONTROL):
            special.append((token, text))
        elif kind == _BYTE:
            spelled.append((token, byte_of(text) or normal(text)))
        elif kind != _UNUSED:
            spelled.append((token, user_defined(text) if kind == _USER_DEFINED else normal(text)))
    added = [token for token, kind in enumerate(kinds) if kind == _USER_DEFINED]
    declared = [_value(keys, name, int) for name in (f"{_PREFIX}{end}_token_id" for end in _ENDS) if name in keys]
    ends = [end for end in declared if end != _NONE]
    return assemble(spelled, special, ends, len(texts), _encoding(keys, model, texts, kinds), added)


def _encoding(keys: Mapping[str, Any], model: str, texts: list[str], kinds: list[int]) -> Encoding | str:
    """Return how the tokenizer encodes a text, or why that is unknown."""
    if model != "gpt2":
        return "SentencePiece models are not supported, only byte-level BPE is"
    name, merges = keys.get(_PREFIX + "pre"), keys.get(_PREFIX + "merges")
    if not isinstance(name, str) or name not in _PRETOKENIZERS:
        return f"the pretokenizer {name!r:.40} is not supported; supported are {', '.join(_PRETOKENIZERS)}"
    if not isinstance(merges, list):
        return "the file has no merges"
    if _USER_DEFINED in kinds:
        return "tokens that are matched before the merges (user-defined ones) are not supported"
    found = merges_of_pieces(merges, {text: token for token, text in enumerate(texts)})
    return found if isinstance(found, str) else Encoding(found, _PRETOKENIZERS[name])


class _Header:
    """Cursor over the front of a GGUF file that never reads past its end."""

    def __init__(self, file: BinaryIO, n_bytes: int) -> None:
        self._file, self._left = file, n_bytes
        # Bytes that may still be kept in memory.
        self._room = Limits().file_bytes

    def keys(self) -> dict[str, Any]:
        """Return the tokenizer's keys, with arrays of numbers and strings as lists; other values are skipped."""
        magic, version, _, n_keys = self._unpack("<4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise VocabularyError(f"GGUF version {version} is not supported (2 and 3 are, in little-endian order)")
        if n_keys > _KEYS_READ:
            raise VocabularyError(f"it has {n_keys:,} keys; the file is damaged")
        found: dict[str, Any] = {}
        for _ in range(n_keys):
            name = self._string()
            if name in found:
                raise VocabularyError(f"it has the key {name!r:.60} twice; the file is damaged")
            found[name] = self._typed(self._unpack("<I")[0], name)
        return found

    def _typed(self, kind: int, name: str) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(kind, 1, name)[0]
        inner, count = self._unpack("<IQ")
        if inner == _STRING:
            self._check_count(count, 8 * count, name)
            if name not in _LISTS:
                for _ in range(count):
                    self._skip(self._unpack("<Q")[0])
                return None
            return [self._string() for _ in range(count)]
        return list(self._numbers(inner, count, name))

    def _numbers(self, kind: int, count: int, name: str) -> tuple[Any, ...]:
        if kind not in _NUMBERS:
            raise VocabularyError(f"the value of {name!r:.60} has the unknown type {kind}")
        length = count * struct.calcsize(_NUMBERS[kind])
        self._check_count(count, length, name)
        if count > 1 and name not in _LISTS:
            self._skip(length)
            return (None,)
        return self._unpack(f"<{count}{_NUMBERS[kind]}")

    def _string(self) -> str:
        (length,) = self._unpack("<Q")
        try:
            return self._take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise VocabularyError(f"a string is not UTF-8: {error.object[:30]!r}") from None

    def _unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._take(struct.calcsize(form)))

    def _take(self, length: int) -> bytes:
        self._check(length, "a value")
        self._room -= length
        if self._room < 0:
            raise VocabularyError(f"its keys have more than {Limits().file_bytes:,} bytes; the file is damaged")
        data = self._file.read(length)
        if len(data) < length:
            raise VocabularyError("the file is truncated")
        self._left -= length
        return data

    def _skip(self, length: int) -> None:
        self._check(length, "a value")
        self._file.seek(length, os.SEEK_CUR)
        self._left -= length

    def _check_count(self, count: int, length: int, name: str) -> None:
        if count > _VALUES_READ:
            raise VocabularyError(f"{name!r:.60} has {count:,} values; the file is damaged")
        self._check(length, name)

    def _check(self, length: int, name: str) -> None:
        if length > self._left:
            raise VocabularyError(
                f"the file is truncated or damaged: {name:.60} has {length:,} bytes, {self._left:,} are left"
            )


def _value(keys: Mapping[str, Any], name: str, kind: type) -> Any:
    if not isinstance(keys.get(name), kind):
        raise VocabularyError(f"it has no {name} of type {kind.__name__}; is it a model with a tokenizer?")
    return keys[name]
