"""Common entry point for all tokenizer files: the format is detected from the content, never from the name.

====================  ==================================================
begins with           format
====================  ==================================================
``GGUF``              a model in GGUF, of which only the front is read
``{``                 JSON: tokenizer.json or tekken.json by its members
base64 and a number   a table of ranks (tiktoken)
byte 0x0A             a protocol buffer: a SentencePiece model
====================  ==================================================

Errors identify common files that are not tokenizers. Every error begins with the path.
"""

import os
from io import BufferedReader
from pathlib import Path

from guided.errors import VocabularyError
from guided.files import open_regular, read_open
from guided.limits import Limits
from guided.vocabulary.content import Content
from guided.vocabulary.fields import json_document
from guided.vocabulary.gguf import read_gguf
from guided.vocabulary.sentencepiece import read_sentencepiece
from guided.vocabulary.tekken import read_tekken
from guided.vocabulary.tiktoken import looks_like_ranks, read_ranks
from guided.vocabulary.tokenizer_json import read_tokenizer_json

__all__ = ["kind_of_file", "read_file"]

_HEAD = 4096
# Five times the size of the largest SentencePiece models.
_LARGEST_MODEL = 1 << 25
_SUPPORTED = "tokenizer.json, tekken.json, SentencePiece .model, tiktoken ranks, GGUF"
_OTHERS = (
    (b"version https://git-lfs", "a Git LFS pointer: fetch the file itself (git lfs pull)"),
    (b"PK\x03\x04", "a zip archive (PyTorch weights?)"),
    (b"\x1f\x8b", "compressed with gzip: unpack it first"),
    (b"\x80", "a pickle (PyTorch weights?)"),
    (b"<", "a web page or XML"),
)


def read_file(path: str | os.PathLike[str]) -> Content:
    """Return the content of a tokenizer file of any supported format.

    Raises
    ------
    TypeError
        The path is not a str or path object.
    VocabularyError
        The file cannot be read, is truncated or damaged, or holds no supported tokenizer; the message begins with the path.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be str or a path, not {type(path).__name__}")
    place = Path(path)
    try:
        if "\0" in str(place):
            raise VocabularyError("is not a path: it contains a zero byte")
        with open_regular(place) as file:
            return _read(file, os.fstat(file.fileno()).st_size, place.parent)
    except OSError as error:
        raise VocabularyError(f"{place}: cannot be read: {error.strerror or error}") from None
    except VocabularyError as error:
        raise VocabularyError(f"{place}: {error}") from error


def kind_of_file(path: str | os.PathLike[str]) -> str:
    """Return the kind of a file that `read_file` reads: GGUF, tokenizer.json, tekken.json, tiktoken ranks or SentencePiece.

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        head = file.read(_HEAD)
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"GGUF"):
            return "GGUF"
        if text.startswith(b"{"):
            return "tokenizer.json" if "model" in json_document(head + read_open(file, is_text=True)) else "tekken.json"
    return "tiktoken ranks" if looks_like_ranks(text) else "SentencePiece"


def _read(file: BufferedReader, n_bytes: int, folder: Path) -> Content:
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith(b"GGUF"):
        return read_gguf(file, n_bytes)
    if not head:
        raise VocabularyError("the file is empty")
    if n_bytes > Limits().file_bytes:
        raise VocabularyError(f"{n_bytes:,} bytes are too many for a tokenizer; are these the model's weights?")
    # Why before reading the whole file: a file that is not a tokenizer need not be in memory.
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return _read_json(read_open(file, is_text=True), folder)
    if looks_like_ranks(text):
        return read_ranks(read_open(file, is_text=True))
    if head.startswith(b"\n"):
        return read_sentencepiece(read_open(file, _LARGEST_MODEL))
    for beginning, what in _OTHERS:
        if head.startswith(beginning):
            raise VocabularyError(f"not a tokenizer but {what}; supported are {_SUPPORTED}")
    raise VocabularyError(f"unknown tokenizer format (it begins with {head[:16]!r}); supported are {_SUPPORTED}")


def _read_json(data: bytes, folder: Path) -> Content:
    document = json_document(data)
    # Why checked first: "model", "config" and "vocab" are tokens, too.
    if len(document) > 256 and all(isinstance(value, int) for value in document.values()):
        raise VocabularyError(
            "this is a bare vocab.json, which does not define how tokens are spelled; give tokenizer.json"
        )
    if "model" in document:
        return read_tokenizer_json(document, data.decode("utf-8-sig"), folder)
    if "config" in document and "vocab" in document:
        return read_tekken(document)
    members = ", ".join(map(repr, list(document)[:6]))
    raise VocabularyError(f"JSON, but neither tokenizer.json nor tekken.json (its members: {members or 'none'})")
