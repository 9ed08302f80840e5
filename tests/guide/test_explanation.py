"""What `explain` and refusals say."""

import pytest

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.engine.compile import compile as compile_index
from guided.engine.specs import Choice, Regex
from guided.errors import TokenRejected
from guided.guide.explanation import Explanation, describe_bytes
from guided.guide.guide import Guide
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.vocabulary.vocabulary import Vocabulary

DEAD_END = "its bytes fit, but no sequence of tokens completes the text after it; expected 'x'"
WORDS = Vocabulary(
    [b"a", b"b", b"ab", b"abx", b"1", b"12a", b"\xc3\xa9", None], eos=[8], size=20, special={"<tool>": 9}
)


def at(pattern: str, *tokens: int) -> Guide:
    guide = compile_index(Regex(pattern), WORDS).guide()
    assert guide.advance_many(tokens) == len(tokens)
    return guide


@pytest.mark.parametrize(
    ("guide", "token", "sentence"),
    [
        (at("ab?"), 0, "token 0 (b'a') is allowed: all its bytes fit; expected 'b'"),
        (at("ab?"), 1, "token 1 (b'b') is not allowed: its byte 0 (b'b') is not allowed there; expected 'a'"),
        (at("abc?"), 3, "token 3 (b'abx') is not allowed: its byte 2 (b'x') is not allowed there; expected 'c'"),
        (at("[0-9]{2}"), 5, "token 5 (b'12a') is not allowed: its byte 2 (b'a') is not allowed there; expected nothing"),
        (at("ax|b"), 0, "token 0 (b'a') is not allowed: " + DEAD_END),
        (at("ab?"), 8, "token 8 (no bytes) is not allowed: it ends the text, which is not complete; expected 'a'"),
        (at("ab?", 0), 8, "token 8 (no bytes) is allowed: the text may end here; expected 'b' or the end of the text"),
        (at("ab?", 0), 0, "token 0 (b'a') is not allowed: its byte 0 (b'a') is not allowed there; expected 'b' or the end of the text"),
        (at("ab?", 0, 8), 0, "token 0 (b'a') is not allowed: the text has ended; expected nothing"),
        (at("ab?", 0, 8), 8, "token 8 (no bytes) is not allowed: the text has ended; expected nothing"),
        (at("a"), 7, "token 7 (no bytes) is not allowed: it is a special or padding token without bytes; expected 'a'"),
        (at("a"), 9, "token 9 (no bytes) is not allowed: it is a special or padding token without bytes; expected 'a'"),
        (at("a"), 20, "token 20 (no bytes) is not allowed: unknown token: ids run from 0 to 19; expected 'a'"),
        (at("a"), -1, "token -1 (no bytes) is not allowed: unknown token: ids run from 0 to 19; expected 'a'"),
        (at("[a-c]|é"), 4, "token 4 (b'1') is not allowed: its byte 0 (b'1') is not allowed there; expected 'a' to 'c' or the byte 0xc3"),
    ],
)  # fmt: skip
def test_explanations(guide: Guide, token: int, sentence: str) -> None:
    explanation = guide.explain(token)
    assert str(explanation) == sentence
    assert explanation.token == token
    assert explanation.allowed == (guide.validate([token]) == 1)
    before = guide.state
    if not explanation.allowed:
        with pytest.raises(TokenRejected) as error:
            guide.advance(token)
        assert error.value.expected == explanation.expected
        assert str(error.value) == f"at position {len(guide)}, {sentence}"
    assert guide.state == before


def test_a_token_that_is_no_number() -> None:
    with pytest.raises(TypeError, match="a token must be an int, not str 'x'"):
        at("a").explain("x")  # type: ignore[arg-type]


def test_accepted_bytes() -> None:
    explanation = at("abc?").explain(3)
    assert explanation == Explanation(3, b"abx", False, 2, "'c'", "its byte 2 (b'x') is not allowed there")


@pytest.mark.parametrize(
    ("values", "may_end", "expected"),
    [
        ([], False, "nothing"),
        ([], True, "the end of the text"),
        (b"a", False, "'a'"),
        (b"a", True, "'a' or the end of the text"),
        (b"ab", False, "'a' and 'b'"),
        (b"abc", False, "'a' to 'c'"),
        (b"-0123456789", True, "'-', '0' to '9' or the end of the text"),
        (b"\x00\n\"'\\", False, "'\\x00', '\\n', '\"', \"'\" or '\\\\'"),
        (b"\x7f\x80", False, "'\\x7f' or the byte 0x80"),
        (range(256), False, "'\\x00' to '\\x7f' or a character beyond ASCII (bytes 0x80 to 0xff)"),
        (range(0xC2, 0xF5), False, "a character beyond ASCII (bytes 0xc2 to 0xf4)"),
        ([0, 1, 255], False, "'\\x00' and '\\x01' or the byte 0xff"),
    ],
)  # fmt: skip
def test_descriptions_of_bytes(values: bytes, may_end: bool, expected: str) -> None:
    assert describe_bytes(list(values), may_end=may_end) == expected


def test_tokens_are_integers() -> None:
    with pytest.raises(TypeError):
        at("a").explain("a")  # type: ignore[arg-type]


def test_every_verdict_is_the_guides() -> None:
    """For every token at every place of a few languages, `explain` and `advance` agree."""
    for spec in (Choice(["ab", "abx", "12a", "é"]), Regex("(ab|1)*[^b]?"), Regex("a?b?x?é?")):
        index = compile_index(spec, WORDS)
        for state in range(index.n_states + 1):
            for token in range(-1, 21):
                explanation = index.explain(state, token)
                assert explanation.allowed == (index.next(state, token) >= 0)
                if explanation.allowed and explanation.data is not None:
                    assert explanation.accepted_bytes == len(explanation.data)


class Marked:
    """A spec that writes a special token as text."""

    fingerprint = "marked"
    markers = ("<tool>",)

    def lower(self, limits: Limits) -> Automaton:
        return from_tree(parse("a<tool>b"), limits)


def test_special_tokens_that_spell_their_names() -> None:
    guide = compile_index(Marked(), WORDS).guide()
    assert guide.explain(9).reason == "it is a special token whose name is not allowed here"
    guide.advance(0)
    explanation = guide.explain(9)
    assert explanation.allowed
    assert explanation.reason == "it is a special token, allowed by its name"
    guide.advance_many([9, 1, 8])
    assert guide.is_finished
