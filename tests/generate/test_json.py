"""`guided.json`: typed results, values as soon as they are complete, budgets, batches, and every error."""

import asyncio
import dataclasses
import datetime
import enum
import itertools
import json as stdlib
import random
from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import pytest
from pydantic import BaseModel, Field

import guided
from guided.engine.compile import compile  # noqa: A004
from guided.engine.json_schema import JsonSchema
from guided.errors import IndexFormatError, LimitError, SchemaError, VocabularyError
from guided.events import Done, PartialValue, Refused, Text, ValueCompleted
from guided.generate.api import generator
from guided.generate.schemas import json
from guided.generate.structured import JsonGenerator
from guided.testing import scripted
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import ascii_model, default_model, greedy_text_model


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Person:
    name: Annotated[str, Field(max_length=8)]
    born: datetime.date
    colors: Annotated[list[Color], Field(max_length=3)] = dataclasses.field(default_factory=list)


class Ordered(BaseModel):
    low: Annotated[int, Field(ge=0, le=9)]
    high: Annotated[int, Field(ge=0, le=9)]

    @pydantic.model_validator(mode="after")
    def in_order(self) -> "Ordered":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


ADA = '{"name": "Ada", "born": "1815-12-10", "colors": ["red", "blue"]}'
PERSON = Person("Ada", datetime.date(1815, 12, 10), [Color.RED, Color.BLUE])


def test_the_value_is_an_instance_of_the_type() -> None:
    result = json(greedy_text_model(ADA), Person)("p")
    assert (result.text, result.value, result.finish_reason) == (ADA, PERSON, "stop")
    assert result.error is None


@pytest.mark.parametrize("seed", range(5))
def test_the_value_has_the_type_with_any_model(seed: int) -> None:
    result = json(ascii_model(seed), Person)("p", temperature=2.0, seed=seed, max_tokens=120)
    assert isinstance(result.value, Person)
    assert JsonSchema(Person).read(result.text) == result.value
    assert len(result.tokens) <= 120


def test_of_a_schema_the_value_is_parsed_json() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
    assert json(greedy_text_model('{"a": 1.50}'), schema)("p").value == {"a": 1.5}
    assert json(greedy_text_model("null"), stdlib.dumps({"type": "null"}))("p").value is None
    assert json(greedy_text_model("[1, 2]"), JsonSchema({"type": "array"}))("p").value == [1, 2]


def partial_values(events: Iterable[Any]) -> list[Any]:
    return [event.value for event in events if isinstance(event, PartialValue)]


@pytest.mark.parametrize("entry", ["stream", "stream_async", "conversation", "conversation_async"])
def test_snapshots_grow_to_the_value_and_have_typed_complete_parts(entry: str) -> None:
    made = json(scripted(ADA), Person)
    chat = guided.Conversation(made)

    async def gathered(events: AsyncIterator[Any]) -> list[Any]:
        return [event async for event in events]

    events = {
        "stream": lambda: list(made.stream("p", partial=True)),
        "stream_async": lambda: asyncio.run(gathered(made.stream_async("p", partial=True))),
        "conversation": lambda: list(chat.stream("p", partial=True)),
        "conversation_async": lambda: asyncio.run(gathered(chat.stream_async("p", partial=True))),
    }[entry]()
    found = partial_values(events)
    assert found[:6] == [{}, *({"name": name} for name in ("", "A", "Ad", "Ada", "Ada"))]
    born = {"name": "Ada", "born": PERSON.born}
    assert found[-5:] == [
        {**born, "colors": [Color.RED, "blu"]},
        {**born, "colors": [Color.RED, "blue"]},
        {**born, "colors": PERSON.colors},
        {**born, "colors": PERSON.colors},
        PERSON,
    ]
    assert events[-1].result.value == PERSON


def test_snapshots_come_only_where_they_are_asked_for() -> None:
    made = json(greedy_text_model(ADA), Person)
    assert not partial_values(made.stream("p"))
    assert partial_values(made.stream("p", partial=True))
    assert not partial_values(made.stream("p"))
    for wrong in (made, made.batch, guided.regex(greedy_text_model("a"), "a").stream):
        with pytest.raises(TypeError, match="partial=True is for stream and stream_async of generators of JSON"):
            wrong("p", partial=True)  # type: ignore[call-arg, operator]
    with pytest.raises(TypeError, match="partial must be a bool, not str"):
        made.stream("p", partial="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="for generators of JSON"):
        guided.Conversation(guided.regex(greedy_text_model("a"), "a")).stream("p", partial=True)


def test_a_refused_value_has_no_snapshot_of_the_whole_and_the_next_text_begins_anew() -> None:
    text = '{"low": 5, "high": 1}'
    events = list(json(scripted(text), Ordered).stream([{"role": "user", "content": "p"}], partial=True, retries=1))
    refused = next(place for place, event in enumerate(events) if isinstance(event, Refused))
    assert partial_values(events[:refused]) == partial_values(events[refused:]) == [{}, {"low": 5}]


def test_snapshots_of_what_is_no_object() -> None:
    def of(text: str, schema: Any) -> list[Any]:
        return partial_values(json(scripted(text), schema).stream("p", partial=True))

    assert of("12", int) == [12]
    assert of('"a\\n"', str) == ["", "a", "a\n", "a\n"]
    assert of("[1, 2]", tuple[int, int]) == [[], [1], (1, 2)]
    assert of("[1, 22]", list[float]) == [[], [1.0], [1.0, 22.0]]


def events_of(text: str, schema: Any, **options: Any) -> tuple[list[tuple[str, Any]], Any]:
    events = list(json(greedy_text_model(text), schema).stream("p", **options))
    assert isinstance(events[-1], Done)
    assert not any(isinstance(event, Done) for event in events[:-1])
    values = [(event.pointer, event.value) for event in events if isinstance(event, ValueCompleted)]
    said = "".join(event.text for event in events if isinstance(event, Text))
    assert said == events[-1].result.text
    return values, events[-1].result


def test_a_stream_has_each_value_when_it_is_complete() -> None:
    values, result = events_of(ADA, Person)
    assert values == [
        ("/name", "Ada"),
        ("/born", datetime.date(1815, 12, 10)),
        ("/colors/0", Color.RED),
        ("/colors/1", Color.BLUE),
        ("/colors", [Color.RED, Color.BLUE]),
        ("", PERSON),
    ]
    assert result.value == PERSON


def test_a_value_follows_the_text_that_completes_it() -> None:
    said, places = "", {}
    for event in json(greedy_text_model('{"a": 12, "b": "x"}'), {"type": "object"}).stream("p"):
        if isinstance(event, Text):
            said += event.text
        elif isinstance(event, ValueCompleted):
            places[event.pointer] = said
    assert places == {"/a": '{"a": 12,', "/b": '{"a": 12, "b": "x"', "": '{"a": 12, "b": "x"}'}


def test_pointers_are_escaped() -> None:
    values, _ = events_of('{"a/b~c": [1]}', {"type": "object"})
    assert [pointer for pointer, _ in values] == ["/a~1b~0c/0", "/a~1b~0c", ""]


def test_a_number_alone_is_complete_at_the_end() -> None:
    assert events_of("12", int)[0] == [("", 12)]


def test_text_removed_by_a_stop_string_is_not_a_value() -> None:
    values, result = events_of('{"a": 1, "b": 2}', {"type": "object"}, stop="2")
    assert (result.text, result.value_or_none, result.finish_reason) == ('{"a": 1, "b": ', None, "stop_string")
    assert values == [("/a", 1)]
    values, result = events_of("[1, 23]", {"type": "array"}, stop=", 2")
    assert (result.text, result.value_or_none) == ("[1", None)
    assert values == []
    values, result = events_of("123", int, stop="3")
    assert (result.text, result.value) == ("12", 12)
    assert values == [("", 12)]


def test_the_last_tokens_are_steered_to_an_end() -> None:
    for budget in (32, 40, 60):
        result = json(ascii_model(3), Person)("p", max_tokens=budget, temperature=1.5, seed=1)
        assert isinstance(result.value, Person)
        assert len(result.tokens) <= budget
    with pytest.raises(LimitError, match="max_tokens"):
        json(ascii_model(3), Person)("p", max_tokens=10)


def test_validators_refuse_in_calls_and_are_data_in_streams_and_batches() -> None:
    make = json(greedy_text_model('{"low": 2, "high": 1}'), Ordered)
    with pytest.raises(SchemaError, match="low is above high"):
        make("p")
    events = list(make.stream("p"))
    assert [event.pointer for event in events if isinstance(event, ValueCompleted)] == ["/low", "/high"]
    for result in (events[-1].result, *make.batch(["p", "p"])):
        assert result.value_or_none is None
        with pytest.raises(SchemaError, match="low is above high"):
            result.value  # noqa: B018
        assert (result.error.pointer, result.error.keyword) == ("", "value_error")
        assert result.text == '{"low": 2, "high": 1}'


def test_validators_of_parts_are_named_with_their_place() -> None:
    text = '[{"low": 1, "high": 2}, {"low": 2, "high": 1}]'
    events = list(json(greedy_text_model(text), list[Ordered]).stream("p"))
    pointers = [event.pointer for event in events if isinstance(event, ValueCompleted)]
    assert pointers == ["/0/low", "/0/high", "/0", "/1/low", "/1/high"]
    assert events[-1].result.error.pointer == "/1"


def test_batches_have_typed_values() -> None:
    results = json(ascii_model(1), Person).batch(["a", "b", "c"], width=2, temperature=1.0, seed=5, max_tokens=100)
    assert all(isinstance(result.value, Person) for result in results)


def test_generator_makes_the_same_of_a_spec() -> None:
    made = generator(greedy_text_model(ADA), JsonSchema(Person))
    assert isinstance(made, JsonGenerator)
    assert made("p").value == PERSON
    assert "JsonGenerator" in repr(made)


def test_an_index_is_of_the_same_schema_and_options() -> None:
    model = greedy_text_model(ADA)
    index = compile(JsonSchema(Person), model.vocabulary)
    assert json(model, Person, index=index)("p").value == PERSON
    with pytest.raises(IndexFormatError):
        json(model, Person, index=index, whitespace="compact")
    with pytest.raises(VocabularyError):
        json(
            greedy_text_model(ADA, Vocabulary([bytes([value]) for value in range(127)], eos=[127])), Person, index=index
        )


def test_options_reach_the_schema() -> None:
    compact = ADA.replace(": ", ":").replace(", ", ",")
    assert json(greedy_text_model(compact), Person, whitespace="compact")("p").text == compact
    pretty = stdlib.dumps(stdlib.loads(ADA), indent=3)
    found = json(greedy_text_model(pretty), Person, whitespace="pretty(3)")("p")
    assert (found.text, found.value) == (pretty, PERSON)
    with pytest.raises(TypeError, match="a JsonSchema has its own whitespace: pass options to JsonSchema"):
        json(ascii_model(), JsonSchema(Person), whitespace="compact")
    with pytest.raises(ValueError, match="numbers must be"):
        json(ascii_model(), Person, numbers="many")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        json(ascii_model(), Person, many=1)  # type: ignore[call-arg]


def test_errors_name_their_place() -> None:
    with pytest.raises(SchemaError) as caught:
        json(ascii_model(), {"properties": {"a": {"type": "text"}}})
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a", "type")
    with pytest.raises(TypeError, match="a schema must be"):
        json(ascii_model(), 3)
    with pytest.raises(TypeError, match="model must be"):
        json(None, Person)  # type: ignore[arg-type]


def test_it_is_the_function_of_the_facade() -> None:
    assert guided.json is json


def test_tokens_of_several_bytes_split_values_anywhere() -> None:
    pieces = [b'{"', b'": ', b'", "', b'"}', b"id", b"ok", b'id": 1', b"2, ", b'"ok": tr', b"ue}", b"true"]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(128)), *pieces], eos=[200], size=201)
    schema = {
        "properties": {"id": {"type": "integer"}, "ok": {"type": "boolean"}},
        "required": ["id", "ok"],
        "additionalProperties": False,
        "type": "object",
    }
    generated = random.Random(0)
    biases = [generated.random() for _ in range(vocabulary.size)]
    model = guided.FunctionModel(
        lambda tokens: np.roll(biases, len(tokens)), vocabulary, lambda text: list(text.encode())
    )
    for seed in range(10):
        events = list(json(model, schema).stream("p", temperature=3.0, seed=seed, max_tokens=40))
        result = events[-1].result
        values = {event.pointer: event.value for event in events if isinstance(event, ValueCompleted)}
        assert values == {"/id": result.value["id"], "/ok": result.value["ok"], "": result.value}


class City(BaseModel):
    name: Annotated[str, Field(max_length=20)]
    country: Literal["France", "Italy", "Spain"]
    inhabitants: Annotated[int, Field(ge=0, le=100_000_000)]


@pytest.mark.model
def test_the_default_model_fills_a_model() -> None:
    make = json(default_model(), City)
    result = make("The capital of France, as JSON: ", max_tokens=60)
    assert isinstance(result.value, City)
    assert result.value.country == "France"
    assert "Paris" in result.value.name
    events = list(make.stream("The capital of France, as JSON: ", max_tokens=60))
    assert events[-1].result == result
    pointers = [event.pointer for event in events if isinstance(event, ValueCompleted)]
    assert pointers == ["/name", "/country", "/inhabitants", ""]


@pytest.mark.model
def test_snapshots_of_the_default_model_grow_to_the_value() -> None:
    events = list(json(default_model(), Person).stream("A person, as JSON: ", partial=True, max_tokens=60))
    found = partial_values(events)
    assert found[-1] == events[-1].result.value  # type: ignore[union-attr]
    assert all(isinstance(value, dict) for value in found[:-1])
    names = [value["name"] for value in found[:-1] if "name" in value]
    assert all(after.startswith(before) for before, after in itertools.pairwise(names))
