"""Numbers and strings where they are few, against all of a small world."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.numbers import counting
from guided.schema.numbers.counting import enumerate_numbers
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.counting import enumerate_by_truths, enumerate_strings, has_plain_text
from guided.schema.strings.languages import final_states, known, truth
from tests.profiles import examples

NUMBERS = [Fraction(i, 12) for i in range(-36, 37)]
WORDS = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)]
bounds = st.integers(-6, 6).map(lambda number: Fraction(number, 2))
number_atoms = st.one_of(
    st.just(("integer", False)),
    st.tuples(st.sampled_from(["minimum", "maximum"]), bounds, st.booleans()),
    st.tuples(st.just("multipleOf"), st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(2), Fraction(3)])),
    st.tuples(st.just("equals"), bounds),
)
string_atoms = st.one_of(
    st.tuples(st.just("length"), st.integers(0, 2), st.integers(-1, 3)),
    st.tuples(st.just("pattern"), st.sampled_from(["^a", "b$", "^(ab)*$", "aa", "^[ab]?$", "^b{2,3}$"])),
    st.tuples(st.just("strings"), st.sampled_from([("a",), ("", "ab"), ("aab", "b")])),
)


def made(formulas: Formulas, tree: Any) -> int:
    match tree:
        case ("!", one):
            return formulas.negation(made(formulas, one))
        case ("&", *members):
            return formulas.conjunction(made(formulas, one) for one in members)
        case ("|", *members):
            return formulas.disjunction(made(formulas, one) for one in members)
        case _:
            return formulas.atom(tree)


def holds(tree: Any, of_atom: Callable[[Any], bool]) -> bool:
    match tree:
        case ("!", one):
            return not holds(one, of_atom)
        case ("&", *members):
            return all(holds(one, of_atom) for one in members)
        case ("|", *members):
            return any(holds(one, of_atom) for one in members)
        case _:
            return of_atom(tree)


def trees(atoms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            inner.map(lambda one: ("!", one)),
            st.tuples(st.sampled_from("&|"), inner, inner),
        ),
        max_leaves=5,
    )


def of_number(tree: Any, number: Fraction) -> bool:
    return holds(tree, lambda atom: number_atom(atom, number))


def number_atom(atom: Any, number: Fraction) -> bool:
    kind = atom[0]
    if kind == "integer":
        return number.denominator == 1
    if kind == "multipleOf":
        return (number / atom[1]).denominator == 1
    if kind == "equals":
        return bool(number == atom[1])
    if number == atom[1]:
        return not atom[2]
    return bool((number > atom[1]) == (kind == "minimum"))


@settings(max_examples=examples(200))
@given(trees(number_atoms), st.booleans(), st.sampled_from([1, 2, 4096]))
def test_few_numbers(tree: Any, is_bounded: bool, together: int) -> None:
    if is_bounded:
        tree = ("&", tree, ("minimum", Fraction(-3), False), ("maximum", Fraction(3), False))
    formulas = Formulas()
    with patch.object(counting, "_TOGETHER", together):
        found = enumerate_numbers(formulas, made(formulas, tree), 60, lambda steps: None)
    expected = [number for number in NUMBERS if of_number(tree, number)]
    if found is None:
        # Grids of twelfths have one number of those that nothing divides, or more outside.
        assert (
            len(expected) > 60 or not is_bounded or any((12 * number) % 3 and (12 * number) % 2 for number in expected)
        )
        return
    assert len(set(found)) == len(found) == len(expected) or not is_bounded
    assert set(found) >= set(expected)
    assert all(of_number(tree, number) for number in found)


@pytest.mark.parametrize("step", [1, 2])
def test_the_work_of_many_listed_numbers_is_not_quadratic(step: int) -> None:
    formulas, spent = Formulas(), list[int]()
    tree = ("&", ("integer", False), ("|", *(("equals", Fraction(step * i)) for i in range(8_000))))
    found = enumerate_numbers(formulas, made(formulas, tree), 8_000, spent.append)
    assert found is not None
    assert found == tuple(Fraction(step * i) for i in range(8_000))
    assert sum(spent) < 20 * 8_000


@settings(max_examples=examples(120))
@given(trees(string_atoms), st.integers(0, 20))
def test_few_strings(tree: Any, most: int) -> None:
    formulas, limits = Formulas(), Limits()
    bounded = ("&", tree, ("pattern", "^[ab]{0,3}$"))

    def of_atom(word: str) -> Callable[[Any], bool]:
        return lambda atom: word in atom[1] if atom[0] == "strings" else bool(truth(known(atom, limits).dfa, [word])[0])

    expected = [word for word in WORDS if holds(bounded, of_atom(word))]
    assert expected or not has_plain_text(formulas, made(formulas, bounded), limits)
    found = enumerate_strings(formulas, made(formulas, bounded), most, 10, limits)
    if len(expected) > most:
        assert found is None
        return
    assert found is not None
    assert found.size == len(expected)
    assert (found.texts is None) == (len(expected) > 10)
    assert found.texts is None or set(found.texts) == set(expected)
    leaf = string_automaton(formulas, (made(formulas, bounded),), JsonOptions(), limits)
    assert leaf.automaton.is_empty() == (not expected)


@settings(max_examples=examples(120))
@given(
    st.lists(trees(string_atoms), min_size=1, max_size=3),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.integers(1, 20),
)
def test_few_strings_distinguished_by_formulas(several: list[Any], besides: list[str], most: int) -> None:
    formulas, limits = Formulas(), Limits()
    observed = [made(formulas, tree) for tree in several]
    found = [one.texts for one in enumerate_by_truths(formulas, observed, besides, most, 30, limits)]
    expected = []
    for truths in product((False, True), repeat=len(observed)):
        literals = zip(observed, truths, strict=True)
        label = formulas.conjunction(one if holds else formulas.negation(one) for one, holds in literals)
        apart = formulas.negation(formulas.atom(("strings", tuple(sorted(set(besides))))))
        few = enumerate_strings(formulas, formulas.conjunction((label, apart)), most, 30, limits)
        if few is not None and few.size:
            expected.append(sorted(few.texts or ()))
    assert sorted(expected) == sorted(sorted(texts or ()) for texts in found)


@given(
    st.sampled_from(["^(ab)*$", "^[^b]*b?$", "^a{3,40}$", "b$", "^[\\s\\S]{0,9}a"]),
    st.lists(st.text("abé\U0001f600", max_size=12) | st.integers(0, 60).map("a".__mul__), max_size=60),
)
def test_texts_read_together_end_where_each_ends_alone(pattern: str, texts: list[str]) -> None:
    dfa = known(("pattern", pattern), Limits()).dfa
    parts = dfa.partition

    def final_state(text: str) -> int:
        state = 0
        for character in text:
            read = parts.classes.item(int(np.searchsorted(parts.starts, ord(character), "right")) - 1)
            state = dfa.table.item(state, read) if read >= 0 and state >= 0 else -1
        return state

    assert final_states(dfa.table, parts, texts).tolist() == list(map(final_state, texts))


def test_judging_many_names_by_many_patterns_counts_as_steps_each_time() -> None:
    texts = tuple(f"name{i}" for i in range(3_000))
    tree = ("|", ("strings", texts), *(("pattern", f"^a{{{i}}}b") for i in range(3_000)))
    for _ in range(2):
        formulas = Formulas()
        formula = made(formulas, tree)
        with pytest.raises(LimitError, match="call_steps") as caught:
            string_automaton(formulas, (formula,), JsonOptions(), Limits())
        assert caught.value.given >= len(texts) * 3_000 // 16


def test_a_kept_automaton_of_names_costs_the_steps_of_the_first() -> None:
    texts = tuple(f"named{i}" for i in range(1_000))
    tree = ("|", ("strings", texts), ("pattern", "^named5"), ("pattern", "7$"))
    spent = []
    for _ in range(2):
        formulas = Formulas()
        formula = made(formulas, tree)
        before = formulas.steps.spent
        string_automaton(formulas, (formula,), JsonOptions(), Limits())
        spent.append(formulas.steps.spent - before)
    assert spent[0] >= 2 * len(texts) // 16
    assert spent[1] >= 2 * len(texts) // 16
