"""Formulas that list their values: against an evaluation over all values that stand in them."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import FALSE, Formulas
from guided.schema.values.leaves import Leaves

VALUES = [Fraction(number, 2) for number in range(6)]
sets = st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)


def leaves_of(formulas: Formulas) -> Leaves:
    return Leaves(formulas, JsonOptions(), Limits(), np.ones(256, np.bool_))


def holds(formulas: Formulas, formula: int, value: Fraction) -> bool:
    kind, *content = formulas.nodes[formula]
    if kind in ("&", "|"):
        return (all if kind == "&" else any)(holds(formulas, one, value) for one in content[0])
    if kind == "!":
        return not holds(formulas, content[0], value)
    return kind == "T" or (kind == "equals" and value in content) or (kind == "minimum" and value >= content[0])


@given(st.lists(sets, max_size=3), st.lists(sets, max_size=3), st.booleans())
def test_listed_numbers_are_those_of_which_the_formula_holds(
    kept: list[list[Fraction]], excluded: list[list[Fraction]], has_bound: bool
) -> None:
    formulas = Formulas()

    def among(values: list[Fraction]) -> int:
        return formulas.disjunction(formulas.atom(("equals", value)) for value in values)

    parts = [*map(among, kept), *(formulas.negation(among(values)) for values in excluded)]
    if has_bound:
        parts.append(formulas.atom(("minimum", Fraction(1))))
    formula = formulas.conjunction(parts)
    found = leaves_of(formulas).numbers((formula,)).listed
    if found:
        assert sorted(found) == [value for value in VALUES if holds(formulas, formula, value)]
    if kept and not has_bound and formula != FALSE and not found:
        # Nothing is listed where nothing is left, or where what is excluded comes first.
        first = formulas.nodes[formulas.members[formula][0]][0]
        assert first == "!" or not any(holds(formulas, formula, value) for value in VALUES)


PATTERNS = ["^a", "b{2,}$", "^[ab]+$", "é", "^(?:a|bb|\\\\n)$"]
texts = st.text(st.sampled_from('ab"é\n'), max_size=3)


@given(
    st.lists(st.sampled_from(PATTERNS), max_size=2),
    st.integers(0, 3),
    st.lists(texts, max_size=2),
    st.lists(texts, min_size=1, max_size=3),
)
def test_the_least_length_apart_from_a_few_strings_is_that_of_the_automaton_at_most(
    patterns: list[str], least: int, listed: list[str], excluded: list[str]
) -> None:
    formulas = Formulas()
    some = formulas.conjunction(
        [*(formulas.atom(("pattern", source)) for source in patterns), formulas.atom(("length", least, -1))]
    )
    either = formulas.disjunction([some, *(formulas.atom(("strings", (text,))) for text in listed)])
    others = [formulas.negation(formulas.atom(("strings", (text,)))) for text in excluded]
    leaves = leaves_of(formulas)
    leaf = leaves.strings((formulas.conjunction([either, *others]),))
    found = leaf.shortest()
    if leaf.automaton.is_empty():
        assert found == -1
    else:
        # Characters that a register counts are taken for one byte each.
        assert 0 <= found <= int(leaf.automaton.distances()[0])


def test_strings_are_listed_by_their_atoms() -> None:
    formulas = Formulas()
    some = formulas.atom(("strings", ("a", "b", "c")))
    others, leaves = formulas.negation(formulas.atom(("strings", ("b", "d")))), leaves_of(formulas)
    assert leaves.strings((formulas.conjunction([some, others]),)).listed == ("a", "c")
    assert leaves.numbers((some,)).listed == ()
    assert leaves.strings((formulas.conjunction([some, formulas.atom(("pattern", "a"))]),)).listed == ()
