"""Annotations have two lowerings, to patterns (tools) and to schemas (`guided.json`): one language, up to what docs/tools.md says.

What the pattern of a type allows, its schema allows: the other way round, every value that the schema allows has a spelling in the pattern,
the one of `json.dumps`, where it is a value of Python's.
"""

import datetime
import json
import random
import re
import typing
import uuid
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.calls.constraints import Caps, Irregular
from guided.calls.types import AnnotationContext, type_of
from guided.calls.values import automaton_of
from guided.errors import SchemaError
from tests.profiles import examples
from tests.schema.engine import compiled, is_empty
from tests.schema.walks import random_text

OPTIONS: dict[str, Any] = {"whitespace": "[ ]?", "numbers": "dumps", "escapes": "dumps"}


class Color(Enum):
    RED = "red"
    DARK = 'd"ark'


@dataclass
class Point:
    x: int
    y: float = 0.0


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
    st.sampled_from([uuid.UUID, datetime.date]),
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
        st.sampled_from([Point, Query]),
    )


annotations = st.recursive(scalars, _around, max_leaves=4)


def texts_of(automaton: Automaton, chance: random.Random, count: int) -> list[str]:
    """Random texts of an automaton, brought to an end after a while."""
    distances = automaton.distances()
    found: list[str] = []
    while len(found) < count:
        state, data = 0, bytearray()
        while True:
            if automaton.accepting[state] and (chance.random() < 0.3 or len(data) > 60):
                break
            after = automaton.table[state, automaton.classes]
            open_bytes = np.flatnonzero(after >= 0)
            if not len(open_bytes):
                break
            if len(data) > 40:
                nearest = distances[after[open_bytes]]
                open_bytes = open_bytes[nearest == nearest.min()]
            byte = int(chance.choice(open_bytes.tolist()))
            data.append(byte)
            state = int(after[byte])
        found.append(data.decode())
    return found


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
@given(annotations, st.integers(0, 9999))
def test_patterns_and_schemas_of_annotations_are_one_language(annotation: Any, seed: int) -> None:
    chance = random.Random(seed)
    try:
        automaton = automaton_of(type_of(annotation, AnnotationContext("", Caps())).node)
    except Irregular:  # then the schema is taken for tools as well
        return
    try:
        index = compiled(annotation, **OPTIONS)
    except SchemaError as error:
        if not is_empty(error):
            raise
        assert automaton.is_empty()
        return
    for text in texts_of(automaton, chance, 5):
        assert index.accepts(text.encode()), text
    for number in range(5):
        found = random_text(index, seed + number)
        if found is not None and (value := _value(found)) is not _NONE:
            for is_ascii in (True, False):
                text = json.dumps(value, ensure_ascii=is_ascii)
                # Why not those with exponents: bounded floats have none, and digits enough only for what is written plainly.
                assert automaton.accepts(text.encode()) or _EXPONENT.search(text), (found, text)


_NONE = object()
_EXPONENT = re.compile(r"[0-9.]+e[-+][0-9]+")


def _value(text: str) -> Any:
    """The value of a text; none where Python has no such number."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except OverflowError:
        return _NONE


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise OverflowError
    return number or 0.0
