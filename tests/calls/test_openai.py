"""`Tool.to_openai`: the definition of any tool, with the JSON Schema of the arguments that calls may have; and tools of the MCP SDK."""

import dataclasses
import datetime
import enum
import functools
import json
import operator
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema
import pydantic
import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.calls.naming import inventory
from guided.calls.spec import Tools
from guided.errors import SchemaError

VOCABULARY = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: Annotated[int, Ge(0)]
    y: int = 0


class Typed(TypedDict):
    a: str
    n: NotRequired[int]


class Tree(pydantic.BaseModel):
    name: str = pydantic.Field(description="its name")
    trees: list["Tree"] = []


def parameters_of(tool: Any, **options: Any) -> dict[str, Any]:
    found = guided.Tool(tool).to_openai(**options)
    assert json.loads(json.dumps(found)) == found, "plain JSON"
    assert found["type"] == "function"
    parameters = found["function"]["parameters"]
    jsonschema.Draft202012Validator.check_schema(parameters)
    return parameters


def test_a_function_is_shown_with_its_types_and_descriptions() -> None:
    def book(
        name: Annotated[str, guided.Regex(r"[A-Z]\w*")],
        date: datetime.date,
        guests: Annotated[int, Ge(1), Le(12), "how many"] = 2,
        colour: Colour | None = None,
        at: Point = Point(0),  # noqa: B008
        *notes: str,
    ) -> None:
        """Book a table.

        Args:
            name: Of the restaurant.
        """

    point = {
        "title": "Point",
        "type": "object",
        "properties": {"x": {"type": "integer", "minimum": 0}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert guided.Tool(book).to_openai() == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Book a table.",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "pattern": "^(?:[A-Z]\\w*)$", "description": "Of the restaurant."},
                    "date": {"type": "string", "format": "date"},
                    "guests": {"type": "integer", "minimum": 1, "maximum": 12, "description": "how many"},
                    "colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
                    "at": point,
                    "notes": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name", "date"],
                "additionalProperties": False,
                "$defs": {"Colour": {"title": "Colour", "type": "string", "enum": ["red", "blue"]}},
            },
        },
    }


@pytest.mark.parametrize("pattern", [r"[\w' ]{1,40}", r"[^\s,]+", r"\d{4}-\d{2}"])
def test_patterns_are_shown_as_they_are_written(pattern: str) -> None:
    def f(x: Annotated[str, guided.Regex(pattern)]) -> None: ...

    shown = parameters_of(f)["properties"]["x"]["pattern"]
    assert len(shown) <= len(pattern) + len("^(?:)$")


def test_recursive_types_keep_their_definitions() -> None:
    def plant(tree: Tree, other: Tree | None = None) -> None: ...

    parameters = parameters_of(plant)
    reference = {"$ref": "#/$defs/Tree"}
    # pydantic before 2.9 writes the second.
    assert parameters["properties"]["tree"] in (reference, {"allOf": [reference]})
    assert parameters["$defs"]["Tree"]["properties"]["name"] == {"type": "string", "description": "its name"}
    validator = jsonschema.Draft202012Validator(parameters)
    assert validator.is_valid({"tree": {"name": "a", "trees": [{"name": "b"}]}})
    assert not validator.is_valid({"tree": {"name": "a", "trees": [{}]}})


def test_definitions_of_one_name_are_distinguished() -> None:
    def made(field: str) -> Any:
        inner = pydantic.create_model("Node", **{field: (int, ...), "nodes": ("list[Node]", [])})  # type: ignore[call-overload]
        inner.model_rebuild(_types_namespace={"Node": inner})
        return inner

    one, two = made("a"), made("b")

    def f(x: one, y: two) -> None: ...  # type: ignore[valid-type]

    validator = jsonschema.Draft202012Validator(parameters_of(f))
    assert validator.is_valid({"x": {"a": 1, "nodes": [{"a": 2}]}, "y": {"b": 1, "nodes": [{"b": 2}]}})
    assert not validator.is_valid({"x": {"a": 1, "nodes": [{"a": 2}]}, "y": {"b": 1, "nodes": [{"a": 2}]}})


def test_json_definitions_keep_their_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string", "description": "what", "x-own": 1}, "n": {"$ref": "#/$defs/n"}},
        "required": ["q"],
        "$defs": {"n": {"type": "integer"}},
    }
    for definition in (
        {"type": "function", "function": {"name": "f", "description": "Find.", "parameters": schema}},
        {"name": "f", "description": "Find.", "input_schema": schema},
        {"name": "f", "description": "Find.", "inputSchema": schema},
    ):
        assert guided.Tool(definition).to_openai()["function"] == {
            "name": "f",
            "description": "Find.",
            "parameters": {**schema, "additionalProperties": False},
        }
        assert parameters_of(definition, strict=False) == schema
    assert parameters_of({"name": "f"}) == {"type": "object", "properties": {}, "additionalProperties": False}
    open_ended = {"properties": {"a": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert parameters_of({"name": "f", "parameters": open_ended}) == {"type": "object", **open_ended}
    tool = guided.Tool({"name": "f", "parameters": schema}, types={"n": Literal["one", "two"]})
    assert tool.to_openai()["function"]["parameters"]["properties"]["n"] == {"type": "string", "enum": ["one", "two"]}


def test_tools_of_documents_are_shown() -> None:
    paths = {
        "/pets": {
            "get": {
                "summary": "List pets.",
                "parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}],
            }
        }
    }
    (tool,) = guided.read_tools({"openapi": "3.0.3", "paths": paths})
    function = tool.to_openai()["function"]
    assert (function["name"], function["description"]) == ("get_pets", "List pets.")
    assert function["parameters"]["properties"]["n"]["type"] == "integer"


LEAVES: list[Any] = [
    *(int, float, str, bool, None, Any, Colour, Point, Typed),
    *(Literal["a", 1, None], datetime.date, Annotated[int, Ge(0), Le(7), MultipleOf(3)], Annotated[float, Gt(0), Lt(1.5)]),
    *(Annotated[str, MinLen(1), MaxLen(2)], Annotated[str, guided.Regex("[a-c]+")], Annotated[str, guided.Choice(["a", "x"])]),
    Annotated[str, guided.Regex("[a-c]+"), guided.Regex("..")],
]  # fmt: skip
ANNOTATIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda item: list[item]),
        inner.map(lambda item: Annotated[list[item], MinLen(1), MaxLen(2)]),
        inner.map(lambda item: dict[str, item]),
        inner.map(lambda item: dict[int, item]),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: tuple[tuple(items)]),  # type: ignore[misc]
        st.lists(inner, min_size=2, max_size=3).map(lambda items: functools.reduce(operator.or_, items, Literal[3])),
    ),
    max_leaves=3,
)
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 6, 7, 9, 0.5, 1.5, -0.25, 10**20),
    *("", "a", "ab", "abc", "x", "red", "2024-02-29", "2023-02-29", "7", "é\n"),
    *([], [1], ["a"], [1, "a"], ["ab", 0.5], [None, True, 3], [[]], [[1], ["a"]], [{"x": 1}]),
    *({}, {"a": "a"}, {"a": "a", "n": 1}, {"x": 1}, {"x": -1}, {"x": 1, "y": 2}, {"x": 1, "z": 2}, {"1": 1}, {"1": ["a"]}, {"01": 1}),
]  # fmt: skip


@given(ANNOTATIONS)
def test_the_schema_of_arguments_allows_the_arguments_of_calls(annotation: Any) -> None:
    """Of many values, jsonschema takes those that the index of the calls takes."""
    tool = guided.Tool(
        {"name": "f", "parameters": {"type": "object", "properties": {"p": {}}}}, types={"p": annotation}
    )
    schema = tool.to_openai()["function"]["parameters"]
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"]))
    index = guided.compile(Tools([tool], tool_choice="required"), VOCABULARY)
    for value in VALUES:
        text = json.dumps({"name": "f", "arguments": {"p": value}})
        assert index.accepts(text.encode()) == validator.is_valid({"p": value}), (value, schema)


def test_the_type_of_an_argument_may_be_an_annotated_str() -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"p": {}}}}
    tool = guided.Tool(definition, types={"p": Annotated[str, MinLen(1), MaxLen(2)]})
    index = guided.compile(Tools([tool], tool_choice="required"), VOCABULARY)
    assert index.accepts('{"name": "f", "arguments": {"p": "ab"}}')
    assert not index.accepts('{"name": "f", "arguments": {"p": "abc"}}')


# ---------------------------------------------------------------------------------------------------------------------- MCP

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


class McpTool(pydantic.BaseModel):
    """As ``mcp.types.Tool`` has it."""

    name: str
    title: str | None = None
    description: str | None = None
    inputSchema: dict[str, Any]  # noqa: N815
    outputSchema: dict[str, Any] | None = None  # noqa: N815


class Listed(pydantic.BaseModel):
    """As ``mcp.types.ListToolsResult`` has it."""

    nextCursor: str | None = None  # noqa: N815
    tools: list[McpTool]


FIND = McpTool(name="find", description="Find it.", inputSchema=SCHEMA)


@pytest.mark.parametrize(
    "item",
    [FIND, SimpleNamespace(name="find", description="Find it.", input_schema=SCHEMA)],
    ids=["inputSchema", "input_schema"],
)
def test_tool_objects_of_the_mcp_sdk_are_tools(item: Any) -> None:
    expected = guided.Tool({"name": "find", "description": "Find it.", "inputSchema": SCHEMA})
    assert guided.Tool(item).to_openai() == expected.to_openai()
    assert guided.Tool(item).original == "find"
    spec = Tools([item], tool_choice="required")
    assert spec.fingerprint == Tools([expected], tool_choice="required").fingerprint
    assert guided.compile(spec, VOCABULARY).accepts(b'{"name": "find", "arguments": {"q": "x"}}')
    grown = Tools([{"name": "other"}]).with_changes(add=[item])
    assert [tool.name for tool in grown.tools] == ["other", "find"]
    ran = guided.Tool(item, run=lambda q: q.upper())
    assert ran.run is not None


def test_tools_of_an_mcp_session_are_read() -> None:
    for source in (Listed(tools=[FIND]), [FIND], {"tools": [FIND]}):
        assert [tool.name for tool in guided.read_tools(source)] == ["find"]


def test_json_schema_takes_tool_objects() -> None:
    definition = {"name": "find", "inputSchema": SCHEMA}
    assert guided.JsonSchema(FIND).fingerprint == guided.JsonSchema(definition).fingerprint


def test_a_single_tool_object_is_not_a_list_of_tools() -> None:
    with pytest.raises(TypeError, match="tools must be a list of callables, dicts and Tools, not McpTool"):
        inventory(FIND)  # type: ignore[arg-type]


def test_a_tool_object_without_description_has_none() -> None:
    assert guided.Tool(McpTool(name="find", inputSchema=SCHEMA)).description == ""
    with pytest.raises(SchemaError, match="no value satisfies"):
        guided.Tool(McpTool(name="find", inputSchema={**SCHEMA, "properties": {"q": False}}))
