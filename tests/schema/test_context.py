"""Tables of keys: one that cannot be made leaves the others as they are."""

import numpy as np
import pytest

from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.values.context import SchemaContext


@pytest.mark.parametrize("pattern", [None, "^a"])
def test_a_table_that_takes_too_many_steps_leaves_nothing_behind(pattern: str | None) -> None:
    formulas = Formulas()
    lowering = Lowering(True, JsonOptions(), formulas, Limits())
    context = SchemaContext(formulas, lowering, JsonOptions(), Limits(), np.ones(256, np.bool_))
    first, second = (formulas.atom(("required", name)) for name in ("a", "b"))
    if pattern is not None:
        table = formulas.atom(("properties", (), ((pattern, first),), 1, 1))
        first = formulas.conjunction([first, table])
    limit, formulas.steps.limit = formulas.steps.limit, formulas.steps.spent
    with pytest.raises(LimitError):
        context.table_of((first,))
    formulas.steps.limit = limit
    others, again = context.table_of((second,)), context.table_of((first,))
    assert others.names == ("b",)
    assert again.names == ("a",)
    assert (again.automaton is None) == (pattern is None)
    assert bool(again.spellings) == (pattern is None)
