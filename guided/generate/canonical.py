"""`Canonical`: a guide restricted to the tokenizer's own encodings of its texts.

Of all token sequences that spell a text, the tokenizer gives one, and a model has hardly seen the others. A `Canonical` guide allows only
this one: the sequence of all tokens of a text is the encoding of that text by itself (`guided.vocabulary.segmentation`), whatever stands
before it in the prompt. Any guide can be restricted: of regular languages, schemas, grammars, compositions, or free text.

Dead ends. A token that both the guide and the segmentation allow may be a dead end: if ``hello`` is one token and must follow, ``hel`` is
not part of any encoding. Whether a token can be completed is decided by a search for a completion, shortest first as the guide counts
tokens. It is exact where it ends by itself: where texts are forced, the tokens that can follow are few. A search reads at most
`Limits.encoding_steps` tokens; a token without a completion by then counts as a dead end, so nothing that is allowed is one. A completion
is kept and followed until another token is chosen, so there always is a token to choose.

Masks with few tokens (`_FEW`) contain only tokens that can be completed. Larger masks are not searched token by token, since nearly all of
their tokens can be completed. So a token must be checked by `fits` before it is taken, and another one chosen if it does not fit; the
probabilities are then those renormalized over the tokens that can be completed.

Complexity: per step three passes over the mask's words, and one search for each token of a small mask, for the token chosen, and for the
start; what a search has found is kept for the text and its forks.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from guided.arrays import Int32Array
from guided.errors import GuidedError, LimitError, VocabularyError
from guided.generate.steering import ENDLESS, FreeGuide
from guided.guide.end_tokens import token_mask
from guided.guide.guide import Guide
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Canonical", "Steering"]

# Masks with up to this many tokens are searched token by token.
_FEW = 32
# Searches whose outcome is kept, about 200 bytes each.
_KEPT = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class _Completion:
    """A token and the completion after it, which other completions share; ``_END`` is the empty one."""

    token: int
    rest: "_Completion | None"
    n_tokens: int


_END = _Completion(-1, None, 0)

# A node of the search: a guide, the state of the segmentation, the last token, a budget in tokens.
_Request: TypeAlias = tuple[Guide | FreeGuide, int, int, int]
# A completion, if there is one; without one, whether there is none of any length.
_Answer: TypeAlias = tuple[_Completion | None, bool]


@dataclass(slots=True)
class _Found:
    """What searches have found, by state of the guide, state of the segmentation and last token."""

    # A completion.
    completions: dict[tuple[int, int, int], _Completion] = field(default_factory=dict)
    # The largest budget for which there is none; `ENDLESS` if there is none of any length.
    failed: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def make_room(self) -> None:
        if len(self.completions) + len(self.failed) > _KEPT:
            self.completions.clear()
            self.failed.clear()


class _OutOfSteps(Exception):
    """A search has read as many tokens as it may."""


class Canonical:
    """Restricts a guide to the tokenizer's own encodings.

    The guide is at the beginning of a text, and advanced together with this one. ``encoding_steps`` of the limits bounds each search.

    Raises
    ------
    VocabularyError
        The encoding of the vocabulary is unknown or not supported.
    """

    def __init__(self, guide: Guide | FreeGuide, vocabulary: Vocabulary, limits: Limits) -> None:
        self._guide, self._segmentation = guide, vocabulary.segmentation
        self._text_words = ~token_mask(vocabulary.eos, vocabulary.size)
        self._at, self._last = self._segmentation.initial, -1
        self._found = _Found()
        # A completion from here, if one is known.
        self._completion: _Completion | None = None
        self._most_steps = limits.encoding_steps
        self._steps = 0

    @property
    def state(self) -> int:
        """State of the guide."""
        return self._guide.state

    @property
    def remaining(self) -> int:
        """Length in tokens of a short completion, usually the shortest; 0 exactly where the text may end.

        Raises
        ------
        VocabularyError
            No completion was found.
        """
        found = self._known(self._longest())
        if found is None:
            raise VocabularyError(
                "no text of the constraint was found that the tokenizer encodes to allowed tokens, by a search of "
                f"{self._most_steps:,} tokens (Limits.encoding_steps)"
            )
        return found.n_tokens

    def mask(self) -> Int32Array:
        """The tokens that may follow; with `fits`, those that can be completed."""
        return self._filtered(self._guide.mask(), None)

    def fits(self, token: int, budget: int) -> bool:
        """Return whether at most ``budget - 1`` more tokens complete the text after a token of the mask."""
        if not self._guide.fits(token, budget):
            return False
        if not self._text_words[token >> 5] >> (token & 31) & 1:
            return True
        after = self._segmentation.next(self._at, self._last, token)
        return after >= 0 and self._fits(token, after, budget)

    def mask_within(self, budget: int) -> Int32Array:
        """The tokens of the mask after which the guide's texts can be complete within the budget; with `fits`, also the encodings.

        Raises
        ------
        LimitError
            As in the guide.
        """
        return self._filtered(self._guide.mask_within(budget), budget)

    def advance(self, token: int) -> None:
        """Take a token of the guide; a new segmentation begins after one that no encoding contains, which only callers choose."""
        self._guide.advance(token)
        if self._completion is not None and self._completion.token == token:
            self._completion = self._completion.rest
        else:
            self._completion = None
        after = self._segmentation.next(self._at, self._last, token)
        if after > 0:
            self._at, self._last = after, token
        else:
            self._at, self._last = self._segmentation.initial, -1

    def fork(self) -> "Canonical":
        """Return an independent guide in the same state."""
        twin = Canonical.__new__(Canonical)
        for name in ("_segmentation", "_text_words", "_at", "_last", "_found", "_completion", "_most_steps", "_steps"):
            setattr(twin, name, getattr(self, name))
        twin._guide = self._guide.fork()
        return twin

    def _filtered(self, mask: Int32Array, budget: int | None) -> Int32Array:
        """Return the tokens of a mask that the segmentation allows, and if they are few, only those that can be completed."""
        words = mask & self._segmentation.mask(self._at, self._last)
        if int(np.unpackbits(words.view(np.uint8)).sum()) > _FEW:
            return words
        limit = self._longest() if budget is None else budget
        own = self._known(limit)
        for token in _tokens(words & self._text_words):
            after = self._segmentation.next(self._at, self._last, token)
            if not (own is not None and own.token == token) and not self._fits(token, after, limit):
                words[token >> 5] &= ~np.int32(np.uint32(1 << (token & 31)))
        return words

    def _longest(self) -> int:
        """Length of the longest completion that is searched for; one that is already known may be longer."""
        return self._guide.remaining + self._most_steps

    def _known(self, budget: int) -> _Completion | None:
        """Return a completion from here of at most ``budget`` tokens, if one is found."""
        if self._completion is None or self._completion.n_tokens > budget:
            self._completion = self._complete(self._guide, self._at, self._last, budget)
        return self._completion

    def _fits(self, token: int, after: int, budget: int) -> bool:
        guide = self._guide.fork()
        guide.advance(token)
        return self._complete(guide, after, token, budget - 1) is not None

    def _complete(self, guide: Guide | FreeGuide, at: int, last: int, budget: int) -> _Completion | None:
        """Return a completion of at most ``budget`` tokens: first of the guide's shortest length, then longer ones."""
        self._found.make_room()
        self._steps = self._most_steps
        try:
            longest = max(guide.remaining, 1)
            more = 1
            while True:
                found, is_all = self._search(guide, at, last, min(longest, budget))
                if found is not None or is_all or longest >= budget:
                    return found
                longest, more = longest + more, 2 * more
        except _OutOfSteps:
            return None

    def _search(self, guide: Guide | FreeGuide, at: int, last: int, budget: int) -> _Answer:
        """Search for a completion of at most ``budget`` tokens; without one, say whether there is none of any length."""
        # A stack of generators: recursion would be as deep as a completion is long.
        stack = [self._explore(guide, at, last, budget)]
        answer: _Answer | None = None
        while stack:
            try:
                request = stack[-1].send(answer)
            except StopIteration as done:
                answer = done.value
                stack.pop()
            else:
                stack.append(self._explore(*request))
                answer = None
        assert answer is not None
        return answer

    def _explore(
        self, guide: Guide | FreeGuide, at: int, last: int, budget: int
    ) -> Generator[_Request, _Answer | None, _Answer]:
        """Answer one request of `_search`; yield those after each token."""
        try:
            needed = guide.remaining
        except GuidedError:
            return None, False
        if not needed and self._segmentation.may_end(at):
            return _END, True
        key = guide.state, at, last
        known = self._found.completions.get(key)
        if known is not None and known.n_tokens <= budget:
            return known, True
        failed = self._found.failed.get(key, -1)
        if failed >= budget:
            return None, failed == ENDLESS
        if budget < max(needed, 1):
            return None, False
        allowed = self._segmentation.mask(at, last) & self._text_words
        try:
            within = guide.mask_within(budget) & allowed
        except LimitError:
            return None, False
        is_all = bool((within == (guide.mask() & allowed)).all())
        for token in _tokens(within):
            self._steps -= 1
            if self._steps < 0:
                raise _OutOfSteps
            after = guide.fork()
            after.advance(token)
            answer = yield after, self._segmentation.next(at, last, token), token, budget - 1
            assert answer is not None
            found, is_everything = answer
            if found is not None:
                self._found.completions[key] = _Completion(token, found, found.n_tokens + 1)
                return self._found.completions[key], True
            is_all &= is_everything
        self._found.failed[key] = ENDLESS if is_all else budget
        return None, is_all


# The guides of decoding.
Steering: TypeAlias = Guide | FreeGuide | Canonical


def _tokens(words: Int32Array) -> Iterator[int]:
    """Yield the tokens of a mask, ascending."""
    for word in np.flatnonzero(words).tolist():
        bits = int(words[word]) & 0xFFFFFFFF
        while bits:
            low = bits & -bits
            yield 32 * word + low.bit_length() - 1
            bits ^= low
