"""Special tokens that a spec writes as text."""

import pytest

from guided.vocabulary.markers import with_markers
from guided.vocabulary.vocabulary import Vocabulary

VOCABULARY = Vocabulary([b"a", b"b", None, None], eos=[3], size=8, special={"<call>": 2, "<end>": 3, "<pad>": 6})


def test_a_marker_spells_its_name() -> None:
    marked = with_markers(VOCABULARY, ["<call>"])
    assert marked.tokens == (b"a", b"b", b"<call>", None)
    assert (marked.eos, marked.size, dict(marked.special)) == ((3,), 8, {"<end>": 3, "<pad>": 6})


def test_a_marker_beyond_the_tokens_spells_its_name() -> None:
    marked = with_markers(VOCABULARY, ["<pad>"])
    assert marked.tokens == (b"a", b"b", None, None, None, None, b"<pad>")
    assert marked.size == 8


@pytest.mark.parametrize("markers", [[], [""], ["a"], ["<unknown>"], ["<end>"]], ids=repr)
def test_other_texts_leave_the_vocabulary_itself(markers: list[str]) -> None:
    assert with_markers(VOCABULARY, markers) is VOCABULARY


def test_the_first_of_two_names_of_one_token_is_spelled() -> None:
    vocabulary = Vocabulary([b"a", None, None], eos=[2], special={"<one>": 1, "<two>": 1})
    assert with_markers(vocabulary, ["<two>", "<one>"]).tokens == (b"a", b"<two>", None)
