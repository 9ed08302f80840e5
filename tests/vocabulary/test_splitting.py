"""Cutting a text without its tokenizer."""

import gc
import weakref
from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from guided.vocabulary.splitting import fewest_tokens, ids_by_bytes
from guided.vocabulary.vocabulary import Vocabulary


def all_cuts(data: bytes) -> list[list[bytes]]:
    """Every way to cut a text into nonempty pieces."""
    cuts = []
    for flags in product([False, True], repeat=max(len(data) - 1, 0)):
        places = [0, *(place for place, flag in enumerate(flags, 1) if flag), len(data)]
        cuts.append([data[begin:end] for begin, end in pairwise(places)])
    return cuts


@given(st.lists(st.text("ab", max_size=3).map(str.encode), max_size=6), st.text("ab", min_size=1, max_size=7))
def test_the_cut_has_the_fewest_tokens(tokens: list[bytes], text: str) -> None:
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    data = text.encode()
    spelled = set(tokens) - {b""}
    lengths = [len(cut) for cut in all_cuts(data) if set(cut) <= spelled]
    found = fewest_tokens(vocabulary, data)
    if not lengths:
        assert found is None
        return
    assert found is not None
    assert vocabulary.decode(found) == data
    assert len(found) == min(lengths)


def test_the_longest_token_comes_first() -> None:
    vocabulary = Vocabulary([b"a", b"aa", b"aab", b"b", None], eos=[4])
    assert fewest_tokens(vocabulary, b"aaa") == [1, 0]
    assert fewest_tokens(vocabulary, b"aaab") == [0, 2]


def test_the_empty_text_has_no_tokens() -> None:
    assert fewest_tokens(Vocabulary([b"a", None], eos=[1]), b"") == []


def test_of_equal_tokens_the_lowest_id() -> None:
    assert ids_by_bytes(Vocabulary([b"b", b"a", b"a", None], eos=[3])) == ({b"a": 1, b"b": 0}, [1])


def test_what_splitting_keeps_is_freed_with_the_vocabulary() -> None:
    vocabulary = Vocabulary([b"a", b"freed", None], eos=[2])
    assert fewest_tokens(vocabulary, b"freed") == [1]
    known = weakref.ref(vocabulary)
    gc.disable()
    try:
        del vocabulary
        assert known() is None
    finally:
        gc.enable()
