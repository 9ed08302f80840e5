"""`Segmentation`: an automaton over tokens that accepts exactly a tokenizer's own encodings.

A sequence of tokens is *canonical* if the tokenizer encodes its text to exactly this sequence. That is so if the words of the pretokenizer
(`guided.vocabulary.pretokenizers`) end at ends of tokens, and the tokens within each word form canonical pairs
(`guided.vocabulary.merges`).

A state is the set of the pretokenizer's hypotheses, with the bytes of a character that a token has begun. Between two tokens a word may
end, or continue if they form a canonical pair; within a token no word ends. The state and the last token determine which tokens may
follow. A text is encoded as text: names of special tokens in it are not special. Invalid UTF-8 is never canonical. A special token ends the
text before it.

Invariants: every prefix of a canonical sequence has a state; a sequence is canonical exactly if it has a state that may end. A state may be
a dead end: the characters to come can refute all its hypotheses, which only the language of the texts can tell
(`guided.generate.canonical`).

Complexity: a state costs one pass over the distinct shapes of the tokens (3,000 in 128,000 tokens, about 50 ms) the first time its tokens
are asked for; texts of a natural language visit about 30 states. A last token costs `Merges.follows` the first time. Then a mask is three
passes over its words.

Threads: entries are computed twice at worst, with equal results.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from guided.arrays import BoolArray, Int32Array, freeze, mask_of
from guided.caching import Kept, cached_property
from guided.errors import VocabularyError, shown
from guided.vocabulary.merges import Merges, splits_of_ranks
from guided.vocabulary.pretokenizers import NAMES, Hypotheses, Pretokenizer, PretokenizerName, pretokenizer

__all__ = ["UNKNOWN_ENCODING", "Encoding", "PretokenizerName", "Segmentation", "merges_of_pieces"]

UNKNOWN_ENCODING = "only vocabularies from tokenizer files, or with encoding=Encoding(...), have them"
# Masks of last tokens that are kept, 16 KB each for 128,000 tokens.
_KEPT_MASKS = 1024


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Encoding:
    """How a byte-level BPE tokenizer encodes a text.

    Parameters
    ----------
    merges : array-like of int, shape (n_merges, 3), optional
        Left part, right part and result of each merge as ids, in the order of their ranks. None: the ids are the ranks, and every pair of
        tokens that spells a token is merged (tiktoken); then ``words_first`` holds too.
    pretokenizer : {"none", "gpt2", "gpt2-digits", "llama3", "qwen2"}
        How a text is split into words. ``"gpt2-digits"`` splits off each digit (SmolLM2); ``"none"`` does not split.
    words_first : bool
        The tokenizer looks up whole words before it merges (``ignore_merges``). Words whose tokens no merges form are the only ones for
        which this makes a difference, and for them the merges count: see `guided.vocabulary.merges`.

    Raises
    ------
    VocabularyError
        Unknown pretokenizer, or merges of another shape.
    """

    merges: npt.ArrayLike | None = None
    pretokenizer: PretokenizerName = "none"
    words_first: bool = False

    def __post_init__(self) -> None:
        if self.merges is not None:
            merges = np.asarray(self.merges, np.int32)
            if merges.size == 0:
                merges = merges.reshape(0, 3)
            if merges.ndim != 2 or merges.shape[1] != 3:
                raise VocabularyError(f"merges must have the shape (n, 3), not {merges.shape}")
            object.__setattr__(self, "merges", freeze(merges))
        if self.pretokenizer not in NAMES:
            raise VocabularyError(f"pretokenizer must be one of {', '.join(NAMES)}, not {shown(self.pretokenizer)}")

    def __repr__(self) -> str:
        merges = "ranks" if self.merges is None else f"{len(np.asarray(self.merges)):,} merges"
        return f"<Encoding by {merges}, pretokenizer {self.pretokenizer!r}>"


def merges_of_pieces(merges: Sequence[Any], ids: Mapping[str, int]) -> Int32Array | str:
    """Return the merges of a tokenizer file, each two pieces or a str of both with a space between, as ids of the parts and the result.

    A str says which merge has a piece without an id.
    """
    found = np.empty((len(merges), 3), np.int32)
    for place, merge in enumerate(merges):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
            return f"merge {place} is not a pair: {merge!r:.60}"
        pieces = (parts[0], parts[1], parts[0] + parts[1])
        if not all(piece in ids for piece in pieces):
            return f"merge {place} has a part or result that is not a token: {merge!r:.60}"
        found[place] = [ids[piece] for piece in pieces]
    return found


class _State(NamedTuple):
    """Hypotheses; bytes of a character that is not complete, and whether a word may end, or continue, before it."""

    hypotheses: Hypotheses
    begun: bytes = b""
    may_end: bool = False
    may_continue: bool = True


class _Shape(NamedTuple):
    """A token as the rest of a character, classes of whole characters, and the beginning of a character."""

    rest: bytes
    classes: bytes
    begun: bytes


class Segmentation:
    """The automaton of one vocabulary.

    Parameters
    ----------
    tokens : sequence of (bytes or None)
        Bytes of each id.
    size : int
        Width of masks in tokens.
    encoding : Encoding
        The tokenizer's merges and pretokenizer.

    Attributes
    ----------
    initial : int
        State of the empty text.
    merges : Merges
        The compiled merges.

    Raises
    ------
    VocabularyError
        As in `Merges`.
    """

    initial = 0

    def __init__(self, tokens: Sequence[bytes | None], size: int, encoding: Encoding) -> None:
        self._tokens, self._size = tokens, size
        if encoding.merges is None:
            self.merges = Merges(tokens, *splits_of_ranks(tokens), words_first=True)
        else:
            left, right, merged = np.asarray(encoding.merges, np.int64).T
            self.merges = Merges(tokens, left, right, merged, np.arange(len(merged)), encoding.words_first)
        self._split: Pretokenizer = pretokenizer(encoding.pretokenizer)
        self._states = [_State(self._split.start)]
        self._number = {self._states[0]: 0}
        self._next: dict[tuple[int, bool, int], int] = {}
        self._follows = Kept[int, tuple[BoolArray, Int32Array]](_KEPT_MASKS)
        # For each state the masks of the tokens that may follow after the end of a word, and of those that may continue a word.
        self._masks: dict[int, tuple[Int32Array, Int32Array]] = {}
        self._steps: dict[tuple[Hypotheses, bool, bool, int], Hypotheses] = {}
        self._without_bytes = mask_of(
            [token for token in range(size) if token >= len(tokens) or not tokens[token]], size
        )

    def mask(self, state: int, last: int) -> Int32Array:
        """Return the tokens that may follow a state and the last token (-1: none): int32, shape (ceil(size / 32),).

        Tokens without bytes, such as the end of sequence, are allowed where the text may end.
        """
        after_word, within_word = self._tokens_after(state)
        if last < 0:
            return within_word
        return after_word | (within_word & self._after(last)[1])

    def next(self, state: int, last: int, token: int) -> int:
        """Return the state after a token that follows the last one (-1: none); -1 if it may not."""
        if token >= len(self._tokens) or not self._tokens[token]:
            return 0 if self.may_end(state) else -1
        is_pair = last < 0 or bool(self._after(last)[0][token])
        key = state, is_pair, token
        found = self._next.get(key)
        if found is None:
            after = self._read(self._states[state], token, state != 0, is_pair)
            found = self._next[key] = -1 if after is None else self._numbered(after)
        return found

    def may_end(self, state: int) -> bool:
        """Return whether a text may end in this state."""
        found = self._states[state]
        return not found.begun and self._split.may_end(found.hypotheses)

    def _after(self, token: int) -> tuple[BoolArray, Int32Array]:
        found = self._follows.get(token)
        if found is None:
            follows = self.merges.follows(token)
            found = self._follows[token] = follows, mask_of(np.flatnonzero(follows), self._size)
        return found

    def _read(self, before: _State, token: int, may_end: bool, may_continue: bool) -> _State | None:
        """Return the state after a token, None if there is none; a word may end, or continue, before it."""
        shape = self._shapes[token]
        if shape is None:
            return None
        hypotheses, classes = before.hypotheses, shape.classes
        if before.begun:
            # Within a character no word ends.
            if not may_continue or not shape.rest:
                return None
            data = before.begun + shape.rest
            character = _character(data)
            if character is None:
                if classes or shape.begun or not _may_begin(data):
                    return None
                return before._replace(begun=data)
            hypotheses = self._step(hypotheses, before.may_end, before.may_continue, self._split.class_of(character))
            may_end, may_continue = False, True
        elif shape.rest:
            return None
        for one in classes:
            hypotheses = self._step(hypotheses, may_end, may_continue, one)
            may_end, may_continue = False, True
        if not hypotheses:
            return None
        if shape.begun:
            return _State(hypotheses, shape.begun, may_end, may_continue)
        return _State(hypotheses)

    def _step(self, hypotheses: Hypotheses, may_end: bool, may_continue: bool, one: int) -> Hypotheses:
        key = hypotheses, may_end, may_continue, one
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = self._split.step(hypotheses, may_end, may_continue, one)
        return found

    def _numbered(self, state: _State) -> int:
        found = self._number.get(state)
        if found is None:
            # Why in this order: other threads may use the number as soon as it is known.
            self._states.append(state)
            found = self._number.setdefault(state, len(self._states) - 1)
        return found

    @cached_property
    def _shapes(self) -> list[_Shape | None]:
        """Shape of each reachable token; None for the others, and those that no valid text contains."""
        is_reachable = self.merges.is_reachable.tolist()
        return [self._shape(data) if data and is_reachable[token] else None for token, data in enumerate(self._tokens)]

    def _shape(self, data: bytes) -> _Shape | None:
        rest = 0
        while rest < min(len(data), 3) and 0x80 <= data[rest] < 0xC0:
            rest += 1
        for n_begun in range(min(3, len(data) - rest) + 1):
            begun = data[len(data) - n_begun :]
            if n_begun and not _may_begin(begun):
                continue
            try:
                text = data[rest : len(data) - n_begun].decode()
            except UnicodeDecodeError:
                continue
            return _Shape(data[:rest], self._split.shape(text), begun)
        return None

    @cached_property
    def _by_classes(self) -> tuple[list[tuple[bytes, list[int]]], list[int]]:
        """The reachable tokens of whole characters by their classes, in order; and the other reachable tokens."""
        whole, others = dict[bytes, list[int]](), list[int]()
        for token, shape in enumerate(self._shapes):
            if shape is None:
                continue
            if shape.rest or shape.begun:
                others.append(token)
            else:
                whole.setdefault(shape.classes, []).append(token)
        return sorted(whole.items()), others

    def _tokens_after(self, number: int) -> tuple[Int32Array, Int32Array]:
        found = self._masks.get(number)
        if found is None:
            after_word = self._allowed(number, False) if number else ()
            masks = [mask_of(list(tokens), self._size) for tokens in (after_word, self._allowed(number, True))]
            if self.may_end(number):
                masks = [mask | self._without_bytes for mask in masks]
            found = self._masks[number] = freeze(masks[0]), freeze(masks[1])
        return found

    def _allowed(self, number: int, may_continue: bool) -> Iterator[int]:
        """Yield the tokens that may follow a state, where a word may end (unless the text begins) or also continue before them."""
        state = self._states[number]
        whole, others = self._by_classes
        for token in others:
            if self._read(state, token, number != 0, may_continue) is not None:
                yield token
        if state.begun:
            return
        # Hypotheses after each prefix of the last classes.
        path, before = [state.hypotheses], b""
        for classes, tokens in whole:
            shared = 0
            while shared < min(len(classes), len(before), len(path) - 1) and classes[shared] == before[shared]:
                shared += 1
            del path[shared + 1 :]
            before = classes
            for place in range(shared, len(classes)):
                is_first = place == 0
                after = self._step(path[-1], is_first and number != 0, may_continue or not is_first, classes[place])
                path.append(after)
                if not after:
                    break
            if path[-1]:
                yield from tokens


def _character(data: bytes) -> str | None:
    """Return the character that bytes spell; None if they spell none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None


def _may_begin(data: bytes) -> bool:
    """Return whether bytes are the proper beginning of a character."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start == 0 and error.end == len(data) and error.reason == "unexpected end of data"
    return False
