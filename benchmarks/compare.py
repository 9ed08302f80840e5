"""Masks of an engine against guided's, at every step of the same texts: differences are counted, never hidden.

Three kinds of difference are told apart. Where an engine allows one token, of those that guided allows, at a place where
the next bytes are forced, it has chosen the canonical cut (*canonical*): a design, not an error. A token that it allows and
guided does not is *extra*; a token the other way round is *missing*. EOS is compared as "may the text end here", since not
every engine takes more than one. A text that an engine does not let through is *refused* at that step, and its walk ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.engines import Compiled, Matcher
from guided.arrays import mask_words
from guided.engine.index import Index
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Agreement", "agreement", "along", "count_bits", "eos_words"]

Words = npt.NDArray[np.int32]


@dataclass(slots=True)
class Agreement:
    """Steps of texts by how an engine's masks compare with guided's; ``equal + canonical + different == steps``.

    Attributes
    ----------
    steps, equal, canonical, different : int
        Places compared; places by outcome.
    missing, extra : int
        Tokens over all places that are not canonical.
    eos : int
        Places where the two do not agree that the text may end.
    refused : int
        Texts that the engine does not let through.
    allowed : int
        Tokens that the engine allows over all places, EOS not counted.
    example : str
        The first difference, in words.
    """

    steps: int = 0
    equal: int = 0
    canonical: int = 0
    different: int = 0
    missing: int = 0
    extra: int = 0
    eos: int = 0
    refused: int = 0
    allowed: int = 0
    example: str = ""


def count_bits(words: Words) -> int:
    """Number of tokens in a mask."""
    # Why not np.bitwise_count: numpy has it since 2.0.
    return int(np.unpackbits(np.ascontiguousarray(words).view(np.uint8)).sum())


def eos_words(vocabulary: Vocabulary) -> Words:
    """The mask of the tokens that end a text."""
    words = np.zeros(mask_words(vocabulary.size), np.uint32)
    for token in vocabulary.eos:
        words[token >> 5] |= np.uint32(1 << (token & 31))
    return words.view(np.int32)


def along(matcher: Matcher, tokens: Sequence[int], size: int) -> Iterator[Words]:
    """The masks of all places of a text over ``size`` logits; ends early where a token of it is not allowed."""
    for token in [*tokens, None]:
        matcher.mask()
        words = matcher.words().copy()
        if used := size & 31:
            words[-1] &= np.int32((1 << used) - 1)
        yield words
        if token is None or not words[token >> 5] >> (token & 31) & 1:
            return
        matcher.advance(token)


def agreement(index: Index, compiled: Compiled, texts: Sequence[Sequence[int]]) -> Agreement:
    """Compare a compiled pattern with guided's index of it along texts given as tokens."""
    found, eos = Agreement(), eos_words(index.vocabulary)
    for tokens in texts:
        guide, place = index.guide(), 0
        for place, words in enumerate(along(compiled.start(), tokens, index.vocabulary.size)):
            _compare(found, guide.mask(), words, eos, bool(guide.forced()), index.vocabulary, guide.state)
            if place < len(tokens) and guide.mask()[tokens[place] >> 5] >> (tokens[place] & 31) & 1:
                guide.advance(tokens[place])
        found.refused += place < len(tokens)
    return found


def _compare(
    found: Agreement, ours: Words, theirs: Words, eos: Words, forced: bool, vocabulary: Vocabulary, state: int
) -> None:
    found.steps += 1
    may_end = bool((ours & eos).any()), bool((theirs & eos).any())
    ours, theirs = ours & ~eos, theirs & ~eos
    count = count_bits(theirs)
    found.allowed += count
    missing, extra = ours & ~theirs, theirs & ~ours
    if may_end[0] == may_end[1] and not missing.any() and not extra.any():
        found.equal += 1
    elif forced and count == 1 and not extra.any() and may_end[0] == may_end[1]:
        found.canonical += 1
    else:
        found.different += 1
        found.missing += count_bits(missing)
        found.extra += count_bits(extra)
        found.eos += may_end[0] != may_end[1]
        if not found.example:
            found.example = f"state {state}: missing {_some(missing, vocabulary)}, extra {_some(extra, vocabulary)}"
            found.example += f", may end {may_end[1]} for {may_end[0]}" if may_end[0] != may_end[1] else ""


def _some(words: Words, vocabulary: Vocabulary) -> str:
    tokens = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    shown = ", ".join(f"{token} {vocabulary[token]!r:.40}" for token in tokens[:2].tolist())
    return f"{len(tokens):,}" + (f" ({shown}{', ...' if len(tokens) > 2 else ''})" if shown else "")
