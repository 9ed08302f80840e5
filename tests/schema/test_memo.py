"""Tables of results that schemas share: bounded by the bytes that they hold, whatever schemas come."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided.schema
from guided.automata import nfa
from guided.errors import LimitError, SchemaError
from guided.export import lark, productions, spelling, strings
from guided.kernels import lexemes
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.formats import FORMATS
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.formula.memo import Memo, bytes_of
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.languages import known
from guided.vocabulary import trie
from tests.schema.engine import compiled

# Of one character each.
SMALL = {
    "_nearest",  # of words of at most 40 characters
    "_spell_character",
    "spellings_of",
    "spelling_of",  # of at most 512 lists of escapes
    "_usual",  # of the program's ways to read numbers
    "_letters",  # of the bytes of at most 16 vocabularies
    "_types_of",  # of at most 256 types of the program
    "_has_iterators",  # the same
    "unwritable",
    "plain_keywords",  # the same without three
    "known_keywords",  # of dialects: each has the keywords of its specification
}


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(guided.schema.__path__, "guided.schema."):
        yield importlib.import_module(found.name)


def memos() -> dict[str, Memo[Any]]:
    return {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, Memo)
    }


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3000)), max_size=60), st.integers(1, 8))
def test_held_entries_are_bounded(puts: list[tuple[int, int]], entries: int) -> None:
    """Against a plain list: the newest results, as many as there is room for."""
    most = 8000
    memo: Memo[str] = Memo(entries, most)
    kept: list[tuple[int, str]] = []
    for key, length in puts:
        value = "x" * length
        weight = bytes_of((key, value))
        assert memo.put(key, value) is value
        if weight > most // 4:
            continue
        while len(kept) >= entries or (kept and sum(map(bytes_of, kept)) + weight > most):
            del kept[0]
        kept = [*(each for each in kept if each[0] != key), (key, value)]
        assert memo.held == sum(map(bytes_of, kept)) <= most
        assert len(kept) <= entries
        for known_key in range(10):
            assert memo.get(known_key) == dict(kept).get(known_key)


def test_bytes_are_those_of_all_parts() -> None:
    assert bytes_of("x" * 1000) >= 1000
    assert bytes_of((("x" * 1000, 10**1000), frozenset({b"y" * 1000}))) >= 2400
    assert bytes_of({"a": ["x" * 1000]}) >= 1000
    assert bytes_of(np.zeros(1000)) >= 8000
    assert bytes_of(known(("pattern", "a" * 1000), Limits())) >= 10_000
    assert bytes_of(parse("(?:ab*)" * 1000)) >= 50_000
    twice = ("x" * 1000,)
    assert bytes_of((twice, twice)) < 1500
    holding: list[Any] = []
    holding.append(holding)
    assert bytes_of(holding) < 1000
    assert bytes_of(["x" * 1000] * 1000, enough=5000) < 10_000


def test_no_table_is_bounded_by_entries_alone() -> None:
    """Whatever else is remembered across schemas is remembered of fixed names, or of single characters."""
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, _lru_cache_wrapper) and value.__module__ == module.__name__ and name not in SMALL:
                parameters = value.__wrapped__.__code__
                assert value.cache_parameters()["maxsize"] is None, f"{module.__name__}.{name}: a Memo counts bytes"
                named = parameters.co_varnames[: parameters.co_argcount]
                assert set(named) <= {"depth", "file", "line"}, f"{module.__name__}.{name}: of what?"


@pytest.mark.slow
def test_hostile_schemas_leave_little_behind() -> None:
    before = {name: memo.held for name, memo in memos().items()}
    assert len(before) >= 8
    for number in range(12):
        for schema in (
            {"pattern": "^" + "(?:a)" * 10_000 + f"b{number}$"},
            {"pattern": "a" * 300_000 + f"{number}("},
            {"enum": [f"value {i} {number}" for i in range(2000)]},
        ):
            try:
                compiled(schema).guide().mask()
            except (SchemaError, LimitError):
                continue
    for name, memo in memos().items():
        assert memo.held <= memo._weight, name
        assert memo.held == sum(weight for _, weight in memo._found.values())
    assert sum(memo._weight for memo in memos().values()) <= 1 << 29
    grown = sum(memo.held for memo in memos().values()) - sum(before.values())
    assert grown < 1 << 26


def test_whitespace_has_few_states() -> None:
    assert compiled([] == [], whitespace="[ ]{0,400}").accepts(b"true")
    for pattern in (" {0,100000}", "(?: {0,30}\n){0,30}"):
        with pytest.raises(LimitError, match=r"^(whitespace_states|steps): "):
            compiled(True, whitespace=pattern)


def test_limits_that_are_not_fields_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    limits = {
        ("rules", lark.DEFAULT_RULES),
        ("expression", strings.EXPRESSION_PARTS),
        ("character_sets", spelling.CHARACTER_SETS),
        ("group_depth", strings._DEEPEST),
        ("rule_depth", productions._DEEPEST),
        ("vocabulary_bytes", trie._LARGEST),
        ("call_types", nfa.LEAD**nfa.CALL_DIGITS),
        ("plan_groups", lexemes.N_GROUPS),
        ("plan_states", lexemes.N_STATES),
    }
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| [^|]*\|$", text, re.MULTILINE)
    assert {(what, int(limit.replace(",", ""))) for what, limit in rows} == limits
    assert f"{sum(memo._weight for memo in memos().values()) >> 20} MiB" in text


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_schemas_share_the_automaton_of_a_format(name: str) -> None:
    made = []
    for _ in range(2):
        formulas = Formulas()
        made.append(string_automaton(formulas, (formulas.atom(("format", name)),), JsonOptions(), Limits()))
    assert made[0].automaton is made[1].automaton


def test_what_schemas_share_costs_the_second_no_more_than_the_first() -> None:
    """Automata laid on one of many patterns are paid for with it once, not each."""
    values = {"type": "string", "anyOf": [{"pattern": f"^shared{i}[ab]{{1,3}}$"} for i in range(30)]}
    spent = []
    for _ in range(2):
        index = compiled({"type": "array", "items": values, "uniqueItems": True, "minItems": 30})
        assert index.remaining(index.initial)
        spent.append(index.tables.automaton.tables.steps.spent)
    assert spent[1] <= spent[0]
