"""The grammars against independent parsers: on samples, on samples with one character changed, on random sentences."""

import json
import os
import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guided.resources import grammar_names
from tests.grammars.loading import accepts, parser_of, reductions
from tests.grammars.oracles import EXACT, HAS_BASH, HAS_SQLITE, SOUND
from tests.grammars.samples import samples_of
from tests.grammars.sentences import sentences
from tests.profiles import examples

SEED = random.randrange(1 << 30) if "GUIDED_RANDOM" in os.environ else 0
PRESENT = {"command": HAS_BASH, "sql": HAS_SQLITE}
ORACLES = [
    pytest.param(name, marks=pytest.mark.skipif(not PRESENT.get(name, True), reason=f"nobody to ask about {name}"))
    for name in sorted(EXACT | SOUND)
]


def mutants(name: str, count: int) -> Iterator[str]:
    """Samples with one character deleted, doubled, replaced, inserted or swapped with the next."""
    samples = samples_of(name)
    texts = [text for text in samples.accepted + samples.rejected if 0 < len(text) < 300]
    alphabet = sorted(set("".join(texts)) - {"\0"})
    random_ = random.Random(f"{name} {SEED}")
    for _ in range(count):
        text = random_.choice(texts).replace("\0", "")
        place = random_.randrange(len(text) or 1)
        before, at, after = text[:place], text[place : place + 1], text[place + 1 :]
        other = random_.choice(alphabet)
        yield before + random_.choice(["", at + at, other, other + at, after[:1] + at]) + after


@pytest.mark.parametrize("name", ORACLES)
def test_the_oracle_agrees_on_samples(name: str) -> None:
    samples = samples_of(name)
    takes = (EXACT | SOUND)[name]
    assert [text for text in samples.accepted if not takes(text)] == []
    assert [text for text in samples.rejected if takes(text)] == []
    assert [text for text in samples.uncovered if not takes(text)] == []


@pytest.mark.parametrize("name", ORACLES)
def test_the_oracle_agrees_on_mutants(name: str) -> None:
    takes = (EXACT | SOUND)[name]
    for text in mutants(name, 150 if name == "command" else examples(500, by_default=250)):
        if name in EXACT:
            assert accepts(name, text) == takes(text), text
        else:
            assert not accepts(name, text) or takes(text), text


@pytest.mark.parametrize("name", grammar_names())
def test_random_sentences_are_texts_of_the_grammar(name: str) -> None:
    takes = (EXACT | SOUND).get(name) if PRESENT.get(name, True) else None
    for text in sentences(name, samples_of(name).accepted, 60, seed=SEED):
        assert accepts(name, text), text
        assert takes is None or takes(text), text


def test_random_sentences_use_nearly_every_rule() -> None:
    unused = set(parser_of("python3").rules)
    for text in sentences("python3", samples_of("python3").accepted, 250, length=50):
        unused -= reductions("python3", text).keys()
    assert len(unused) < len(parser_of("python3").rules) / 4


PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "\\u00",
    "a",
    "e",
    "E",
    "-",
    "+",
    ".",
    "0",
    "1",
    " ",
    "\n",
    "\x00",
    "true",
    "null",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=8))
@example("-")
def test_json_equals_the_texts_that_pythons_parser_accepts(text: str) -> None:
    assert accepts("json", text) == EXACT["json"](text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_json_accepts_every_value(value: object, ascii_only: bool, indent: int | None) -> None:
    assert accepts("json", json.dumps(value, ensure_ascii=ascii_only, indent=indent))
