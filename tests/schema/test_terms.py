"""Terms: together they are the formula, by its truth table; what is excluded never comes, and all else does."""

from collections.abc import Callable
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.formula.implicants import implicants
from tests.executed import executed_lines

NAMES = ["value", "required", "properties", "minProperties", "length"]

shapes = st.recursive(
    st.integers(0, len(NAMES) - 1),
    lambda inner: st.tuples(st.sampled_from("&|1!"), st.lists(inner, min_size=1, max_size=4)),
    max_leaves=10,
)


def built(formulas: Formulas, shape: object) -> int:
    if isinstance(shape, int):
        return formulas.atom((NAMES[shape], shape))
    assert isinstance(shape, tuple)
    kind, members = shape
    found = [built(formulas, member) for member in members]
    if kind == "!":
        return formulas.negation(found[0])
    make = {"&": formulas.conjunction, "|": formulas.disjunction, "1": formulas.exactly_one}[kind]
    return make(found)


def truth(shape: object, values: tuple[bool, ...]) -> bool:
    if isinstance(shape, int):
        return values[shape]
    assert isinstance(shape, tuple)
    kind, members = shape
    found = [truth(member, values) for member in members]
    return {"&": all(found), "|": any(found), "1": sum(found) == 1, "!": not found[0]}[kind]


def holds(formulas: Formulas, term: tuple[int, ...], values: tuple[bool, ...]) -> bool:
    def one(literal: int) -> bool:
        node = formulas.nodes[literal]
        return not one(node[1]) if node[0] == "!" else values[node[1]]

    return all(one(literal) for literal in term)


def no_budget(_: int) -> None:
    """As much as is needed."""


ROWS = list(product([False, True], repeat=len(NAMES)))


@given(shapes)
def test_terms_are_the_formula(shape: object) -> None:
    formulas = Formulas()
    found = list(implicants(formulas, built(formulas, shape), no_budget))
    assert len(set(found)) == len(found)
    for values in ROWS:
        assert any(holds(formulas, term, values) for term in found) == truth(shape, values)
    for term in found:
        assert any(holds(formulas, term, values) for values in ROWS)


@pytest.mark.parametrize("is_negated", [False, True])
def test_the_options_of_exactly_one_are_made_one_by_one(is_negated: bool) -> None:
    formulas, spent = Formulas(), list[int]()
    one = formulas.exactly_one(formulas.atom(("required", str(i))) for i in range(10_000))
    terms = implicants(formulas, formulas.negation(one) if is_negated else one, spent.append)
    assert [len(term) for term in islice(terms, 3)] == ([10_000, 2, 2] if is_negated else [10_000] * 3)
    assert sum(spent) < 10_000


@given(shapes, st.sets(st.integers(0, 2 * len(NAMES) - 1), min_size=1, max_size=3))
def test_excluded_terms_are_not_generated(shape: object, chosen: set[int]) -> None:
    formulas = Formulas()
    atoms = [formulas.atom((name, i)) for i, name in enumerate(NAMES)]
    excluded = frozenset(atoms[i // 2] if i % 2 else formulas.negation(atoms[i // 2]) for i in chosen)
    formula = built(formulas, shape)
    found = list(implicants(formulas, formula, no_budget, lambda literals: excluded <= literals))
    assert found == [term for term in implicants(formulas, formula, no_budget) if not excluded.issubset(term)]


def test_literals_decide_choices() -> None:
    """Exactly one of alternatives that a name tells apart: one term for each, though each choice has two options for all others."""
    formulas = Formulas()
    names = [formulas.atom(("required", str(i))) for i in range(12)]
    tables = [formulas.atom(("properties", i)) for i in range(12)]
    apart = [
        formulas.conjunction((names[i], *(formulas.negation(name) for name in names if name != names[i]), tables[i]))
        for i in range(12)
    ]
    assert len(list(implicants(formulas, formulas.exactly_one(apart), no_budget))) == 12
    assert list(implicants(formulas, TRUE, no_budget)) == [()]


def exactly_one_of(formulas: Formulas, n: int) -> int:
    """Each of n terms has n literals."""
    return formulas.exactly_one([formulas.atom(("value", i)) for i in range(n)])


def wide_choices(formulas: Formulas, n: int) -> int:
    """Choices whose options are long conjunctions, which each literal is looked up in."""
    atoms = [formulas.atom(("value", i)) for i in range(n)]
    pairs = [
        formulas.disjunction([formulas.conjunction(atoms[i:]), formulas.conjunction(atoms[: i + 1])]) for i in range(n)
    ]
    return formulas.conjunction([*pairs, formulas.disjunction(atoms)])


@pytest.mark.parametrize("make", [exactly_one_of, wide_choices])
def test_the_work_of_terms_is_charged(make: Callable[[Formulas, int], int]) -> None:
    formulas, charged = Formulas(), list[int]()
    formula = make(formulas, 120)
    lines = executed_lines(lambda: list(islice(implicants(formulas, formula, charged.append), 200)))
    assert 20_000 < lines < 200 * sum(charged)
