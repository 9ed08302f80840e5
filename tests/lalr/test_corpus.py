"""Texts that people wrote: their tokens are allowed however they are cut, they may end where Lark says, and what Lark refuses is refused.

By default a sample of Python's standard library, SQL statements, and some JSON documents; ``GUIDED_EXHAUSTIVE=1`` takes everything, and
says how much that was.
"""

import os
import random
from collections import Counter
from functools import cache

import lark
import pytest

import guided
from benchmarks.vocabularies import Cutter
from guided.engine.index import Index
from guided.index.pushdown import PushdownIndex
from tests.automata.enumerated import EXHAUSTIVE
from tests.grammars.loading import parser_of
from tests.lalr.corpus import json_documents, modules, mutants, random_cut, source_of, sql_statements
from tests.lalr.test_prefix import parsed
from tests.real_vocabularies import real_vocabulary

pytestmark = [pytest.mark.slow, pytest.mark.network]

# States of an index before another one takes its place.
MOST_STATES = 200_000
# Masks are looked at at each token of the usual cut of short texts, and at one of so many else.
LONG, SPARSE = 6_000, 20


class Check:
    """One grammar over a real vocabulary, beside Lark."""

    def __init__(self, name: str, parser: lark.Lark, vocabulary: str, seed: int) -> None:
        self.spec, self.parser, self.words = guided.Grammar(name), parser, real_vocabulary(vocabulary)
        self.cut = Cutter(self.words)
        self.choice = random.Random(None if "GUIDED_RANDOM" in os.environ else seed)
        self.counts: Counter[str] = Counter()
        self._index: Index | None = None

    def tables(self) -> PushdownIndex:
        """An index that is not too large yet."""
        if self._index is None or self._index.tables.last > MOST_STATES:
            self._index = guided.compile(self.spec, self.words)
        assert isinstance(self._index.tables, PushdownIndex)
        return self._index.tables

    def text(self, text: str, n_mutants: int, where: object = "") -> None:
        """A text and its mutants."""
        data, tables = text.encode(), self.tables()
        end, n_read = tables.trace(0, data)
        accepted = parsed(self.parser, text)
        self.counts["texts" if accepted else "refused texts"] += 1
        assert (n_read == len(data) and tables.is_accepting(end)) == accepted, where
        if accepted:
            self.counts["bytes"] += len(data)
            self.tokens(tables, self.cut(data), SPARSE if len(data) > LONG else 1, end, where)
            self.tokens(tables, random_cut(data, self.cut.ids, 12, self.choice), 7 * SPARSE, end, where)
        self.mutants(tables, text, n_mutants, where)

    def tokens(self, tables: PushdownIndex, tokens: list[int], sparse: int, end: int, where: object) -> None:
        """All tokens lead on, masks say so, and at the end EOS is allowed."""
        state, offset = 0, self.choice.randrange(sparse)
        for place, token in enumerate(tokens):
            if place % sparse == offset:
                assert tables.mask(state)[token >> 5] >> (token & 31) & 1, (where, place)
                self.counts["masks"] += 1
            state = tables.next(state, token)
            assert state >= 0, (where, place)
        assert state == end, where
        assert set(self.words.eos) <= set(tables.allowed(state).tolist()), where
        self.counts["tokens"] += len(tokens)

    def mutants(self, tables: PushdownIndex, text: str, count: int, where: object) -> None:
        """A text that differs in one character, and one that ends too early, are what Lark says they are."""
        data, state, reached = text.encode(), 0, 0
        for place, mutant in mutants(text, count, self.choice):
            state, n_read = tables.trace(state, data[reached:place])
            if n_read < place - reached:
                break
            reached = place
            rest = mutant.encode()[place:]
            end, n_read = tables.trace(state, rest)
            accepted = parsed(self.parser, mutant)
            assert (n_read == len(rest) and tables.is_accepting(end)) == accepted, (where, place)
            self.counts["mutants taken" if accepted else "mutants refused"] += 1
            assert tables.is_accepting(state) == parsed(self.parser, data[:place].decode()), (where, place)
            self.counts["beginnings"] += 1


@cache
def python_parser() -> lark.Lark:
    return lark.Lark.open_from_package(
        "lark", "python.lark", ["grammars"], parser="lalr", start="file_input", postlex=lark.indenter.PythonIndenter()
    )


def report(check: Check) -> None:
    if EXHAUSTIVE:
        print(", ".join(f"{count:,} {name}" for name, count in sorted(check.counts.items())))


N_PARTS = 20 if EXHAUSTIVE else 1


@pytest.mark.parametrize("part", range(N_PARTS))
def test_the_standard_library(part: int) -> None:
    check = Check("python", python_parser(), "gpt2", part)
    paths = modules()
    chosen = paths[part::N_PARTS] if EXHAUSTIVE else random.Random(11).sample(paths, 12)
    for path in chosen:
        text = source_of(path)
        if text is not None and (EXHAUSTIVE or len(text) < 30_000):
            check.text(text, 3 if EXHAUSTIVE else 5, path)
    report(check)
    assert check.counts["texts"] > 5
    assert check.counts["mutants refused"] > 5


@pytest.mark.parametrize("vocabulary", ["gpt2", "llama3-128k"] if EXHAUSTIVE else ["gpt2"])
def test_sql_statements(vocabulary: str) -> None:
    check = Check("sql", parser_of("sql"), vocabulary, 3)
    statements = sql_statements()
    for text in (*statements, "\n;\n".join(statements[:-1])):
        check.text(text, 200 if EXHAUSTIVE else 10, text)
    report(check)
    assert not check.counts["refused texts"]
    assert check.counts["mutants taken"] > 50 < check.counts["mutants refused"]


@pytest.mark.parametrize("vocabulary", ["gpt2", "llama3-128k"] if EXHAUSTIVE else ["gpt2"])
def test_json_documents(vocabulary: str) -> None:
    check = Check("json", parser_of("json"), vocabulary, 4)
    documents = json_documents()
    short = [text for text in documents if len(text) < 8_000]
    for text in documents if EXHAUSTIVE else random.Random(5).sample(short, min(len(short), 30)):
        check.text(text, 10, text[:100])
    report(check)
    assert check.counts["texts"] > 5
    assert check.counts["mutants taken"] > 20 < check.counts["mutants refused"]
