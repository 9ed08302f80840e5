"""What reading a value as a type costs: the count of trials beside a recursive one, and what is refused."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError
from guided.schema.frontend.reading_work import _types_of
from tests.profiles import examples


@dataclass
class Not:
    of: "Not | Maybe | None"


@dataclass
class Maybe:
    of: "Not | Maybe | None"
    items: "list[Not] | tuple[Maybe, int] | dict[str, Maybe]" = ()  # type: ignore[assignment]


class Sum(pydantic.BaseModel):
    kind: Literal["sum"]
    left: "int | Term"


class Product(pydantic.BaseModel):
    kind: Literal["product"]
    left: "int | Term"


Term = Annotated[Sum | Product, pydantic.Field(discriminator="kind")]
Sum.model_rebuild()
Product.model_rebuild()

VALUES = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["of", "items", "a"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@settings(max_examples=examples(200), deadline=None)
@given(VALUES, st.sampled_from([Not, Maybe, Sum]))
def test_each_trial_counts(value: Any, kind: Any) -> None:
    types = _types_of(pydantic.TypeAdapter(kind))

    def trials(part: Any, inner: Any) -> int:
        below = [trials(*one) for one in types._tried(part, inner) if isinstance(one[0], dict | list)]
        return 1 + (max(below, default=0) if inner.get("type") == "tagged-union" else sum(below))

    assert types.trials(value) == trials(value, types._root)


@pytest.mark.parametrize("last", ["null", '"x"'])
def test_unions_that_overlap_at_each_level_are_refused(last: str) -> None:
    """Pydantic would try 2^40 of them, also where the text is valid."""
    spec = JsonSchema(Not)
    with pytest.raises(LimitError, match=r"^call_steps: .* discriminator="):
        spec.read('{"of":' * 40 + last + "}" * 40)


def test_what_has_few_levels_is_read_and_what_is_discriminated_at_any() -> None:
    value = JsonSchema(Not).read('{"of":' * 10 + "null" + "}" * 10)
    assert isinstance(value, Not)
    assert isinstance(value.of, Not)
    found = JsonSchema(Sum).read('{"kind":"sum","left":' * 60 + "1" + "}" * 60)
    assert found == Sum.model_validate_json('{"kind":"sum","left":' * 60 + "1" + "}" * 60)


@pytest.mark.parametrize("kind", [Sum, list[int | str], dict[str, int] | list[int], int])
def test_types_of_linear_work_are_not_counted(kind: Any) -> None:
    assert not _types_of(pydantic.TypeAdapter(kind)).can_explode


def test_a_text_that_is_not_json_is_left_to_pydantic() -> None:
    with pytest.raises(pydantic.ValidationError):
        pydantic.TypeAdapter(Not).validate_json("{")
    with pytest.raises(Exception, match="Invalid JSON"):
        JsonSchema(Not).read("{")
    assert JsonSchema(Not).read(json.dumps({"of": None})) == Not(None)
