"""Vocabulary: the bytes of each token id of a model.

Bytes and not strings, because a token may hold half a code point. Three kinds of ids have no bytes: *special* tokens
(known by name), *end of sequence* tokens (a model may have several), and padding (the logits may be wider than the
ids). Several ids may have the same bytes. Two vocabularies with equal content have equal fingerprints, and nothing else matters.

A spec may declare *markers*, texts such as ``<tool_call>``; a special token of that name then spells the text, in addition to its spelling
by ordinary tokens (`with_markers`).

A vocabulary does not encode text: splitting a text into tokens is left to the tokenizer. It is immutable and shared
by threads.
"""

import hashlib
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, SupportsIndex, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from guided.caching import Kept, cached_property
from guided.errors import VocabularyError, shown
from guided.keywords import suggest_keywords
from guided.vocabulary.content import END_NAMES, Content
from guided.vocabulary.files import read_file
from guided.vocabulary.folders import read_folder
from guided.vocabulary.segmentation import UNKNOWN_ENCODING, Encoding, Segmentation
from guided.vocabulary.tokenizer_json import read_tokenizer
from guided.vocabulary.trie import TokenTrie, trie_of

__all__ = ["Vocabulary", "markers_in", "single_bytes", "with_markers"]

_LARGEST_SIZE = 2**31 - 1
# Sets of markers of a vocabulary whose own vocabularies are kept.
_MARKED_KEPT = 16


_Derived = TypeVar("_Derived")


class _Shared(dict[Callable[..., Any], Any]):
    """What is derived from the content of equal vocabularies, by the function that makes it."""

    __slots__ = ("__weakref__",)


# By fingerprint. Each vocabulary that was asked for something holds its own.
_shared: "WeakValueDictionary[str, _Shared]" = WeakValueDictionary()


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Vocabulary:
    """Token ids and the bytes they spell.

    Parameters
    ----------
    tokens : sequence of (bytes or None)
        Bytes of each id; None or ``b""`` for none.
    eos : sequence of int
        Ids that end a sequence. They have no bytes.
    size : int, optional
        Width of the model's logits, at least ``len(tokens)``, which is the default. Ids from ``len(tokens)`` on are
        padding.
    special : mapping of str to int, optional
        Special tokens by name. They have no bytes.
    encoding : Encoding or str, optional
        How the tokenizer encodes a text, for ``tokenization="canonical"``; or why that is unknown. It does not count for equality.

    Attributes
    ----------
    tokens : tuple of (bytes or None)
        Bytes of each id; None if it has none.
    eos : tuple of int
        Ids that end a sequence, ascending.
    size : int
        Width of the model's logits.
    special : mapping of str to int
        Ids of the special tokens by name; read-only.
    encoding : Encoding or str
        How the tokenizer encodes a text; a str says why that is unknown.

    Raises
    ------
    VocabularyError
        An id is out of range, an end of sequence or special token has bytes, or the size is below the number of tokens.
    TypeError
        A token is not bytes (such as a str), or an id is not an int.
    """

    tokens: tuple[bytes | None, ...]
    eos: tuple[int, ...]
    size: int
    special: Mapping[str, int]
    encoding: Encoding | str

    @suggest_keywords()
    def __init__(
        self,
        tokens: Sequence[bytes | None],
        eos: Sequence[int] = (),
        size: int | None = None,
        special: Mapping[str, int] | None = None,
        encoding: Encoding | str | None = None,
    ) -> None:
        checked = _checked_tokens(tokens)
        size = _checked_size(size, len(checked))
        # Why not attribute by attribute: a vocabulary is frozen.
        self.__dict__.update(
            tokens=checked,
            eos=_checked_eos(eos, checked, size),
            size=size,
            special=MappingProxyType(_checked_special(special or {}, checked, size)),
            encoding=UNKNOWN_ENCODING if encoding is None else _checked_encoding(encoding),
        )

    @classmethod
    def from_tokenizer(
        cls, tokenizer: Any, size: int | None = None, *, eos: Sequence[int] | None = None
    ) -> "Vocabulary":
        """Return the vocabulary of a fast Hugging Face tokenizer, checked by a round trip over sample texts.

        Parameters
        ----------
        tokenizer : transformers.PreTrainedTokenizerFast or tokenizers.Tokenizer
            Anything with a ``backend_tokenizer`` of the tokenizers package, or one itself.
        size : int, optional
            Width of the model's logits (``model.config.vocab_size``); by default the number of ids.
        eos : sequence of int, optional
            Ids that end a sequence (``model.generation_config.eos_token_id``): special or added tokens. By default ``eos_token_id`` and
            the special tokens with which chat models end a turn (`guided.vocabulary.content`).

        Raises
        ------
        TypeError
            The object is not a fast tokenizer.
        VocabularyError
            The tokenizer's format is not supported, or the round trip fails.
        """
        return cls.of_content(read_tokenizer(tokenizer), size, eos)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        size: int | None = None,
        *,
        eos: Sequence[int] | None = None,
        special: Mapping[str, int] | None = None,
    ) -> "Vocabulary":
        """Return the vocabulary of a tokenizer file: tokenizer.json, SentencePiece .model, tiktoken ranks, tekken.json or GGUF.

        Parameters
        ----------
        path : str or path
            The file, whose format is detected from the content; or a model's folder with one (`guided.vocabulary.folders`).
        size : int, optional
            Width of the model's logits; by default that of a folder's config.json, or the number of ids.
        eos : sequence of int, optional
            Ids that end a sequence: special or added tokens. By default those that the file declares, and the special tokens with
            which chat models end a turn (`guided.vocabulary.content`); of a folder, all that its files name.
        special : mapping of str to int, optional
            Special tokens that the file does not contain (tables of ranks contain none).

        Raises
        ------
        TypeError
            The path is not a str or path object.
        VocabularyError
            The file cannot be read, is damaged or not supported, or fails the round trip.
        """
        if isinstance(path, str | os.PathLike) and "\0" not in str(path) and Path(path).is_dir():
            content, width = read_folder(Path(path))
            return cls.of_content(content, width if size is None else size, eos, special)
        return cls.of_content(read_file(path), size, eos, special)

    @classmethod
    def of_content(
        cls,
        content: Content,
        size: int | None = None,
        eos: Sequence[int] | None = None,
        special: Mapping[str, int] | None = None,
    ) -> "Vocabulary":
        """Return the vocabulary of a reader's result; the other arguments are those of `from_file` and take precedence."""
        more = _checked_special(special or {}, (), _LARGEST_SIZE)
        n_tokens = len(content.tokens)
        tokens = content.tokens + [None] * (max([n_tokens - 1, *more.values()]) + 1 - n_tokens)
        content = replace(content, tokens=tokens, special=content.special | more)
        if eos is not None:
            content = content.ending_with(_checked_eos(eos, (), len(tokens) if size is None else size))
        elif more:
            content = replace(
                content, eos=tuple(sorted({*content.eos, *(more[name] for name in more.keys() & END_NAMES)}))
            )
        return cls(content.tokens, content.eos, size, content.special, content.encoding)

    def __len__(self) -> int:
        """Return the number of ids, without padding."""
        return len(self.tokens)

    def __getitem__(self, token: SupportsIndex) -> bytes | None:
        """Return the bytes of an id below `size`; None if it has none."""
        index = operator.index(token)
        if not 0 <= index < self.size:
            raise IndexError(f"token {shown(index)} is out of range: this vocabulary has ids 0 to {self.size - 1}")
        return self.tokens[index] if index < len(self.tokens) else None

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self.tokens)

    def decode(self, tokens: Iterable[int]) -> bytes:
        """Return the concatenated bytes of tokens; those without bytes add nothing."""
        return b"".join(self[token] or b"" for token in tokens)

    @cached_property
    def trie(self) -> TokenTrie:
        """Trie of all tokens with bytes, built once (about 0.1 s for 128,000 tokens)."""
        return trie_of(self.tokens)

    @cached_property
    def segmentation(self) -> Segmentation:
        """Automaton of the tokenizer's own encodings, built once (about 1 s for 128,000 tokens).

        Raises
        ------
        VocabularyError
            The encoding is unknown or not supported, or its merges are damaged.
        """
        if isinstance(self.encoding, str):
            raise VocabularyError(f"the tokenizer's own encodings are unknown: {self.encoding}")
        return Segmentation(self.tokens, self.size, self.encoding)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the whole content; equal for equal vocabularies on every machine."""
        return _fingerprint(self)

    def derived(self, make: Callable[["Vocabulary"], _Derived]) -> _Derived:
        """Return ``make(vocabulary)``, made once for all equal vocabularies and kept as long as one of them."""
        found: _Derived | None = self._shared.get(make)
        return self._shared.setdefault(make, make(self)) if found is None else found

    @cached_property
    def _shared(self) -> _Shared:
        return _shared.setdefault(self.fingerprint, _Shared())

    @cached_property
    def alphabet(self) -> bytes:
        """256 bytes: 1 for each byte that has a token of its own."""
        alone = {token for token in self.tokens if token is not None and len(token) == 1}
        return bytes(bytes([byte]) in alone for byte in range(256))

    @property
    def missing_bytes(self) -> tuple[int, ...]:
        """Byte values without a token of their own, ascending; empty exactly if every byte string can be spelled."""
        return tuple(value for value, has_token in enumerate(self.alphabet) if not has_token)

    @property
    def duplicates(self) -> tuple[tuple[int, ...], ...]:
        """Groups of ids with the same bytes, ids ascending, groups by bytes."""
        trie = self.trie
        shared = np.flatnonzero(np.diff(trie.token_indptr) > 1)
        spans = ((trie.token_indptr[node], trie.token_indptr[node + 1]) for node in shared)
        return tuple(tuple(trie.token_ids[start:stop].tolist()) for start, stop in spans)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self):,} tokens, size {self.size:,}, eos {list(self.eos)}>"

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[object, ...]]:
        return Vocabulary, (self.tokens, self.eos, self.size, dict(self.special), self.encoding)


@cache
def single_bytes() -> Vocabulary:
    """Return the vocabulary of the 256 single bytes, whose index reads texts byte by byte."""
    return Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)


def _checked_tokens(tokens: Sequence[bytes | None]) -> tuple[bytes | None, ...]:
    """Return the tokens, checked, with empty bytes replaced by None."""
    if isinstance(tokens, str | bytes | bytearray | Mapping) or not isinstance(tokens, Iterable):
        raise TypeError(f"tokens must be a sequence of bytes or None, one per id, not {type(tokens).__name__}")
    checked = tuple(tokens)
    # Why the set first: it checks the types of 128,000 tokens in 3 ms; the index is searched only after a failure.
    if not {type(token) for token in checked} <= {bytes, type(None)}:
        token_id, token = next((i, t) for i, t in enumerate(checked) if type(t) not in (bytes, type(None)))
        advice = (
            "; a token may be part of a character: encode it to the bytes it spells" if isinstance(token, str) else ""
        )
        raise TypeError(f"tokens[{token_id}] must be bytes or None, not {type(token).__name__} {shown(token)}{advice}")
    return tuple([token or None for token in checked])


def _checked_size(size: int | None, n_tokens: int) -> int:
    if size is None:
        size = n_tokens
    size = _as_int(size, "size")
    if size < n_tokens:
        raise VocabularyError(
            f"size {shown(size)} is less than the {n_tokens} tokens: give the width of the model's logits"
        )
    if size > _LARGEST_SIZE:
        raise VocabularyError(f"size {shown(size)} is too large: token ids are 32-bit")
    return size


def _checked_eos(eos: Sequence[int], tokens: tuple[bytes | None, ...], size: int) -> tuple[int, ...]:
    if isinstance(eos, str | bytes | bytearray | Mapping) or not isinstance(eos, Iterable):
        raise TypeError(f"eos must be a sequence of token ids, not {type(eos).__name__}")
    ids = sorted({_as_int(token, "an eos id") for token in eos})
    for token in ids:
        _check_silent(token, "eos", tokens, size)
    return tuple(ids)


def _checked_encoding(encoding: Encoding | str) -> Encoding | str:
    if not isinstance(encoding, Encoding | str):
        raise TypeError(
            f"encoding must be an Encoding, or a str that says why it is unknown, not {type(encoding).__name__}"
        )
    return encoding


def _checked_special(special: Mapping[str, int], tokens: tuple[bytes | None, ...], size: int) -> dict[str, int]:
    if not isinstance(special, Mapping):
        raise TypeError(f"special must map names to token ids, not be {type(special).__name__}")
    checked: dict[str, int] = {}
    for name, token in special.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a special token must be str, not {type(name).__name__} {shown(name)}")
        if not name:
            raise VocabularyError(f"special token {token} has an empty name")
        checked[name] = _as_int(token, f"the id of special token {shown(name)}")
        _check_silent(checked[name], f"special token {shown(name)}", tokens, size)
    return dict(sorted(checked.items()))


def _check_silent(token: int, what: str, tokens: tuple[bytes | None, ...], size: int) -> None:
    """Reject a special id that is out of range or has bytes."""
    if not 0 <= token < size:
        raise VocabularyError(f"{what}: id {shown(token)} is out of range, ids go from 0 to {size - 1}")
    if token < len(tokens) and tokens[token] is not None:
        raise VocabularyError(
            f"{what}: id {token} spells {tokens[token]!r:.60}, but such a token has no bytes; "
            f"give tokens[{token}] as None, or check the id"
        )


def _as_int(value: SupportsIndex, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{what} must be int, not {type(value).__name__} {shown(value)}")
    return value.__index__()


def _fingerprint(vocabulary: Vocabulary) -> str:
    """Compute SHA-256 over counts, ids, lengths, names and bytes; every part is preceded by its length."""
    spelled = [token or b"" for token in vocabulary.tokens]
    names = [name.encode("utf-8", "surrogatepass") for name in vocabulary.special]
    counts = [len(spelled), vocabulary.size, len(vocabulary.eos), len(names)]
    numbers = [*counts, *vocabulary.eos, *vocabulary.special.values(), *map(len, names)]
    digest = hashlib.sha256(b"guided.vocabulary 1\n")
    digest.update(np.array(numbers, dtype="<i8").tobytes())
    digest.update(np.fromiter(map(len, spelled), dtype="<i8", count=len(spelled)).tobytes())
    digest.update(b"".join(names))
    digest.update(b"".join(spelled))
    return digest.hexdigest()


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
    if not marked:
        return vocabulary
    # Why kept: copying the tokens of a large vocabulary, and its trie, cost more than the index of a small schema.
    known = vocabulary.derived(_no_marked)
    found = known.get(key := (*marked.items(),))
    if found is None:
        tokens = [*vocabulary.tokens, *[None] * (max(marked) + 1 - len(vocabulary))]
        for token, data in marked.items():
            tokens[token] = data
        others = {name: token for name, token in special.items() if token not in marked}
        reason = "special tokens have been given bytes"
        found = known[key] = Vocabulary(tokens, vocabulary.eos, vocabulary.size, others, reason)
    return found


def _no_marked(_: Vocabulary) -> Kept[tuple[tuple[int, bytes], ...], Vocabulary]:
    return Kept(_MARKED_KEPT)
