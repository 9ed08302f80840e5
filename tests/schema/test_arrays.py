"""Arrays as formulas: what an item leaves of them, and when items only rule themselves out."""

from typing import Any

import pytest

from guided.schema.containers import derivatives
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from tests.schema.engine import compiled


@pytest.mark.parametrize(
    ("prefix", "others", "value", "rest"),
    [
        ((TRUE, FALSE), TRUE, TRUE, ("items", (FALSE,), TRUE)),
        ((TRUE,), FALSE, TRUE, ("items", (), FALSE)),
        ((TRUE,), TRUE, TRUE, None),
        ((), TRUE, TRUE, None),
        ((FALSE, TRUE), TRUE, FALSE, None),
        ((), FALSE, FALSE, None),
    ],
)
def test_an_item_takes_its_schema_off_the_table(
    prefix: tuple[int, ...], others: int, value: int, rest: tuple[object, ...] | None
) -> None:
    formulas = Formulas()
    after = derivatives.after_item(formulas, (formulas.atom(("items", prefix, others)),))
    if value == FALSE:
        assert after is None
    else:
        assert after == (TRUE if rest is None else formulas.atom(rest),)


def test_an_item_and_the_table_without_it_hold_together() -> None:
    formulas = Formulas()
    short = formulas.atom(("string", formulas.atom(("length", 0, 3))))
    for prefix, others in (((short,), FALSE), ((), short)):
        (after,) = derivatives.after_item(formulas, (formulas.atom(("items", prefix, others)),))
        rest = formulas.atom(("items", (), others))
        assert after == formulas.conjunction([formulas.atom(("value", short)), rest])


def test_counts_go_down() -> None:
    formulas = Formulas()
    least, most = formulas.atom(("minItems", 2)), formulas.atom(("maxItems", 1))
    once = derivatives.after_item(formulas, (formulas.conjunction([least, most]),))
    assert once == (formulas.conjunction([formulas.atom(("minItems", 1)), formulas.atom(("maxItems", 0))]),)
    assert derivatives.after_item(formulas, once) is None
    assert derivatives.after_item(formulas, (formulas.atom(("minItems", 1)),)) == (TRUE,)
    assert derivatives.at_close(formulas, (most, least, most)) == (FALSE, TRUE)
    assert derivatives.at_close(formulas, (least,)) is None


def test_items_that_only_rule_themselves_out() -> None:
    formulas = Formulas()
    unique, least = formulas.atom(("uniqueItems",)), formulas.atom(("minItems", 2))
    one = formulas.atom(("uniqueItems", 7))
    assert derivatives.must_differ(formulas, (unique,))
    assert derivatives.must_differ(formulas, (formulas.conjunction([one, least]), least))
    assert not derivatives.must_differ(formulas, (formulas.negation(unique),))
    assert not derivatives.must_differ(formulas, (formulas.disjunction([unique, least]),))
    assert not derivatives.must_differ(formulas, (least, unique))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"prefixItems": [{"enum": [1, 2]}, {"const": 1}], "contains": {"const": 1}, "maxContains": 1, "minItems": 2}, b"[2,1]"),
        ({"prefixItems": [True, {"const": 0}], "contains": {"const": 0}, "minContains": 0, "maxContains": 1, "minItems": 2}, b"[1,0]"),
        ({"prefixItems": [{"const": 0}] * 2, "contains": {"const": 0}, "minContains": 3, "maxContains": 3, "maxItems": 5}, b"[0,0,1,0]"),
        ({"prefixItems": [{"const": 0}, {"const": 0}], "contains": {"const": 0}, "maxContains": 2, "minItems": 4}, b"[0,0,1,2]"),
        ({"prefixItems": [{"const": 0}, True, {"const": 1}], "contains": {"const": 0}, "maxContains": 1, "minItems": 3}, b"[0,1,1]"),
    ],
)  # fmt: skip
def test_items_of_a_bounded_contains_may_be_in_the_prefix(schema: Any, text: bytes) -> None:
    assert compiled({"type": "array", **schema}, whitespace="compact").accepts(text)
