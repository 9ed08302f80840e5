"""Special tokens that stand for a text: what changes in a vocabulary, and what does not."""

from guided.vocabulary.vocabulary import Vocabulary, with_markers

VOCABULARY = Vocabulary(
    [b"a", b"<", None, None], eos=[3], size=8, special={"<call>": 2, "<end>": 3, "<far>": 6, "<user>": 7}
)


def test_markers_that_are_special_tokens_spell_their_names() -> None:
    found = with_markers(VOCABULARY, ["<call>", "", "<none>"])
    assert found.tokens == (b"a", b"<", b"<call>", None)
    assert found.special == {"<end>": 3, "<far>": 6, "<user>": 7}
    assert (found.size, found.eos) == (8, (3,))
    assert VOCABULARY[2] is None


def test_a_marker_may_lie_beyond_the_tokens() -> None:
    found = with_markers(VOCABULARY, ["<far>"])
    assert found.tokens == (b"a", b"<", None, None, None, None, b"<far>")
    assert with_markers(VOCABULARY, ["<call>", "<far>"]).special == {"<end>": 3, "<user>": 7}


def test_the_end_of_sequence_never_spells_anything() -> None:
    assert with_markers(VOCABULARY, ["<end>"]) is VOCABULARY


def test_without_markers_the_vocabulary_is_the_same() -> None:
    assert with_markers(VOCABULARY, []) is VOCABULARY
    assert with_markers(VOCABULARY, ["=", "<T>"]) is VOCABULARY


def test_a_token_of_two_names_spells_the_first_marker() -> None:
    vocabulary = Vocabulary([b"a", None], eos=[2], size=3, special={"<call>": 1, "<tool>": 1})
    assert with_markers(vocabulary, ["<call>", "<tool>"]).tokens[1] == b"<call>"
    assert with_markers(vocabulary, ["<tool>"]).tokens[1] == b"<tool>"
    assert with_markers(vocabulary, ["<tool>"]).special == {}
