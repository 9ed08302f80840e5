"""Every input form: what schema it comes to, which texts that allows, and what they are read as."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import ipaddress
import json
import pickle
import re
import subprocess
import sys
import typing
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import annotated_types as at
import pydantic
import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from guided.calls.sources.rest import Rest, operations
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.errors import SchemaError
from guided.schema.frontend.inputs import input_of
from tests.identifiers import shown
from tests.schema.engine import compiled
from tests.schema.walks import random_text


def since_pydantic(version: str) -> pytest.MarkDecorator:
    """Marks what older versions of pydantic have no schema for."""
    older = tuple(map(int, pydantic.VERSION.split(".")[:2])) < tuple(map(int, version.split(".")))
    return pytest.mark.skipif(older, reason=f"needs pydantic {version}")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: int = 0


class Tree(TypedDict):
    name: str
    children: "list[Tree]"
    note: NotRequired[str]


class Newer(typing_extensions.TypedDict, total=False):
    x: int


@dataclasses.dataclass
class Node:
    value: Annotated[int, at.Ge(0), at.Lt(10)]
    next: "Node | None" = None


class Stripped(BaseModel):
    model_config = pydantic.ConfigDict(str_strip_whitespace=True, str_min_length=1)
    a: str


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Person(BaseModel):
    """Someone."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=5, pattern="^[A-Z]")]
    born: datetime.date
    color: Color = Color.RED
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []
    mail: str | None = Field(None, alias="e-mail", description="Where to write.")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: datetime.datetime
    ids: set[int]


@dataclasses.dataclass(frozen=True)
class Whole:
    """Metadata that asks for one offset, as pydantic's core has it."""

    seconds: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "tz_constraint": self.seconds}


class Lost(TypedDict):
    x: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


class Ordered(BaseModel):
    low: int
    high: int

    @pydantic.model_validator(mode="after")
    def in_order(self) -> "Ordered":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


Json = dict[str, Any]
Recursive = typing_extensions.TypeAliasType("Recursive", "int | list[Recursive]")

# Type, a text that it allows, the value of that, and texts that it does not allow.
TYPES: list[tuple[Any, str, Any, list[str]]] = [
    (bool, "true", True, ["1", '"true"']),
    (int, "-12", -12, ["1.0", "1e2", "01", '"1"']),
    (float, "1.5", 1.5, ["true", '"1"', "NaN", "Infinity"]),
    (str, '"é\\n"', "é\n", ["1", "'a'"]),
    (type(None), "null", None, ["0"]),
    (bytes, '"abc"', b"abc", ["1"]),
    (datetime.date, '"2024-02-29"', datetime.date(2024, 2, 29), ['"2023-02-29"', '"0000-01-01"', '"2024-2-29"']),
    (datetime.time, '"06:45:00"', datetime.time(6, 45), ['"24:00:00"', '"06"', '"23:59:60"']),
    (
        datetime.datetime,
        '"2024-02-29T06:45:00.25Z"',
        datetime.datetime(2024, 2, 29, 6, 45, 0, 250_000, datetime.UTC),
        ['"2023-02-29T06:45:00Z"', '"2024-02-29"', '"2024-02-29T06:45:60Z"'],
    ),
    (
        pydantic.AwareDatetime,
        '"2024-02-29T06:45:00Z"',
        datetime.datetime(2024, 2, 29, 6, 45, tzinfo=datetime.UTC),
        ['"2024-02-29T06:45:00"'],
    ),
    (
        pydantic.NaiveDatetime,
        '"2024-02-29T06:45:00"',
        datetime.datetime(2024, 2, 29, 6, 45),  # noqa: DTZ001, RUF100 - naive is what is asked for
        ['"2024-02-29T06:45:00Z"'],
    ),
    (datetime.timedelta, '"P1DT2H"', datetime.timedelta(1, 7200), ['"1 day"', '"P"', '"PT"', '"P1DT"']),
    (decimal.Decimal, '"0.10"', decimal.Decimal("0.10"), ['"1e5"', '"."', "true"]),
    (
        Annotated[decimal.Decimal, Field(ge=0, max_digits=5, decimal_places=2)],
        "999.99",
        decimal.Decimal("999.99"),
        ["-1", "1000", "0.001", '"1"'],
    ),
    (uuid.UUID, f'"{uuid.UUID(int=5)}"', uuid.UUID(int=5), ['"5"']),
    (
        pydantic.UUID4,
        '"00000000-0000-4000-8000-000000000000"',
        uuid.UUID("00000000-0000-4000-8000-000000000000"),
        ['"00000000-0000-1000-8000-000000000000"'],
    ),
    (pydantic.HttpUrl, '"http://a.b/c"', pydantic.HttpUrl("http://a.b/c"), ['"ftp://a.b"', '"a"']),
    (Annotated[str, Regex("[a-z]+|[0-9]")], '"ab"', "ab", ['"a1"', '"12"', '""']),
    (list[Annotated[str, Choice(["a", "b"])]], '["a"]', ["a"], ['["c"]']),
    (ipaddress.IPv4Address, '"127.0.0.1"', ipaddress.IPv4Address("127.0.0.1"), ['"127.0.0.256"']),
    (re.Pattern, '"a+"', re.compile("a+"), ['"(a"']),
    (Path, '"a/b"', Path("a/b"), ["1"]),
    (Color, '"red"', Color.RED, ['"green"', '"RED"']),
    (Level, "2", Level.HIGH, ["3", '"LOW"']),
    (Literal["a", 1, None], "1", 1, ['"b"', "true", "2"]),
    (
        Optional[int],  # noqa: UP045 - the older spelling
        "null",
        None,
        ['""'],
    ),
    (int | str, '"1"', "1", ["null", "1.5"]),
    (Annotated[int, at.Ge(3), at.MultipleOf(5)], "10", 10, ["0", "3", "12"]),
    (Annotated[int, Field(gt=0, lt=3)], "2", 2, ["0", "3"]),
    (Annotated[str, at.Len(2, 3)], '"ab"', "ab", ['"a"', '"abcd"']),
    (Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], '"a"', "a", ['" "', '" a"']),
    (Stripped, '{"a": "b c"}', Stripped(a="b c"), ['{"a": " "}', '{"a": "b "}']),
    (Annotated[bytes, at.MaxLen(2)], '"ab"', b"ab", ['"é"', '"abc"']),
    (list[int], "[1, 2]", [1, 2], ["[1, true]", "{}"]),
    (Annotated[list[int], at.MinLen(1)], "[1]", [1], ["[]"]),
    (list, "[1, {}]", [1, {}], ["{}"]),
    (tuple[int, str], '[1, "a"]', (1, "a"), ["[1]", '[1, "a", 2]']),
    (tuple[int, ...], "[1, 2]", (1, 2), ['["a"]']),
    (set[int], "[1, 2]", {1, 2}, ['["a"]', "[1, 1]"]),
    (frozenset[bool], "[true]", frozenset({True}), ["[1]", "[true, true]"]),
    (Sequence[str], '["a"]', ["a"], ["[1]"]),
    (collections.abc.Mapping[str, int], '{"a": 1}', {"a": 1}, ['{"a": "b"}']),
    (dict[int, str], '{"-7": "a"}', {-7: "a"}, ['{"07": "a"}', '{"a": "a"}', '{"1": 1}']),
    (dict[Color, int], '{"red": 1}', {Color.RED: 1}, ['{"green": 1}']),
    (dict[Literal["a", "b"], int], '{"a": 1}', {"a": 1}, ['{"c": 1}']),
    (dict[datetime.date, int], '{"2024-02-29": 1}', {datetime.date(2024, 2, 29): 1}, ['{"2023-02-29": 1}']),
    (dict[Annotated[str, Field(pattern="^x")], int], '{"xy": 1}', {"xy": 1}, ['{"a": 1}', '{"x": "a"}']),
    (dict, '{"a": [1]}', {"a": [1]}, ["[]"]),
    (Any, '{"a": [1, null]}', {"a": [1, None]}, ["{a}"]),
    (typing.NewType("UserId", int), "7", 7, ['"7"']),
    (Point, "[1]", Point(1), ["[]", "[1, 2, 3]"]),
    (Node, '{"value": 3, "next": {"value": 4}}', Node(3, Node(4)), ['{"value": 10}', "{}", '{"value": 1, "more": 1}']),
    (Tree, '{"name": "a", "children": []}', {"name": "a", "children": []}, ['{"name": "a"}', '{"children": []}']),
    (list[Tree], "[]", [], ['[{"name": "a"}]']),
    (Newer, "{}", {}, ['{"x": "a"}', '{"y": 1}']),
    (Recursive, "[1, [[2]]]", [1, [[2]]], ['["a"]']),
    (Cat | Dog, '{"kind": "dog", "name": "Rex"}', Dog(name="Rex"), ['{"kind": "cow"}']),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        '{"kind": "cat", "lives": 9}',
        Cat(lives=9),
        ['{"lives": 9}', '{"kind": "dog", "lives": 9}'],
    ),
    (
        Person,
        '{"name": "Ada", "born": "1815-12-10", "e-mail": null}',
        Person(name="Ada", born=datetime.date(1815, 12, 10)),
        [
            '{"name": "ada", "born": "1815-12-10"}',
            '{"name": "Adaaaa", "born": "1815-12-10"}',
            '{"name": "Ada", "born": "1815-12-32"}',
            '{"name": "Ada", "born": "1815-12-10", "mail": null}',
        ],
    ),
    (Open, '{"x": 1, "y": [2]}', Open(x=1, y=[2]), ["{}"]),
    (TypeAdapter(list[Point]), "[[1, 2]]", [Point(1, 2)], ["[1]"]),
    (
        Strict,
        '{"when": "2024-02-29T06:45:00", "ids": [2]}',
        Strict(when=datetime.datetime(2024, 2, 29, 6, 45), ids={2}),  # noqa: DTZ001, RUF100
        ['{"when": 1, "ids": [2]}'],
    ),
]


@pytest.mark.parametrize(("kind", "text", "value", "wrong"), TYPES, ids=lambda item: str(item)[:40])
def test_a_type_allows_and_reads_its_texts(kind: Any, text: str, value: Any, wrong: list[str]) -> None:
    spec = JsonSchema(kind, property_order="any")
    index = compiled(kind, property_order="any")
    assert index.accepts(text.encode())
    found = spec.read(text)
    assert found == value
    assert type(found) is type(value)
    assert [other for other in wrong if index.accepts(other.encode())] == []


@pytest.mark.parametrize("kind", [kind for kind, *_ in TYPES], ids=lambda item: str(item)[:40])
def test_generated_texts_are_read(kind: Any) -> None:
    spec, index = JsonSchema(kind), compiled(kind)
    texts = [text for seed in range(12) if (text := random_text(index, seed)) is not None]
    assert texts
    for text in texts:
        assert index.accepts(text.encode())
        spec.read(text)


@pytest.mark.parametrize(
    ("kind", "pointer", "keyword"),
    [
        (Annotated[datetime.date, at.Ge(datetime.date(2020, 1, 1))], "", "ge"),
        (pydantic.PastDate, "", "past"),
        (list[pydantic.Json[list[int]]], "/items", "Json"),
        pytest.param(
            Annotated[str, Field(pattern=re.compile("a", re.I))], "", "pattern", marks=since_pydantic("2.9"), id="flags"
        ),
        (dict[Annotated[int, at.Ge(3)], str], "/propertyNames", "ge"),
        (dict[float, str], "/propertyNames", "keys"),
        (dict[Level, str], "/propertyNames", "keys"),
        (Annotated[decimal.Decimal, Field(max_digits=3)], "/x", "max_digits"),
        (ipaddress.IPv4Network, "", "format"),
        (pydantic.Base64Str, "", "format"),
        (Annotated[datetime.datetime, Whole(7200)], "", "tz_constraint"),
        pytest.param(complex, "", "complex", marks=since_pydantic("2.9"), id="complex"),
    ],
    ids=str,
)
def test_python_types_without_a_schema_are_refused_or_recorded(kind: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema(kind)
    assert caught.value.keyword == keyword
    if pointer != "/x":
        assert caught.value.pointer == pointer
    index = compiled(kind, unsupported="record")
    assert keyword in {named for _, named in index.unenforced}


@pytest.mark.parametrize(
    "kind",
    [
        range,
        typing.Callable[[], int],
        type[int],
        bytearray,
        Lost,
        list[Lost],
        dataclasses.make_dataclass("Missing", [("x", "Nowhere")]),
    ],
    ids=str,
)
def test_a_type_without_json_is_refused(kind: Any) -> None:
    with pytest.raises(SchemaError, match=r"no JSON Schema|cannot be resolved"):
        JsonSchema(kind)


@pytest.mark.parametrize("given", [None, 3, b"{}", [1], (), Person(name="A", born=datetime.date(1, 1, 1)), Color.RED])
def test_other_objects_are_type_errors(given: Any) -> None:
    with pytest.raises(TypeError, match=r"a schema must be|not an instance"):
        JsonSchema(given)


def test_schemas_are_not_changed(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"multipleOf": 0.1}}}
    assert input_of(schema).schema is schema
    assert input_of(True).schema is True
    file = tmp_path / "schema.json"
    file.write_text("\ufeff" + json.dumps(schema), encoding="utf-8")
    for form in (json.dumps(schema), file):
        found = input_of(form).schema
        assert found["properties"]["a"]["multipleOf"] == decimal.Decimal("0.1")
    assert JsonSchema(schema).read('{"a": 0.3, "b": 1}') == {"a": 0.3, "b": 1}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{", "the text is not valid JSON"),
        ("schema.json", "to read a file, give a pathlib.Path"),
        ("[1]", "an object, true or false"),
        (Path("nowhere.json"), "cannot be read"),
        ("[" * 100, "not valid JSON"),
    ],
    ids=lambda item: str(item)[:20],
)
def test_texts_that_are_not_a_schema(given: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        JsonSchema(given)


def weather(
    city: str, days: Annotated[int, at.Ge(1)] = 3, /, *also: float, unit: Annotated[str, Field(description="C or F")]
) -> str:
    """The weather.

    Parameters
    ----------
    city : str
        Which city.
    days : int
        How many days.
    unit : str
        Not this.
    """
    return f"{city} {days} {also} {unit}"


class Counter:
    def method(self, n: int) -> int:
        """Count.

        :param n: How far.
        """
        return n

    def __call__(self, m: "int") -> int:
        return m


def test_a_function_is_its_arguments() -> None:
    spec = JsonSchema(weather)
    properties = spec.schema["properties"]
    assert list(properties) == ["city", "days", "also", "unit"]
    assert [properties[name].get("description") for name in properties] == [
        "Which city.",
        "How many days.",
        None,
        "C or F",
    ]
    assert properties["days"]["default"] == 3
    assert spec.schema["required"] == ["city", "unit"]
    index = compiled(weather)
    text = '{"city": "Oslo", "also": [1], "unit": "C"}'
    assert index.accepts(text.encode())
    assert spec.read(text) == {"city": "Oslo", "also": [1.0], "unit": "C"}
    assert not index.accepts(b'{"city": "Oslo", "unit": "C", "more": 1}')


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Counter().method, ["n"]),
        (Counter(), ["m"]),
        (functools.partial(weather, "Oslo"), ["days", "also", "unit"]),
        (lambda x: x, ["x"]),
    ],
    ids=["method", "object", "partial", "lambda"],
)
def test_callables_are_described_by_their_arguments(function: Any, names: list[str]) -> None:
    assert list(JsonSchema(function).schema["properties"]) == names


def test_functions_that_are_refused() -> None:
    def lost(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def default(x: int = Field(3)) -> None: ...

    for function, keyword in ((lost, "lost"), (default, "Field")):
        with pytest.raises(SchemaError) as caught:
            JsonSchema(function)
        assert caught.value.keyword == keyword


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}},
        {"type": "function", "name": "f", "parameters": PARAMETERS},
        {"name": "f", "description": "what", "input_schema": PARAMETERS},
        {"name": "f", "inputSchema": PARAMETERS},
        SimpleNamespace(name="f", inputSchema=PARAMETERS),
        SimpleNamespace(name="f", input_schema=PARAMETERS),
    ],
    ids=["openai", "responses", "anthropic", "mcp", "mcp 1 object", "mcp 2 object"],
)
def test_a_tool_is_its_parameters(tool: Json) -> None:
    index = compiled(tool)
    assert index.accepts(b'{"city": "Oslo"}')
    assert not index.accepts(b"{}")
    assert not index.accepts(b'{"city": "Oslo", "country": "Norway"}')


def test_a_tool_defines_its_additional_arguments() -> None:
    tool = {"name": "f", "input_schema": {**PARAMETERS, "additionalProperties": {"type": "integer"}}}
    assert compiled(tool).accepts(b'{"city": "Oslo", "n": 1}')
    assert compiled({"type": "function", "name": "f"}).accepts(b"{}")
    assert not compiled({"type": "function", "name": "f"}).accepts(b"[]")
    with pytest.raises(SchemaError, match="parameters of a tool"):
        JsonSchema({"name": "f", "parameters": "none"})


def test_a_response_format_is_its_schema() -> None:
    for given in (
        {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"type": "integer"}}},
        {"type": "json_schema", "name": "x", "schema": {"type": "integer"}},
        {"name": "x", "strict": True, "schema": {"type": "integer"}},
    ):
        assert JsonSchema(given).schema == {"type": "integer"}
    with pytest.raises(SchemaError, match="needs a schema"):
        JsonSchema({"type": "json_schema"})


def document(version: str = "3.1.0") -> Json:
    return {
        "openapi": version,
        "paths": {
            "/pets/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {
                    "operationId": "getPet",
                    "parameters": [{"name": "verbose", "in": "query", "schema": {"type": "boolean"}}],
                },
                "put": {
                    "operationId": "putPet",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}}
                        },
                    },
                    "responses": {},
                },
            }
        },
        "components": {
            "parameters": {
                "Id": {
                    "name": "id",
                    "in": "path",
                    "required": True,
                    "description": "Which.",
                    "schema": {"type": "integer"},
                }
            },
            "schemas": {
                "Pet": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "nullable": True}
                        if version == "3.0.3"
                        else {"type": ["string", "null"]},
                        "parent": {"$ref": "#/components/schemas/Pet"},
                        "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
                        if version == "3.0.3"
                        else {"type": "integer", "exclusiveMinimum": 0},
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                }
            },
        },
    }


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize("name", ["putPet", "PUT /pets/{id}"])
def test_an_operation_is_its_parameters_and_body(version: str, name: str) -> None:
    given = document(version)
    before = json.dumps(given)
    index = compiled(given, operation=name)
    for text, verdict in (
        ('{"id": 1, "body": {"name": null}}', True),
        ('{"id": 1, "body": {"name": "a", "parent": {"name": "b", "age": 1}}}', True),
        ('{"id": 1, "body": {"name": "a", "age": 0}}', False),
        ('{"id": 1, "body": {}}', False),
        ('{"id": 1}', False),
        ('{"body": {"name": null}}', False),
        ('{"id": 1, "body": {"name": null}, "more": 1}', False),
    ):
        assert index.accepts(text.encode()) == verdict, text
    assert json.dumps(given) == before, "what is given is not changed"


def test_arguments_of_one_name_are_told_apart_as_in_tools() -> None:
    given = document()
    given["components"]["parameters"]["Id"].update(name="body")
    index = compiled(given, operation="putPet")
    assert index.accepts(b'{"body": 1, "body_in_body": {"name": null}}')
    assert not index.accepts(b'{"body": 1}')


def swagger() -> Json:
    return {
        "swagger": "2.0",
        "paths": {
            "/pets/{id}": {
                "parameters": [{"name": "id", "in": "path", "type": "integer", "minimum": 0, "exclusiveMinimum": True}],
                "put": {"parameters": [{"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}]},
            }
        },
        "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string", "x-nullable": True}}}},
    }


@pytest.mark.parametrize("given", [document("3"), document("3.0.3"), document(), swagger()])
def test_the_schema_of_an_operation_is_that_of_its_tool(given: Json) -> None:
    given["paths"]["/animals/{id}"] = {"$ref": "#/paths/~1pets~1{id}"}
    given["paths"]["/nowhere"] = {"$ref": "#/paths/~1elsewhere"}
    rest = Rest(given)
    keys = [key for key, _, about in operations(rest) if isinstance(about, str)]
    assert {"PUT /pets/{id}", "PUT /animals/{id}"} <= set(keys)
    for key in keys:
        assert JsonSchema(given, operation=key).schema == rest.schema(key)
    with pytest.raises(SchemaError, match="cannot be resolved"):
        JsonSchema(given, operation="GET /nowhere")


def test_a_swagger_document_is_of_its_own_dialect() -> None:
    index = compiled(swagger())
    assert index.accepts(b'{"id": 1, "pet": {"name": null}}')
    assert not index.accepts(b'{"id": 0}')


def test_each_argument_has_a_name_of_its_own() -> None:
    places = [("a_in_query", "header"), ("a", "path"), ("a", "query"), ("a", "header"), ("a_in_query", "query")]
    parameters = [{"name": name, "in": where, "schema": {}} for name, where in places]
    assert list(JsonSchema({"parameters": parameters}).schema["properties"]) == [
        "a_in_query", "a", "a_in_query_in_query", "a_in_header", "a_in_query_in_query_in_query",
    ]  # fmt: skip


def test_an_operation_object_alone_is_accepted() -> None:
    operation = {**document()["paths"]["/pets/{id}"]["get"], "responses": {}}
    assert compiled(operation).accepts(b'{"verbose": true}')
    assert compiled(operation).accepts(b"{}")


@pytest.mark.parametrize(
    ("change", "name", "reason"),
    [
        (lambda given: None, None, "name one of its operations: getPet, putPet"),
        (lambda given: None, "patchPet", "unknown operation 'patchPet'"),
        (lambda given: given["paths"].clear(), None, "it has none"),
        (lambda given: given["components"]["parameters"].clear(), "getPet", "cannot be resolved"),
        (
            lambda given: given["components"]["parameters"].update(Id={"$ref": "#/components/parameters/Id"}),
            "getPet",
            "form a cycle",
        ),
        (lambda given: given["components"]["parameters"]["Id"].pop("name"), "getPet", "needs name and in"),
        (lambda given: given["components"]["parameters"]["Id"].pop("schema"), "getPet", "neither a schema"),
        (lambda given: given["paths"]["/pets/{id}"]["get"].update(parameters=3), "getPet", "parameters must be a list"),
        (lambda given: given["paths"]["/pets/{id}"].update(parameters=True), "getPet", "parameters must be a list"),
        (
            lambda given: given["paths"].update(x=[], y={"$ref": f"#/paths/x/{'1' * 5000}"}),
            "GET y",
            "cannot be resolved",
        ),
        (lambda given: given["paths"]["/pets/{id}"]["get"].update(parameters=[3]), "getPet", "expected an object"),
    ],
)
def test_operations_that_are_refused(change: Any, name: str | None, reason: str) -> None:
    given = document()
    change(given)
    with pytest.raises(SchemaError, match=re.escape(reason)):
        JsonSchema(given, operation=name)


def test_only_a_document_has_operations() -> None:
    with pytest.raises(TypeError, match="OpenAPI"):
        JsonSchema(int, operation="x")


def test_a_validator_refuses_when_the_value_is_read() -> None:
    spec = JsonSchema(list[Ordered])
    text = '[{"low": 2, "high": 1}]'
    assert compiled(list[Ordered]).accepts(text.encode())
    with pytest.raises(SchemaError, match="low is above high") as caught:
        spec.read(text)
    assert (caught.value.pointer, caught.value.keyword) == ("/0", "value_error")


@pytest.mark.parametrize(
    ("kind", "path", "text", "value"),
    [
        (Person, ["born"], '"1815-12-10"', datetime.date(1815, 12, 10)),
        (Person, ["e-mail"], "null", None),
        (Person, ["pets", 0], '{"kind": "cat", "lives": 9}', Cat(lives=9)),
        (Person, ["pets", 0, "lives"], "9", 9),
        (Person, ["color"], '"blue"', Color.BLUE),
        (Node, ["next", "next"], '{"value": 1}', Node(1)),
        (Tree, ["children", 3], '{"name": "a", "children": []}', {"name": "a", "children": []}),
        (Newer, ["x"], "1", 1),
        (Point, [1], "3", 3),
        (dict[str, tuple[datetime.date, int]], ["a", 0], '"2024-02-29"', datetime.date(2024, 2, 29)),
        (tuple[Color, ...], [7], '"red"', Color.RED),
        (list[set[int]], [7], "[1]", {1}),
        (list[Color] | None, [0], '"red"', Color.RED),
        (int | list[Color], [0], '"red"', "red"),
        (Recursive, [0], "[1]", [1]),
        (typing.NewType("Colors", list[Color]), [0], '"red"', Color.RED),
        (Annotated[list[Color], at.MinLen(1)], [0], '"red"', Color.RED),
        (TypeAdapter(list[Color]), [0], '"red"', "red"),
        (Annotated[Cat | Dog, Field(discriminator="kind")], ["name"], '"Rex"', "Rex"),
        (Any, ["a", 0], "1.5", 1.5),
        (weather, ["days"], "2", 2),
        ({"type": "object"}, ["a"], '"x"', "x"),
    ],
    ids=shown,
)
def test_parts_are_read_as_their_types(kind: Any, path: list[str | int], text: str, value: Any) -> None:
    found = JsonSchema(kind).read_part(path, text, json.loads(text))
    assert found == value
    assert type(found) is type(value)


def test_specs_are_equal_where_schema_and_type_are() -> None:
    assert JsonSchema(Person) == JsonSchema(Person)
    assert JsonSchema(Person) != JsonSchema(JsonSchema(Person).schema)
    assert JsonSchema(Person).fingerprint == JsonSchema(JsonSchema(Person).schema).fingerprint
    assert len({JsonSchema(Person), JsonSchema(Person)}) == 1
    assert pickle.loads(pickle.dumps(JsonSchema(Person))) == JsonSchema(Person)
    assert pickle.loads(pickle.dumps(JsonSchema(Person))).read('{"name": "A", "born": "2024-01-01"}').name == "A"


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        "def given(a: int, b: str = 'x') -> None: ...",
        "class given(pydantic.BaseModel): a: int",
        "given = dataclasses.make_dataclass('D', [('a', int)])",
        "given = typing.TypedDict('T', {'a': int})",
        "given = enum.Enum('E', {'a': 1})",
        "given = typing.NamedTuple('N', [('a', int)])",
        "given = typing.Literal[1, 'x']",
        "given = {'type': 'object'}",
    ],
)
def test_each_form_of_input_is_the_first_thing_a_process_does(given: str) -> None:
    """Nothing relies on what another import has loaded."""
    needed = [name for name in ("pydantic", "dataclasses", "typing", "enum") if f"{name}." in given]
    lines = [
        *(f"import {name}" for name in needed),
        given,
        "import guided",
        "print(guided.JsonSchema(given).schema is not None)",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
