"""`Regex`: what its options mean, and what they change."""

import pickle
import re
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.calls.schema import type_of_annotation
from guided.engine.specs import Regex
from guided.errors import PatternError
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples
from tests.strategies import regexes

VOCABULARY = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])
TEXTS = [
    "", "a", "K", "\u212a", "k", "1", "\u0661", "\u0967", "\u00e9", "_", " ", "\u00a0", "\u2003",
    "\x1c", "s", "\u017f", "a\u00e9", "\u00e9a", "12", "1\u0661",
]  # fmt: skip
PATTERNS = [
    r"\d+", r"\w+", r"\s", r"\D", r"\W", r"\S", "(?i)k", "(?i)s", r".?\b.?", r".?\B.?", r"[\d\s]", r"[^\w]", r"(?a:\d)", r"(?u:\d)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_ascii_reads_a_pattern_as_re_ascii_does(pattern: str, ascii_only: bool) -> None:
    index = guided.compile(Regex(pattern, ascii=ascii_only), VOCABULARY)
    theirs = re.compile(pattern, re.ASCII if ascii_only else 0)
    assert [text for text in TEXTS if index.accepts(text.encode())] == [
        text for text in TEXTS if theirs.fullmatch(text)
    ]


@settings(max_examples=examples(60), deadline=None)
@given(regexes("kK1é_ "), st.lists(st.text("kKſ1١é_ \u00a0", max_size=3), min_size=20, max_size=20))
def test_specs_have_the_language_of_re_under_their_flags(spec: Regex, texts: list[str]) -> None:
    automaton = spec.lower(Limits())
    theirs = re.compile(spec.pattern, re.ASCII if spec.ascii else 0)
    differ = [text for text in texts if automaton.accepts(text.encode()) != bool(theirs.fullmatch(text))]
    assert differ == []


def test_ascii_is_in_the_fingerprint_and_the_repr() -> None:
    plain, only = Regex(r"\d"), Regex(r"\d", ascii=True)
    assert plain.fingerprint != only.fingerprint
    assert plain != only
    assert "ascii=True" in repr(only)
    assert pickle.loads(pickle.dumps(only)) == only


def test_ascii_refuses_the_texts_that_re_ascii_refuses() -> None:
    with pytest.raises(PatternError, match="incompatible"):
        Regex("(?u)a", ascii=True).lower(Limits())
    with pytest.raises(TypeError, match="bool"):
        Regex("a", ascii="yes")  # type: ignore[arg-type]


def test_ascii_holds_for_arguments_of_tools() -> None:
    scanner = type_of_annotation(Annotated[str, Regex(r"\d", ascii=True)], "").scanner()
    assert scanner.accepts(b'"1"')
    assert not scanner.accepts('"\u0661"'.encode())
