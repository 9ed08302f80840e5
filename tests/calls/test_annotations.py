"""Random annotations: their values are written, accepted and read back in each way of writing values."""

import datetime
import math
import typing
import uuid
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pydantic
import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.specs import Regex
from guided.errors import SchemaError
from guided.schema.frontend.readable import readable
from tests.calls.languages import Language
from tests.profiles import examples
from tests.schema.engine import compiled, is_empty
from tests.schema.walks import random_text

# JSON; Python's literals; strings up to a tag, or with quotes of their own.
FORMS = ("json", "tooldec-positional", "qwen-coder", "glm", "deepseek-v3.2", "gemma", "pythonic")
OPTIONS: dict[str, Any] = {"whitespace": "[ ]?", "numbers": "dumps", "escapes": "dumps"}
DEFINITION = {"name": "f", "parameters": {"type": "object", "properties": {"p": {}}, "required": ["p"]}}


class Color(Enum):
    RED = "red"
    DARK = 'd"ark'


@dataclass
class Point:
    x: int
    y: float = 0.0


class Pair(NamedTuple):
    x: int
    y: str = ""


class Query(TypedDict):
    text: Annotated[str, MaxLen(3)]
    limit: NotRequired[bool]


bounds = st.integers(-20, 20)
lengths = st.integers(0, 3)
integers = st.one_of(
    st.just(int),
    st.builds(lambda low, high: Annotated[int, Ge(low), Le(max(low, high))], bounds, bounds),
    st.builds(lambda low: Annotated[int, Gt(low)], bounds),
    st.builds(lambda high, step: Annotated[int, Lt(high), MultipleOf(step)], bounds, st.integers(1, 7)),
)
floats = st.one_of(
    st.just(float), st.builds(lambda low, high: Annotated[float, Ge(low), Lt(low + 1 + abs(high))], bounds, bounds)
)
strings = st.one_of(
    st.just(str),
    st.builds(lambda least, more: Annotated[str, MinLen(least), MaxLen(least + more)], lengths, lengths),
    st.sampled_from([Literal["a", "b c"], Literal["é", True, None], Color]),
    st.sampled_from([uuid.UUID, datetime.date, datetime.time, Annotated[str, Regex("[a-c]{1,3}|<.>")]]),
)
scalars = st.one_of(integers, floats, strings, st.just(bool))


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda one: list[one]),
        st.builds(
            lambda one, least, more: Annotated[list[one], MinLen(least), MaxLen(least + more)], inner, lengths, lengths
        ),
        st.builds(lambda one, two: tuple[one, two], inner, inner),
        inner.map(lambda one: tuple[one, ...]),
        inner.map(lambda one: one | None if not isinstance(one, str) else one),
        inner.map(lambda one: dict[str, one]),
        st.builds(lambda one, two: typing.Union[one, two], inner, inner),  # noqa: UP007 - of values, not names
        st.builds(lambda one, two: TypedDict("Made", {"a": one, "b": NotRequired[two]}), inner, inner),
        st.sampled_from([Point, Query, Pair]),
    )


annotations = st.recursive(scalars, _around, max_leaves=4)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(60, 15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(annotation=annotations, seed=st.integers(0, 9999))
def test_values_are_written_and_read_back(form: str, annotation: Any, seed: int) -> None:
    try:
        text = random_text(compiled(annotation, **OPTIONS), seed, 300)
    except SchemaError as error:
        if not is_empty(error):
            raise
        return
    assume(text is not None)
    assert text is not None
    value = pydantic.TypeAdapter(readable(annotation)).validate_json(text)
    assume("inf" not in repr(value))
    spec = Tools([Tool(DEFINITION, types={"p": annotation})], form, tool_choice="required")
    try:
        written = render_calls([Call("f", {"p": value}, (0, 0))], spec.argument_lists, spec.format, is_alone=True)
    except SchemaError as error:
        # A text that reads as another value.
        if "is not a value of" not in error.reason or spec.format.values != "raw":
            raise
        return
    assert Language(spec).accepts(written.encode()), written
    (call,) = parse_text(written, spec)
    assert call.error is None
    found = call.arguments["p"]
    assert found == value or (isinstance(value, float) and math.isclose(found, value))
    assert type(found) is type(value)
