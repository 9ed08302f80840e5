"""What changes a formula: rewriting that leaves out what is not touched is rewriting; what helps least is the least of all."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.marks import EVERY_KEY, VALUE, Marks
from tests.profiles import examples

NAMES = [f"name {i}" for i in range(70)]
atoms = st.one_of(
    st.tuples(st.just("required"), st.sampled_from(NAMES)),
    st.tuples(st.just("value"), st.integers(2, 5)),
    st.tuples(st.just("minProperties"), st.integers(1, 3)),
    st.builds(
        lambda names, others: ("properties", tuple((name, FALSE) for name in sorted(names)), (), others),
        st.sets(st.sampled_from(NAMES), max_size=3),
        st.sampled_from([FALSE, TRUE]),
    ),
)
trees = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(st.just("!"), inner),
        st.builds(
            lambda kind, members: (kind, *members), st.sampled_from("&|1"), st.lists(inner, min_size=1, max_size=3)
        ),
    ),
    max_leaves=8,
)


def made(formulas: Formulas, tree: Any) -> int:
    kind, *members = tree
    if kind == "!":
        return formulas.negation(made(formulas, members[0]))
    if kind in ("&", "|", "1"):
        connect = {"&": formulas.conjunction, "|": formulas.disjunction, "1": formulas.exactly_one}[kind]
        return connect([made(formulas, member) for member in members])
    return formulas.atom(tree)


def is_changed(atom: Atom, name: str) -> bool:
    """Does a key of this name change an atom?"""
    match atom:
        case ("required", other):
            return bool(other == name)
        case ("properties", declared, _, others):
            return others != TRUE or any(key == name for key, _ in declared)
    return bool(atom[0] == "minProperties")


@settings(max_examples=examples(200))
@given(trees, st.sampled_from(NAMES))
def test_other_parts_do_not_change(tree: Any, name: str) -> None:
    formulas = Formulas()
    formula = made(formulas, tree)

    def derivative(atom: Atom) -> int:
        return formulas.atom(("changed", *atom)) if is_changed(atom, name) else formulas.atom(atom)

    touched = EVERY_KEY | formulas.marks.name(name)
    assert formulas.rewrite(formula, derivative, {}, touched) == formulas.rewrite(formula, derivative, {})


def test_marks_cover_all_subformulas() -> None:
    formulas = Formulas()
    marks = Marks(formulas.nodes)
    deep = formulas.atom(("value", 7))
    for i in range(3000):
        deep = formulas.negation(formulas.conjunction((deep, formulas.atom(("required", str(i % 3))))))
    assert marks.of(deep) == VALUE | marks.name("0") | marks.name("1") | marks.name("2")
    assert marks.of(TRUE) == marks.of(formulas.atom(("pattern", "a"))) == 0
