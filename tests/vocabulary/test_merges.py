"""Merges: against an encoder that merges pairs one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.errors import VocabularyError
from guided.vocabulary.merges import Merges, splits_of_ranks
from guided.vocabulary.segmentation import Encoding
from guided.vocabulary.vocabulary import Vocabulary
from tests.oracles import slow_bpe
from tests.profiles import examples

LETTERS = [b"a", b"b", b"c"]
CHOICES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def trained(choices: list[tuple[int, int]], n_letters: int) -> tuple[list[bytes], list[tuple[int, int, int]]]:
    """Tokens and merges as training makes them; a token may have several merges."""
    tokens, merges = LETTERS[:n_letters], []
    for left, right in choices:
        left, right = left % len(tokens), right % len(tokens)
        if any(merge[:2] == (left, right) for merge in merges):
            continue
        data = tokens[left] + tokens[right]
        if data not in tokens:
            tokens.append(data)
        merges.append((left, right, tokens.index(data)))
    return tokens, merges


def compiled(tokens: list[bytes], merges: list[tuple[int, int, int]], ranks: list[int] | None = None) -> Merges:
    left, right, merged = np.array(merges, np.int64).reshape(-1, 3).T
    return Merges(tokens, left, right, merged, ranks or list(range(len(merges))))


@given(CHOICES, st.integers(1, 3), st.lists(st.integers(0, 20), max_size=6), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(300))
def test_pairs_decide_whether_tokens_are_an_encoding(
    choices: list[tuple[int, int]], n_letters: int, places: list[int], random: object
) -> None:
    tokens, merges = trained(choices, n_letters)
    try:
        made = compiled(tokens, merges)
    except VocabularyError:
        # A second merge of a token may give it a higher rank than merges that it is a part of.
        assert len({merge[2] for merge in merges}) < len(merges)
        assume(False)
    vocabulary = Vocabulary(tokens, encoding=Encoding(merges))
    for token, data in enumerate(tokens):
        assert made.is_reachable[token] == (slow_bpe(vocabulary, data) == [token])
    for token in np.flatnonzero(made.is_reachable).tolist():
        expected = [slow_bpe(vocabulary, tokens[token] + data) == [token, other] for other, data in enumerate(tokens)]
        assert made.follows(token).tolist() == expected
    sequence = [place % len(tokens) for place in places]
    is_local = all(made.is_reachable[sequence]) and all(
        made.follows(before)[after] for before, after in pairwise(sequence)
    )
    assert is_local == (slow_bpe(vocabulary, b"".join(tokens[token] for token in sequence)) == sequence)


@given(CHOICES, st.integers(1, 3))
@settings(deadline=None, max_examples=examples(100))
def test_ranks_merge_every_pair_that_spells_a_token(choices: list[tuple[int, int]], n_letters: int) -> None:
    tokens = list(dict.fromkeys(trained(choices, n_letters)[0]))
    left, right, merged, rank = splits_of_ranks(tokens)
    assert {(tokens[a] + tokens[b]) for a, b in zip(left, right, strict=True)} == {
        data for data in tokens if len(data) > 1
    }
    assert rank == merged
    order = sorted(range(len(merged)), key=lambda place: (rank[place], place))
    vocabulary = Vocabulary(tokens, encoding=Encoding([(left[i], right[i], merged[i]) for i in order]))
    made = Merges(tokens, left, right, merged, rank, words_first=True)
    if all(made.is_reachable):
        for token, data in enumerate(tokens):
            assert slow_bpe(vocabulary, data) == [token]


def test_merges_with_falling_ranks_are_refused() -> None:
    tokens = [b"a", b"b", b"c", b"ab", b"abc"]
    merges = [(3, 2, 4), (0, 1, 3)]
    with pytest.raises(VocabularyError, match="lower rank than the merges of its parts"):
        compiled(tokens, merges)
    # Tokenizers that look up whole words do without them.
    left, right, merged = np.array(merges).T
    made = Merges(tokens, left, right, merged, [0, 1], words_first=True)
    assert made.is_reachable.tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("merges", "error"),
    [
        ([(0, 1, 2)], "is not both"),
        ([(0, 9, 2)], "the ids are 0 to"),
        ([(0, 0, 2), (0, 0, 2)], "two merges"),
    ],
)
def test_damaged_merges_are_refused(merges: list[tuple[int, int, int]], error: str) -> None:
    with pytest.raises(VocabularyError, match=error):
        compiled([b"a", b"b", b"aa"], merges)


def test_nothing_follows_an_unreachable_token() -> None:
    made = compiled([b"a", b"b", b"ab"], [])
    assert made.is_reachable.tolist() == [True, True, False]
    assert not made.follows(2).any()
    assert made.follows(0).tolist() == [True, True, False]
