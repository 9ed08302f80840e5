"""The grammars that come with the package: texts that are nearly theirs, as Lark reads them (the samples are read in tests/grammars)."""

import os
import random

import pytest

from guided.lalr.loading import tables_of_object
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from guided.resources import grammar_names
from tests.grammars.loading import accepts, parser_of
from tests.grammars.samples import samples_of
from tests.lalr.prefixes import Prefixes


def mutants(text: str, letters: str, choice: random.Random) -> list[str]:
    """The text with a piece cut out, a letter put in, or a piece put in twice."""
    i, j = sorted(choice.choices(range(len(text) + 1), k=2))
    return [text[:i] + text[j:], text[:i] + choice.choice(letters) + text[i:], text[:j] + text[i:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", grammar_names())
def test_texts_are_larks(name: str) -> None:
    parser = parser_of(name)
    tables = tables_of_object(parser, Limits())
    prefixes = Prefixes(tables, scanner_of(tables.lexer, Limits()), "start", Limits())
    choice = random.Random(None if "GUIDED_RANDOM" in os.environ else name)
    short = [text for text in samples_of(name).accepted if len(text) < 120]
    letters = "".join(short) or " "
    texts = [mutant for text in choice.choices(short, k=15) for mutant in mutants(text, letters, choice)]
    for text in texts:
        found = prefixes.is_accepting(prefixes.read(prefixes.initial, text.encode()))
        assert found == accepts(parser, text), text
